"""A warm process whose children run `wayveil release` on the command line and are killed on the way.

Talked to in lines, like `release_nursery`: `step N FOLDER` lets the child kill itself at the N-th step of the code,
`after MICROS FOLDER` kills it from outside after so long, `count FOLDER` lets it live and says how many steps it took,
and `live FOLDER` lets it live without counting, which is quicker.
"""

import io
import os
import sys
from pathlib import Path

import release_nursery
from release_nursery import StepCounter, bear, warm_up

from wayveil.cli import _register, app
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanisms
from wayveil.released import datasheet_page
from wayveil.releases import accounts, saving
from wayveil.trips import read
from wayveil.world import opening

# What the command imports when it runs: loaded once, here, and not by every child.
LOADED = (accounts, datasheet_page, saving, read, opening)
NO_STEPS = 0

TRIPS = "trip_id,stop_id\n" + "".join(f"{trip},{stop}\n" for trip in range(30) for stop in "abc"[trip % 3 :])
PLACES = "a\nb\nc\nd\n"


def write_world(place: Path) -> None:
    (place / "trips.csv").write_text(TRIPS)
    (place / "places.txt").write_text(PLACES)


def command(folder: Path) -> list[str]:
    """What somebody types."""
    place = folder.parent
    options = {
        "--world": place / "places.txt",
        "--epsilon": 1,
        "--out": folder,
        "--mechanism": "noisy-prefix-tree",
        "--set": "height=2",
        "--unit": "trip",
        "--ledger": place / "trips.ledger",
        "--dataset": "trips",
    }
    return ["release", str(place / "trips.csv"), *(str(part) for pair in options.items() for part in pair)]


def child(folder: Path, last: int | None) -> int:
    os.environ["WAYVEIL_HOME"] = str(folder.parent / ".home")
    # Words for people, which nobody reads here.
    sys.stdout = sys.stderr = io.StringIO()
    counter = StepCounter(last)
    if last != NO_STEPS:
        sys.setprofile(counter)
    try:
        app([*command(folder), "--quiet"], standalone_mode=False)
    except WayveilError as error:
        raise RuntimeError(str(error)) from error
    finally:
        sys.setprofile(None)
    return counter.steps


def main() -> None:
    _register()
    mechanisms()
    warm_up()
    release_nursery.child = child
    print("ready", flush=True)
    for line in sys.stdin:
        word, *arguments = line.split(maxsplit=2)
        if word == "count":
            answer = bear(Path(arguments[0].strip()))
        elif word == "live":
            answer = bear(Path(arguments[0].strip()), last=NO_STEPS)
        elif word == "step":
            answer = bear(Path(arguments[1].strip()), last=int(arguments[0]))
        else:
            answer = bear(Path(arguments[1].strip()), last=NO_STEPS, after=int(arguments[0]))
        print(answer, flush=True)


if __name__ == "__main__":
    main()
