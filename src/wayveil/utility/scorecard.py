"""`score`: all figures of a release in one frozen card, beside ceiling, floor and the empty release."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from typing import Literal

import numpy as np
import polars as pl
import scipy

from wayveil.accuracy.judged import JudgedRelease
from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.progress import step, track
from wayveil.showing import show, without_nan
from wayveil.synthesis.model import HoldsNgrams
from wayveil.trips.history import RAW_NOTICE
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.utility.count_queries import DEFAULT_MAX_LENGTH, DEFAULT_QUERIES, sanity_bound
from wayveil.utility.figures import LINES, Figures, Measure, ceiling, reference_trips
from wayveil.utility.model_ngrams import ModelNgrams
from wayveil.utility.ngram_figures import DEFAULT_N
from wayveil.utility.suite import CountQueries, Suite, questions
from wayveil.world.timebins import TimeBins


@dataclass(frozen=True)
class Figure:
    """One figure: the mean over the releases, its 95 % interval (none for a single release), and the
    references.
    """

    question: str
    key: str
    label: str
    value: float
    low: float | None
    high: float | None
    ceiling: float
    floor: float
    empty: float
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class Scorecard:
    """The figures of one mechanism on one dataset: for the eyes of the data holder only."""

    figures: tuple[Figure, ...]
    releases: int
    raw_trips: int
    private_trips: tuple[int, ...]
    queries: int
    sanity_bound: float
    seed: int
    notice: str = RAW_NOTICE

    def __getitem__(self, key: str) -> Figure:
        for figure in self.figures:
            if figure.key == key:
                return figure
        raise KeyError(key)

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    def table(self) -> pl.DataFrame:
        """One row per figure."""
        return pl.DataFrame([asdict(figure) for figure in self.figures], infer_schema_length=None)

    def to_json(self) -> str:
        """The whole card; a figure that has no value (a rank correlation of nothing) is null."""
        return json.dumps(without_nan(asdict(self)), indent=2)

    def _repr_html_(self) -> str:
        return show(self)

    def __repr__(self) -> str:
        return f"<Scorecard of {len(self.figures)} figures over {self.releases} releases; internal>"

    def __str__(self) -> str:
        rows = [["", "release", "95 % interval", "ceiling", "floor", "empty"]]
        question = None
        for figure in self.figures:
            if figure.question != question:
                question = figure.question
                rows.append([question, "", "", "", "", ""])
            references = [decimal(value) for value in (figure.ceiling, figure.floor, figure.empty)]
            rows.append([f"  {figure.label}", decimal(figure.value), interval(figure), *references])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for label, *cells in rows:
            numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join([label.ljust(widths[0]), *numbers]))
        return "\n".join([line.rstrip() for line in lines] + [self.notice])


def decimal(value: float) -> str:
    """Three decimals for people, a dash where there is no value."""
    return f"{value:.3f}" if isfinite(value) else "–"


def interval(figure: Figure) -> str:
    """The interval as text; empty for a single release."""
    return "" if figure.low is None or figure.high is None else f"{figure.low:.3f} – {figure.high:.3f}"


def score(
    trips: Trips,
    release: JudgedRelease | Trips | Sequence[JudgedRelease | Trips],
    *,
    suite: Suite = "core",
    queries: int = DEFAULT_QUERIES,
    max_length: int = DEFAULT_MAX_LENGTH,
    bins: TimeBins | None = None,
    unordered: bool = False,
    seed: int = 0,
) -> Scorecard:
    """Compare raw trips with a release, or with several releases of the same mechanism (then with intervals).

    `suite` is `core` for the first look or `full` for every figure that fits the data (see `questions`), and for those
    of the model itself where it holds n-grams.
    `queries` per workload, of 1..`max_length` stops, or of stops within `bins`. `seed` fixes queries, ceiling, floor.
    The floor is given the true number of trips, so that it is as hard to beat as public knowledge can make it. A
    release that was booked in a ledger gets a line there: it costs nothing, and later datasheets say that the raw trips
    were looked at.

    >>> card = wv.score(trips, made, queries=20, seed=1)
    >>> any("visits per stop" in figure.label for figure in card)
    True
    """
    releases = release if isinstance(release, Sequence) else [release]
    for one in releases:
        reservation = None if isinstance(one, Trips) else one.reservation
        if reservation is not None:
            reservation.ledger.look(reservation.dataset, "score", trips, actor=reservation.actor)
    candidates = [
        one if isinstance(one, Trips) else one.whole.require_single("the score").trips for one in releases
    ]
    if not candidates:
        raise ParameterError("there is no release to score")
    taps = any(not isinstance(one, Trips) and one.visits_are_taps for one in releases)
    with step("preparing questions about the raw trips"):
        counting = CountQueries(queries, max_length, bins, unordered)
        asked = questions(trips, suite=suite, counting=counting, taps=taps, seed=seed)
    if trips.time is not None:
        bins = TimeBins.hour_of_day() if bins is None else bins  # the floor then knows of time as well
    figures = _measured(asked, _subjects(trips, candidates, bins, seed), len(candidates) + len(LINES))
    if suite == "full":
        figures += _of_models(
            trips, [None if isinstance(one, Trips) else one.model for one in releases], seed
        )
    return Scorecard(
        figures=tuple(figures),
        releases=len(candidates),
        raw_trips=len(trips),
        private_trips=tuple(len(one) for one in candidates),
        queries=queries,
        sanity_bound=sanity_bound(trips),
        notice=trips.history.notice,
        seed=seed,
    )


def _measured(asked: Sequence[Figures], subjects: Iterable[Trips], count: int) -> list[Figure]:
    """Ask every one of `count` subjects every question: releases first, then ceiling, floor and the empty release."""
    pairs = ((subject, one) for subject in subjects for one in asked)
    answers = [
        (question.title, measure)
        for subject, question in track(pairs, "scoring", total=count * len(asked))
        for measure in question.measure(subject)
    ]
    size = len(answers) // count
    rows = zip(*(answers[at : at + size] for at in range(0, len(answers), size)), strict=True)
    return [_figure(row[0][0], [measure for _, measure in row]) for row in rows]


def _figure(title: str, row: Sequence[Measure]) -> Figure:
    """One figure of all releases and of ceiling, floor and the empty release."""
    *values, top, bottom, nothing = (measure.value for measure in row)
    mean, low, high = mean_and_interval(values)
    about = row[0]
    return Figure(title, about.key, about.label, mean, low, high, top, bottom, nothing, about.better)


def _subjects(raw: Trips, candidates: list[Trips], bins: TimeBins | None, seed: int) -> Iterator[Trips]:
    """The releases and then the three references, one at a time: a copy of the raw trips is large."""
    yield from candidates
    for place, line in enumerate(LINES, 1):
        yield reference_trips(line, raw, seed + place, bins)


def _of_models(raw: Trips, models: Sequence[object], seed: int) -> list[Figure]:
    """Return how good the n-grams of the models are before a trip is drawn; nothing where a model holds none.

    Ceiling: the n-grams of a resample. Floor: every n-gram that public moves allow. Empty: none.
    """
    known: list[Ints] = []
    for model in models:
        if not isinstance(model, HoldsNgrams):
            return []
        held = model.ngrams(DEFAULT_N)
        if held is None:
            return []
        known.append(held[0])
    with step("n-grams of the model"):
        judge = ModelNgrams(raw)
        top = judge.score(gram_counts(ceiling(raw, seed + 1), DEFAULT_N).grams)
        lines = [top, judge.everything(), judge.nothing()]
        scores = [judge.score(grams) for grams in known]
        answers = [score.measures(DEFAULT_N) for score in scores + lines]
    return [_figure(judge.title, row) for row in zip(*answers, strict=True)]


def mean_and_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The mean and its 95 % interval (Student) over repetitions; one value has no interval."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    half = float(scipy.special.stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / sqrt(len(values)))
    return mean, mean - half, mean + half
