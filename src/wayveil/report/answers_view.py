"""The agency's questions, and how far off the release is expected to be, as sections of a report."""

from dataclasses import dataclass

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import call_places
from wayveil.answers.answer_sheet import answer_sheet
from wayveil.answers.asking import ask_release
from wayveil.answers.questions import QUESTIONS
from wayveil.synthesis.model import ExpectedError
from wayveil.trips.trips import Trips
from wayveil.utility.raw_answers import RawAnswers
from wayveil.world.grid import Grid

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
    sheet = answer_sheet(release, top=top, answering=ask_release if raw is None else RawAnswers(raw))
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


_ERROR_HEADS = ("", "In one of them", "Off by", "In percent", "Not from noise", "Cells")
_NOTE = (
    "Known without looking at the raw trips: the released trips are measured with the same noise and woven again, and "
    "what then changes is how far noise carries. What is not from noise is what the drawn trips cannot express; the "
    "released trips miss the noisy answers by so much more than noise would. A star marks a guess: noise hides it. "
    "The list of what the release can be used for takes these errors times what they were off on simulated towns."
)


def expected_table(release: JudgedRelease) -> AnswerTable | None:
    """The errors to expect, by kind of question; nothing where the model cannot tell."""
    if release.expected is None:
        return None
    return AnswerTable(
        "expected-error",
        "Mean error by kind of question",
        _ERROR_HEADS,
        [_row(error, grid=isinstance(release.world, Grid)) for error in release.expected],
        _NOTE,
        _data(release.expected),
    )


def _data(errors: tuple[ExpectedError, ...]) -> pl.DataFrame:
    """The numbers of the page and no others: what it calls percent is percent here."""
    table = pl.DataFrame(errors).drop("relative")
    return table.with_columns(percent=100 * pl.col("off") / pl.col("mean").clip(1e-9))


def _row(error: ExpectedError, *, grid: bool) -> tuple[str, ...]:
    said = call_places(error.question) if grid else error.question
    what = said[:1].upper() + said[1:]
    guess = "" if error.seen else " *"
    return (
        what,
        _rounded(error.mean),
        f"± {_rounded(error.off)}",
        f"{100 * error.off / max(error.mean, 1e-9):.2g} %",
        f"{_rounded(error.unexplained)}{guess}",
        f"{error.cells:,}",
    )


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
