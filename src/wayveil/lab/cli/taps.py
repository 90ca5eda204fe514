"""Commands about raw taps: `clean`, `riders` and `units`."""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wayveil.cli.options import (
    BoundingBox,
    LedgerPlace,
    Spoken,
    WalkRadius,
    grouped,
    present,
    present_rows,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.lab.cli.lab_options import (
    DAYS,
    Columns,
    DatasetName,
    Epsilon,
    Mapped,
    OptionalWorld,
    OptOut,
    RulesFile,
    TapFile,
    Zone,
    day_of,
    layout_of,
    open_places,
    read_clean,
)
from wayveil.lab.cli.simulate import Seed
from wayveil.progress import shown


@dataclass(frozen=True, kw_only=True)
class CleanOptions:
    """Options of `clean`."""

    file: TapFile
    out: Annotated[Path, typer.Option("--out", "-o", help="Clean taps (.parquet or .csv).")]
    world: OptionalWorld = None
    columns: Columns = None
    mapped: Mapped = None
    fill: Annotated[
        str,
        typer.Option(
            help="Gaps in stop and route: `none`, `same-bus` (looks at other rows: only for --way study), or a public "
            "vehicle table (csv, parquet)."
        ),
    ] = "none"
    repeated: Annotated[str, typer.Option(help="Exact repetitions of rows: auto, drop or keep.")] = "auto"
    devices: Annotated[Path | None, typer.Option(help="TIDES devices table: stops of gates.")] = None
    date: Annotated[
        str | None,
        typer.Option(help="A day of the period, YYYY-MM-DD: stops without service then are inactive."),
    ] = None
    first_day: Annotated[str | None, typer.Option(help="First day of the period, YYYY-MM-DD.")] = None
    days: Annotated[
        int | None, typer.Option(min=1, help="Days of the period, with --first-day. Default: 6.")
    ] = None
    zone: Zone = None
    opt_out: OptOut = None
    bbox: BoundingBox = None


@grouped
def clean(options: CleanOptions, spoken: Spoken) -> None:
    """Read a vendor's tap file, clean it rule by rule, and say how many rows each rule touched.

    wayveil lab clean vendor.csv --world city.zip --out taps.parquet
    """
    from wayveil.taps.read import read_taps
    from wayveil.taps.taps import write_taps
    from wayveil.taps.vehicles import VehicleTable
    from wayveil.world.opening import open_world

    if options.days is not None and options.first_day is None:
        raise ParameterError("--days says how long the period is: say with --first-day when it begins")
    if options.date is not None and options.world is None:
        raise ParameterError("--date is a day of the timetable: give the feed with --world")
    with shown(not spoken.silent):
        everywhere = None
        if options.date is not None and options.world is not None:
            everywhere = open_world(options.world, bbox=options.bbox)
            city = open_world(options.world, bbox=options.bbox, service_date=options.date)
        else:
            city = open_places(options.world, options.bbox)
        table: Any = (
            options.fill if options.fill in ("none", "same-bus") else VehicleTable.of_file(options.fill)
        )
        made = read_taps(
            options.file,
            city,
            layout_of(options.columns, options.mapped),
            fill=table,
            repeated=options.repeated,
            devices=options.devices,
            everywhere=everywhere,
            period=None if options.first_day is None else _period(options.first_day, options.days or DAYS),
            zone=options.zone,
            opt_out=options.opt_out,
        )
        write_taps(made.taps, options.out)
    if spoken.as_json:
        present({**made.report.as_dict(), "written_to": str(options.out)}, as_json=True)
        return
    for line in made.report.lines():
        typer.echo(line)
    remark("These counts are exact facts about the raw data: keep them inside.", quiet=spoken.quiet)


@dataclass(frozen=True, kw_only=True)
class ReconstructionOptions:
    """Options of `riders`."""

    file: TapFile
    out: Annotated[Path, typer.Option("--out", "-o", help="Riders, one row per tap (.parquet or .csv).")]
    world: OptionalWorld = None
    columns: Columns = None
    mapped: Mapped = None
    fill: Annotated[str, typer.Option(help="`none` or `same-bus`, as in `wayveil lab clean`.")] = "same-bus"
    rules: RulesFile = None
    wide: Annotated[
        Path | None, typer.Option(help="One row per rider too, a column for every tap (.parquet or .csv).")
    ] = None
    seed: Seed = 0
    zone: Zone = None
    walk_radius: WalkRadius = None


@grouped
def riders(options: ReconstructionOptions, spoken: Spoken) -> None:
    """Give anonymous taps to riders by their roles. The result is as sensitive as the taps.

    It is marked `reconstructed`, and no private release takes it: one tap more can change every rider.

        wayveil lab riders taps.parquet --world city.zip --out riders.parquet
    """
    from wayveil.plan.ordering import read_rider_rules
    from wayveil.synthesis.riders.reconstruct import reconstruct_riders
    from wayveil.taps.read import read_taps
    from wayveil.trips.tables import write_table

    with shown(not spoken.silent):
        city = open_places(options.world, walk_radius=options.walk_radius)
        read = read_taps(
            options.file,
            city,
            layout_of(options.columns, options.mapped),
            fill=_filling(options.file, options.fill),
            zone=options.zone,
        )
        made = reconstruct_riders(
            read.taps, None if options.rules is None else read_rider_rules(options.rules), seed=options.seed
        )
        write_table(made.table(), options.out, made.history)
        if options.wide is not None:
            write_table(made.wide(), options.wide, made.history)
    present({**made.describe(), "written_to": str(options.out)}, as_json=spoken.as_json)


@dataclass(frozen=True, kw_only=True)
class UnitOptions:
    """Options of `units`."""

    file: TapFile
    epsilon: Epsilon
    world: OptionalWorld = None
    columns: Columns = None
    mapped: Mapped = None
    zone: Zone = None
    opt_out: OptOut = None
    ledger: LedgerPlace = None
    dataset: DatasetName = None


@grouped
def units(options: UnitOptions, spoken: Spoken) -> None:
    """Who should be protected: how many taps people have decides. Exact facts about the raw taps: keep them inside.

    For every unit and bound: the share of the taps that would be counted, the noise of a count that has all of epsilon,
    and the epsilon for all that a frequent person (99 of 100 have no more taps) did in the file. The look is booked in
    the ledger in reach, free of charge.

        wayveil lab units taps.parquet --world city.zip --epsilon 1
    """
    from wayveil.plan.tap_units import advise_units, say_unit
    from wayveil.privacy.budget import release_epsilon
    from wayveil.releases.accounts import note_look

    with shown(not spoken.silent):
        taps = read_clean(
            options.file,
            open_places(options.world),
            options.columns,
            options.mapped,
            options.zone,
            options.opt_out,
        )
        advice = advise_units(taps, float(release_epsilon(options.epsilon)))
        note_look("taps units", taps.as_single_visits(), options.file, options.ledger, options.dataset)
    rows = [
        {
            "unit": one.unit,
            "max_taps": one.max_taps,
            "taps counted": f"{one.kept:.1%}",
            "noise": f"{one.noise:,.1f}",
            "epsilon of a frequent person": f"{one.person:,.1f}",
        }
        for one in advice
    ]
    present_rows(rows, as_json=spoken.as_json, title="who is protected")
    if not spoken.as_json:
        for sentence in say_unit(advice, taps):
            remark(sentence, quiet=spoken.quiet)
        remark("These are exact facts about the raw data: keep them inside.", quiet=spoken.quiet)


def _filling(file: Path, fill: str) -> Any:
    """Files of our own are clean already and may have no vehicles to fill from."""
    from wayveil.taps.columns import PRESETS
    from wayveil.trips.tables import require_file, table_header

    require_file(file)
    return "none" if PRESETS["wayveil"].event_time in table_header(file) else fill


def _period(first_day: str, days: int) -> tuple[datetime.date, datetime.date]:
    first = day_of(first_day)
    return first, datetime.date.fromordinal(first.toordinal() + days - 1)
