"""Noisy trees as arrays, and the trips that they describe."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.synthesis.completing import continue_trips, fill_up, timed_trips
from wayveil.synthesis.consistency import Consistency, consistent_counts, settle_visits
from wayveil.synthesis.counted import KeptCounted
from wayveil.synthesis.model import Model, PaidSize
from wayveil.synthesis.projection import round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

DEFAULT_CONSISTENCY = Consistency()


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """The kept nodes of one depth: their parents (index into the level above), symbols and noisy counts."""

    parent: Ints
    symbol: Int32s
    count: Ints
    scale: Fraction
    threshold: int

    def __len__(self) -> int:
        return len(self.symbol)


@dataclass(frozen=True, eq=False)
class NoisyTree(Model):
    """A released tree of symbols. Node i of level l stands for the trips whose first l + 1 symbols are its path.

    The root has no count of its own: the number of trips is not known without paying for it. If it was paid for
    (`size`), first visits that are more than that are scaled down to it. Fewer are left, as nobody knows who is
    missing, unless visits per stop were paid for as well: those fill up what is missing.
    """

    world: World
    levels: tuple[TreeLevel, ...]
    consistency: Consistency = DEFAULT_CONSISTENCY
    size: PaidSize | None = field(default=None, kw_only=True)

    @property
    def nodes(self) -> int:
        """Nodes of all levels."""
        return sum(len(level) for level in self.levels)

    @property
    def width(self) -> int:
        """Symbols per visit; trips end only where a visit is complete."""
        return 1

    @property
    def bins(self) -> TimeBins | None:
        """The time bins of its symbols, where they have any."""
        return None

    @property
    def first_stops(self) -> int | None:
        """The level whose nodes stand for the first stop of trips, one node each; None if there is none."""
        return 0

    def counted(self, kind: str) -> KeptCounted | None:
        """Trips by origin: nodes of one level, kept by their own noisy count once the nodes above them are kept."""
        place = self.first_stops
        if kind != "boardings" or place is None or place >= len(self.levels):
            return None
        level = self.levels[place]
        order = np.argsort(level.symbol)
        cells, values = level.symbol[order].astype(np.int64), level.count[order].astype(np.float64)
        return KeptCounted(cells, values, float(level.scale), level.threshold, every=place == 0)

    def consistent(self) -> list[Floats]:
        """Non-negative counts in which no node has less than its children together, and none inside a visit more."""
        parents = [level.parent for level in self.levels]
        noisy = [level.count for level in self.levels]
        if self.width == 1:
            counts = consistent_counts(parents, noisy, self.consistency)
        else:
            scales = [float(level.scale) for level in self.levels]
            counts = settle_visits(parents, noisy, scales, self.width, self.consistency)
        thinned = self._thinned(counts)
        return counts if thinned == 1 else [count * thinned for count in counts]

    @property
    def thinned(self) -> float:
        """Return what is left of the first visits: those beyond the number of trips that was paid for are false."""
        if self.size is None:
            return 1.0
        # Thinned trips are as many as were paid for, so the noisy counts are asked.
        return self._thinned([level.count.astype(np.float64) for level in self.levels[:1]])

    def _thinned(self, counts: list[Floats]) -> float:
        first = float(counts[0].sum()) if counts else 0.0
        return 1.0 if self.size is None else min(self.size.trips / max(first, 1.0), 1.0)

    def ending(self) -> list[Floats]:
        """Return how many trips end at each node: what it has more than its children together."""
        counts = self.consistent()
        ending = [count.copy() for count in counts]
        for depth in range(1, len(self.levels)):
            np.subtract.at(ending[depth - 1], self.levels[depth].parent, counts[depth])
        # Inside a visit only rounding is left, which must not become a trip.
        return [
            np.maximum(left, 0.0) if (depth + 1) % self.width == 0 else np.zeros(len(left))
            for depth, left in enumerate(ending)
        ]

    def generate(self, seed: int | None = None, *, trips: int | None = None) -> Trips:
        """Trips with the tree's counts, or as many as asked for, drawn by them."""
        rng = np.random.default_rng(seed)
        sizes = np.array([len(level) for level in self.levels], np.int64)
        ending = np.concatenate([np.zeros(0), *self.ending()])
        part = 1.0 if trips is None else trips / max(self.trips, 1.0)
        if trips is None or ending.sum() <= 0:
            copies = round_keeping_total(ending, rng)
        else:
            kept = trips if self.filled is None else min(round(part * ending.sum()), trips)
            copies = rng.multinomial(kept, ending / ending.sum())
        depth = np.repeat(np.arange(len(sizes)), sizes)
        node = np.concatenate([np.zeros(0, np.int64), *(np.arange(size) for size in sizes)])
        ends = np.repeat(np.flatnonzero(copies), copies[copies > 0])
        made = self.decode(*self._paths(depth[ends], node[ends]), rng)
        made = self.go_on(made, np.concatenate([np.zeros(0), *self.cut()])[ends], rng)
        if self.filled is None:
            return made
        whole = replace(self.filled, trips=part * self.filled.trips, visits=part * self.filled.visits)
        return fill_up(made, whole, self.bins, rng)

    @property
    def filled(self) -> PaidSize | None:
        """The size up to which trips are filled up; None if they are not."""
        return self.size if self.size is not None and self.size.margins is not None else None

    def cut(self) -> list[Floats]:
        """Return the chance that a trip which ends at a node was cut there."""
        return [np.zeros(len(level)) for level in self.levels]

    def go_on(self, trips: Trips, cut: Floats, rng: np.random.Generator) -> Trips:
        """Let trips go on that were cut, where it is known how long they are."""
        return trips

    @property
    def trips(self) -> float:
        """Return how many trips the tree stands for."""
        kept = float(sum(left.sum() for left in self.ending()))
        return kept if self.filled is None else max(kept, self.filled.trips)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many trips, or as many as the tree stands for."""
        return self.generate(seed, trips=trips)

    def _paths(self, depth: Ints, node: Ints) -> tuple[Int32s, Ints]:
        """The symbols on the way to the given nodes, one path each, written from their ends to their starts."""
        offsets = np.concatenate([[0], np.cumsum(depth + 1)]).astype(np.int64)
        symbol = np.empty(offsets[-1], np.int32)
        for at in range(len(self.levels) - 1, -1, -1):
            here = np.flatnonzero(depth >= at)
            symbol[offsets[here] + at] = self.levels[at].symbol[node[here]]
            node[here] = self.levels[at].parent[node[here]]
        return symbol, offsets

    @abstractmethod
    def decode(self, symbol: Int32s, offsets: Ints, rng: np.random.Generator) -> Trips:
        """Trips from paths of symbols."""

    @abstractmethod
    def symbol_columns(self, depth: int, symbol: Int32s) -> dict[str, pl.Series]:
        """Return what the symbols of one level mean, as columns of the table."""

    def table(self) -> pl.DataFrame:
        """One row per node: id, parent's id (0 = root), depth, what it stands for, noisy and consistent count."""
        first = np.concatenate([[1], 1 + np.cumsum([len(level) for level in self.levels])])
        rows = []
        for depth, (level, consistent) in enumerate(zip(self.levels, self.consistent(), strict=True)):
            above = level.parent + first[depth - 1] if depth else np.zeros(len(level), np.int64)
            rows.append(
                pl.DataFrame(
                    {
                        "node": pl.Series(first[depth] + np.arange(len(level)), dtype=pl.Int64),
                        "parent": pl.Series(above, dtype=pl.Int64),
                        "depth": pl.Series(np.full(len(level), depth + 1), dtype=pl.Int64),
                        **self.symbol_columns(depth, level.symbol),
                        "noisy_count": pl.Series(level.count, dtype=pl.Int64),
                        "consistent_count": pl.Series(consistent, dtype=pl.Float64),
                    }
                )
            )
        return pl.concat(rows)

    def stop_ids(self, location: Int32s) -> pl.Series:
        """Locations by the names that people use."""
        return pl.Series(self.world.ids[location].tolist(), dtype=pl.String)


