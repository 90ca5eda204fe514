"""Event-level noisy counts of taps by stop, route and time, and taps and riders drawn from them.

Guarantee
    epsilon-differential privacy for the unit `event`: one tap more or less.
    Reason: one tap adds one to one cell of each of three histograms over public cells (stop and route; route, day and
    hour; stop and hour of day). Each is noised over all its cells and paid with its share of epsilon. Fitting a table
    to the three, drawing taps from it and giving those taps to riders never sees the data.
    Attacked by tests/releases/test_tap_release.py.

Somebody who taps k times is protected with k times epsilon.
"""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from wayveil.counting.protocol import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Contribution, Points, Window
from wayveil.simulate.riders import reconstruct_riders
from wayveil.simulate.roles import RiderRules
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.taps.chains import Period
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

Floats = NDArray[np.float64]
HOURS = 24
# A cell that noise pushed to zero in one histogram may hold taps in another; a trace everywhere lets all be met.
EVEN = 0.001


class Boardings(World):
    """The public places to board: every stop with every route that serves it, and with no known route.

    A derived world whose locations are pairs, so that taps with routes can be counted like any visits.
    """

    def __init__(self, network: Network) -> None:
        routes = len(network.route_ids)
        edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
        ends = np.concatenate([network.sources[edge], network.indices[edge]]).astype(np.int64)
        served = ends * (routes + 1) + np.concatenate([network.route, network.route])
        unknown = np.arange(network.size, dtype=np.int64) * (routes + 1) + routes
        self.pairs = np.unique(np.concatenate([served, unknown]))
        self.network = network
        self.stop, self.route = np.divmod(self.pairs, routes + 1)
        super().__init__([f"{pair:012d}" for pair in self.pairs.tolist()])

    def of(self, taps: Taps) -> Trips:
        """Every tap as a trip of one visit. A route that does not serve the stop counts as unknown."""
        routes = len(self.network.route_ids)
        route = (
            np.full(len(taps), routes) if taps.route is None else np.where(taps.route < 0, routes, taps.route)
        )
        stop = taps.location.astype(np.int64) * (routes + 1)
        at = np.searchsorted(self.pairs, stop + route)
        found = self.pairs[np.minimum(at, len(self.pairs) - 1)] == stop + route
        at = np.where(found, at, np.searchsorted(self.pairs, stop + routes))
        return Trips(at.astype(np.int32), np.arange(len(taps) + 1), self, taps.time)

    def _public_arrays(self) -> list[NDArray[np.generic]]:
        return [self.pairs, *self.network._public_arrays()]

    def describe(self) -> dict[str, object]:
        return {**self.network.describe(), "stop and route pairs": self.size}


class TapMargins(Mechanism):
    """Noisy taps by stop and route, by route, day and hour, and by stop and hour of day.

    first_day, days   the public period; taps outside are not counted
    shares            of epsilon for the three histograms
    rules, period     how riders are made of the drawn taps, and whether a trip is a rider's day or week
    riders            false: release the drawn taps as they are, each a trip of its own
    """

    name: ClassVar[str] = "tap-margins"
    summary: ClassVar[str] = (
        "noisy numbers of taps by stop, route and time, and riders made from taps drawn from them"
    )

    first_day: date
    days: int = Field(ge=1, le=400)
    shares: tuple[Fraction, Fraction, Fraction] = (Fraction(2, 5), Fraction(3, 10), Fraction(3, 10))
    rules: RiderRules = RiderRules()
    period: Period = "day"
    riders: bool = True

    def measure(self, counter: Counter, gate: Gate) -> "TapModel":
        world = counter.world
        if not isinstance(world, Boardings):
            raise ParameterError("tap-margins counts taps with their routes; use release_taps")
        if not isinstance(gate.unit, Points | Window):
            raise ParameterError("tap-margins protects taps, not whole riders; use the unit `event`")
        first = (self.first_day - date(1970, 1, 1)).days
        margins = _margins(world, first, self.days)
        noisy = []
        for margin, price in zip(margins, gate.budget.split(list(self.shares)), strict=True):
            exact = counter.visits(margin, margin.cells, None)
            noisy.append(gate.histogram(margin.label, exact, Contribution(per_trip=1, per_visit=1), price))
        scales = tuple(answer.question.scale for answer in noisy)
        return TapModel(world, first, self, tuple(answer.counts for answer in noisy), scales)


