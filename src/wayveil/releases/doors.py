"""`release`, `ask`, `export`, `sample` and `trend` for Python, as the commands of the same names do it."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from wayveil.answers.answers import Answer
from wayveil.answers.trends import Trend, find_trend
from wayveil.errors import ParameterError
from wayveil.exports.menu import MENU
from wayveil.exports.write import export as write_export
from wayveil.releases.release import Release
from wayveil.synthesis.model import DrawsMore
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.world import World

Released = Release | str | Path
# Where the command line books as well: WAYVEIL_HOME, a folder .wayveil here or above, or ~/.wayveil.
DEFAULT_LEDGER = "default"


def ask(
    release: Released, question: str, *, world: World | str | Path | None = None, **options: Any
) -> Answer:
    """Answer a question about a release; costs nothing. A folder needs its world. `options` as in `Release.ask`."""
    return opened(release, world).ask(question, **options)


def export(
    release: Released,
    kind: str,
    path: str | Path,
    *,
    world: World | str | Path | None = None,
    anyway: bool = False,
    put_on: date | str | None = None,
    feed: str | Path | None = None,
) -> list[Path]:
    """Write a release in a format that other tools read; gives the files. Numbers that are noise only if `anyway`.

    `put_on` dates trips that have no date, `feed` is the timetable of `gtfs-ride` (by default the world, if it is
    given as a feed). `wayveil.exports.menu.MENU` has the formats.
    """
    entry = MENU.get(kind)
    if feed is None and entry is not None and entry.feed and isinstance(world, str | Path):
        feed = world
    return write_export(opened(release, world), kind, Path(path), anyway=anyway, put_on=put_on, feed=feed)


def sample(
    release: Released,
    trips: int | None = None,
    *,
    world: World | str | Path | None = None,
    seed: int | None = None,
) -> Trips:
    """Draw more private trips from the model of a release; they are paid for."""
    made = opened(release, world)
    if not isinstance(made.model, DrawsMore):
        name = made.datasheet["mechanism"]["name"]
        raise ParameterError(f"the model of this release ({name}) draws its own number of trips only")
    return made.model.draw(trips, seed)


def trend(
    releases: Sequence[Released],
    question: str = "stops",
    *,
    world: World | str | Path | None = None,
    anyway: bool = False,
) -> Trend:
    """What changed from the first release to the last, with intervals from the noise of both; costs nothing.

    `question` is one of those of `wayveil trend`. Folders need their world.
    """
    return find_trend([opened(each, world) for each in releases], question, anyway=anyway)


def opened(release: Released, world: World | str | Path | None) -> Release:
    """The release itself, or the one in a folder over its world."""
    if isinstance(release, Release):
        return release
    if world is None:
        raise ParameterError(f"say which world the release in {release} is over: world=...")
    return Release.load(release, world if isinstance(world, World) else open_world(world))
