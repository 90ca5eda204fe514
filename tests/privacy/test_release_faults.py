"""Whole releases that are killed, fail, or meet a full disk: no budget is created and nothing half-made is seen."""

import errno
import random
import resource
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from polars.exceptions import PolarsError
from release_nursery import MECHANISM, ledger_of, tiny_trips

from privacy.nursery import Nursery
from wayveil import files
from wayveil.errors import WayveilError
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import open_ledger
from wayveil.privacy.units import Trip
from wayveil.released.verification import ANY_KEY, verify_release
from wayveil.releases import release as release_folder
from wayveil.releases.release import Release, load_datasheet
from wayveil.run import make_release as release


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def published(place: Path) -> list[Path]:
    """What somebody who looks into the folder takes for a release."""
    return [folder for folder in place.iterdir() if folder.is_dir() and not folder.name.startswith(".")]


def check_everything(place: Path) -> None:
    """The ledger is whole, every visible release is whole, and each of them was paid for."""
    releases = published(place)
    if not (place / "trips.ledger").exists():
        assert not releases
        return
    ledger = open_ledger(place / "trips.ledger")
    assert ledger.verify().problem is None
    started = {line.reservation for line in ledger.entries() if line.kind == "start"}
    cancelled = {line.reservation for line in ledger.entries() if line.kind == "cancel"}
    for folder in releases:
        verify_release(folder, trust=ANY_KEY)  # not who signed, but that it is whole
        paid_with = load_datasheet(folder)["ledger"]["reservation"]
        assert paid_with in started - cancelled
    assert ledger.spent("trips") >= len(releases)


def kill_releases(nursery: Nursery, place: Path, kills: int, seed: int) -> None:
    """Half of the kills at a random step of the code, half at a random moment."""
    chance = random.Random(seed)
    begin = time.monotonic()
    said = nursery.ask(f"count {place / 'whole'}")
    micros = int(1e6 * (time.monotonic() - begin))
    assert said.startswith("lived"), said
    steps = int(said.split()[1])
    assert steps > 200
    done = 0
    for turn in range(4 * kills):
        folder = place / f"release{turn}"
        command = f"step {chance.randint(1, steps)}" if turn % 2 else f"after {chance.randint(0, micros)}"
        ended = nursery.ask(f"{command} {folder}")
        assert ended == "killed" or (ended.startswith("lived ") and "error" not in ended), ended
        done += ended == "killed"
        check_everything(place)
        if done == kills:
            break
    assert done == kills
    assert nursery.ask(f"count {place / 'afterwards'}").startswith("lived")
    check_everything(place)
    assert {"whole", "afterwards"} <= {folder.name for folder in published(place)}


def test_releases_killed_twenty_times_leave_a_whole_ledger_and_only_whole_releases(nursery, tmp_path):
    kill_releases(nursery, tmp_path, kills=20, seed=1)


@pytest.mark.audit
def test_releases_killed_two_hundred_times_leave_a_whole_ledger_and_only_whole_releases(nursery, tmp_path):
    kill_releases(nursery, tmp_path, kills=200, seed=2)


def test_the_check_notices_a_release_that_nobody_paid_for(tmp_path):
    released(tmp_path).save(tmp_path / "paid", key=tmp_path / "key.pem")
    check_everything(tmp_path)
    (tmp_path / ".other").mkdir()
    other = ledger_of(tmp_path / ".other")
    unpaid = release(tiny_trips(), MECHANISM, epsilon=1, unit=Trip(), ledger=other)
    unpaid.save(tmp_path / "unpaid", key=tmp_path / "key.pem")
    with pytest.raises(AssertionError):
        check_everything(tmp_path)


def test_the_check_notices_a_half_written_release(tmp_path):
    folder = released(tmp_path).save(tmp_path / "half", key=tmp_path / "key.pem")
    (folder / "model.parquet").unlink()
    with pytest.raises(WayveilError, match=r"model\.parquet"):
        check_everything(tmp_path)


def released(place: Path) -> Release:
    ledger = ledger_of(place)
    return release(tiny_trips(), MECHANISM, epsilon=1, unit=Trip(), ledger=ledger, actor="test")


def test_an_error_before_the_first_noise_gives_the_reservation_back(tmp_path, monkeypatch):
    monkeypatch.setattr(Gate, "bound", failing)
    with pytest.raises(OSError):
        released(tmp_path)
    ledger = open_ledger(tmp_path / "trips.ledger")
    assert ledger.spent("trips") == 0
    assert [line.kind for line in ledger.entries()] == ["policy", "content", "reserve", "cancel"]


def test_an_error_after_the_first_noise_leaves_the_budget_spent(tmp_path, monkeypatch):
    drawn = []
    draw = Gate.answer

    def fail_at_the_second_answer(gate, question, exact):
        drawn.append(draw(gate, question, exact))
        if len(drawn) == 2:
            failing()
        return drawn[-1]

    monkeypatch.setattr(Gate, "answer", fail_at_the_second_answer)
    with pytest.raises(OSError):
        released(tmp_path)
    ledger = open_ledger(tmp_path / "trips.ledger")
    assert ledger.spent("trips") == Fraction(1)
    kinds = [line.kind for line in ledger.entries()]
    assert kinds == ["policy", "content", "reserve", "start", "settle"], "nothing stays open"


@pytest.mark.parametrize("step", ["move_folder", "hash_file", "write_visits", "datasheet_page"])
def test_a_disk_that_fills_up_while_saving_leaves_no_half_release(tmp_path, monkeypatch, step):
    made = released(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(files if step == "move_folder" else release_folder, step, failing)
        with pytest.raises(WayveilError, match="No space left"):
            made.save(tmp_path / "out", key=tmp_path / "key.pem")
    assert published(tmp_path) == []
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]
    assert open_ledger(tmp_path / "trips.ledger").spent("trips") == 1
    made.save(tmp_path / "out", key=tmp_path / "key.pem")
    check_everything(tmp_path)


def test_files_that_may_not_grow_leave_no_half_release(tmp_path):
    made = released(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.raises((WayveilError, OSError, PolarsError)):
            made.save(tmp_path / "out", key=tmp_path / "key.pem")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert published(tmp_path) == []
    check_everything(tmp_path)


def failing(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
