"""Tap files, good and bad: every row is either a tap or counted under the rule that dropped it."""

import json
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.taps.columns import PRESETS, ColumnMap
from wayveil.taps.read import read_taps
from wayveil.taps.taps import NO_OFFSET, write_taps
from wayveil.taps.vehicles import VehicleTable
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

CITY = ring_of_stops(6, routes=2)
BC = "routeName,stopId,ts,vehicle,bus_number,seats"
GOOD = ["r0,s001,2024-12-16 07:00:00,v1,9001,40", "r1,s004,2024-12-16 08:30:00,v2,9002,38"]
MONDAY = (date(2024, 12, 16) - date(1970, 1, 1)).days * DAY


def file_of(tmp_path: Path, *rows: str, header: str = BC, name: str = "taps.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def counts(report) -> dict[str, int]:
    return {rule.rule: rule.rows for rule in report.rules if rule.rows}


def test_a_bc_transit_file_is_recognised_by_its_columns(tmp_path):
    clean = read_taps(file_of(tmp_path, *GOOD), CITY)
    assert clean.taps.location.tolist() == [1, 4]
    assert clean.taps.time.tolist() == [MONDAY + 7 * HOUR, MONDAY + 8 * HOUR + 1800]
    assert clean.taps.route.tolist() == [0, 1]
    assert clean.taps.seats.tolist() == [40, 38]
    assert counts(clean.report) == {}


def test_every_rule_of_the_study_is_counted_and_the_counts_add_up(tmp_path):
    bad = [
        "r0,s001,2024-12-16 07:00:00,,9001,40",
        "r0,s001,2024-12-16 07:00:00,v1,9001,",
        "Default,s001,2024-12-16 07:00:00,v1,9001,40",
        "r0,,2024-12-16 07:00:00,v1,9001,40",
        "r0,nowhere,2024-12-16 07:00:00,v1,9001,40",
        "r0,s001,soon,v1,9001,40",
        "express,s001,2024-12-16 09:00:00,v1,9001,40",
    ]
    clean = read_taps(file_of(tmp_path, *GOOD, *bad), CITY)
    assert counts(clean.report) == {
        "time that cannot be read": 1,
        "missing vehicle, bus, seats": 2,
        "missing stop": 1,
        "stop outside the network": 1,
        "missing route": 1,
        "route that the feed does not have (the tap stays)": 1,
    }
    assert clean.report.rows_in == 9
    assert clean.report.rows_out == len(clean.taps) == 3
    assert clean.taps.route.tolist() == [0, 1, -1]
    text = "\n".join(clean.report.lines())
    assert "row 7: stop 'nowhere'" in text
    assert "row 8: time 'soon'" in text
    json.dumps(clean.report.as_dict())


def test_filling_from_the_same_bus_takes_the_nearest_complete_tap_and_is_marked_unsound(tmp_path):
    rows = [*GOOD, "Default,,2024-12-16 07:05:00,v1,9001,40", "Default,,2024-12-16 07:05:00,v3,9003,40"]
    clean = read_taps(file_of(tmp_path, *rows), CITY, fill="same-bus")
    assert clean.taps.location.tolist() == [1, 4, 1]
    assert clean.taps.route.tolist() == [0, 1, 0]
    assert clean.taps.filled.tolist() == [False, False, True]
    assert not clean.taps.sound
    assert [rule.other_rows for rule in clean.report.rules if rule.done == "filled"] == [True, True]
    assert "not before noise" in "\n".join(clean.report.lines())


def test_filling_from_public_vehicle_data_is_sound_and_does_not_reach_far_back(tmp_path):
    public = tmp_path / "avl.csv"
    public.write_text(
        "vehicle_id,event_time,stop_id,route_id\n"
        "9001,2024-12-16T06:58:00,s002,r0\n9001,2024-12-16T07:20:00,s003,r1\n"
    )
    rows = [
        GOOD[0],
        "Default,,2024-12-16 07:05:00,v1,9001,40",
        "Default,,2024-12-16 07:30:00,v1,9001,40",
        "Default,,2024-12-16 11:30:00,v1,9001,40",
    ]
    clean = read_taps(file_of(tmp_path, *rows), CITY, fill=VehicleTable.of_file(public))
    assert clean.taps.location.tolist() == [1, 2, 3]
    assert clean.taps.route.tolist() == [0, 0, 1]
    assert clean.taps.sound
    assert counts(clean.report)["missing stop"] == 1


def test_a_vehicle_table_without_times_holds_all_day(tmp_path):
    public = tmp_path / "fleet.csv"
    public.write_text("vehicle_id,route_id\n9001,r1\n")
    clean = read_taps(
        file_of(tmp_path, "Default,s001,2024-12-16 23:05:00,v1,9001,40"),
        CITY,
        fill=VehicleTable.of_file(public),
    )
    assert clean.taps.route.tolist() == [1]


@pytest.mark.parametrize(
    ("content", "word"),
    [("vehicle_id,colour\n1,red\n", "neither"), ("vehicle_id,stop_id,event_time\n1,a,when\n", "'when'")],
)
def test_a_useless_vehicle_table_is_refused(tmp_path, content, word):
    path = tmp_path / "fleet.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=word):
        VehicleTable.of_file(path)


def test_wrong_columns_are_named_and_known_layouts_offered(tmp_path):
    path = file_of(tmp_path, "1,2", header="when,where")
    with pytest.raises(InputError, match=r"'when', 'where'.*bc-transit"):
        read_taps(path, CITY)
    with pytest.raises(InputError, match="no column 'ts'"):
        read_taps(path, CITY, {"time": "ts", "stop": "where"})


def test_a_column_map_comes_as_dict_or_as_toml(tmp_path):
    path = file_of(tmp_path, "2024-12-16T07:00:00,s001,77", header="when,where,who")
    toml = tmp_path / "map.toml"
    toml.write_text('time = "when"\nstop = "where"\ncard = "who"\n')
    for layout in (
        {"time": "when", "stop": "where", "card": "who"},
        toml,
        ColumnMap(time="when", stop="where"),
    ):
        assert read_taps(path, CITY, layout).taps.location.tolist() == [1]
    toml.write_text("time = ")
    with pytest.raises(InputError, match="TOML"):
        read_taps(path, CITY, toml)
    with pytest.raises(ParameterError, match="no column map"):
        read_taps(path, CITY, "nonsense")
    with pytest.raises(ParameterError, match="place"):
        ColumnMap(time="when")
    with pytest.raises(ParameterError, match="extra"):
        ColumnMap(time="when", stop="where", colour="c")


def test_earlier_words_of_a_column_map_mean_the_words_of_today(tmp_path):
    path = file_of(tmp_path, "2024-12-16T07:00:00,s001,77", header="when,where,who")
    earlier = ColumnMap(time="when", stop="where", card="who")
    assert earlier == ColumnMap(event_time="when", stop_id="where", rider_id="who")
    assert read_taps(path, CITY, earlier).report.layout == {
        "event_time": "when",
        "stop_id": "where",
        "rider_id": "who",
    }
    with pytest.raises(ParameterError, match="names 'event_time' twice"):
        ColumnMap(time="when", event_time="when", stop="where")


@pytest.mark.parametrize("rider", ["rider_id", "card_id"])
def test_riders_of_our_own_files_are_read_under_today_s_and_the_earlier_name(tmp_path, rider):
    path = file_of(tmp_path, "2024-12-16T07:00:00,s001,77", header=f"event_time,stop_id,{rider}")
    taps = read_taps(path, CITY).taps
    assert taps.card.tolist() == [0]
    assert "rider_id" in taps.to_polars().columns


def test_times_in_another_form_than_declared_are_counted_with_examples(tmp_path):
    rows = [*GOOD, "r0,s001,07:15:00,v1,9001,40", "r0,s001,2024-12-16T07:00:00Z,v1,9001,40"]
    path = file_of(tmp_path, *rows)
    clean = read_taps(path, CITY)
    declared = "time in another form than `{}`, which the column map declares"
    assert counts(clean.report) == {declared.format("dated"): 1}
    assert "row 3: time '07:15:00'" in str(clean.report.rules[1])
    for form, left in (("local", 2), ("zoned", 1), ("clock", 1)):
        layout = PRESETS["bc-transit"].model_copy(update={"form": form})
        assert len(read_taps(path, CITY, layout).taps) == left
    assert ColumnMap(time="t", stop="s").form == "dated"


def test_one_row_more_never_changes_how_the_others_are_read(tmp_path):
    """The form that most rows use was kept and the others dropped: one tap flipped four hundred."""
    local, zoned = "2024-12-16T07:00:00,s001", "2024-12-16T07:00:00+01:00,s002"
    for many in (200, 201):
        path = file_of(tmp_path, *[local] * many, *[zoned] * 200, header="event_time,stop_id")
        assert np.bincount(read_taps(path, CITY).taps.location).tolist() == [0, many, 200]


def test_a_declared_zone_puts_each_row_on_its_clock_by_itself(tmp_path):
    rows = ["2024-12-16T07:00:00,s001", "2024-12-16T07:00:00Z,s001", "2024-07-16T07:00:00Z,s001"]
    path = file_of(tmp_path, *rows, header="event_time,stop_id")
    taps = read_taps(path, CITY, zone="Europe/Madrid").taps
    assert (taps.time % DAY // HOUR).tolist() == [7, 8, 9]
    assert taps.offset.tolist() == [NO_OFFSET, HOUR, 2 * HOUR]
    write_taps(taps, tmp_path / "again.csv")
    again = read_taps(tmp_path / "again.csv", CITY, zone="Europe/Madrid").taps
    assert again.time.tolist() == taps.time.tolist()
    assert again.offset.tolist() == taps.offset.tolist()
    with pytest.raises(ParameterError, match="no time zone 'Madrid'"):
        read_taps(path, CITY, zone="Madrid")


def test_a_gap_in_one_row_does_not_change_the_names_of_the_others():
    """With a gap, tools make fractions of whole numbers: 1001 became 1001.0, which no world has."""
    world = World.of_symbols(["1001", "1002"])
    moments = ["2024-12-16T07:00:00"] * 3
    whole = pl.DataFrame({"event_time": moments, "stop_id": [1001, 1002, 1002], "card_id": [1, 2, 3]})
    gap = whole.with_columns(
        stop_id=pl.Series([1001.0, None, 1002.0]), card_id=pl.Series([1.0, 2.0, float("nan")])
    )
    assert read_taps(whole, world).taps.location.tolist() == [0, 1, 1]
    taps = read_taps(gap, world).taps
    assert taps.location.tolist() == [0, 1]
    assert taps.card.tolist() == [0, -1]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-1, 2)), max_size=9),
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-1, 2)),
    st.sampled_from(["auto", "drop", "keep"]),
    st.booleans(),
)
def test_one_row_more_is_at_most_one_tap_more_whatever_is_repeated(rows, extra, repeated, cards):
    def taps_of(rows):
        times = ["2024-12-16T07:00:00", "2024-12-16T07:00:00Z", "07:00", "soon"]
        columns = {
            "event_time": [times[time] for time, _, _ in rows],
            "stop_id": [["s001", "s002", None][stop] for _, stop, _ in rows],
            "card_id": [None if card < 0 else f"c{card}" for _, _, card in rows],
        }
        table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        try:
            read = read_taps(table if cards else table.drop("card_id"), CITY, repeated=repeated).taps
        except InputError:
            return Counter()
        card = [None] * len(read) if read.card is None else (read.card >= 0).tolist()
        return Counter(zip(read.location.tolist(), read.time.tolist(), card, strict=True))

    before, after = taps_of(rows), taps_of([*rows, extra])
    assert (after - before).total() + (before - after).total() <= 1


