"""`release`, `ask`, `export`, `sample` and `trend` for Python, as the commands of the same names do it."""

import getpass
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.privacy.budget import Rational
from wayveil.privacy.ledger import Ledger, open_ledger
from wayveil.privacy.units import Unit
from wayveil.releases.accounts import UnknownDatasetError, open_account, require_policy
from wayveil.releases.answers import Answer
from wayveil.releases.choices import choose_unit
from wayveil.releases.exports.menu import MENU
from wayveil.releases.exports.write import export as write_export
from wayveil.releases.release import Release
from wayveil.releases.release import release as release_trips
from wayveil.releases.trends import Trend, find_trend
from wayveil.synthesis.model import DrawsMore
from wayveil.trips.files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.world import World

Released = Release | str | Path
# Where the command line books as well: WAYVEIL_HOME, a folder .wayveil here or above, or ~/.wayveil.
DEFAULT_LEDGER = "default"


def release(
    trips: Trips | TripFiles,
    mechanism: Mechanism | str | None = None,
    *,
    epsilon: Rational,
    unit: Unit | str | None = None,
    ledger: Ledger | str | Path | None = DEFAULT_LEDGER,
    dataset: str = "trips",
    policy_epsilon: str | int | float | None = None,
    **options: Any,
) -> Release:
    """Release trips under differential privacy; `options` are those of `wayveil.releases.release.release`.

    It is booked in the default ledger, in another one (or its place), or, with `ledger=None`, in none: the datasheet
    then says so. A dataset that the ledger does not know yet needs a policy, what may be spent on it in all:
    `policy_epsilon`. Seeded noise (`bits`) protects nobody and is booked only where a ledger is named.
    """
    unit = choose_unit(unit, trips)
    mechanism = find_mechanism(mechanism)() if isinstance(mechanism, str) else mechanism
    if ledger == DEFAULT_LEDGER:
        ledger = None if options.get("bits") is not None else open_account(None)
    elif isinstance(ledger, str | Path):
        ledger = open_ledger(ledger)
    if ledger is not None:
        rows = None if options.get("new_people") else options.get("rows")
        if rows is None and isinstance(trips, Trips) and not options.get("new_people"):
            rows = trips  # what is in files is known, and held against the ledger, once they are read
        said = None if policy_epsilon is None else str(policy_epsilon)
        actor = options.get("actor") or getpass.getuser()
        try:
            require_policy(ledger, dataset, unit, actor=actor, rows=rows, policy_epsilon=said)
        except UnknownDatasetError as error:
            raise UnknownDatasetError(
                f"{error}. In Python: policy_epsilon=10, or ledger=None for none"
            ) from None
    elif policy_epsilon is not None:
        raise ParameterError("policy_epsilon sets a policy in a ledger, and there is none")
    return release_trips(
        trips, mechanism, epsilon=epsilon, unit=unit, ledger=ledger, dataset=dataset, **options
    )


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
    given as a feed). `wayveil.releases.exports.menu.MENU` has the formats.
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
