"""`wayveil lab trips|map|world|sample`: raw rows, their public world, and more private trips."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.opening import HeldWorld, ReleaseFolder, open_release
from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    LedgerPlace,
    Quiet,
    ServiceDate,
    Spoken,
    WalkRadius,
    grouped,
    present,
    remark,
)
from wayveil.cli.plan_options import PlanOptions
from wayveil.errors import InputError, ParameterError
from wayveil.lab.cli.lab_options import (
    DatasetName,
    Stations,
    WorldFile,
)
from wayveil.progress import shown


@dataclass(frozen=True)
class TripsOptions(PlanOptions):
    """Options of `trips`: the keys of a plan that say what points are, and where trips go."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")
    ] = None


@grouped
def trips(options: TripsOptions, spoken: Spoken) -> None:
    """Read points as trips and write these, as raw as the points: for internal eyes.

    wayveil lab trips points.csv --world grid:37.60,-122.52,37.81,-122.35@250 --out trips.parquet
    """
    from wayveil.plan.plan import Plan
    from wayveil.plan.reading import files_of, open_plan_world, read_plan_points
    from wayveil.trips.visits import write_visits

    if options.out is None:
        raise ParameterError("say with --out where the trips go")
    with shown(not spoken.silent):
        plan = Plan.of(**{"epsilon": 1, "rows": "points", **options.values()})
        made = read_plan_points(plan.source, files_of(plan), open_plan_world(plan))
        write_visits(made, options.out, riders=made.rider is not None)
    present({**made.describe(), "written_to": str(options.out)}, as_json=spoken.as_json)


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """Options of `map`."""

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
    from wayveil.releases.accounts import note_look
    from wayveil.report.maps import write_map_page
    from wayveil.simulate.city import read_hotspots
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


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """Options of `world`."""

    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, saved network, or list of locations.")]
    bbox: BoundingBox = None
    date: ServiceDate = None
    walk_radius: WalkRadius = None
    stations: Stations = True
    out: Annotated[
        Path | None, typer.Option(help="Save the network here (.npz), to open it faster later.")
    ] = None
    ngrams: Annotated[
        int, typer.Option(min=1, max=100, help="Also say how many runs of so many stops are possible.")
    ] = 3


@grouped
def world(options: WorldOptions, spoken: Spoken) -> None:
    """Read a public world and say what is in it: stops, stations, edges, components.

    The possible runs of stops (n-grams) are what mechanisms that count them add noise to; without immediate returns
    (a, b, a) they are fewer.

        wayveil lab world city.zip --out city.npz
    """
    from wayveil.world.network import Network
    from wayveil.world.ngrams import NgramUniverse, count_without_returns
    from wayveil.world.opening import open_world

    with shown(not spoken.silent):
        city = open_world(
            options.feed,
            bbox=options.bbox,
            service_date=options.date,
            stations=options.stations,
            walk_radius_metres=options.walk_radius,
        )
    if isinstance(city, Network):
        if not spoken.as_json:
            for warning in city.warnings:
                remark(f"note: {warning}", quiet=spoken.quiet)
        if options.out is not None:
            city.save(options.out)
    elif options.out is not None:
        raise ParameterError("only networks are saved; a list of locations already is a file")
    sizes = {
        f"possible_{options.ngrams}_grams": NgramUniverse(city, options.ngrams).size,
        f"possible_{options.ngrams}_grams_without_immediate_returns": count_without_returns(
            city, options.ngrams
        ),
    }
    present({**city.describe(), **sizes}, as_json=spoken.as_json)


def sample(
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    world: HeldWorld = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the model of a release. They are paid for: this costs nothing.

    wayveil lab sample release/ --trips 100000 --out more.parquet
    """
    from wayveil.releases.verbs import sample as draw
    from wayveil.trips.visits import write_visits

    with shown(not quiet and not as_json):
        drawn = draw(open_release(release, world), trips, seed=seed)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)
