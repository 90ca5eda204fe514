"""Filters on questions: used or refused, with intervals that hold, and loads against the seats that ran."""

import io
import zipfile
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from bare_release import bare_release
from wayveil.answers.trip_periods import put_on_date
from wayveil.counting.local import LocalCounter
from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event
from wayveil.releases.release import Release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.feed import write_city
from wayveil.simulate.week import simulate_week
from wayveil.taps.boardings import Boardings
from wayveil.world.gtfs import read_gtfs
from wayveil.world.timebins import DAY, HOUR

FIRST, DAYS = date(2024, 12, 13), 5  # Friday to Tuesday
START = (FIRST - date(1970, 1, 1)).days
FEED_DAY = "2026-01-05"


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return write_city(tmp_path_factory.mktemp("feed") / "city.zip", seed=3, stops=40, lines=3)


@pytest.fixture(scope="module")
def city(feed):
    return read_gtfs(feed)


@pytest.fixture(scope="module")
def raw(city):
    return simulate_taps(city, 3_000, seed=2, first_day=FIRST, days=DAYS).taps


def counted(raw, epsilon, seed, mechanism=None):
    """A release of counts, with its model alone: no trips are drawn."""
    mechanism = TapMargins(first_day=FIRST, days=DAYS, riders=False) if mechanism is None else mechanism
    gate = Gate(Event(), Budget(Fraction(epsilon)), SeededBits(seed))
    places = Boardings(raw.world).of(raw) if isinstance(mechanism, TapMargins) else raw.as_single_visits()
    model = mechanism.measure(LocalCounter(places), gate)
    sheet = {"mechanism": mechanism.describe(), "visits": "taps"}
    return Release(raw.as_single_visits(), model, sheet)


@pytest.fixture(scope="module")
def made(raw):
    return counted(raw, 2, 1)


def where(raw, **only):
    """The raw taps that a filter means, by plain comparison."""
    day, hour = raw.time // DAY, raw.time % DAY // HOUR
    kept = np.ones(len(raw), bool)
    for name, value in only.items():
        column = {
            "route": raw.route,
            "hour": hour,
            "day": day,
            "weekday": (day + 3) % 7,
            "stop": raw.location,
        }[name]
        kept &= np.isin(column, value)
    return int(kept.sum())


def test_a_route_on_weekdays_between_two_hours_is_one_number_with_an_interval(raw, made):
    name, at = made.world.route_names[1], 1
    answer = made.ask("boardings", route=str(name), weekdays=True, between=("07:00", "09:00"))
    assert answer.table.columns == ["route_id", "route", "answer", "low", "high"]
    row = answer.table.row(0, named=True)
    true = where(raw, route=at, weekday=[0, 1, 2, 3, 4], hour=[7, 8])
    assert answer.table.height == 1
    assert row["low"] <= row["answer"] <= row["high"]
    assert row["low"] <= true <= row["high"]
    assert "between 07:00 and 09:00" in answer.title


@pytest.mark.parametrize(
    ("question", "filters", "only"),
    [
        (
            "boardings",
            {"route": "0", "weekdays": True, "between": ("07:00", "09:00")},
            {"weekday": [0, 1, 2, 3, 4]},
        ),
        (
            "routes",
            {"on": "2024-12-16", "between": ("22:00", "02:00")},
            {"day": START + 3, "hour": [22, 23, 0, 1]},
        ),
        ("stops", {"between": ("07:00", "10:00")}, {"hour": [7, 8, 9]}),
        ("stops", {"route": "0"}, {"route": 0}),
        ("total", {"on": ("Saturday", "Sunday")}, {"weekday": [5, 6]}),
        ("hours", {"weekdays": True}, {"weekday": [0, 1, 2, 3, 4]}),
    ],
)
def test_intervals_of_filtered_sums_hold_as_often_as_they_say(raw, question, filters, only):
    filters, only = dict(filters), dict(only)
    if filters.get("route") == "0":
        filters["route"] = str(raw.world.route_ids[0])
        only["route"] = 0
    if filters.get("between") == ("07:00", "09:00"):
        only["hour"] = [7, 8]
    held = []
    for seed in range(60):
        table = counted(raw, 1, seed).ask(question, anyway=True, **filters).table
        if "stop_id" in table.columns:
            at = raw.world.index_of(table["stop_id"])
            true = [where(raw, stop=each, **only) for each in at[:8]]
        elif "route_id" in table.columns:
            order = raw.world.route_ids.tolist()
            true = [where(raw, **{**only, "route": order.index(each)}) for each in table["route_id"]]
        elif "hour" in table.columns:
            true = [where(raw, hour=each, **only) for each in table["hour"][6:12]]
            table = table[6:12]
        else:
            true = [where(raw, **only)]
        rows = table.head(len(true))
        held += [
            low <= value <= high for value, low, high in zip(true, rows["low"], rows["high"], strict=True)
        ]
    assert np.mean(held) >= 0.92 - 1.5 / np.sqrt(len(held))
    assert len(held) >= 60


