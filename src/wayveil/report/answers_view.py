"""The agency's questions as a section of a report, one table each: every visit of the release is a tap-in."""

from dataclasses import dataclass

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answer_sheet import answer_sheet
from wayveil.answers.answers import answer_question
from wayveil.answers.questions import QUESTIONS
from wayveil.trips.trips import Trips
from wayveil.utility.raw_answers import RawAnswers

_HEADS = {"plain_laplace_noise": "Plain Laplace noise", "raw": "Raw", "plain_laplace": "Plain Laplace"}


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """One question: its rows as text for the page, and its numbers."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str
    data: pl.DataFrame


def answer_tables(
    release: JudgedRelease, raw: Trips | None = None, *, top: int = 20
) -> tuple[list[AnswerTable], list[str]]:
    """The answers, and a word on every question that this release or its world cannot answer.

    Given raw trips, the true and the plain Laplace answers stand beside: not for publication.
    """
    sheet = answer_sheet(release, top=top, answering=answer_question if raw is None else RawAnswers(raw))
    tables = [
        _table(question, sheet.table.filter(pl.col("question") == question), note)
        for question, note in sheet.notes.items()
    ]
    return tables, [f"{QUESTIONS[question]}: {reason}" for question, reason in sheet.unanswered.items()]


def _table(question: str, data: pl.DataFrame, note: str) -> AnswerTable:
    shown = [name for name in _HEADS if name in data.columns and data[name].null_count() < data.height]
    barred = data["high"].null_count() < data.height
    rows = []
    for row in data.iter_rows(named=True):
        bar = "–" if row["high"] is None else f"{_number(row['low'])} – {_number(row['high'])}"
        bars = (bar,) if barred else ()
        rows.append(
            (row["what"], _number(row["answer"]), *bars, *(_beside(name, row[name]) for name in shown))
        )
    heads = ("", "Answer", *(("95 % interval",) if barred else ()), *(_HEADS[name] for name in shown))
    title = QUESTIONS[question]
    return AnswerTable(question, title[:1].upper() + title[1:], heads, rows, note, data)


def _beside(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"± {value:,.0f}" if name == "plain_laplace_noise" else _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:.3g}"
