"""Steps that a piece of raw trips goes through before it is counted, in every engine, and what was seen on the way."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from wayveil.counting.counter import Counter
from wayveil.disclosures import EMPTY
from wayveil.errors import ParameterError
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter
from wayveil.privacy.units import Unit
from wayveil.trips.history import PER_TRIP, UNMOVED, Stability
from wayveil.trips.identity import Words
from wayveil.trips.legality import LegalityRule
from wayveil.trips.legs import VisitKind, Ways, counted_world, put_on_ways
from wayveil.trips.network_fit import count_lacking, refuse_misfit
from wayveil.trips.trips import Trips
from wayveil.world.world import World


@dataclass(frozen=True)
class Steps:
    """Steps of trips between the file and the counts, one trip or one unit at a time.

    rule      which trips the world allows
    visits    what a row is, where somebody said it, and what stands between two of them (`ways`; see `trips.legs`)
    must_fit  whether trips are refused of which the network lacks many moves
    """

    rule: LegalityRule
    visits: VisitKind | None = None
    ways: Ways | None = None
    must_fit: bool = False

    def world(self, read_over: World) -> World:
        """The world that trips are counted over."""
        return read_over if self.visits is None else counted_world(read_over, self.visits, self.ways)

    def on_ways(self, trips: Trips) -> Trips:
        """The trips with what stands between their rows."""
        return trips if self.visits is None else put_on_ways(trips, self.visits, self.ways)[0]

    def look(self, trips: Trips, prints: Fingerprinter | None = None) -> "RawFacts":
        """Return what has to be known of raw trips as a whole, seen in a piece of them."""
        moves, lacking = count_lacking(trips) if self.must_fit and trips.world.restricts_moves else (0, 0)
        content = None if prints is None else prints.of(trips)
        return RawFacts(len(trips), trips.history.stability, moves, lacking, content)

    def bound(self, trips: Trips, unit: Unit, key: Words) -> Trips:
        """A piece that holds whole units, as it is counted: what `Gate.bound` does to trips in memory."""
        return unit.counted(self.on_ways(trips), self.rule, key)

    def stability(self, seen: "RawFacts", read_over: World) -> Stability:
        """Return how far one visit more can move the trips that are counted, from what was seen of all pieces."""
        on_ways = PER_TRIP if self.ways == "routed" else UNMOVED
        return seen.stability.then(on_ways).then(self.rule.stability(self.world(read_over)))


@dataclass(frozen=True)
class RawFacts:
    """Of raw trips: how many there are, what reading did to them, moves that the network lacks, their fingerprint."""

    trips: int = 0
    stability: Stability = UNMOVED
    moves: int = 0
    lacking: int = 0
    content: Fingerprint | None = None

    def joined(self, other: "RawFacts") -> "RawFacts":
        """Of two pieces together."""
        known = [seen.content for seen in (self, other) if seen.content is not None]
        return replace(
            self,
            trips=self.trips + other.trips,
            stability=self.stability.joined(other.stability),
            moves=self.moves + other.moves,
            lacking=self.lacking + other.lacking,
            content=reduce(Fingerprint.joined, known) if known else None,
        )

    def require(self) -> None:
        """Refuse where there is nothing to release, or where nobody said that trips are not on the network."""
        if self.trips == 0:
            raise ParameterError("there are no trips to release", tells=EMPTY)
        refuse_misfit(self.moves, self.lacking)


@dataclass(frozen=True)
class Opened:
    """Trips that an engine has read and checked. Nothing is spent yet.

    content  their fingerprint, where it was asked for
    """

    counter: Callable[[], Counter]
    content: Fingerprint | None = None
