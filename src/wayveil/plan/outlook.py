"""Expected accuracy of a release, before there is one: simulated riders, public facts, the law of noise.

No row is read. Riders are simulated on the public network, as many as somebody says there are. A question that is
counted cell by cell has the noise that its price buys, so its errors follow from the law. One that is answered by whole
trips alone is asked of simulated releases of the simulated riders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from wayveil.accuracy.posterior import clear_from
from wayveil.arrays import Floats, Ints
from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.mechanisms.all_rows import expect_size, measure, size_share
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import visit_contribution
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.settings import BLOCKS_OF
from wayveil.plan.need_cells import HOURS, count_cells
from wayveil.plan.needs import Need
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Rider, Unit
from wayveil.privacy.weights import Size
from wayveil.progress import step
from wayveil.simulate.crowd import Crowd
from wayveil.trips.trips import Trips
from wayveil.world.world import World
from wayveil.world.zones import Geography

TRIES = 200
# Epsilons at which releases are simulated; between them errors are interpolated.
SIMULATED = (0.3, 1.0, 3.0)
# Blocks of Weave that count a question cell by cell.
COUNTED_BY = {
    "total": "trips",
    "boardings": "origin",
    "alightings": "destination",
    "hours": "hour",
    "districts": "district pair",
}
ONE = Contribution(per_trip=1)
# How much stronger than the weakest release that Weave makes the data should be.
SURELY = 1.5
# What the rides of a rider may count as together, where all of them count by weights.
BOUNDS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True)
class Outlook:
    """Errors to expect of a need at an epsilon.

    median, worst  relative error of the typical and of the worst cell asked for, in a typical try
    met            share of tries in which the typical cell is exact enough; None: simulated once
    found          of the truly busiest cells, how many are among the busiest shown; None: no list is asked for
    """

    need: Need
    epsilon: float
    median: float
    worst: float
    met: float | None
    found: float | None

    @property
    def suffices(self) -> bool:
        """Tell that the need is met in nine of ten tries, or, if simulated once, with a tenth to spare."""
        return self.met >= 0.9 if self.met is not None else self.median <= 0.9 * self.need.within

    @property
    def is_noise(self) -> bool:
        """Tell that the typical answer is off by more than half."""
        return self.median > 0.5


@dataclass(frozen=True, eq=False)
class Forecast:
    """A world, its simulated riders, and how a release would count them.

    timed      rides have times
    districts  by need, the district of each place where a file says it
    like       another forecast whose simulated releases stand for those of this one
    """

    world: World
    crowd: Crowd
    mechanism: Mechanism
    unit: Unit
    timed: bool = True
    districts: Mapping[str, Ints] | None = None
    like: "Forecast | None" = None

    def serving(self, parts: Mapping[str, Fraction]) -> "Forecast":
        """Return it with the budget shared otherwise."""
        kept = ("max_visits", "first_day", "days", "districts")
        fixed = {name: getattr(self.mechanism, name) for name in kept if hasattr(self.mechanism, name)}
        return replace(self, mechanism=type(self.mechanism)(**fixed).serving(parts), like=self.like or self)

    def bounded(self, bound: int) -> "Forecast":
        """Return it with this bound on what a rider counts as."""
        assert isinstance(self.unit, Rider)
        return replace(self, unit=replace(self.unit, max_trips=bound), like=self.like or self)

    def with_rides(self, rides: int) -> "Forecast":
        """Return it with another number of rides by the same kind of riders."""
        return replace(self, crowd=replace(self.crowd, rides=rides), like=self.like or self)

    def with_best_bound(self, needs: Sequence[Need], epsilon: float) -> "Forecast":
        """Return it with the bound at which the needs that are counted cell by cell are least off.

        The cells asked for gain from a large bound, all others from a small one. Both are off by so many times what
        they are at their own best bound: that is chosen at which the larger of these is least.
        """
        counted = [need for need in needs if need.question in self.scales(epsilon)]
        if not counted:
            return self

        def off(told: "Forecast") -> list[float]:
            scales, found = told.scales(epsilon), []
            for need in counted:
                if need.question not in scales:  # so much noise that it is not asked for
                    return [inf] * 2 * len(counted)
                truth, shown = told._try(need, epsilon, scales)
                guess = told._guess(truth, shown, scales[need.question])
                everywhere = np.abs(guess - truth).mean(axis=0).sum() / max(truth.sum(), 1.0)
                found += [_judge(need, epsilon, truth, shown).median, float(everywhere)]
            return found

        tried = [self.bounded(bound) for bound in BOUNDS]
        errors = np.maximum([off(told) for told in tried], 1e-9)
        return tried[int(np.argmin((errors / errors.min(axis=0)).max(axis=1)))]

    @property
    def bound(self) -> int | None:
        """Return what the rides of a rider count as at most; None: each ride is protected by itself."""
        return self.unit.max_trips if isinstance(self.unit, Rider) else None

    @cached_property
    def _weight(self) -> Floats:
        return self.crowd.weigh(self.bound)

    @property
    def stands_for(self) -> float:
        """Rides that each counted one stands for."""
        return float(len(self._weight) / max(self._weight.sum(), 1.0))

    def at(self, needs: Sequence[Need], epsilon: float) -> list[Outlook]:
        """Return what to expect of needs at an epsilon."""
        if self.refuses(epsilon):
            return [
                Outlook(need, epsilon, 1.0, 1.0, 0.0, None if need.top is None else 0.0) for need in needs
            ]
        scales = self.scales(epsilon)
        return [
            self._woven(need, epsilon)
            if scales.get(need.question) is None
            else self._by_law(need, epsilon, scales)
            for need in needs
        ]

    def refuses(self, epsilon: float) -> bool:
        """Tell that Weave would surely or perhaps refuse so weak a signal."""
        if not isinstance(self.mechanism, Weave):
            return False
        signal = self.crowd.rides / self.stands_for / (self.bound or 1) * epsilon
        return signal < SURELY * self.mechanism.least_signal(self.world)

    def scales(self, epsilon: float) -> dict[str, float]:
        """Laplace scale of the noise of each question that is counted cell by cell, in rides as they are shown."""
        price, size = Fraction(epsilon).limit_denominator(10_000), self._size(epsilon)
        price *= 1 if size is None else 1 - size_share(self.mechanism, self.world, self.unit)
        woven = isinstance(self.mechanism, Weave)
        found = self._woven_prices(price) if woven else self._tap_prices(price)
        taps = isinstance(self.mechanism, TapCounts | TapMargins)
        bound = None if isinstance(self.unit, Event) else 1
        each = visit_contribution(self.mechanism.name, self.unit, bound) if taps else ONE
        reach = float(self.unit.sensitivity(each).l1) * (1 if size is None else self.stands_for)
        scales = {name: reach / float(price) for name, price in found.items() if price > 0}
        if woven and size is not None:  # its total is the number of all rides
            scales["total"] = (size.rows_variance / 2) ** 0.5
        return scales

    def _size(self, epsilon: float) -> Size | None:
        """The number of all rides as it would be bought, where rides are weighed."""
        if not isinstance(self.unit, Rider) or not self.unit.weighs:
            return None
        rides = float(self.crowd.rides)
        price = epsilon * float(size_share(self.mechanism, self.world, self.unit))
        return expect_size(self.unit, rides, rides / self.stands_for, price)

    def _woven_prices(self, price: Fraction) -> dict[str, Fraction]:
        assert isinstance(self.mechanism, Weave)
        first = price * self.mechanism.shares.needed.get("trips", Fraction(4, 100)) * (not self.unit.weighs)
        counted = max(int(self.crowd.rides / self.stands_for), 10)
        gate = Gate(self.unit, Budget(price - first))
        prices, _ = self.mechanism.plan_questions(
            gate, _geography_of(self.world), HOURS * self.timed, counted
        )
        found = {name: prices[block] for name, block in COUNTED_BY.items() if block in prices}
        return {**found, "total": first}

    def _tap_prices(self, price: Fraction) -> dict[str, Fraction]:
        made = self.mechanism
        if isinstance(made, TapMargins):
            stops, routes, both = made.shares
            # Hours of all days are sums over the days, whose noise adds up.
            days = Fraction(max(made.days or 1, 1) ** 0.5).limit_denominator(100)
            shares = {
                "boardings": stops,
                "routes": stops,
                "hours": routes / days,
                "route-hours": routes / days,
            }
            shares |= {
                "stop-hours": both,
                "total": max(stops / _root(2 * self.world.size), routes / _root(24)),
            }
        elif isinstance(made, TapCounts):
            both = 1 - made.stops_share - made.times_share
            shares = {"boardings": made.stops_share, "hours": made.times_share, "stop-hours": both}
            shares["total"] = max(made.stops_share / _root(self.world.size), made.times_share / _root(HOURS))
        else:
            return {}
        return {name: share * price for name, share in shares.items()}

    def _by_law(self, need: Need, epsilon: float, scales: Mapping[str, float]) -> Outlook:
        return _judge(need, epsilon, *self._try(need, epsilon, scales), self.crowd.unsure)

    def _try(
        self, need: Need, epsilon: float, scales: Mapping[str, float]
    ) -> tuple[Floats, NDArray[np.float64]]:
        """The true numbers, and many tries of what would be shown, by the law of the noise and of the bounding.

        A place of riders with many rides shows fewer of them, drawn or weighed: that is in the errors too.
        """
        size, rng, districts = self._size(epsilon), np.random.default_rng(0), self._districts(need)
        counts = [count_cells(need, self.crowd.trips, districts, each) for each in (None, self._weight)]
        truth, counted = (each * self.crowd.scale for each in counts)
        shape, scale = (TRIES, len(truth)), scales[need.question] * (2**0.5 if need.change else 1.0)
        if size is None:  # whole numbers: a difference of two geometric ones
            end = 1 - exp(-1 / scale)
            noise = self.stands_for * (rng.geometric(end, shape) - rng.geometric(end, shape))
            lost = count_cells(need, self.crowd.trips, districts, self._weight * (1 - self._weight))
            noise = noise + self.stands_for * np.sqrt(lost * self.crowd.scale) * rng.standard_normal(shape)
        else:
            noise = rng.laplace(0.0, scale, shape)
            if not (need.question == "total" and isinstance(self.mechanism, Weave)):
                noise += truth * size.relative_error * rng.standard_normal((TRIES, 1))
        return truth, np.maximum(counted * self.stands_for + noise, 0.0)

    def typical_shown(self, need: Need, epsilon: float) -> float:
        """Return how far off the typical cell is as `ask` would show it, of a question that is counted cell by cell."""
        scales = self.scales(epsilon)
        truth, counts = self._try(need, epsilon, scales)
        return _judge(need, epsilon, truth, self._guess(truth, counts, scales[need.question])).median

    def _guess(self, truth: Floats, counts: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        """Return what would be shown of tries: counts that stand out of their noise, and about the usual of others."""
        hidden = counts <= clear_from(counts, scale)
        many = np.maximum(hidden.sum(axis=1, keepdims=True), 1)
        usual = (hidden * truth).sum(axis=1, keepdims=True) / many
        differ = (hidden * (truth - usual) ** 2).sum(axis=1, keepdims=True) / many
        return np.where(hidden, usual + differ / (differ + 2 * scale**2) * (counts - usual), counts)

    def _woven(self, need: Need, epsilon: float) -> Outlook:
        """Errors of simulated releases, interpolated between their epsilons in logarithms.

        Noise beside counts follows from rides x epsilon x share, so that releases which were simulated with others
        stand for those with these at another epsilon.
        """
        if not isinstance(self.mechanism, Weave):
            return Outlook(need, epsilon, 1.0, 1.0, 0.0, None)
        like = self.like or self
        epsilon_there = epsilon * self._part(need) / like._part(need) * self.crowd.rides / like.crowd.rides
        known = like._simulate_need(need, self._districts(need))
        place = [log(each.epsilon) for each in known]

        def between(values: list[float]) -> float:
            logs = np.log(np.maximum(np.minimum.accumulate(values), 1e-4))
            # Below the least of them, errors are thought to grow as noise does.
            below = max(SIMULATED[0] / epsilon_there, 1.0)
            return float(min(np.exp(np.interp(log(epsilon_there), place, logs)) * below, 1.0))

        found = [0.0 if each.found is None else each.found for each in known]
        top = None if known[0].found is None else float(np.interp(log(epsilon_there), place, found))
        median, worst = between([each.median for each in known]), between([each.worst for each in known])
        return Outlook(need, epsilon, median, worst, None, top)

    def _part(self, need: Need) -> float:
        """The part of epsilon of the blocks that tell a need most of what it asks."""
        assert isinstance(self.mechanism, Weave)
        needed = self.mechanism.shares.needed
        return float(sum(needed.get(block, Fraction(0)) for block in BLOCKS_OF.get(need.question, ()))) or 1.0

    def _simulate_need(self, need: Need, districts: Ints | None) -> list[Outlook]:
        """Errors of a need in simulated releases, by their epsilon."""
        truth, known = count_cells(need, self.crowd.trips, districts) * self.crowd.scale, []
        for at in SIMULATED:
            made, shown = self._simulated(at), np.zeros_like(truth)
            if made is not None:
                shown = count_cells(need, made, districts) * (self.crowd.rides / max(len(made), 1))
            known.append(_judge(need, at, truth, shown[None]))
        return known

    def _simulated(self, epsilon: float) -> Trips | None:
        """The trips of a release of the simulated riders; None: it would be refused."""
        if epsilon not in self._made:
            gate = Gate(self.unit, Budget(Fraction(epsilon).limit_denominator(100)), SeededBits(1))
            with step(f"simulating a release at epsilon {epsilon:g}"):
                bounded = gate.bound(self.crowd.trips, self.mechanism.rule(self.world))
                try:
                    self._made[epsilon] = measure(self.mechanism, LocalCounter(bounded), gate).generate(1)
                except RefusedError:
                    self._made[epsilon] = None
        return self._made[epsilon]

    @cached_property
    def _made(self) -> dict[float, Trips | None]:
        return {}

    def _districts(self, need: Need) -> Ints | None:
        return None if need.districts is None or self.districts is None else self.districts[need.districts]


@lru_cache(4)
def _geography_of(world: World) -> Geography:
    return Geography(world)


def _root(cells: int) -> Fraction:
    """Return how much the noise of a sum of so many cells is larger than that of one."""
    return Fraction(max(cells, 1) ** 0.5).limit_denominator(100)


def _judge(
    need: Need, epsilon: float, truth: Floats, shown: NDArray[np.float64], unsure: float = 0.0
) -> Outlook:
    """Errors of tries (rows of `shown`) in the cells asked for; an answer is off by no more than all of it.

    A need is met where it would be, too, if cells stood out more or less than here (see `UNSURE` of `crowd`).
    """
    asked = np.argsort(-truth, kind="stable")[: need.top or int((truth > 0).sum())]
    off = np.minimum(np.abs(shown[:, asked] - truth[asked]) / np.maximum(truth[asked], 1.0), 1.0)
    if need.change:
        off /= 2.0  # twice its error must stand clear of the change
    typical = np.median(off, axis=1)
    found = None
    if need.top is not None:
        busiest = np.argsort(-shown, axis=1, kind="stable")[:, : need.top]
        found = float(np.mean([len(np.intersect1d(asked, each)) for each in busiest]))
    less = np.exp(unsure * np.random.default_rng(1).standard_normal(len(shown)))
    met = float(np.mean(typical * less <= need.within)) if len(shown) > 1 else None
    return Outlook(need, epsilon, float(np.median(typical)), float(np.median(off.max(axis=1))), met, found)
