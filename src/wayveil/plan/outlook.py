"""How exact the answers of a release would be, before there is one: simulated riders, public facts, the law of noise.

No row is read. Riders are simulated on the public network, as many as somebody says there are. A question that is
counted cell by cell has the noise that its price buys, so its errors follow from the law. One that is answered by whole
trips alone is asked of simulated releases of the simulated riders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.mechanisms.all_rows import SIZE_SHARE, expect_size, measure
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import visit_contribution
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.weave import Weave
from wayveil.plan.needs import ASKED, Need
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Rider, Unit
from wayveil.privacy.weights import Size
from wayveil.progress import step
from wayveil.simulate.city import draw_departures
from wayveil.simulate.riders import simulate_riders
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World
from wayveil.world.zones import Geography

TRIES = 200
MOST_TRIPS = 30
HOURS = 24
# Zones that stand for districts where nobody names any: binary digits of their number.
ZONE_BITS = 3
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


@dataclass(frozen=True, eq=False)
class Crowd:
    """Simulated riders with a stated number of rides; `per_rider` are the rides of each."""

    trips: Trips
    per_rider: Ints
    rides: int

    @classmethod
    def simulate(cls, world: World, rides: int, riders: int) -> "Crowd":
        """Simulate riders as `simulate_riders` does; most make few rides, some up to 30."""
        rng, mean = np.random.default_rng(0), max(rides / riders, 1.0)
        per_rider = np.minimum(rng.geometric(1 / mean, riders), MOST_TRIPS)
        with step("simulating riders"):
            if isinstance(world, Network):
                most = int(per_rider.max())
                made = simulate_riders(world, riders, seed=0, trips_per_rider=most).trips
                trips = made.take(np.tile(np.arange(most), riders) < np.repeat(per_rider, most))
            else:
                trips = _on_list(world, per_rider, rng)
        return cls(trips, per_rider, rides)

    def kept(self, bound: int) -> float:
        """Rides that count at most, where a rider has a bound."""
        return float(np.minimum(self.per_rider, bound).sum()) * self.scale

    @property
    def scale(self) -> float:
        """Rides that each simulated one stands for."""
        return self.rides / max(len(self.trips), 1)

    def count(self, need: Need, trips: Trips | None = None, districts: Ints | None = None) -> Floats:
        """The numbers that a need asks for, of all rides: those of the simulated riders, or of other trips."""
        chosen = self.trips if trips is None else trips
        cell, size = find_cells(need, chosen, districts)
        counted = np.bincount(cell, minlength=size).astype(np.float64)
        return counted * (self.rides / max(len(chosen), 1))


def _on_list(world: World, per_rider: Ints, rng: np.random.Generator) -> Trips:
    """Rides between two places of a list; how busy they are follows Zipf's law."""
    pull = 1 / np.arange(1, world.size + 1)
    ends = rng.choice(world.size, (int(per_rider.sum()), 2), p=pull / pull.sum()).astype(np.int32)
    time = np.repeat(draw_departures(rng, len(ends)), 2)
    rider = np.repeat(np.arange(len(per_rider)), per_rider)
    return Trips(ends.ravel(), 2 * np.arange(len(ends) + 1), world, time, rider)


def find_cells(need: Need, trips: Trips, districts: Ints | None = None) -> tuple[Ints, int]:
    """The cell of every trip (of every move, for loads) that a need asks about, and how many cells there are."""
    first, last, places = trips.offsets[:-1], trips.offsets[1:] - 1, trips.world.size
    if need.question == "edges":
        return _edges_of(trips)
    origin, destination = (trips.location[at].astype(np.int64) for at in (first, last))
    hour = np.zeros(len(first), np.int64) if trips.time is None else trips.time[first] // 3600 % HOURS
    route, routes = _routes_of(trips) if "route" in need.question else (origin, places)
    cell, size = {
        "total": lambda: (np.zeros(len(first), np.int64), 1),
        "boardings": lambda: (origin, places),
        "alightings": lambda: (destination, places),
        "hours": lambda: (hour, HOURS),
        "stop-hours": lambda: (origin * HOURS + hour, places * HOURS),
        "routes": lambda: (route, routes),
        "route-hours": lambda: (route * HOURS + hour, routes * HOURS),
        "journeys": lambda: (origin * places + destination, places * places),
        "districts": lambda: _between(trips.world, origin, destination, districts),
    }[need.question]()
    if need.hours is not None:
        cell = cell[(hour >= need.hours[0]) & (hour < need.hours[1])]
    return cell, size


