"""A process that loads everything once and then bears children: each makes one release and is killed on the way.

Talked to in lines: `step N FOLDER` lets the child kill itself at the N-th step of the release code, `after MICROS
FOLDER` kills it from outside after so long, `count FOLDER` lets it live and says how many steps it took. It answers
with `killed` or `lived COUNT`.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Ledger, Policy, open_ledger
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.world import World

# Python and C calls made from here are the steps of a release; between any two of them a child can die.
STEPS = ("/releases/", "/ledger/", "/privacy/gate.py", "/privacy/budget.py")
MECHANISM = NoisyPrefixTree(height=2)


def tiny_trips() -> Trips:
    world = World.of_symbols("abcd")
    return Trips.of_lists([[0, 1], [0, 1, 2], [3]] * 10, world, rider=np.arange(30))


def ledger_of(place: Path) -> Ledger:
    """The ledger of a folder, with a policy that nobody will exhaust."""
    ledger = open_ledger(place / "trips.ledger")
    if ledger.policy("trips") is None:
        ledger.set_policy("trips", Policy(10**6, unit="trip"), actor="test")
    return ledger


def one_release(folder: Path) -> None:
    ledger = ledger_of(folder.parent)
    made = release(tiny_trips(), MECHANISM, epsilon=1, unit=Trip(), ledger=ledger, actor="test")
    made.save(folder, key=folder.parent / "key.pem")


class StepCounter:
    """Counts steps, and dies at the chosen one."""

    def __init__(self, last: int | None) -> None:
        self.steps = 0
        self.last = last
        self._counts: dict[Any, bool] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if code not in self._counts:
            self._counts[code] = any(part in code.co_filename for part in STEPS)
        if self._counts[code]:
            self.steps += 1
            if self.steps == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def child(folder: Path, last: int | None) -> int:
    counter = StepCounter(last)
    sys.setprofile(counter)
    one_release(folder)
    sys.setprofile(None)
    return counter.steps


def bear(folder: Path, *, last: int | None = None, after: int | None = None) -> str:
    """One child; how it ended."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            steps = child(folder, last)
            os.write(write, str(steps).encode())
            os._exit(0)
        except BaseException as error:
            os.write(write, f"error {type(error).__name__} {error}".encode())
            os._exit(1)
    os.close(write)
    if after is not None:
        time.sleep(after / 1e6)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    return "killed" if os.WIFSIGNALED(status) else f"lived {said}"


def warm_up() -> None:
    """Compile before the first fork. Nothing here may start threads: children could not use them."""
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    MECHANISM.measure(LocalCounter(gate.bound(tiny_trips())), gate).generate(0)


def main() -> None:
    warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        command, *arguments = line.split(maxsplit=2)
        if command == "count":
            answer = bear(Path(arguments[0]))
        elif command == "step":
            answer = bear(Path(arguments[1].strip()), last=int(arguments[0]))
        else:
            answer = bear(Path(arguments[1].strip()), after=int(arguments[0]))
        print(answer, flush=True)


if __name__ == "__main__":
    main()
