"""What an attacker once did through the front door, hole by hole; each was open in the first version.

Only commands and functions that the first version had too are used here, so these tests run on it, and fail there.
Why each hole is closed is tested in its own room.
"""

import json
import shutil
import sys

import numpy as np
import polars as pl
import pytest

import wayveil as wv
from ring_networks import ring_of_stops
from wayveil.cli import main
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.privacy.units import Event
from wayveil.taps.read import read_taps
from wayveil.trips.legality import LegalityRule

CITY = ring_of_stops(12, seconds=120, skip=3, routes=2)
STOPS = [f"s{i:02}" for i in range(12)]


def visits(riders):
    """Two visits a rider, as rows of a table."""
    trip = np.repeat(np.arange(len(riders)), 2)
    return pl.DataFrame(
        {
            "trip_id": trip,
            "stop_id": [STOPS[(7 * i) % 12] for i in range(len(trip))],
            "event_time": 1_700_000_000 + 60 * np.arange(len(trip)),
            "rider_id": pl.Series([rider for rider in riders for _ in range(2)], dtype=pl.String),
        }
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "stops.txt").write_text("\n".join(STOPS))
    visits([f"r{i}" for i in range(200)]).write_csv(tmp_path / "trips.csv")
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def wayveil(monkeypatch, capsys, place):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, *capsys.readouterr()

    return run


def release(wayveil, file, out, *more, epsilon="1", ledger="none"):
    return wayveil(
        *("release", file, "--world", "stops.txt", "-e", epsilon, "-o", out, "-m", "noisy-prefix-tree"),
        *("--set", "height=2", "--quiet", "--ledger", ledger, *more),
    )


def introduce(wayveil, ledger, dataset, total):
    """Tell the ledger of a dataset. Where none needs to be introduced, this is refused and what follows must fail."""
    wayveil("ledger", "init", ledger, "-d", dataset, "--total-epsilon", total)


def test_1_a_tap_more_does_not_change_how_four_hundred_are_read(place):
    for many in (199, 201):
        rows = ["2024-12-16T07:00:00,s001"] * many + ["2024-12-16T07:00:00+01:00,s002"] * 200
        (place / "taps.csv").write_text("\n".join(["event_time,stop_id", *rows]))
        assert np.bincount(read_taps(place / "taps.csv", CITY).taps.location).tolist() == [0, many, 200]


def test_2_a_rule_that_one_visit_can_turn_is_charged_or_refused():
    trips = wv.Trips.of_lists([[k % 12 for k in range(40)]], CITY, time=np.arange(40) * 60)
    with pytest.raises(wv.WayveilError, match="a whole trip can change"):
        wv.release(trips, wv.TapCounts(), epsilon=1, unit=Event(), rule=LegalityRule(), ledger=None)


@pytest.mark.parametrize("riders", [[None] * 40, ["kim", None] * 20])
def test_3_rows_without_a_rider_are_not_released_as_riders(wayveil, place, riders):
    visits(riders).write_csv(place / "gaps.csv")
    assert release(wayveil, "gaps.csv", "r1", "--unit", "rider")[0] == 2
    assert not (place / "r1").exists()


def test_4_reconstructed_riders_do_not_pass_as_taps(wayveil, place):
    CITY.save(place / "city.npz")
    rows = [f"2024-12-16T{7 + i % 3:02}:{i % 60:02}:00,s{i % 12:03}" for i in range(300)]
    (place / "taps.csv").write_text("\n".join(["event_time,stop_id", *rows]))
    world = ("--world", "city.npz", "--quiet")
    assert wayveil("lab", "riders", "taps.csv", *world, "-o", "riders.parquet")[0] == 0
    again = ("-e", "1", "--way", "counts", "--ledger", "none", "-o", "r1")
    code, _, err = wayveil("release", "riders.parquet", "--rows", "taps", *world, *again)
    assert (code, "reconstructed" in err) == (2, True)


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-20"])
def test_5_an_epsilon_that_nothing_can_be_made_with_costs_nothing(wayveil, place, epsilon):
    introduce(wayveil, "book", "trips.csv", 10)
    code, _, err = release(wayveil, "trips.csv", "r1", epsilon=epsilon, ledger="book")
    assert (code, "Traceback" in err) == (2, False)
    assert "reserve" not in wayveil("ledger", "show", "book", "--lines", "--json")[1]


def test_6_losses_of_taps_and_of_riders_are_not_added_up(wayveil, place):
    introduce(wayveil, "book", "trips.csv", 10)
    release(wayveil, "trips.csv", "r1", "--unit", "rider", ledger="book")
    code, _, err = release(wayveil, "trips.csv", "r2", "--unit", "trip", ledger="book")
    assert (code, "rider" in err) == (2, True), "what a trip loses says nothing of what its rider loses"


def test_7_the_same_people_under_another_name_have_no_budget_of_their_own(wayveil, place):
    introduce(wayveil, "book", "trips.csv", 1)
    release(wayveil, "trips.csv", "r1", ledger="book")
    shutil.copy("trips.csv", "copy.csv")
    introduce(wayveil, "book", "copy.csv", 1)
    assert release(wayveil, "copy.csv", "r2", ledger="book")[0] == 2
    assert release(wayveil, "trips.csv", "r3", "--dataset", "another", ledger="book")[0] == 2


def test_8_a_release_by_a_stranger_does_not_verify(wayveil, place, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(place / "a stranger's home"))
    assert release(wayveil, "trips.csv", "r1")[0] == 0
    monkeypatch.setenv("WAYVEIL_HOME", str(place / "home"))
    code, out, err = wayveil("verify", "r1")
    assert code != 0
    assert "unknown key" in out + err


def test_9_a_look_at_the_raw_trips_is_written_down(wayveil, place):
    (place / "home").mkdir()
    introduce(wayveil, "home/ledger", "trips.csv", 10)
    assert release(wayveil, "trips.csv", "r1", ledger="home/ledger")[0] == 0
    assert wayveil("score", "trips.csv", "r1", "--queries", 50, "--quiet")[0] == 0
    lines = json.loads(wayveil("ledger", "show", "home/ledger", "--lines", "--json")[1])
    assert any("look" in line.values() for line in lines)


@pytest.mark.parametrize(
    "variant",
    [
        "normalisation stops at 12 moves",
        "riders with more than 8 trips not bounded",
        "noise divided by max_trips",
        "survivors of every question from the same words",
    ],
)
def test_12_what_passed_every_audit_is_asked_of_them(variant):
    """That each is caught is what the audits' own tests and `wayveil lab audit` say."""
    plans = (audit_plan("noisy-prefix-tree"), audit_plan("weave"))
    assert variant in {mutation.name for plan in plans for mutation in plan.mutations}
