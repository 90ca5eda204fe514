"""Commands about inputs: `world`, `simulate`, `check`."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    LedgerPlace,
    Quiet,
    ServiceDate,
    Stations,
    TripColumns,
    WalkRadius,
    present,
    remark,
    world_words,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown


class Cost(StrEnum):
    """What simulated riders minimise."""

    METRES = "metres"
    SECONDS = "seconds"
    STOPS = "stops"


class Like(StrEnum):
    """What simulated riders are like."""

    CITY = "city"
    STUDY = "study"


# How far simulated riders of a city walk between stops, where the caller does not say it.
WALK_METRES = 200.0


def world(
    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, saved network, or list of locations.")],
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    stations: Stations = True,
    out: Annotated[
        Path | None, typer.Option(help="Save the network here (.npz), to open it faster later.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Read a public world and say what is in it: stops, stations, edges, components."""
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        city = open_world(
            feed, bbox=bbox, service_date=date, stations=stations, walk_radius_metres=walk_radius
        )
    if isinstance(city, Network):
        if not as_json:
            for warning in city.warnings:
                remark(f"note: {warning}", quiet=quiet)
        if out is not None:
            city.save(out)
    elif out is not None:
        raise ParameterError("only networks are saved; a list of locations already is a file")
    present(city.describe(), as_json=as_json)


def simulate(
    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, or saved network.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Where the trips go: .parquet or .csv, or a new folder with --trips."
        ),
    ],
    riders: Annotated[int, typer.Option(min=1, help="How many riders.")] = 10_000,
    trips: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many trips instead, as Parquet parts in a folder: any number, in the same memory.",
        ),
    ] = None,
    trips_per_rider: Annotated[int, typer.Option(min=1, help="Trips of each rider.")] = 1,
    like: Annotated[
        Like | None,
        typer.Option(
            help="`city`: demand follows the departures of each stop and hour, falls off with distance, and reaches "
            "every part of the network. `study`: the riders of the MobiTrie study, with a few hot spots. "
            "Default: city; study with --trips, which makes no other."
        ),
    ] = None,
    cost: Annotated[
        Cost | None,
        typer.Option(help="What riders minimise. Default: seconds; metres for --like study."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same riders.")] = 0,
    times: Annotated[bool, typer.Option(help="Give every visit a time of day.")] = True,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    stations: Stations = True,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make riders where none may be had: on public ways, at the hours of a day with two peaks.

    Riders of a `city` walk up to 200 m between the stops of a feed, unless --walk-radius says another distance.
    """
    from wayveil.simulate.city import simulate_city, simulate_city_in_parts
    from wayveil.simulate.riders import simulate_riders
    from wayveil.trips.visits import write_parts, write_visits
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    if trips is not None and like is Like.CITY:
        raise ParameterError(
            "--trips makes riders of the study in parts; leave --like city out, or give --riders"
        )
    like = like or (Like.CITY if trips is None else Like.STUDY)
    is_feed = feed.is_dir() or feed.suffix.lower() == ".zip"
    walk = WALK_METRES if walk_radius is None and like is Like.CITY and is_feed else walk_radius
    with shown(not quiet and not as_json):
        city = open_world(feed, bbox=bbox, service_date=date, stations=stations, walk_radius_metres=walk)
        if not isinstance(city, Network):
            raise ParameterError("riders are simulated on a network; give a GTFS feed or a saved network")
        if trips is not None:
            cost = Cost.METRES if cost is None else cost
            parts = simulate_city_in_parts(
                city, trips, seed=seed, cost=cost.value, trips_per_rider=trips_per_rider, times=times
            )
            facts = write_parts(parts, out, riders=True, total=trips)
            present({**facts, "written_to": str(out)}, as_json=as_json)
            return
        if like is Like.STUDY:
            chosen = Cost.METRES if cost is None else cost
            make = partial(simulate_city, cost=chosen.value)
        else:
            chosen = Cost.SECONDS if cost is None else cost
            make = partial(simulate_riders, cost=chosen.value)
        made = make(city, riders, seed=seed, trips_per_rider=trips_per_rider, times=times)
        write_visits(made.trips, out, riders=True)
    present({**made.trips.describe(), "written_to": str(out)}, as_json=as_json)
    if walk is not None:
        said = f"Riders walk up to {walk:g} m between stops: give --walk-radius {walk:g} where you open this world."
        remark(said, quiet=quiet or as_json)


def check(
    file: Annotated[Path, typer.Argument(help="A file of trips, a GTFS feed, or a list of locations.")],
    world: Annotated[
        Path | None, typer.Option("--world", "-w", help="The public world that trips refer to.")
    ] = None,
    mapped: TripColumns = None,
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="The privacy budget that the plan is made for.")
    ] = "1",
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    ledger: LedgerPlace = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say what a file is, what is wrong with it, and how to release it. Spends nothing. INTERNAL: keep it inside.

    Ends with the exact `wayveil release` command that it recommends.
    """
    from wayveil.cli.check import Checked

    with shown(not quiet and not as_json):
        words = [] if world is None else world_words(world, bbox, date, walk_radius)
        checked = Checked.of_file(
            file, world, mapped or [], epsilon, ledger, words, bbox=bbox, date=date, walk=walk_radius
        )
    if as_json:
        present(checked.facts(), as_json=True)
    else:
        for line in checked.lines():
            typer.echo(line)
    if not checked.findings.ok:
        raise typer.Exit(2)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (world, simulate, check):
        app.command()(command)
