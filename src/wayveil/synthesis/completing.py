"""Trips completed after a tree: moments in their time bins, ways on where they were cut, and missing visits."""

import numpy as np

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.projection import onto_total, round_keeping_total
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, WEEK, TimeBins
from wayveil.world.world import World

# The first Monday of the timeline: where weeks without a date are put.
FIRST_MONDAY = 4 * DAY


def times_within(bins: TimeBins, bin_: AnyInts, offsets: Ints, rng: np.random.Generator) -> Ints:
    """A moment inside each visit's bin, uniform, and in order within each trip."""
    start, end = bins.start[bin_], bins.end[bin_]
    moment = start + np.floor(rng.random(len(start)) * (end - start)).astype(np.int64)
    trip = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    # Bins do not decrease within a trip, so sorting by time leaves every moment in its bin.
    before = trip * (bins.end[-1] - bins.start[0])
    return np.sort(before + moment) - before + (FIRST_MONDAY if bins.period == WEEK else 0)


def order_by(keys: Ints, turn: Ints) -> Ints:
    """Order by keys from 0 on, and those of one key by their turn, a permutation: `np.lexsort`, many times as fast."""
    size = len(keys)
    if int(keys.max(initial=0)) >= (1 << 62) // max(size, 1):
        return np.lexsort((turn, keys))
    place = np.empty(size, np.int64)
    place[turn] = np.arange(size)
    found: Ints = place[np.sort(keys * size + turn) % max(size, 1)]
    return found


def timed_trips(
    world: World, bins: TimeBins, location: Int32s, bin_: AnyInts, offsets: Ints, rng: np.random.Generator
) -> Trips:
    """Trips whose visits have a location and a time bin."""
    return Trips(location, offsets, world, time=times_within(bins, bin_, offsets, rng))


def continue_trips(trips: Trips, chosen: Ints, steps: Ints, rng: np.random.Generator) -> Trips:
    """Let chosen trips go on for so many steps, as any of the trips do that pass their last two stops, or the last."""
    place, size = trips.location.astype(np.int64), np.int64(trips.world.size)
    inside = np.ones(trips.visits, np.int64)
    inside[trips.offsets[:-1][trips.lengths > 0]] = 0
    second = np.flatnonzero(inside)
    third = second[1:][np.diff(second) == 1]
    ways = []
    for at, key in ((third, place[third - 2] * size + place[third - 1]), (second, place[second - 1])):
        order = np.argsort(key, kind="stable")
        ways.append((key[order], place[at[order]]))
    last = trips.offsets[1:][chosen] - 1
    now, before = place[last], np.where(inside[last] == 1, place[np.maximum(last - 1, 0)], -1)
    who, where = [np.repeat(np.arange(len(trips)), trips.lengths)], [place]
    left = steps.copy()
    while len(chosen):
        found = np.full(len(chosen), -1, np.int64)
        for (keys, goals), key in zip(ways, (before * size + now, now), strict=True):
            first, beyond = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
            pick = first + np.floor(rng.random(len(key)) * (beyond - first)).astype(np.int64)
            known = (found < 0) & (beyond > first)
            found[known] = goals[pick[known]]
        who.append(chosen[found >= 0])
        where.append(found[found >= 0])
        left -= 1
        kept = (found >= 0) & (left > 0)
        chosen, before, now, left = chosen[kept], now[kept], found[kept], left[kept]
    owner, stops = np.concatenate(who), np.concatenate(where)
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(trips)))])
    return Trips(stops[order].astype(np.int32), offsets, trips.world)


def fill_up(made: Trips, size: PaidSize, bins: TimeBins | None, rng: np.random.Generator) -> Trips:
    """Fill trips up to as many as there were, where visits were bought by stop: thresholds take most of thin data.

    What is missing is known stop by stop and bin by bin, though not in whose trip: every new trip has one of the
    missing visits, and the others go to any trip, kept ones included, if that comes after what the tree kept of it. As
    many as were counted go where their trip has been.
    """
    new = max(round(size.trips) - len(made), 0)
    more = max(round(size.visits) - made.visits, new)
    if size.margins is None or more == 0:
        return made
    margins, total = size.margins, len(made) + new
    stops = np.sort(_draw(margins.stops, made.location, size.visits, more, rng))
    kept = made.trip_of_visit()
    shown = np.zeros(made.visits, np.int64) if bins is None or made.time is None else bins.bin_of(made.time)
    bin_ = (
        np.zeros(more, np.int64)
        if margins.times is None
        else _draw(margins.times, shown, size.visits, more, rng)
    )
    first = _apart(stops, round(margins.again * size.visits) - made.repeats(), new, rng)
    owners = np.concatenate([len(made) + np.arange(new), rng.integers(0, total, len(first) - new)])
    owners, sizes = rng.permutation(owners), np.diff(np.append(first, more))
    last = np.zeros(total, np.int64)
    np.maximum.at(last, kept, shown)
    if new:
        early = np.flatnonzero(np.minimum.reduceat(bin_, first) < last[owners])
        owners[early] = len(made) + rng.integers(0, new, len(early))
    owner = np.repeat(owners, sizes)
    every, trip = np.concatenate([shown, np.maximum(bin_, last[owner])]), np.concatenate([kept, owner])
    # Of one moment what was kept comes first, and what was added in any order.
    turn = np.concatenate([np.arange(made.visits), made.visits + rng.permutation(more)])
    order = order_by(trip * (1 if bins is None else bins.count) + every, turn)
    location = np.concatenate([made.location, stops]).astype(np.int32)[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(trip, minlength=total))]).astype(np.int64)
    if bins is None:
        return Trips(location, offsets, made.world)
    return timed_trips(made.world, bins, location, every[order], offsets, rng)


def _apart(stops: Ints, repeats: int, new: int, rng: np.random.Generator) -> Ints:
    """Of sorted visits, those that begin a run of visits to one stop by one trip: so many are repeats, at random.

    There are at least `new` runs, one for every new trip.
    """
    again = rng.permutation(1 + np.flatnonzero(np.diff(stops) == 0))
    alone = np.ones(len(stops), bool)
    alone[again[: max(min(repeats, len(stops) - new), 0)]] = False
    return np.flatnonzero(alone)


def _draw(noisy: Ints, shown: AnyInts, visits: float, count: int, rng: np.random.Generator) -> Ints:
    """Draw so many cells by what each lacks, in any order; where none lacks anything, by what was counted."""
    told = onto_total(noisy, visits)
    lacking: Floats = np.maximum(told - np.bincount(shown, minlength=len(told)), 0.0)
    weight = lacking if lacking.sum() > 0 else told
    cells = np.repeat(np.arange(len(told)), round_keeping_total(weight * (count / weight.sum()), rng))
    # Rounding may be one off.
    return rng.permutation(np.resize(cells, count))
