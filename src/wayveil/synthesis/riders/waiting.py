"""Riders with a tap today, waiting for their next one where the search for them is short."""

from typing import NamedTuple

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.progress import track
from wayveil.synthesis.riders.roles import RuleArrays
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.timebins import DAY
from wayveil.world.trees import reverse_tree

_ROOTS_AT_ONCE = 256
_ZONE_METRES = 1_000.0


class Surroundings(NamedTuple):
    """Stops within reach of each stop, zone by zone: zones from the nearest outwards, and so the stops of each zone.

    Those of stop x are `near[first[x]:first[x + 1]]`, itself included. Zone number g of the zones around x, for g in
    `around[x]..around[x + 1]`, is `zone[g]`, and its stops are `near[begin[g]:begin[g + 1]]`. `seconds` is the least
    time from such a stop to x, by the network or on foot, whichever is quicker, rounded up; `longest` is the greatest
    least time between any two stops of the network. Points are metres east and north.
    """

    first: Ints
    near: Int32s
    metres: Floats
    seconds: Int32s
    around: Ints
    begin: Ints
    zone: Int32s
    zone_of: Int32s
    longest: int
    east: Floats
    north: Floats


def surroundings(network: Network, reach_metres: float, walking: float) -> Surroundings:
    """Everything within reach of every stop; `walking` is in metres per second."""
    east, north = project(network.lat, network.lon)
    points = np.column_stack([east, north])
    zone_of = _zones(east, north)
    tree = scipy.spatial.cKDTree(points)
    near, metres, seconds, longest = [], [], [], 0
    first, around, begin, zone = [0], [0], [np.zeros(1, np.int64)], []
    starts = range(0, network.size, _ROOTS_AT_ONCE)
    for start in track(starts, "ways between stops"):
        roots = np.arange(start, min(start + _ROOTS_AT_ONCE, network.size))
        ride = reverse_tree(network, roots, "seconds").distance
        walk = np.hypot(east[roots, None] - east[None], north[roots, None] - north[None]) / walking
        least = np.ceil(np.minimum(ride, walk)).astype(np.int64)
        longest = max(longest, int(least.max()))
        for row, reached in enumerate(tree.query_ball_point(points[roots], reach_metres)):
            stops = np.sort(np.asarray(reached, np.int32))
            away = np.hypot(east[stops] - east[roots[row]], north[stops] - north[roots[row]])
            nearest = np.full(zone_of.max() + 1, np.inf)
            np.minimum.at(nearest, zone_of[stops], away)
            order = np.lexsort((away, zone_of[stops], nearest[zone_of[stops]]))
            stops = stops[order]
            new = np.flatnonzero(np.r_[True, np.diff(zone_of[stops]) != 0])
            near.append(stops)
            metres.append(away[order])
            seconds.append(least[row, stops].astype(np.int32))
            zone.append(zone_of[stops[new]])
            begin.append(first[-1] + np.append(new[1:], len(stops)))
            around.append(around[-1] + len(new))
            first.append(first[-1] + len(stops))
    return Surroundings(
        np.array(first, np.int64),
        np.concatenate(near),
        np.concatenate(metres),
        np.concatenate(seconds),
        np.array(around, np.int64),
        np.concatenate(begin),
        np.concatenate(zone),
        zone_of,
        longest,
        east,
        north,
    )


def _zones(east: Floats, north: Floats) -> Int32s:
    """Squares of a grid, numbered; those without a stop have no number."""
    column, row = (np.floor(axis / _ZONE_METRES).astype(np.int64) for axis in (east, north))
    return np.unique(column * (1 << 32) + row, return_inverse=True)[1].astype(np.int32)


QUARTER = 900
SLOTS = DAY // QUARTER
WORDS = 2  # of 64 slots each
WAITING_KINDS = 4
NOBODY = -1


class People(NamedTuple):
    """Riders as columns, as many as there could be, and for each tap its rider, purpose and scenario."""

    role: NDArray[np.int8]
    plan: NDArray[np.uint8]
    home: Int32s
    primary: Int32s
    last: Int32s
    last_time: Ints
    last_purpose: NDArray[np.int8]
    today: Ints
    taps_today: NDArray[np.int8]
    taps_for: NDArray[np.int8]
    rider: Int32s
    purpose: NDArray[np.int8]
    scenario: NDArray[np.int8]

    @classmethod
    def nobody_yet(cls, taps: int, purposes: int) -> "People":
        """Room for one rider per tap."""
        return cls(
            np.zeros(taps, np.int8),
            np.zeros(taps, np.uint8),
            np.zeros(taps, np.int32),
            np.full(taps, NOBODY, np.int32),
            np.zeros(taps, np.int32),
            np.zeros(taps, np.int64),
            np.zeros(taps, np.int8),
            np.full(taps, -(1 << 60), np.int64),
            np.zeros(taps, np.int8),
            np.zeros((taps, purposes), np.int8),
            np.full(taps, NOBODY, np.int32),
            np.zeros(taps, np.int8),
            np.zeros(taps, np.int8),
        )