def test_a_time_of_25_10_on_a_date_is_refused_with_what_to_do(tmp_path):
    clean = read_taps(file_of(tmp_path, *GOOD, "r0,s001,2024-12-16 25:10:00,v1,9001,40"), CITY)
    assert "25:10:00': no date has this hour" in str(clean.report.rules[0])
    assert "two columns" in str(clean.report.rules[0])


def test_a_time_of_25_10_beside_a_service_date_is_ten_past_one_on_the_next_day(tmp_path):
    path = file_of(tmp_path, "2024-12-16,25:10,s001", "2024-12-16,48:10,s001", header="day,clock,stop")
    clean = read_taps(path, CITY, {"time": "clock", "date": "day", "stop": "stop"})
    assert clean.taps.time.tolist() == [MONDAY + DAY + HOUR + 600]
    assert counts(clean.report) == {"time that cannot be read": 1}


def test_zones_are_kept_beside_the_wall_time(tmp_path):
    rows = ["2024-11-03T00:30:00-07:00,s001", "2024-11-03T01:30:00-08:00,s001"]
    clean = read_taps(file_of(tmp_path, *rows, header="event_time,stop_id"), CITY)
    assert np.diff(clean.taps.time).tolist() == [HOUR]
    assert np.diff(clean.taps.time - clean.taps.offset).tolist() == [2 * HOUR]
    write_taps(clean.taps, tmp_path / "again.csv")
    again = read_taps(tmp_path / "again.csv", CITY).taps
    assert again.offset.tolist() == [-7 * HOUR, -8 * HOUR]
    assert again.time.tolist() == clean.taps.time.tolist()


