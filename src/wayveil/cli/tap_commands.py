"""Commands about taps: `taps clean`, `taps simulate` and `taps riders`; `tap_release` has the others."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    Quiet,
    WalkRadius,
    present,
    remark,
)
from wayveil.errors import InputError, ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.synthesis.riders.roles import RiderRules
    from wayveil.taps.taps import Taps
    from wayveil.world.world import World

app = typer.Typer(no_args_is_help=True, help="From an agency's taps to riders, releases and answers.")

DAYS = 6  # of the study's period

TapFile = Annotated[Path, typer.Argument(help="The taps (csv or parquet).")]
Seed = Annotated[int, typer.Option(help="The same seed makes the same taps and riders.")]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Layout: wayveil, bc-transit, tides, tides-draft, sube, scikit-mobility, or a TOML file."
    ),
]
Mapped = Annotated[
    list[str] | None,
    typer.Option("--map", help="One column, ours=theirs (time=ts); repeatable; in place of --columns."),
]
RulesFile = Annotated[
    Path | None, typer.Option("--rules", help="TOML file that changes the rules of the reconstruction.")
]
Zone = Annotated[
    str | None,
    typer.Option(
        help="The city's time zone (Europe/Madrid): times that name a zone are put on its clock. Without it every row "
        "keeps the wall time that it shows."
    ),
]
OptOut = Annotated[
    str | None,
    typer.Option(
        help="Column with the wish not to be counted (1, true, yes): such rows are left out, each by itself."
    ),
]
OptionalWorld = Annotated[
    Path | None,
    typer.Option(
        "--world",
        "-w",
        help="GTFS zip or folder, saved network, list of places, or grid:south,west,north,east@250 (cells of 250 m; "
        "@0.02deg: of degrees).",
    ),
]


@app.command()
def clean(
    file: TapFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Clean taps (.parquet or .csv).")],
    world: OptionalWorld = None,
    columns: Columns = None,
    mapped: Mapped = None,
    fill: Annotated[
        str,
        typer.Option(
            help="Gaps in stop and route: `none`, `same-bus` (looks at other rows: only for --way study), or a public "
            "vehicle table (csv, parquet)."
        ),
    ] = "none",
    repeated: Annotated[str, typer.Option(help="Exact repetitions of rows: auto, drop or keep.")] = "auto",
    devices: Annotated[Path | None, typer.Option(help="TIDES devices table: stops of gates.")] = None,
    date: Annotated[
        str | None,
        typer.Option(help="A day of the period, YYYY-MM-DD: stops without service then are inactive."),
    ] = None,
    first_day: Annotated[str | None, typer.Option(help="First day of the period, YYYY-MM-DD.")] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Days of the period, with --first-day. Default: 6.")
    ] = None,
    zone: Zone = None,
    opt_out: OptOut = None,
    bbox: BoundingBox = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Read a vendor's tap file, clean it rule by rule, and say how many rows each rule touched."""
    from wayveil.taps.read import read_taps
    from wayveil.taps.vehicles import VehicleTable
    from wayveil.taps.write import write_taps
    from wayveil.world.opening import open_world

    if days is not None and first_day is None:
        raise ParameterError("--days says how long the period is: say with --first-day when it begins")
    if date is not None and world is None:
        raise ParameterError("--date is a day of the timetable: give the feed with --world")
    with shown(not quiet and not as_json):
        everywhere = None
        if date is not None and world is not None:
            everywhere = open_world(world, bbox=bbox)
            city = open_world(world, bbox=bbox, service_date=date)
        else:
            city = open_places(world, bbox)
        table: Any = fill if fill in ("none", "same-bus") else VehicleTable.of_file(fill)
        made = read_taps(
            file,
            city,
            _layout(columns, mapped),
            fill=table,
            repeated=repeated,  # type: ignore[arg-type]
            devices=devices,
            everywhere=everywhere,
            period=None if first_day is None else _period(first_day, days or DAYS),
            zone=zone,
            opt_out=opt_out,
        )
        write_taps(made.taps, out)
    if as_json:
        present({**made.report.as_dict(), "written_to": str(out)}, as_json=True)
        return
    for line in made.report.lines():
        typer.echo(line)
    remark("These counts are exact facts about the raw data: keep them inside.", quiet=quiet)


