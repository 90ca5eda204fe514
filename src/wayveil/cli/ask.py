"""`ask`: an agency's questions, answered from a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

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
from wayveil.cli.tap_commands import Cell, Grid, OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown


def ask(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    question: Annotated[
        str,
        typer.Argument(
            help="About trips: boardings, alightings, through, journeys, districts, transfers, line-load, durations, "
            "distances. "
            "About visits: total, stops, hours, stop-hours, most-used, least-used, pairs, triples, routes, load; `all`."
        ),
    ],
    world: OptionalWorld = None,
    grid: Grid = None,
    cell: Cell = 0.02,
    top: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 20,
    seats: Annotated[int, typer.Option(min=1, help="Seats of a vehicle, for `load`.")] = 38,
    districts: Annotated[
        Path | None,
        typer.Option(help="For `districts`: a csv with stop_id and district, or a GeoJSON of named areas."),
    ] = None,
    over: Annotated[
        float | None,
        typer.Option(
            help="The share of trips above so many minutes (`durations`) or kilometres (`distances`)."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Questions about trips by `hour`, `day` or `weekday`.")
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
    """Answer an agency's question from a release, with error bars that cost no budget."""
    import polars as pl

    from wayveil.releases.answer_sheet import Answering, answer_sheet
    from wayveil.releases.answers import KIND_OF, QUESTIONS, answer_question, say_question
    from wayveil.releases.spreadsheets import write_csv
    from wayveil.releases.trip_periods import require_period
    from wayveil.releases.trip_questions import (
        TRIP_QUESTIONS,
        answer_trips,
        refuse_additions,
        say_trip_question,
        trip_kind,
    )
    from wayveil.utility.raw_answers import RawAnswers

    known = (*TRIP_QUESTIONS, *QUESTIONS, "all")
    if question not in known:
        raise ParameterError(f"there is no question {question!r}; there are {', '.join(known)}")
    period = require_period(by)
    refuse_additions(question, districts=districts, over=over, by=by)
    with shown(not quiet and not as_json):
        asked = open_release(
            release, world, grid, cell, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust
        )
        kind = KIND_OF.get(question) or trip_kind(asked, question, period)
        asked.accuracy.refuse_noise(kind, anyway=anyway)
        answering: Answering = answer_question
        seen = (
            (None, None)
            if raw is None
            else read_raw(raw, asked, grid, cell, look=Look("ask", ledger, dataset))
        )
        if raw is not None:
            answering = RawAnswers(*seen)
        if question in TRIP_QUESTIONS:
            answer = answer_trips(
                asked, question, top=top, districts=districts, over=over, by=period, raw=seen[0]
            )
            table, notes = answer.table, [answer.note]
            title = say_trip_question(question, over, period)
        elif question == "all":
            sheet = answer_sheet(asked, top=top, seats=seats, answering=answering)
            table, title = sheet.table, "answers"
            notes = [*dict.fromkeys(sheet.notes.values()), *sheet.unanswered.values()]
        else:
            answer = answering(asked, question, top=top, seats=seats)
            table, notes = answer.table, [answer.note]
            title = say_question(question, taps=asked.visits_are_taps)
    # What leaves in a file or for a program says the same as the terminal.
    noted = table.with_columns(note=pl.lit(" ".join(notes)))
    if question == "all":
        noted = table.with_columns(note=pl.col("question").replace_strict(sheet.notes, default=""))
    if out is not None:
        noted.write_parquet(out) if out.suffix == ".parquet" else write_csv(noted, out)
    shortened = as_json or question in ("all", "hours")
    rows = noted if as_json else table if shortened else table.head(top)
    shown_rows = rows.to_dicts() if as_json else [_short(row) for row in rows.to_dicts()]
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
