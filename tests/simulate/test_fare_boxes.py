"""Simulated taps look like an agency's file, and can be read as one."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.simulate.fare_boxes import SEATS, Gaps, simulate_taps, write_vendor_file
from wayveil.taps.read import read_taps
from wayveil.world.timebins import DAY, HOUR

CITY = ring_of_stops(30, seconds=120, skip=3, routes=4)
MADE = simulate_taps(CITY, 8_000, seed=2)


def test_there_are_as_many_taps_as_asked_for_on_the_days_asked_for():
    assert len(MADE.taps) == 8_000
    first = (date(2024, 12, 15) - date(1970, 1, 1)).days
    assert np.unique(MADE.taps.day).tolist() == list(range(first, first + 6))
    assert np.all(np.diff(MADE.taps.time) >= 0)


def test_working_days_have_two_peaks_and_sundays_are_quiet():
    hour = np.bincount(MADE.taps.time % DAY // HOUR, minlength=24)
    assert min(hour[7:9].mean(), hour[16:18].mean()) > 2 * hour[10:14].mean()
    day = np.bincount(MADE.taps.day - MADE.taps.day.min())
    assert day[0] < 0.7 * day[1:].min()


def test_vehicles_keep_to_a_route_and_have_their_seats():
    assert set(MADE.taps.seats.tolist()) <= set(SEATS)
    for vehicle in np.unique(MADE.taps.vehicle):
        mine = MADE.taps.vehicle == vehicle
        assert len(np.unique(MADE.taps.route[mine])) == 1
        assert len(np.unique(MADE.taps.seats[mine])) == 1
        assert len(np.unique(MADE.bus[mine])) == 1


def test_taps_are_on_routes_that_serve_the_stop():
    for stop, route in set(zip(MADE.taps.location.tolist(), MADE.taps.route.tolist(), strict=True)):
        edges = [*range(CITY.indptr[stop], CITY.indptr[stop + 1]), *np.flatnonzero(CITY.indices == stop)]
        assert any(route in CITY.routes_of(int(edge)) for edge in edges)


OTHERS = Gaps(unplaced=0, vehicle=0.01, seats=0.01, route=0.04, stop=0.04, time=0.01, unknown_stop=0.01)


def test_the_file_has_the_gaps_of_the_study_in_its_shares(tmp_path):
    made = simulate_taps(CITY, 60_000, seed=2)
    write_vendor_file(made, tmp_path / "taps.parquet", seed=1)
    table = pl.read_parquet(tmp_path / "taps.parquet")
    unplaced = table.filter((pl.col("routeName") == "Default") & pl.col("stopId").is_null())
    assert len(unplaced) / len(table) == pytest.approx(1_833 / 312_659, rel=0.2)
    assert table["stopId"].null_count() == len(unplaced)
    nameless = table.filter(pl.all_horizontal(pl.col("vehicle", "bus_number", "seats").is_null()))
    assert len(nameless) / len(unplaced) == pytest.approx(1_010 / 1_833, rel=0.2)
    assert table["vehicle"].null_count() == len(nameless)


def test_a_campus_is_where_most_people_go():
    plain, drawn = (
        np.bincount(simulate_taps(CITY, 8_000, seed=2, campus=share).taps.location, minlength=CITY.size)
        for share in (0.0, 0.3)
    )
    campus = int(np.argmax(drawn - plain))
    assert drawn[campus] == drawn.max() > 5 * plain[campus]
    assert np.all(np.delete(drawn, campus) < 1.2 * np.delete(plain, campus) + 20)
    with pytest.raises(ParameterError, match="share of the riders"):
        simulate_taps(CITY, 100, seed=1, campus=1.5)


def test_other_gaps_can_be_asked_for_and_cleaning_counts_each(tmp_path):
    write_vendor_file(MADE, tmp_path / "taps.csv", seed=1, gaps=OTHERS)
    clean = read_taps(tmp_path / "taps.csv", CITY)
    counts = {rule.rule: rule.rows for rule in clean.report.rules}
    assert clean.report.rows_in == 8_000
    assert counts["time that cannot be read"] == pytest.approx(80, abs=40)
    assert counts["missing vehicle, bus, seats"] == pytest.approx(160, abs=60)
    assert counts["missing stop"] == pytest.approx(310, abs=90)
    assert counts["stop outside the network"] == pytest.approx(75, abs=40)
    assert counts["missing route"] == pytest.approx(290, abs=90)
    whole = read_taps(tmp_path / "taps.csv", CITY, fill="same-bus")
    assert len(whole.taps) > len(clean.taps)
    assert not whole.taps.sound


def test_without_gaps_the_file_is_the_taps(tmp_path):
    write_vendor_file(MADE, tmp_path / "taps.parquet", seed=1, gaps=Gaps.none())
    taps = read_taps(tmp_path / "taps.parquet", CITY).taps
    assert np.array_equal(taps.location, MADE.taps.location)
    assert np.array_equal(taps.time, MADE.taps.time)
    assert np.array_equal(taps.route, MADE.taps.route)


def test_longer_periods_bring_new_riders_each_week():
    made = simulate_taps(CITY, 3_000, seed=2, days=15, taps_per_rider=3)
    assert len(np.unique(made.taps.day)) == 15
    first, last = made.taps.day < made.taps.day.min() + 7, made.taps.day >= made.taps.day.min() + 7
    assert not set(made.taps.card[first].tolist()) & set(made.taps.card[last].tolist())


def test_one_quiet_day_can_be_filled_too():
    assert len(simulate_taps(CITY, 500, seed=1, days=1).taps) == 500


def test_nothing_cannot_be_simulated(tmp_path):
    with pytest.raises(ParameterError, match="at least one"):
        simulate_taps(CITY, 0, seed=1)
