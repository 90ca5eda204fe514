"""Random trips in files, and every count of the protocol asked of a counter: what engines must agree on."""

import numpy as np
import polars as pl

from wayveil.counting.protocol import Frontier
from wayveil.lab.audits.tiny_worlds import plain_world, small_grid, small_network
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.trips.legality import LegalityRule
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.ngrams import NgramUniverse
from wayveil.world.successors import CompleteSuccessors, MarkedMoves, MarkedSuccessors
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import Later, TimedAlphabet
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.zones import Geography

WORLDS = {"network": small_network(2), "plain": plain_world(5), "grid": small_grid()}
UNITS = {
    "trip": Trip(),
    "rider": Rider(max_trips=2, without_id="own"),
    "rider-weighed": Rider(max_trips=2, without_id="own", bounding="weights"),
    "rider-drop": Rider(max_trips=1, without_id="drop"),
    "rider-day": RiderDay(max_trips=1, without_id="own"),
    "rider-day-weighed": RiderDay(max_trips=1, without_id="own", bounding="weights"),
    "event": Event(),
    "points": Points(length=2),
    "window": Window(seconds=7200, max_visits=2, without_id="own"),
}
RULES = {
    "cut": LegalityRule(),
    "drop": LegalityRule(impossible="drop"),
    "keep": LegalityRule(repeats="keep", impossible="keep"),
}
LOOK = Resolution(
    ends=2, hours=1, pairs=1, edges=2, distances=3, growth=30, times=24, bands=4, triples=1, tiles=2
)


def random_visits(seed, world, trips=40, *, in_order=False):
    """A table of visits with riders, of whom some have many trips and some trips none; in order, or shuffled."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 20, trips)
    rider = np.sort(rng.integers(-4, 8, trips)) if in_order else rng.integers(-4, 8, trips)
    start = rng.integers(0, 3 * 86_400, trips)
    trip = np.repeat(np.arange(trips), lengths)
    seq = np.concatenate([np.arange(length) for length in lengths])
    steps = rng.integers(0, world.size, lengths.sum())
    if world.restricts_moves:
        for i in range(1, len(steps)):  # most moves are possible, so that trips are long after the cut
            after = np.flatnonzero(
                world.successors.contains(np.full(world.size, steps[i - 1]), np.arange(world.size))
            )
            steps[i] = rng.choice(after) if len(after) and rng.random() < 0.95 else steps[i]
    table = pl.DataFrame(
        {
            "trip_id": trip if in_order else [f"t{number % 17}-{number}" for number in trip],
            "seq": seq,
            "stop_id": world.ids[steps],
            "event_time": pl.Series(start[trip] + 600 * seq),
            "rider_id": pl.Series([None if r < 0 else f"r{r}" for r in rider[trip]]),
        }
    )
    if in_order:
        return table.with_columns(rider_id=pl.Series([None if r < 0 else int(r) for r in rider[trip]]))
    return table.sample(fraction=1, shuffle=True, seed=seed)


def every_count(counter, *, levels_deep=14):
    """All methods of the protocol, as plain lists; trees as deep as asked for."""
    world, bins, found = counter.world, TimeBins.hour_of_day(), {}

    def note(name, counts):
        found[name] = counts.universe, counts.keys.tolist(), counts.counts.tolist(), counts.parts

    if counter.weighted:
        note("weight steps", counter.weight_steps((1, 2, 8)))
    note("trips", counter.trips())
    note("lengths", counter.lengths(6))
    blocks = WalkBlocks(Geography(world), LOOK, np.array([0, 4, 8, 9, 10, 11, 12])).all().items()
    for name, block in list(blocks)[:: 1 if levels_deep > 3 else 4]:
        note(f"block {name}", counter.block(block, 1 << 20 if block.spread else 1, bins))
    note("pairs", counter.pairs(Geography(world).places))
    marked = MarkedNgrams(world.successors, 3)
    note("ngrams", counter.ngrams(NgramUniverse(world, 2)))
    note("capped", counter.capped_ngrams(marked, 2, SeededBits(7)))
    note("normalised", counter.normalised_ngrams(marked, 1000))
    alphabet = TimedAlphabet(world, bins)
    later = Later(world.successors, bins.count)
    note("normalised moves", counter.normalised_moves(MarkedMoves(later), 1000, alphabet))
    pairs = MarkedSuccessors(later)
    note("timed runs", counter.runs(4, alphabet).count(Frontier(np.arange(pairs.end), pairs)))
    for most in (None, 2):
        note(f"visits {most}", counter.visits(alphabet, world.size * bins.count, most))
    levels = counter.prefixes()
    descend(levels, CompleteSuccessors(world.size), world.successors, levels_deep, note, "prefixes")
    timed = CompleteSuccessors(world.size * bins.count)
    descend(counter.prefixes(alphabet), timed, timed, min(3, levels_deep - 1), note, "timed prefixes")
    runs, successors = counter.runs(5), MarkedSuccessors(world.successors)
    states = np.arange(successors.end)
    for level in range(min(3, levels_deep - 1)):
        frontier = Frontier(states, successors)
        counts = runs.count(frontier)
        note(f"runs {level}", counts)
        kept = counts.keys[frontier.children(counts.keys)[1] != successors.end][::2]
        runs.descend(kept)
        states = frontier.children(kept)[2]
    return found


def descend(levels, first, below, height, note, name):
    states = np.zeros(1, np.int64)
    for level in range(height):
        frontier = Frontier(states, below if level else first)
        counts = levels.count(frontier)
        note(f"{name} {level}", counts)
        kept = counts.keys[: max(1, (3 * len(counts.keys)) // 4)]
        levels.descend(kept)
        states = frontier.children(kept)[2]
