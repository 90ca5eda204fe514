import json
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.answers.trip_periods import put_on_date
from wayveil.errors import ParameterError
from wayveil.exports.flows import edge_flows, stop_flows
from wayveil.exports.menu import MENU
from wayveil.exports.od import od_table
from wayveil.exports.station_activities import STATION_ACTIVITIES, station_activities
from wayveil.exports.write import FORMATS, export, flowmap
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.simulate.week import simulate_week
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.timebins import HOUR, TimeBins
from wayveil.world.world import World

NETWORK = ring_of_stops(4)
DAY = 86_400


def small():
    """Two trips on the first day of the timeline, one on the second, and one without any visit."""
    time = np.array([8, 8, 9, 8, 9, 10, 23]) * HOUR + np.array([0, 600, 0, 60, 0, 0, 0])
    time[5:] += DAY
    lists = [[0, 1, 2], [0, 1], [], [3, 0]]
    return Trips.of_lists(lists, NETWORK, time=time)


def test_station_activities_have_the_date_that_somebody_says_and_never_1970():
    trips = put_on_date(small(), date(2026, 11, 17))
    table = station_activities(bare_release(trips))
    assert sorted({str(day) for day in table["service_date"]}) == ["2026-11-17", "2026-11-18"]
    assert table["time_period_start"].to_list()[0].startswith("2026-11-17T")
    assert put_on_date(trips, date(2000, 1, 1)) is trips
    week = replace(small(), time=small().time + 5 * DAY)  # a Tuesday without a date
    with pytest.raises(ParameterError, match="--put-on"):
        station_activities(bare_release(week))
    placed = put_on_date(week, date(2026, 11, 19))
    assert str(station_activities(bare_release(placed))["service_date"].min()) == "2026-11-17"


def test_station_activities_have_the_exact_columns_and_add_up():
    table = station_activities(bare_release(small()))
    assert tuple(table.columns) == STATION_ACTIVITIES
    assert table["total_entries"].sum() == table["total_exits"].sum() == 3
    assert table["number_of_transactions"].to_list() == table["total_entries"].to_list()
    row = table.filter((pl.col("stop_id") == "s000") & (pl.col("total_entries") > 0)).row(0, named=True)
    assert row["total_entries"] == 2
    assert row["service_date"] is None
    assert (row["time_period_start"], row["time_period_end"]) == ("08:00:00", "09:00:00")
    keys = table.select("service_date", "stop_id", "time_period_start", "time_period_end")
    assert keys.is_unique().all()
    assert table.select(pl.col("total_entries", "total_exits").min()).row(0) >= (0, 0)


def test_a_tap_is_an_entry_and_nothing_is_known_of_exits():
    table = station_activities(bare_release(small(), taps=True))
    assert table["total_entries"].sum() == 7
    assert table["total_exits"].null_count() == len(table)
    singles = Trips.of_lists([[0], [1]], NETWORK, time=np.array([5, 6]))
    assert station_activities(bare_release(singles))["total_exits"].sum() == 2, (
        "trips of one visit are not taps"
    )


def test_the_last_hour_of_a_day_ends_at_midnight():
    def late(trips):
        table = station_activities(bare_release(trips))
        row = table.filter(pl.col("time_period_start").str.ends_with("23:00:00")).row(0, named=True)
        return str(row["service_date"]), row["time_period_end"]

    assert late(put_on_date(small(), date(2026, 11, 17))) == ("2026-11-18", "2026-11-19T00:00:00")
    assert late(small()) == ("None", "24:00:00")


def test_od_by_period_adds_up_to_the_trips():
    table = od_table(bare_release(small()), TimeBins.hour_of_day())
    assert table["trips"].sum() == 3
    assert table.row(0, named=True) == {
        "origin_stop_id": "s000",
        "destination_stop_id": "s001",
        "period_start": "08:00",
        "period_end": "09:00",
        "trips": 1,
        "trips_low": None,
        "trips_high": None,
    }
    weekly = od_table(bare_release(small()), TimeBins.hour_of_week())
    assert weekly["period_start"].to_list()[0] == "Thu 08:00"
    assert od_table(bare_release(small()))["period_start"].null_count() == 3


def released(mechanism, raw, seed):
    rule = LegalityRule(repeats="keep", impossible="keep")
    return release(raw, mechanism, epsilon=2, unit=Trip(), rule=rule, bits=SeededBits(seed), seed=seed)


def test_what_nobody_knows_has_no_bars():
    raw = simulate_week(ring_of_stops(5, seconds=60), 2_000, seed=1)
    table = od_table(released(SeqPT(height=2, time="720"), raw, 0))
    assert table["trips_low"].null_count() == table["trips_high"].null_count() == len(table) > 0


def test_maps_carry_all_stops_and_all_moves():
    stops, edges = stop_flows(small()), edge_flows(small())
    assert len(stops["features"]) == 4
    assert sum(f["properties"]["visits"] for f in stops["features"]) == 7
    assert sum(f["properties"]["entries"] for f in stops["features"]) == 3
    assert sum(f["properties"]["trips"] for f in edges["features"]) == 4
    line = edges["features"][0]
    assert line["geometry"]["coordinates"][0] == stops["features"][0]["geometry"]["coordinates"]
    assert (line["properties"]["from_stop_id"], line["properties"]["trips"]) == ("s000", 2)


def test_a_flowmap_is_a_pair_of_tables_that_refer_to_each_other():
    places, flows = flowmap(bare_release(small()))
    assert places.columns == ["id", "name", "lat", "lon"]
    assert flows.columns == ["origin", "dest", "count"]
    assert flows["count"].sum() == 3
    assert set(flows["origin"]) | set(flows["dest"]) <= set(places["id"])


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if not MENU[kind].feed])
def test_every_format_is_written(kind, tmp_path):
    made = bare_release(put_on_date(small(), date(2026, 11, 17)) if MENU[kind].dated else small())
    if kind == "trie" or MENU[kind].stated:
        made = release(small(), MobiTrie(), epsilon=9, bits=SeededBits(1))
    said = dict.fromkeys(("curator", "purpose", "region"), "x") | {"curator_type": "Nonprofit"}
    files = export(made, kind, tmp_path / "out.file", stated=said if MENU[kind].stated else None)
    assert files
    assert all(file.stat().st_size > 0 for file in files)
    if kind.endswith("flows"):
        assert json.loads(files[0].read_text())["type"] == "FeatureCollection"


def test_what_a_format_needs_is_asked_for_in_a_sentence(tmp_path):
    with pytest.raises(ParameterError, match="unknown format 'shapefile'"):
        export(bare_release(small()), "shapefile", tmp_path / "x")
    with pytest.raises(ParameterError, match="needs times"):
        station_activities(bare_release(small().without_times()))
    with pytest.raises(ParameterError, match="coordinates"):
        flowmap(bare_release(Trips.of_lists([[0]], World(["a"]))))
