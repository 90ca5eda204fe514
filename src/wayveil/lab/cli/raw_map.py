"""`wayveil lab map`: raw trips on their network, for internal eyes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.options import (
    BoundingBox,
    DatasetName,
    LedgerPlace,
    ServiceDate,
    WalkRadius,
    WorldFile,
    present,
)
from wayveil.progress import shown


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """What `map` takes."""

    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")]
    world: WorldFile
    out: Annotated[Path, typer.Option("--out", "-o", help="The page (.html); numbers as csv beside it.")]
    hotspots: Annotated[
        Path | None,
        typer.Option(help="Stops to mark with stars: an id per line, or the csv that `simulate` wrote."),
    ] = None
    title: Annotated[str, typer.Option(help="Heading of the page.")] = ""
    bbox: BoundingBox = None
    date: ServiceDate = None
    walk_radius: WalkRadius = None
    ledger: LedgerPlace = None
    dataset: DatasetName = None


@grouped
def draw(options: MapOptions, spoken: Spoken) -> None:
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

    with shown(not spoken.silent):
        city = open_world(
            options.world,
            bbox=options.bbox,
            service_date=options.date,
            walk_radius_metres=options.walk_radius,
        )
        wanted = [] if options.hotspots is None else read_hotspots(options.hotspots)
        known = {str(stop): place for place, stop in enumerate(city.ids.tolist())}
        for stop in wanted:
            if stop not in known:
                raise InputError(f"the stop {stop} is not in the world", file=options.hotspots)
        raw = read_trips(options.trips, city)
        if SIMULATED not in raw.history.marks:
            note_look("map", raw, options.trips, options.ledger, options.dataset)
        page = write_map_page(options.out, raw, [known[stop] for stop in wanted], title=options.title)
    facts = {"trips": len(raw), "hotspots": len(wanted), "page": str(page), "notice": raw.history.notice}
    present(facts, as_json=spoken.as_json)