def _between(world: World, origin: Ints, destination: Ints, districts: Ints | None) -> tuple[Ints, int]:
    of = districts
    if of is None:
        zones = Geography(world).places
        of = zones.zone(np.arange(world.size), min(ZONE_BITS, zones.depth))
    many = int(of.max()) + 1
    return of[origin] * many + of[destination], many * many


def _edges_of(trips: Trips) -> tuple[Ints, int]:
    assert isinstance(trips.world, Network)
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1]] = False
    at = np.flatnonzero(inner)
    edge = trips.world.edge_index(trips.location[at - 1], trips.location[at])
    return edge[edge >= 0], trips.world.edges


def _routes_of(trips: Trips) -> tuple[Ints, int]:
    """A route that runs where each trip begins."""
    network = trips.world
    assert isinstance(network, Network)
    first = trips.offsets[:-1]
    edge = network.edge_index(trips.location[first], trips.location[np.minimum(first + 1, trips.visits - 1)])
    some = network.route_indptr[np.maximum(edge, 0)]
    known = (edge >= 0) & (network.route_indptr[np.maximum(edge, 0) + 1] > some)
    routes = len(network.route_ids)
    return np.where(known, network.route[np.minimum(some, len(network.route) - 1)], routes), routes + 1


@dataclass(frozen=True)
class Outlook:
    """What to expect of a need at an epsilon.

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

    bound      rides of a rider that count; None: each ride is protected by itself
    draws      rides beyond the bound are drawn at random, not weighed
    timed      rides have times
    districts  by need, the district of each place where a file says it
    """

    world: World
    crowd: Crowd
    mechanism: Mechanism
    unit: Unit
    bound: int | None
    draws: bool = True
    timed: bool = True
    districts: Mapping[str, Ints] | None = None

    def serving(self, parts: Mapping[str, Fraction]) -> "Forecast":
        """Return it with the budget shared otherwise."""
        return replace(self, mechanism=type(self.mechanism)(**self._fixed).serving(parts))

    @property
    def _fixed(self) -> dict[str, object]:
        kept = ("max_visits", "first_day", "days", "districts")
        return {name: getattr(self.mechanism, name) for name in kept if hasattr(self.mechanism, name)}

    @property
    def stands_for(self) -> float:
        """Rides that each counted one stands for."""
        kept = self.crowd.rides if self.bound is None else self.crowd.kept(self.bound)
        return self.crowd.rides / max(kept, 1.0)

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
        places = 1.0 if isinstance(self.world, Network) else self.world.size / self.mechanism.many_places
        return signal < SURELY * self.mechanism.weakest * max(1.0, places)

    def scales(self, epsilon: float) -> dict[str, float]:
        """Laplace scale of the noise of each question that is counted cell by cell, in counted rides."""
        price = Fraction(epsilon).limit_denominator(10_000)
        size = self._size(epsilon)
        price *= 1 if size is None else 1 - SIZE_SHARE
        woven = isinstance(self.mechanism, Weave)
        found = self._woven_prices(price) if woven else self._tap_prices(price)
        taps = isinstance(self.mechanism, TapCounts | TapMargins)
        bound = None if isinstance(self.unit, Event) else 1
        each = visit_contribution(self.mechanism.name, self.unit, bound) if taps else ONE
        reach = float(self.unit.sensitivity(each).l1)
        scales = {name: reach / float(price) for name, price in found.items() if price > 0}
        if woven and size is not None:  # its total is the number of all rides
            scales["total"] = (size.rows_variance / 2) ** 0.5 / self.stands_for
        return scales

    def _size(self, epsilon: float) -> Size | None:
        """The number of all rides as it would be bought, where rides are weighed."""
        if not isinstance(self.unit, Rider) or not self.unit.weighs:
            return None
        rides = float(self.crowd.rides)
        return expect_size(self.unit, rides, rides / self.stands_for, epsilon)

    def _woven_prices(self, price: Fraction) -> dict[str, Fraction]:
        assert isinstance(self.mechanism, Weave)
        first = price * self.mechanism.shares.needed.get("trips", Fraction(4, 100)) * int(self.draws)
        counted = max(int(self.crowd.rides / self.stands_for), 10)
        gate = Gate(self.unit, Budget(price - first))
        prices, _ = self.mechanism.plan_questions(gate, self._geography, HOURS * self.timed, counted)
        found = {name: prices[block] for name, block in COUNTED_BY.items() if block in prices}
        return {**found, "total": first}

    @cached_property
    def _geography(self) -> Geography:
        return Geography(self.world)

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
        truth = self.crowd.count(need, districts=self._districts(need))
        scale, rng = scales[need.question] * (2**0.5 if need.change else 1.0), np.random.default_rng(0)
        noise = self.stands_for * np.rint(rng.laplace(0.0, scale, (TRIES, len(truth))))
        if self.draws:
            noise += np.sqrt(truth * max(self.stands_for - 1, 0.0)) * rng.standard_normal(noise.shape)
        size = self._size(epsilon)
        if size is not None and not (need.question == "total" and isinstance(self.mechanism, Weave)):
            noise += truth * size.relative_error * rng.standard_normal((TRIES, 1))
        return _judge(need, epsilon, truth, np.maximum(truth + noise, 0.0))

    def _woven(self, need: Need, epsilon: float) -> Outlook:
        """Errors of simulated releases, interpolated between their epsilons in logarithms."""
        if not isinstance(self.mechanism, Weave):
            return Outlook(need, epsilon, 1.0, 1.0, 0.0, None)
        truth = self.crowd.count(need, districts=self._districts(need))
        known = []
        for at in SIMULATED:
            made = self._simulated(at)
            shown = (
                np.zeros_like(truth) if made is None else self.crowd.count(need, made, self._districts(need))
            )
            known.append(_judge(need, at, truth, shown[None]))
        place = [log(each.epsilon) for each in known]

        def between(values: list[float]) -> float:
            logs = np.log(np.maximum(np.minimum.accumulate(values), 1e-4))
            # Below the least of them, errors are thought to grow as noise does.
            below = max(SIMULATED[0] / epsilon, 1.0)
            return float(min(np.exp(np.interp(log(epsilon), place, logs)) * below, 1.0))

        found = [0.0 if each.found is None else each.found for each in known]
        top = None if known[0].found is None else float(np.interp(log(epsilon), place, found))
        median, worst = between([each.median for each in known]), between([each.worst for each in known])
        return Outlook(need, epsilon, median, worst, None, top)

    def _simulated(self, epsilon: float) -> Trips | None:
        """The trips of a release of the simulated riders; None: it would be refused."""
        key = (str(self.mechanism.describe()), epsilon)
        if key not in self._made:
            gate = Gate(self.unit, Budget(Fraction(epsilon).limit_denominator(100)), SeededBits(1))
            with step(f"simulating a release at epsilon {epsilon:g}"):
                bounded = gate.bound(self.crowd.trips, self.mechanism.rule(self.world))
                try:
                    self._made[key] = measure(self.mechanism, LocalCounter(bounded), gate).generate(1)
                except RefusedError:
                    self._made[key] = None
        return self._made[key]

    @cached_property
    def _made(self) -> dict[tuple[str, float], Trips | None]:
        return {}

    def _districts(self, need: Need) -> Ints | None:
        return None if need.districts is None or self.districts is None else self.districts[need.districts]


