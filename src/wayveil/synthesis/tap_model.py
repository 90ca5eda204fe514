"""Taps, and riders who make them, drawn from noisy counts by stop, route and time. Never sees data."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.cell_counts import (
    CellCounts,
    EarlierCounts,
    believe_cells,
    estimate_visits,
    find_places,
)
from wayveil.synthesis.estimates import Estimate, Key, Question, Visits, weekday_of
from wayveil.synthesis.model import Model
from wayveil.synthesis.projection import Sums, fit_sums, onto_total, round_keeping_total
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.boardings import HOURS, TapCells
from wayveil.taps.chains import Period
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

# A cell that noise pushed to zero in one histogram may hold taps in another; a trace of what its stop, route and hour
# let expect keeps it open.
TRACE = 1e-3
ROUNDS = 30
# What two histograms tell.
AGREED: Final[tuple[Key, ...]] = ("stop", "route", "hour")


@dataclass(frozen=True, eq=False)
class TapModel(Model):
    """Three noisy histograms (`cells.margins()`) with the scales of their noise, and what can be drawn from them.

    rules, period   how riders are made of the drawn taps, and whether a trip is a rider's day or week. Without rules
                    every drawn tap is a trip of its own
    earlier         the same histograms of earlier releases, the oldest first, which the numbers follow
    gaussian        whether the noise is Gaussian, and scales are its variances
    """

    cells: TapCells
    noisy: tuple[Ints, ...]
    scales: tuple[Fraction, ...]
    rules: RiderRules | None = None
    period: Period = "day"
    earlier: tuple[EarlierCounts, ...] = ()
    gaussian: bool = False

    @property
    def world(self) -> World:  # type: ignore[override]
        """The public places of the taps."""
        return self.cells.places

    @cached_property
    def _sides(self) -> tuple[dict[Key, Ints], ...]:
        """For each histogram, which stop, route and time its cells belong to, as far as they tell."""
        slot = np.arange(self.cells.slots)
        hour, day = slot % HOURS, self.cells.first + slot // HOURS
        routes, stops = len(self.cells.route_ids), self.cells.places.size
        return (
            {"stop": self.cells.stop, "route": self.cells.route},
            {
                "route": np.repeat(np.arange(routes), len(slot)),
                "hour": np.tile(hour, routes),
                "day": np.tile(day, routes),
                "weekday": np.tile(weekday_of(day), routes),
            },
            {"stop": np.repeat(np.arange(stops), HOURS), "hour": np.tile(np.arange(HOURS), stops)},
        )

    @cached_property
    def _believed(self) -> list[tuple[Floats, float]]:
        """The cells of the histograms, as far as earlier releases go along with them, and the mean variance."""
        return believe_cells([*self.earlier, self._own])

    @property
    def _own(self) -> EarlierCounts:
        """Return what it measured itself, as a week among weeks."""
        return EarlierCounts.whole(self.noisy, self.scales, gaussian=self.gaussian)

    def total(self) -> float:
        """Whole taps in all: the three sums, weighted by how little noise each has."""
        known = self._estimate(Visits())
        assert known is not None  # every histogram tells it
        return max(float(np.rint(known.values[0])), 1.0)

    def taps(self) -> float:
        """Return how many there are."""
        return self.total()

    def days(self) -> Ints:
        """The days that were counted, since 1970: a public period."""
        return self.cells.first + np.arange(self.cells.days)

    def estimate(self, question: Question, trips: Trips) -> Estimate | None:
        """Numbers of taps straight from the noisy counts; which tap follows which was not counted."""
        return self._estimate(question) if isinstance(question, Visits) else None

    def _estimate(self, question: Visits) -> Estimate | None:
        earlier = [self._histograms(week) for week in self.earlier]
        return estimate_visits(self.histograms(), question, self.cells.places, earlier)

    def alone(self) -> "TapModel":
        """Its own noisy counts, whatever earlier releases told."""
        return replace(self, earlier=())

    def histograms(self) -> list[CellCounts]:
        """The three noisy histograms."""
        return self._histograms(self._own)

    def _histograms(self, week: EarlierCounts) -> list[CellCounts]:
        known = len(self.cells.route_ids) - 1  # the last route is the unknown one, which nobody asks for
        return [
            week.cells(
                at,
                {
                    key: np.where(code < known, code, -1) if key == "route" else code
                    for key, code in sides.items()
                },
            )
            for at, sides in enumerate(self._sides)
        ]

    def as_earlier(self, cells: TapCells) -> EarlierCounts:
        """Its own counts on the stops and routes of this or another version of its feed, by their ids."""
        stop = find_places(cells.places.ids.tolist(), self.cells.places.ids.tolist())
        route = find_places(cells.route_ids, self.cells.route_ids)
        routes = len(self.cells.route_ids)
        both = (stop[cells.stop] >= 0) & (route[cells.route] >= 0)
        mine = self.cells.stop * routes + self.cells.route  # ascending, as pairs are
        wanted = np.where(both, stop[cells.stop] * routes + route[cells.route], -1)
        at = np.minimum(np.searchsorted(mine, wanted), len(mine) - 1)
        pair = np.where(both & (mine[at] == wanted), at, -1)
        by_route = np.where(route[:, None] >= 0, route[:, None] * cells.slots + np.arange(cells.slots), -1)
        by_stop = np.where(stop[:, None] >= 0, stop[:, None] * HOURS + np.arange(HOURS), -1)
        places = pair, by_route.ravel(), by_stop.ravel()
        return EarlierCounts.at(self.noisy, self.scales, places, gaussian=self.gaussian)

    def agreed(self, side: Key) -> Floats:
        """Taps per `stop`, `route` or `hour`, not negative: two histograms tell each, weighted by their noise."""
        size = {"stop": self.cells.places.size, "route": len(self.cells.route_ids), "hour": HOURS}[side]
        value, weight = np.zeros(size), np.zeros(size)
        for sides, (cells, variance) in zip(self._sides, self._believed, strict=True):
            if side in sides:
                many = np.bincount(sides[side], minlength=size)
                precision = 1 / (np.maximum(many, 1) * variance) * (many > 0)
                value += precision * np.bincount(sides[side], cells, size)
                weight += precision
        return onto_total(value / weight, self.total())

    def expected(self, rounds: int = ROUNDS) -> Floats:
        """Taps by place to board (rows) and hour of the period (columns): the table that fits all three.

        Each histogram is first brought to what all agree on for stops, routes and hours. Fitted as they are, they
        would contradict each other, and whichever came last would move the sums of the others by more than the noise.
        """
        total = self.total()
        agreed: dict[Key, Floats] = {side: self.agreed(side) for side in AGREED}
        goals = []
        for sides, (noisy, _) in zip(self._sides, self._believed, strict=True):
            told = {side: index for side, index in sides.items() if side in agreed}
            even = np.prod([agreed[side][index] / total for side, index in told.items()], axis=0)
            start = onto_total(noisy, total) + TRACE * total * even
            goals.append(fit_sums(start, [Sums(told[side], agreed[side]) for side in told], rounds))
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
