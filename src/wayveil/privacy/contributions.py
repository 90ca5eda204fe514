"""Bounds on how far one trip or one visit moves a count, and how far one unit does: what the noise must cover.

A mechanism states the first (`Contribution`). A unit (`units`) makes the second of it (`Sensitivity`). No mechanism
types a sensitivity in by hand.
"""

from dataclasses import dataclass, replace

from wayveil.errors import ParameterError
from wayveil.trips.history import UNMOVED, Stability


@dataclass(frozen=True)
class Contribution:
    """Most that one trip, and one visit, can move a vector of counts. A trip only ever adds to counts.

    per_trip   L1 distance when one trip is added or removed; None when a trip can hold any number of visits that count
    per_visit  L1 distance when one visit is added to or removed from a trip, which may come or go with its
               only visit; None when a visit can change the whole trip's contribution (it then counts as one
               trip removed and one added)
    per_cell   largest change of a single cell when one trip is added or removed; unless given, `per_trip`
    euclidean  `per_trip` and `per_visit` are L2 distances, and nothing is known about L1: only rho can pay for that
    """

    per_trip: int | None
    per_visit: int | None = None
    per_cell: int = 0
    euclidean: bool = False

    def __post_init__(self) -> None:
        if self.per_cell == 0 and self.per_trip is not None:
            object.__setattr__(self, "per_cell", self.per_trip)
        bounds = [
            bound for bound in (self.per_trip, self.per_cell or None, self.per_visit) if bound is not None
        ]
        if min(bounds, default=1) < 1:
            raise ParameterError("a contribution without a bound of at least 1 has no sensitivity")

    def times(self, parts: int) -> "Contribution":
        """Return the contribution of a trip to counts in which a whole one is so many parts."""
        if parts == 1:
            return self
        return replace(
            self,
            per_trip=None if self.per_trip is None else self.per_trip * parts,
            per_visit=None if self.per_visit is None else self.per_visit * parts,
            per_cell=self.per_cell * parts,
        )

    def after(self, stability: Stability) -> "Contribution":
        """Return what a trip or visit of the input contributes, where this is what one of the step's output does."""
        if stability == UNMOVED:
            return self
        if stability.trips is None:
            raise ParameterError("a step that makes any number of trips of one has no sensitivity")
        return replace(
            self,
            per_trip=None if self.per_trip is None else self.per_trip * stability.trips,
            per_cell=self.per_cell * stability.trips,
            per_visit=None
            if self.per_visit is None or stability.visits is None
            else self.per_visit * stability.visits,
        )

    def of_trips(self, count: int, *, cells: int) -> "Sensitivity":
        """Of `count` trips that come or go, of which `cells` can move the same cell."""
        if self.per_trip is None:
            raise ParameterError(
                "a whole trip can change, and nothing bounds how many of its visits count; set max_visits, or protect "
                "single visits (unit `event`) and leave trips as they are: LegalityRule(repeats='keep', "
                "impossible='keep'), read with repeats='keep', on_unknown='error' and local times (made by hand: with "
                "history=AS_READ)"
            )
        # Distances of several trips add up at most, in any norm.
        return Sensitivity(count * self.per_trip, cells * self.per_cell, self.euclidean)


@dataclass(frozen=True)
class Sensitivity:
    """Largest distance between the exact counts of two neighbouring datasets: in L1, or, if `euclidean`, in L2."""

    distance: int
    linf: int
    euclidean: bool = False

    @property
    def l1(self) -> int:
        if self.euclidean:
            raise ParameterError("counts that are bounded in L2 only can be paid for in rho, not in epsilon")
        return self.distance

    @property
    def l2_squared(self) -> int:
        """Where only L1 is known: the squared L2 distance is at most L1 times L-infinity."""
        return self.distance * (self.distance if self.euclidean else self.linf)