def _root(cells: int) -> Fraction:
    """Return how much the noise of a sum of so many cells is larger than that of one."""
    return Fraction(max(cells, 1) ** 0.5).limit_denominator(100)


def _judge(need: Need, epsilon: float, truth: Floats, shown: NDArray[np.float64]) -> Outlook:
    """Errors of tries (rows of `shown`) in the cells asked for; an answer is off by no more than all of it."""
    asked = np.argsort(-truth, kind="stable")[: need.top or int((truth > 0).sum())]
    off = np.minimum(np.abs(shown[:, asked] - truth[asked]) / np.maximum(truth[asked], 1.0), 1.0)
    if need.change:
        off /= 2.0  # twice its error must stand clear of the change
    typical = np.median(off, axis=1)
    found = None
    if need.top is not None:
        busiest = np.argsort(-shown, axis=1, kind="stable")[:, : need.top]
        found = float(np.mean([len(np.intersect1d(asked, each)) for each in busiest]))
    met = float(np.mean(typical <= need.within)) if len(shown) > 1 else None
    return Outlook(need, epsilon, float(np.median(typical)), float(np.median(off.max(axis=1))), met, found)


def rides_of(per_rider: float) -> int:
    """A bound on the rides of a rider that suits so many rides each, where the excess is drawn at random."""
    return max(1, min(4, ceil(per_rider / 2)))


