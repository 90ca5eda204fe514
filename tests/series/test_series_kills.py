"""Kill -9 in the middle of any week, and a rerun: the same state as if nothing had happened.

`make audit` kills a quarter of the thousand of `privacy/test_command_kills` (WAYVEIL_KILLS).
"""

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from privacy.nursery import Nursery
from series.series_worlds import week_file, write_plan
from wayveil.privacy.ledger import open_ledger
from wayveil.released.verification import ANY_KEY, verify_release
from wayveil.series.folder import RELEASE, SeriesFolder
from wayveil.series.page import index_is_current
from wayveil.series.status import status_of

KILLS = int(os.environ.get("WAYVEIL_KILLS", "1000"))
WEEKS = ("2026-W01", "2026-W02")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("series_nursery.py")
    yield made
    made.close()


def new_place(place: Path) -> Path:
    place.mkdir()
    # The year pays for two weeks and not for one more: whoever pays twice is refused.
    write_plan(place, period_epsilon=2, exports="")
    for week in (1, 2):
        week_file(place, week)
    return place


def check_state(place: Path) -> None:
    """Two weeks published, each paid for once; nothing open, nothing left over."""
    plan, ledger = write_plan(place, period_epsilon=2, exports=""), open_ledger(place / "ledger")
    folder = SeriesFolder(plan.home)
    assert tuple(folder.labels()) == WEEKS
    for label in WEEKS:
        verify_release(folder.published(label) / RELEASE, trust=ANY_KEY)
    (year,) = ledger.spans(plan.name)
    assert (year.spent.epsilon, year.remaining.epsilon) == (2, 0)
    assert Counter(each.state for each in ledger.booked(plan.name) if each.spent) == {"committed": 2}
    assert ledger.open_reservations() == []
    assert ledger.verify().ok
    assert index_is_current(folder)
    assert not list((folder.internal / "making").iterdir())
    assert not list(folder.home.rglob("*.noise"))
    assert status_of(plan, ledger).years[0].of("published") == list(WEEKS)


def kill_and_run_again(
    nursery: Nursery, tmp_path: Path, places: int, seed: int, reruns: tuple[int, ...] = (1, 0, 0)
) -> int:
    """Kill runs at random steps of their code; let the last one end. How many were killed.

    `reruns` says how many of the runs after the first are killed as well, at one place after the other.
    """
    said = nursery.ask(f"count {new_place(tmp_path / 'whole')}")
    assert said.startswith("lived"), said
    assert "error" not in said, said
    check_state(tmp_path / "whole")
    steps, chance, killed = int(said.split()[1]), random.Random(seed), 0
    for number in range(places):
        place = new_place(tmp_path / f"place{number}")
        # In strata, so that few kills reach every stage.
        at = int(steps * (number + chance.random()) / places) + 1
        killed += nursery.ask(f"step {at} {place}") == "killed"
        for _ in range(reruns[number % len(reruns)]):
            killed += nursery.ask(f"step {chance.randint(1, steps)} {place}") == "killed"
        ended = nursery.ask(f"count {place}")
        assert ended.startswith("lived ") and "error" not in ended, (at, ended)  # noqa: PT018
        check_state(place)
        shutil.rmtree(place)
    return killed


def test_a_kill_in_any_week_and_a_rerun_leave_the_same_state(nursery: Nursery, tmp_path: Path) -> None:
    assert kill_and_run_again(nursery, tmp_path, places=5, seed=3) >= 5


@pytest.mark.audit
def test_many_kills_leave_the_same_state(nursery: Nursery, tmp_path: Path, record_property) -> None:
    killed, turn = 0, 0
    while killed < -(-KILLS // 4):
        turn += 1
        (tmp_path / f"turn{turn}").mkdir()
        killed += kill_and_run_again(
            nursery, tmp_path / f"turn{turn}", places=20, seed=turn, reruns=(0, 2, 5)
        )
    record_property(
        "tally",
        f"weekly plans: {killed:,} runs killed with -9: 0 overspends, 0 half releases, each week paid once",
    )
