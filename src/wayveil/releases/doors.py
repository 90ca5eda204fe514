"""`ask`, `export` and `sample` for Python: on a release in memory, or on the folder of one."""

from pathlib import Path
from typing import Any

from wayveil.errors import ParameterError
from wayveil.releases.answers import Answer
from wayveil.releases.exports import export as write_export
from wayveil.releases.release import Release
from wayveil.synthesis.model import DrawsMore
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.world import World

Released = Release | str | Path


def ask(
    release: Released, question: str, *, world: World | str | Path | None = None, **options: Any
) -> Answer:
    """Answer a question about a release; costs nothing. A folder needs its world. `options` as in `Release.ask`."""
    return opened(release, world).ask(question, **options)


def export(
    release: Released, kind: str, path: str | Path, *, world: World | str | Path | None = None
) -> list[Path]:
    """Write a release in a format that other tools read; gives the files."""
    return list(write_export(opened(release, world), kind, Path(path)))


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


def opened(release: Released, world: World | str | Path | None) -> Release:
    """The release itself, or the one in a folder over its world."""
    if isinstance(release, Release):
        return release
    if world is None:
        raise ParameterError(f"say which world the release in {release} is over: world=...")
    return Release.load(release, world if isinstance(world, World) else open_world(world))
