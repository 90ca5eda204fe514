"""Which questions to ask: all that fit the raw trips and their world, or the short list for a first look."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wayveil.progress import track
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import (
    DEFAULT_MAX_LENGTH,
    DEFAULT_QUERIES,
    CountQueryError,
    RangeCounts,
    TimedCountQueryError,
)
from wayveil.utility.edges import EdgeFigures
from wayveil.utility.feasibility import Feasibility, ReplayFitness
from wayveil.utility.figures import Figures
from wayveil.utility.gps_figures import GpsFigures
from wayveil.utility.ngram_figures import NgramFigures, SubsequenceError
from wayveil.utility.operations import Operations
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, ZonePairs
from wayveil.utility.patterns import FrequentItemsets, FrequentPatterns
from wayveil.utility.stop_figures import LengthDivergence, LengthsByHour, StopFigures
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

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
