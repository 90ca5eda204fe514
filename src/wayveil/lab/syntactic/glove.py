"""GLOVE (Gramaglia and Fiore 2015): k riders become one sequence of boxes and intervals that holds all of them.

A fingerprint is a sequence of samples, each a box and an interval. Stretching two samples over each other takes

    effort = (space / 20 km, at most 1) / 2 + (time / 8 h, at most 1) / 2

where space is by how much the sides of the two boxes grow, and time by how much the intervals do, each the mean of
both sides weighted by the sizes of the groups. The effort of two fingerprints is the mean, over the samples of the
longer one, of the least effort to any sample of the shorter. The two groups with the least effort are merged until all
groups have k riders. Decisions that the paper leaves open: a sample of the shorter one that nothing matched joins the
group of its own best match; where intervals overlap after a merge, they are cut, and the common part holds the boxes of
all (temporal reshaping), with no more samples than before; a rider who is left over joins the nearest finished group,
where the public code lowers k instead.
"""

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray
from pydantic import Field

from wayveil.arrays import Floats, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.lab.syntactic.method import Lots, SyntacticMethod, check_crowd, need_times
from wayveil.progress import step, track
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.network import Network

MOST_METRES, MOST_SECONDS = 20_000.0, 8 * 3_600.0
MOST_RECORDS = 12_000
WEST, EAST, SOUTH, NORTH, BEGIN, END = range(6)


class Glove(SyntacticMethod):
    """Groups of at least k riders, each with one generalised fingerprint, and trips drawn from it."""

    name: ClassVar[str] = "glove"
    summary: ClassVar[str] = "boxes and intervals that each hold at least k riders, and trips drawn from them"

    k: int = Field(2, ge=2, description="riders in a group at least")

    def apply(self, trips: Trips, lots: Lots) -> tuple[Trips, pl.DataFrame, dict[str, Any]]:
        """Merge, reshape, draw."""
        sample, offsets, network = fingerprints(trips, self.name)
        check_crowd(self.k, len(offsets) - 1, "riders" if trips.rider is not None else "trips")
        if len(offsets) - 1 > MOST_RECORDS:
            raise ParameterError(
                f"glove compares all pairs of riders and takes {MOST_RECORDS:,} at most, not {len(offsets) - 1:,}; "
                "bring a sample"
            )
        group, boxes, of_box, leftovers = merge_groups(sample, offsets, self.k)
        sizes = np.bincount(group)
        table = _table(boxes, of_box, sizes, network)
        facts = {
            "groups": len(sizes),
            "smallest_group": int(sizes.min()),
            "leftovers": leftovers,
            "median_box_metres": float(
                np.median(np.maximum(boxes[:, EAST] - boxes[:, WEST], boxes[:, NORTH] - boxes[:, SOUTH]))
            ),
            "median_interval_seconds": float(np.median(boxes[:, END] - boxes[:, BEGIN])),
        }
        with step("drawing trips from boxes"):
            return draw_trips(boxes, of_box, sizes, network, lots), table, facts


def fingerprints(trips: Trips, method: str) -> tuple[Floats, Ints, Network]:
    """Every rider's visits in the order of time as boxes without extent, and where each rider's begin."""
    time = need_times(trips, method)
    if not isinstance(trips.world, Network):
        raise ParameterError(f"{method} needs coordinates; this world is a plain list")
    east, north = project(trips.world.lat, trips.world.lon)
    rider = np.arange(len(trips)) if trips.rider is None else trips.rider
    alone = rider < 0
    rider = np.where(alone, rider.max(initial=0) + 1 + np.arange(len(trips)), rider)
    person = np.unique(rider, return_inverse=True)[1][trips.trip_of_visit()]
    order = np.lexsort((time, person))
    offsets = np.searchsorted(person[order], np.arange(int(person.max()) + 2)).astype(np.int64)
    x, y, t = (part[order].astype(np.float64) for part in (east[trips.location], north[trips.location], time))
    return np.column_stack([x, x, y, y, t, t]), offsets, trips.world


