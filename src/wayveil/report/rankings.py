"""Tables of the busiest stops, moves and journeys: the release with its error bars, raw beside where it may be.

Error bars and words are those of the judge of the release: where nothing is known, there is no bar, and the page says
so; where nothing is worth having, there is no table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, isnan, log, pi, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import NO_RANKS, Judged, Numbers, judge_numbers
from wayveil.accuracy.ranks import can_rank, say_rank
from wayveil.accuracy.verdicts import Verdict
from wayveil.arrays import AnyInts, Ints
from wayveil.report.svg_map import PairFlows
from wayveil.synthesis.estimates import Interval
from wayveil.synthesis.tallies import KINDS, tally
from wayveil.trips.trips import Trips
from wayveil.utility.origin_destination import od_pairs
from wayveil.utility.stop_figures import busiest, origin_counts, stop_counts

Counts = Ints
# Kinds of question by how many stops in a row they count.
RUNS = {1: "stops", 2: "edges", 3: "triples"}


class NoiseBars:
    """Both ends of 95 % intervals (None where nothing is known), and what to think of each kind of number."""

    def __init__(self, release: JudgedRelease | None) -> None:
        self.release = release

    @property
    def known(self) -> bool:
        """Tell whether anything at all has a bar."""
        if self.release is None:
            return False
        counted = (self.trips(), self.boardings(), self.stops())
        return any(ends is not None for ends in counted) or bool(self.release.accuracy.bands)

    def say(self, *kinds: str) -> str:
        """Say what to think of all numbers of these kinds; nothing where there is no release or no such number."""
        judged = [one for one in map(self._whole, kinds) if one is not None]
        said = [one.verdict.words for one in judged if one.verdict is not None]
        return " ".join([*said, *(NO_RANKS for one in judged[:1] if not one.can_rank)])

    def withholds(self, *kinds: str) -> bool:
        """Tell that no number of these kinds is worth showing."""
        judged = [one for one in map(self._whole, kinds) if one is not None]
        return bool(judged) and not any(one.verdict is None or one.verdict.useful for one in judged)

    def ranks(self, kind: str, values: Counts) -> tuple[Counts, Counts] | None:
        """The best and the worst rank of these numbers of all cells of a kind; None where they are not known."""
        if self.release is None:
            return None
        asked = Numbers(kind, values.astype(np.float64), kind, np.arange(len(values)))
        return judge_numbers(self.release, asked, anyway=True).ranks

    def stops(self) -> Interval | None:
        """Of visits per stop."""
        return None if self.release is None else self._dense("stops", stop_counts(self.release.trips))

    def hours(self) -> Interval | None:
        """Of visits per hour of the day, where the release has times."""
        if self.release is None or self.release.trips.time is None:
            return None
        shown = tally("hours", self.release.trips).at(np.arange(24))
        return self._dense("hours", shown)

    def trips(self) -> tuple[float, float] | None:
        """Of the number of trips."""
        if self.release is None:
            return None
        ends = self._dense("total", np.array([len(self.release.trips)]))
        return None if ends is None else (float(ends[0][0]), float(ends[1][0]))

    def boardings(self) -> Interval | None:
        """Of trips that begin at each stop."""
        return None if self.release is None else self._dense("boardings", origin_counts(self.release.trips))

    def lengths(self, trips: Ints) -> Interval | None:
        """Of trips with 0, 1, 2 ... stops, of which the release has so many; None where one of these is not known."""
        ends = self._dense("lengths", trips)
        if ends is None or np.isnan(np.stack(ends)[:, trips > 0]).any():
            return None
        return np.nan_to_num(ends[0]), np.nan_to_num(ends[1])

    def total(self) -> tuple[float, float] | None:
        """Of all visits."""
        if self.release is None:
            return None
        ends = self._dense("visits", np.array([self.release.trips.visits]))
        return None if ends is None else (float(ends[0][0]), float(ends[1][0]))

    def runs(self, patterns: list[tuple[int, ...]], trips: Ints) -> Interval | None:
        """Of trips with these stops in a row; not a number where nothing is known of runs so long."""
        if self.release is None or not patterns:
            return None
        out, lengths = np.full((2, len(patterns)), np.nan), np.array([len(pattern) for pattern in patterns])
        for length in np.unique(lengths):
            if int(length) not in RUNS:
                continue
            some = np.flatnonzero(lengths == length)
            stops = np.array([patterns[i] for i in some], np.int64)
            cells = stops @ (self.release.world.size ** np.arange(int(length))[::-1].astype(np.int64))
            ends = self._ends(RUNS[int(length)], cells, trips[some])
            if ends is not None:
                out[:, some] = ends
        return None if np.isnan(out).all() else (out[0], out[1])

    def moves(self, a: AnyInts, b: AnyInts) -> Interval | None:
        """Of trips between two neighbouring stops, both directions together."""
        if self.release is None or len(a) == 0:
            return None
        size, shown = np.int64(self.release.world.size), tally("edges", self.release.trips)
        value, down, up = np.zeros((3, len(a)))
        for one, other in ((a, b), (b, a)):
            cells = one.astype(np.int64) * size + other
            ends = self._ends("edges", cells, shown.at(cells))
            if ends is None:
                return None
            value += shown.at(cells)
            down, up = (
                np.hypot(down, shown.at(cells) - ends[0]),
                np.hypot(up, ends[1] - shown.at(cells)),
            )
        return np.maximum(value - down, 0), value + up

    def journeys(self, keys: Ints, trips: Ints) -> Interval | None:
        """Of trips from an origin to a destination (origin x size + destination)."""
        return self._ends("journeys", keys, trips)

    def _whole(self, kind: str) -> Judged | None:
        """The judgement of all cells of one kind."""
        if self.release is None or (KINDS[kind].timed and self.release.trips.time is None):
            return None
        shown = tally(kind, self.release.trips)
        return judge_numbers(self.release, Numbers(kind, shown.values, kind, shown.cells), anyway=True)

    def _dense(self, kind: str, values: AnyInts | NDArray[np.floating]) -> Interval | None:
        return self._ends(kind, np.arange(len(values)), values)

    def _ends(self, kind: str, cells: Ints, values: AnyInts | NDArray[np.floating]) -> Interval | None:
        if self.release is None:
            return None
        asked = Numbers(kind, np.asarray(values, np.float64), kind, cells)
        judged = judge_numbers(self.release, asked, anyway=True)
        return (judged.low, judged.high) if judged.known else None


DEVIATION_OF_MEAN = sqrt(pi / 2)


@dataclass(frozen=True)
class Row:
    """One line of a ranking; shares are lengths of bars in percent, raw values are None where raw is not shown."""

    rank: int
    name: str
    private: int
    private_share: float
    private_rank: int | None
    raw: int | None
    raw_share: float | None
    low: float | None = None
    high: float | None = None
    places: str = ""

    @property
    def difference(self) -> str:
        """Return how far the release is off, in percent of the raw count."""
        return f"{(self.private - self.raw) / self.raw * 100:+.1f} %" if self.raw else ""

    @property
    def bar(self) -> str:
        """The 95 % interval, for people; nothing where it is not known."""
        return interval_words(self.low, self.high)


def interval_words(low: float | None, high: float | None) -> str:
    """Both ends as text; nothing where they are not known."""
    if low is None or high is None or isnan(low) or isnan(high):
        return ""
    return f"{floor(max(low, 0)):,} – {ceil(max(high, 0)):,}"


def ranking(
    name: Callable[[int], str],
    private: Counts,
    raw: Counts | None,
    top: int,
    bars: Callable[[Counts], Interval | None] | None = None,
    ranks: tuple[Counts, Counts] | None = None,
) -> list[Row]:
    """The largest counts: of the raw trips where they may be shown, else of the release. `bars` gives those of
    the positions that are shown.
    """
    largest = max(int(private.max(initial=0)), 0 if raw is None else int(raw.max(initial=0)), 1)
    place = np.empty(len(private), np.int64)
    place[np.argsort(-private, kind="stable")] = np.arange(1, len(private) + 1)
    shown = busiest(private if raw is None else raw, top)
    ends = None if bars is None or len(shown) == 0 else bars(shown)
    if raw is None and ranks is not None and not can_rank(*ranks):
        return []  # the page says that nothing can be ranked
    return [
        Row(
            rank=rank,
            name=name(int(i)),
            private=int(private[i]),
            private_share=round(100 * int(private[i]) / largest, 1),
            private_rank=int(place[i]) if private[i] > 0 else None,
            raw=None if raw is None else int(raw[i]),
            raw_share=None if raw is None else round(100 * int(raw[i]) / largest, 1),
            low=None if ends is None else float(ends[0][rank - 1]),
            high=None if ends is None else float(ends[1][rank - 1]),
            places="" if ranks is None else say_rank(int(ranks[0][i]), int(ranks[1][i])),
        )
        for rank, i in enumerate(shown.tolist(), 1)
    ]


def ranking_table(rows: list[Row], what: str) -> pl.DataFrame:
    """The ranking as data; columns of raw counts only where they are shown."""
    columns: dict[str, list[object]] = {
        "rank": [row.rank for row in rows],
        what: [row.name for row in rows],
        "private": [row.private for row in rows],
        "low": [row.low for row in rows],
        "high": [row.high for row in rows],
        "ranks": [row.places for row in rows],
    }
    if any(row.raw is not None for row in rows):
        columns |= {"raw": [row.raw for row in rows], "private_rank": [row.private_rank for row in rows]}
    return pl.DataFrame(columns, schema_overrides={"low": pl.Float64, "high": pl.Float64}, strict=False)


def move_ranking(
    names: NDArray[np.str_],
    private: PairFlows,
    raw: PairFlows | None,
    top: int,
    bars: NoiseBars | None = None,
) -> list[Row]:
    """The busiest pairs of consecutive stops, both directions together."""
    size = np.int64(len(names))
    keys = private.a * size + private.b
    if raw is not None:
        keys = np.union1d(keys, raw.a * size + raw.b)
    return ranking(
        lambda i: f"{names[keys[i] // size]} – {names[keys[i] % size]}",
        private.at(keys, size),
        None if raw is None else raw.at(keys, size),
        top,
        None if bars is None else lambda shown: bars.moves(keys[shown] // size, keys[shown] % size),
    )


def journey_ranking(
    names: NDArray[np.str_], private: Trips, raw: Trips | None, top: int, bars: NoiseBars | None = None
) -> list[Row]:
    """The busiest pairs of origin and destination."""
    size = len(names)
    found = [np.unique(od_pairs(side), return_counts=True) for side in (private, raw) if side is not None]
    keys = np.unique(np.concatenate([pairs for pairs, _ in found]))
    counts = []
    for pairs, count in found:
        counts.append(np.zeros(len(keys), np.int64))
        counts[-1][np.searchsorted(keys, pairs)] = count
    return ranking(
        lambda i: f"{names[keys[i] // size]} → {names[keys[i] % size]}",
        counts[0],
        None if raw is None else counts[1],
        top,
        None if bars is None else lambda shown: bars.journeys(keys[shown], counts[0][shown]),
    )


def standing_out(rows: list[Row], verdict: Verdict | None, trips: int) -> list[Row]:
    """The rows that are more than noise would show at the top of a list; all of them where nothing is known of noise.

    A row with an interval stands out if that leaves at least one trip. Without one, it has to be larger than the
    largest of as many cells would be by noise alone, whose mean size the verdict tells.
    """
    if verdict is None:
        return rows
    if verdict.is_noise:
        return []
    per_cell = verdict.error * trips / max(verdict.cells, 1)
    largest = DEVIATION_OF_MEAN * per_cell * sqrt(2 * log(max(verdict.cells, 2)))

    def stands_out(row: Row) -> bool:
        known = row.low is not None and not isnan(row.low)
        return row.low >= 1 if known and row.low is not None else row.private > largest

    return [row for row in rows if stands_out(row)]
