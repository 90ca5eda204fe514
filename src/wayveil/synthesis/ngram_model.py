"""Released n-grams of one or several lengths, and the trips that walk through them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.synthesis.completing import timed_trips
from wayveil.synthesis.model import Model
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.walks import Walker, WeightedSteps
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


def nest_table(table: pl.DataFrame, widest: int | None = None) -> dict[str, Any]:
    """The n-grams of a released table as nodes within nodes, the most frequent first, at most `widest` children each.

    A node has `stop`, `count` (the sum over its n-grams) and `children`; the root has no stop. Of n-grams of several
    lengths the longest are shown.
    """
    longest = table.filter(pl.col("length") == pl.col("length").max())
    rows = list(zip(longest["ngram"].to_list(), longest["count"].to_list(), strict=True))
    return {"count": float(longest["count"].sum()), "children": nest_rows(rows, 0, widest)}


def nest_rows(rows: list[tuple[list[str], float]], depth: int, widest: int | None) -> list[dict[str, Any]]:
    branches: dict[str, list[tuple[list[str], float]]] = {}
    for row in rows:
        if depth < len(row[0]):
            branches.setdefault(row[0][depth], []).append(row)
    totals = {stop: sum(count for _, count in below) for stop, below in branches.items()}
    return [
        {"stop": stop, "count": totals[stop], "children": nest_rows(branches[stop], depth + 1, widest)}
        for stop in sorted(branches, key=lambda stop: -totals[stop])[:widest]
    ]


# Each number of stops is a class of its own up to here; beyond, classes grow by a sixth.
SINGLE = 12
GROWTH = 7 / 6
# Standard deviations of the noise that make a number clear.
CLEAR = 3


@dataclass(frozen=True, eq=False)
class LengthClasses:
    """Public classes of trips by their number of stops: class i has `least[i]` .. `least[i + 1]` - 1 of them."""

    least: Ints

    @classmethod
    def up_to(cls, longest: int) -> "LengthClasses":
        """Classes for 1..longest stops; longer trips are in the last one."""
        least = list(range(1, min(SINGLE, longest) + 1))
        while (following := round(least[-1] * GROWTH)) <= longest and least[-1] >= SINGLE:
            least.append(following)
        return cls(np.array([*least, longest + 1], np.int64))

    def __len__(self) -> int:
        return len(self.least) - 1

    def of(self, lengths: AnyInts) -> Ints:
        """The class of each trip that has a stop."""
        visited = np.minimum(lengths[lengths > 0], self.least[-1] - 1)
        return np.searchsorted(self.least, visited, side="right") - 1


@dataclass(frozen=True, eq=False)
class NoisyLengths:
    """A noisy histogram of the classes."""

    classes: LengthClasses
    noisy: Ints
    scale: Fraction

    def hazard(self, trips: float) -> Floats:
        """Of the trips that have made 0, 1, 2, ... stops, the share that ends there; NaN where noise hides it.

        Within a class the share is the same for all numbers of stops. It is known as long as those that go on are
        clearly more than the noise of all later classes together: a few trips too many, if long, would be many visits.
        """
        width = np.diff(self.classes.least)
        count = onto_total(self.noisy, trips)
        left = np.cumsum(count[::-1])[::-1]
        noise = sqrt(2) * float(self.scale) * np.sqrt(np.arange(len(count), 0, -1))
        clear = np.logical_and.accumulate(np.cumsum(self.noisy[::-1])[::-1] >= CLEAR * noise) & (left > 0)
        goes_on = 1 - np.divide(count, left, out=np.ones(len(count)), where=left > 0)
        share = np.where(clear, 1 - np.clip(goes_on, 0.0, 1.0) ** (1 / width), np.nan)
        return np.concatenate([[0.0], np.repeat(share, width)])


BEGIN, END = "^", "$"
NOT_ASKED = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class NgramTable:
    """Noisy n-grams of one length.

    symbols    one row per n-gram: locations, `locations + i` for the marks of the beginning, then the end mark
    noisy      counts as the gate returned them, NOT_ASKED where a count was derived from others
    count      what they are taken for: noise removed, never negative, in trips or visits
    scale      noise scale of a count, threshold that a noisy count had to reach (None = all cells are here)
    """

    symbols: Ints
    noisy: Ints
    count: Floats
    scale: Fraction
    threshold: int | None = None

    @property
    def n(self) -> int:
        return int(self.symbols.shape[1])

    def __len__(self) -> int:
        return len(self.noisy)

    def of_places(self, locations: int) -> tuple[Ints, Floats]:
        """The n-grams without marks, and their counts."""
        plain = (self.symbols < locations).all(axis=1)
        return self.symbols[plain], self.count[plain]


@dataclass(frozen=True, eq=False)
class NoiseLeft:
    """Weights of begins, ends and other moves, and how much of each the law of the noise alone would have made."""

    weight: Floats
    false: Floats


@dataclass(frozen=True, eq=False)
class NgramModel(Model):
    """A model of short sequences. Trips are walks; the longest context that a table knows decides the next stop.

    tables   n-grams; their first n - 1 symbols are the context of the last. Single symbols, where there are any, say
             how often walks are to come to each, and to the end, within the first `moves`
    start    the context in which a trip begins
    end      the symbol of the end mark
    trips    how many trips there are, from noisy counts
    longest  most stops of a trip (public)
    lengths  how long the trips are, where that was asked; walks then end accordingly
    bins     public time bins, where symbols are stops within them: location x bins + bin
    """

    world: World
    tables: tuple[NgramTable, ...]
    start: tuple[int, ...]
    end: int
    trips: float
    longest: int
    moves: int | None = None
    lengths: NoisyLengths | None = None
    bins: TimeBins | None = None

    def steps(self) -> list[WeightedSteps]:
        """Return what may follow what."""
        longer = [table for table in self.tables if table.n > 1]
        return [WeightedSteps(table.symbols[:, :-1], table.symbols[:, -1], table.count) for table in longer]

    def generate(self, seed: int | None = None) -> Trips:
        """Walk from begin to end mark, as many times as there are trips."""
        walker = Walker.of(self.steps(), self.start, self.end)
        hazard = None if self.lengths is None else self.lengths.hazard(self.trips)
        for table in self.tables:
            if table.n == 1 and self.moves is not None:
                wanted = np.full(self.end + 1, np.nan)
                wanted[table.symbols[:, 0]] = table.count
                ways = self.world.restricts_moves and self.bins is None
                walker = walker.calibrated(wanted, self.trips, self.moves, hazard, keep_turns=ways)
        rng = np.random.default_rng(seed)
        if self.bins is None:
            return walker.walk(self.world, self.trips, self.longest, rng, hazard)
        pair, offsets = walker.sequences(self.trips, self.longest, rng, hazard)
        location, bin_ = np.divmod(pair, np.int32(self.bins.count))
        return timed_trips(self.world, self.bins, location, bin_, offsets, rng)

    def lost(self) -> float:
        """Return how far the kept moves from the begin mark are from the number of trips, in shares of it.

        Where a trip weighs one in all, whatever its moves: the share of that weight which noise has put into moves that
        nobody made, and which others lost.
        """
        table = next((table for table in self.tables if table.n == 2), None)
        if table is None or self.trips <= 0:
            return 0.0
        if self.moves is None:
            return self._false_share(table)
        begins = float(table.count[table.symbols[:, 0] == self.start[-1]].sum())
        return abs(1.0 - begins / self.trips)

    def _false_share(self, table: NgramTable) -> float:
        """The expected weight of empty cells in a table that was made to add up to the number of trips."""
        law = self._noise_left(table)
        return 0.0 if law is None else float(min(law.false.sum() / self.trips, 1.0))

    def made_up(self, kind: str, trips: float, again: float) -> float | None:
        """Return the least error of this question kind that invented moves cause, in shares of the truth.

        A replica does not show all of it: noise makes walks short, moves of short trips weigh more, and so a replica of
        noise has less noise than the release. Only of a table that adds up to the number of trips by one cut.
        """
        table = next((table for table in self.tables if table.n == 2), None)
        law = None if table is None or self.moves is not None else self._noise_left(table)
        if law is None or kind == "total":
            return None
        begin, end, inner = np.minimum(law.false / np.maximum(law.weight, 1e-9), 1.0)
        per_trip = float(law.weight[2] / max(law.weight[0], 1e-9))
        if kind == "visits":
            real = per_trip * (1 - inner) / max(1 - begin, 1e-3)
            return float(abs(per_trip - real) / (1 + real))
        moved = {
            "boardings": begin,
            "alightings": end,
            "edges": inner,
            "triples": 1 - (1 - inner) ** 2,
            "journeys": 1 - (1 - begin) * (1 - end) * (1 - inner) ** per_trip,
        }
        # What is put elsewhere is missing where it was; of visits per stop and of lengths, other noise may fill it.
        share = law.false.sum() / max(law.weight.sum(), 1e-9)
        return float(2 * moved[kind] if kind in moved else min(share, 1.0))

    def _noise_left(self, table: NgramTable) -> "NoiseLeft | None":
        """The weight of begins, ends and moves between stops, and how much of it empty cells are expected to have.

        The same cut was taken from all cells. Of Laplace noise of scale b, a cell keeps b / 2 exp(-cut / b) above it on
        average, and a share exp(-cut / b) / 2 of the empty ones is kept. Where only cells above a threshold came back,
        or symbols are pairs, nothing is known.
        """
        if table.threshold is not None or self.bins is not None or not len(table):
            return None
        # Weights are counted in parts of a trip: those of all cells lie on one line with their noisy counts.
        large, small = int(np.argmax(table.noisy)), int(np.argmin(table.noisy))
        if table.noisy[large] == table.noisy[small]:
            return None
        part = (table.count[large] - table.count[small]) / float(table.noisy[large] - table.noisy[small])
        scale, cut = float(table.scale) * part, float(table.noisy[large]) * part - float(table.count[large])
        size = self.world.size
        stops = (table.symbols < size).all(axis=1)
        known = self.world.successors.contains(*table.symbols[stops].T).all()
        moves = int(self.world.successors.degree(np.arange(size)).sum()) if known else size * size
        sides = table.symbols[:, 0] >= size, table.symbols[:, 1] >= size, stops
        above = np.exp(-max(cut, 0.0) / scale) / 2
        cells = np.array([size, size, moves]) - [np.count_nonzero(side) for side in sides]
        empty = np.maximum(cells, 0) / (1 - above)
        weight = np.array([table.count[side].sum() for side in sides])
        return NoiseLeft(weight, np.minimum(empty * scale * above, weight))

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many walks; None for as many as there are trips."""
        return (self if trips is None else replace(self, trips=float(trips))).generate(seed)

    def ngrams(self, n: int) -> tuple[Ints, Floats] | None:
        """The n-grams of n places that were released."""
        return next((table.of_places(self.world.size) for table in self.tables if table.n == n), None)

    def nested(self, widest: int | None = None) -> dict[str, Any]:
        """The longest n-grams as nodes within nodes."""
        return nest_table(self.table(), widest)

    def table(self) -> pl.DataFrame:
        """One row per n-gram: its length, its stops (with their time bins) and ^ and $ for the marks, noisy and cleaned
        count.
        """
        stops = self.world.ids.tolist()
        if self.bins is not None:
            stops = [f"{stop} {label}" for stop in stops for label in self.bins.labels]
        names = np.array([*stops, *([BEGIN] * (self.end - len(stops))), END])
        return pl.concat(
            [
                pl.DataFrame(
                    {
                        "length": np.full(len(table), table.n, np.int64),
                        "ngram": names[table.symbols].tolist(),
                        "noisy_count": pl.Series(table.noisy).replace(NOT_ASKED, None),
                        "count": table.count,
                    },
                    schema={
                        "length": pl.Int64,
                        "ngram": pl.List(pl.String),
                        "noisy_count": pl.Int64,
                        "count": pl.Float64,
                    },
                )
                for table in self.tables
            ]
        )
