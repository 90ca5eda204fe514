"""All answers of a release on one sheet, each beside what the plain Laplace mechanism has for the same epsilon."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.trips.trips import Trips
from wayveil.utility.answers import QUESTIONS, SEATS, Answer, Asked

# Lists of all stops and cells are left to their own questions.
ON_THE_SHEET = ("total", "hours", "most-used", "least-used", "routes", "load", "pairs", "triples")


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """One row per number: `question`, `what` it is about, `answer`, `low`, `high`, and `plain_laplace_noise`: 95 % of
    the noise that a plain Laplace answer would have (empty where it has none). With raw trips also `raw` and
    `plain_laplace`; the sheet is then internal.

    `notes` has a word on every answer that has rows, `unanswered` says why this release or its world cannot answer a
    question.
    """

    table: pl.DataFrame
    notes: dict[str, str]
    unanswered: dict[str, str]
    internal: bool


def answer_sheet(
    asked: Asked,
    *,
    questions: tuple[str, ...] = ON_THE_SHEET,
    top: int = 20,
    seats: int = SEATS,
    raw: Trips | None = None,
    raw_routes: NDArray[np.float64] | None = None,
    bits: Bits | None = None,
) -> AnswerSheet:
    """Answer all questions that can be answered; `top` limits every list but that of hours.

    Costs nothing. `raw` (sequences of taps) and `raw_routes` (taps per route of the feed) stand beside if given.
    """
    parts, notes, unanswered = [], {}, {}
    for question in questions:
        try:
            answer = asked.answer(question, top=top, seats=seats, raw=raw, raw_routes=raw_routes, bits=bits)
        except ParameterError as error:
            unanswered[question] = str(error)
            continue
        if answer.table.height:
            notes[question] = answer.note
        parts.append(_rows(answer, None if question == "load" else asked.plain_half_width(), top))
    return AnswerSheet(
        pl.concat(parts, how="diagonal") if parts else pl.DataFrame(), notes, unanswered, raw is not None
    )


def _rows(answer: Answer, plain: int | None, top: int) -> pl.DataFrame:
    """The rows of one answer with their keys as text."""
    table = answer.table if answer.question == "hours" else answer.table.head(top)
    numbers = [name for name in ("answer", "low", "high", "raw", "plain_laplace") if name in table.columns]
    keys = [name for name in table.columns if name not in numbers]
    what = [_named(answer.question, row) for row in table.select(keys).iter_rows(named=True)]
    if not keys:
        what = [QUESTIONS[answer.question]] * table.height
    return pl.DataFrame(
        {
            "question": pl.Series([answer.question] * table.height, dtype=pl.String),
            "what": pl.Series(what, dtype=pl.String),
        }
    ).with_columns(
        *(table[name].cast(pl.Float64) for name in numbers),
        plain_laplace_noise=pl.lit(plain, pl.Float64),
    )


def _named(question: str, row: dict[str, object]) -> str:
    """An hour of the clock, a name with its id, or the stops of a pattern in their order."""
    if question == "hours":
        return f"{row['hour']:02d}:00"
    names = [str(value) for value in row.values()]
    if question in ("pairs", "triples") or len(names) < 2:
        return " > ".join(names)
    return names[1] if names[0] == names[1] else f"{names[1]} ({names[0]})"
