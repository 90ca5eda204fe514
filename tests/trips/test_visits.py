"""Visits come in from parquet and csv as they are meant, go out whole, and bad rows are named."""

import contextlib
import gzip
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import InputError, ParameterError, UnknownStopError
from wayveil.trips.findings import Findings
from wayveil.trips.pairs import read_pairs
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits, write_visits
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])


def written(tmp_path: Path, text: str, name: str = "taps.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def read(tmp_path: Path, text: str, **options: object) -> Trips:
    return read_visits(written(tmp_path, text), ABC, **options)


def named(trips: Trips) -> list[str]:
    return ["".join(trips.world.ids[trip]) for trip in trips.to_lists()]


@st.composite
def many_trips(draw: st.DrawFn) -> Trips:
    lists = draw(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=6))
    visits = sum(map(len, lists))
    time = rider = None
    if draw(st.booleans()):
        start = draw(st.sampled_from([0, 90_000, 1_618_900_000, -86_400]))
        steps = draw(st.lists(st.integers(0, 90_000), min_size=visits, max_size=visits))
        time = start + np.cumsum(steps)
    if draw(st.booleans()):
        rider = np.asarray(draw(st.lists(st.integers(-1, 3), min_size=len(lists), max_size=len(lists))))
    return Trips.of_lists(lists, ABC, time=time, rider=rider)


