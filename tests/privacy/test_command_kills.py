"""Kill -9 of `wayveil release` of trips, taps and points on the command line: no overspend, no half release.

`make audit` kills a thousand times, a quarter of them weekly plans (`series/test_series_kills`). WAYVEIL_KILLS=10000
asks for more.
"""

import os
import random
import time
from pathlib import Path

import pytest
from command_nursery import ROWS, write_world
from test_release_faults import Nursery, check_everything, published

from wayveil.privacy.ledger import Policy, open_ledger

KILLS = int(os.environ.get("WAYVEIL_KILLS", "1000"))
CHECK_EVERY = 10  # the whole ledger is read at every look, so that a look at each kill would take hours


@pytest.fixture(scope="module")
def nursery():
    made = Nursery("command_nursery.py")
    yield made
    made.close()


def make_place(place: Path, kind: str) -> Path:
    place.mkdir()
    write_world(place, kind)
    unit = "rider" if kind == "taps" else "trip"
    open_ledger(place / "trips.ledger").set_policy("trips", Policy(10**6, unit=unit), actor="test")
    return place


def kill_commands(nursery: Nursery, place: Path, kills: int, seed: int) -> tuple[int, int]:
    """Half of the kills at a random step of the code, half at a random moment; kills done, and releases that lived."""
    chance = random.Random(seed)
    said = nursery.ask(f"count {place / 'whole'}")
    assert said.startswith("lived"), said
    assert "error" not in said, said
    steps = int(said.split()[1])
    begin = time.monotonic()
    assert nursery.ask(f"live {place / 'timed'}") == "lived 0"
    micros = int(1e6 * (time.monotonic() - begin))
    assert steps > 200
    done = lived = 0
    while done < kills:
        folder = place / f"release{done}-{lived}"
        order = (
            f"step {chance.randint(1, steps)}"
            if chance.random() < 0.5
            else f"after {chance.randint(0, micros)}"
        )
        ended = nursery.ask(f"{order} {folder}")
        assert ended == "killed" or (ended.startswith("lived ") and "error" not in ended), ended
        done, lived = done + (ended == "killed"), lived + (ended != "killed")
        assert lived <= 10 * kills
        if done % CHECK_EVERY == 0:
            check_everything(place)
    assert nursery.ask(f"count {place / 'afterwards'}").startswith("lived")
    check_everything(place)
    assert {"whole", "afterwards"} <= {folder.name for folder in published(place)}
    return done, lived


@pytest.mark.parametrize("kind", ROWS)
def test_commands_killed_a_few_times_leave_a_whole_ledger_and_only_whole_releases(nursery, tmp_path, kind):
    done, _ = kill_commands(nursery, make_place(tmp_path / kind, kind), kills=4, seed=1)
    assert done == 4


@pytest.mark.audit
@pytest.mark.parametrize("kind", ROWS)
def test_commands_killed_many_times_leave_a_whole_ledger_and_only_whole_releases(
    nursery, tmp_path, record_property, kind
):
    done = lived = 0
    wanted = -(-KILLS // 4)
    while done < wanted:  # a ledger of its own for each hundred, so that none gets long
        place = make_place(tmp_path / f"{kind}{done}", kind)
        killed, whole = kill_commands(nursery, place, min(100, wanted - done), seed=100 + done)
        done, lived = done + killed, lived + whole
    record_property(
        "tally",
        f"{kind}: {done:,} releases killed with -9 on the command line: 0 overspends, 0 half releases; {lived:,} lived",
    )
    assert done == wanted