# What `check` tells of: the questions of the default set that are counted cell by cell.
TOLD = (
    Need(question="total"),
    Need(question="hours"),
    Need(question="boardings", top=50),
    Need(question="stop-hours", top=50),
)


@dataclass(frozen=True)
class Told:
    """What a plan would give of one question: 95 % of the noise on a number, and the error of the typical one."""

    question: str
    noise: float
    typical: float

    @property
    def words(self) -> str:
        """One row of a table."""
        noise = "   will be noise" if self.typical >= NOISE_FROM else ""
        return f"{self.question:>40} | {f'+-{self.noise:,.0f}':>15} | {self.typical:>7.1%}{noise}"


HEADER = (
    f"{'what the command would give':>40} | noise (95 %) of | typical\n{'':>40} |   one number    | error"
)
# A typical number that is off by more than this says nothing.
NOISE_FROM = 0.5


def tell_answers(told: Forecast, epsilon: float) -> list[Told]:
    """Return what a release of these rides would give, question by question, by the law of the noise at its shares."""
    scales = told.scales(epsilon)
    found = []
    for need in TOLD:
        if need.question in scales and (told.timed or "hours" not in need.question):
            (each,) = told.at([need], epsilon)
            words = ASKED[need.question].words + ("" if need.top is None else f", top {need.top}")
            found.append(Told(words, scales[need.question] * log(20), each.median))
    return found


def say_remedies(told: Forecast, epsilon: float) -> list[str]:
    """Return what would work where the boardings of a plan would be noise; nothing where they would not."""
    answers = tell_answers(told, epsilon)
    lost = [each for each in answers if each.typical >= NOISE_FROM]
    if not lost:
        return []
    said = f"with epsilon {epsilon:g} these will be noise: {', '.join(each.question for each in lost)}"
    if len(lost) == len(answers):
        said = f"do not release this so: with epsilon {epsilon:g} every number will be noise"
    enough = next(
        (
            each
            for each in (epsilon * factor for factor in (1.5, 2, 3, 5, 7, 10))
            if all(
                row.typical <= NOISE_FROM
                for row in tell_answers(told, each)
                if row.question == lost[0].question
            )
        ),
        None,
    )
    works = ["a longer period", "larger places (stations, districts) in the list of places"]
    works += [] if enough is None else [f"--epsilon {enough:g}"]
    return [f"{said}. What would work: {', or '.join(works)}"]
