"""`wayveil gps release`: from GPS points to a private release."""

from datetime import date
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import (
    AsJson,
    DatasetName,
    LedgerPlace,
    PolicyEpsilon,
    Preset,
    Quiet,
    TripsOut,
    present_release,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.trips.trips import Trips
    from wayveil.world.world import World

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""GPS points: read them as trips over a public grid, and release them.

    wayveil gps release points.csv --world grid:37.60,-122.52,37.81,-122.35@250 --epsilon 1 --out release/

Columns are those of scikit-mobility (uid, tid, datetime, lat, lng) or mapped with --map; a file without a header
names them in order with --columns.""",
)

PointFile = Annotated[Path, typer.Argument(help="GPS points: csv (also .gz), parquet.")]
GridWorld = Annotated[
    str | None,
    typer.Option(
        "--world",
        "-w",
        help="The public grid, grid:south,west,north,east@250: a box from a map and metres per cell (@30x30: rows and "
        "columns). Or a feed or saved network, with --radius.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="For files without a header: their columns in order, like uid,datetime,lng,lat,flag,- (- is not used)."
    ),
]
Mapped = Annotated[
    list[str] | None,
    typer.Option("--map", help="A column with another name, ours=theirs (datetime=ts); repeatable."),
]
SplitGap = Annotated[int | None, typer.Option(help="A pause of more seconds ends a trip.")]
SplitMetres = Annotated[float | None, typer.Option(help="A jump of more metres ends a trip.")]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        help="A rule of points, name=value: fastest_kmh, outside, weekends, holidays, window_seconds, gap_seconds, "
        "fill, longer, merge, fewest_visits, hour; repeatable. `study`: all as in the DP-Loc study.",
    ),
]
Order = Annotated[
    str,
    typer.Option(
        help="`time` sorts the points of a trip, `file` wants them sorted; default: by `tid`, file."
    ),
]
Repeated = Annotated[
    str, typer.Option(help="Points in one second at two places: an `error`, or the `first`.")
]
NoFix = Annotated[str, typer.Option(help="Points at (0, 0): an `error`, or `skip` them.")]
Riders = Annotated[
    str, typer.Option(help="`uid`: it names riders; `none`: it does not. Default: not if split by flag.")
]
Radius = Annotated[
    float | None, typer.Option(help="On a network: a stop within so many metres is the place.")
]


@app.command()
def release(
    points: PointFile,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget: 1, 0.5 or 1/2.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the release; must not exist yet.")],
    world: GridWorld = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write the report to publish here, and the internal one beside it."),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(help="For mechanisms with a delta: its size; default 1e-6.")
    ] = None,
    currency: Annotated[
        str, typer.Option(help="`epsilon`, or `rho`: the same epsilon at --delta, with Gaussian noise.")
    ] = "epsilon",
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="See `wayveil lab mechanisms`; default: weave.")
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the mechanism, name=value; repeatable.")
    ] = None,
    preset: Preset = None,
    unit: Annotated[
        str | None, typer.Option(help="Who is protected: trip, rider or rider-day. Default: rider if known.")
    ] = None,
    max_trips: Annotated[int, typer.Option(min=1, help="Trips of one rider that are counted.")] = 2,
    no_rider: Annotated[
        str, typer.Option(help="Trips without a rider: `refuse`, each its `own` unit, or `drop`.")
    ] = "refuse",
    policy_epsilon: PolicyEpsilon = None,
    columns: Columns = None,
    mapped: Mapped = None,
    split_gap: SplitGap = None,
    split_metres: SplitMetres = None,
    rule: Rule = None,
    order: Order = "auto",
    repeated: Repeated = "error",
    no_fix: NoFix = "error",
    riders: Riders = "auto",
    radius: Radius = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    curator: Annotated[str, typer.Option(help="Who publishes; goes into the datasheet.")] = "",
    trips_out: TripsOut = "all",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """From points to a private release in one command: trips, model, signed datasheet, and reports.

    wayveil gps release points.csv --world grid:37.60,-122.52,37.81,-122.35@250 --epsilon 1 --out release/
    """
    from wayveil.cli.mechanisms import make_mechanism
    from wayveil.cli.release import finished_later, require_dataset, resume_command, unpaid
    from wayveil.counting.engines import size_of
    from wayveil.mechanisms.presets import refuse_nameless
    from wayveil.privacy.budget import release_epsilon
    from wayveil.releases.accounts import open_account, settled_if_lost
    from wayveil.releases.choices import choose_unit, default_mechanism
    from wayveil.releases.preflight import claimed
    from wayveil.run import make_release as release_trips
    from wayveil.synthesis.drawing import trips_wanted
    from wayveil.world.opening import open_world

    budget, wanted = release_epsilon(epsilon), trips_wanted(trips_out)
    if not mechanism:
        refuse_nameless(preset)
    chosen = make_mechanism(mechanism, parameters or [], preset) if mechanism else None
    place = grid_given(world)
    finish = resume_command(out, Path(place))
    paid = unpaid(out, finish)
    with shown(not quiet and not as_json), claimed(out, size=size_of(points)):
        city = open_world(place)
        chosen = chosen or make_mechanism(default_mechanism(city).name, parameters or [])
        raw = read_gps(
            points,
            city,
            columns,
            mapped,
            split_gap,
            split_metres,
            rule,
            order,
            repeated,
            no_fix,
            riders,
            radius,
        )
        name = dataset or points.name
        protected = choose_unit(unit, raw, max_trips, no_rider)
        account = open_account(ledger, points)
        require_dataset(account, name, protected, policy_epsilon, raw, quiet=quiet or as_json)
        with finished_later(paid, finish):
            made = release_trips(
                raw,
                chosen,
                epsilon=budget,
                delta=delta,
                currency=currency,
                unit=protected,
                ledger=account,
                dataset=name,
                curator=curator,
                visits="calls",
                keep=paid,
                trips_out=wanted,
            )
            with settled_if_lost(None if paid.kept else made.reservation, out):
                folder = made.save(out)
        paid.forget()
        reports = {} if report is None else _reports(report, raw, made)
    booked = "no ledger" if account is None else f"{account.name}, as {name}"
    present_release(made, folder, as_json=as_json, booked_in=booked, more=reports)
    remark(
        "Next: "
        + join(["wayveil", "export", str(folder), "--world", place])
        + " --format trajectories --out points.csv",
        quiet=quiet or as_json,
    )


def grid_given(world: str | None) -> str:
    if world is None:
        raise ParameterError(
            "points need a public box of cells: add --world grid:south,west,north,east@250 (metres per cell). Choose "
            "it from a map, never from the data: a box that was read off the points tells where somebody was"
        )
    return world


def _reports(path: Path, raw: "Trips", made: Any) -> dict[str, str]:
    from wayveil.report.report_page import write_report
    from wayveil.utility.scorecard import score

    inside = path.with_name(f"{path.stem}-internal{path.suffix or '.html'}")
    write_report(path, release=made, audience="public")
    write_report(inside, release=made, raw=raw, scorecard=score(raw, made), audience="internal")
    return {"report_to_publish": str(path), "report_for_internal_eyes": str(inside)}


def read_gps(
    points: Path,
    city: "World",
    columns: str | None,
    mapped: list[str] | None,
    split_gap: int | None,
    split_metres: float | None,
    rule: list[str] | None,
    order: str,
    repeated: str,
    no_fix: str,
    riders: str,
    radius: float | None,
) -> "Trips":
    from wayveil.trips.columns import parse_map
    from wayveil.trips.point_tables import COLUMNS as POINT_COLUMNS
    from wayveil.trips.points import Split, read_points

    for name, value, known in (
        ("order", order, ("auto", "time", "file")),
        ("repeated", repeated, ("error", "first")),
        ("no-fix", no_fix, ("error", "skip")),
        ("riders", riders, ("auto", "uid", "none")),
    ):
        if value not in known:
            raise ParameterError(f"--{name} is {' or '.join(known)}, not {value!r}")
    if columns and mapped:
        raise ParameterError("give --columns (no header) or --map (a header), not both")
    named = parse_map(mapped or [], POINT_COLUMNS, "datetime=ts")
    layout: Any = [name.strip() for name in columns.split(",")] if columns else named or None
    return read_points(
        points,
        city,
        columns=layout,
        header=columns is None,
        split=Split(gap_seconds=split_gap, metres=split_metres),
        rules=point_rules(rule or []),
        order=order,
        repeated=repeated,
        no_fix=no_fix,
        riders=riders,
        radius=radius,
    )


def point_rules(settings: list[str]) -> Any:
    """The rules of points with some of them given as name=value."""
    from wayveil.trips.point_rules import PointRules

    study = PointRules.study() if "study" in settings else PointRules()
    given: dict[str, Any] = _pairs([setting for setting in settings if setting != "study"], "--rule")
    for name, value in given.items():
        if value.lower() == "none":
            given[name] = None
    if "holidays" in given:
        given["holidays"] = tuple(_day(day) for day in str(given["holidays"]).split(","))
    return PointRules(**{**study.model_dump(exclude_unset=True), **given})


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ParameterError(f"{text!r} is not a date; write YYYY-MM-DD") from error


def _pairs(settings: list[str] | None, option: str) -> dict[str, Any]:
    made = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"{option} takes name=value, not {setting!r}")
        made[name.strip()] = value.strip()
    return made
