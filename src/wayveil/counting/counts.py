"""The simple counts: trips, their lengths, their ends, their visits, and plain n-grams."""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.protocol import Encoding
from wayveil.counting.tally import ONE
from wayveil.trips.trips import Trips
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.zones import Zones


@dataclass(frozen=True)
class CountTrips:
    """Trips that visit anything, in one cell."""

    universe: int = 1

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        return np.zeros(1, np.int64), np.array([np.count_nonzero(trips.lengths)])


@dataclass(frozen=True)
class CountLengths:
    """Trips by their number of visits, of which `most` at most are counted."""

    most: int

    @property
    def universe(self) -> int:
        return self.most + 1

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        return np.minimum(trips.lengths, self.most), ONE


@dataclass(frozen=True)
class CountVisits:
    """How often each symbol occurs among the first `most` visits of every trip (None: all)."""

    encoding: Encoding
    universe: int
    most: int | None

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        trips = trips if self.most is None else trips.cut(self.most)
        (symbol,) = self.encoding.encode(trips.location, trips.time)
        return symbol[symbol >= 0].astype(np.int64), ONE


@dataclass(frozen=True)
class CountPairs:
    """Trips from one place to another, over all pairs of codes; a trip without a visit is in none."""

    zones: Zones

    @property
    def universe(self) -> int:
        return 1 << 2 * self.zones.depth

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        full = trips.lengths > 0
        return self.zones.pair(trips.origins()[full], trips.destinations()[full]), ONE


@dataclass(frozen=True)
class CountNgrams:
    """Occurrences of every n-gram of a public universe, repeats included; other n-grams are not counted."""

    ngrams: NgramUniverse

    @property
    def universe(self) -> int:
        return self.ngrams.size

    def of(self, trips: Trips) -> tuple[Ints, Ints]:
        n = self.ngrams.n
        starts = np.flatnonzero(np.arange(trips.visits) + n <= np.repeat(trips.offsets[1:], trips.lengths))
        rank = self.ngrams.rank(trips.location[starts[:, None] + np.arange(n)])
        return rank[rank >= 0], ONE
