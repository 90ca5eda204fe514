"""Noisy trees over places and times."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.tree import NoisyTree, timed_trips
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins


@dataclass(frozen=True, eq=False)
class TimedTree(NoisyTree):
    """A tree over (location, time bin) pairs, each one symbol: location x bins + bin."""

    bins: TimeBins = TimeBins.hour_of_day()  # noqa: RUF009 - immutable, and every caller names its own

    @property
    def first_stops(self) -> None:
        """A node stands for a stop at a time, and a stop for several nodes."""

    def decode(
        self, symbol: NDArray[np.int32], offsets: NDArray[np.int64], rng: np.random.Generator
    ) -> Trips:
        location, bin_ = np.divmod(symbol, self.bins.count)
        return timed_trips(self.world, self.bins, location, bin_, offsets, rng)

    def symbol_columns(self, depth: int, symbol: NDArray[np.int32]) -> dict[str, pl.Series]:
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

    def decode(
        self, symbol: NDArray[np.int32], offsets: NDArray[np.int64], rng: np.random.Generator
    ) -> Trips:
        visits = symbol.reshape(-1, self.width)
        location, bin_ = visits[:, self.location_levels], visits[:, -1]
        return timed_trips(self.world, self.bins, location, bin_, offsets // self.width, rng)

    def symbol_columns(self, depth: int, symbol: NDArray[np.int32]) -> dict[str, pl.Series]:
        column = depth % self.width
        empty = pl.Series([None] * len(symbol), dtype=pl.String)
        if column == self.location_levels:
            return {"kind": kind("location", symbol), "stop_id": self.stop_ids(symbol), "time_bin": empty}
        if column == self.width - 1:
            labels = pl.Series(np.array(self.bins.labels)[symbol].tolist(), dtype=pl.String)
            return {"kind": kind("time", symbol), "stop_id": empty, "time_bin": labels}
        name = "location group" if column < self.location_levels else "time group"
        return {"kind": kind(name, symbol), "stop_id": empty, "time_bin": empty}


def kind(name: str, symbol: NDArray[np.int32]) -> pl.Series:
    """The same word for every row."""
    return pl.Series([name] * len(symbol), dtype=pl.String)
