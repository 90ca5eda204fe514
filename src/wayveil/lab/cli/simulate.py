"""`wayveil lab simulate ...`: cities, riders, taps and points where none may be had."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import AsJson, BoundingBox, Quiet, Spoken, grouped, present
from wayveil.errors import ParameterError
from wayveil.lab.cli.lab_options import day_of
from wayveil.lab.cli.simulate_riders import riders
from wayveil.progress import shown

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Cities, riders, taps and GPS points where none may be had. Nobody's data is involved.",
)
app.command()(riders)

Seed = Annotated[int, typer.Option(help="The same seed makes the same taps and riders.")]


@app.command()
def city(
    out: Annotated[Path, typer.Option("--out", "-o", help="The GTFS feed (.zip).")],
    stops: Annotated[int, typer.Option(help="About how many stops.")] = 360,
    lines: Annotated[int, typer.Option(help="How many lines; a sixth of them are metro lines.")] = 24,
    seed: Annotated[int, typer.Option(help="The same seed makes the same city.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Invent a city: stops, lines and a timetable as a GTFS feed.

    wayveil lab simulate city --out city.zip
    """
    from wayveil.simulate.feed import write_city

    present({"written_to": str(write_city(out, seed, stops=stops, lines=lines))}, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class TapOptions:
    """Options of `simulate taps`."""

    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, or saved network.")]
    out: Annotated[Path, typer.Option("--out", "-o", help="A file like the study's (.csv or .parquet).")]
    taps: Annotated[int, typer.Option(min=1, help="How many taps.")] = 312_659
    first_day: Annotated[str, typer.Option(help="First day, YYYY-MM-DD.")] = "2024-12-15"
    days: Annotated[int, typer.Option(min=1, help="How many days.")] = 6
    gaps: Annotated[
        bool,
        typer.Option(help="Leave out stops, routes, vehicles and seats as often as in the study's file."),
    ] = True
    campus: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="Share of riders who go to one campus, as in the study's city."),
    ] = 0.15
    seed: Seed = 0
    bbox: BoundingBox = None


@app.command("taps")
@grouped
def tap_file(options: TapOptions, spoken: Spoken) -> None:
    """Make an agency's tap file where none may be had: two peaks, fleets, seats, missing values.

    wayveil lab simulate taps city.zip --out taps.csv
    """
    from wayveil.simulate.fare_boxes import Gaps, simulate_taps, write_vendor_file
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    with shown(not spoken.silent):
        city = open_world(options.feed, bbox=options.bbox)
        if not isinstance(city, Network):
            raise ParameterError("taps are simulated on a network; give a GTFS feed or a saved network")
        made = simulate_taps(
            city,
            options.taps,
            seed=options.seed,
            first_day=day_of(options.first_day),
            days=options.days,
            campus=options.campus,
        )
        chosen = Gaps() if options.gaps else Gaps.none()
        write_vendor_file(made, options.out, seed=options.seed + 1, gaps=chosen)
    present({**made.taps.describe(), "written_to": str(options.out)}, as_json=spoken.as_json)


@dataclass(frozen=True, kw_only=True)
class YearOptions:
    """Options of `simulate year`."""

    feed: Annotated[Path, typer.Argument(help="GTFS zip or folder, or saved network.")]
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder, for the files and a plan.")]
    weeks: Annotated[int, typer.Option(min=1, help="Weeks, from the first one of 2026 on.")] = 52
    riders: Annotated[int, typer.Option(min=1, help="Cards, the same ones all year.")] = 20_000
    new_route: Annotated[str | None, typer.Option(help="A route of the feed that opens in week --opens.")] = (
        None
    )
    opens: Annotated[int, typer.Option(help="The week in which --new-route opens.")] = 20
    strike: Annotated[int, typer.Option(help="The week of a strike; 0 for none.")] = 30
    seed: Annotated[int, typer.Option(help="The same seed makes the same taps.")] = 0


@app.command()
@grouped
def year(options: YearOptions, spoken: Spoken) -> None:
    """Make a year of taps to try a series with, one file per week, and the plan for it. Nobody's data is involved.

    wayveil lab simulate year city.zip --out year/ --weeks 8
    """
    from wayveil.plan.files import NAME, write_plan
    from wayveil.plan.template import series_plan
    from wayveil.simulate.year import FIRST_MONDAY, YearEvents, write_year
    from wayveil.world.network import Network
    from wayveil.world.opening import open_world

    plan = options.out / NAME
    if plan.exists():
        raise ParameterError(f"{plan} is there already; name another folder")
    with shown(not spoken.silent):
        network = open_world(options.feed)
        if not isinstance(network, Network):
            raise ParameterError("taps are simulated on a network: give a GTFS feed")
        events = YearEvents(options.new_route, options.opens, options.strike or None)
        files = write_year(
            network,
            options.out / "taps",
            weeks=options.weeks,
            riders=options.riders,
            seed=options.seed,
            events=events,
        )
    made = series_plan(options.out.resolve().name, "week", FIRST_MONDAY, world=str(options.feed.resolve()))
    named = made.changed(files="taps/taps_%G-W%V.parquet", path=plan)
    write_plan(named, plan)
    following = f"wayveil release {plan}"
    present({"files": len(files), "plan": str(plan), "next": following}, as_json=spoken.as_json)


@app.command()
def gps(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the points go (.csv, .csv.gz or .parquet).")
    ],
    trips: Annotated[int, typer.Option(min=1, help="How many trips.")] = 120_000,
    drivers: Annotated[
        str,
        typer.Option(
            help="`streets` take perturbed shortest ways; `wandering` ones do not; `sessions` ride on."
        ),
    ] = "streets",
    seed: Annotated[int, typer.Option(help="The same seed makes the same city and trips.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make GPS points of a taxi city where none may be had, in the box of the DP-Loc study.

    wayveil lab simulate gps --out points.csv --trips 10000
    """
    from wayveil.simulate.taxis import STUDY_BOX, require_points_file, simulate_taxis

    require_points_file(out)
    with shown(not quiet and not as_json):
        made = simulate_taxis(trips, drivers=drivers, seed=seed)  # type: ignore[arg-type]
        made.write(out)
    present(
        {"trips": trips, "points": len(made.lat), "box": STUDY_BOX, "written_to": str(out)}, as_json=as_json
    )
