"""Taps, and riders who make them, drawn from noisy counts by stop, route and time. Never sees data."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats
from wayveil.synthesis.cell_counts import CellCounts, estimate_visits
from wayveil.synthesis.estimates import Estimate, Key, Question, Visits
from wayveil.synthesis.fitting import Sums, fit_sums
from wayveil.synthesis.model import Model
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.taps.boardings import HOURS, TapCells
from wayveil.taps.chains import Period
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR

# A cell that noise pushed to zero in one histogram may hold taps in another; a trace of what its stop, route and hour
# let expect keeps it open.
TRACE = 1e-3
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class TapModel(Model):
    """Three noisy histograms (`cells.margins()`) with the scales of their noise, and what can be drawn from them.

    rules, period   how riders are made of the drawn taps, and whether a trip is a rider's day or week. Without rules
                    every drawn tap is a trip of its own
    """

    cells: TapCells
    noisy: tuple[NDArray[np.int64], ...]
    scales: tuple[Fraction, ...]
    rules: RiderRules | None = None
    period: Period = "day"

    @cached_property
    def _sides(self) -> tuple[dict[Key, NDArray[np.int64]], ...]:
        """For each histogram, which stop, route and hour of the day its cells belong to, as far as they tell."""
        hour = np.arange(self.cells.slots) % HOURS
        routes, stops = len(self.cells.route_ids), self.cells.places.size
        return (
            {"stop": self.cells.stop, "route": self.cells.route},
            {"route": np.repeat(np.arange(routes), len(hour)), "hour": np.tile(hour, routes)},
            {"stop": np.repeat(np.arange(stops), HOURS), "hour": np.tile(np.arange(HOURS), stops)},
        )

    def total(self) -> float:
        """Whole taps in all: the three sums, weighted by how little noise each has."""
        variance = [
            len(cells) * float(scale) ** 2 for cells, scale in zip(self.noisy, self.scales, strict=True)
        ]
        weight = 1 / np.array(variance)
        sums = [cells.sum() for cells in self.noisy]
        return max(float(np.rint(np.dot(weight, sums) / weight.sum())), 1.0)

    def taps(self) -> float:
        """How many there are."""
        return self.total()

    def estimate(self, question: Question, trips: Trips) -> Estimate | None:
        """Numbers of taps straight from the noisy counts; which tap follows which was not counted."""
        if not isinstance(question, Visits):
            return None
        known = len(self.cells.route_ids) - 1  # the last route is the unknown one, which nobody asks for
        histograms = [
            CellCounts(
                {key: np.where(at < known, at, -1) if key == "route" else at for key, at in sides.items()},
                cells,
                float(scale),
            )
            for sides, cells, scale in zip(self._sides, self.noisy, self.scales, strict=True)
        ]
        return estimate_visits(histograms, question, self.cells.places)

    def agreed(self, side: Key) -> Floats:
        """Taps per `stop`, `route` or `hour`, not negative: two histograms tell each, weighted by their noise."""
        size = {"stop": self.cells.places.size, "route": len(self.cells.route_ids), "hour": HOURS}[side]
        value, weight = np.zeros(size), np.zeros(size)
        for sides, cells, scale in zip(self._sides, self.noisy, self.scales, strict=True):
            if side in sides:
                many = np.bincount(sides[side], minlength=size)
                precision = 1 / (np.maximum(many, 1) * float(scale) ** 2) * (many > 0)
                value += precision * np.bincount(sides[side], cells, size)
                weight += precision
        return onto_total(value / weight, self.total())

    def expected(self, rounds: int = ROUNDS) -> Floats:
        """Taps by place to board (rows) and hour of the period (columns): the table that fits all three.

        Each histogram is first brought to what all agree on for stops, routes and hours. Fitted as they are, they
        would contradict each other, and whichever came last would move the sums of the others by more than the noise.
        """
        total = self.total()
        agreed = {side: self.agreed(side) for side in ("stop", "route", "hour")}
        goals = []
        for sides, noisy in zip(self._sides, self.noisy, strict=True):
            even = np.prod([agreed[side][index] / total for side, index in sides.items()], axis=0)
            start = onto_total(noisy, total) + TRACE * total * even
            goals.append(fit_sums(start, [Sums(sides[side], agreed[side]) for side in sides], rounds))
        size, slots = self.cells.world.size, np.arange(self.cells.slots)
        pairs, by_route, by_stop = (
            Sums((margin.code[:, None] * margin.slots + slots % margin.slots).ravel(), goal)
            for margin, goal in zip(self.cells.margins(), goals, strict=True)
        )
        table = np.full(size * len(slots), total / (size * len(slots)))
        return fit_sums(table, [by_stop, by_route, pairs], rounds).reshape(size, -1)

    def draw_taps(self, seed: int | None = None) -> Taps:
        """Whole taps from the fitted table, at random seconds of their hours."""
        rng = np.random.default_rng(seed)
        table = self.expected()
        copies = round_keeping_total(table.ravel(), rng)
        place, slot = np.divmod(np.repeat(np.arange(table.size), copies), table.shape[1])
        time = self.cells.first * DAY + slot * HOUR + rng.integers(0, HOUR, len(slot))
        unknown = len(self.cells.route_ids) - 1
        route = self.cells.route[place]
        return Taps(
            self.cells.stop[place].astype(np.int32),
            time,
            self.cells.places,
            route=np.where(route == unknown, -1, route).astype(np.int32),
        )

    def generate(self, seed: int | None = None) -> Trips:
        """Riders' days or weeks, or single taps."""
        taps = self.draw_taps(seed)
        if self.rules is None:
            return taps.as_single_visits()
        made = reconstruct_riders(taps, self.rules, seed=0 if seed is None else seed)
        return made.trips(self.period)

    def table(self) -> pl.DataFrame:
        """One row per cell of each histogram: what it counts (empty: everything), noisy count, the noise's scale."""
        ids = pl.Series(self.cells.places.ids.tolist(), dtype=pl.String)
        routes = pl.Series(self.cells.route_ids, dtype=pl.String)
        pairs, by_route, by_stop = self.cells.margins()
        parts = []
        for margin, counts, scale in zip(self.cells.margins(), self.noisy, self.scales, strict=True):
            code, slot = np.divmod(np.arange(len(counts)), margin.slots)
            columns: dict[str, pl.Series] = {}
            if margin.label == pairs.label:
                columns["stop_id"] = ids.gather(self.cells.stop[code])
                columns["route_id"] = routes.gather(self.cells.route[code])
            elif margin.label == by_route.label:
                columns["route_id"] = routes.gather(code)
                columns["day"] = pl.Series(self.cells.first + slot // HOURS)
                columns["hour"] = pl.Series(slot % HOURS)
            elif margin.label == by_stop.label:
                columns["stop_id"] = ids.gather(code)
                columns["hour"] = pl.Series(slot)
            rows = pl.DataFrame(
                columns | {"noisy_count": pl.Series(counts, dtype=pl.Int64)}, schema_overrides=_SCHEMA
            )
            parts.append(rows.with_columns(margin=pl.lit(margin.label), scale=pl.lit(float(scale))))
        order = ["margin", *_SCHEMA, "noisy_count", "scale"]
        return pl.concat(parts, how="diagonal").select(order)


_SCHEMA = {"stop_id": pl.String, "route_id": pl.String, "day": pl.Int64, "hour": pl.Int64}
