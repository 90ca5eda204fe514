"""Real processes that race for the last epsilon, and real processes that are killed with signal 9."""

import multiprocessing
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from wayveil.errors import BudgetExceededError
from wayveil.privacy.ledger import Policy, open_ledger

pytest_plugins = ["privacy.ledger_places"]

# The fork server imports the ledger once; each process is then cheap, and no thread of the test run is forked.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["wayveil.privacy.ledger", "adbc_driver_postgresql.dbapi"])


def run_together(target: Callable[..., None], count: int, *arguments: Any) -> list[Any]:
    """Run `target(pipe, *arguments)` in several processes at once; what each of them sent back."""
    pipes, workers = [], []
    for _ in range(count):
        here, there = processes.Pipe(duplex=False)
        workers.append(processes.Process(target=target, args=(there, *arguments), daemon=True))
        workers[-1].start()
        there.close()
        pipes.append(here)
    try:
        return [pipe.recv() if pipe.poll(120) else "silent" for pipe in pipes]
    finally:
        for worker in workers:
            worker.join(10)
            worker.kill()


def race_for_the_last_epsilon(pipe: Any, place: str, barrier: Any, rounds: int) -> None:
    ledger = open_ledger(place)
    won = []
    for number in range(rounds):
        barrier.wait(60)
        try:
            ledger.reserve(f"round {number}", 1, actor=str(os.getpid()), mechanism="race")
            won.append(True)
        except BudgetExceededError:
            won.append(False)
    pipe.send(won)


@pytest.mark.parametrize("rounds", [20, pytest.param(100, marks=pytest.mark.audit)])
def test_two_processes_racing_for_the_last_epsilon_have_exactly_one_winner(place: str, rounds: int) -> None:
    ledger = open_ledger(place)
    for number in range(rounds):
        ledger.set_policy(f"round {number}", Policy(1), actor="officer")
    one, two = run_together(race_for_the_last_epsilon, 2, place, processes.Barrier(2), rounds)
    assert [a + b for a, b in zip(one, two, strict=True)] == [1] * rounds
    assert {summary.spent for summary in ledger.summary()} == {1}
    assert ledger.verify().ok


def reserve_until_refused(pipe: Any, place: str, barrier: Any) -> None:
    barrier.wait(60)
    ledger = open_ledger(place)  # the first of them makes the ledger
    ledger.set_policy("taps", Policy(2), actor=str(os.getpid()))
    won = 0
    try:
        while True:
            ledger.reserve("taps", "1/7", actor=str(os.getpid()), mechanism="race")
            won += 1
    except BudgetExceededError:
        pipe.send(won)


def test_processes_that_create_the_ledger_together_share_one_budget(place: str) -> None:
    won = run_together(reserve_until_refused, 4, place, processes.Barrier(4))
    assert sum(won) == 14
    ledger = open_ledger(place)
    assert ledger.spent("taps") == 2
    assert ledger.head().count == 14 + 4
    assert ledger.verify().ok


def publish_again_and_again(pipe: Any, place: str, evidence: str) -> None:
    """Write down what was drawn and what was published, outside the ledger, at the moment it happens."""
    ledger = open_ledger(place)
    notes = os.open(evidence, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        pipe.send("about to reserve")
        reservation = ledger.reserve("taps", "1/7", actor="worker", mechanism="loop")
        pipe.send("about to start")
        reservation.start()
        os.write(notes, f"drawn {reservation.id}\n".encode())
        os.write(notes, f"published {reservation.id}\n".encode())
        pipe.send("about to commit")
        reservation.commit("cafe")


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.audit)])
def test_kill_9_at_any_moment_loses_no_spend_and_breaks_no_line(
    place: str, tmp_path: Path, kills: int
) -> None:
    ledger = open_ledger(place)
    evidence = tmp_path / "evidence"
    evidence.touch()
    moments = random.Random(9)
    for _ in range(kills):
        here, there = processes.Pipe(duplex=False)
        worker = processes.Process(
            target=publish_again_and_again, args=(there, place, str(evidence)), daemon=True
        )
        worker.start()
        # So many steps and a moment more: in the middle of any step, however slow the machine is.
        for _ in range(moments.randint(1, 6)):
            assert here.poll(60)
            here.recv()
        time.sleep(moments.uniform(0, 0.02))
        worker.kill()
        worker.join()
        # A server may still be finishing what the dead client had sent; the next writer waits for that.
        with ledger._storage.transaction(write=True):
            pass

        assert open_ledger(place, create=False).verify().ok
        notes = [line.split() for line in evidence.read_text().splitlines()]
        drawn = {name for word, name in notes if word == "drawn"}
        published = {name for word, name in notes if word == "published"}
        lines = ledger.entries("taps")
        by_kind = {
            kind: {line.reservation for line in lines if line.kind == kind}
            for kind in ("reserve", "start", "commit")
        }
        assert by_kind["commit"] <= published <= drawn <= by_kind["start"] <= by_kind["reserve"]
        assert ledger.spent("taps") == Fraction(len(by_kind["reserve"]), 7) >= Fraction(len(published), 7)
        still_open = {item.id: item.started for item in ledger.open_reservations("taps")}
        assert still_open == {
            name: name in by_kind["start"] for name in by_kind["reserve"] - by_kind["commit"]
        }
    assert by_kind["commit"], "the workers got somewhere"
    ledger.reserve("taps", 1, actor="ana", mechanism="life goes on")


def reserve_in_a_fork(ledger_place: str) -> tuple[int, int]:
    """Reserve before and after a fork, with one ledger object, in parent and child."""
    ledger = open_ledger(ledger_place)
    ledger.reserve("taps", 1, actor="parent", mechanism="fork")
    child = os.fork()
    if child == 0:
        try:
            ledger.reserve("taps", 1, actor="child", mechanism="fork")
        finally:
            os._exit(0)
    ledger.reserve("taps", 1, actor="parent", mechanism="fork")
    return os.waitpid(child, 0)


def fork_and_report(pipe: Any, place: str) -> None:
    pipe.send(reserve_in_a_fork(place)[1])


def test_a_ledger_object_survives_a_fork(place: str) -> None:
    assert run_together(fork_and_report, 1, place) == [0]
    ledger = open_ledger(place)
    assert ledger.verify().ok
    assert sorted(line.actor for line in ledger.entries()) == ["child", "parent", "parent"]


def test_threads_that_share_a_ledger_object_share_one_budget(place: str) -> None:
    ledger = open_ledger(place)
    ledger.set_policy("taps", Policy(1), actor="officer")

    def spend(_: int) -> bool:
        try:
            ledger.reserve("taps", "1/5", actor="thread", mechanism="race")
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(spend, range(12))) == 5
    assert ledger.verify().ok
