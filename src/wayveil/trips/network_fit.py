"""Fit of trips to the network that they are said to be on: which moves it does not have, and why.

Exact facts about the raw trips, for the data holder's eyes only; nothing of it is released.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.disclosures import MISFIT
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.geo import haversine
from wayveil.world.network import Network
from wayveil.world.paths import is_reachable

# Above this share of moves that the network lacks, trips are no calls on it, or it is another network.
MOST_BROKEN = 0.1
# Fewer walks than this share of all moves are noise in the data.
FEW_WALKS = 0.002
# People change on foot over such distances, where a feed often says nothing of it.
WALKABLE_METRES = 400

MOST_CELLS = 1 << 25

REASONS = {
    "walk": f"a walk of at most {WALKABLE_METRES} m that the feed does not list (--walk-radius adds such walks)",
    "component": "between parts of the network that nothing connects",
    "one_way": "against the direction in which the network can be travelled",
    "skips": "stops that are not next to each other: in between, stops are missing",
}


@dataclass(frozen=True)
class NetworkFit:
    """Number of moves that trips make, and how many of them the network lacks, by reason (see REASONS)."""

    moves: int
    lacking: dict[str, int]

    @property
    def share(self) -> float:
        """The share of moves that the network does not have."""
        return sum(self.lacking.values()) / max(self.moves, 1)

    @property
    def fits(self) -> bool:
        """Tell whether a release of the trips as calls would keep most of them."""
        return self.share <= MOST_BROKEN

    def lines(self) -> list[str]:
        """In words, most frequent reason first."""
        if not self.lacking:
            return [f"all {self.moves:,} moves are moves of the network"]
        ordered = sorted(self.lacking.items(), key=lambda item: -item[1])
        head = f"the network does not have {_percent(self.share)} of the {self.moves:,} moves:"
        return [head, *(f"  {_percent(count / self.moves)} {REASONS[why]}" for why, count in ordered)]


def fit_moves(trips: Trips) -> NetworkFit:
    """Hold every move between different stops against the network."""
    source, target, count = _moves(trips)
    moves = int(count.sum())
    lacks = ~trips.world.successors.contains(source, target)
    source, target, count = source[lacks], target[lacks], count[lacks]
    network = trips.world
    if not isinstance(network, Network) or len(source) == 0:
        return NetworkFit(moves, {"skips": int(count.sum())} if len(source) else {})
    weak = network.components("weak")[1]
    metres = haversine(network.lat[source], network.lon[source], network.lat[target], network.lon[target])
    why = np.select(
        [metres <= WALKABLE_METRES, weak[source] != weak[target], ~is_reachable(network, source, target)],
        ["walk", "component", "one_way"],
        "skips",
    )
    found = {reason: int(count[why == reason].sum()) for reason in REASONS}
    return NetworkFit(moves, {reason: number for reason, number in found.items() if number})


def without_way(trips: Trips) -> float:
    """The share of trips with a leg between whose ends the network has no way at all: routed, such trips are cut."""
    if not isinstance(trips.world, Network) or len(trips) == 0:
        return 0.0
    visit, size = trips.later_visits(), trips.world.size
    pairs, leg = np.unique(trips.pair_into(visit), return_inverse=True)
    broken = np.zeros(trips.visits, np.int64)
    broken[visit] = ~is_reachable(trips.world, pairs // size, pairs % size)[leg]
    passed = np.concatenate([[0], np.cumsum(broken)])
    return float(np.mean(passed[trips.offsets[1:]] > passed[trips.offsets[:-1]]))


def lacks_walks(trips: Trips) -> bool:
    """Tell whether calls have so many walks that the network does not list that a release should add such walks."""
    if not isinstance(trips.world, Network):
        return False
    fit = fit_moves(trips)
    walks = fit.lacking.get("walk", 0)
    others = sum(fit.lacking.values()) - walks
    return walks > FEW_WALKS * fit.moves and others <= MOST_BROKEN * fit.moves


def count_lacking(trips: Trips) -> tuple[int, int]:
    """Return how many moves between different stops there are, and how many of them the network lacks."""
    before, here = trips.location[:-1], trips.location[1:]
    moved = before != here
    starts = trips.offsets[1:-1]
    moved[starts[(starts > 0) & (starts < trips.visits)] - 1] = False
    lacking = ~trips.world.successors.contains(before[moved], here[moved])
    return int(moved.sum()), int(lacking.sum())


def refuse_misfit(moves: int, lacking: int) -> None:
    """Refuse trips that were counted already and do not fit, in any number of pieces."""
    share = lacking / max(moves, 1)
    if share > MOST_BROKEN:
        raise ParameterError(
            f"{_percent(share)} of the moves in these trips are not in the network, so most trips would be cut "
            "short. Say what a row is: --rows legs (where people board and alight), pairs, taps (boardings only), or "
            "calls (every stop passed; trips are then cut before the first such move). `wayveil check` looks closer. "
            "This sentence is about the raw trips: keep it inside. Nothing was spent",
            tells=MISFIT,
        )


def _moves(trips: Trips) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct moves between different stops, and how often each is made."""
    size, moves = trips.world.size, trips.pair_into(trips.later_visits())
    moves = moves[moves // size != moves % size]
    if size**2 <= MOST_CELLS:  # counting into all pairs is much faster than sorting
        counts = np.bincount(moves, minlength=size**2)
        pair = np.flatnonzero(counts)
        return pair // size, pair % size, counts[pair]
    pair, count = np.unique(moves, return_counts=True)
    return pair // size, pair % size, count


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
