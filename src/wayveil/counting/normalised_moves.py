"""Exact weights of the moves of marked trips over other alphabets than locations: stops within time bins."""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.protocol import Alphabet
from wayveil.trips.trips import Trips
from wayveil.world.successors import MarkedMoves


@dataclass(frozen=True)
class CountNormalisedMoves:
    """How much weight each move has, when a trip of L visits gives floor(whole / (L + 1)) to each of its moves.

    Begin and end are moves too. One trip more or less moves the counts by at most `whole` in all, whatever its length:
    moves that are not in the public universe are left out, and nobody else gets their weight.
    """

    moves: MarkedMoves
    whole: int
    encoding: Alphabet

    @property
    def universe(self) -> int:
        return self.moves.size

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        some = trips.take(np.flatnonzero(trips.lengths > 0))
        lengths = some.lengths
        symbol = self.encoding.encode(some.location, some.time)[0].astype(np.int64)
        before = np.insert(symbol, some.offsets[:-1], self.moves.begin)
        after = np.insert(symbol, some.offsets[1:], self.moves.end)
        # Both have one entry more per trip: ^ a b and a b $.
        keys = self.moves.rank(before, after)
        weight = np.repeat(self.whole // (lengths + 1), lengths + 1)
        inside = keys >= 0
        return keys[inside], weight[inside]
