"""Count-query error: how far off are the answers to "how many trips visit a, later b, later c?".

A query is an ordered sequence of items (stops, or stops within time bins), gaps allowed; its answer is the
number of trips that contain it. The error of one answer is |private - true| / max(true, s) with the sanity
bound s = 0.1 % of the raw trips. Two workloads are always measured together. *Non-empty* queries are drawn
from raw trips, so that the truth is at least 1: the figure to look at. *Uniform* queries draw every item from
the whole universe: most true answers are 0 there, and a release without any trip scores well.

Range counts: how many visits fall into a box of latitude, longitude and time of day?

Boxes are public and random: two sides of 5 to 50 % of the network's extent and, where raw trips carry times, a
run of 1 to 12 whole hours of the day (which may pass midnight). So a box is a set of stops and a set of hours,
and all boxes are answered from one table of visits per stop and hour.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.figures import Figures, Measure, check_comparable
from wayveil.utility.postings import Distinct, Items, Postings
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

SANITY_SHARE = 0.001
DEFAULT_QUERIES = 40_000
DEFAULT_MAX_LENGTH = 4

Counts = AnyInts | Floats


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries: row i asks for the first `lengths[i]` codes of `items[i]`; the rest of the row is -1."""

    name: str
    items: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.lengths)


def uniform_workload(items: Items, count: int, max_length: int, rng: np.random.Generator) -> Workload:
    """Lengths uniform in 1..max_length, every item uniform over the universe."""
    lengths = rng.integers(1, max_length + 1, count)
    drawn = rng.integers(0, items.size, (count, max_length))
    return Workload("uniform", np.where(np.arange(max_length) < lengths[:, None], drawn, -1), lengths)


def nonempty_workload(
    raw: Trips, items: Items, count: int, max_length: int, rng: np.random.Generator
) -> Workload:
    """Lengths uniform in 1..max_length (at most the longest trip); then a trip, uniform among those that are
    long enough, and a uniform choice of that many of its visits.
    """
    codes, offsets = items.of(raw), raw.offsets
    if np.any(codes < 0):
        inside = codes >= 0
        codes, offsets = codes[inside], np.concatenate([[0], np.cumsum(inside)])[raw.offsets]
    visits = np.diff(offsets)
    if visits.max() == 0:
        raise ParameterError("no raw visit falls into the given time bins")
    lengths = rng.integers(1, min(max_length, int(visits.max())) + 1, count)
    rows = np.full((count, max_length), -1, np.int64)
    for length in np.unique(lengths):
        row = np.flatnonzero(lengths == length)
        trip = rng.choice(np.flatnonzero(visits >= length), len(row))
        place = distinct_places(visits[trip], int(length), rng)
        rows[row, :length] = codes[offsets[trip][:, None] + place]
    return Workload("non-empty", rows, lengths)


def distinct_places(sizes: Ints, count: int, rng: np.random.Generator) -> Ints:
    """For each size n, a uniform choice of `count` of 0..n-1, ascending (Floyd's method, one column per
    round).
    """
    chosen = np.empty((len(sizes), count), np.int64)
    for k in range(count):
        last = sizes - count + k
        draw = rng.integers(0, last + 1)
        taken = np.any(chosen[:, :k] == draw[:, None], axis=1)
        chosen[:, k] = np.where(taken, last, draw)
    return np.sort(chosen, axis=1)


def relative_errors(true: Counts, private: Counts, sanity: float) -> Floats:
    """|private - true| / max(true, sanity), one per answer."""
    truth = np.asarray(true, np.float64)
    return np.asarray(np.abs(private - truth) / np.maximum(truth, sanity))


def sanity_bound(raw: Trips) -> float:
    """0.1 % of the raw trips: below it an answer counts as noise-sized."""
    return SANITY_SHARE * len(raw)


