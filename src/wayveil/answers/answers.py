"""Answers to an agency's questions from a release: every visit of a released trip is a tap-in.

A model that counted taps answers straight from its noisy counts, whose error bars hold; of any other the released trips
are counted, with the intervals that `accuracy` knows. Answers may be published like the release itself.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.asked import Asked
from wayveil.answers.delay import count_delay
from wayveil.answers.load import count_load
from wayveil.answers.questions import KIND_OF, QUESTIONS
from wayveil.answers.visit_counts import count_routes, count_visits_of, say_bars
from wayveil.errors import ParameterError
from wayveil.synthesis.estimates import Estimate, Key, Runs
from wayveil.synthesis.model import OfTaps
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.world.world import World

GROUPED: Final[dict[str, tuple[Key, ...]]] = {
    "total": (),
    "stops": ("stop",),
    "most-used": ("stop",),
    "least-used": ("stop",),
    "hours": ("hour",),
    "stop-hours": ("stop", "hour"),
}
HIDDEN: Final = (
    "{count:,} more stops have no tap-in in this release: fewer than it can tell from none. Which of them is used "
    "least is not known."
)
MADE_UP: Final = (
    "This release counted single taps: which one follows which comes from rules, not from the data. No bars."
)


@dataclass(frozen=True, eq=False)
class Answer:
    """A table with `answer`, `low` and `high` (95 %; empty where not known), and the question in words."""

    question: str
    table: pl.DataFrame
    note: str
    internal: bool = False
    title: str = ""


def answer_question(release: JudgedRelease, asked: Asked) -> Answer:
    """Answer a question about visits, of all of them or of those that are asked for."""
    question = asked.question
    if question not in QUESTIONS:
        raise ParameterError(f"unknown question {question!r}; choose one of {', '.join(QUESTIONS)}")
    if question in ("pairs", "triples"):
        asked.filters.refuse_others(question, (), "it counts whole trips")
        if asked.by:
            raise ParameterError(f"{question!r} is not counted by {', '.join(asked.by)}")
    if question == "load":
        keys, found, note = count_load(release, asked)
    elif question == "delay":
        keys, found, note = count_delay(release, asked)
    else:
        keys, found, note = _count(release, asked)
    table = pl.DataFrame(
        {**keys, **with_bars(found, whole=question not in ("load", "delay"), below=question == "delay")}
    )
    if question == "least-used" and not isinstance(release.model, OfTaps):
        # Nothing is shown of stops below the thresholds, so nobody knows which of them is used least.
        hidden = table.filter(pl.col("answer") == 0).height
        table = table.filter(pl.col("answer") > 0)
        note = f"{note} {HIDDEN.format(count=hidden)}" if hidden else note
    return Answer(question, sort_rows(question, table, asked.top), _with_verdict(release, question, note))


def sort_rows(question: str, table: pl.DataFrame, top: int) -> pl.DataFrame:
    """Rows in the order of the question; lists of the most and least used stops end after `top`."""
    if question in ("most-used", "least-used"):
        return table.sort(["answer", "stop_id"], descending=[question == "most-used", False]).head(top)
    if question in ("stops", "stop-hours", "routes", "load"):
        return table.sort("answer", descending=True, maintain_order=True, nulls_last=True)
    return table


def _count(release: JudgedRelease, asked: Asked) -> tuple[dict[str, Any], Estimate, str]:
    world, counted = release.world, isinstance(release.model, OfTaps)
    if asked.question in ("pairs", "triples"):
        grams = top_patterns(release.trips, 2 if asked.question == "pairs" else 3, asked.top)
        found = release.estimate(Runs(grams))
        assert found is not None  # trips always tell their runs
        return gram_keys(world, grams), found, MADE_UP if counted else say_bars(found)
    if asked.question == "routes":
        return count_routes(release, asked.filters, asked.by)
    return count_visits_of(release, GROUPED[asked.question], asked.filters, asked.by)


def _with_verdict(release: JudgedRelease, question: str, note: str) -> str:
    """The note, after a warning where the verdict on this kind of question is a bad one."""
    verdict = release.accuracy.of(KIND_OF[question])
    return f"{verdict.words} {note}" if verdict is not None and not verdict.says_more else note


def with_bars(found: Estimate, *, whole: bool, below: bool = False) -> dict[str, pl.Series]:
    """Answers with the ends of their bars, in whole taps if asked; empty where nothing is known.

    Nobody taps a negative number of times, so cutting at zero loses no true number. A vehicle may be early.
    """
    nothing = np.full(len(found.values), np.nan)
    ends = np.stack([found.values, *(found.interval or (nothing, nothing))])
    if whole:
        ends = np.stack([np.rint(ends[0]), np.floor(ends[1]), np.ceil(ends[2])])
    kind = pl.Int64 if whole else pl.Float64
    named = zip(("answer", "low", "high"), ends if below else np.maximum(ends, 0), strict=True)
    return {name: pl.Series(name, column).fill_nan(None).cast(kind) for name, column in named}


def top_patterns(trips: Trips, length: int, top: int) -> NDArray[np.int32]:
    """The most frequent rows of `length` consecutive stops, counted in trips; ties by the stops' order."""
    grams = gram_counts(trips, length, once_per_trip=True)
    order = np.argsort(-grams.count, kind="stable")[:top]
    return grams.grams[order]


def gram_keys(world: World, grams: NDArray[np.int32]) -> dict[str, Any]:
    return {f"stop_{at + 1}": world.ids[grams[:, at]].tolist() for at in range(grams.shape[1])}