def test_boardings_by_route_day_and_hour_are_what_was_paid_for(raw, made):
    table = made.ask("routes", by="day,hour").table
    assert table.height == len(made.world.route_ids) * DAYS * 24
    assert table["low"].null_count() == 0
    assert {str(day) for day in table["day"]} == {
        str(date.fromordinal(FIRST.toordinal() + at)) for at in range(DAYS)
    }
    row = table.filter((pl.col("hour") == 8) & (pl.col("day") == date(2024, 12, 16)))
    true = [
        where(raw, route=made.world.route_ids.tolist().index(each), hour=8, day=START + 3)
        for each in row["route_id"]
    ]
    inside = [low <= value <= high for value, low, high in zip(true, row["low"], row["high"], strict=True)]
    assert np.mean(inside) > 0.6


def test_what_was_not_counted_together_has_no_interval(made):
    answer = made.ask("stops", on="2024-12-16")
    assert answer.table["low"].null_count() == answer.table.height
    assert "not known" in answer.note


def test_stops_of_a_district_keep_their_intervals(made, tmp_path):
    ids = made.world.ids.tolist()
    file = tmp_path / "districts.csv"
    pl.DataFrame({"stop_id": ids, "district": ["Centre"] * 12 + ["Rest"] * (len(ids) - 12)}).write_csv(file)
    answer = made.ask("most-used", top=5, districts=file, district="Centre")
    assert set(answer.table["stop_id"]) <= set(ids[:12])
    assert answer.table.height == 5
    whole = {row["stop_id"]: row for row in made.ask("stops").table.to_dicts()}
    assert all(row["low"] == whole[row["stop_id"]]["low"] for row in answer.table.to_dicts())
    with pytest.raises(ParameterError, match="unknown district 'Harbour'"):
        made.ask("most-used", districts=file, district="Harbour")
    with pytest.raises(ParameterError, match="--districts"):
        made.ask("most-used", district="Centre")


def test_stops_and_hours_are_filtered_together(made, raw):
    stop = int(np.bincount(raw.location).argmax())
    name = str(raw.world.ids[stop])
    one = made.ask("boardings", stops=name, between=("07:00", "09:00")).table
    whole = made.ask("boardings", between=("07:00", "09:00")).table
    assert one.to_dicts() == whole.filter(pl.col("stop_id") == name).select(one.columns).to_dicts()
    hours = made.ask("stop-hours", stops=name, between=("07:00", "09:00")).table
    assert sorted(hours["hour"]) == [7, 8]
    assert set(hours["stop_id"]) == {name}


def test_filters_that_cannot_be_used_are_refused(made, raw, feed):
    weekly = bare_release(put_on_date(simulate_week(raw.world, 50, seed=1), FIRST))
    undated = counted(raw, 2, 1, TapCounts())
    refusals = [
        (made, "total", {"between": ("07:30", "09:00")}, "whole hours"),
        (made, "total", {"between": ("7", "9")}, "not a time"),
        (made, "total", {"between": ("07:00", "07:00")}, "no time"),
        (made, "total", {"on": "2025-12-24"}, "not among the days"),
        (made, "total", {"on": "Funday"}, "dates such as"),
        (made, "routes", {"route": "no such"}, "unknown route"),
        (made, "stops", {"stops": "no such"}, "there is no stop"),
        (made, "pairs", {"weekdays": True}, "--weekdays cannot be used"),
        (made, "load", {"between": ("07:00", "09:00")}, "--timetable"),
        (
            made,
            "load",
            {"stops": str(raw.world.ids[0]), "timetable": feed, "timetable_date": FEED_DAY},
            "whole routes",
        ),
        (made, "total", {"timetable": feed}, "--timetable is for"),
        (made, "total", {"seats": 5}, "--seats is for"),
        (made, "load", {"timetable_date": FEED_DAY}, "give the feed"),
        (made, "delay", {}, "--delays"),
        (made, "stops", {"by": "month"}, "not by 'month'"),
        (weekly, "boardings", {"route": str(raw.world.route_ids[0])}, "--route cannot be used"),
        (weekly, "boardings", {"by": "day,hour"}, "one of hour, day"),
    ]
    for release, question, added, sentence in refusals:
        with pytest.raises(ParameterError, match=sentence):
            release.ask(question, **added)
    no_days = Release(simulate_week(raw.world, 20, seed=1).without_times(), undated.model, undated.datasheet)
    with pytest.raises(ParameterError, match="no weekdays"):
        no_days.ask("total", weekdays=True)


