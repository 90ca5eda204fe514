"""Which questions to ask: all that fit the raw trips and their world, or the short list for a first look."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, find_sorted
from wayveil.progress import track
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import (
    DEFAULT_MAX_LENGTH,
    DEFAULT_QUERIES,
    CountQueryError,
    RangeCounts,
    TimedCountQueryError,
)
from wayveil.utility.edges import EdgeFigures, EdgeFlows, edge_flows
from wayveil.utility.figures import Figures, Measure
from wayveil.utility.gps_figures import GpsFigures
from wayveil.utility.ngram_figures import NgramFigures, SubsequenceError
from wayveil.utility.operations import Operations
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, ZonePairs
from wayveil.utility.patterns import FrequentItemsets, FrequentPatterns
from wayveil.utility.stop_figures import LengthDivergence, LengthsByHour, StopFigures
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.trees import seconds_between


def legal_share(flows: EdgeFlows, trips: Trips) -> float:
    """Share of moves (two visits in a row of one trip) that the public world has; not a number without moves."""
    legal = trips.world.successors.contains(flows.source, flows.target)
    return float(flows.count[legal].sum() / flows.count.sum()) if len(flows.count) else float("nan")


def too_fast_share(flows: EdgeFlows, trips: Trips, network: Network) -> float:
    """Share of moves that take less time than the fastest way on the network between their stops.

    Where there is no way at all, any time is too short. Trips without times have no share.
    """
    if trips.time is None or len(flows.count) == 0:
        return float("nan")
    fastest = seconds_between(network, flows.source, flows.target)
    fast = _count_fast(trips.location, trips.offsets, trips.time, flows.first, flows.target, fastest)
    return float(fast / flows.count.sum())


@njit(cache=True)
def _count_fast(
    location: Int32s, offsets: Ints, time: Ints, first: Ints, target: Int32s, fastest: Floats
) -> int:
    """Moves below the time of their pair; every move has one."""
    count = 0
    for trip in range(len(offsets) - 1):
        for visit in range(offsets[trip] + 1, offsets[trip + 1]):
            here = location[visit - 1]
            pair = find_sorted(target, first[here], first[here + 1], location[visit])
            if time[visit] - time[visit - 1] < fastest[pair]:
                count += 1
    return count


class Feasibility(Figures):
    """Share of released moves that exist, and share of timed ones that are faster than the network.

    Nothing here is compared with the raw trips: a release without moves has no share. Scheduled seconds are
    medians, so that real trips are sometimes a little faster; read the second figure beside the ceiling.
    """

    title = "Feasibility"

    def __init__(self, raw: Trips) -> None:
        super().__init__(raw)
        self.network = raw.world if isinstance(raw.world, Network) else None
        self.timed = raw.time is not None and self.network is not None

    def _measured(self, private: Trips) -> list[Measure]:
        flows = edge_flows(private)
        share = legal_share(flows, private)
        measures = [Measure("feasible_moves", "share of moves that the world has", share, "higher")]
        if self.timed and self.network is not None:
            fast = too_fast_share(flows, private, self.network)
            measures.append(Measure("too_fast", "share of timed moves faster than the network", fast))
        return measures


def replayed(trips: Trips, model: EdgeFlows) -> Floats:
    """Share of the moves that the model allows, for every trip that moves."""
    known = _known_moves(trips.location, trips.offsets, model.first, model.target)
    moving = trips.lengths > 1
    return np.asarray(known[moving] / (trips.lengths[moving] - 1))


@njit(cache=True)
def _known_moves(location: Int32s, offsets: Ints, first: Ints, target: Int32s) -> Ints:
    known = np.zeros(len(offsets) - 1, np.int64)
    for trip in range(len(known)):
        for visit in range(offsets[trip] + 1, offsets[trip + 1]):
            here = location[visit - 1]
            known[trip] += find_sorted(target, first[here], first[here + 1], location[visit]) >= 0
    return known


class ReplayFitness(Figures):
    """Replay of the raw trips on the moves (pairs of stops in a row) that the release knows.

    Trips with fewer than two stops make no move and are left out. Anything that walks every legal edge replays
    everything, so this is read beside the floor.
    """

    title = "Replay fitness"

    def _measured(self, private: Trips) -> list[Measure]:
        share = replayed(self.raw, edge_flows(private))
        mean = float(share.mean()) if len(share) else 1.0
        whole = float((share == 1).mean()) if len(share) else 1.0
        return [
            Measure("fitness/moves", "share of a trip's moves that can be replayed", mean, "higher"),
            Measure("fitness/trips", "share of trips replayed from end to end", whole, "higher"),
        ]


Suite = Literal["core", "full"]


@dataclass(frozen=True)
class CountQueries:
    """Count queries to ask: so many per workload, of 1..`max_length` stops, or of stops within `bins`; see
    `CountQueryError`.
    """

    queries: int = DEFAULT_QUERIES
    max_length: int = DEFAULT_MAX_LENGTH
    bins: TimeBins | None = None
    unordered: bool = False


def questions(
    raw: Trips,
    *,
    suite: Suite = "full",
    counting: CountQueries | None = None,
    taps: bool = False,
    most_pairs: int = MOST_PAIRS,
    seed: int = 0,
) -> list[Figures]:
    """Prepare the questions with the raw trips.

    `core` is count queries (of stops and hours too, where the trips carry times), lengths, stops and edges. `full` adds
    everything that fits: figures of time where the trips carry times, figures of place where the world has
    coordinates. With `taps` every visit is a boarding, which trips alone do not tell. `most_pairs` bounds the sample of
    the earth mover's distance, which is the slowest figure by far.
    """
    counting = CountQueries() if counting is None else counting
    how = {name: getattr(counting, name) for name in ("queries", "max_length", "unordered")}
    made: list[Callable[[], Figures]] = [
        lambda: CountQueryError(raw, bins=counting.bins, seed=seed, **how),
        lambda: LengthDivergence(raw),
        lambda: StopFigures(raw),
        lambda: EdgeFigures(raw),
    ]
    if raw.time is not None and counting.bins is None:  # with bins the count queries are timed already
        made.insert(1, lambda: TimedCountQueryError(raw, seed=seed, **how))
    if suite == "full":
        made += [
            lambda: SubsequenceError(raw, queries=max(counting.queries // 4, 1), seed=seed),
            lambda: NgramFigures(raw),
            lambda: ReplayFitness(raw),
            lambda: FrequentPatterns(raw),
            lambda: ZonePairs(raw),
            lambda: Operations(raw, taps=taps),
            lambda: Feasibility(raw),
        ]
        if raw.time is not None:
            made.append(lambda: LengthsByHour(raw))
        if isinstance(raw.world, Network):
            made += [
                lambda: OriginDestinationDistance(raw, most_pairs=most_pairs, seed=seed),
                lambda: RangeCounts(raw, seed=seed),
                lambda: GpsFigures(raw, seed=seed),
            ]
        if isinstance(raw.world, Grid):
            made.append(lambda: FrequentItemsets(raw))
    return [make() for make in track(made, "raw answers")]
