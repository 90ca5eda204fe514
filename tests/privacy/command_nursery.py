"""A warm process whose children run `wayveil release` on the command line and are killed on the way.

Talked to in lines, like `release_nursery`: `step N FOLDER` lets the child kill itself at the N-th step of the code,
`after MICROS FOLDER` kills it from outside after so long, `count FOLDER` lets it live and says how many steps it took,
and `live FOLDER` lets it live without counting, which is quicker.
"""

import io
import json
import os
import sys
from pathlib import Path

import release_nursery
from release_nursery import StepCounter, bear, warm_up

from wayveil.cli import _register, app
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanisms
from wayveil.released import datasheet_page
from wayveil.releases import accounts, release
from wayveil.trips import read
from wayveil.world import opening

# What the command imports when it runs: loaded once, here, and not by every child.
LOADED = (accounts, datasheet_page, release, read, opening)
NO_STEPS = 0

# Kinds of rows that are released: what lies in the file, and what somebody says about it.
ROWS = {
    "trips": "trip_id,stop_id\n" + "".join(f"{at},{stop}\n" for at in range(30) for stop in "abc"[at % 3 :]),
    "taps": "card_id,stop_id,event_time\n"
    + "".join(f"c{at % 20},{'abcd'[at % 4]},2024-03-04T{6 + at % 12:02}:{at:02}:00\n" for at in range(60)),
    "points": "uid,tid,datetime,lat,lng\n"
    + "".join(
        f"taxi{at % 5},{at},2024-03-04 08:{2 * step:02}:00,{0.005 + 0.01 * (at % 2)},{0.005 + 0.01 * step}\n"
        for at in range(30)
        for step in range(3)
    ),
}
TREE = ("--mechanism", "noisy-prefix-tree", "--set", "height=2", "--unit", "trip")
SAID: dict[str, tuple[str, ...]] = {
    "trips": TREE,
    "taps": ("--rows", "taps", "--way", "cards", "--unit", "rider", "--max-trips", "2"),
    "points": ("--rows", "points", *TREE),
}
PLACES, GRID = "a\nb\nc\nd\n", "grid:0,0,0.02,0.03@2x3"


def write_world(place: Path, kind: str = "trips") -> None:
    """Write rows of a kind, the places that they name, and the command that releases them."""
    (place / "trips.csv").write_text(ROWS[kind])
    (place / "places.txt").write_text(PLACES)
    world = GRID if kind == "points" else str(place / "places.txt")
    words = ["release", str(place / "trips.csv"), *SAID[kind], "--world", world, "--epsilon", "1"]
    words += ["--ledger", str(place / "trips.ledger"), "--dataset", "trips", "--quiet"]
    (place / "command.json").write_text(json.dumps(words))


def command(folder: Path) -> list[str]:
    """Return what somebody types to make this release."""
    words: list[str] = json.loads((folder.parent / "command.json").read_text())
    return [*words, "--out", str(folder)]


def child(folder: Path, last: int | None) -> int:
    os.environ["WAYVEIL_HOME"] = str(folder.parent / ".home")
    # Words for people, which nobody reads here.
    sys.stdout = sys.stderr = io.StringIO()
    counter = StepCounter(last)
    if last != NO_STEPS:
        sys.setprofile(counter)
    try:
        app(command(folder), standalone_mode=False)
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
