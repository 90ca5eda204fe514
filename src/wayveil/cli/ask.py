"""`ask`: an agency's questions, answered from a release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.answers.questions import ALL, QUESTIONS, TRIP_QUESTIONS, explain_questions
from wayveil.cli.opening import Look, Trust, open_release, read_raw
from wayveil.cli.options import (
    Anyway,
    AsJson,
    BoundingBox,
    DatasetName,
    LedgerPlace,
    Quiet,
    ServiceDate,
    WalkRadius,
    present_rows,
    remark,
)
from wayveil.cli.tap_commands import OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    import polars as pl

WHICH = "Which part of it"
ADDED = "What a question needs"


def ask(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    question: Annotated[
        str,
        typer.Argument(help=explain_questions()),
    ],
    world: OptionalWorld = None,
    top: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 20,
    by: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHICH,
            help="A row for every `hour`, `day` or `weekday`; of taps also for several: `day,hour`.",
        ),
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(rich_help_panel=WHICH, help="Two times of the day: --between 07:00 09:00."),
    ] = None,
    weekdays: Annotated[
        bool, typer.Option("--weekdays", rich_help_panel=WHICH, help="Monday to Friday only.")
    ] = False,
    on: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="A date (2024-12-16) or a weekday (Monday); repeatable."),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="Id or name of a route; repeatable. Taps, and line-load."),
    ] = None,
    stop: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="Id of a stop, such as a hub; repeatable."),
    ] = None,
    district: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="Name of a district of --districts; repeatable."),
    ] = None,
    districts: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHICH,
            help="Which stop lies in which district: a csv with stop_id and district, or a GeoJSON of named areas. "
            "For the question districts, and for --district.",
        ),
    ] = None,
    over: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="The share of trips above so many minutes (`durations`) or kilometres (`distances`).",
        ),
    ] = None,
    timetable: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `load` and `line-load`: the GTFS feed that says what ran on these days and hours. It may be "
            "another one than --world, such as that of one day.",
        ),
    ] = None,
    timetable_date: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="With --timetable: the day whose runs every day had, where its calendars do not cover them.",
        ),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=ADDED,
            help="With --timetable, for releases without dates: on how many days people were counted.",
        ),
    ] = None,
    seats: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `load` and `line-load`: seats of a vehicle (38 if nothing is said), or a csv with seats by "
            "route_id or trip_id.",
        ),
    ] = None,
    delays: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `delay`: TIDES stop_visits (csv, parquet), or GTFS-realtime trip updates (.pb).",
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(help="Clean taps (with cards) or trips: adds true and plain Laplace answers. Internal."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the whole table here (.csv, .parquet).")
    ] = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    anyway: Anyway = False,
    trust: Trust = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Answer an agency's question from a release, with error bars that cost no budget.

    Boardings of a route in the morning peak: `ask R boardings --route 14 --weekdays --between 07:00 09:00`. The busiest
    stops of a district: `ask R most-used --top 10 --districts city.geojson --district Centre`. How full a route is:
    `ask R load --route 14 --between 08:00 09:00 --timetable feed.zip`. A filter that a question cannot use is refused.
    Where no interval is known, the answer says so.

        wayveil ask release/ boardings --world city.zip
    """
    import polars as pl

    from wayveil.answers.answer_sheet import answer_sheet
    from wayveil.answers.answers import answer_question
    from wayveil.answers.asking import ask_release, refusing_noise
    from wayveil.answers.seats import SEATS
    from wayveil.answers.spreadsheets import write_csv
    from wayveil.utility.raw_answers import RawAnswers

    known = (*TRIP_QUESTIONS, *QUESTIONS, ALL)
    if question not in known:
        raise ParameterError(f"unknown question {question!r}; choose one of {', '.join(known)}")
    added: dict[str, Any] = {
        "over": over,
        "by": by,
        "between": between,
        "weekdays": weekdays or None,
        "on": on or None,
        "route": route or None,
        "stops": stop or None,
        "district": district or None,
        "districts": districts,
        "timetable": timetable,
        "timetable_date": timetable_date,
        "days": days,
        "delays": delays,
    }
    added = {name: value for name, value in added.items() if value is not None}
    if question == "all" and added:
        raise ParameterError(f"--{next(iter(added)).replace('_', '-')} belongs to one question, not to all")
    with shown(not quiet and not as_json):
        asked = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
        seen: tuple[Any, Any] = (None, None)
        if raw is not None:
            seen = read_raw(raw, asked, look=Look("ask", ledger, dataset))
        beside = None if raw is None else RawAnswers(*seen)
        if question == "all":
            answering = beside or answer_question
            sheet = answer_sheet(
                asked,
                top=top,
                seats=SEATS if seats is None else seats,
                answering=answering if anyway else refusing_noise(answering),
            )
            table, title = sheet.table, "answers"
            notes = list(dict.fromkeys([*sheet.notes.values(), *sheet.unanswered.values()]))
        else:
            answer = ask_release(
                asked,
                question,
                top=top,
                seats=seats,
                anyway=anyway,
                raw=seen[0],
                beside=beside,
                **added,
            )
            table, notes, title = answer.table, [answer.note], answer.title
    # What leaves in a file or for a program says the same as the terminal.
    noted = table.with_columns(note=pl.lit(" ".join(notes)))
    if question == "all":
        noted = table.with_columns(note=pl.col("question").replace_strict(sheet.notes, default=""))
    if out is not None:
        noted.write_parquet(out) if out.suffix == ".parquet" else write_csv(noted, out)
    shortened = as_json or question in ("all", "hours")
    rows = noted if as_json else table if shortened else table.head(top)
    shown_rows = rows.to_dicts() if as_json else [_short(row) for row in _told_once(rows).to_dicts()]
    present_rows(shown_rows, as_json=as_json, title=title)
    if not as_json:
        if rows.height < table.height:
            remark(
                f"{table.height - rows.height:,} more rows: --top, or all of them with --out.", quiet=quiet
            )
        if not asked.datasheet["private"]:
            remark(asked.datasheet["guarantee"]["sentence"], quiet=quiet)
        for note in notes:
            remark(note, quiet=quiet)


def _told_once(table: "pl.DataFrame") -> "pl.DataFrame":
    """Without names that are the ids."""
    pairs = (("stop_id", "stop"), ("from_id", "from"), ("to_id", "to"))
    named = [(one, name) for one, name in pairs if {one, name} <= set(table.columns)]
    return table.drop([name for one, name in named if table[one].equals(table[name], check_names=False)])


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers without a point, others with three digits, nothing where nothing is known."""
    return {
        key: ""
        if value is None
        else value
        if not isinstance(value, float)
        else f"{value:,.0f}"
        if value.is_integer()
        else f"{value:.3g}"
        for key, value in row.items()
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ask)
