"""`wayveil lab map`: raw trips on their network, for internal eyes."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    DatasetName,
    LedgerPlace,
    Quiet,
    ServiceDate,
    WalkRadius,
    WorldFile,
    present,
)
from wayveil.progress import shown


def draw(
    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")],
    world: WorldFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page (.html); numbers as csv beside it.")],
    hotspots: Annotated[
        Path | None,
        typer.Option(help="Stops to mark with stars: an id per line, or the csv that `simulate` wrote."),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw trips on their network as they are, without a release. INTERNAL: keep it inside, unless they are simulated.

    The look at the raw trips is booked in the ledger in reach, free of charge: later datasheets say that it happened.

        wayveil lab map trips.csv --world city.zip --out map.html
    """
    from wayveil.errors import InputError
    from wayveil.releases.accounts import note_look
    from wayveil.report.trip_map import write_map_page
    from wayveil.simulate.hotspots import read_hotspots
    from wayveil.trips.history import SIMULATED
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        city = open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk_radius)
        wanted = [] if hotspots is None else read_hotspots(hotspots)
        known = {str(stop): place for place, stop in enumerate(city.ids.tolist())}
        for stop in wanted:
            if stop not in known:
                raise InputError(f"the stop {stop} is not in the world", file=hotspots)
        raw = read_trips(trips, city)
        if SIMULATED not in raw.history.marks:
            note_look("map", raw, trips, ledger, dataset)
        page = write_map_page(out, raw, [known[stop] for stop in wanted], title=title)
    facts = {"trips": len(raw), "hotspots": len(wanted), "page": str(page), "notice": raw.history.notice}
    present(facts, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("map")(draw)