class Waiting(NamedTuple):
    """Doubly linked lists of riders by (stop, kind, role, slot of the last tap), with a bit for every list in use.

    There are four kinds. Riders whose primary place is known wait apart (`kind & 2`), since only they can have the
    bonus: for all others the search ends much nearer. And riders who may tap no more for what they last tapped for
    wait apart (`kind & 1`), since only a new trip can suit them.
    """

    head: Int32s
    after: Int32s
    before: Int32s
    by_role: NDArray[np.uint64]
    by_stop: NDArray[np.uint64]  # the same bits for all roles together,
    by_zone: NDArray[np.uint64]  # and for all stops of a zone,
    crowd: Int32s  # where this many riders wait in each slot

    @classmethod
    def nobody_yet(cls, taps: int, stops: int, zones: int, roles: int) -> "Waiting":
        """Room for one rider per tap; the lists are emptied at the beginning of each day."""
        return cls(
            np.empty(WAITING_KINDS * stops * roles * SLOTS, np.int32),
            np.empty(taps, np.int32),
            np.empty(taps, np.int32),
            np.empty(WAITING_KINDS * stops * roles * WORDS, np.uint64),
            np.empty(WAITING_KINDS * stops * WORDS, np.uint64),
            np.empty(WAITING_KINDS * zones * WORDS, np.uint64),
            np.empty(WAITING_KINDS * zones * SLOTS, np.int32),
        )


@njit(cache=True)
def empty(lists: Waiting) -> None:
    """Send everybody home."""
    lists.head[:], lists.crowd[:] = NOBODY, 0
    lists.by_role[:], lists.by_stop[:], lists.by_zone[:] = 0, 0, 0


@njit(cache=True)
def kind_of(people: People, rules: RuleArrays, rider: int) -> int:
    role, purpose = people.role[rider], people.last_purpose[rider]
    shut = people.taps_for[rider, purpose] >= rules.most[role, purpose]
    return 2 * int(people.primary[rider] != NOBODY) + int(shut)


@njit(cache=True)
def put(lists: Waiting, people: People, rules: RuleArrays, zone_of: Int32s, rider: int) -> None:
    kind, slot = kind_of(people, rules, rider), (people.last_time[rider] % DAY) // QUARTER
    stop = people.last[rider] * WAITING_KINDS + kind
    row, zone = (
        stop * len(rules.taps_a_day) + people.role[rider],
        zone_of[people.last[rider]] * WAITING_KINDS + kind,
    )
    at, word, bit = row * SLOTS + slot, slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    lists.after[rider], lists.before[rider] = lists.head[at], NOBODY
    if lists.head[at] != NOBODY:
        lists.before[lists.head[at]] = rider
    lists.head[at] = rider
    lists.by_role[row * WORDS + word] |= bit
    lists.by_stop[stop * WORDS + word] |= bit
    lists.by_zone[zone * WORDS + word] |= bit
    lists.crowd[zone * SLOTS + slot] += 1


@njit(cache=True)
def pull(lists: Waiting, people: People, rules: RuleArrays, zone_of: Int32s, rider: int) -> None:
    kind, slot = kind_of(people, rules, rider), (people.last_time[rider] % DAY) // QUARTER
    stop, roles = people.last[rider] * WAITING_KINDS + kind, len(rules.taps_a_day)
    row, zone = stop * roles + people.role[rider], zone_of[people.last[rider]] * WAITING_KINDS + kind
    at, word, bit = row * SLOTS + slot, slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    after, before = lists.after[rider], lists.before[rider]
    if before == NOBODY:
        lists.head[at] = after
    else:
        lists.after[before] = after
    if after != NOBODY:
        lists.before[after] = before
    if lists.head[at] == NOBODY:
        lists.by_role[row * WORDS + word] &= ~bit
        left = np.uint64(0)
        for other in range(stop * roles, (stop + 1) * roles):
            left |= lists.by_role[other * WORDS + word]
        lists.by_stop[stop * WORDS + word] = left
    lists.crowd[zone * SLOTS + slot] -= 1
    if lists.crowd[zone * SLOTS + slot] == 0:
        lists.by_zone[zone * WORDS + word] &= ~bit


@njit(cache=True)
def latest_slot(used: NDArray[np.uint64], row: int, slot: int) -> int:
    """The last slot in use that is not after `slot`, or -1."""
    word = slot >> 6
    bits = used[row * WORDS + word] & (~np.uint64(0) >> np.uint64(63 - (slot & 63)))
    while bits == np.uint64(0):
        word -= 1
        if word < 0:
            return -1
        bits = used[row * WORDS + word]
    top = 0
    for step in (32, 16, 8, 4, 2, 1):
        if bits >> np.uint64(step) != np.uint64(0):
            bits >>= np.uint64(step)
            top += step
    return (word << 6) + top