def test_trips_are_filtered_by_the_visit_at_which_they_count(city):
    trips = put_on_date(simulate_week(city, 400, seed=3), FIRST)
    release = bare_release(trips)
    first = trips.time[trips.offsets[:-1]]
    early = (first % DAY >= 7 * HOUR + 1800) & (first % DAY < 9 * HOUR) & ((first // DAY + 3) % 7 < 5)
    answer = release.ask("boardings", between=("07:30", "09:00"), weekdays=True)
    assert answer.table["answer"].sum() == early.sum()
    hub = str(city.ids[trips.location[0]])
    at_hub = release.ask("boardings", stops=hub).table
    assert at_hub["stop_id"].to_list() == [hub]
    assert at_hub["answer"][0] == (trips.origins() == trips.location[0]).sum()
    assert release.ask("transfers", stops=hub).table.height == 1


def test_load_divides_by_the_seats_that_ran_then(raw, made, feed):
    """Against a plain loop over the timetable: calls of every run in the hour, on the days that are asked for."""
    answer = made.ask(
        "load", weekdays=True, between=("08:00", "09:00"), timetable=feed, timetable_date=FEED_DAY
    )
    trips, calls = _tables(feed)
    for row in answer.table.to_dicts():
        runs = trips.filter(pl.col("route_id") == row["route_id"])["trip_id"].to_list()
        seats = 0.0
        for run in runs:
            hours = [int(text.split(":")[0]) % 24 for text in calls[run][:-1]]
            seats += 38 * hours.count(8) / len(hours)
        seats *= 3  # Friday, Monday and Tuesday
        assert row["seats"] == pytest.approx(seats, abs=1)
        assert row["answer"] == pytest.approx(row["boardings"] / seats, abs=0.6 / seats)
        assert row["low"] <= row["answer"] <= row["high"]


def test_seats_may_be_those_of_each_route_or_run(made, feed, tmp_path):
    ids = made.world.route_ids.tolist()
    file = tmp_path / "seats.csv"
    pl.DataFrame({"route_id": ids, "seats": [20 * (at + 1) for at in range(len(ids))]}).write_csv(file)
    common = {"timetable": feed, "timetable_date": FEED_DAY}
    plain = {row["route_id"]: row["seats"] for row in made.ask("load", seats=1, **common).table.to_dicts()}
    for row in made.ask("load", seats=file, **common).table.to_dicts():
        assert row["seats"] == pytest.approx(
            plain[row["route_id"]] * 20 * (ids.index(row["route_id"]) + 1), rel=0.01
        )
    pl.DataFrame({"route_id": ids[:1], "seats": [20]}).write_csv(file)
    with pytest.raises(InputError, match="does not say how many seats"):
        made.ask("load", seats=file, **common)


def test_a_timetable_that_does_not_cover_the_days_is_refused(made, raw, feed):
    with pytest.raises(ParameterError, match=r"tells what runs from .* and not on 2024-12-13"):
        made.ask("load", timetable=feed)
    with pytest.raises(ParameterError, match="not on 1999-01-01"):
        made.ask("load", timetable=feed, timetable_date="1999-01-01")
    # Hours of the clock have no dates: how many days were counted has to be said.
    undated = counted(raw, 2, 1, TapCounts())
    bare = Release(undated.model.generate(1), undated.model, undated.datasheet)
    with pytest.raises(ParameterError, match="--days on how many days"):
        bare.ask("load", timetable=feed, timetable_date=FEED_DAY)


def test_line_load_stands_beside_the_seats_of_its_stretch(city, feed):
    release = bare_release(put_on_date(simulate_week(city, 400, seed=3), date(2026, 1, 5)))
    table = release.ask("line-load", timetable=feed, by="hour").table
    assert {"seats", "per_seat"} <= set(table.columns)
    ran = table.filter(pl.col("seats").is_not_null())
    assert ran.height > 0
    assert ((ran["answer"] / ran["seats"]) - ran["per_seat"]).abs().max() < 0.01
    name = str(city.route_names[0])
    one = release.ask("line-load", timetable=feed, route=name, between=("08:00", "09:00")).table
    assert set(one["line"]) == {name}


def test_delay_is_weighted_by_who_boards(city, raw, made, tmp_path):
    """Two stops: one with late vehicles at 8, one with early ones."""
    at = np.bincount(raw.location[raw.time % DAY // HOUR == 8], minlength=city.size).argsort()[::-1][:2]
    rows = [
        (city.ids[at[0]], "2024-12-16T08:10:00", "2024-12-16T08:16:00"),
        (city.ids[at[0]], "2024-12-16T08:40:00", "2024-12-16T08:44:00"),
        (city.ids[at[1]], "2024-12-16T08:20:00", "2024-12-16T08:19:00"),
    ]
    file = tmp_path / "stop_visits.csv"
    pl.DataFrame(
        rows, schema=["stop_id", "schedule_departure_time", "actual_departure_time"], orient="row"
    ).write_csv(file)
    answer = made.ask("delay", delays=file)
    n = [where(raw, stop=each, hour=8) for each in at]
    true = (5 * n[0] - 1 * n[1]) / sum(n)
    row = answer.table.row(0, named=True)
    tables = [counted(raw, 2, seed).ask("delay", delays=file).table for seed in range(60)]
    assert np.mean([table["low"][0] <= true <= table["high"][0] for table in tables]) > 0.88
    assert np.median([table["high"][0] - table["low"][0] for table in tables]) < 1
    assert "of the boardings" in answer.note
    by_hour = made.ask("delay", delays=file, by="hour").table
    assert by_hour.filter(pl.col("hour") == 8)["answer"][0] == pytest.approx(row["answer"])
    assert by_hour.filter(pl.col("hour") == 3)["answer"][0] is None
    with pytest.raises(ParameterError, match="--weekdays cannot"):
        made.ask("delay", delays=file, weekdays=True)


def test_delays_are_read_from_realtime_trip_updates(city, made, tmp_path):
    def message(*fields):
        return b"".join(fields)

    def varint(value):
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])

    def part(number, body):
        return varint(number << 3 | 2) + varint(len(body)) + body

    def number(at, value):
        return varint(at << 3) + varint(value % (1 << 64))

    def update(stop, delay):
        return part(2, part(4, stop.encode()) + part(3, number(1, delay)))

    trip = part(3, part(1, b"") + update(str(city.ids[0]), 300) + update(str(city.ids[1]), -60))
    file = tmp_path / "updates.pb"
    file.write_bytes(message(part(1, part(1, b"2.0")), part(2, part(1, b"e1") + trip)))
    answer = made.ask("delay", delays=file, stops=[str(city.ids[0]), str(city.ids[1])])
    assert -1 <= answer.table["answer"][0] <= 5
    with pytest.raises(ParameterError, match="without hours"):
        made.ask("delay", delays=file, between=("07:00", "09:00"))
    file.write_bytes(b"\x12\xff")
    with pytest.raises(InputError, match="GTFS-realtime"):
        made.ask("delay", delays=file)


def _tables(feed):
    with zipfile.ZipFile(feed) as archive:
        trips = pl.read_csv(io.BytesIO(archive.read("trips.txt")), infer_schema=False)
        times = pl.read_csv(io.BytesIO(archive.read("stop_times.txt")), infer_schema=False)
    times = times.with_columns(pl.col("stop_sequence").cast(int)).sort("trip_id", "stop_sequence")
    calls = {
        run: part["departure_time"].to_list()
        for (run,), part in times.partition_by("trip_id", as_dict=True).items()
    }
    return trips, calls
