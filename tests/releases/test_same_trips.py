"""The same test bits make the same private trips, whatever is rearranged on the way from rows to a release.

`same_trips.json` holds a hash per kind of release. After a change that is meant to move numbers, make it again with
`PYTHONPATH=tests python tests/releases/test_same_trips.py`, and say in the commit which kinds moved and why.
"""

import hashlib
import json
import platform
import tempfile
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.dpt import DPT
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.od_hops import OdHops
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.private_choice import PrivateChoice
from wayveil.mechanisms.registry import mechanisms
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider, Trip
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.taps.chains import sequences
from wayveil.trips.points import read_points
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.world import World
from weave_city import QUICK, small_town, town_trips

STORED = Path(__file__).with_name("same_trips.json")
CITY = ring_of_stops(8, seconds=300, skip=2, routes=2)
TAPS = simulate_taps(CITY, 3_000, seed=2).taps
DAYS = sequences(TAPS, TAPS.card, "day")
FEW = {"weakest": 0, "training_steps": 20, "batch": 100}


@cache
def taxis():
    with tempfile.TemporaryDirectory() as folder:
        simulate_taxis(800, seed=5).write(Path(folder) / "points.parquet")
        return read_points(Path(folder) / "points.parquet", Grid.of_metres(STUDY_BOX, 1000))


def of_list():
    """The same trips over places without a network."""
    places = World.of_symbols([str(name) for name in CITY.ids])
    return Trips(DAYS.location, DAYS.offsets, places, DAYS.time)


def of_calls(mechanism):
    return lambda: release(DAYS, mechanism, epsilon=20, unit=Trip(), rows="calls", bits=SeededBits(2), seed=1)


def of_taxis(mechanism, epsilon=20):
    return lambda: release(taxis(), mechanism, epsilon=epsilon, unit=Trip(), bits=SeededBits(2), seed=1)


def of_taps(way, **options):
    return lambda: release_taps(TAPS, way, epsilon=3, bits=SeededBits(2), seed=1, **options)


def woven(**options):
    given = {"epsilon": 4, "rows": "calls", "bits": SeededBits(3), "seed": 1, "max_trips": 2} | options
    return lambda: release(town_trips(), Weave(weakest=0, generation=QUICK), **given)


def of_legs():
    trips = town_trips(riders=600)
    ends = np.stack([trips.offsets[:-1], trips.offsets[1:] - 1], axis=1).ravel()
    offsets = np.arange(0, len(ends) + 1, 2, dtype=np.int64)
    legs = Trips(trips.location[ends], offsets, small_town(), trips.time[ends])
    return release(legs, Markov(), epsilon=20, unit=Trip(), rows="legs", bits=SeededBits(2), seed=1)


PERIOD = {"first_day": date(2024, 12, 15), "days": 6}
# Fitted or trained in floating point: their trips hang on the machine's arithmetic as well.
FITTED = {
    "weave": woven(),
    "weave, riders": woven(unit=Rider(max_trips=1)),
    "weave, rho": woven(currency="rho"),
    "weave on a list": lambda: release(
        of_list(), Weave(weakest=0, generation=QUICK), epsilon=20, unit=Trip(), bits=SeededBits(2), seed=1
    ),
    "weave on a grid": of_taxis(Weave(weakest=0, generation=QUICK)),
    "od-hops": of_taxis(OdHops(weakest=0)),
    "dp-loc": of_taxis(DpLoc(hidden=8, **FEW), epsilon=4),
    "taps counts-first": of_taps("counts-first", **PERIOD),
    "tap-margins": of_calls(TapMargins(**PERIOD, max_visits=3)),
    "dpt": of_calls(DPT(metres=500)),
}
COUNTED = {
    "noisy-prefix-tree": of_calls(NoisyPrefixTree(height=2, private_height=True)),
    "seqpt": of_calls(SeqPT(height=2)),
    "safepath": of_calls(SafePath(height=2)),
    "ppdp": of_calls(PPDP(height=2, time="hour-of-week")),
    "markov": of_calls(Markov(order=2, lengths_share="1/10", successors="all")),
    "markov on legs": of_legs,
    "variable-ngrams": of_calls(VariableNgrams()),
    "mobitrie": of_calls(MobiTrie(successors="all")),
    "mobitrie-lt": of_calls(MobiTrieSearch(successors="all", quality="1/100", gamma="1/1000")),
    "private-choice": of_calls(
        PrivateChoice(candidates=(NoisyPrefixTree(height=2), Markov()), tolerance=3000)
    ),
    "tap-counts": of_calls(TapCounts(max_visits=3)),
    "taps cards": of_taps("cards", max_trips=2),
    "taps cards, alightings": of_taps("cards", max_trips=2, alightings=True),
    "taps counts": of_taps("counts"),
    "taps counts of riders": of_taps("counts", unit="rider", max_taps=4),
    "taps study": of_taps("study"),
}
KINDS = {**FITTED, **COUNTED}


def hash_of(trips):
    """A hash of everything that private trips hold, times and riders included."""
    digest = hashlib.sha256()
    for array in (trips.location, trips.offsets, trips.time, trips.rider):
        digest.update(b"none" if array is None else np.ascontiguousarray(array, np.int64).tobytes())
    return digest.hexdigest()


def arithmetic():
    """What floating-point results hang on besides the code."""
    return f"{platform.machine()}, numpy {np.__version__}, scipy {scipy.__version__}"


def test_every_mechanism_has_a_hash():
    assert set(json.loads(STORED.read_text())["trips"]) == set(KINDS)
    missing = {name for name in mechanisms() if not any(kind.startswith(name) for kind in KINDS)}
    assert not missing


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_same_bits_make_the_same_trips(kind):
    stored = json.loads(STORED.read_text())
    if kind in FITTED and stored["arithmetic"] != arithmetic():
        pytest.skip(f"made with {stored['arithmetic']}; here is {arithmetic()}")
    assert hash_of(KINDS[kind]().trips) == stored["trips"][kind]


if __name__ == "__main__":
    made = {kind: hash_of(KINDS[kind]().trips) for kind in sorted(KINDS)}
    STORED.write_text(json.dumps({"arithmetic": arithmetic(), "trips": made}, indent=2) + "\n")
