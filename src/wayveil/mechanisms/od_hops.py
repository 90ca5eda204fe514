"""od-hops: ends of trips from a private tree, hops from noisy tables, and walks that arrive; pure epsilon.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: a trip is in one leaf of a partition of origin-destination pairs (bought by PrivTree, see
    privacy/privtree.py), in one cell of the table of starts, and spreads a weight of one, in whole parts of 1 / 2^20,
    over its hops in each of three tables. So each question moves by at most one trip (m trips for a unit of m), every
    public cell gets noise for that, and the shares add up to epsilon. How finely zones are cut follows from the noisy
    number of trips. Walking is post-processing.
    Attacked by tests/mechanisms/test_od_hops.py and the plan in risk/plans/od_hops.py.
"""

from fractions import Fraction
from math import floor, log2, sqrt
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.synthesis.hops.ends import HOURS, Flows, NoisyEnds, flow_cells
from wayveil.synthesis.hops.hop_tables import HopContexts
from wayveil.synthesis.hops.hops_model import TableHopsModel
from wayveil.synthesis.model import Model
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import MOVES, SECTORS, GridMoves
from wayveil.world.world import World

ONE = Contribution(per_trip=1)
PARTS = 1 << 20
SPREAD = Contribution(per_trip=PARTS)


class OdHops(Mechanism):
    """Ends of trips from a private tree, next hops from noisy tables, walks that arrive.

    >>> wv.OdHops().name
    'od-hops'
    """

    name: ClassVar[str] = "od-hops"
    makes: ClassVar[type[Model]] = TableHopsModel
    summary: ClassVar[str] = (
        "noisy ends of trips, noisy tables of the next hop towards a destination, and walks"
    )

    trips_share: Fraction = Field(
        Fraction(1, 50), gt=0, lt=1, description="Share of epsilon that buys the number of trips."
    )
    tree_share: Fraction = Field(
        Fraction(1, 5), gt=0, lt=1, description="Share that buys the partition of origin-destination pairs."
    )
    ends_share: Fraction = Field(
        Fraction(3, 10), gt=0, lt=1, description="Share that buys trips per leaf of that partition."
    )
    hours_share: Fraction = Field(
        Fraction(1, 10),
        gt=0,
        lt=1,
        description="Share that buys starts by zone and hour; to hops without times.",
    )
    flows_share: Fraction = Field(
        Fraction(3, 20), gt=0, lt=1, description="Share that buys moves by single cell: the streets."
    )
    full_cells: float = Field(
        4.0,
        gt=0,
        description="Zones are cut until a cell of a table holds so many noise scales of trips on average.",
    )
    way: Literal["walk", "shortest"] = Field(
        "walk", description="How hops become trips: sampled walks, or the likeliest way."
    )
    weakest: float = Field(
        500.0,
        ge=0,
        description="Below this number of trips x epsilon a release is refused after buying the number of trips.",
    )

    def measure(self, counter: Counter, gate: Gate) -> TableHopsModel:
        """Buy the number of trips, then ends, hours, streets and both tables of hops."""
        moves = GridMoves(grid_of(counter.world, self.name))
        total = gate.budget.remaining
        number = buy_trips(self.name, counter, gate, total * self.trips_share, self.weakest)
        ends = buy_ends(
            counter,
            gate,
            moves,
            number,
            tree=total * self.tree_share,
            leaves=total * self.ends_share,
            hours=total * self.hours_share,
            full=self.full_cells,
        )
        flows = buy_flows(counter, gate, moves, total * self.flows_share)
        half = gate.budget.remaining / 2
        bits = zone_bits(moves, number, gate, half, self.full_cells, per_zone=SECTORS * MOVES)
        contexts = HopContexts(moves, bits)
        city = gate.histogram(
            "hops of the city", counter.hop_weights(contexts.city, contexts.city_cells, PARTS), SPREAD, half
        )
        zones = gate.histogram(
            "hops of zones", counter.hop_weights(contexts.zones, contexts.zone_cells, PARTS), SPREAD, half
        )
        return TableHopsModel(
            moves.grid,
            number,
            ends,
            flows,
            self.way,
            bits,
            _trips(city),
            _trips(zones),
            _deviation(gate, city),
            _deviation(gate, zones),
        )


def grid_of(world: World, name: str) -> Grid:
    """The world as a grid, or a sentence."""
    if not isinstance(world, Grid):
        raise ParameterError(
            f"{name} walks over the cells of a grid; give one as the world, like grid:south,west,north,east@250"
        )
    return world


def buy_trips(name: str, counter: Counter, gate: Gate, price: Fraction, weakest: float) -> float:
    """The noisy number of trips; refuses, having paid for it, where so few would make a release of noise."""
    noisy = gate.histogram("number of trips", counter.trips(), ONE, price)
    number = float(max(int(noisy.counts[0]), 1))
    signal = number / _scale(gate, gate.budget.total)
    if signal < weakest:
        raise RefusedError(
            f"{name}: about {signal:,.0f} trips per unit of noise (trips x epsilon / trips of a unit) are too few: a "
            f"release would show noise. Use more trips or a larger epsilon, or lower `weakest` to release it all the "
            f"same. Counting the trips has cost its share."
        )
    return number


def buy_ends(
    counter: Counter,
    gate: Gate,
    moves: GridMoves,
    number: float,
    *,
    tree: Fraction,
    leaves: Fraction,
    hours: Fraction,
    full: float,
) -> NoisyEnds:
    """A partition of pairs, trips per leaf, and starts by zone and hour where there are times."""
    pairs = counter.pairs(moves.zones)
    found = gate.tree("partition of origin-destination pairs", pairs, ONE, tree)
    place = np.searchsorted(found.starts, pairs.keys, side="right") - 1
    leaves_of = np.bincount(place, pairs.counts, len(found.starts)).astype(np.int64)
    exact = SparseCounts.dense(leaves_of, pairs.parts)
    counts = gate.histogram("trips by leaf", exact, ONE, leaves)
    if not counter.timed:
        return NoisyEnds(found.starts, counts.counts, None, 0)
    bits = zone_bits(moves, number, gate, hours, full, per_zone=HOURS)
    zone = moves.zones.zone(np.arange(moves.grid.size), bits)
    by_hour = gate.histogram("starts by zone and hour", counter.starts(zone, 1 << bits), ONE, hours)
    return NoisyEnds(found.starts, counts.counts, by_hour.counts, bits)


def buy_flows(counter: Counter, gate: Gate, moves: GridMoves, price: Fraction) -> Flows:
    """Moves by single cell: a trip spreads a weight of one over its hops."""
    cells, size = flow_cells(moves)
    noisy = gate.histogram("hops by cell", counter.hop_weights(cells, size, PARTS), SPREAD, price)
    return Flows(_trips(noisy), _deviation(gate, noisy))


def zone_bits(
    moves: GridMoves, number: float, gate: Gate, price: Fraction, full: float, *, per_zone: int
) -> int:
    """Return how many halvings of the grid leave `full` noise scales of trips in a cell, on average."""
    cells = number / _scale(gate, price) / full
    return max(0, min(moves.zones.depth, floor(log2(max(cells / per_zone, 1.0)))))


def _scale(gate: Gate, price: Fraction) -> float:
    scale = float(gate.scale(ONE, price))
    return sqrt(scale) if gate.budget.currency == "rho" else scale


def _trips(answer: NoisyCounts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return answer.counts / PARTS


def _deviation(gate: Gate, answer: NoisyCounts) -> float:
    scale = float(answer.question.scale)
    return (sqrt(scale) if gate.budget.currency == "rho" else sqrt(2) * scale) / PARTS
