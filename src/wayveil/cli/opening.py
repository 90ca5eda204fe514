"""Opening of releases and the raw files beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import LedgerPlace

if TYPE_CHECKING:
    from wayveil.releases.release import Release
    from wayveil.taps.taps import Taps

ReleaseFolder = Annotated[Path, typer.Argument(help="The folder of a release.")]
HeldWorld = Annotated[
    Path | None,
    typer.Option(
        "--world",
        "-w",
        hidden=True,
        help="Only for releases of the format before, which do not hold their world: the feed, saved network or list.",
    ),
]


@dataclass(frozen=True)
class Inside:
    """Raw rows that stand beside a release, and where that look at them is booked: free of charge, and seen."""

    raw: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel="Inside only",
            help="The raw trips (or clean taps): they and the errors stand beside. NOT for publication.",
        ),
    ] = None
    ledger: LedgerPlace = None


def open_release(folder: Path, world: Path | None = None) -> "Release":
    """Open the release in a folder, checked and whole."""
    from wayveil.releases.release import Release

    if world is None:
        return Release.load(folder)
    from wayveil.released.verification import verify_release
    from wayveil.world.opening import open_world

    verify_release(folder)  # before a large feed is read
    return Release.load(folder, open_world(world))


def read_raw(path: Path, release: "Release", what: str, ledger: str | None) -> tuple[Any, Any]:
    """Read the raw trips behind a release, and taps per route where they tell it; the look is booked.

    Whoever compares inside the house need not say again what the columns and the dataset are called.
    """
    from wayveil.releases.accounts import note_look
    from wayveil.sources.formats import format_of
    from wayveil.taps.read import read_taps
    from wayveil.trips.columns import map_columns
    from wayveil.trips.legs import route_legs
    from wayveil.trips.read import is_table_of_trips, read_trips
    from wayveil.trips.tables import require_file, table_header

    require_file(path)
    dataset = str(release.datasheet["deployment"]["basic"]["name"])
    if not release.visits_are_taps or format_of(path) is None or "trip_id" in table_header(path):
        columns = map_columns(path, release.world) if is_table_of_trips(path) else {}
        trips = read_trips(path, release.world, **({"columns": columns} if columns else {}))
        if release.datasheet.get("rows", {}).get("ways") == "routed":
            trips = route_legs(trips)
        note_look(what, trips, path, ledger, dataset)
        return trips, None
    taps = read_taps(path, release.world).taps
    note_look(what, taps.as_single_visits(), path, ledger, dataset)
    return _chained(taps)


def _chained(taps: "Taps") -> tuple[Any, Any]:
    """Sequences of taps, and taps per route where the taps tell it."""
    import numpy as np

    from wayveil.taps.chains import sequences
    from wayveil.world.network import Network

    routes = None
    if taps.route is not None and isinstance(taps.world, Network):
        known = taps.route[taps.route >= 0]
        routes = np.bincount(known, minlength=len(taps.world.route_ids)).astype(np.float64)
    trips = taps.as_single_visits() if taps.card is None else sequences(taps, taps.card, "day")
    return trips, routes