def test_repeated_rows_are_dropped_only_where_a_row_can_be_recognised(tmp_path):
    anonymous = read_taps(file_of(tmp_path, GOOD[0], GOOD[0], GOOD[1]), CITY)
    assert len(anonymous.taps) == 3
    assert counts(anonymous.report) == {"exact repetition of an earlier row (may be two people)": 1}
    rows = ["2024-12-16T07:00:00,s001,c1"] * 2 + ["2024-12-16T07:00:00,s001,c2"]
    carded = read_taps(file_of(tmp_path, *rows, header="event_time,stop_id,card_id"), CITY)
    assert carded.taps.card.tolist() == [0, 1]
    assert counts(carded.report) == {"exact repetition of an earlier row": 1}
    assert len(read_taps(file_of(tmp_path, GOOD[0], GOOD[0]), CITY, repeated="drop").taps) == 1


def test_a_file_without_any_valid_row_says_what_became_of_all(tmp_path):
    path = file_of(tmp_path, "r0,nowhere,2024-12-16 07:00:00,v1,9001,40", "r0,s001,soon,v1,9001,40")
    with pytest.raises(
        InputError, match=r"no valid row.*cannot be read: 1 dropped.*outside the network: 1 dropped"
    ):
        read_taps(path, CITY)


def test_stops_that_only_the_larger_world_has_are_inactive_in_the_period(tmp_path):
    small = ring_of_stops(4, routes=2)
    rows = [GOOD[0], GOOD[1], "r0,moon,2024-12-16 07:00:00,v1,9001,40"]
    clean = read_taps(file_of(tmp_path, *rows), small, everywhere=CITY)
    assert counts(clean.report) == {"stop that is inactive in the period": 1, "stop outside the network": 1}