class CountQueryError(Figures):
    """Mean relative error over both workloads, mixed and per exact query length.

    `unordered` asks for sets of items, as the first study of prefix trees did. The queries follow from `seed`
    alone, so that every candidate answers the same ones. With `bins`, trips without times have no figure.
    """

    title = "Count queries"
    key = "count_query_error"
    words = "queries"

    def __init__(
        self,
        raw: Trips,
        *,
        queries: int = DEFAULT_QUERIES,
        max_length: int = DEFAULT_MAX_LENGTH,
        bins: TimeBins | None = None,
        unordered: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(raw)
        if queries < 1 or max_length < 1:
            raise ParameterError("count queries need at least one query and a length of at least 1")
        self.items, self.unordered = Items(raw.world, bins), unordered
        self.sanity = sanity_bound(raw)
        rng = np.random.default_rng(seed)
        self.workloads = (
            nonempty_workload(raw, self.items, queries, max_length, rng),
            uniform_workload(self.items, queries, max_length, rng),
        )
        self.asked = [Distinct.of(work.items, work.lengths) for work in self.workloads]
        self.true = self.answers(raw)

    def answers(self, trips: Trips) -> list[Ints]:
        """The answers of one set of trips, one array per workload."""
        postings = Postings.of(trips, self.items)
        return [postings.answers(asked, unordered=self.unordered) for asked in self.asked]

    def errors_at(self, private: Trips, length: int) -> dict[str, float]:
        """Mean error of the queries of one length alone, by workload: the figures of `measure`, without the others.

        A workload without queries of that length is left out.
        """
        check_comparable(self.raw, private)
        postings = Postings.of(private, self.items)
        made = {}
        for work, asked, true in zip(self.workloads, self.asked, self.true, strict=True):
            rows = np.flatnonzero(work.lengths == length)
            if len(rows):
                answer = postings.answers(asked.only(rows), unordered=self.unordered)
                made[work.name] = float(relative_errors(true[rows], answer, self.sanity).mean())
        return made

    def _measured(self, private: Trips) -> list[Measure]:
        silent = self.items.bins is not None and private.time is None and private.visits > 0
        answers = [np.full(len(work), np.nan) for work in self.workloads] if silent else self.answers(private)
        measures = []
        for work, true, answer in zip(self.workloads, self.true, answers, strict=True):
            errors = relative_errors(true, answer, self.sanity)
            key, label = f"{self.key}/{work.name}", f"error, {work.name} {self.words}"
            measures.append(Measure(key, label, float(errors.mean())))
            for length in np.unique(work.lengths):
                mean = float(errors[work.lengths == length].mean())
                measures.append(Measure(f"{key}/{length}", f"{label} of length {length}", mean))
        return measures


class TimedCountQueryError(CountQueryError):
    """Error of count queries of stops within public time bins, as the studies of timed trees ask them."""

    title = "Timed count queries"
    key = "timed_count_query_error"
    words = "queries of stops and hours"

    def __init__(self, raw: Trips, *, bins: TimeBins | None = None, **others: Any) -> None:
        if raw.time is None:
            raise ParameterError("queries of stops and times need trips with times")
        super().__init__(raw, bins=TimeBins.hour_of_day() if bins is None else bins, **others)


DEFAULT_BOXES = 2_000
_HOURS = 24


class RangeCounts(Figures):
    """Mean relative error over random boxes; the sanity bound is 0.1 % of the raw visits."""

    title = "Range counts"

    def __init__(self, raw: Trips, *, boxes: int = DEFAULT_BOXES, seed: int = 0) -> None:
        super().__init__(raw)
        if not isinstance(raw.world, Network):
            raise ParameterError("range counts need coordinates; this world is a plain list")
        if boxes < 1:
            raise ParameterError("range counts need at least one box")
        self.network, self.timed = raw.world, raw.time is not None
        rng = np.random.default_rng(seed)
        self.inside = self._boxes(boxes, rng)
        begin, hours = rng.integers(0, _HOURS, boxes), rng.integers(1, 13, boxes)
        hour = (np.arange(_HOURS) - begin[:, None]) % _HOURS
        self.during = hour < hours[:, None] if self.timed else np.ones((boxes, 1), bool)
        self.true = self.answers(raw)

    def _boxes(self, count: int, rng: np.random.Generator) -> Mask:
        """Which stops each box holds."""
        inside = np.ones((count, self.network.size), bool)
        for axis in (self.network.lat, self.network.lon):
            low, span = float(axis.min()), float(np.ptp(axis))
            width = rng.uniform(0.05, 0.5, count) * span
            start = low + rng.uniform(0, 1, count) * (span - width)
            inside &= (axis >= start[:, None]) & (axis <= (start + width)[:, None])
        return inside

    def answers(self, trips: Trips) -> Ints:
        """The visits in every box."""
        counts = visits_per_stop_and_hour(trips, timed=self.timed)
        # Whole numbers far below 2^53, so that floating-point products are exact, and much faster.
        per_hour = self.inside.astype(np.float64) @ counts.astype(np.float64)
        return np.rint((per_hour * self.during).sum(axis=1)).astype(np.int64)

    def _measured(self, private: Trips) -> list[Measure]:
        label = "error of visits in boxes of place and hour" if self.timed else "error of visits in boxes"
        if self.timed and private.time is None and private.visits:
            return [Measure("range_error", label, float("nan"))]
        sanity = SANITY_SHARE * self.raw.visits
        errors = relative_errors(self.true, self.answers(private), sanity)
        return [Measure("range_error", label, float(errors.mean()))]


def visits_per_stop_and_hour(trips: Trips, *, timed: bool) -> Ints:
    """Visits as a table of stops by hours of the day; one column if `timed` is false."""
    size = trips.world.size
    if not timed or trips.time is None:
        columns = _HOURS if timed else 1
        table = np.zeros((size, columns), np.int64)
        table[:, 0] = np.bincount(trips.location, minlength=size)
        return table
    hour = TimeBins.hour_of_day().bin_of(trips.time)
    return np.bincount(trips.location.astype(np.int64) * _HOURS + hour, minlength=size * _HOURS).reshape(
        size, _HOURS
    )
