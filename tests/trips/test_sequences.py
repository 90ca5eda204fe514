"""Sequence files of every dialect give the same trips, and broken lines are named."""

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from wayveil.errors import InputError, ParameterError, UnknownStopError
from wayveil.trips.history import Stability
from wayveil.trips.sequences import read_sequences
from wayveil.world.world import World

DIGITS = World.of_symbols(["1", "2", "3"])
MSNBC = "% Different categories found in input file:\n\nfront news tech\n\n\n% Sequences:\n\n1 1 \n2 3 \n"


def written(tmp_path: Path, text: str, name: str = "trips.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        MSNBC,
        "1 -1 1 -1 -2\n2 -1 3 -1 -2\n",
        "@CONVERTED_FROM_TEXT\n1 -1 1 -1 -2\r\n2 -1 3 -1 -2",
        "1,1\n2, 3\n",
        "1 1\n\n2\t3\n",
        "\ufeff# a comment\n1 1\n2 3",
    ],
)
def test_every_dialect_is_recognised(tmp_path, text):
    trips = read_sequences(written(tmp_path, text), DIGITS)
    assert trips.to_lists() == [[0, 0], [1, 2]]


def test_files_inside_a_zip_or_gzip_are_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("data/m.seq", MSNBC)
        archive.writestr("__MACOSX/._m.seq", "\0")
    (tmp_path / "m.seq.gz").write_bytes(gzip.compress(MSNBC.encode()))
    for name in ("m.zip", "m.seq.gz"):
        assert read_sequences(tmp_path / name, DIGITS).to_lists() == [[0, 0], [1, 2]]


def test_a_header_of_any_kind_can_be_skipped(tmp_path):
    path = written(tmp_path, "my trips\nof today\n1 2\n")
    assert read_sequences(path, DIGITS, header_lines=2).to_lists() == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "format", "message", "row"),
    [
        ("1 -1 2 -1 -2\n1 -1 2 -1\n", "spmf", "does not end in -2", 2),
        ("1 -1 -2 2 -1 -2\n", "spmf", "goes on after it", 1),
        ("1 -1 2 3 -1 -2\n", "spmf", "one location at a time", 1),
        ("1,2\n\n1,,2\n", "comma", "nothing between two commas", 3),
        ("1 2\n1 9\n", "space", "stop '9' in row 2 of", 2),
        ("% Sequences:\n\n", "auto", "has no sequence in it", None),
        ("", "auto", "is empty", None),
    ],
)
def test_a_broken_line_is_named(tmp_path, text, format, message, row):
    with pytest.raises(InputError, match=message) as caught:
        read_sequences(written(tmp_path, text), DIGITS, format=format)
    assert caught.value.row == row


def test_files_that_are_no_sequences_are_refused(tmp_path):
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match="is not a zip file, or is cut off"):
        read_sequences(tmp_path / "cut.zip", DIGITS)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.txt", "1")
        archive.writestr("b.txt", "2")
    with pytest.raises(InputError, match=r"should hold one file of sequences, but holds a\.txt, b\.txt"):
        read_sequences(tmp_path / "two.zip", DIGITS)
    (tmp_path / "noise.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_sequences(tmp_path / "noise.txt", DIGITS)
    (tmp_path / "noise.gz").write_bytes(b"1 2 3")
    with pytest.raises(InputError, match="not a gzip file"):
        read_sequences(tmp_path / "noise.gz", DIGITS)


def test_a_damaged_member_of_a_zip_is_refused(tmp_path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("m.seq", "1 2 3\n" * 50)
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged zip"):
        read_sequences(path, DIGITS)


def test_a_universe_from_the_data_must_be_asked_for_and_is_not_public(tmp_path):
    path = written(tmp_path, "JFK,SEA,JFK\nBOS\n", "flights.ngram")
    with pytest.raises(ParameterError, match="public world"):
        read_sequences(path)
    trips = read_sequences(path, universe_from_data=True)
    assert trips.world.ids.tolist() == ["BOS", "JFK", "SEA"]
    assert not trips.world.public


def test_unknown_symbols_and_repeats_follow_the_options(tmp_path):
    path = written(tmp_path, "1 1 2\n9\n3\n")
    with pytest.raises(UnknownStopError):
        read_sequences(path, DIGITS)
    dropped = read_sequences(path, DIGITS, format="space", on_unknown="drop-trip", repeats="merge")
    assert dropped.to_lists() == [[0, 1], [2]]
    assert dropped.history.stability == Stability(trips=1, visits=None)


def test_no_trip_decides_how_the_others_are_read(tmp_path):
    """Guessed from the first line, the format of all lines hung on one trip."""
    for first in ("1\n", "1,2\n"):
        path = written(tmp_path, first + "1,2,3\n" * 40)
        with pytest.raises(ParameterError, match="say how the file is written"):
            read_sequences(path, DIGITS, on_unknown="drop-trip")
        assert len(read_sequences(path, DIGITS, format="comma", on_unknown="drop-trip")) == 41


def test_a_comment_is_none_of_the_trips_wherever_it_stands(tmp_path):
    world = World.of_symbols(["#1", "2"])
    without = read_sequences(written(tmp_path, "#1 2\n#1\n2\n"), world).to_lists()
    within = read_sequences(written(tmp_path, "2 2\n#1 2\n#1\n2\n"), world).to_lists()
    assert within == [[1, 1], *without]
    assert len(read_sequences(written(tmp_path, "2 2\n#1 2\n"), world, header_lines=0)) == 2


def test_formats_and_ids_that_cannot_be_are_refused(tmp_path):
    path = written(tmp_path, "1\n")
    with pytest.raises(ParameterError, match="sequence formats are"):
        read_sequences(path, DIGITS, format="excel")


@pytest.mark.data
def test_the_msnbc_file_has_its_published_numbers():
    data = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
    path = data / "msnbc" / "msnbc990928.zip"
    if not path.exists():
        pytest.skip(f"no MSNBC data at {path}; set WAYVEIL_DATA")
    trips = read_sequences(path, World.of_symbols([str(i) for i in range(1, 18)]))
    assert len(trips) == 989_818
    assert trips.lengths.max() == 14_795
    assert (trips.lengths == 1).sum() == 365_435
