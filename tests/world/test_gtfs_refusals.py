"""Feeds that cannot be read: each gives one sentence that says what is wrong and where."""

import zipfile

import pytest
from tiny_feed import STOP_TIMES, STOPS, feed_folder, feed_zip

from wayveil.errors import InputError
from wayveil.world.gtfs import read_gtfs


def refusal(path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_gtfs(path, **options)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_a_missing_file(tmp_path):
    assert "no such file or folder" in refusal(tmp_path / "nothing.zip")


def test_a_file_that_is_no_zip(tmp_path):
    path = tmp_path / "stops.txt"
    path.write_text(STOPS)
    assert "is not a zip file" in refusal(path)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_truncated_zip(tmp_path, keep):
    whole = feed_zip(tmp_path / "whole.zip").read_bytes()
    path = tmp_path / "half.zip"
    path.write_bytes(whole[: int(len(whole) * keep)])
    assert "cut off or damaged" in refusal(path)


def test_a_zip_with_a_damaged_table(tmp_path):
    path = feed_zip(tmp_path / "f.zip")
    data = bytearray(path.read_bytes())
    at = data.index(b"t1,08:02:00")
    data[at : at + 2] = b"xx"
    path.write_bytes(data)
    assert "stop_times.txt cannot be unpacked" in refusal(path)


def test_a_zip_of_something_else_names_the_tables_it_lacks(tmp_path):
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cat.jpg", b"meow")
    expected = "is not a GTFS feed: it has no stops.txt, no routes.txt, no trips.txt, no stop_times.txt"
    assert expected in refusal(path)


@pytest.mark.parametrize("table", ["stops", "routes", "trips", "stop_times"])
def test_a_feed_without_a_required_table_names_it(tmp_path, table):
    path = feed_folder(tmp_path / "feed", **{table: None})
    assert refusal(path).endswith(f"is not a GTFS feed: it has no {table}.txt")


@pytest.mark.parametrize(
    ("table", "column"),
    [("stops", "stop_lat"), ("trips", "service_id"), ("stop_times", "stop_sequence"), ("routes", "route_id")],
)
def test_a_missing_column_is_named_with_its_table(tmp_path, table, column):
    texts = {
        "stops": STOPS,
        "trips": "route_id,service_id,trip_id\nR,W,t1\n",
        "stop_times": STOP_TIMES,
        "routes": "route_id,route_type\nR,3\n",
    }
    path = feed_zip(tmp_path / "f.zip", **{table: texts[table].replace(column, "other")})
    assert refusal(path).endswith(f"{table}.txt has no column {column}")


def test_an_empty_table(tmp_path):
    assert "stop_times.txt is empty" in refusal(feed_zip(tmp_path / "f.zip", stop_times=" \n\n"))
    assert "stops.txt has no stop in it" in refusal(feed_zip(tmp_path / "f.zip", stops=STOPS.splitlines()[0]))


def test_a_timetable_without_rows(tmp_path):
    header = STOP_TIMES.splitlines()[0]
    assert "stop_times.txt has no row in it" in refusal(
        feed_zip(tmp_path / "f.zip", stop_times=header + "\n")
    )


def test_a_timetable_of_strangers(tmp_path):
    table = STOP_TIMES.replace("t1", "t9")
    assert "names a trip and a stop that the feed has" in refusal(
        feed_zip(tmp_path / "f.zip", stop_times=table)
    )


def test_a_wrong_time_is_named_with_its_row(tmp_path):
    path = feed_zip(tmp_path / "f.zip", stop_times=STOP_TIMES.replace("08:03:00", "8h03"))
    assert refusal(path).endswith("stop_times.txt, row 2: departure_time '8h03' is not a time like 08:15:00")


def test_a_wrong_sequence_is_named_with_its_row(tmp_path):
    path = feed_zip(tmp_path / "f.zip", stop_times=STOP_TIMES.replace(",C,3", ",C,third"))
    assert refusal(path).endswith("stop_times.txt, row 3: stop_sequence 'third' is not a whole number")


def test_a_table_with_an_open_quote(tmp_path):
    path = feed_zip(tmp_path / "f.zip", stops='stop_id,stop_name,stop_lat,stop_lon\nA,"Alpha,50,8\n')
    assert "stops.txt is not a readable table" in refusal(path)


def test_a_box_without_a_stop_says_where_the_stops_are(tmp_path):
    text = refusal(feed_zip(tmp_path / "f.zip"), bbox=(0, 0, 1, 1))
    assert "no stop lies inside the bounding box 0,0,1,1" in text
    assert "50.0000,8.0000,50.0000,8.0200" in text


def test_a_zip_made_to_fill_memory_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("stop_times.txt", b"0" * (8 << 20))
    with pytest.raises(InputError, match="more than 200 times its size"):
        read_gtfs(bomb)
    monkeypatch.setattr("wayveil.world.gtfs.feed_tables.MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="would unpack to"):
        read_gtfs(bomb)
    monkeypatch.setattr("wayveil.world.gtfs.feed_tables.MOST_MEMBERS", 0)
    with pytest.raises(InputError, match="holds 1 files"):
        read_gtfs(bomb)
