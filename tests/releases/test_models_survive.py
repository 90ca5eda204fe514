"""Every model survives its folder, and whoever reads a release asks the model and never its maker's name."""

import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import wayveil
from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.errors import InputError
from wayveil.mechanisms.dpt import DPT
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.od_hops import OdHops
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.registry import mechanisms, ready_mechanisms
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.synthesis.model import DrawsMore, Estimates, ExpectsErrors, Nests, OfTaps
from wayveil.taps.chains import sequences
from wayveil.trips.points import read_points
from wayveil.world.grid import Grid
from weave_city import QUICK

CITY = ring_of_stops(8, seconds=300, skip=2, routes=2)
TAPS = simulate_taps(CITY, 3_000, seed=2).taps
DAYS = sequences(TAPS, TAPS.card, "day")
SOURCE = Path(wayveil.__file__).parent

MADE_BY = {
    "dpt": DPT(metres=500),
    "noisy-prefix-tree": NoisyPrefixTree(height=2, private_height=True),
    "seqpt": mechanisms()["seqpt"](height=2),
    "safepath": SafePath(height=2),
    "ppdp": PPDP(height=2, time="hour-of-week"),
    "markov": Markov(order=2, lengths_share="1/10", successors="all"),
    "variable-ngrams": VariableNgrams(),
    "mobitrie": MobiTrie(successors="all"),
    "mobitrie-lt": MobiTrieSearch(successors="all", quality="1/100", gamma="1/1000"),
    "tap-counts": TapCounts(max_visits=3),
    "tap-margins": TapMargins(first_day=date(2024, 12, 15), days=6, max_visits=3),
    "weave": Weave(weakest=0, generation=QUICK),
}
# These walk on grids: `od-hops` is tried below, and `dp-loc` trains for minutes.
ON_GRIDS = {"od-hops", "dp-loc"}
ABILITIES = {
    "dpt": {DrawsMore},
    "noisy-prefix-tree": {DrawsMore},
    "seqpt": {DrawsMore},
    "safepath": {DrawsMore},
    "ppdp": {DrawsMore},
    "markov": {DrawsMore, Nests},
    "variable-ngrams": {DrawsMore, Nests},
    "mobitrie": {DrawsMore, Nests},
    "mobitrie-lt": {DrawsMore, Nests},
    "tap-counts": {Estimates, OfTaps},
    "tap-margins": {Estimates, OfTaps},
    "weave": {DrawsMore, ExpectsErrors},
}


@pytest.fixture(scope="module", params=sorted(MADE_BY))
def made(request):
    how = MADE_BY[request.param]
    return release(DAYS, how, epsilon=20, unit=Trip(), rows="calls", bits=SeededBits(2), seed=1)


def test_every_mechanism_is_tried_here():
    assert set(ready_mechanisms()) - ON_GRIDS == set(MADE_BY) == set(ABILITIES)


def test_hops_on_a_grid_survive_their_folder(tmp_path):
    simulate_taxis(800, seed=5).write(tmp_path / "points.parquet")
    taxis = read_points(tmp_path / "points.parquet", Grid.of_metres(STUDY_BOX, 1000))
    made = release(taxis, OdHops(weakest=0), epsilon=20, unit=Trip(), bits=SeededBits(2), seed=1)
    loaded = Release.load(made.save(tmp_path / "release"), taxis.world)
    assert loaded.model.table().equals(made.model.table())
    assert loaded.trips.to_lists() == made.trips.to_lists()


def test_a_loaded_model_is_the_one_that_was_saved(made, tmp_path):
    loaded = Release.load(made.save(tmp_path / "release"), CITY)
    assert type(loaded.model) is type(made.model)
    assert loaded.model.table().equals(made.model.table())
    assert np.array_equal(loaded.model.generate(3).location, made.model.generate(3).location)
    assert loaded.datasheet == made.datasheet
    assert loaded.trips.to_lists() == made.trips.to_lists()


def test_a_model_can_do_what_it_has_the_methods_for(made):
    able = {
        each for each in (DrawsMore, Estimates, ExpectsErrors, Nests, OfTaps) if isinstance(made.model, each)
    }
    assert able == ABILITIES[made.datasheet["mechanism"]["name"]]


def test_models_that_draw_more_draw_as_many_as_asked(made):
    if isinstance(made.model, DrawsMore):
        assert len(made.model.draw(77, seed=1)) == 77
        assert made.model.draw(seed=5).to_lists() == made.model.generate(5).to_lists()
    else:
        assert not hasattr(made.model, "draw")


def test_taps_counted_by_stop_and_route_are_loaded_over_the_network(tmp_path):
    made = release_taps(TAPS, "counts-first", epsilon=3, first_day=date(2024, 12, 15), days=6, seed=1)
    loaded = Release.load(made.save(tmp_path / "release"), CITY)
    assert loaded.visits_are_taps
    assert loaded.ask("routes").table.equals(made.ask("routes").table)


def test_a_model_file_that_is_none_is_refused(made, tmp_path):
    made.model.save(tmp_path)
    kind = type(made.model)
    (tmp_path / "model.npz").write_bytes((tmp_path / "model.npz").read_bytes()[:200])
    with pytest.raises(InputError, match="not a readable model"):
        kind.load(tmp_path, CITY)
    np.savez(tmp_path / "model.npz", kind=np.array("PrefixTree"), facts=np.array('{"levels": 3}'))
    with pytest.raises(InputError, match="not a readable model"):
        kind.load(tmp_path, CITY)


def test_nobody_above_the_mechanisms_asks_for_a_name_or_reads_the_table_of_a_model():
    names = "|".join(map(re.escape, mechanisms()))
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if "studies" not in path.parts  # a study is about the mechanisms that it names
        for line in path.read_text().splitlines()
        if not line.lstrip().startswith(">>>")  # an example may name one
        if (re.search(rf"[\"']({names})[\"']", line) and not {"mechanisms", "plans"} & set(path.parts))
        or (
            "model.parquet" in line
            and "read" in line
            and path.name not in ("store.py", "model.py", "method.py")
        )
    ]
    assert found == []