@dataclass(frozen=True, eq=False)
class PrefixTree(NoisyTree):
    """A tree over locations: sequences without times.

    Where a threshold cut a branch, its trips would end at a stop where nobody got off. If the number of visits was
    bought, so many trips go on as are too short, each by the ways on which other trips leave the stops that it is at.
    """

    @property
    def continued(self) -> float:
        """By what share trips of the tree are too short, so that they go on; 0 where nobody knows."""
        ending = [float(left.sum()) for left in self.ending()]
        if self.size is None or sum(ending) <= 0:
            return 0.0
        mean = sum(left * depth for depth, left in enumerate(ending, 1)) / sum(ending)
        return max(1 - mean * self.size.trips / max(self.size.visits, 1.0), 0.0)

    def decode(self, symbol: Int32s, offsets: Ints, rng: np.random.Generator) -> Trips:
        return Trips(symbol, offsets, self.world)

    def cut(self) -> list[Floats]:
        """At the height of the tree all; above it, as many as fit under the threshold of the missing children."""
        found = []
        for depth, (level, ending) in enumerate(zip(self.levels, self.ending(), strict=True)):
            if depth + 1 == len(self.levels):
                found.append(np.ones(len(level)))
                continue
            below = self.levels[depth + 1]
            missing = self.world.successors.degree(level.symbol) - np.bincount(
                below.parent, minlength=len(level)
            )
            found.append(np.clip(missing * below.threshold / np.maximum(ending, 1e-9), 0.0, 1.0))
        return found

    def go_on(self, trips: Trips, cut: Floats, rng: np.random.Generator) -> Trips:
        """Let as many go on as are too short: they were cut halfway, on average."""
        short = self.continued
        if self.size is None or short <= 0 or not cut.sum():
            return trips
        chosen = np.flatnonzero(rng.random(len(trips)) < cut * min(2 * short * len(trips) / cut.sum(), 1.0))
        missing = short * self.size.visits / max(self.size.trips, 1.0) * len(trips)
        mean = max(missing / max(len(chosen), 1), 1.0)
        return continue_trips(trips, chosen, rng.geometric(1 / mean, len(chosen)), rng)

    def symbol_columns(self, depth: int, symbol: Int32s) -> dict[str, pl.Series]:
        return {"stop_id": self.stop_ids(symbol)}


