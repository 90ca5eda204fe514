"""Noisy numbers of taps, made to agree, and single taps that have these numbers."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.cell_counts import (
    CellCounts,
    EarlierCounts,
    believe_cells,
    estimate_visits,
    find_places,
    hour_of_bins,
    weekday_of_bins,
)
from wayveil.synthesis.completing import timed_trips
from wayveil.synthesis.estimates import Estimate, Key, Question, Visits
from wayveil.synthesis.model import Model
from wayveil.synthesis.projection import Sums, fit_sums, onto_total, round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

ROUNDS = 50
TRACE = 1e-3


@dataclass(frozen=True, eq=False)
class TapTable(Model):
    """Noisy visits per stop, per time bin, and per pair of both (`counts` at the cells `keys`, stop x bins + bin).

    `scales` are the noise scales of the three. With a `threshold`, pairs that are not listed fell below it; where none
    is listed, taps are drawn from stops and time bins as if they had nothing to do with each other. `earlier`
    are the same counts of earlier releases, the oldest first, which the numbers follow. `gaussian`: the noise is
    Gaussian, and scales are its variances.
    """

    world: World
    bins: TimeBins
    stops: Ints
    times: Ints
    keys: Ints
    counts: Ints
    scales: tuple[Fraction, Fraction, Fraction]
    threshold: int | None = None
    earlier: tuple[EarlierCounts, ...] = ()
    gaussian: bool = False

    @cached_property
    def total(self) -> float:
        """The whole number of taps that the histograms tell together: the answer to how many there are in all."""
        known = self._estimate(Visits())
        assert known is not None  # the margins tell it
        return max(float(np.rint(known.values[0])), 0.0)

    def margins(self) -> tuple[Floats, Floats]:
        """Non-negative numbers per stop and per time bin that both add up to the total."""
        stops, times = (onto_total(margin, self.total) for margin, _ in self._merged)
        return stops, times

    @cached_property
    def _merged(self) -> list[tuple[Floats, float]]:
        """Stops and time bins with the variance of a cell, up to a factor that is the same everywhere.

        Where all pairs are known, their sums say the same as a margin, with other noise: both views are averaged,
        weighted by the inverse of their variances.
        """
        places = np.divmod(self.keys, self.bins.count)
        (stops, of_stops), (times, of_times), (cells, of_cells) = self._believed
        merged = []
        for margin, noise_of_one, place, others in (
            (stops, of_stops, places[0], len(self.times)),
            (times, of_times, places[1], len(self.stops)),
        ):
            value, variance = margin, noise_of_one
            if self._has_all_pairs:
                summed = np.bincount(place, cells, len(margin))
                noise = others * of_cells
                value = (value / variance + summed / noise) / (1 / variance + 1 / noise)
                variance = 1 / (1 / variance + 1 / noise)
            merged.append((value, variance))
        return merged

    @property
    def _has_all_pairs(self) -> bool:
        return len(self.counts) == len(self.stops) * len(self.times)

    @cached_property
    def _believed(self) -> list[tuple[Floats, float]]:
        """The cells of the three histograms, as far as earlier releases go along with them, and the mean variance."""
        return believe_cells([*self.earlier, self._own])

    @property
    def _own(self) -> EarlierCounts:
        """Return what it measured itself, as a week among weeks."""
        counts = self.stops, self.times, self.counts
        return EarlierCounts.whole(counts, self.scales, gaussian=self.gaussian)

    def consistent(self) -> Floats:
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
        cells = onto_total(self._believed[2][0], self.total) + trace
        cells = fit_sums(cells, [Sums(stop, margins[0]), Sums(bin_, margins[1])], ROUNDS)
        have = cells.sum()
        return cells * (self.total / have) if have > 0 else cells

    def taps(self) -> float:
        """Return how many there are."""
        return self.total

    def estimate(self, question: Question, trips: Trips) -> Estimate | None:
        """Numbers of taps straight from the noisy counts; which tap follows which was not counted."""
        return self._estimate(question) if isinstance(question, Visits) else None

    def alone(self) -> "TapTable":
        """Its own noisy counts, whatever earlier releases told."""
        return replace(self, earlier=())

    def _estimate(self, question: Visits) -> Estimate | None:
        earlier = [self._histograms(week, np.arange(len(week.counts[2]))) for week in self.earlier]
        return estimate_visits(self.histograms(), question, self.world, earlier)

    def histograms(self) -> list[CellCounts]:
        """The noisy histograms of which sums of all cells are known."""
        return self._histograms(self._own, self.keys)

    def _histograms(self, week: EarlierCounts, pairs: Ints) -> list[CellCounts]:
        hours = hour_of_bins(self.bins)
        stop, bin_ = np.divmod(pairs, self.bins.count)
        sides: list[dict[Key, Ints]] = [{"stop": np.arange(self.world.size)}, {}, {"stop": stop}]
        if hours is not None:
            sides[1]["hour"], sides[2]["hour"] = hours, hours[bin_]
        weekdays = weekday_of_bins(self.bins)
        if weekdays is not None:
            sides[1]["weekday"], sides[2]["weekday"] = weekdays, weekdays[bin_]
        found = [week.cells(at, keys) for at, keys in enumerate(sides)]
        # Where cells below a threshold are missing, their sums are not known.
        return found if len(week.counts[2]) == self.world.size * self.bins.count else found[:2]

    def as_earlier(self, world: World) -> EarlierCounts:
        """Its own counts on the stops of this or another version of its world, by stop id."""
        bins = self.bins.count
        stop = (
            np.arange(world.size)
            if world.ids is self.world.ids
            else find_places(world.ids.tolist(), self.world.ids.tolist())
        )
        pair = np.where(stop[:, None] >= 0, stop[:, None] * bins + np.arange(bins), -1).ravel()
        if len(self.counts) < self.world.size * bins:
            pair = np.full(len(pair), -1)
        counts, places = (self.stops, self.times, self.counts), (stop, np.arange(bins), pair)
        return EarlierCounts.at(counts, self.scales, places, gaussian=self.gaussian)

    def generate(self, seed: int | None = None) -> Trips:
        """One trip with one visit per tap."""
        rng = np.random.default_rng(seed)
        pairs, expected = self.keys, self.consistent()
        if len(pairs) == 0:
            stops, times = self.margins()
            expected = np.outer(stops, times).ravel() / max(self.total, 1.0)
            pairs = np.arange(len(expected))
        location, bin_ = np.divmod(np.repeat(pairs, round_keeping_total(expected, rng)), self.bins.count)
        offsets = np.arange(len(location) + 1, dtype=np.int64)
        return timed_trips(self.world, self.bins, location.astype(np.int32), bin_, offsets, rng)

    def table(self) -> pl.DataFrame:
        """All three histograms: rows without a time bin are stops, rows without a stop are time bins."""
        names, labels = self.world.ids, np.array(self.bins.labels)
        per_stop, per_time = self.margins()
        stop, bin_ = np.divmod(self.keys, self.bins.count)

        def part(stops: list[str | None], times: list[str | None], noisy: Ints, fit: Floats) -> pl.DataFrame:
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