@app.command()
def simulate(
    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, or saved network.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A file like the study's (.csv or .parquet).")],
    taps: Annotated[int, typer.Option(min=1, help="How many taps.")] = 312_659,
    first_day: Annotated[str, typer.Option(help="First day, YYYY-MM-DD.")] = "2024-12-15",
    days: Annotated[int, typer.Option(min=1, help="How many days.")] = 6,
    gaps: Annotated[
        bool,
        typer.Option(help="Leave out stops, routes, vehicles and seats as often as in the study's file."),
    ] = True,
    campus: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="Share of riders who go to one campus, as in the study's city."),
    ] = 0.15,
    seed: Seed = 0,
    bbox: BoundingBox = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make an agency's tap file where none may be had: two peaks, fleets, seats, missing values."""
    from wayveil.simulate.fare_boxes import Gaps, simulate_taps, write_vendor_file
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        city = open_world(feed, bbox=bbox)
        if not isinstance(city, Network):
            raise ParameterError("taps are simulated on a network; give a GTFS feed or a saved network")
        made = simulate_taps(city, taps, seed=seed, first_day=day_of(first_day), days=days, campus=campus)
        chosen = Gaps() if gaps else Gaps.none()
        write_vendor_file(made, out, seed=seed + 1, gaps=chosen)
    present({**made.taps.describe(), "written_to": str(out)}, as_json=as_json)


@app.command()
def riders(
    file: TapFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Riders, one row per tap (.parquet or .csv).")],
    world: OptionalWorld = None,
    columns: Columns = None,
    mapped: Mapped = None,
    fill: Annotated[str, typer.Option(help="`none` or `same-bus`, as in `taps clean`.")] = "same-bus",
    rules: RulesFile = None,
    seed: Seed = 0,
    zone: Zone = None,
    walk_radius: WalkRadius = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Give anonymous taps to riders by their roles. The result is as sensitive as the taps.

    It is marked `reconstructed`, and no private release takes it: one tap more can change every rider.
    """
    from wayveil.synthesis.riders.reconstruct import reconstruct_riders
    from wayveil.taps.read import read_taps
    from wayveil.trips.tables import write_table

    with shown(not quiet and not as_json):
        city = open_places(world, walk_radius=walk_radius)
        read = read_taps(file, city, _layout(columns, mapped), fill=_filling(file, fill), zone=zone)
        made = reconstruct_riders(read.taps, rider_rules(rules), seed=seed)
        write_table(made.table(), out, made.history)
    present({**made.describe(), "written_to": str(out)}, as_json=as_json)


def open_places(
    world: Path | None, bbox: str | None = None, walk_radius: float | None = None, date: str | None = None
) -> "World":
    """Open the public places that a command names."""
    from wayveil.world.opening import open_world

    if world is None:
        raise ParameterError(
            "give the public places with --world: a feed, a list of places or grid:south,west,north,east@250, "
            "one of them"
        )
    return open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk_radius)


def _layout(columns: str | None, mapped: list[str] | None) -> Any:
    if not mapped:
        return columns
    if columns is not None:
        raise ParameterError("give --columns or --map, not both")
    pairs = [pair.partition("=") for pair in mapped]
    for our, equals, _ in pairs:
        if not equals:
            raise ParameterError(f"--map takes ours=theirs, for example time=ts, not {our!r}")
    return {our.strip(): their.strip() for our, _, their in pairs}


def read_clean(
    file: Path,
    city: "World",
    columns: str | None,
    mapped: list[str] | None,
    zone: str | None = None,
    opt_out: str | None = None,
) -> "Taps":
    from wayveil.taps.read import read_taps

    return read_taps(file, city, _layout(columns, mapped), zone=zone, opt_out=opt_out).taps


def raw_answers(taps: "Taps") -> tuple[Any, Any]:
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


def _filling(file: Path, fill: str) -> Any:
    """Files of our own are clean already and may have no vehicles to fill from."""
    from wayveil.taps.columns import PRESETS
    from wayveil.trips.tables import require_file, table_header

    require_file(file)
    return "none" if PRESETS["wayveil"].time in table_header(file) else fill


def rider_rules(path: Path | None) -> "RiderRules | None":
    """The rules of a TOML file."""
    import tomllib

    from pydantic import ValidationError

    from wayveil.synthesis.riders.roles import RiderRules

    if path is None:
        return None
    try:
        return RiderRules(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"holds no usable rules ({first})", file=path) from error


def day_of(text: str) -> datetime.date:
    """A day that was written as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ParameterError(f"{text!r} is not a date; write YYYY-MM-DD") from error


def _period(first_day: str, days: int) -> tuple[datetime.date, datetime.date]:
    first = day_of(first_day)
    return first, datetime.date.fromordinal(first.toordinal() + days - 1)
