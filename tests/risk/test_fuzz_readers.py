"""Damaged files of every kind: each is read or refused in a sentence; nothing is spent and no stray file appears."""

import os
import random
from pathlib import Path
from shutil import rmtree

import pytest
from mutated_files import WORLD, damaged_file, kind_named

from wayveil.errors import WayveilError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips

INPUTS = int(os.environ.get("WAYVEIL_FUZZ", "20000"))
KINDS = ("GTFS", "visits", "sequences", "taps", "taxonomy", "datasheet", "ledger", "model")


def fuzz(name: str, inputs: int, seed: int, place: Path) -> tuple[int, int, int]:
    """Read damaged files of one kind; how many were read, how many refused, and how many were released too."""
    (place / "kept").mkdir()
    kind = kind_named(name, place / "kept")
    desk = place / "desk"
    for example, content in kind.examples.items():
        desk.mkdir()
        (desk / example).write_bytes(content)
        kind.read(desk / example)  # what is not damaged is read
        rmtree(desk)
    desk.mkdir()
    chance, read, released = random.Random(seed), 0, 0
    for turn in range(inputs):
        file = desk / chance.choice(sorted(kind.examples))
        content = damaged_file(kind.examples[file.name], chance)
        file.write_bytes(content)
        try:
            made = kind.read(file)
            read += 1
            if isinstance(made, Trips) and turn % 25 == 0:
                _release(made, place / "kept" / f"{turn}.ledger")
                released += 1
        except WayveilError:
            pass
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            keep = place / f"{name}-{seed}-{turn}-{file.name}"
            keep.write_bytes(content)
            pytest.fail(f"{name}, seed {seed}, input {turn} ({keep}): {type(error).__name__}: {error}")
        # Databases leave their own journals beside them.
        strays = {path.name for path in desk.iterdir()} - {
            file.name + end for end in ("", "-wal", "-shm", "-journal")
        }
        assert not strays, f"{name}, seed {seed}, input {turn}: wrote {strays}"
        for path in desk.iterdir():
            path.unlink()
    return read, inputs - read, released


def _release(trips: Trips, path: Path) -> None:
    """What could be read can be released, or is refused without a spend."""
    ledger = open_ledger(path)
    ledger.set_policy("trips", Policy(10, unit="trip"), actor="test")
    try:
        release(trips, NoisyPrefixTree(height=2), epsilon=1, unit=Trip(), ledger=ledger, actor="test")
    except WayveilError:
        assert ledger.spent("trips") == 0
        raise
    assert ledger.spent("trips") == 1


def test_the_hand_damages_and_the_readers_refuse(tmp_path):
    for number, name in enumerate(KINDS):
        place = tmp_path / name
        place.mkdir()
        read, refused, _ = fuzz(name, 15, number, place)
        assert read + refused == 15
    assert WORLD.size == 6


@pytest.mark.audit
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_end_in_a_sentence(name, tmp_path, monkeypatch, record_property):
    monkeypatch.chdir(tmp_path)
    read, refused, released = fuzz(name, -(-INPUTS // len(KINDS)), seed=20_24, place=tmp_path)
    assert read > 0
    assert refused > 0
    assert released > 0 or name not in ("visits", "sequences")
    record_property(
        "tally",
        f"{name}: {read:,} damaged files read, {refused:,} refused; no traceback, no spend, no stray file",
    )