@dataclass(frozen=True)
class _Margin:
    """One histogram: `code` of each pair, times `slots` moments, of which `slot` tells the one of a time."""

    label: str
    code: NDArray[np.int64]
    slots: int
    first: int
    days: int
    width = 1

    @property
    def cells(self) -> int:
        return (int(self.code.max()) + 1) * self.slots

    def slot(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        day, second = np.divmod(time, DAY)
        slot = (day - self.first) * HOURS + second // HOUR
        return np.where((slot >= 0) & (slot < self.days * HOURS), slot % self.slots, -1)

    def encode(self, location: NDArray[np.int32], time: NDArray[np.int64] | None) -> list[NDArray[np.int32]]:
        if time is None:
            raise ParameterError("taps need times")
        slot = self.slot(time)
        return [np.where(slot < 0, -1, self.code[location] * self.slots + slot).astype(np.int32)]


def _margins(world: Boardings, first: int, days: int) -> tuple[_Margin, _Margin, _Margin]:
    return (
        _Margin("taps by stop and route", np.arange(world.size), 1, first, days),
        _Margin("taps by route, day and hour", world.route.astype(np.int64), days * HOURS, first, days),
        _Margin("taps by stop and hour of day", world.stop.astype(np.int64), HOURS, first, days),
    )


@dataclass(frozen=True, eq=False)
class TapModel:
    """Three noisy histograms, and what can be drawn from them."""

    world: Boardings
    first: int
    settings: TapMargins
    noisy: tuple[NDArray[np.int64], ...]
    scales: tuple[Fraction, ...]

    def total(self) -> float:
        """Taps in all: the three sums, weighted by how little noise each has."""
        variance = [
            len(cells) * float(scale) ** 2 for cells, scale in zip(self.noisy, self.scales, strict=True)
        ]
        weight = 1 / np.array(variance)
        return max(float(np.dot(weight, [cells.sum() for cells in self.noisy]) / weight.sum()), 1.0)

    def expected(self, rounds: int = 12) -> Floats:
        """Taps by pair (rows) and hour of the period (columns): the table that fits all three, proportionally."""
        slots, total = self.settings.days * HOURS, self.total()
        margins = _margins(self.world, self.first, self.settings.days)
        goals = [onto_total(self.noisy[0], total), self._by_hour(total), onto_total(self.noisy[2], total)]
        goals[1:] = [(1 - EVEN) * goal + EVEN * total / len(goal) for goal in goals[1:]]
        table = np.full((self.world.size, slots), total / (self.world.size * slots))
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
        pair, slot = np.divmod(np.repeat(np.arange(table.size), copies), table.shape[1])
        time = self.first * DAY + slot * HOUR + rng.integers(0, HOUR, len(slot))
        routes = len(self.world.network.route_ids)
        route = np.where(self.world.route[pair] == routes, -1, self.world.route[pair]).astype(np.int32)
        return Taps(self.world.stop[pair].astype(np.int32), time, self.world.network, route=route)

    def generate(self, seed: int | None = None) -> Trips:
        taps = self.draw_taps(seed)
        if not self.settings.riders:
            return taps.as_single_visits()
        made = reconstruct_riders(taps, self.settings.rules, seed=0 if seed is None else seed)
        return made.trips(self.settings.period)

    def table(self) -> pl.DataFrame:
        """One row per cell of each histogram: which it is, noisy count, and the noise's scale."""
        network, days = self.world.network, self.settings.days
        ids = pl.Series(network.ids.tolist(), dtype=pl.String)
        routes = pl.Series([*network.route_ids.tolist(), None], dtype=pl.String)
        rows = []
        for margin, counts, scale in zip(
            _margins(self.world, self.first, days), self.noisy, self.scales, strict=True
        ):
            code, slot = np.divmod(np.arange(len(counts)), margin.slots)
            none = pl.Series([None] * len(counts), dtype=pl.String)
            by_pair, by_route = margin.slots == 1, margin.label.startswith("taps by route")
            stop = ids.gather(self.world.stop[code] if by_pair else code) if not by_route else none
            route = (
                routes.gather(self.world.route[code] if by_pair else code) if by_pair or by_route else none
            )
            rows.append(
                pl.DataFrame(
                    {
                        "margin": pl.Series([margin.label] * len(counts), dtype=pl.String),
                        "stop_id": stop,
                        "route_id": route,
                        "day": pl.Series(
                            self.first + slot // HOURS if by_route else np.full(len(counts), -1)
                        ),
                        "hour": pl.Series(np.full(len(counts), -1) if by_pair else slot % HOURS),
                        "noisy_count": pl.Series(counts, dtype=pl.Int64),
                        "scale": pl.Series(np.full(len(counts), float(scale))),
                    }
                )
            )
        return pl.concat(rows)
