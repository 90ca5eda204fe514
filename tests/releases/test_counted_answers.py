"""Hours and named districts are answered from counts of their own, with the interval of their noise."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import wayveil as wv
from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.mechanisms.weave import Weave
from wayveil.plan.needs import Need, refuse_contradictory
from wayveil.plan.plan import Plan
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release
from wayveil.simulate.riders import simulate_riders
from wayveil.world.districts import read_districts

CITY = ring_of_stops(12, seconds=600, routes=2)
TRIPS = simulate_riders(CITY, 400, seed=3, trips_per_rider=4).trips


@pytest.fixture(scope="module")
def areas(tmp_path_factory):
    """Three districts of four stops each, so that no stop is elsewhere."""
    file = tmp_path_factory.mktemp("areas") / "districts.csv"
    named = [f"d{place % 3}" for place in range(CITY.size)]
    pl.DataFrame({"stop_id": CITY.ids.tolist(), "district": named}).write_csv(file)
    return str(file)


def made(areas, parts, **more):
    mechanism = Weave().serving({name: Fraction(part, 100) for name, part in parts.items()}, areas)
    return make_release(TRIPS, mechanism, epsilon="8", unit=wv.Trip(), bits=SeededBits(1), **more)


def truth_between(of_place):
    first, last = TRIPS.offsets[:-1], TRIPS.offsets[1:] - 1
    many = int(of_place.max()) + 1
    pair = of_place[TRIPS.location[first]] * many + of_place[TRIPS.location[last]]
    return np.bincount(pair, minlength=many * many).reshape(many, many)


def test_named_districts_are_counted_and_answered_from_their_counts(areas):
    release = made(areas, {"total": 3, "districts": 80})
    table = release.ask("districts", districts=areas).table
    true = truth_between(read_districts(areas, CITY).of_place)
    shown = np.zeros_like(true)
    for row in table.iter_rows(named=True):
        assert row["low"] <= row["answer"] <= row["high"]
        shown[int(row["from"][1:]), int(row["to"][1:])] = row["answer"]
    # Noise of the counts has scale 1 / (.8 x 8); whole trips alone are off by much more.
    assert np.abs(shown - true).max() <= 3
    spent = {spend["label"]: Fraction(spend["price"]) for spend in release.datasheet["spends"]}
    assert spent["trips by district pair"] == Fraction(80, 100) * 8


def test_other_districts_than_those_counted_are_answered_by_whole_trips(areas, tmp_path):
    release = made(areas, {"total": 3, "districts": 80})
    halves = {"stop_id": CITY.ids.tolist(), "district": ["a"] * 6 + ["b"] * 6}
    table = release.ask("districts", districts=pl.DataFrame(halves), anyway=True).table
    assert set(table["from"]) <= {"a", "b"}
    assert abs(table["answer"].sum() - len(release.trips)) <= 1


def test_counts_between_districts_travel_with_the_model(areas, tmp_path):
    release = made(areas, {"total": 3, "districts": 80})
    table = release.model.table()
    again = type(release.model).of_table(table, CITY)
    assert again == release.model
    assert np.array_equal(again.counted("districts").values, release.model.counted("districts").values)


def test_districts_and_their_part_of_the_budget_go_together(areas):
    alone = Weave(districts=areas)
    with pytest.raises(ParameterError, match="go together"):
        make_release(TRIPS, alone, epsilon="8", unit=wv.Trip(), bits=SeededBits(1))
    unnamed = Weave(shares={"needed": {"district pair": "1/2"}})
    with pytest.raises(ParameterError, match="go together"):
        make_release(TRIPS, unnamed, epsilon="8", unit=wv.Trip(), bits=SeededBits(1))
    # A plan without a need for districts does not buy them.
    assert Weave().serving({"boardings": Fraction(1, 2)}, areas).districts is None


@pytest.mark.parametrize("period", ["day", "week"])
def test_hours_are_those_in_which_trips_begin_and_come_from_their_counts(period):
    mechanism = Weave(period=period).serving({"total": Fraction(3, 100), "hours": Fraction(80, 100)})
    release = make_release(TRIPS, mechanism, epsilon="8", unit=wv.Trip(), bits=SeededBits(1))
    answer = release.ask("hours")
    assert answer.title == "trips that begin in each hour of the day"
    table = answer.table.sort("hour")
    assert table["hour"].to_list() == list(range(24))
    true = np.bincount(TRIPS.time[TRIPS.offsets[:-1]] // 3600 % 24, minlength=24)
    low, high, shown = (table[name].to_numpy() for name in ("low", "high", "answer"))
    assert np.abs(shown - true).max() <= (3 if period == "day" else 8)
    assert np.mean((low <= true) & (true <= high)) > 0.8
    part = release.ask("hours", between=("07:00", "09:00"), anyway=True).table
    assert set(part["hour"]) <= {7, 8}


def test_needs_about_two_files_of_districts_are_refused():
    needs = [Need.parse(f"trips between districts of {file}, within 20 %") for file in ("a.csv", "b.csv")]
    with pytest.raises(ParameterError, match=r"different districts \(a.csv, b.csv\)"):
        refuse_contradictory(needs)


def test_a_plan_that_moves_still_leads_to_its_districts(tmp_path):
    said = {"needs": ["trips between districts of areas.csv"], "protection": {"epsilon": "1"}}
    plan = Plan(**said, path=tmp_path / "wayveil.toml")
    moved = plan.at(tmp_path / "inside" / "wayveil.toml")
    assert moved.needs[0].districts == "../areas.csv"
