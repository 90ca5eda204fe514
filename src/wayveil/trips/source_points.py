"""Identity of GPS points, whatever grid, split and rules make trips of them: the points themselves."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints, Mask, append
from wayveil.trips.identity import PUBLIC_KEY, Words, keyed_words

# Public: parts of a degree (about 11 m and 1 m), and of time.
COARSE, FINE = 10_000, 100_000
MINUTE = 60
# Points that are worked on at once.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class SourcePoints:
    """The points of a file as words, for the fingerprints of a ledger and never for output.

    points  one for each point: its place to 1/10,000 degree and its minute; None where points have no times
    moves   one for each move of one `rider_id` and `trip_id` to another place: both to 1/100,000 degree, without times
    owners  the different `rider_id`s, whether or not they are the people who are protected; None where there are none
    """

    points: Words | None
    moves: Words
    owners: pl.Series | None

    @classmethod
    def of(cls, lat: Floats, lon: Floats, time: Ints | None, first: Mask, owners: pl.Series | None) -> Self:
        """Of points that stand in the order of their trips; `first` marks the first one of each."""
        minutes = None if time is None else np.empty(len(lat), np.uint64)
        moves = np.empty(0, np.uint64)
        for start in range(0, len(lat), BLOCK):
            here = slice(start, start + BLOCK + 1)  # with the first of the next block, which a move may go to
            if minutes is not None and time is not None:
                near = _places(lat[here], lon[here], COARSE)
                minutes[here] = keyed_words(PUBLIC_KEY, near, time[here] // MINUTE)
            place = _places(lat[here], lon[here], FINE)
            moved = np.flatnonzero(~first[here][1:] & (place[1:] != place[:-1]))
            append(moves, keyed_words(PUBLIC_KEY, place[moved], place[moved + 1].astype(np.int64)))
        return cls(minutes, moves, owners)


def _places(lat: Floats, lon: Floats, parts: int) -> Words:
    north, east = (np.rint(degrees * parts).astype(np.int64) for degrees in (lat, lon))
    return ((north + 90 * parts) * (360 * parts + 1) + east + 180 * parts).astype(np.uint64)
