"""Taps, and riders who make them, drawn from noisy counts by stop, route and time. Never sees data."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.simulate.riders import reconstruct_riders
from wayveil.simulate.roles import RiderRules
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.taps.boardings import HOURS, TapCells
from wayveil.taps.chains import Period
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR

Floats = NDArray[np.float64]
# A cell that noise pushed to zero in one histogram may hold taps in another; a trace everywhere lets all be met.
EVEN = 0.001


@dataclass(frozen=True, eq=False)
class TapModel:
    """Three noisy histograms (`cells.margins()`) with the scales of their noise, and what can be drawn from them.

    rules, period   how riders are made of the drawn taps, and whether a trip is a rider's day or week. Without rules
                    every drawn tap is a trip of its own
    """

    cells: TapCells
    noisy: tuple[NDArray[np.int64], ...]
    scales: tuple[Fraction, ...]
    rules: RiderRules | None = None
    period: Period = "day"

    def total(self) -> float:
        """Taps in all: the three sums, weighted by how little noise each has."""
        variance = [
            len(cells) * float(scale) ** 2 for cells, scale in zip(self.noisy, self.scales, strict=True)
        ]
        weight = 1 / np.array(variance)
        return max(float(np.dot(weight, [cells.sum() for cells in self.noisy]) / weight.sum()), 1.0)

    def expected(self, rounds: int = 12) -> Floats:
        """Taps by place to board (rows) and hour of the period (columns): the table that fits all three."""
        size, slots, total = self.cells.world.size, self.cells.slots, self.total()
        margins = self.cells.margins()
        goals = [onto_total(self.noisy[0], total), self._by_hour(total), onto_total(self.noisy[2], total)]
        goals[1:] = [(1 - EVEN) * goal + EVEN * total / len(goal) for goal in goals[1:]]
        table = np.full((size, slots), total / (size * slots))
        # Stop and hour together are many thin cells, mostly noise: they only shape the start. The other two are fitted
        # in turn; they contradict each other a little, and the last one, stops and routes, is met exactly.
        for which in [2, *[1, 0] * rounds]:
            margin, goal = margins[which], goals[which]
            cell = margin.code[:, None] * margin.slots + np.arange(slots)[None] % margin.slots
            now = np.bincount(cell.ravel(), table.ravel(), margin.cells)
            table *= np.divide(goal, now, out=np.zeros_like(goal), where=now > 0)[cell]
        return table

    def _by_hour(self, total: float) -> Floats:
        """Route, day and hour without negative cells, hour by hour, so that quiet hours do not keep noise as taps."""
        noisy = self.noisy[1].reshape(-1, HOURS)
        hours = [onto_total(noisy[:, hour], float(noisy[:, hour].sum())) for hour in range(HOURS)]
        goal = np.column_stack(hours).ravel()
        return goal * (total / goal.sum()) if goal.sum() > 0 else np.full(len(goal), total / len(goal))

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