@dataclass(frozen=True, eq=False)
class TimedTree(NoisyTree):
    """A tree over (location, time bin) pairs, each one symbol: location x bins + bin."""

    bins: TimeBins = TimeBins.hour_of_day()  # noqa: RUF009 - immutable, and every caller names its own

    @property
    def first_stops(self) -> None:
        """A node stands for a stop at a time, and a stop for several nodes."""

    def decode(self, symbol: Int32s, offsets: Ints, rng: np.random.Generator) -> Trips:
        location, bin_ = np.divmod(symbol, self.bins.count)
        return timed_trips(self.world, self.bins, location, bin_, offsets, rng)

    def symbol_columns(self, depth: int, symbol: Int32s) -> dict[str, pl.Series]:
        location, bin_ = np.divmod(symbol, self.bins.count)
        labels = np.array(self.bins.labels)
        return {
            "stop_id": self.stop_ids(location),
            "time_bin": pl.Series(labels[bin_].tolist(), dtype=pl.String),
        }


@dataclass(frozen=True, eq=False)
class TaxonomyTree(NoisyTree):
    """A tree in which each visit is a way down a taxonomy of locations, then down one of times.

    Columns of a visit: `location_levels` general nodes, the location, `time_levels` general nodes, the time bin. The
    general nodes are scaffolding: they steady the counts and never come out.
    """

    bins: TimeBins = TimeBins.hour_of_day()  # noqa: RUF009 - immutable, and every caller names its own
    location_levels: int = 0
    time_levels: int = 0

    @property
    def first_stops(self) -> int:
        return self.location_levels

    @property
    def width(self) -> int:
        return self.location_levels + 1 + self.time_levels + 1

    def decode(self, symbol: Int32s, offsets: Ints, rng: np.random.Generator) -> Trips:
        visits = symbol.reshape(-1, self.width)
        location, bin_ = visits[:, self.location_levels], visits[:, -1]
        return timed_trips(self.world, self.bins, location, bin_, offsets // self.width, rng)

    def symbol_columns(self, depth: int, symbol: Int32s) -> dict[str, pl.Series]:
        column = depth % self.width
        empty = pl.Series([None] * len(symbol), dtype=pl.String)
        if column == self.location_levels:
            return {"kind": kind("location", symbol), "stop_id": self.stop_ids(symbol), "time_bin": empty}
        if column == self.width - 1:
            labels = pl.Series(np.array(self.bins.labels)[symbol].tolist(), dtype=pl.String)
            return {"kind": kind("time", symbol), "stop_id": empty, "time_bin": labels}
        name = "location group" if column < self.location_levels else "time group"
        return {"kind": kind(name, symbol), "stop_id": empty, "time_bin": empty}


def kind(name: str, symbol: Int32s) -> pl.Series:
    """Return the word for what every row is."""
    return pl.Series([name] * len(symbol), dtype=pl.String)
