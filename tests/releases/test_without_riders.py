"""Trips and taps without a rider: refused, left out or their own riders, by choice, and the sentence says it."""

import json
import sys

import numpy as np
import polars as pl
import pytest

from edge_holes import NobodyIsARider, NobodyIsUnbounded
from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.cli import main
from wayveil.errors import ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy import choosing
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.ledger import open_ledger
from wayveil.privacy.units import Rider, RiderDay, Window
from wayveil.run import make_release as release
from wayveil.taps.taps import Taps
from wayveil.trips.read import read_trips
from wayveil.trips.trips import Trips
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])
CITY = ring_of_stops(6)
TREE = NoisyPrefixTree(height=2)
MISSING = ("", "NA", "null", "None", " ", "nan")


def rows(riders):
    count = len(riders)
    return pl.DataFrame(
        {
            "trip_id": np.arange(count),
            "stop_id": ["a", "b"] * (count // 2),
            "event_time": np.arange(count),
            "rider_id": riders,
        },
        schema_overrides={"rider_id": pl.String},
    )


@pytest.mark.parametrize("riders", [[None] * 4, ["kim", None] * 2, *(["kim", word] * 2 for word in MISSING)])
def test_a_rider_column_with_gaps_is_not_released_as_riders(riders, tmp_path):
    """An empty column was released as unit rider, `with all of that rider's trips`."""
    trips = read_trips(rows(riders), ABC)
    ledger = open_ledger(tmp_path / "ledger.db")
    for unit in (None, Rider(max_trips=2), RiderDay(), Window(max_visits=2)):
        with pytest.raises(ParameterError, match="some trips have none"):
            release(trips, TREE, epsilon=1, unit=unit, ledger=ledger)


def test_the_sentence_of_the_guarantee_says_what_became_of_them():
    trips = read_trips(rows(["kim", None] * 20), ABC)
    for word, said in (("own", "a rider of its own"), ("drop", "are left out")):
        sheet = release(trips, TREE, epsilon=1, unit=Rider(max_trips=2, without_id=word)).datasheet
        assert said in sheet["guarantee"]["sentence"]
        assert said in sheet["deployment"]["privacy_loss"]["privacy_unit_details"]
        assert sheet["guarantee"]["bounds"]["without_id"] == word


def test_taps_without_a_card_are_refused_left_out_or_their_own_riders():
    taps = Taps(
        np.zeros(40, np.int32), np.arange(40, dtype=np.int64), CITY, card=np.array([1, -1] * 20, np.int64)
    )
    with pytest.raises(ParameterError, match="some trips have none"):
        release_taps(taps, "cards", epsilon=1)
    for word, said in (("own", "a rider of its own"), ("drop", "are left out")):
        sheet = release_taps(taps, "cards", epsilon=1, without_id=word).datasheet
        assert said in sheet["guarantee"]["sentence"]
    with pytest.raises(ParameterError, match="no meaning for the unit 'event'"):
        release_taps(taps, "counts", epsilon=1, without_id="own")


def test_on_the_command_line_the_choice_is_an_option(tmp_path, monkeypatch, capsys):
    (tmp_path / "abc.txt").write_text("a\nb\nc\n")
    rows(["kim", None] * 20).write_csv(tmp_path / "trips.csv")

    def run(*words):
        fixed = (
            "release",
            tmp_path / "trips.csv",
            "-w",
            tmp_path / "abc.txt",
            "-e",
            1,
            "--ledger",
            "none",
            "-q",
        )
        monkeypatch.setattr(
            sys, "argv", ["wayveil", *map(str, fixed), "-m", "noisy-prefix-tree", *map(str, words)]
        )
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, capsys.readouterr().err

    code, err = run("-o", tmp_path / "none")
    assert code == 2
    assert "--no-rider drop" in err
    assert not (tmp_path / "none").exists()
    assert run("-o", tmp_path / "own", "--no-rider", "own", "--max-trips", 3)[0] == 0
    guarantee = json.loads((tmp_path / "own" / "datasheet.json").read_text())["guarantee"]
    assert guarantee["bounds"] == {"max_trips": 3, "without_id": "own"}
    assert "a rider of its own" in guarantee["sentence"]
    assert run("-o", tmp_path / "odd", "--no-rider", "maybe")[0] == 2
    code, err = run("-o", tmp_path / "odd", "--unit", "trip", "--no-rider", "own")
    assert code == 2
    assert "no meaning for the unit" in err


def test_the_broken_riders_break_what_they_claim(monkeypatch):
    nobody = np.full(6, -1)
    without = Trips.of_lists([[0]] * 6, ABC, rider=nobody)

    # The word of a new trip is the lowest, so that it takes the place of an old one.
    monkeypatch.setattr(
        choosing, "keyed_words", lambda key, name, item=None: np.arange(len(name))[::-1].astype(np.uint64)
    )
    # As one rider called nobody: one trip more throws out somebody else's, two changes for the price of one.
    within = Trips.of_lists([[0]] * 6 + [[1]], ABC, rider=np.append(nobody, -1))
    counts = [
        np.bincount(NobodyIsARider(max_trips=1).bound(trips, SeededBits(0)).location, minlength=3)
        for trips in (without, within)
    ]
    assert np.abs(counts[0] - counts[1]).sum() == 2 > 1
    # As riders of their own under a sentence about riders: six trips of one person all count.
    unit = NobodyIsUnbounded(max_trips=1, without_id="own")
    assert "of its own" not in unit.neighbours
    assert len(unit.bound(without, SeededBits(0))) == 6