def merge_groups(sample: Floats, offsets: Ints, k: int) -> tuple[Ints, Floats, Ints, int]:
    """The group of each rider, the boxes of all groups one after the other, where each group's begin, and leftovers."""
    count = len(offsets) - 1
    sample, used = sample.copy(), np.diff(offsets)
    size = np.ones(count, np.int64)
    for at in range(count):
        used[at] = _reshape(sample[offsets[at] : offsets[at] + used[at]])
    effort = np.full((count, count), np.inf, np.float32)
    for at in track(range(count), "efforts of pairs"):
        _efforts(sample, offsets, used, size, at, at + 1, effort)
    with step("merging riders"):
        parent, leftovers = _merge(sample, offsets, used, size, effort, k)
    roots, group = np.unique(parent, return_inverse=True)
    boxes = np.concatenate([sample[offsets[root] : offsets[root] + used[root]] for root in roots])
    return (
        group.astype(np.int64),
        boxes,
        np.concatenate([[0], np.cumsum(used[roots])]).astype(np.int64),
        leftovers,
    )


@njit(cache=True)
def sample_effort(a: Floats, b: Floats, na: int, nb: int) -> float:
    """The effort to stretch two samples, of groups of na and nb riders, over each other."""
    mine, theirs = 0.0, 0.0
    for low in (0, 2):
        mine += max(a[low] - b[low], 0.0) + max(b[low + 1] - a[low + 1], 0.0)
        theirs += max(b[low] - a[low], 0.0) + max(a[low + 1] - b[low + 1], 0.0)
    space = (na * mine + nb * theirs) / (na + nb)
    mine = max(a[4] - b[4], 0.0) + max(b[5] - a[5], 0.0)
    theirs = max(b[4] - a[4], 0.0) + max(a[5] - b[5], 0.0)
    time = (na * mine + nb * theirs) / (na + nb)
    return 0.5 * min(space / MOST_METRES, 1.0) + 0.5 * min(time / MOST_SECONDS, 1.0)


@njit(cache=True)
def _effort(a: Floats, b: Floats, na: int, nb: int) -> float:
    if len(b) > len(a):
        a, b, na, nb = b, a, nb, na
    total = 0.0
    for i in range(len(a)):
        least = 2.0
        for j in range(len(b)):
            least = min(least, sample_effort(a[i], b[j], na, nb))
        total += least
    return total / len(a)


@njit(cache=True, nogil=True)
def _efforts(
    sample: Floats, offsets: Ints, used: Ints, size: Ints, at: int, first: int, effort: NDArray[np.float32]
) -> None:
    """Fill row and column `at` from `first` on."""
    a = sample[offsets[at] : offsets[at] + used[at]]
    for other in range(first, len(used)):
        if other != at and used[other] > 0:
            b = sample[offsets[other] : offsets[other] + used[other]]
            effort[at, other] = effort[other, at] = _effort(a, b, size[at], size[other])


@njit(cache=True)
def _unite(a: Floats, b: Floats) -> None:
    for low in (0, 2, 4):
        a[low] = min(a[low], b[low])
        a[low + 1] = max(a[low + 1], b[low + 1])


@njit(cache=True)
def _insert(boxes: Floats, count: int, box: Floats) -> None:
    """Put a box at its place among the first `count`, which are in the order of time."""
    at = count
    while at > 0 and boxes[at - 1, 4] > box[4]:
        boxes[at] = boxes[at - 1]
        at -= 1
    boxes[at] = box


