"""All answers of a release on one sheet, each beside what the plain Laplace mechanism has for the same epsilon."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import Answer
from wayveil.answers.asked import NOTHING_RAN, Asked, Ran, Seats
from wayveil.answers.asking import ask_release
from wayveil.answers.plain_laplace import plain_half_width
from wayveil.answers.questions import QUESTIONS, TRIP_QUESTIONS
from wayveil.errors import ParameterError, RefusedError

# Lists of all cells are left to their own questions; where every visit boards, the busiest stops say both.
Answering = Callable[..., Answer]
ON_THE_SHEET = (
    *("total", "hours", "boardings", "alightings", "most-used", "least-used"),
    *("routes", "load", "pairs", "triples"),
)
SENTENCE_ENDS = re.compile(r"(?<=\.) (?=[A-Z])")


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

    def say_once(self) -> list[str]:
        """List notes and reasons, each sentence where it comes first."""
        told: set[str] = set()
        notes = []
        for note in (*self.notes.values(), *self.unanswered.values()):
            new = [sentence for sentence in SENTENCE_ENDS.split(note) if sentence not in told]
            told.update(new)
            notes.append(" ".join(new))
        return [note for note in notes if note]


def answer_sheet(
    release: JudgedRelease,
    *,
    questions: tuple[str, ...] = ON_THE_SHEET,
    top: int = 20,
    seats: Seats | None = None,
    answering: Answering = ask_release,
    anyway: bool = False,
) -> AnswerSheet:
    """Answer all questions that can be answered; `top` limits every list but that of hours. Costs nothing.

    `answering` is another way to answer one question, for sheets that set more beside. Unless they are wanted
    `anyway`, numbers of which nothing is worth having are left unanswered.
    """
    parts, notes, unanswered = [], {}, {}
    plain = plain_half_width(release.datasheet)
    internal = False
    for question in questions:
        if question in TRIP_QUESTIONS and release.visits_are_taps:
            continue
        asked = Asked(question, top=top, ran=Ran(seats=seats) if question == "load" else NOTHING_RAN)
        try:
            answer = answering(release, asked, anyway=anyway)
        except (ParameterError, RefusedError) as error:
            unanswered[question] = str(error)
            continue
        internal |= answer.internal
        if answer.table.height:
            notes[question] = answer.note
        parts.append(_rows(answer, None if question == "load" else plain, top))
    table = pl.concat(parts, how="diagonal") if parts else pl.DataFrame()
    return AnswerSheet(table, notes, unanswered, internal)


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
