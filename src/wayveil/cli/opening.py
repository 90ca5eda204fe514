"""How commands open releases and the raw files beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.tap_commands import open_places, raw_answers, read_clean

if TYPE_CHECKING:
    from wayveil.releases.release import Release

Trust = Annotated[
    str | None,
    typer.Option(
        help="Fingerprint of the data holder's key, as you got it from the data holder, or `any`. Needed once per key."
    ),
]


def open_release(
    folder: Path,
    world: Path | None,
    *,
    bbox: str | None = None,
    date: str | None = None,
    walk_radius: float | None = None,
    trust: str | None = None,
) -> "Release":
    """The release in a folder, checked and whole, over its world."""
    from wayveil.released.verification import verify_release
    from wayveil.releases.release import Release

    verify_release(folder, trust=trust)  # before a large feed is read
    return Release.load(folder, open_places(world, bbox, walk_radius, date), trust=trust)


@dataclass(frozen=True)
class Look:
    """Who looks at raw rows, and where that is booked: it costs nothing, and it is seen."""

    what: str
    ledger: str | None
    dataset: str | None


def read_raw(path: Path, release: "Release", *, look: Look) -> tuple[Any, Any]:
    """The raw trips behind a release, and taps per route where they tell it: from a file of trips, or of taps."""
    from wayveil.releases.accounts import note_look
    from wayveil.trips.columns import map_columns
    from wayveil.trips.legs import route_legs
    from wayveil.trips.read import is_table_of_trips, read_trips
    from wayveil.trips.tables import require_file, table_header, table_suffix

    require_file(path)
    if not release.visits_are_taps or table_suffix(path) is None or "trip_id" in table_header(path):
        # Whoever compares inside the house need not say again what the columns are called.
        columns = map_columns(path, release.world) if is_table_of_trips(path) else {}
        trips = read_trips(path, release.world, **({"columns": columns} if columns else {}))
        if release.datasheet.get("rows", {}).get("ways") == "routed":
            trips = route_legs(trips)
        note_look(look.what, trips, path, look.ledger, look.dataset)
        return trips, None
    taps = read_clean(path, release.world, None, None)
    note_look(look.what, taps.as_single_visits(), path, look.ledger, look.dataset)
    return raw_answers(taps)
