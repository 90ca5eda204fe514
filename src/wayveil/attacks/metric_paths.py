"""Trips as paths in metres, each distinct one once; and linkage: does a released trip lie on a person's own?

Linkage: is there a released trip that lies on a person's own trip?

The nearest released trip is looked for by warping distance (see `attacks/warping.py`), in space, and where both sides
carry times also in space and time, where a second counts like a metre. A target is linked where it is closer than a
public number of metres on average along the way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.attacks.rates import Rate
from wayveil.attacks.targets import uniform, words
from wayveil.attacks.warping import MetricPaths, distances_of_pairs, nearest
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.world import World

# A minute of difference counts like a minute on foot, at one metre a second.
METRES_PER_SECOND = 1.0


def coordinates(world: World) -> tuple[Floats, Floats]:
    """East and north of every location in metres; a world without coordinates is refused."""
    if not isinstance(world, Network):
        raise ParameterError(
            "this world has no coordinates (it is a plain list); distances between trips need a GTFS feed or a saved "
            "network"
        )
    return project(world.lat, world.lon)


def check_same_world(raw: Trips, released: Trips) -> None:
    """Refuse trips over two different worlds: equal indices would then mean different places."""
    if raw.world is not released.world and raw.world.fingerprint() != released.world.fingerprint():
        raise ParameterError(
            "raw trips and release refer to different worlds; read both with the same network"
        )


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct rows of something ragged: which one each row is, the first row of each, and how many there are of it."""

    of_row: Ints
    first: Ints
    copies: Ints


def row_hashes(tokens: AnyInts, offsets: Ints) -> NDArray[np.uint64]:
    """Two independent 64-bit hashes of each row's tokens in order (two rows clash with a chance of 1e-30)."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    place = np.arange(len(tokens)) - offsets[:-1][row]
    sums = np.zeros((len(offsets) - 1, 2), np.uint64)
    with np.errstate(over="ignore"):
        for column, label in enumerate(("first", "second")):
            word = words(label, 0, tokens, place)
            total = np.concatenate([[np.uint64(0)], np.cumsum(word)])
            sums[:, column] = total[offsets[1:]] - total[offsets[:-1]]
    return sums


def distinct_rows(tokens: AnyInts, offsets: Ints) -> Distinct:
    """Rows told apart by their hashes, and in the order of these, which does not depend on the order of the rows."""
    sums = row_hashes(tokens, offsets)
    order = np.lexsort((sums[:, 1], sums[:, 0]))
    ordered = sums[order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    of_row = np.empty(len(order), np.int64)
    of_row[order] = np.cumsum(new) - 1
    return Distinct(of_row, order[new], np.bincount(of_row, minlength=int(new.sum())))


def paths_of(trips: Trips, *, timed: bool) -> MetricPaths:
    """Every trip as a path; with times, a third coordinate of one metre a second from the first midnight."""
    east, north = coordinates(trips.world)
    third = np.zeros(trips.visits)
    if timed:
        if trips.time is None:
            raise ParameterError("these trips carry no times")
        third = METRES_PER_SECOND * trips.time.astype(np.float64)
    points = np.column_stack([east[trips.location], north[trips.location], third])
    return MetricPaths.of(points, trips.offsets)


def distinct_paths(trips: Trips, *, timed: bool) -> tuple[MetricPaths, Distinct]:
    """The different paths among the trips, and which one each trip is. Trips must not be empty."""
    tokens: NDArray[np.int64] = trips.location.astype(np.int64)
    if timed and trips.time is not None:
        tokens = tokens + trips.world.size * trips.time
    found = distinct_rows(tokens, trips.offsets)
    return paths_of(trips.take(found.first), timed=timed), found


LINKED_METRES = 100.0


@dataclass(frozen=True, eq=False)
class Nearness:
    """Metres from each target to the nearest released trip, and to one that was taken blindly."""

    metres: Floats
    blind: Floats

    def linked(self, closer_than: float) -> Rate:
        return Rate.of(self.metres < closer_than)

    def naive(self, closer_than: float) -> Rate:
        return Rate.of(self.blind < closer_than)


def nearness(targets: Trips, released: Trips, *, timed: bool, seed: int) -> Nearness:
    """Search for every target; equal targets and equal released trips are looked at once."""
    released = released.take(released.lengths > 0)
    theirs, found = distinct_paths(released, timed=timed)
    mine, same = distinct_paths(targets, timed=timed)
    metres, _ = nearest(mine, theirs)
    metres = metres[same.of_row]
    if len(released) == 0:
        return Nearness(metres, metres)
    lot = uniform("a released trip taken blindly", seed, np.arange(len(targets)))
    drawn = found.of_row[(lot * len(released)).astype(np.int64)]
    return Nearness(metres, distances_of_pairs(mine, same.of_row, theirs, drawn))
