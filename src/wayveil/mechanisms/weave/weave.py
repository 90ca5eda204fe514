"""Weave: small private histograms of trips, and the most even mixture of plausible trips that explains them.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta), or zCDP under a budget in rho.
    Reason: every question is a histogram to which a trip adds at most one in all: it falls into one cell, or spreads
    a weight of one evenly over its moves, in whole parts of 1 / 2^20. So a unit of m trips moves it by at most m, and
    noise of scale m / (share x epsilon) on *every* public cell pays for that share. The partition of
    origin-destination pairs is bought by PrivTree (see privacy/privtree.py). How finely the questions look follows
    from the noisy number of trips. The shares add up to epsilon; weaving is post-processing.
    In rho, noise is Gaussian, and a trip spreads over edges with weights whose L2 norm is at most one (their L1 norm
    may be more): m trips then move such a histogram by at most m in L2, by the triangle inequality.
    Earlier releases that it follows are public: which cells it asks for, at which prices, and the filter over weeks
    are functions of them and of noisy answers.
    Attacked by tests/mechanisms/test_weave.py, tests/privacy/test_privtree.py and the plan in risk/plans/weave.py.

What it relies on
    That riders use the network somehow as public routing under perturbed costs would. What they do otherwise is seen
    only as far as the measured flows force it; `Measurements.weave().diagnostics` says how much stays unexplained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.mechanism import HOURS, USUAL_TOP, Mechanism, typical_cells
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.noisy_blocks import FEWEST_TRIPS, NoisyBlock
from wayveil.mechanisms.weave.resolution import (
    blocks_alike,
    choose_resolution,
    drop_useless,
    require_same_looks,
    weigh_as_before,
)
from wayveil.mechanisms.weave.settings import DISTRICT_PAIR, Generation, Shares
from wayveil.mechanisms.weave.weaving import HOURS_OF_A_DAY, HOURS_OF_A_WEEK, make_time_bins
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.synthesis.model import Model
from wayveil.trips.legality import LegalityRule
from wayveil.world.districts import read_districts
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography, quarter_leaves

ONE = Contribution(per_trip=1)
# A trip that spreads over cells does so in whole parts of this: a unit of counting, which the guarantee rests on.
PARTS = 1 << 20
SPREAD = Contribution(per_trip=PARTS)
SPREAD_IN_L2 = Contribution(per_trip=PARTS, euclidean=True)
# Without a network: possible moves that fit into memory, and places from which on a stronger signal is asked for.
MOST_MOVES, MANY_PLACES = 20_000_000, 500


class Weave(Mechanism):
    """Small histograms, public routing, and a fit.

    >>> made = wv.release(trips, wv.Weave(), epsilon=4, unit=wv.Trip(), rows="calls", ledger=None)
    >>> made.datasheet["mechanism"]["name"]
    'weave'
    """

    name: ClassVar[str] = "weave"
    makes: ClassVar[type[Model]] = Measurements
    summary: ClassVar[str] = (
        "small noisy histograms, public routes, and the most even mixture that explains them"
    )
    holds: ClassVar[frozenset[str]] = frozenset({"edges", "stops", "visits", "hours", "triples"})
    even: ClassVar[frozenset[str]] = frozenset({"edges", "stops", "hours", "triples"})
    tells: ClassVar[Mapping[str, float]] = MappingProxyType(
        {
            "total": 1.0,
            "visits": 1.0,
            "stops": 1.0,
            "boardings": 1.0,
            "alightings": 1.0,
            "hours": 1.0,
            "stop-hours": 1.0,
            "triples": 1.0,
            "journeys": 1.0,
            "lengths": 1.0,
        }
    )
    follows: ClassVar[bool] = True

    shares: Shares = Field(Shares(), description="what the budget is spent on")
    period: Literal["day", "week"] = Field(
        "day", description="time bins are the hours of a `day` or of a `week`, for trips with times"
    )
    full_cells: float = Field(2.0, gt=0, description="noise scales of trips that a coarse cell should hold")
    triples_from: float = Field(
        5.0,
        ge=0,
        description="trips per unit of noise (n x epsilon) and cell from which two edges in a row are asked for",
    )
    faint: float = Field(
        1 / 20,
        ge=0,
        description="trips per noise scale and cell below which single places or edges are not asked for, and trips "
        "per unit of noise and possible move below which moves are not, without a network",
    )
    faint_on_grid: float = Field(
        1 / 5, ge=0, description="the same on a grid, whose cells, edges and crossings are many and arbitrary"
    )
    fewest_inside: int = Field(8, ge=0, description="zones of fewer places or edges are not asked for")
    weakest: float = Field(
        500.0,
        ge=0,
        description="n x epsilon below which a release is refused after buying the number of trips: it would be noise. "
        "Without a network, where nothing public says who goes where, it grows with the places beyond 500",
    )
    corners: Literal["keep", "cut"] = Field(
        "cut",
        description="on a grid, a visit to a cell that is merely clipped between two diagonal neighbours: `keep` it, "
        "or `cut` it out of the trip before anything is counted",
    )
    districts: str | None = Field(
        None,
        description="file with the district of each place (csv with stop_id and district, or GeoJSON): trips between "
        "districts are then counted by themselves. A plan sets it from its needs",
    )
    generation: Generation = Field(
        Generation(),
        description="how trips are made of the measurements: costs nothing, can be changed later",
    )

    @classmethod
    def of_record(cls, parameters: Mapping[str, Any]) -> Self:
        return cls(**{**parameters, "generation": Generation.of_record(parameters.get("generation", {}))})

    def rule(self, world: World) -> LegalityRule:
        """Return the rule of all mechanisms; corners are kept or cut on a grid."""
        rule = super().rule(world)
        return replace(rule, corners=self.corners) if isinstance(world, Grid) else rule

    def serving(self, parts: Mapping[str, Fraction], districts: str | None = None) -> Self:
        """Give the blocks that count these questions their parts; the others share what is left."""
        if self.shares != Shares():
            return self
        named = (self.districts or districts) if "districts" in parts else None
        shares = self.shares.serving(parts, districts=named is not None)
        return self.model_copy(update={"shares": shares, "districts": named})

    def cells_told(self, world: World) -> Sequence[tuple[float, Fraction]]:
        """Return the cells of the questions that needs give a part of the budget."""
        busy = typical_cells(world.size)
        cells = {"trips": 1, "origin": busy, "destination": busy, "hour": HOURS, DISTRICT_PAIR: USUAL_TOP}
        needed = self.shares.needed
        return [(each, needed[name]) for name, each in cells.items() if name in needed]

    def public_files(self) -> dict[str, Path]:
        """Name the file of districts."""
        return {} if self.districts is None else {"districts": Path(self.districts)}

    def measure(self, counter: Counter, gate: Gate) -> Measurements:
        """Buy the number of trips, choose how finely to look, then buy the partition of pairs and all blocks."""
        self._refuse_size(counter.world)
        geography, times = Geography(counter.world), self._count_times(counter)
        districts, scale = self._read_districts(counter.world), _find_noise(gate, gate.budget.total)
        gaussian = gate.budget.currency == "rho"
        before = require_same_looks(
            self._earlier, counter.world, times=times, gaussian=gaussian, districts=districts
        )
        total, variance = self._buy_number(counter, gate, geography, times)
        trips = max(total, FEWEST_TRIPS)
        self._refuse_noise(trips / scale, geography.world)
        if before:
            prices, look = _split(gate, weigh_as_before(before[-1])), before[-1].resolution
            leaves = before[-1].leaves
        else:
            prices, look = self.plan_questions(gate, geography, times, trips)
            leaves = self._buy_leaves(counter, gate, geography, prices, trips)
        noisy = _buy_blocks(counter, gate, WalkBlocks(geography, look, leaves, districts), prices)
        bought = (counter.world, look, total, scale, leaves, noisy, self.generation, variance)
        return Measurements(*bought, blocks_alike(before, look, leaves), districts)

    def plan_questions(
        self, gate: Gate, geography: Geography, times: int, trips: int
    ) -> tuple[dict[str, Fraction], Resolution]:
        """Return the price of every question that is asked, and how finely it looks.

        Depends on public facts and on the noisy number of trips, which is paid for, so that planning costs nothing.
        """
        places, kind = geography.world.size, _name_kind(geography.world)
        signal = trips / _find_noise(gate, gate.budget.total)
        triples = kind == "network" and signal >= self.triples_from * geography.triples
        weights = self.shares.weigh_blocks(
            kind, timed=times > 0, triples=triples, signal=int(signal), places=places
        )
        del weights["trips"]
        if signal < self.faint * places**2:
            weights.pop("move", None)

        def look_at(prices: dict[str, Fraction]) -> tuple[Resolution, dict[str, float]]:
            strength = {name: trips / _find_noise(gate, price) for name, price in prices.items()}
            cells = {name: value / self.full_cells for name, value in strength.items()}
            return choose_resolution(geography, cells, times=times, triples=triples), strength

        look, strength = look_at(_split(gate, weights))
        faint = self.faint_on_grid if kind == "grid" else self.faint
        weights = drop_useless(weights, geography, look, strength, faint=faint, few=self.fewest_inside)
        # What is not asked leaves its price to others, which can then look more finely.
        prices = _split(gate, weights)
        keeps, gaussian = kind == "grid" and self.corners == "keep", gate.budget.currency == "rho"
        return prices, replace(look_at(prices)[0], euclidean=int(gaussian), corners=int(keeps))

    def fits(self, world: World) -> bool:
        """Tell whether the possible moves of a world can be written out, which is needed where there is no network."""
        return isinstance(world, Network) or world.size * (world.size + 2) <= MOST_MOVES

    def least_signal(self, world: World) -> float:
        """Return the trips per unit of noise below which a release over this world is refused."""
        return self.weakest * (1.0 if isinstance(world, Network) else max(1.0, world.size / MANY_PLACES))

    def _buy_number(
        self, counter: Counter, gate: Gate, geography: Geography, times: int
    ) -> tuple[int, float]:
        """Return the noisy number of trips, for its share among all questions, and the variance of its noise."""
        if gate.size is not None:
            return round(gate.size.rows), gate.size.rows_variance
        places = geography.world.size
        weights = self.shares.weigh_blocks(_name_kind(geography.world), timed=times > 0, places=places)
        price = gate.budget.total * weights["trips"] / sum(weights.values())
        number = _buy(gate, "number of trips", counter.trips(), price)
        return int(number.counts[0]), number.variance

    def _buy_leaves(
        self, counter: Counter, gate: Gate, geography: Geography, prices: dict[str, Fraction], trips: int
    ) -> Ints:
        """Return the leaves of the partition of pairs; on a grid all are quartered as often as noise allows.

        The partition pays for its splits with much more noise than the counts of its leaves, so that those could tell
        more: down to one noise scale of trips in each. Depends on the leaves and on the noisy number of trips, which
        are paid for.
        """
        pairs = counter.pairs(geography.places)
        leaves = gate.tree("partition of origin-destination pairs", pairs, ONE, prices["tree"]).starts
        strength = trips / _find_noise(gate, prices["pair"])
        while isinstance(geography.network, Grid):
            finer = quarter_leaves(leaves, geography.places.depth)
            if len(finer) == len(leaves) or strength < len(finer):
                break
            leaves = finer
        return leaves

    def _read_districts(self, world: World) -> Ints | None:
        """Read the public district of each place; refuses a file that has no part of the budget, or the reverse."""
        if (self.districts is None) == (DISTRICT_PAIR in self.shares.needed):
            raise ParameterError(
                f"weave: districts and shares.needed.{DISTRICT_PAIR!r} go together: name a file, and give it a part of "
                f"the budget. Nothing was spent"
            )
        return None if self.districts is None else read_districts(self.districts, world).of_place

    def _refuse_size(self, world: World) -> None:
        if not self.fits(world):
            raise ParameterError(
                f"{world.size:,} locations without a network have too many possible moves for weave; "
                f"give a network, or use markov"
            )

    def _count_times(self, counter: Counter) -> int:
        """Time bins of the period; none if trips have no times."""
        return 0 if not counter.timed else HOURS_OF_A_DAY if self.period == "day" else HOURS_OF_A_WEEK

    def _refuse_noise(self, signal: float, world: World) -> None:
        """Refuse too few trips: a function of their noisy number, so that only that number has to be paid for."""
        if signal >= self.least_signal(world):
            return
        seen = f"about {signal:,.0f} trips per unit of noise (trips x epsilon / trips of a unit) are too few"
        more = (
            "more trips or a larger epsilon, or lower `weakest` to release it all the same. Counting the trips has "
            "cost its share."
        )
        if signal < self.weakest:
            raise RefusedError(
                f"{seen}: a release would show noise and public knowledge, but not these trips. Use {more}"
            )
        raise RefusedError(
            f"{seen} for {world.size:,} places without a network between them: most places of a release would be "
            f"noise. Use fewer and larger places, {more}"
        )


def _name_kind(world: World) -> str:
    return "grid" if isinstance(world, Grid) else "network" if isinstance(world, Network) else "list"


def _split(gate: Gate, weights: dict[str, Fraction]) -> dict[str, Fraction]:
    """Return what is left of the budget, shared in proportion to the weights."""
    return dict(zip(weights, gate.budget.split(list(weights.values())), strict=True))


def _buy_blocks(
    counter: Counter, gate: Gate, blocks: WalkBlocks, prices: dict[str, Fraction]
) -> dict[str, NoisyBlock]:
    """Buy the counts of every block that has a price. A trip adds at most one in all: `PARTS` where it spreads."""
    times, found = blocks.resolution.times, {}
    bins = make_time_bins(times) if times else None
    for name, block in blocks.all().items():
        if name not in prices:
            continue
        label, whole, contribution = f"trips by {name}", 1, ONE
        if block.spread:
            label, whole = f"trips spread over their {name.rstrip('s')}s, {PARTS:,} parts each", PARTS
            contribution = SPREAD_IN_L2 if block.euclidean else SPREAD
        found[name] = _buy(gate, label, counter.block(block, whole, bins), prices[name], whole, contribution)
    return found


def _buy(
    gate: Gate,
    label: str,
    exact: SparseCounts,
    price: Fraction,
    whole: int = 1,
    contribution: Contribution = ONE,
) -> NoisyBlock:
    """Buy noisy counts, with the variance of their noise: that of the Laplace law, or the Gaussian's own."""
    bought = gate.histogram(label, exact, contribution, price)
    scale = float(bought.question.scale)
    variance = scale if gate.budget.currency == "rho" else 2 * scale**2
    return NoisyBlock(bought.counts, whole, variance)


def _find_noise(gate: Gate, price: Fraction) -> float:
    """Return how many trips the noise of such a price amounts to: a scale, or a standard deviation."""
    scale = float(gate.scale(ONE, price))
    return sqrt(scale) if gate.budget.currency == "rho" else scale
