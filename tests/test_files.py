"""Files and folders appear whole or not at all, and what killed writers left behind is swept."""

import os
import subprocess

import pytest

from wayveil import files
from wayveil.errors import InputError
from wayveil.files import move_folder, process_is_alive, whole_file, whole_folder, write_first, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def dead():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_file_appears_when_it_is_whole(tmp_path):
    with whole_file(tmp_path / "a") as draft:
        draft.write_text("new")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_text() == "new"
    assert names(tmp_path) == ["a"]


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(tmp_path):
    write_whole(tmp_path / "a", "old")
    with pytest.raises(TypeError), whole_file(tmp_path / "a") as draft, draft.open("w") as file:
        print("half", 1, sep=2, file=file)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_folder_appears_when_it_is_whole_also_over_an_empty_one(tmp_path):
    (tmp_path / "a").mkdir()
    with whole_folder(tmp_path / "a") as draft:
        (draft / "deep").mkdir()
        write_whole(draft / "deep" / "b", b"1")
    assert (tmp_path / "a" / "deep" / "b").read_bytes() == b"1"
    assert names(tmp_path) == ["a"]


def test_a_folder_never_replaces_a_full_one(tmp_path):
    write_whole(tmp_path / "a" / "b", "kept")
    with pytest.raises(OSError), whole_folder(tmp_path / "a") as draft:
        (draft / "c").touch()
    assert names(tmp_path / "a") == ["b"]
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", [whole_file, whole_folder])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, kind):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(OSError), kind(tmp_path / "a") as draft:
        (draft if kind is whole_file else draft / "b").touch()
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", [whole_file, whole_folder])
def test_a_folder_that_is_not_there_is_said(tmp_path, kind):
    with pytest.raises(InputError, match="its folder does not exist"), kind(tmp_path / "no" / "a"):
        pass


def test_drafts_of_dead_writers_are_swept_and_those_of_living_ones_are_not(tmp_path, dead):
    left = [f".a.partial-0-{dead}", f".a.partial-{dead}", f".a.partial-0-{os.getpid()}"]
    for name in (*left, f".a.partial-0-{os.getppid()}", f".b.partial-0-{dead}"):
        (tmp_path / name).mkdir()
    with whole_file(tmp_path / "a") as draft, whole_file(tmp_path / "a") as other:
        draft.write_text("first")
        other.write_text("second")
    assert names(tmp_path) == sorted(["a", f".a.partial-0-{os.getppid()}", f".b.partial-0-{dead}"])
    assert (tmp_path / "a").read_text() == "first"


def test_a_secret_is_written_once_and_only_its_owner_can_read_it(tmp_path):
    write_first(tmp_path / "home" / "key", b"one")
    write_first(tmp_path / "home" / "key", b"two")
    write_whole(tmp_path / "home" / "noise", "3", secret=True)
    assert (tmp_path / "home" / "key").read_bytes() == b"one"
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "home").iterdir()] == [0o600] * 2


def test_a_moved_folder_is_gone_where_it_was(tmp_path):
    write_whole(tmp_path / "making" / "a", "1")
    move_folder(tmp_path / "making", tmp_path / "public")
    assert names(tmp_path) == ["public"]


def test_a_process_is_alive_until_it_ends(dead):
    assert process_is_alive(os.getpid())
    assert process_is_alive(1)
    assert not process_is_alive(dead)
