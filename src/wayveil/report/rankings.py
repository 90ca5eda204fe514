"""Tables of the busiest stops, moves and journeys: the release with its error bars, raw beside where it may be.

Error bars and words are those of the judge of the release: where nothing is known, there is no bar, and the page says
so; where nothing is worth having, there is no table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, isnan, log, pi, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import NO_RANKS, Judged, Numbers, judge_numbers, judge_tally
from wayveil.accuracy.ranks import can_rank, say_rank
from wayveil.accuracy.verdicts import Verdict
from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.report.svg_map import PairFlows
from wayveil.synthesis.estimates import Interval
from wayveil.synthesis.tallies import KINDS
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.origin_destination import od_pairs
from wayveil.utility.stop_figures import busiest

Counts = Ints
# Kinds of question by how many stops in a row they count.
RUNS = {1: "stops", 2: "edges", 3: "triples"}


class NoiseBars:
    """Intervals of the numbers of a page, from the judge of the release; none where there are only trips.

    Its lists end after `top` rows.
    """

    def __init__(self, release: JudgedRelease | None, top: int = 20) -> None:
        self.release, self.top = release, top

    @property
    def known(self) -> bool:
        """Tell whether anything at all has a bar."""
        kinds = ("total", "boardings", "stops")
        return any(one is not None and one.known for one in map(self.whole, kinds)) or bool(
            self.release is not None and self.release.accuracy.bands
        )

    def say(self, *kinds: str) -> str:
        """Say what to think of all numbers of these kinds; nothing where there is no release or no such number."""
        judged = [one for one in map(self.whole, kinds) if one is not None]
        said = [one.said for one in judged if one.said]
        return " ".join([*said, *(NO_RANKS for one in judged[:1] if not one.can_rank)])

    def withholds(self, *kinds: str) -> bool:
        """Tell that no number of these kinds is worth showing."""
        judged = [one for one in map(self.whole, kinds) if one is not None]
        return bool(judged) and not any(one.verdict is None or one.verdict.useful for one in judged)

    def judge(self, kind: str, values: AnyInts | Floats, cells: Ints | None = None) -> Judged | None:
        """Judge these numbers of cells of a kind, of all cells from 0 on where none are named."""
        if self.release is None:
            return None
        cells = np.arange(len(values)) if cells is None else cells
        asked = Numbers(kind, np.asarray(values, np.float64), kind, cells)
        return judge_numbers(self.release, asked, anyway=True)

    def lengths(self, trips: Ints) -> Interval | None:
        """Of trips with 0, 1, 2 ... stops, of which the release has so many; None where one of these is not known."""
        judged = self.judge("lengths", trips)
        if judged is None or np.isnan(np.stack([judged.low, judged.high])[:, trips > 0]).any():
            return None
        return np.nan_to_num(judged.low), np.nan_to_num(judged.high)

    def runs(self, patterns: list[tuple[int, ...]], trips: Ints) -> Interval | None:
        """Of trips with these stops in a row; not a number where nothing is known of runs so long."""
        if self.release is None or not patterns:
            return None
        out, lengths = np.full((2, len(patterns)), np.nan), np.array([len(pattern) for pattern in patterns])
        for length in set(lengths.tolist()) & set(RUNS):
            some = np.flatnonzero(lengths == length)
            stops = np.array([patterns[i] for i in some], np.int64)
            cells = stops @ (self.release.world.size ** np.arange(length)[::-1].astype(np.int64))
            judged = self.judge(RUNS[length], trips[some], cells)
            assert judged is not None
            out[:, some] = judged.low, judged.high
        return None if np.isnan(out).all() else (out[0], out[1])

    def made_of(self, what: str, kind: str, count: Callable[[Trips], Ints]) -> Judged | None:
        """Judge numbers that are made of cells of a kind, by what the release made again has in their place."""
        again = None if self.release is None else self.release.accuracy.again
        if self.release is None or again is None:
            return None
        one, other = (count(trips).astype(np.float64) for trips in (self.release.trips, again))
        return judge_numbers(self.release, Numbers(what, one, kind, pairs=(one, other)), anyway=True)

    def whole(self, kind: str) -> Judged | None:
        """Judge all cells of one kind: as the largest, where these have no intervals and are not worth having."""
        if self.release is None or (KINDS[kind].timed and self.release.trips.time is None):
            return None
        judged = judge_tally(self.release, kind, anyway=True)[1]
        if judged.verdict is None or judged.known:
            return judged
        largest = judged.verdict.about(np.sort(judged.values)[-self.top :])
        return judged if largest.useful else replace(judged, verdict=largest)


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

    @property
    def whole_ends(self) -> tuple[int, int]:
        """Both ends of the interval in whole numbers; only where it is known."""
        assert self.low is not None
        assert self.high is not None
        return floor(max(self.low, 0)), ceil(max(self.high, 0))


def interval_words(low: float | None, high: float | None) -> str:
    """Both ends as text; nothing where they are not known."""
    if low is None or high is None or isnan(low) or isnan(high):
        return ""
    return f"{floor(max(low, 0)):,} – {ceil(max(high, 0)):,}"


def ranking(
    name: Callable[[int], str], private: Counts, raw: Counts | None, top: int, judged: Judged | None = None
) -> list[Row]:
    """The largest counts, as they were `judged`: of the raw trips where they may be shown, else of the release."""
    ranks = None if judged is None else judged.ranks
    if raw is None and ranks is not None and not can_rank(*ranks):
        return []  # the page says that nothing can be ranked
    private = private if judged is None else judged.shown
    largest = max(int(private.max(initial=0)), 0 if raw is None else int(raw.max(initial=0)), 1)
    place = np.empty(len(private), np.int64)
    place[np.argsort(-private, kind="stable")] = np.arange(1, len(private) + 1)
    return [
        Row(
            rank=rank,
            name=name(i),
            private=int(private[i]),
            private_share=round(100 * int(private[i]) / largest, 1),
            private_rank=int(place[i]) if private[i] > 0 else None,
            raw=None if raw is None else int(raw[i]),
            raw_share=None if raw is None else round(100 * int(raw[i]) / largest, 1),
            low=None if judged is None else float(judged.low[i]),
            high=None if judged is None else float(judged.high[i]),
            places=_say_place(judged, i),
        )
        for rank, i in enumerate(busiest(private if raw is None else raw, top).tolist(), 1)
    ]


def _say_place(judged: Judged | None, at: int) -> str:
    """Say which ranks a number may have; nobody knows those of numbers without intervals."""
    if judged is None:
        return ""
    return "–" if judged.ranks is None else say_rank(*(int(side[at]) for side in judged.ranks))


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

    def count(trips: Trips) -> Ints:
        return PairFlows.of(edge_flows(trips)).at(keys, size)

    return ranking(
        lambda i: f"{names[keys[i] // size]} – {names[keys[i] % size]}",
        private.at(keys, size),
        None if raw is None else raw.at(keys, size),
        top,
        None if bars is None or not len(keys) else bars.made_of("moves", "edges", count),
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
        None if bars is None else bars.judge("journeys", counts[0], keys),
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
