"""`ask`: an agency's questions, answered from a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wayveil.cli.options import AsJson, DatasetName, LedgerPlace, Quiet, present_rows, remark
from wayveil.cli.taps import Cell, Grid, OptionalWorld, open_places, raw_answers, read_clean
from wayveil.errors import ParameterError
from wayveil.progress import shown


def ask(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    question: Annotated[
        str,
        typer.Argument(
            help="total, stops, hours, stop-hours, most-used, least-used, pairs, triples, routes or load; or `all`."
        ),
    ],
    world: OptionalWorld = None,
    grid: Grid = None,
    cell: Cell = 0.02,
    top: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 20,
    seats: Annotated[int, typer.Option(min=1, help="Seats of a vehicle, for `load`.")] = 38,
    raw: Annotated[
        Path | None,
        typer.Option(help="Clean taps (with cards) or trips: adds true and plain Laplace answers. Internal."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the whole table here (.csv, .parquet).")
    ] = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Answer an agency's question from a release, with error bars that cost no budget."""
    import polars as pl

    from wayveil.releases.accounts import note_look
    from wayveil.releases.store import load_datasheet, load_release_trips
    from wayveil.utility.answer_sheet import answer_sheet
    from wayveil.utility.answers import QUESTIONS, Asked

    if question not in (*QUESTIONS, "all"):
        raise ParameterError(f"there is no question {question!r}; there are {', '.join(QUESTIONS)} and all")
    with shown(not quiet and not as_json):
        city = open_places(world, grid, cell, None)
        asked = Asked(
            load_release_trips(release, city),
            pl.read_parquet(release / "model.parquet"),
            load_datasheet(release),
        )
        beside, routes = None, None
        if raw is not None:
            taps = read_clean(raw, city, None, None, grid, cell)
            note_look("ask", taps.as_single_visits(), raw, ledger, dataset)
            beside, routes = raw_answers(taps)
        if question == "all":
            sheet = answer_sheet(asked, top=top, seats=seats, raw=beside, raw_routes=routes)
            table, title = sheet.table, "answers"
            notes = [*dict.fromkeys(sheet.notes.values()), *sheet.unanswered.values()]
        else:
            answer = asked.answer(question, top=top, seats=seats, raw=beside, raw_routes=routes)
            table, title, notes = answer.table, QUESTIONS[question], [answer.note]
    if out is not None:
        table.write_parquet(out) if out.suffix == ".parquet" else table.write_csv(out)
    shortened = as_json or question in ("all", "hours")
    rows = table if shortened else table.head(top)
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
