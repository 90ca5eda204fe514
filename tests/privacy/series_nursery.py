"""A warm process whose children run `wayveil release` of a series and are killed on the way; see `release_nursery`."""

import io
import os
import sys
from pathlib import Path

import dp_accounting.pld.privacy_loss_distribution
import release_nursery
from release_nursery import StepCounter, bear, warm_up

from wayveil.cli import _register, app
from wayveil.errors import WayveilError
from wayveil.exports import write
from wayveil.mechanisms.registry import mechanisms
from wayveil.released import datasheet_page
from wayveil.releases import release
from wayveil.series import series
from wayveil.taps import read

# What the command imports when it runs: loaded once, here, and not by every child.
LOADED = (dp_accounting, datasheet_page, release, write, series, read)


def child(place: Path, last: int | None) -> int:
    os.environ["WAYVEIL_HOME"] = str(place / ".home")
    sys.stdout = sys.stderr = io.StringIO()
    counter = StepCounter(last)
    files = sorted(str(path) for path in place.glob("taps_*.csv"))
    sys.setprofile(counter)
    try:
        app(["release", str(place / "wayveil.toml"), *files, "--quiet"], standalone_mode=False)
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
    release_nursery.STEPS = (*release_nursery.STEPS, "/series/")
    print("ready", flush=True)
    for line in sys.stdin:
        word, *arguments = line.split(maxsplit=2)
        if word == "count":
            answer = bear(Path(arguments[0].strip()))
        else:
            answer = bear(Path(arguments[1].strip()), last=int(arguments[0]))
        print(answer, flush=True)


if __name__ == "__main__":
    main()