@njit(cache=True)
def _reshape(boxes: Floats) -> int:
    """Cut samples into pieces whose intervals do not overlap, at most as many as there were; how many there are.

    Where intervals overlap, a piece holds the boxes of all of them. Too many are united with a neighbour in time,
    always the two that take the least effort.
    """
    n = len(boxes)
    moments = np.empty(2 * n)
    for i in range(2 * n):
        moment, at = boxes[i // 2, 4 + i % 2], i
        while at > 0 and moments[at - 1] > moment:
            moments[at] = moments[at - 1]
            at -= 1
        moments[at] = moment
    pieces, count = np.empty((3 * n, 6)), 0
    for i in range(2 * n - 1):
        low, high = moments[i], moments[i + 1]
        if low == high:
            continue
        held = False
        for box in boxes:
            if box[4] <= low and box[5] >= high:
                if not held:
                    pieces[count] = box
                _unite(pieces[count], box)
                held = True
        if held:
            pieces[count, 4], pieces[count, 5] = low, high
            count += 1
    for box in boxes:
        if box[4] < box[5]:
            continue
        held = False
        for at in range(count):
            if not held and pieces[at, 4] <= box[4] <= pieces[at, 5]:
                _unite(pieces[at], box)
                held = True
        if not held:
            _insert(pieces, count, box)
            count += 1
    while count > n:
        best, least = 0, 3.0
        for at in range(count - 1):
            effort = sample_effort(pieces[at], pieces[at + 1], 1, 1)
            if effort < least:
                best, least = at, effort
        _unite(pieces[best], pieces[best + 1])
        for at in range(best + 1, count - 1):
            pieces[at] = pieces[at + 1]
        count -= 1
    boxes[:count] = pieces[:count]
    return count


@njit(cache=True)
def _fuse(longer: Floats, shorter: Floats, nl: int, ns: int) -> Floats:
    """One fingerprint that holds both: at most as many samples as the shorter one."""
    made = shorter.copy()
    matched = np.zeros(len(shorter), np.bool_)
    to = np.empty(len(longer), np.int64)
    for i in range(len(longer)):
        least = 3.0
        for j in range(len(shorter)):
            effort = sample_effort(longer[i], shorter[j], nl, ns)
            if effort < least:
                least, to[i] = effort, j
        matched[to[i]] = True
    for i in range(len(longer)):
        _unite(made[to[i]], longer[i])
    for j in range(len(shorter)):
        if not matched[j]:
            least, best = 3.0, 0
            for i in range(len(longer)):
                effort = sample_effort(longer[i], shorter[j], nl, ns)
                if effort < least:
                    least, best = effort, i
            _unite(made[to[best]], shorter[j])
    kept = made[matched]
    return kept[: _reshape(kept)].copy()


@njit(cache=True)
def _nearest(effort: NDArray[np.float32], open_: Mask, at: int) -> int:
    best = -1
    for other in range(len(open_)):
        if other != at and open_[other] and (best < 0 or effort[at, other] < effort[at, best]):
            best = other
    return best


@njit(cache=True)
def _join(sample: Floats, offsets: Ints, used: Ints, size: Ints, parent: Ints, one: int, other: int) -> int:
    """Merge two groups into the slot of the one with more samples; which slot that is."""
    if used[other] > used[one]:
        one, other = other, one
    made = _fuse(
        sample[offsets[one] : offsets[one] + used[one]],
        sample[offsets[other] : offsets[other] + used[other]],
        size[one],
        size[other],
    )
    sample[offsets[one] : offsets[one] + len(made)] = made
    used[one], used[other] = len(made), 0
    size[one] += size[other]
    for i in range(len(parent)):
        if parent[i] == other:
            parent[i] = one
    return one


@njit(cache=True, nogil=True)
def _merge(
    sample: Floats, offsets: Ints, used: Ints, size: Ints, effort: NDArray[np.float32], k: int
) -> tuple[Ints, int]:
    count = len(used)
    parent = np.arange(count)
    open_ = np.ones(count, np.bool_)
    near = np.empty(count, np.int64)
    for i in range(count):
        near[i] = _nearest(effort, open_, i)
    left = count
    while left > 1:
        one = -1
        for i in range(count):
            if open_[i] and (one < 0 or effort[i, near[i]] < effort[one, near[one]]):
                one = i
        other = near[one]
        slot = _join(sample, offsets, used, size, parent, one, other)
        open_[one], open_[other] = False, False
        left -= 2
        if size[slot] < k:
            open_[slot] = True
            left += 1
            for i in range(count):
                if open_[i] and i != slot:
                    value = _effort(
                        sample[offsets[slot] : offsets[slot] + used[slot]],
                        sample[offsets[i] : offsets[i] + used[i]],
                        size[slot],
                        size[i],
                    )
                    effort[slot, i], effort[i, slot] = value, value
            near[slot] = _nearest(effort, open_, slot)
        for i in range(count):
            if open_[i] and i != slot and left > 1:
                if near[i] == one or near[i] == other:
                    near[i] = _nearest(effort, open_, i)
                elif open_[slot] and effort[i, slot] < effort[i, near[i]]:
                    near[i] = slot
    leftovers = 0
    for i in range(count):
        if open_[i]:
            leftovers = size[i]
            best, least = -1, 3.0
            for other in range(count):
                if used[other] > 0 and not open_[other]:
                    value = _effort(
                        sample[offsets[i] : offsets[i] + used[i]],
                        sample[offsets[other] : offsets[other] + used[other]],
                        size[i],
                        size[other],
                    )
                    if value < least:
                        best, least = other, value
            _join(sample, offsets, used, size, parent, i, best)
    return parent, leftovers


def _table(boxes: Floats, of_box: Ints, sizes: Ints, network: Network) -> pl.DataFrame:
    """One row per box: group, its riders, sides in degrees, interval in seconds of the timeline."""
    east, north = project(network.lat, network.lon)
    # The projection is linear, so two places give it back.
    (e0, e1), (n0, n1) = ((axis.argmin(), axis.argmax()) for axis in (east, north))
    lon_per_metre = (network.lon[e1] - network.lon[e0]) / max(east[e1] - east[e0], 1e-9)
    lat_per_metre = (network.lat[n1] - network.lat[n0]) / max(north[n1] - north[n0], 1e-9)
    group = np.repeat(np.arange(len(sizes)), np.diff(of_box))
    return pl.DataFrame(
        {
            "group": group,
            "riders": sizes[group],
            "west": network.lon[e0] + (boxes[:, WEST] - east[e0]) * lon_per_metre,
            "east": network.lon[e0] + (boxes[:, EAST] - east[e0]) * lon_per_metre,
            "south": network.lat[n0] + (boxes[:, SOUTH] - north[n0]) * lat_per_metre,
            "north": network.lat[n0] + (boxes[:, NORTH] - north[n0]) * lat_per_metre,
            "begin": boxes[:, BEGIN].astype(np.int64),
            "end": boxes[:, END].astype(np.int64),
        }
    )


def draw_trips(boxes: Floats, of_box: Ints, sizes: Ints, network: Network, lots: Lots) -> Trips:
    """One trip per rider: in each box of the group a public place and a moment, all equally likely."""
    east, north = project(network.lat, network.lon)
    order = np.argsort(east, kind="stable")
    sorted_east = east[order]
    places: list[Ints] = []
    for box in boxes:
        low, high = (
            np.searchsorted(sorted_east, box[WEST], "left"),
            np.searchsorted(sorted_east, box[EAST], "right"),
        )
        inside = order[low:high]
        places.append(inside[(north[inside] >= box[SOUTH]) & (north[inside] <= box[NORTH])])
    known = np.array([len(part) for part in places])
    start = np.concatenate([[0], np.cumsum(known)])[:-1]
    flat = np.concatenate(places)
    per_trip = np.repeat(np.diff(of_box), sizes)
    first_box = np.repeat(of_box[:-1], sizes)
    offsets = np.concatenate([[0], np.cumsum(per_trip)]).astype(np.int64)
    box = np.arange(offsets[-1]) + np.repeat(first_box - offsets[:-1], per_trip)
    location = flat[start[box] + lots.below(known[box], len(box))]
    span = boxes[box, END] - boxes[box, BEGIN]
    time = (boxes[box, BEGIN] + np.floor(lots.draw(len(box)) * (span + 1))).astype(np.int64)
    return Trips(location.astype(np.int32), offsets, network, time)
