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
from wayveil.accuracy.numbers import NO_RANKS, WANTED, Judged, Numbers, judge_numbers
from wayveil.answers.asked import Asked
from wayveil.answers.delay import count_delay
from wayveil.answers.load import count_load
from wayveil.answers.questions import QUESTIONS, say_visits
from wayveil.answers.totals import count_totals
from wayveil.answers.visit_counts import Counted, count_routes, count_visits_of
from wayveil.errors import ParameterError, RefusedError
from wayveil.showing import show
from wayveil.sources.frames import to_pandas
from wayveil.synthesis.estimates import Key, Runs
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
# Lists with the largest number first.
SORTED: Final = ("stops", "stop-hours", "routes", "load", "most-used", "least-used")
HIDDEN: Final = (
    "{count:,} more stops have no tap-in in this release: fewer than it can tell from none. Which of them is used "
    "least is not known."
)
MADE_UP: Final = (
    "This release counted single taps: which one follows which comes from rules, not from the data."
)


@dataclass(frozen=True, eq=False)
class Answer:
    """A table with `answer`, `low` and `high` (95 %; empty where not known), and the question in words.

    `note` says what to think of the numbers, what their intervals hold, and of what they are numbers; `sentence` puts
    the largest row in words that can be pasted into a paper, where its interval is known.
    """

    question: str
    table: pl.DataFrame
    note: str
    internal: bool = False
    title: str = ""
    sentence: str = ""

    def to_pandas(self) -> Any:
        """Return the table for pandas, which has to be installed."""
        return to_pandas(self.table)

    def _repr_html_(self) -> str:
        return show(self)


def answer_question(release: JudgedRelease, asked: Asked, *, anyway: bool = False) -> Answer:
    """Answer a question about visits, of all of them or of those that are asked for."""
    question = asked.question
    if question not in QUESTIONS:
        raise ParameterError(f"unknown question {question!r}; choose one of {', '.join(QUESTIONS)}")
    if question in ("pairs", "triples"):
        asked.filters.refuse_others(question, (), "it counts whole trips")
        if asked.by:
            raise ParameterError(f"{question!r} is not counted by {', '.join(asked.by)}")
    if question == "total" and asked.is_plain and not release.visits_are_taps:
        return Answer(question, *count_totals(release, anyway=anyway))
    if question == "load":
        counted = count_load(release, asked)
    elif question == "delay":
        counted = count_delay(release, asked)
    else:
        counted = _count(release, asked)
    whole = question not in ("load", "delay")
    judged = judge_numbers(release, _numbers(release, asked, counted), anyway=anyway)
    table = pl.DataFrame({**counted.keys, **with_bars(judged, whole=whole, below=question == "delay")})
    if question in SORTED:
        table = table.with_columns(**judged.rank_columns())
    if question in ("most-used", "least-used") and not judged.can_rank and not anyway:
        raise RefusedError(f"{NO_RANKS} {WANTED}")
    note = " ".join(filter(None, [judged.words, counted.note]))
    if question == "least-used" and not isinstance(release.model, OfTaps):
        # Nothing is shown of stops below the thresholds, so nobody knows which of them is used least.
        hidden = table.filter(pl.col("answer") == 0).height
        table = table.filter(pl.col("answer") > 0)
        note = f"{note} {HIDDEN.format(count=hidden)}" if hidden else note
    return Answer(question, sort_rows(question, table, asked.top), note)


def _numbers(release: JudgedRelease, asked: Asked, counted: Counted) -> Numbers:
    """The numbers of an answer, with those of the release made again where they are no cells of a kind."""
    values, again = counted.found.values, release.accuracy.again
    found = None
    if again is not None and not counted.exact and counted.again is not None:
        found = counted.again(again)
    return Numbers(
        asked.title(taps=release.visits_are_taps, visits=say_visits(release)),
        values,
        counted.kind,
        known=counted.found,
        pairs=None if found is None else (values, found),
        exact=counted.exact,
        whole=asked.question not in ("load", "delay"),
    )


def sort_rows(question: str, table: pl.DataFrame, top: int) -> pl.DataFrame:
    """Rows in the order of the question; lists of the most and least used stops end after `top`."""
    if question in ("most-used", "least-used"):
        return table.sort(["answer", "stop_id"], descending=[question == "most-used", False]).head(top)
    if question in SORTED:
        return table.sort("answer", descending=True, maintain_order=True, nulls_last=True)
    return table


def _count(release: JudgedRelease, asked: Asked) -> Counted:
    world, taps = release.world, isinstance(release.model, OfTaps)
    if asked.question in ("pairs", "triples"):
        grams = top_patterns(release.trips, 2 if asked.question == "pairs" else 3, asked.top)
        found = release.estimate(Runs(grams))
        assert found is not None  # trips always tell their runs
        kind = "edges" if asked.question == "pairs" else "triples"
        return Counted(gram_keys(world, grams), found, MADE_UP if taps else "", kind, exact=True)
    if asked.question == "routes":
        return count_routes(release, asked.filters, asked.by)
    return count_visits_of(release, GROUPED[asked.question], asked.filters, asked.by)


def with_bars(judged: Judged, *, whole: bool, below: bool = False) -> dict[str, pl.Series]:
    """Answers with the ends of their bars, in whole taps if asked; empty where nothing is known.

    Nobody taps a negative number of times, so cutting at zero loses no true number. A vehicle may be early.
    """
    ends = np.stack([judged.values, judged.low, judged.high])
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