def test_taps_outside_the_period_are_counted(tmp_path):
    rows = [*GOOD, "r0,s001,2024-12-18 07:00:00,v1,9001,40"]
    clean = read_taps(file_of(tmp_path, *rows), CITY, period=(date(2024, 12, 15), date(2024, 12, 17)))
    assert counts(clean.report) == {"outside the period": 1}


def test_tides_boardings_take_the_stop_of_their_gate(tmp_path):
    header = "transaction_id,service_date,event_timestamp,amount,fare_action,fare_capped,stop_id,device_id,token_id"
    rows = [
        "t1,2024-12-16,2024-12-16T07:00:00-08:00,2,Enter,false,s002,g1,A",
        "t2,2024-12-16,2024-12-16T08:00:00-08:00,2,Transfer entrance,false,,g1,A",
        "t3,2024-12-16,2024-12-16T08:00:00-08:00,2,Exit,false,s001,g1,",
        "t4,2024-12-16,2024-12-16T09:00:00-08:00,2,Enter,false,,g9,",
    ]
    devices = tmp_path / "devices.csv"
    devices.write_text("device_id,stop_id\ng1,s005\n")
    clean = read_taps(file_of(tmp_path, *rows, header=header), CITY, devices=devices)
    assert clean.taps.location.tolist() == [2, 5]
    assert clean.taps.card.tolist() == [0, 0]
    assert counts(clean.report) == {
        "transaction that is no boarding": 1,
        "stop taken from the device": 1,
        "missing stop": 1,
    }


