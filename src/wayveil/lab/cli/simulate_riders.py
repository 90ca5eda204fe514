"""`wayveil lab simulate riders`: riders where none may be had."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.options import (
    BoundingBox,
    ServiceDate,
    Spoken,
    WalkRadius,
    grouped,
    present,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.lab.cli.lab_options import (
    Stations,
)
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.simulate.city import CityRiders
    from wayveil.world.network import Network
    from wayveil.world.trees import Cost


class Like(StrEnum):
    """Kinds of simulated riders."""

    CITY = "city"
    STUDY = "study"
    LINES = "lines"
    WEEK = "week"


# How far simulated riders of a city walk between stops, where the caller does not say it.
WALK_METRES = 200.0
# Options that only some kinds of riders know.
_KNOW = {
    "--cost": {Like.CITY, Like.STUDY},
    "--hotspots": {Like.STUDY},
    "--trips": {Like.STUDY},
    "--trips-per-rider": {Like.CITY, Like.STUDY},
    "--no-times": {Like.CITY, Like.STUDY, Like.LINES},
}


@dataclass(frozen=True, kw_only=True)
class RiderOptions:
    """Options of `riders`."""

    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, or saved network.")]
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Where the trips go: .parquet or .csv, or a new folder with --trips."
        ),
    ]
    riders: Annotated[int, typer.Option(min=1, help="How many riders.")] = 10_000
    trips: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many trips instead, as Parquet parts in a folder: any number, in the same memory.",
        ),
    ] = None
    trips_per_rider: Annotated[int | None, typer.Option(min=1, help="Trips of each rider. Default: 1.")] = (
        None
    )
    like: Annotated[
        Like | None,
        typer.Option(
            help="`city`: demand follows the departures of each stop and hour, falls off with distance, and reaches "
            "every part of the network. `study`: the riders of the MobiTrie study, with a few hot spots. `lines`: they "
            "board whichever good line comes first, and have habits. `week`: one trip is the taps of a rider's week. "
            "Default: city; study with --trips, which makes no other."
        ),
    ] = None
    lines: Annotated[bool, typer.Option("--lines", help="Short for --like lines.")] = False
    week: Annotated[bool, typer.Option("--week", help="Short for --like week.")] = False
    cost: Annotated[
        str | None,
        typer.Option(
            help="What riders minimise: metres, seconds, stops, or a weighted sum such as metres+20*seconds. "
            "Default: seconds; metres for --like study."
        ),
    ] = None
    hotspots: Annotated[
        str | None,
        typer.Option(
            help="For --like study: how many stops draw most riders (0: none), or a file that names them (a stop id "
            "per line, or the csv of an earlier simulation). Default: 15 to 30 at random. They are written beside "
            "the trips, and `wayveil lab map --hotspots` draws them as stars."
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="The same seed makes the same riders.")] = 0
    times: Annotated[bool, typer.Option(help="Give every visit a time of day.")] = True
    bbox: BoundingBox = None
    date: ServiceDate = None
    walk_radius: WalkRadius = None
    stations: Stations = True


@grouped
def riders(options: RiderOptions, spoken: Spoken) -> None:
    """Make riders where none may be had: on public ways, at the hours of a day with two peaks.

    Riders of a `city` walk up to 200 m between the stops of a feed, unless --walk-radius says another distance.

        wayveil lab simulate riders city.zip --riders 10000 --out trips.parquet
    """
    from wayveil.simulate.city import hotspots_beside, write_hotspots
    from wayveil.trips.visits import write_visits
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    kind = _kind(options.like, options.lines, options.week, options.trips)
    _refuse_unknown(
        kind,
        {
            "--cost": options.cost,
            "--hotspots": options.hotspots,
            "--trips": options.trips,
            "--trips-per-rider": options.trips_per_rider,
            "--no-times": None if options.times else True,
        },
    )
    way = None if options.cost is None else _cost(options.cost)
    drawn = None if options.hotspots is None else _hotspots(options.hotspots)
    is_feed = options.feed.is_dir() or options.feed.suffix.lower() == ".zip"
    walk = (
        WALK_METRES if options.walk_radius is None and kind is Like.CITY and is_feed else options.walk_radius
    )
    with shown(not spoken.silent):
        city = open_world(
            options.feed,
            bbox=options.bbox,
            service_date=options.date,
            stations=options.stations,
            walk_radius_metres=walk,
        )
        if not isinstance(city, Network):
            raise ParameterError("riders are simulated on a network; give a GTFS feed or a saved network")
        if options.trips is not None:
            present(_write_parts(options, city, way, drawn), as_json=spoken.as_json)
            return
        made = _simulate(kind, city, options, way, drawn)
        write_visits(made.trips, options.out, riders=True)
        facts: dict[str, object] = {**made.trips.describe(), "written_to": str(options.out)}
        if kind is Like.STUDY:
            facts["hotspots"] = len(made.hotspots)
            written = write_hotspots(hotspots_beside(options.out), city, made.hotspots)
            facts["hotspots_written_to"] = str(written)
    present(facts, as_json=spoken.as_json)
    if walk is not None:
        said = f"Riders walk up to {walk:g} m between stops: give --walk-radius {walk:g} where you open this world."
        remark(said, quiet=spoken.silent)


def _kind(like: Like | None, lines: bool, week: bool, trips: int | None) -> Like:
    if lines + week + (like is not None) > 1:
        raise ParameterError("riders are of one kind: give one of --like, --lines and --week")
    if trips is not None and like is Like.CITY:
        raise ParameterError(
            "--trips makes riders of the study in parts; leave --like city out, or give --riders"
        )
    named = Like.LINES if lines else Like.WEEK if week else like
    return named or (Like.CITY if trips is None else Like.STUDY)


def _refuse_unknown(kind: Like, given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None and kind not in _KNOW[option]:
            known = " or ".join(f"--like {one}" for one in sorted(_KNOW[option]))
            raise ParameterError(f"{option} plays no part with --like {kind}; it goes with {known}")


def _cost(text: str) -> "Cost":
    from wayveil.world.trees import WeightedCost

    if text in ("metres", "seconds", "stops"):
        return text  # type: ignore[return-value]
    return WeightedCost.parse(text)


def _hotspots(text: str) -> int | list[str]:
    from wayveil.simulate.city import read_hotspots

    if text.isdigit():
        return int(text)
    if not Path(text).exists():
        raise ParameterError(f"--hotspots takes a number, or a file of stop ids; there is no file {text}")
    return read_hotspots(Path(text))


def _write_parts(
    options: RiderOptions, city: "Network", cost: "Cost | None", hotspots: int | list[str] | None
) -> dict[str, object]:
    """Write any number of trips of the study's riders, part by part."""
    from wayveil.simulate.city import simulate_city_in_parts
    from wayveil.trips.visits import write_parts

    assert options.trips is not None
    parts = simulate_city_in_parts(
        city,
        options.trips,
        seed=options.seed,
        cost=cost or "metres",
        hotspots=hotspots,
        trips_per_rider=options.trips_per_rider or 1,
        times=options.times,
    )
    written = write_parts(parts, options.out, riders=True, total=options.trips)
    return {**written, "written_to": str(options.out)}


def _simulate(
    kind: Like,
    city: "Network",
    options: RiderOptions,
    cost: "Cost | None",
    hotspots: int | list[str] | None,
) -> "CityRiders":
    import numpy as np

    from wayveil.simulate.city import CityRiders, simulate_city
    from wayveil.simulate.habit import simulate_habit
    from wayveil.simulate.riders import simulate_riders
    from wayveil.simulate.week import simulate_week

    riders, seed, times = options.riders, options.seed, options.times
    each = options.trips_per_rider or 1
    if kind is Like.STUDY:
        way = cost or "metres"
        return simulate_city(
            city, riders, seed=seed, cost=way, hotspots=hotspots, trips_per_rider=each, times=times
        )
    if kind is Like.CITY:
        return simulate_riders(
            city, riders, seed=seed, cost=cost or "seconds", trips_per_rider=each, times=times
        )
    nowhere = np.zeros(0, np.int32)
    if kind is Like.LINES:
        return CityRiders(simulate_habit(city, riders, seed=seed, times=times), nowhere)
    return CityRiders(simulate_week(city, riders, seed=seed), nowhere)
