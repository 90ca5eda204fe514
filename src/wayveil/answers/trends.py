"""Changes between releases, and what noise could have made: costs nothing, as releases are public.

Both releases have errors, so a change has an interval made of both of theirs. Where each release has noise of its own,
that is used alone, whatever earlier releases it follows: the two errors are then independent, and the interval is as
wide as the root of the sum of squares. Where a number cannot be told from what a release took over from the other, the
errors may point the same way or not, and the interval is as wide as both together.

A change is only called one if it also stands out among all cells that were looked at: of a hundred cells in which
nothing changed, five leave an interval of 95 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import useful_among
from wayveil.accuracy.ranks import rank_ranges
from wayveil.answers.answers import GROUPED, answer_question
from wayveil.answers.asked import Asked
from wayveil.answers.questions import (
    TREND_KINDS,
    TREND_QUESTIONS,
    TRIP_QUESTIONS,
    is_about_trips,
    say_question,
)
from wayveil.answers.trip_questions import answer_trips, counted_kind, trip_kind
from wayveil.arrays import Floats
from wayveil.errors import ParameterError, RefusedError
from wayveil.released.released_trips import followed_by
from wayveil.synthesis.counted import CountsCells
from wayveil.synthesis.estimates import Key, Visits
from wayveil.synthesis.model import Estimates, Follows, OfTaps
from wayveil.synthesis.noise_sums import NORMAL_95

MORE, LESS, SAME, UNKNOWN = "more", "less", "no change that noise could not make", "not known"
RANKED: Final = ("stops", "routes", "boardings", "alightings")
# Chance that any of the changes that are named is noise, among those named.
FALSE = 0.05
MOST_PAIRS = 100_000
NUMBERS = ("answer", "low", "high")
RANKS = ("best_rank", "worst_rank")


@dataclass(frozen=True, eq=False)
class Trend:
    """Changes from the first release to the last.

    table   a row per cell: what it is, `before` and `after` with both ends, `change` with `low` and `high` (95 %), the
            `verdict`, and for stops and routes the best and worst rank that each may have among all
    series  the numbers of every release, in order
    """

    question: str
    names: tuple[str, ...]
    table: pl.DataFrame
    series: pl.DataFrame
    note: str

    @property
    def keys(self) -> list[str]:
        """The columns that say what a row is."""
        return self.table.columns[: self.table.columns.index("before")]

    @property
    def changed(self) -> pl.DataFrame:
        """The rows whose change is more than noise, the largest first."""
        found = self.table.filter(pl.col("verdict").is_in([MORE, LESS]))
        return found.sort(pl.col("change").abs(), descending=True, maintain_order=True)

    @property
    def words(self) -> str:
        """One sentence for people."""
        known = self.table.filter(pl.col("verdict") != UNKNOWN).height
        what = self.question.capitalize()
        if known == 0:
            return f"{what}: how far these numbers are off is not known, so no change can be told from noise."
        more, less = (self.table.filter(pl.col("verdict") == word).height for word in (MORE, LESS))
        if known == 1:
            return f"{what}: {'grew' if more else 'fell' if less else SAME}."
        if more + less == 0:
            return f"{what}: no change that noise could not make, in any of {known:,} numbers."
        return (
            f"{what}: {more:,} of {known:,} numbers grew and {less:,} fell by more than noise could make; of the "
            f"others no change is known."
        )


def find_trend(releases: Sequence[JudgedRelease], question: str = "stops", *, anyway: bool = False) -> Trend:
    """Changes from the first to the last of these releases (in the order of time) in the answers to a question.

    Numbers of which nothing is worth having are refused, unless they are wanted `anyway`.
    """
    if len(releases) < 2:
        raise ParameterError("a trend needs two releases or more")
    if len({each.model.fingerprint() for each in releases}) < len(releases):
        raise ParameterError("the same release was given twice: there is no change between it and itself")
    if question not in TREND_QUESTIONS:
        raise ParameterError(f"unknown trend {question!r}; choose one of {', '.join(TREND_QUESTIONS)}")
    if question in TRIP_QUESTIONS and all(isinstance(each.model, OfTaps) for each in releases):
        raise ParameterError(
            "these releases counted single taps: ask for total, stops, hours, stop-hours or routes"
        )
    releases = [each.whole for each in releases]
    names = name_releases(releases)
    try:
        answers = [_answer(each, question, anyway=anyway) for each in releases]
    except RefusedError as refused:
        raise RefusedError(f"{refused}{_say_others(releases, question)}") from refused
    keys = [name for name in answers[0].columns if name not in NUMBERS]
    series = pl.concat(
        [each.with_columns(release=pl.lit(name)) for each, name in zip(answers, names, strict=True)]
    )
    first, last = answers[0], answers[-1]
    ids = [key for key in keys if key not in ("stop", "route")]  # names may change, ids do not
    if question in RANKED:
        first, last = (_with_ranks(each) for each in (first, last))
    both = _join(first, last, ids, keys)
    together = _share_errors(releases[0], releases[-1], question)
    table = _change(both, together=together)
    columns = ["before", "before_low", "before_high", "after", "after_low", "after_high"]
    columns += ["change", "low", "high", "verdict"]
    columns += [name for name in table.columns if "rank" in name]
    note = _note(
        question,
        taps=all(each.visits_are_taps for each in releases),
        known=bool((table["verdict"] != UNKNOWN).any()),
        together=together,
    )
    return Trend(question, names, table.select(*keys, *columns), series, note)


def name_releases(releases: Sequence[JudgedRelease]) -> tuple[str, ...]:
    """Their names on the datasheet, numbered where two are alike."""
    said = [str(each.datasheet["deployment"]["basic"]["name"]) for each in releases]
    if len(set(said)) == len(said):
        return tuple(said)
    return tuple(f"{name} #{number}" for number, name in enumerate(said, 1))


def _say_others(releases: Sequence[JudgedRelease], question: str) -> str:
    """Name the questions that all of these releases answer."""
    good = [
        other
        for other in TREND_QUESTIONS
        if other != question and all(all(useful_among(each, [_kind(each, other)])) for each in releases)
    ]
    return f" These releases do tell: {', '.join(good)}." if good else ""


def _answer(release: JudgedRelease, question: str, *, anyway: bool) -> pl.DataFrame:
    """Keys, answer, low and high, as numbers that may be negative where noise is."""
    if is_about_trips(question, taps=release.visits_are_taps):
        return _as_numbers(answer_trips(release, Asked(question, top=MOST_PAIRS), anyway=anyway).table)
    alone = replace(release, model=release.model.alone()) if isinstance(release.model, Follows) else release
    table = _as_numbers(answer_question(alone, Asked(question), anyway=anyway).table)
    per: tuple[Key, ...] = ("route",) if question == "routes" else GROUPED[question]
    known = alone.model.estimate(Visits(per), alone.trips) if isinstance(alone.model, Estimates) else None
    known = None if known is None else alone.widened(known)
    if known is None or known.low is None or known.high is None:
        return table
    # Answers are in whole taps and not negative; changes need the numbers as they are.
    keys = [name for name in table.columns if name not in NUMBERS]
    order = _in_order(alone, question, table.select(keys))
    return table.with_columns(
        answer=pl.Series(known.values[order]),
        low=pl.Series(known.low[order]),
        high=pl.Series(known.high[order]),
    )


def _in_order(release: JudgedRelease, question: str, keys: pl.DataFrame) -> np.ndarray:
    """Which cell each row of a sorted answer is."""
    if question == "total":
        return np.zeros(1, np.int64)
    if question == "hours":
        return keys["hour"].to_numpy()
    if question == "routes":
        at = {name: place for place, name in enumerate(release.world.route_ids.tolist())}  # type: ignore[attr-defined]
        return np.array([at[name] for name in keys["route_id"]], np.int64)
    stop = np.searchsorted(release.world.ids, keys["stop_id"].to_numpy().astype(release.world.ids.dtype))
    return stop * 24 + keys["hour"].to_numpy() if question == "stop-hours" else stop


def _as_numbers(table: pl.DataFrame) -> pl.DataFrame:
    kept = [name for name in table.columns if name not in (*NUMBERS, *RANKS)]
    return table.select(*kept, *(pl.col(name).cast(pl.Float64) for name in NUMBERS))


def _join(first: pl.DataFrame, last: pl.DataFrame, ids: list[str], keys: list[str]) -> pl.DataFrame:
    """Rows of either release beside each other; what only one of them has is not known in the other."""
    renamed = {
        "answer": "before",
        "low": "before_low",
        "high": "before_high",
        "best": "rank_before",
        "worst": "worst_before",
    }
    after = {
        "answer": "after",
        "low": "after_low",
        "high": "after_high",
        "best": "rank_after",
        "worst": "worst_after",
    }
    left = first.rename({old: new for old, new in renamed.items() if old in first.columns})
    right = last.rename({old: new for old, new in after.items() if old in last.columns})
    if not ids:
        return pl.concat([left, right], how="horizontal")
    both = left.join(right, on=ids, how="full", coalesce=True, suffix="_later", maintain_order="left_right")
    named = [name for name in keys if name not in ids]
    both = both.with_columns(pl.coalesce(name, f"{name}_later").alias(name) for name in named)
    worst = {"worst_before": "rank_before_worst", "worst_after": "rank_after_worst"}
    return both.drop([f"{name}_later" for name in named]).rename(
        {old: new for old, new in worst.items() if old in both.columns}
    )


def _change(both: pl.DataFrame, *, together: bool) -> pl.DataFrame:
    """The change of every row, both ends of its interval, and what to think of it."""
    a, a_low, a_high = _ends(both, "before")
    b, b_low, b_high = _ends(both, "after")
    join = np.add if together else np.hypot
    change = b - a
    low, high = change - join(b - b_low, a_high - a), change + join(b_high - b, a - a_low)
    verdict = _judge(change, low, high)
    low, high = _adjust(change, low, high, verdict)
    columns = {"change": change, "low": low, "high": high}
    return both.with_columns(
        *(pl.Series(name, values).fill_nan(None) for name, values in columns.items()),
        pl.Series("verdict", verdict),
    )


def _ends(both: pl.DataFrame, when: str) -> tuple[Floats, Floats, Floats]:
    """A number and both ends of its interval, between which it lies; not a number where nothing is known."""
    names = (when, f"{when}_low", f"{when}_high")
    value, low, high = (both[name].fill_null(np.nan).to_numpy().astype(np.float64) for name in names)
    inside = np.where(np.isnan(low), value, np.clip(value, low, high))
    return inside, low, high


def _judge(change: Floats, low: Floats, high: Floats) -> list[str]:
    """Which changes stand out among all (Benjamini and Hochberg 1995), with the longest tails that noise has here."""
    verdict = np.where(np.isnan(low), UNKNOWN, SAME).astype(object)
    known = np.flatnonzero(~np.isnan(low))
    if len(known) == 0:
        return list(verdict)
    half = np.where(change > 0, change - low, high - change)[known]
    away = np.abs(change[known]) / np.maximum(half / NORMAL_95, 1e-12)
    chance = np.exp(-np.sqrt(2) * away)  # of one Laplace count alone; sums have shorter tails
    order = np.argsort(chance)
    passed = np.flatnonzero(chance[order] <= FALSE * np.arange(1, len(known) + 1) / len(known))
    sure = known[order[: passed[-1] + 1]] if len(passed) else known[:0]
    verdict[sure] = np.where(change[sure] > 0, MORE, LESS)
    return list(verdict)


def _adjust(change: Floats, low: Floats, high: Floats, verdict: list[str]) -> tuple[Floats, Floats]:
    """Widen the intervals of changes that are named: those were picked because they are large.

    Of R that are named among m, each interval has the level 1 - 0.05 R / m; then 5 of 100 named changes lie outside on
    average (Benjamini and Yekutieli 2005, "False discovery rate-adjusted multiple confidence intervals").
    """
    named = np.isin(verdict, (MORE, LESS))
    known = np.count_nonzero(~np.isnan(low))
    if not named.any():
        return low, high
    # Quantiles of the longest tails that noise has here.
    wider = np.log(known / (FALSE * named.sum())) / np.log(1 / FALSE)
    factor = np.where(named, max(wider, 1.0), 1.0)
    return change - factor * (change - low), change + factor * (high - change)


def _with_ranks(answer: pl.DataFrame) -> pl.DataFrame:
    best, worst = rank_ranges(
        *(answer[name].fill_null(np.nan).to_numpy().astype(np.float64) for name in NUMBERS)
    )
    return answer.with_columns(pl.Series("best", best), pl.Series("worst", worst))


def _share_errors(first: JudgedRelease, last: JudgedRelease, question: str) -> bool:
    """Tell whether the errors of the two may depend on each other: one follows the other, or both the same, and their
    numbers cannot be told from that.
    """
    of_trips = is_about_trips(question, taps=last.visits_are_taps)
    if not of_trips and isinstance(last.model, Estimates):
        return False  # counted taps have noise of their own
    kind = _kind(first, question)
    if kind is not None and all(
        isinstance(each.model, CountsCells) and each.model.counted(kind) is not None for each in (first, last)
    ):
        return False
    before, after = ({each.model.fingerprint()} | followed_by(each.datasheet) for each in (first, last))
    return bool(before & after)


def _kind(release: JudgedRelease, question: str) -> str | None:
    if not is_about_trips(question, taps=release.visits_are_taps):
        return TREND_KINDS[question]
    return counted_kind(release, question) or trip_kind(release, question)


def _note(question: str, *, taps: bool, known: bool, together: bool) -> str:
    what = TRIP_QUESTIONS.get(question) or say_question(question, taps=taps)
    if not known:
        return f"Changes of {what}, without intervals: how far the numbers of these releases are off is not known."
    said = f"Changes of {what}, with intervals that hold the true change in 95 of 100 cases, from the noise of both."
    if together:
        said += (
            " One follows the other, so that their errors are not independent: intervals are as wide as both."
        )
    return f"{said} A change is named where it stands out among all numbers here."
