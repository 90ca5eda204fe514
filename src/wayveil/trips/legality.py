"""Rules that make trips possible in the public world, one trip at a time, before anything is counted.

What happens to a trip depends on that trip and on public knowledge alone. Two datasets that differ by one trip (or
one rider) still differ by at most that one afterwards, so that units of trips pay nothing for the rules. Units of
visits do pay: one visit can cut a trip short or part two visits that were one. How far is the rule's own knowledge
(`LegalityRule.stability`), and the unit multiplies with it. How many trips the rules changed is a fact about the raw
data: it is not protected, and nothing here tells it.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.history import MERGED, PER_TRIP, UNMOVED, Stability
from wayveil.trips.legs import Stretches
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import find_corners
from wayveil.world.network import Network
from wayveil.world.paths import shortest_paths
from wayveil.world.world import World


def routed(trips: Trips, broken: NDArray[np.bool_]) -> Trips:
    """The trips with the shortest path in place of every marked move (into the visit that is marked).

    Times between the two ends are spread evenly over the visits that come in. A move without a path stays as it is.
    """
    network = trips.world
    assert isinstance(network, Network)
    into = np.flatnonzero(broken)
    if len(into) == 0:
        return trips
    # Many trips make the same jump: each is routed once.
    distinct, which = np.unique(trips.pair_into(into), return_inverse=True)
    paths = shortest_paths(network, distinct // network.size, distinct % network.size)
    found = np.diff(paths.offsets)[which] > 1
    way = Stretches.of(trips, into[found], paths, which[found])
    time = None
    if trips.time is not None:
        before = trips.time.copy()
        before[into] = trips.time[into - 1]
        place = way.stop - way.start[way.visit] + 1
        passed = (trips.time - before)[way.visit] * place // way.length[way.visit]
        time = before[way.visit] + passed.astype(np.int64)
    return replace(trips, location=way.location, offsets=way.offsets, time=time)


_VISITS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class LegalityRule:
    """Which trips the world allows, and what becomes of the others.

    repeats     consecutive visits to one location: "merge" into the first, or "keep" (each then counts as a move
                from the location to itself)
    impossible  a move that `world.successors` does not have: "cut" the trip before it, "drop" the whole trip,
                "route" it over the public shortest path (and cut where there is none), or "keep" it for mechanisms
                that need no legal moves
    fastest     for timed trips on a network: a move that takes less than this share of the network's travel time
                is impossible too (None: times do not matter). Travel times are medians, so shares near 1 cut off
                honest trips.
    corners     on a grid, a cell that is clipped between two diagonal neighbours: "keep" the visit, or "cut" it out

    >>> wv.LegalityRule(impossible="drop").impossible
    'drop'
    """

    repeats: Literal["merge", "keep"] = "merge"
    impossible: Literal["cut", "drop", "route", "keep"] = "cut"
    fastest: float | None = None
    corners: Literal["keep", "cut"] = "keep"

    def __post_init__(self) -> None:
        if self.repeats not in ("merge", "keep"):
            raise ParameterError(f"repeats is 'merge' or 'keep', not {self.repeats!r}")
        if self.impossible not in ("cut", "drop", "route", "keep"):
            raise ParameterError(f"impossible is 'cut', 'drop', 'route' or 'keep', not {self.impossible!r}")
        if self.corners not in ("keep", "cut"):
            raise ParameterError(f"corners is 'keep' or 'cut', not {self.corners!r}")
        if self.corners == "cut" and self.impossible == "keep":
            raise ParameterError(
                "corners are cut out of legal trips only: use another rule for impossible moves"
            )
        if self.fastest is not None and self.impossible == "route":
            raise ParameterError("a move that is too fast cannot be routed: use impossible='cut' or 'drop'")
        if self.fastest is not None and not 0 < self.fastest <= 1:
            raise ParameterError(
                f"fastest is a share of the travel time above 0 and up to 1, not {self.fastest}"
            )
        if self.fastest is not None and self.impossible == "keep":
            raise ParameterError("fastest has no meaning when impossible moves are kept")

    def apply(self, trips: Trips) -> Trips:
        """The trips as the rule leaves them."""
        trips = self._make_possible(trips)
        if self.corners == "keep" or not isinstance(trips.world, Grid):
            return trips
        return trips.keep_visits(~find_corners(trips.world, trips.location, trips.offsets))

    def _make_possible(self, trips: Trips) -> Trips:
        if self.repeats == "merge":
            trips = trips.merged()
        if self.impossible == "keep" or (not trips.world.restricts_moves and self.fastest is None):
            return trips
        broken = self._impossible_moves(trips)
        if self.impossible == "route" and isinstance(trips.world, Network):
            trips = routed(trips, broken)
            broken = self._impossible_moves(trips)
        if not broken.any():
            return trips
        passed = np.concatenate([[0], np.cumsum(broken, dtype=np.int64)])
        if self.impossible == "drop":
            return trips.take(np.diff(passed[trips.offsets]) == 0)
        before = np.repeat(passed[trips.offsets[:-1]], trips.lengths)
        return trips.keep_visits(passed[1:] == before)

    def stability(self, world: World) -> Stability:
        """Return how far one trip more, or one visit more in a trip, can move what `apply` leaves.

        One trip becomes one trip or none, so one trip more is at most one trip more. Merging moves at most two visits
        (see `history.MERGED`). Where moves are held against the world, a single visit between two others can make a
        move impossible, or possible again, and take everything behind it along: no bound.
        Attacked by tests/privacy/test_rule_stability.py.
        """
        merged = MERGED if self.repeats == "merge" else UNMOVED
        checked = self.impossible != "keep" and (world.restricts_moves or self.fastest is not None)
        return merged.then(PER_TRIP) if checked else merged

    def sentence(self) -> str:
        """The rule in words, for the datasheet."""
        repeats = {
            "merge": "Consecutive visits to the same location are merged into the first",
            "keep": "Consecutive visits to the same location are kept",
        }[self.repeats]
        if self.impossible == "keep":
            return f"{repeats}; moves are not checked against the public world."
        what = {
            "cut": "a trip is cut before its first",
            "drop": "a trip is dropped if it has a",
            "route": "the public shortest path, or a cut where there is none, takes the place of a",
        }[self.impossible]
        pace = (
            f" or that takes less than {self.fastest:g} of the network's travel time"
            if self.fastest is not None
            else ""
        )
        corners = (
            " On a grid, a cell that is merely clipped between two diagonal neighbours is left out."
            if self.corners == "cut"
            else ""
        )
        return (
            f"{repeats}; {what} move that the public world does not allow{pace}.{corners} Each trip is treated by "
            "itself, so this costs no privacy budget for units of trips; units of visits pay for what it can move."
        )

    def _impossible_moves(self, trips: Trips) -> NDArray[np.bool_]:
        """Tell whether the move into each visit is impossible; never so for the first visit of a trip."""
        broken = np.zeros(trips.visits, bool)
        for start in range(1, trips.visits, _VISITS_AT_ONCE):
            visit = slice(start, min(start + _VISITS_AT_ONCE, trips.visits))
            before = slice(visit.start - 1, visit.stop - 1)
            source, target = trips.location[before], trips.location[visit]
            broken[visit] = ~trips.world.successors.contains(source, target)
            if self.fastest is not None:
                broken[visit] |= self._too_fast(trips, before, visit)
        first = trips.offsets[:-1]
        broken[first[first < trips.visits]] = False
        return broken

    def _too_fast(self, trips: Trips, before: slice, visit: slice) -> NDArray[np.bool_]:
        if not isinstance(trips.world, Network):
            raise ParameterError("fastest needs a network with travel times")
        if trips.time is None:
            raise ParameterError("fastest needs trips with times")
        edge = trips.world.edge_index(trips.location[before], trips.location[visit])
        needed = np.where(edge >= 0, trips.world.seconds[edge], 0) * (self.fastest or 0.0)
        return np.asarray(trips.time[visit] - trips.time[before] < needed)