def test_coordinates_become_the_nearest_location_within_reach(tmp_path):
    lat, lon = CITY.lat[3], CITY.lon[3]
    rows = [f"1,27/11/2019,11,{lat + 0.0005:.5f},{lon:.5f}", "2,27/11/2019,12,10,10", "3,27/11/2019,12,0,0"]
    path = file_of(tmp_path, *rows, header="id_tarjeta,fecha,hora,lat,lon")
    clean = read_taps(path, CITY)
    assert clean.taps.location.tolist() == [3]
    assert (clean.taps.time % DAY).tolist() == [11 * HOUR]
    assert counts(clean.report) == {"missing coordinates": 1, "stop outside the network": 1}


def test_written_taps_read_back_the_same(tmp_path):
    rows = [*GOOD, "Default,,2024-12-16 07:05:00,v1,9001,40"]
    taps = read_taps(file_of(tmp_path, *rows), CITY, fill="same-bus").taps
    for name in ("clean.parquet", "clean.csv"):
        write_taps(taps, tmp_path / name)
        again = read_taps(tmp_path / name, CITY).taps
        for column in ("location", "time", "route", "vehicle", "seats", "filled"):
            assert np.array_equal(getattr(taps, column), getattr(again, column)), column
    with pytest.raises(ParameterError, match="format"):
        write_taps(taps, tmp_path / "clean.xlsx")
    assert taps.describe()["taps"] == 3
    assert pl.read_parquet(tmp_path / "clean.parquet").height == 3


def test_options_without_meaning_are_refused(tmp_path):
    path = file_of(tmp_path, *GOOD)
    with pytest.raises(ParameterError, match="fill"):
        read_taps(path, CITY, fill="guess")
    bare = file_of(tmp_path, "2024-12-16T07:00:00,s001", header="event_time,stop_id", name="bare.csv")
    with pytest.raises(ParameterError, match="names the vehicle"):
        read_taps(bare, CITY, fill="same-bus")
    assert set(PRESETS) == {"wayveil", "bc-transit", "tides", "tides-draft", "sube", "scikit-mobility"}


def test_clean_taps_that_look_alike_stay_as_many_when_read_again(tmp_path):
    """Hourly times make two boardings of a card equal; a cleaned file lost its transactions, and then the taps."""
    rows = [f"2024-12-16T07:00:00,s001,c1,{transaction}" for transaction in range(4)]
    layout = {"time": "at", "stop": "stop", "card": "card", "transaction": "row"}
    clean = read_taps(file_of(tmp_path, *rows, header="at,stop,card,row"), CITY, layout).taps
    for name in ("clean.csv", "clean.parquet"):
        write_taps(clean, tmp_path / name)
        assert len(read_taps(tmp_path / name, CITY).taps) == len(clean) == 4
    hourly = ["2024-12-16,7,s001,c1"] * 2
    layout = {"time": "hour", "date": "day", "stop": "stop", "card": "card", "clock": "hour"}
    assert len(read_taps(file_of(tmp_path, *hourly, header="day,hour,stop,card"), CITY, layout).taps) == 2
