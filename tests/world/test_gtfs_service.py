from datetime import date, datetime

import pytest
from tiny_feed import STOP_TIMES, calls, feed_zip

from wayveil.errors import InputError, ParameterError
from wayveil.world.gtfs import read_gtfs
from wayveil.world.gtfs.service import parse_date

TRIPS = "route_id,service_id,trip_id\nR,WEEK,week\nR,SUN,sun\nR,EXTRA,extra\n"
TIMES = calls(
    ("week", [("08:00:00", "A"), ("08:02:00", "B")]),
    ("sun", [("08:00:00", "B"), ("08:02:00", "C")]),
    ("extra", [("08:00:00", "C"), ("08:02:00", "A")]),
)
CALENDAR = (
    "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
    "WEEK,1,1,1,1,1,0,0,20240101,20240131\nSUN,0,0,0,0,0,0,1,20240101,20240131\n"
)
DATES = "service_id,date,exception_type\nWEEK,20240105,2\nSUN,20240105,1\nEXTRA,20240210,1\nWEEK,20250101,2\n"


def steps(tmp_path, day, **tables):
    both = {"calendar": CALENDAR, "calendar_dates": DATES}
    path = feed_zip(tmp_path / "f.zip", trips=TRIPS, stop_times=TIMES, **(both | tables))
    network = read_gtfs(path, service_date=day)
    return {
        f"{network.ids[a]}{network.ids[b]}" for a, b in zip(network.sources, network.indices, strict=True)
    }


@pytest.mark.parametrize(
    ("day", "running"),
    [
        (None, {"AB", "BC", "CA"}),
        ("2024-01-02", {"AB"}),
        ("20240107", {"BC"}),
        (date(2024, 1, 5), {"BC"}),  # a Friday that runs like a Sunday
        (datetime(2024, 2, 10, 12), {"CA"}),
        ("2024-01-31", {"AB"}),
    ],
)
def test_the_calendar_and_its_exceptions_decide_what_runs(tmp_path, day, running):
    assert steps(tmp_path, day) == running


def test_either_calendar_alone_is_enough(tmp_path):
    assert steps(tmp_path, "2024-01-05", calendar_dates=None) == {"AB"}
    assert steps(tmp_path, "2024-01-05", calendar=None) == {"BC"}


def test_a_date_without_service_names_the_dates_that_have_some(tmp_path):
    with pytest.raises(
        InputError, match=r"no trip runs on 2024-03-01; the feed covers 2024-01-01 to 2024-02-10$"
    ):
        steps(tmp_path, "2024-03-01")


def test_a_date_in_a_feed_without_calendars_is_refused(tmp_path):
    with pytest.raises(InputError, match="leave the service date out"):
        steps(tmp_path, "2024-01-05", calendar=None, calendar_dates=None)


def test_an_optional_table_without_a_byte_is_as_good_as_none(tmp_path):
    assert steps(tmp_path, "2024-01-05", calendar_dates="", frequencies="", transfers="") == {"AB"}


def test_trips_of_other_days_are_no_oddity(tmp_path):
    path = feed_zip(tmp_path / "f.zip", trips=TRIPS, stop_times=TIMES, calendar=CALENDAR)
    assert not any(
        "trips.txt" in sentence for sentence in read_gtfs(path, service_date="2024-01-02").warnings
    )


@pytest.mark.parametrize("text", ["", "2024-13-01", "01.02.2024", "20240230"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ParameterError, match="is not a date like"):
        parse_date(text)


def test_a_feed_without_trips_says_so(tmp_path):
    path = feed_zip(tmp_path / "f.zip", trips="route_id,service_id,trip_id\n", stop_times=STOP_TIMES)
    with pytest.raises(InputError, match=r"trips.txt has no trip in it"):
        read_gtfs(path)
