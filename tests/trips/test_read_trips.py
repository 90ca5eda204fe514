"""The right reader is picked, and `check` tells every problem of a file at once."""

import zipfile
from pathlib import Path

import pytest

from wayveil.errors import InputError
from wayveil.trips.read import check, read_trips
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])


def written(tmp_path: Path, text: str, name: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("t.csv", "trip_id,stop_id\n1,a\n1,b\n2,c\n", {}),
        ("t.txt", "trip_id,stop_id\n1,a\n1,b\n2,c\n", {}),
        ("t.txt", "trip,stop_id\n1,a\n1,b\n2,c\n", {"columns": {"trip": "trip_id"}}),
        ("t.txt", "a b\nc\n", {}),
        ("t.ngram", "a,b\nc\n", {}),
        ("t.dat", "a -1 b -1 -2\nc -1 -2\n", {}),
        ("t.csv", "a,b\nc\n", {"format": "comma"}),
    ],
)
def test_the_reader_fits_the_file(tmp_path, name, text, options):
    assert read_trips(written(tmp_path, text, name), ABC, **options).to_lists() == [[0, 1], [2]]


def test_parquet_and_a_zipped_sequence_file_are_read(tmp_path):
    write_visits(Trips.of_lists([[0, 1]], ABC), tmp_path / "t.parquet")
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.seq", "a b\n")
    assert read_trips(tmp_path / "t.parquet", ABC).to_lists() == [[0, 1]]
    assert read_trips(tmp_path / "t.zip", ABC).to_lists() == [[0, 1]]


def test_a_feed_or_network_is_not_taken_for_trips(tmp_path):
    with zipfile.ZipFile(tmp_path / "feed.zip", "w") as archive:
        archive.writestr("stops.txt", "stop_id\n")
        archive.writestr("trips.txt", "trip_id\n")
    for path in (tmp_path, tmp_path / "feed.zip", written(tmp_path, "x", "city.npz")):
        with pytest.raises(InputError, match="give it as the world"):
            read_trips(path, ABC)


def test_every_problem_is_found_with_up_to_three_examples(tmp_path):
    path = written(
        tmp_path,
        "trip_id,seq,stop_id,event_time,rider_id\n"
        "1,1,a,08:00,p\n1,1,b,07:00,q\n1,3,Q,soon,p\n2,1,R,,\n2,2,S,09:00,\n2,3,T,08:59,\n,4,,10:00,\n",
        "t.csv",
    )
    findings = check(path, ABC)
    assert not findings.ok
    assert findings.kind == "visits"
    text = [str(problem) for problem in findings.problems]
    assert [problem.rows for problem in findings.problems] == [1, 1, 1, 4, 2, 2, 1]
    assert text[0] == "visits without trip_id (1 row): row 7: has no trip_id"
    assert "row 2: trip '1' already has a visit with seq 1" in text[1]
    assert text[3].endswith("row 3: stop 'Q'; row 4: stop 'R'; row 5: stop 'S'; 1 more")
    assert len(findings.lines()) == 8


def test_a_good_file_gives_its_counts_and_no_problem(tmp_path):
    path = written(tmp_path, "a b\nb c a\n", "t.txt")
    findings = check(path, ABC)
    assert findings.ok
    assert findings.facts["trips"] == 2
    assert findings.facts["format"] == "space"
    assert findings.lines()[1] == "no problem found"


def test_without_a_world_stops_are_taken_as_they_are(tmp_path):
    for name, text in (("t.csv", "trip_id,stop_id\n1,x\n1,\n"), ("u.txt", "x -1 y z -1 -2\n")):
        findings = check(written(tmp_path, text, name))
        assert [problem.rows for problem in findings.problems] == [1]
        assert "without a world" in findings.lines()[-1]


def test_an_id_with_a_blank_in_front_is_the_stop_and_an_unknown_one_is_no_traceback(tmp_path):
    trips = read_trips(written(tmp_path, "trip_id,stop_id\n1,a\n1, b\n", "trips.csv"), ABC)
    assert ABC.ids[trips.location].tolist() == ["a", "b"]
    with pytest.raises(InputError, match=r"stop ' x' in row 2 "):
        read_trips(written(tmp_path, "trip_id,stop_id\n1,a\n1, x\n", "trips.csv"), ABC)


def test_a_problem_of_the_whole_file_is_a_finding_not_an_error(tmp_path):
    assert check(tmp_path / "none.csv", ABC).lines()[1] == "problem: no such file"
    assert "has no column" in check(written(tmp_path, "x\n1\n", "t.csv"), ABC).lines()[1]
    with zipfile.ZipFile(tmp_path / "feed.zip", "w") as archive:
        archive.writestr("stops.txt", "stop_id\n")
        archive.writestr("trips.txt", "trip_id\n")
    findings = check(tmp_path / "feed.zip")
    assert findings.kind == "GTFS feed"
    assert not findings.ok


def test_a_file_that_is_no_text_is_a_finding(tmp_path):
    path = tmp_path / "t.dat"
    path.write_bytes(b"\xff\xfe\x00\x01")
    assert "not a text file" in check(path, ABC).lines()[1]


def test_a_feed_is_read_and_described(tmp_path):
    feed = tmp_path / "feed"
    feed.mkdir()
    for name, text in {
        "stops": "stop_id,stop_name,stop_lat,stop_lon\nA,A,52.5,13.4\nB,B,52.51,13.41\n",
        "routes": "route_id,route_short_name,route_type\nR,1,3\n",
        "trips": "route_id,service_id,trip_id\nR,S,T\n",
        "calendar_dates": "service_id,date,exception_type\nS,20210420,1\n",
        "stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "T,08:00:00,08:00:00,A,1\nT,08:05:00,08:05:00,B,2\n",
    }.items():
        (feed / f"{name}.txt").write_text(text)
    findings = check(feed)
    assert findings.ok
    assert findings.facts["stations"] == 2
