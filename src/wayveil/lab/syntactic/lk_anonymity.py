"""LK-anonymity, the baseline of the SafePath study: whoever knows L visits of a trip is left with K trips.

Every sequence of at most L (place, time) pairs that occurs in the output is shared by at least K trips. A sequence that
fewer share is violating, and minimally so if none of its own parts is. Pairs are suppressed until no sequence violates:
`global` takes a pair out of all trips, `local` only out of the trips that hold the violating sequence (which can make
new violations, so it is repeated until there are none). Which pair goes is greedy: most violations removed per visit
lost. Times are known and written in bins.
"""

from functools import reduce
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from wayveil.arrays import Ints, Mask
from wayveil.errors import ParameterError
from wayveil.lab.syntactic.method import Lots, SyntacticMethod, check_crowd, need_times
from wayveil.progress import step
from wayveil.trips.trips import Trips

LARGEST_KEY = 1 << 62


class LKAnonymity(SyntacticMethod):
    """Suppression until every sequence of at most L pairs is shared by K trips."""

    name: ClassVar[str] = "lk-anonymity"
    summary: ClassVar[str] = "raw trips without the (place, time) pairs that too few share"

    L: int = Field(2, ge=1, le=4, description="pairs that an attacker may know")
    K: int = Field(5, ge=2, description="trips that must share every sequence of so many pairs")
    suppression: Literal["global", "local"] = Field(
        "local", description="from all trips, or from violating ones"
    )
    bin_minutes: int = Field(60, ge=1, le=1440, description="width of a time bin")

    def apply(self, trips: Trips, lots: Lots) -> tuple[Trips, pl.DataFrame, dict[str, Any]]:
        """Suppress; nothing is drawn."""
        time = need_times(trips, self.name) // (60 * self.bin_minutes)
        check_crowd(self.K, len(trips), "trips")
        distinct, pair = np.unique(trips.location + trips.world.size * time, return_inverse=True)
        alive = np.ones(trips.visits, bool)
        trip = trips.trip_of_visit()
        removed: list[int] = []
        rounds = 0
        with step("suppressing"):
            while len(violating := minimal_violations(trip[alive], pair[alive], self.L, self.K)):
                rounds += 1
                visits = np.bincount(pair[alive], minlength=len(distinct))
                if self.suppression == "global":
                    chosen = _greedy_cover(violating, visits)
                    alive &= ~np.isin(pair, chosen)
                    removed += chosen.tolist()
                else:
                    alive &= ~_in_violating_trips(trip, pair, alive, violating, visits)
        kept = trips.keep_visits(alive)
        binned = Trips(
            kept.location, kept.offsets, kept.world, (time * 60 * self.bin_minutes)[alive], kept.rider
        )
        gone = np.bincount(pair[~alive], minlength=len(distinct))
        table = pl.DataFrame(
            {
                "stop_id": trips.world.ids[distinct % trips.world.size].tolist(),
                "begin": (distinct // trips.world.size) * 60 * self.bin_minutes,
                "suppressed_visits": gone,
                "kept_visits": np.bincount(pair[alive], minlength=len(distinct)),
            }
        ).filter(pl.col("suppressed_visits") > 0)
        facts = {
            "suppressed_visits": int((~alive).sum()),
            "suppressed_share": float((~alive).mean()),
            "trips_left": int((binned.lengths > 0).sum()),
            "rounds": rounds,
        }
        return binned.take(binned.lengths > 0), table, facts


def minimal_violations(trip: Ints, pair: Ints, most: int, k: int) -> Ints:
    """Sequences of at most `most` pairs that occur in fewer than k trips while all their parts occur in k or more.

    One row per sequence, filled up with -1. Visits are in the order of trips and, within them, of the sequence.
    """
    size = int(pair.max(initial=0)) + 1
    if size**most > LARGEST_KEY:
        raise ParameterError(
            f"{size:,} different pairs are too many to count sequences of {most}; use wider time bins"
        )
    found: list[Ints] = []
    frequent: list[Ints] = []
    keep = np.ones(len(trip), bool)
    for length in range(1, most + 1):
        key, owner = _sequences(trip[keep], pair[keep], length, size, frequent)
        if len(key) == 0:
            break
        order = np.lexsort((owner, key))
        key, owner = key[order], owner[order]
        once = np.ones(len(key), bool)
        once[1:] = (key[1:] != key[:-1]) | (owner[1:] != owner[:-1])
        value, support = np.unique(key[once], return_counts=True)
        rare = value[support < k]
        rows = np.full((len(rare), most), -1, np.int64)
        for place in range(length):
            rows[:, place] = rare // size ** (length - 1 - place) % size
        found.append(rows)
        frequent.append(value[support >= k])
        if length == 1:
            keep = np.isin(pair, frequent[0])
    return np.concatenate(found) if found else np.empty((0, most), np.int64)


def _sequences(trip: Ints, pair: Ints, length: int, size: int, frequent: list[Ints]) -> tuple[Ints, Ints]:
    """All sequences of so many pairs, with the trip of each, all of whose parts are frequent."""
    if length == 1:
        return pair, trip
    # Longer ones grow from the frequent ones that are one pair shorter.
    key, owner, last = pair, trip, np.arange(len(pair))
    for grown in range(2, length + 1):
        end = np.searchsorted(trip, owner, side="right")
        more = end - last - 1
        source = np.repeat(np.arange(len(key)), more)
        before = np.concatenate([[0], np.cumsum(more)])[:-1]
        following = last[source] + 1 + (np.arange(len(source)) - before[source])
        key = key[source] * size + pair[following]
        owner, last = owner[source], following
        fine = np.ones(len(key), bool)
        parts = [key // size ** (grown - 1 - place) % size for place in range(grown)]
        for shorter in range(2, grown if grown == length else grown + 1):
            for chosen in combinations(range(grown), shorter):
                part = sum(parts[at] * size ** (shorter - 1 - i) for i, at in enumerate(chosen))
                fine &= np.isin(part, frequent[shorter - 1])
        key, owner, last = key[fine], owner[fine], last[fine]
    return key, owner


def _greedy_cover(violating: Ints, visits: Ints) -> Ints:
    """Pairs that together hit every violating sequence: one after the other, most hits per visit lost first."""
    left, chosen = violating, []
    while len(left):
        hits = np.bincount(left[left >= 0], minlength=len(visits))
        best = int(np.argmax(hits / (1 + visits)))
        chosen.append(best)
        left = left[~(left == best).any(axis=1)]
    return np.array(chosen, np.int64)


def _in_violating_trips(trip: Ints, pair: Ints, alive: Mask, violating: Ints, visits: Ints) -> Mask:
    """Visits to suppress: of every violating sequence the pair with the best score, in the trips that hold it."""
    hits = np.bincount(violating[violating >= 0], minlength=len(visits))
    score = np.append(hits / (1 + visits), -1.0)
    victim = violating[np.arange(len(violating)), score[violating].argmax(axis=1)]
    gone = np.zeros(len(trip), bool)
    # A sequence of one pair is in every trip that has the pair.
    single = (violating >= 0).sum(axis=1) == 1
    gone |= alive & np.isin(pair, victim[single])
    rows, number = violating[~single], len(visits)
    if len(rows) == 0:
        return gone
    # The trips that hold each pair, ascending.
    holding = np.unique(pair[alive] * (trip.max() + 1) + trip[alive])
    owner = holding % (trip.max() + 1)
    bounds = np.searchsorted(holding // (trip.max() + 1), np.arange(number + 1))
    lost = []
    for row, one in zip(rows, victim[~single], strict=True):
        inside = reduce(
            lambda a, b: np.intersect1d(a, b, assume_unique=True),
            [owner[bounds[part] : bounds[part + 1]] for part in row[row >= 0]],
        )
        lost.append(inside * number + one)
    return gone | (alive & np.isin(trip * number + pair, np.concatenate(lost)))
