"""Frames in and out: the same rows give the same trips, the same errors and the same taps, whatever holds them."""

import numpy as np
import polars as pl
import pytest

import wayveil as wv
from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError, UnknownStopError
from wayveil.trips.history import MADE_UP
from wayveil.trips.read import check, read_trips
from wayveil.trips.trips import Trips
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])
CITY = ring_of_stops(6)
ROWS = pl.DataFrame(
    {
        "trip_id": ["x", "x", "y", "y", "z"],
        "seq": [1, 2, 1, 2, 1],
        "stop_id": ["a", "b", "c", "a", "b"],
        "event_time": ["2024-12-16T07:00:00", "2024-12-16T07:10:00"] * 2 + ["2024-12-16T09:00:00"],
        "rider_id": ["kim", "kim", None, None, "lee"],
    }
)


def as_pandas(rows):
    return pytest.importorskip("pandas").DataFrame(rows.to_dict(as_series=False))


def as_arrow(rows):
    pytest.importorskip("pyarrow")
    return rows.to_arrow()


HOLDERS = {
    "polars": lambda rows: rows,
    "lazy": lambda rows: rows.lazy(),
    "pandas": as_pandas,
    "arrow": as_arrow,
}
every_holder = pytest.mark.parametrize("held", HOLDERS.values(), ids=HOLDERS)


def same(one, other):
    columns = ("location", "offsets", "time", "rider")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@every_holder
def test_a_frame_reads_as_its_file_does(held, tmp_path):
    ROWS.write_csv(tmp_path / "trips.csv")
    assert same(read_trips(held(ROWS), ABC), read_trips(tmp_path / "trips.csv", ABC))
    assert check(held(ROWS), ABC).ok


@every_holder
def test_errors_name_the_frame_and_the_row(held):
    with pytest.raises(UnknownStopError, match="stop 'zoo' in row 2 of the frame"):
        read_trips(held(ROWS.with_columns(stop_id=pl.Series(["a", "zoo", "c", "a", "b"]))), ABC)
    moments = [*ROWS["event_time"][:3], "soon", ROWS["event_time"][4]]
    with pytest.raises(InputError, match="the frame, row 4: event_time 'soon' cannot be read"):
        read_trips(held(ROWS.with_columns(event_time=pl.Series(moments))), ABC)
    with pytest.raises(InputError, match="the frame: has no column 'stop_id'"):
        read_trips(held(ROWS.drop("stop_id")), ABC)
    with pytest.raises(InputError, match="the frame: has a header but no rows"):
        read_trips(held(ROWS.head(0)), ABC)


def test_ids_that_a_fraction_cannot_hold_are_refused():
    with pytest.raises(InputError, match="the frame: column 'rider_id' holds fractions"):
        read_trips(ROWS.with_columns(rider_id=pl.Series([2.0**53, 1, 1, 1, None])), ABC)
    whole = ROWS.with_columns(rider_id=pl.Series([7.0, 7.0, None, None, float("nan")]))
    assert read_trips(whole, ABC).rider.tolist() == [0, -1, -1]


def test_what_is_neither_path_nor_frame_is_refused_by_name():
    with pytest.raises(ParameterError, match="not list"):
        read_trips([1, 2], ABC)


@every_holder
def test_scikit_mobility_names_are_understood_and_trips_are_counted_for_each_user(held):
    rows = pl.DataFrame(
        {
            "uid": [1, 1, 2, 2],
            "tid": [1, 1, 1, 2],
            "datetime": [
                "2024-12-16 07:00:00",
                "2024-12-16 07:10:00",
                "2024-12-16 08:00:00",
                "2024-12-16 09:00:00",
            ],
            "stop_id": ["a", "b", "c", "a"],
        }
    )
    trips = read_trips(held(rows), ABC)
    assert trips.to_lists() == [[0, 1], [2], [0]]
    assert trips.rider.tolist() == [0, 1, 1]
    points = rows.drop("stop_id").with_columns(lat=pl.lit(45.0), lng=pl.lit(-73.0))
    with pytest.raises(InputError, match=r"points \(lat, lng\) and no stop_id"):
        read_trips(held(points), ABC)
    near = points.with_columns(lat=pl.lit(CITY.lat[2]), lng=pl.lit(CITY.lon[2]))
    taps = wv.read_taps(held(near), CITY).taps
    assert taps.location.tolist() == [2] * 4
    assert taps.card.tolist() == [0, 0, 1, 1]


def test_moments_of_pandas_keep_their_zone():
    pandas = pytest.importorskip("pandas")
    moments = ["2024-12-16 07:00:00", "2024-12-16 07:10:00"]
    rows = pandas.DataFrame(
        {"trip_id": [1, 1], "stop_id": ["a", "b"], "event_time": pandas.to_datetime(moments)}
    )
    plain = read_trips(rows, ABC)
    for zone in ("Europe/Madrid", "+01:00"):
        zoned = read_trips(rows.assign(event_time=rows["event_time"].dt.tz_localize(zone)), ABC)
        assert zoned.time.tolist() == plain.time.tolist()
    nothing = rows.assign(rider_id=[None, None])
    assert read_trips(nothing, ABC).rider.tolist() == [-1]
    mixed = rows.assign(rider_id=pandas.array([7, 7], dtype="Int64"), stop_id=pandas.Categorical(["a", "b"]))
    assert read_trips(mixed, ABC).rider.tolist() == [0]


def test_trips_and_taps_come_out_as_frames_that_read_back():
    trips = read_trips(ROWS, ABC)
    assert same(read_trips(trips.to_polars(), ABC), trips)
    taps = wv.read_taps(ROWS.rename({"rider_id": "card_id"}), ABC).taps
    assert wv.read_taps(taps.to_polars(), ABC).taps.time.tolist() == taps.time.tolist()
    pytest.importorskip("pandas")
    assert same(read_trips(trips.to_pandas(), ABC), trips)
    pytest.importorskip("pyarrow")
    assert same(read_trips(trips.to_arrow(), ABC), trips)
    assert wv.read_taps(taps.to_arrow(), ABC).taps.card.tolist() == taps.card.tolist()
    assert len(wv.read_taps(taps.to_pandas(), ABC).taps) == 5


@every_holder
def test_a_world_is_made_of_a_column(held):
    assert World.of_table(held(ROWS) if held is not HOLDERS["lazy"] else ROWS).ids.tolist() == ["a", "b", "c"]
    assert World.of_file(held(ROWS) if held is not HOLDERS["lazy"] else ROWS).size == 3
    with pytest.raises(InputError, match="no column 'halt'"):
        World.of_table(ROWS, "halt")
    with pytest.raises(InputError, match="the frame, row 3: has no rider_id"):
        World.of_table(ROWS, "rider_id")


def test_trips_and_taps_say_what_they_are_without_markup_from_data():
    trips = Trips.of_lists([[0, 1]], World.of_symbols(["<b>", "c"]), time=np.array([0, 60]), history=MADE_UP)
    assert repr(trips) == "<Trips: 1 trip, 2 visits over 2 locations, with times [simulated]>"
    page = trips._repr_html_()
    assert "&lt;b&gt; → c" in page
    assert "1970-01-01 00:00:00" in page
    assert "<b>" not in page
    assert "script" not in page
    many = Trips.of_lists([[0] * 9, []] * 4, ABC)
    assert "and 3 more" in many._repr_html_()
    assert "places only" in repr(many)
    taps = wv.read_taps(ROWS.rename({"rider_id": "card_id"}), ABC).taps
    assert repr(taps) == "<Taps: 5 taps over 3 locations, with card>"
    assert "<td" in taps._repr_html_()
