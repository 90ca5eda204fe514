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
    Attacked by tests/mechanisms/test_weave.py, tests/privacy/test_privtree.py and the plan in risk/plans/weave.py.

What it relies on
    That riders use the network somehow as public routing under perturbed costs would. What they do otherwise is seen
    only as far as the measured flows force it; `Measurements.weave().diagnostics` says how much stays unexplained.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import ClassVar, Literal

from pydantic import Field

from wayveil.counting.protocol import Counter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.weave_shares import Shares, resolution, worth_asking
from wayveil.privacy.gate import Gate, NoisyCounts
from wayveil.privacy.units import Contribution
from wayveil.synthesis.model import Model
from wayveil.synthesis.weave.measurements import Answer, Measurements
from wayveil.synthesis.weave.settings import Generation
from wayveil.synthesis.weave.times import HOURS_OF_A_DAY, HOURS_OF_A_WEEK, bins_of
from wayveil.world.network import Network
from wayveil.world.walk_blocks import Block, Resolution, WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography

ONE = Contribution(per_trip=1)
PARTS = 1 << 20
SPREAD = Contribution(per_trip=PARTS)
SPREAD_IN_L2 = Contribution(per_trip=PARTS, euclidean=True)
FEWEST_TRIPS = 10
MANY_PLACES = 500
# Tables larger than this are not written out cell by cell.
MOST_CELLS = 20_000_000


class Weave(Mechanism):
    """Small histograms, public routing, and a fit.

    shares         what epsilon is spent on
    period         time bins are the hours of a `day` or of a `week`, for trips with times
    bands          coarser times of the period, for pairs of zones
    full_cells     a coarse cell should hold so many noise scales of trips, on average
    triples_from   trips per unit of noise (n x epsilon) and cell from which two edges in a row are asked for
    moves_from     the same for possible moves, where there is no network
    faint          single places or edges are not asked for below so many trips per noise scale and cell
    fewest_inside  zones are not asked for if they hold fewer places or edges than this
    weakest        below this n x epsilon a release is refused after buying the number of trips: it would be noise; as
                   many times more without a network as there are `MANY_PLACES`, as nothing public says who goes where
    generation     how trips are made of the measurements: costs nothing, can be changed later
    """

    name: ClassVar[str] = "weave"
    makes: ClassVar[type[Model]] = Measurements
    summary: ClassVar[str] = (
        "small noisy histograms, public routes, and the most even mixture that explains them"
    )

    shares: Shares = Field(default_factory=Shares)
    period: Literal["day", "week"] = "day"
    bands: int = Field(6, ge=1, le=24)
    full_cells: float = Field(4.0, gt=0)
    triples_from: float = Field(5.0, ge=0)
    moves_from: float = Field(1 / 50, ge=0)
    faint: float = Field(1 / 20, ge=0)
    fewest_inside: int = Field(8, ge=0)
    weakest: float = Field(500.0, ge=0)
    generation: Generation = Field(default_factory=Generation)

    def measure(self, counter: Counter, gate: Gate) -> Measurements:
        """Buy the number of trips, choose how finely to look, then buy the partition of pairs and all blocks."""
        world = counter.world
        _check_size(world)
        geography = Geography(world)
        network = geography.network is not None
        times = 0 if not counter.timed else HOURS_OF_A_DAY if self.period == "day" else HOURS_OF_A_WEEK

        asked = partial(
            self.shares.weights, timed=counter.timed, network=network, places=geography.world.size
        )
        always = asked()
        first = gate.budget.total * always["trips"] / sum(always.values())
        number = gate.histogram("number of trips", counter.trips(), ONE, first)
        total = int(number.counts[0])
        trips, scale = max(total, FEWEST_TRIPS), _noise(gate, gate.budget.total)
        strong = trips / scale
        self._refuse_noise(strong, world.size, network=network)

        triples = network and strong >= self.triples_from * geography.triples
        moves = not network and strong >= self.moves_from * world.size**2
        weights = asked(triples=triples, moves=moves, density=int(strong / world.size))
        del weights["trips"]

        def offered(weights: dict[str, Fraction]) -> tuple[dict[str, Fraction], dict[str, float], Resolution]:
            """What each question would cost, how many trips per noise scale it would see, and how finely."""
            prices = dict(zip(weights, gate.budget.split(list(weights.values())), strict=True))
            strength = {name: trips / _noise(gate, price) for name, price in prices.items()}
            cells = {name: value / self.full_cells for name, value in strength.items()}
            return (
                prices,
                strength,
                resolution(geography, cells, times=times, bands=self.bands, triples=triples),
            )

        _, strength, look = offered(weights)
        weights = worth_asking(weights, geography, look, strength, faint=self.faint, few=self.fewest_inside)
        prices, _, look = offered(weights)
        look = replace(look, euclidean=int(gate.budget.currency == "rho"))
        price = prices.pop("tree")
        leaves = gate.tree(
            "partition of origin-destination pairs", counter.pairs(geography.places), ONE, price
        )

        bins = bins_of(times) if times else None
        answers = {}
        for name, block in WalkBlocks(geography, look, leaves.starts).all().items():
            if name not in prices:
                continue
            whole, contribution = PARTS if block.spread else 1, ONE
            if block.spread:
                contribution = SPREAD_IN_L2 if block.euclidean else SPREAD
            exact = counter.block(block, whole, bins)
            answer = gate.histogram(_label(block), exact, contribution, prices.pop(name))
            answers[name] = Answer(answer.counts, whole, _variance(gate, answer))
        return Measurements(
            world, look, total, scale, leaves.starts, answers, self.generation, _variance(gate, number)
        )

    def _refuse_noise(self, signal: float, places: int, *, network: bool) -> None:
        """A function of the noisy number of trips, so that only that number has to be paid for."""
        seen = f"about {signal:,.0f} trips per unit of noise (trips x epsilon / trips of a unit) are too few"
        after = "lower `weakest` to release it all the same. Counting the trips has cost its share."
        if signal < self.weakest:
            raise RefusedError(
                f"{seen}: a release would show noise and public knowledge, but not these trips. Use more trips or a "
                f"larger epsilon, or {after}"
            )
        if not network and signal < self.weakest * places / MANY_PLACES:
            raise RefusedError(
                f"{seen} for {places:,} places without a network between them: most places of a release would be "
                f"noise. Use fewer and larger places, more trips or a larger epsilon, or {after}"
            )


def fits(world: World) -> bool:
    """Whether the possible moves of a world can be written out, which is needed where there is no network."""
    return isinstance(world, Network) or world.size * (world.size + 2) <= MOST_CELLS


def _check_size(world: World) -> None:
    if not fits(world):
        raise ParameterError(
            f"{world.size:,} locations without a network have too many possible moves for weave; "
            f"give a network, or use markov"
        )


def _label(block: Block) -> str:
    return f"trips by {block.name}" if not block.spread else f"trips spread over their {block.name}s"


def _noise(gate: Gate, price: Fraction) -> float:
    """How many trips the noise of such a price amounts to: a scale, or a standard deviation."""
    scale = float(gate.scale(ONE, price))
    return sqrt(scale) if gate.budget.currency == "rho" else scale


def _variance(gate: Gate, answer: NoisyCounts) -> float:
    """Variance of the noise: that of the Laplace law, or the Gaussian's own."""
    scale = float(answer.question.scale)
    return scale if gate.budget.currency == "rho" else 2 * scale**2
