"""Noisy numbers of taps, made to agree, and single taps that have these numbers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.cell_counts import CellCounts, estimate_visits, hour_of_bins
from wayveil.synthesis.estimates import Estimate, Key, Question, Visits
from wayveil.synthesis.fitting import Sums, fit_sums
from wayveil.synthesis.model import Model
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.synthesis.tree import timed_trips
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

ROUNDS = 50
TRACE = 1e-3


@dataclass(frozen=True, eq=False)
class TapTable(Model):
    """Noisy visits per stop, per time bin, and per pair of both (`counts` at the cells `keys`, stop x bins + bin).

    `scales` are the noise scales of the three. With a `threshold`, pairs that are not listed fell below it.
    """

    world: World
    bins: TimeBins
    stops: NDArray[np.int64]
    times: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    scales: tuple[Fraction, Fraction, Fraction]
    threshold: int | None = None

    @cached_property
    def total(self) -> float:
        """The whole number of taps that the histograms tell together: the answer to how many there are in all."""
        known = estimate_visits(self.histograms(), Visits(), self.world)
        assert known is not None  # the margins tell it
        return max(float(np.rint(known.values[0])), 0.0)

    def margins(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Non-negative numbers per stop and per time bin that both add up to the total."""
        stops, times = (onto_total(margin, self.total) for margin, _ in self._merged)
        return stops, times

    @cached_property
    def _merged(self) -> list[tuple[NDArray[np.float64], float]]:
        """Stops and time bins with the variance of a cell, up to a factor that is the same everywhere.

        Where all pairs are known, their sums say the same as a margin, with other noise: both views are averaged,
        weighted by the inverse of their variances.
        """
        places = np.divmod(self.keys, self.bins.count)
        merged = []
        for margin, scale, place, others in (
            (self.stops, self.scales[0], places[0], len(self.times)),
            (self.times, self.scales[1], places[1], len(self.stops)),
        ):
            value, variance = margin.astype(np.float64), float(scale) ** 2
            if self.threshold is None:
                summed = np.bincount(place, self.counts, len(margin))
                noise = others * float(self.scales[2]) ** 2
                value = (value / variance + summed / noise) / (1 / variance + 1 / noise)
                variance = 1 / (1 / variance + 1 / noise)
            merged.append((value, variance))
        return merged

    def consistent(self) -> NDArray[np.float64]:
        """Non-negative numbers per listed pair that agree with the margins, as far as the listed pairs can.

        The nearest table with the right total, then rows and columns scaled in turn (iterative proportional fitting).
        A stop or bin none of whose pairs is listed cannot be met; its taps go to the others.
        """
        if self.total == 0:
            return np.zeros(len(self.keys))
        stop, bin_ = np.divmod(self.keys, self.bins.count)
        margins = self.margins()
        # A trace of "stop and time are independent" keeps cells open that a margin needs and noise has closed.
        trace = TRACE * margins[0][stop] * margins[1][bin_] / self.total
        cells = onto_total(self.counts, self.total) + trace
        cells = fit_sums(cells, [Sums(stop, margins[0]), Sums(bin_, margins[1])], ROUNDS)
        have = cells.sum()
        return cells * (self.total / have) if have > 0 else cells

    def taps(self) -> float:
        """How many there are."""
        return self.total

    def estimate(self, question: Question, trips: Trips) -> Estimate | None:
        """Numbers of taps straight from the noisy counts; which tap follows which was not counted."""
        return (
            estimate_visits(self.histograms(), question, self.world) if isinstance(question, Visits) else None
        )

    def histograms(self) -> list[CellCounts]:
        """The noisy histograms of which sums of all cells are known."""
        hours = hour_of_bins(self.bins)
        times: dict[Key, NDArray[np.int64]] = {} if hours is None else {"hour": hours}
        found = [
            CellCounts({"stop": np.arange(self.world.size)}, self.stops, float(self.scales[0])),
            CellCounts(times, self.times, float(self.scales[1])),
        ]
        if len(self.counts) == self.world.size * self.bins.count:  # else cells below a threshold are missing
            stop, bin_ = np.divmod(self.keys, self.bins.count)
            keys: dict[Key, NDArray[np.int64]] = {"stop": stop}
            if hours is not None:
                keys["hour"] = hours[bin_]
            found.append(CellCounts(keys, self.counts, float(self.scales[2])))
        return found

    def generate(self, seed: int | None = None) -> Trips:
        """One trip with one visit per tap."""
        rng = np.random.default_rng(seed)
        copies = round_keeping_total(self.consistent(), rng)
        location, bin_ = np.divmod(np.repeat(self.keys, copies), self.bins.count)
        offsets = np.arange(len(location) + 1, dtype=np.int64)
        return timed_trips(self.world, self.bins, location.astype(np.int32), bin_, offsets, rng)

    def table(self) -> pl.DataFrame:
        """All three histograms: rows without a time bin are stops, rows without a stop are time bins."""
        names, labels = self.world.ids, np.array(self.bins.labels)
        per_stop, per_time = self.margins()
        stop, bin_ = np.divmod(self.keys, self.bins.count)

        def part(
            stops: list[str | None],
            times: list[str | None],
            noisy: NDArray[np.int64],
            fit: NDArray[np.float64],
        ) -> pl.DataFrame:
            return pl.DataFrame(
                {
                    "stop_id": pl.Series(stops, dtype=pl.String),
                    "time_bin": pl.Series(times, dtype=pl.String),
                    "noisy_count": pl.Series(noisy, dtype=pl.Int64),
                    "consistent_count": pl.Series(fit, dtype=pl.Float64),
                }
            )

        return pl.concat(
            [
                part(names.tolist(), [None] * len(names), self.stops, per_stop),
                part([None] * len(labels), labels.tolist(), self.times, per_time),
                part(names[stop].tolist(), labels[bin_].tolist(), self.counts, self.consistent()),
            ]
        )