def same_riders(mine: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two lists of codes tell the same trips apart (codes themselves mean nothing)."""
    pairs = set(zip(mine.tolist(), theirs.tolist(), strict=True))
    anonymous = np.array_equal(mine < 0, theirs < 0)
    return anonymous and len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


@given(trips=many_trips(), suffix=st.sampled_from([".parquet", ".csv", ".csv.gz", ".tsv"]))
def test_what_is_written_is_read_back(trips, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / f"trips{suffix}"
    write_visits(trips, path, riders=trips.rider is not None)
    back = read_visits(path, ABC)
    assert back.to_lists() == trips.to_lists()
    assert (back.time is None) == (trips.time is None)
    assert trips.time is None or np.array_equal(back.time, trips.time)
    assert trips.rider is None or same_riders(trips.rider, back.rider)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@given(trips=many_trips(), seed=st.integers(0, 1000))
def test_with_seq_the_order_of_rows_does_not_matter(trips, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("shuffled") / "trips.parquet"
    write_visits(trips, path)
    pl.read_parquet(path).sample(fraction=1, shuffle=True, seed=seed).write_parquet(path)
    back = read_visits(path, ABC)
    assert sorted(back.to_lists()) == sorted(trips.to_lists())


def test_without_seq_the_order_of_the_file_counts_and_trips_may_be_interleaved(tmp_path):
    trips = read(tmp_path, "trip_id,stop_id\nx,a\ny,c\nx,b\ny,a\nx,c\n")
    assert named(trips) == ["abc", "ca"]


def test_seq_need_not_be_consecutive_and_orders_numbers_not_text(tmp_path):
    trips = read(tmp_path, "trip_id,seq,stop_id\n7,100,c\n7,9,b\n7,5,a\n")
    assert named(trips) == ["abc"]


@pytest.mark.parametrize(
    "columns",
    [
        {"trip_id": "journey", "stop_id": "halt"},
        {"journey": "trip_id", "halt": "stop_id"},
        {"tid": "journey", "stop": "halt"},
    ],
)
def test_columns_are_mapped_from_our_names_to_theirs_also_turned_around_and_in_earlier_words(
    tmp_path, columns
):
    trips = read(tmp_path, "journey;halt;card\n1;a;k\n1;b;k\n", columns=columns)
    assert named(trips) == ["ab"]
    assert trips.rider is None


def test_a_file_with_byte_order_mark_crlf_quotes_and_trailing_blank_lines_is_read(tmp_path):
    path = tmp_path / "taps.csv"
    path.write_bytes(b'\xef\xbb\xbftrip_id,stop_id\r\n"1","a"\r\n1,b\r\n\r\n\r\n')
    assert named(read_visits(path, ABC)) == ["ab"]


def test_riders_are_told_apart_and_may_be_missing(tmp_path):
    trips = read(tmp_path, "trip_id,stop_id,rider_id\n1,a,kim\n2,b,\n3,c,lee\n4,a,kim\n4,b,\n")
    assert trips.rider.tolist() == [0, -1, 1, 0]


def test_numbers_as_ids_match_a_world_of_text(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"trip_id": [1, 1], "stop_id": [10, 20], "rider_id": [5, 5]}).write_parquet(path)
    trips = read_visits(path, World.of_symbols(["10", "20"]))
    assert trips.to_lists() == [[0, 1]]
    assert trips.rider.tolist() == [0]


def test_repeats_are_kept_or_merged_as_asked(tmp_path):
    text = "trip_id,stop_id\n1,a\n1,a\n1,b\n2,b\n"
    assert named(read(tmp_path, text)) == ["aab", "b"]
    assert named(read(tmp_path, text, repeats="merge")) == ["ab", "b"]


def test_trips_with_unknown_stops_are_dropped_if_asked(tmp_path):
    text = "trip_id,stop_id,rider_id\n1,a,p\n2,b,q\n2,zoo,q\n3,c,r\n"
    trips = read(tmp_path, text, on_unknown="drop-trip")
    assert named(trips) == ["a", "c"]
    assert trips.rider.tolist() == [0, 2]


def test_a_universe_from_the_data_must_be_asked_for_and_is_not_public(tmp_path):
    path = written(tmp_path, "trip_id,stop_id\n1,x\n1,y\n")
    with pytest.raises(ParameterError, match="not private"):
        read_visits(path)
    trips = read_visits(path, universe_from_data=True)
    assert trips.world.ids.tolist() == ["x", "y"]
    assert not trips.world.public
    with pytest.raises(ParameterError, match="not both"):
        read_visits(path, ABC, universe_from_data=True)


@pytest.mark.parametrize(
    ("text", "message", "row"),
    [
        ("stop_id\na\n", "has no column 'trip_id'; its columns are 'stop_id'", None),
        ("x,y\n1,2\n", "has no column 'trip_id' and no column 'stop_id'", None),
        ("", "is empty", None),
        ("\n", "is empty", None),
        ("trip_id,stop_id\n", "has a header but no rows", None),
        ("trip_id,stop_id\n1,a\n,b\n", "has no trip_id", 2),
        ("trip_id,stop_id\n1,a\n1,\n", "has no stop_id", 2),
        ('trip_id,stop_id\n1,a\n1,""\n', "has no stop_id", 2),
        ("trip_id,stop_id\n1,a\n1,b,c\n", "has rows with more cells than its first line", None),
        ("trip_id,seq,stop_id\n1,1,a\n1,x,b\n", "seq 'x' is not a whole number", 2),
        ("trip_id,seq,stop_id\n1,1,a\n1,,b\n", "has no seq", 2),
        ("trip_id,seq,stop_id\n1,1,a\n2,1,a\n1,1,b\n", "trip '1' already has a visit with seq 1", 3),
        ("trip_id,stop_id,event_time\n1,a,\n1,b,08:00\n", "has no event_time", 1),
        ("trip_id,stop_id,event_time\n1,a,08:00\n1,b,soon\n", "'soon' cannot be read", 2),
        ("trip_id,stop_id,event_time\n1,a,2021-02-30T08:00\n", "'2021-02-30T08:00' cannot be read", 1),
        ("trip_id,stop_id,event_time\n1,a,2021-02-03\n", "'2021-02-03' cannot be read", 1),
        ("trip_id,stop_id,event_time\n1,a,08:60\n", "'08:60' cannot be read", 1),
        (
            "trip_id,stop_id,event_time\n1,a,08:00\n1,b,29000\n",
            "'29000' is whole seconds, but the file began with a clock",
            2,
        ),
        (
            "trip_id,stop_id,event_time\n1,a,2021-02-03T08:00\n1,b,2021-02-03T08:00Z\n",
            "with zone, but the file began with a date and time without zone",
            2,
        ),
        (
            "trip_id,stop_id,event_time\n1,a,08:00\n2,a,07:00\n1,b,07:59\n",
            "'07:59' is earlier than the visit before it in trip '1'",
            3,
        ),
        ("trip_id,stop_id,rider_id\n1,a,p\n1,b,q\n", "trip '1' belongs to more than one rider", 2),
    ],
)
def test_a_bad_file_gives_one_sentence_with_its_place(tmp_path, text, message, row):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "taps.csv" in str(caught.value)
    assert caught.value.row == row
    assert "\n" not in str(caught.value)


def test_an_unknown_stop_is_named_with_row_and_file(tmp_path):
    path = written(tmp_path, "trip_id,stop_id\n1,a\n1,b\n1,X\n2,c\n2,Y\n")
    with pytest.raises(UnknownStopError) as caught:
        read_visits(path, ABC)
    assert (
        str(caught.value) == f"stop 'X' in row 3 of {path} is not in the list of locations (1 more unknown)"
    )
    assert caught.value.row == 3
    assert caught.value.file == str(path)


def test_a_world_that_does_not_fit_the_trips_is_said_so(tmp_path):
    with pytest.raises(UnknownStopError, match=r"2 of the 3 stops in .* does not fit these trips"):
        read(tmp_path, "trip_id,stop_id\n1,a\n1,Paris\n1,Rome\n")


def test_files_that_are_not_there_or_not_what_they_say_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_visits(tmp_path / "nothing.csv", ABC)
    with pytest.raises(InputError, match="is a folder"):
        read_visits(tmp_path, ABC)
    with pytest.raises(InputError, match="is not a parquet file, or is damaged"):
        read_visits(written(tmp_path, "trip_id,stop_id\n1,a\n", "taps.parquet"), ABC)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"trip_id,stop_id\n" + b"1,a\n" * 999)[:30])
    with pytest.raises(InputError, match="is not a csv file, or is damaged"):
        read_visits(tmp_path / "cut.csv.gz", ABC)


def test_a_truncated_parquet_file_is_refused(tmp_path):
    path = tmp_path / "trips.parquet"
    write_visits(Trips.of_lists([[0, 1, 2]] * 50, ABC), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is not a parquet file, or is damaged"):
        read_visits(path, ABC)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"zone": "stop_id"}, "has no column 'zone' to use as 'stop_id'"),
        ({"stop_id": "zone"}, "has no column 'zone' to use as 'stop_id'"),
        ({"where": "trip_id", "stop_id": "zone"}, "unknown column 'where'"),
        ({"zone": "stop_id", "place": "stop_id"}, "two of theirs"),
        ({"stop_id": "zone", "trip_id": "zone"}, "one of their columns to two of ours"),
        ({"stop_id": "stop_id", "stop": "trip_id"}, "names 'stop_id' twice"),
    ],
)
def test_a_column_map_that_cannot_be_is_refused(tmp_path, columns, message):
    with pytest.raises((InputError, ParameterError), match=message):
        read(tmp_path, "trip_id,stop_id\n1,a\n", columns=columns)


def test_options_and_suffixes_that_do_not_exist_are_refused(tmp_path):
    path = written(tmp_path, "trip_id,stop_id\n1,a\n")
    with pytest.raises(ParameterError, match="on_unknown"):
        read_visits(path, ABC, on_unknown="guess")
    with pytest.raises(ParameterError, match="repeats"):
        read_visits(path, ABC, repeats="some")
    with pytest.raises(ParameterError, match=r"end its name in \.parquet"):
        write_visits(Trips.of_lists([[0]], ABC), tmp_path / "trips.xlsx")
    with pytest.raises(ParameterError, match="no rider ids"):
        write_visits(Trips.of_lists([[0]], ABC), tmp_path / "trips.csv", riders=True)
    with pytest.raises(InputError, match="folder does not exist"):
        write_visits(Trips.of_lists([[0]], ABC), tmp_path / "nowhere" / "trips.csv")


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["8:05", "25:10:30"], [29_100, 90_630]),
        (["100", "250"], [100, 250]),
        (["2021-04-20T08:15:00", "2021-04-20 08:16:59.9"], [1_618_906_500, 1_618_906_619]),
        (["2021-04-20T08:15+02:00", "2021-04-20T08:16:00+0200"], [1_618_906_500, 1_618_906_560]),
        (["2021-04-20T08:15Z", "2021-04-20T08:16:00 +00:00"], [1_618_906_500, 1_618_906_560]),
    ],
)
def test_times_are_local_wall_seconds_in_every_form(tmp_path, texts, seconds):
    trips = read(tmp_path, "trip_id,stop_id,event_time\n" + "".join(f"1,a,{text}\n" for text in texts))
    assert trips.time.tolist() == seconds


def test_a_trip_through_the_repeated_hour_does_not_go_back_in_time(tmp_path):
    trips = read(
        tmp_path,
        "trip_id,stop_id,event_time\n1,a,2021-10-31T02:55:00+02:00\n1,b,2021-10-31T02:05:00+01:00\n"
        "2,a,2021-10-31T02:05:00+01:00\n",
    )
    before, after, other = trips.time
    assert after - before == 600
    assert before - other == 50 * 60


def test_times_of_a_parquet_file_may_have_any_type(tmp_path):
    start = datetime(2021, 10, 31, 0, 50, tzinfo=ZoneInfo("UTC"))
    zoned = pl.Series([start, start + timedelta(minutes=20)]).dt.convert_time_zone("Europe/Berlin")
    path = tmp_path / "t.parquet"
    for column, expected in [
        (zoned, [10_200, 11_400]),
        (zoned.dt.replace_time_zone(None, ambiguous="earliest").dt.offset_by("1d").sort(), [7_800, 10_200]),
        (pl.Series([timedelta(hours=25), timedelta(hours=26)]), [90_000, 93_600]),
        (pl.Series([28_800_000_000_000, 28_860_000_000_000]).cast(pl.Time), [28_800, 28_860]),
        (pl.Series([7, 9], dtype=pl.Int32), [7, 9]),
        (pl.Series(["08:00", "09:00"]), [28_800, 32_400]),
    ]:
        pl.DataFrame({"trip_id": [1, 1], "stop_id": ["a", "b"], "event_time": column}).write_parquet(path)
        time = read_visits(path, ABC).time
        assert [int(t) % 86_400 if t > 200_000 else int(t) for t in time] == expected
    pl.DataFrame({"trip_id": [1], "stop_id": ["a"], "event_time": [1.5]}).write_parquet(path)
    with pytest.raises(InputError, match=r"'1\.5' cannot be read"):
        read_visits(path, ABC)


def test_a_column_of_times_without_any_value_is_no_column(tmp_path):
    assert read(tmp_path, "trip_id,stop_id,event_time\n1,a,\n1,b,\n").time is None


def test_written_files_hold_what_people_expect_and_no_rider(tmp_path):
    trips = Trips.of_lists(
        [[0, 1], [], [2]], ABC, time=np.array([90_000, 90_060, 28_800]), rider=np.array([4, 5, -1])
    )
    write_visits(trips, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        "trip_id,seq,stop_id,event_time\n1,1,a,25:00:00\n1,2,b,25:01:00\n3,1,c,08:00:00\n"
    )
    write_visits(trips, tmp_path / "t.parquet", riders=True)
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table.schema == {
        "trip_id": pl.Int64,
        "seq": pl.Int32,
        "stop_id": pl.String,
        "event_time": pl.Datetime("us"),
        "rider_id": pl.Int64,
    }
    assert table["event_time"][0] == datetime(1970, 1, 2, 1)
    assert table["rider_id"].to_list() == [4, 4, None]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "trips.csv"
    path.write_text("precious")

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(pl.LazyFrame, "sink_csv", fail)
    with pytest.raises(OSError, match="disk full"):
        write_visits(Trips.of_lists([[0]], ABC), path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_a_moment_that_no_calendar_has_is_a_problem_of_its_year_alone():
    moments = pl.from_epoch(pl.Series([1_700_000_000, 1_700_000_060, -636_000_000_000]), time_unit="s")
    visits = pl.DataFrame({"trip_id": [1, 1, 1], "stop_id": ["a", "b", "c"], "event_time": moments})
    findings = Findings("visits")
    with contextlib.suppress(InputError):
        read_visits(visits, ABC, findings=findings)
    assert ["impossible year" in problem.problem for problem in findings.problems] == [True]


def test_starts_of_a_zone_and_ends_without_one_are_told_apart():
    start = pl.Series([datetime(2026, 9, 7, 8)]).dt.replace_time_zone("Europe/London")
    table = pl.DataFrame(
        {"origin": ["a"], "destination": ["b"], "start": start, "end": [datetime(2026, 9, 7, 8, 5)]}
    )
    with pytest.raises(InputError, match="one form"):
        read_pairs(table, ABC)
