"""Zones of a world at every coarseness: near places share the first binary digits of their codes.

Places are halved at the median of the wider side of their box, each half likewise, and so on until every place is
alone. The code of a place is the way to it; its first b digits name one of 2^b zones with equally many places. Where a
world has no coordinates, places are halved in the order of their ids. All of it is public.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.world.geo import haversine, project
from wayveil.world.network import Network
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class Zones:
    """Codes of `depth` binary digits, one per place, all different."""

    code: Ints
    depth: int

    @classmethod
    def of_points(cls, x: Floats, y: Floats, digits: int | None = None) -> "Zones":
        """Halve points until each is alone, or only as often as codes of so many digits ask for."""
        points = np.column_stack([x, y])
        if len(points) == 0:
            return cls(np.zeros(0, np.int64), 0)
        depth = count_digits(len(points)) if digits is None else min(count_digits(len(points)), digits)
        code, order = np.zeros(len(points), np.int64), np.arange(len(points))
        # All boxes of a level are halved at once: `order` has the points box after box, from `starts` on.
        starts = np.zeros(1, np.int64)
        for _ in range(depth):
            sizes = np.diff(np.append(starts, len(points)))
            box = np.repeat(np.arange(len(starts)), sizes)
            inside = points[order]
            sides = np.maximum.reduceat(inside, starts) - np.minimum.reduceat(inside, starts)
            along = inside[np.arange(len(points)), np.argmax(sides, axis=1)[box]]
            order = order[np.lexsort((along, box))]
            lower = (sizes + 1) // 2
            upper = np.arange(len(points)) - starts[box] >= lower[box]
            code[order] = code[order] << 1 | upper
            starts = np.unique(np.concatenate([starts, (starts + lower)[lower < sizes]]))
        return cls(code, depth)

    def zone(self, places: AnyInts, bits: int) -> Ints:
        """The zone, one of 2^bits, of each place."""
        return self.code[places] >> max(self.depth - bits, 0)

    @cached_property
    def order(self) -> Ints:
        """The places in the order of their codes: those of any zone stand together."""
        return np.argsort(self.code, kind="stable")

    def slots(self, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Where in `order` the places with codes from `start` up to, not including, `end` begin and end."""
        ordered = self.code[self.order]
        return np.searchsorted(ordered, start), np.searchsorted(ordered, end)

    def pair(self, one: AnyInts, other: AnyInts) -> Ints:
        """A code for each pair of places, with the digits of both in turn: near pairs share its first digits."""
        return interleave(self.code[one], self.code[other], self.depth)


def count_digits(places: int) -> int:
    """Return the binary digits that tell so many places apart."""
    return max(0, (places - 1).bit_length())


def interleave(one: Ints, other: Ints, digits: int) -> Ints:
    """The binary digits of two numbers in turn, those of the first in front."""
    both = np.zeros(np.broadcast(one, other).shape, np.int64)
    for digit in range(digits):
        both |= ((one >> digit & 1) << 1 | (other >> digit & 1)) << 2 * digit
    return both


def take_apart(both: Ints, digits: int) -> tuple[Ints, Ints]:
    """The two numbers that were interleaved."""
    one, other = np.zeros_like(both), np.zeros_like(both)
    for digit in range(digits):
        pair = both >> 2 * digit
        one |= (pair >> 1 & 1) << digit
        other |= (pair & 1) << digit
    return one, other


class Geography:
    """Nearness in a world: zones of its places, zones of its edges, and metres between places."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.network = world if isinstance(world, Network) else None

    @cached_property
    def xy(self) -> tuple[Floats, Floats]:
        """Metres east and north; without coordinates, places stand in one line in the order of their ids."""
        if self.network is None:
            return np.arange(self.world.size, dtype=np.float64), np.zeros(self.world.size)
        return project(self.network.lat, self.network.lon)

    @cached_property
    def places(self) -> Zones:
        return Zones.of_points(*self.xy)

    @property
    def edge_digits(self) -> int:
        """Binary digits that tell all edges of a network apart."""
        return 0 if self.network is None else count_digits(self.network.edges)

    def edge_zones(self, digits: int) -> Ints:
        """Return the zone, one of 2^digits, of every edge of a network, by their midpoints."""
        if self.network is None:
            return np.zeros(0, np.int64)
        x, y = self.xy
        source, target = self.network.sources, self.network.indices
        return Zones.of_points((x[source] + x[target]) / 2, (y[source] + y[target]) / 2, digits).code

    @cached_property
    def triples(self) -> int:
        """In how many ways a move over an edge of the network can go on over another edge."""
        network = self.network
        return (
            0 if network is None else int(network.successors.degree(network.indices.astype(np.int64)).sum())
        )

    @cached_property
    def widest(self) -> float:
        """Metres across the world."""
        x, y = self.xy
        return float(max(np.hypot(np.ptp(x), np.ptp(y)), 1.0))

    def metres(self, one: AnyInts, other: AnyInts) -> Floats:
        """Return metres as the crow flies; without coordinates, different places are all equally far apart."""
        if self.network is None:
            return np.where(np.asarray(one) == np.asarray(other), 0.0, self.widest)
        lat, lon = self.network.lat, self.network.lon
        return haversine(lat[one], lon[one], lat[other], lon[other])


def quarter_leaves(starts: Ints, depth: int) -> Ints:
    """The first pair codes of the quarters of all leaves of a partition; leaves of a single pair stay as they are."""
    sizes = np.diff(np.append(starts, np.int64(1) << 2 * depth))
    quarters = starts[:, None] + (sizes // 4)[:, None] * np.arange(4)
    return np.unique(np.where((sizes >= 4)[:, None], quarters, starts[:, None]))
