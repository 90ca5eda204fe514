"""Private trips beside the model: all, some, none, or so many that they are written in pieces."""

import json

import numpy as np
import polars as pl
import pytest

from wayveil.accuracy.accuracy import NOT_JUDGED
from wayveil.errors import ParameterError, RefusedError
from wayveil.exports.write import export
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.releases.release import Release
from wayveil.report.report_page import report_html
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.synthesis import drawing
from wayveil.synthesis.drawing import trips_wanted
from wayveil.utility.scorecard import score

CITY = small_network(2)
TRIPS = simulate_city(CITY, 2000, seed=1).trips


def made(mechanism, count):
    return release(TRIPS, mechanism, epsilon=4, max_trips=2, bits=SeededBits(1), seed=1, trips_out=count)


@pytest.mark.parametrize(
    "mechanism", [NoisyPrefixTree(height=3), Markov(), TapCounts(max_visits=3)], ids=lambda m: m.name
)
def test_as_many_trips_are_drawn_as_wanted(mechanism):
    assert len(made(mechanism, 0).trips) == 0
    assert len(made(mechanism, 37).trips) == 37
    assert len(made(mechanism, None).trips) > 500


def test_the_model_is_the_same_however_many_trips_are_drawn():
    tables = [made(NoisyPrefixTree(height=3), count).model.table() for count in (None, 0, 5)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


@pytest.mark.parametrize(
    "mechanism", [Weave(weakest=0), Markov(), NoisyPrefixTree(height=3)], ids=lambda m: m.name
)
def test_many_trips_are_written_in_pieces_that_read_as_one_file(tmp_path, monkeypatch, mechanism):
    monkeypatch.setattr(drawing, "AT_ONCE", 100)
    large = made(mechanism, 350)
    assert len(large.trips) == 0
    assert large.released_trips == 350
    folder = large.save(tmp_path / "release")
    read = Release.load(folder, CITY)
    assert len(read.trips) == 350
    assert np.array_equal(np.unique(read.trips.names()), np.sort(read.trips.names()))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert sorted(path.name for path in folder.iterdir() if "manifest" not in path.name) == sorted(
        manifest["files"]
    )


@pytest.mark.parametrize("count", [0, 37])
def test_answers_are_about_all_trips_however_many_were_written(tmp_path, count):
    part = made(Weave(weakest=0), count)
    kept = Release.load(part.save(tmp_path / "part"), CITY)
    assert len(kept.trips) == count
    total = kept.model.trips
    assert kept.ask("boardings", top=99).table["answer"].sum() == pytest.approx(total, rel=0.02)
    assert kept.ask("total").table["answer"].to_list()[0] == total
    assert kept.ask("boardings").table["low"].null_count() == 0
    assert kept.accuracy.of("boardings").says_more
    assert kept.ask("boardings").table.equals(kept.ask("boardings").table)
    assert kept.map().data.height > 0


def test_formats_with_numbers_are_about_all_trips_too(tmp_path):
    part = made(Weave(weakest=0), 37)
    export(part, "od", tmp_path / "od.csv", anyway=True)
    assert pl.read_csv(tmp_path / "od.csv")["trips"].sum() == part.model.trips
    export(part, "trajectories", tmp_path / "points.csv")
    assert pl.read_csv(tmp_path / "points.csv")["tid"].n_unique() == 37


def test_of_very_many_trips_some_are_drawn_and_each_stands_for_several(monkeypatch):
    monkeypatch.setattr(drawing, "AT_ONCE", 500)
    many = made(Weave(weakest=0), 37)
    assert len(many.whole.trips) == 500
    answer = many.ask("boardings", top=99)
    assert answer.table["answer"].sum() == pytest.approx(many.model.trips, rel=0.02)
    assert answer.table["low"].null_count() == 0  # by the law of the noise
    assert many.accuracy.words == [NOT_JUDGED]
    assert "stands for about 4 trips" in report_html(release=many)
    for refused in (lambda: export(many, "od", "od.csv"), lambda: score(TRIPS, many)):
        with pytest.raises(RefusedError, match="each of which stands for about 4"):
            refused()


def test_a_score_is_that_of_all_trips():
    part = made(NoisyPrefixTree(height=3), 37)
    assert score(TRIPS, part, queries=50).private_trips == (round(part.model.trips),)


def test_a_number_of_trips_is_none_all_or_a_number():
    assert [trips_wanted(text) for text in ("all", "none", "12")] == [None, 0, 12]
    with pytest.raises(ParameterError, match="none, all or a number"):
        trips_wanted("-1")
