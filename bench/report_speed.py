"""How long a report takes, as a ratio to its release: the errors to expect are found once, when it is saved."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wayveil.mechanisms.weave import Weave
from wayveil.privacy.units import Rider
from wayveil.releases.release import Release
from wayveil.report.report_page import write_report
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs

RIDERS = 10_000


def run() -> list[dict[str, Any]]:
    """The city of the demo: release, save, load and report."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_city(folder / "city.zip", seed=7)
        city = read_gtfs(folder / "city.zip", walk_radius_metres=250)
        trips = simulate_city(city, RIDERS, seed=7, trips_per_rider=2).trips
        release(trips, Weave(), epsilon=1, unit=Rider(max_trips=2))  # compiles
        made, released = timed(lambda: release(trips, Weave(), epsilon=1, unit=Rider(max_trips=2)))
        _, saved = timed(lambda: made.save(folder / "release"))
        loaded, opened = timed(lambda: Release.load(folder / "release", city))
        _, reported = timed(lambda: write_report(folder / "report.html", release=loaded))
        _, asked = timed(lambda: loaded.ask("most-used"))
    steps = {"save, with the errors to expect": saved, "load": opened, "report": reported, "ask": asked}
    return [
        {"step": step, "seconds": took, "baseline": "the release itself", "ratio": took / released}
        for step, took in steps.items()
    ]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and how long it took."""
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start
