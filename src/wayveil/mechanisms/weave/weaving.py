"""Weave, once measured: draw plausible trips, weight them to explain the noisy blocks, and sample those."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.drives import DrivenWays, estimate_flows
from wayveil.mechanisms.weave.estimates import CellEstimates, group_alike, judge_counts, keep_likely_counts
from wayveil.mechanisms.weave.lengths import LengthLaw, read_lengths
from wayveil.mechanisms.weave.moves import ListDemand, clean_moves, guess_moves
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlocks
from wayveil.mechanisms.weave.routes import RoutedWays
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.walks import WalkedWays
from wayveil.mechanisms.weave.weight_fit import Diagnostics, FittedSupport, Support, Target
from wayveil.progress import step
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.paths import along_paths
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.walk_blocks import Block, WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography

# The first Monday of the timeline: where weeks without a date are put.
FIRST_MONDAY = 4 * DAY
HOURS_OF_A_DAY, HOURS_OF_A_WEEK = 24, 168


def make_time_bins(times: int) -> TimeBins:
    """Return the hours of a day, or those of a week."""
    return TimeBins.hour_of_week() if times == HOURS_OF_A_WEEK else TimeBins.hour_of_day()


def add_times(
    trips: Trips, bin_: AnyInts, times: int, seconds_per_move: int, rng: np.random.Generator
) -> Trips:
    """Give the trips a time for every visit, in seconds on the timeline of undated trips.

    Without a timetable, visits follow each other every `seconds_per_move`.
    """
    start = make_time_bins(times).start[bin_] + rng.integers(0, HOUR, len(bin_))
    if times == HOURS_OF_A_WEEK:
        start = start + FIRST_MONDAY
    world = trips.world
    if isinstance(world, Network):
        passed = along_paths(world, trips.location, trips.offsets, world.seconds).astype(np.int64)
    else:
        place = np.arange(trips.visits) - np.repeat(trips.offsets[:-1], trips.lengths)
        passed = place * seconds_per_move
    return Trips(trips.location, trips.offsets, world, np.repeat(start, trips.lengths) + passed)


class Ways(Protocol):
    """Draws supports, and learns from their fits how people choose ways.

    Families of kinds with a smaller share than `rare`, and kinds with a smaller share of their `family`, are given up
    in the last of the `rounds`.
    """

    @property
    def rare(self) -> float: ...

    @property
    def family(self) -> Ints: ...

    @property
    def rounds(self) -> int: ...

    @property
    def first_shares(self) -> Floats: ...

    def draw(self, count: int, shares: Floats, rng: np.random.Generator) -> Support: ...

    def learn(self, found: FittedSupport) -> None: ...


def weave(measured: NoisyBlocks, rng: np.random.Generator) -> "Woven":
    """Fit a support to measurements. Reads nothing but noisy numbers and public facts.

    Each round learns from its fit how people choose ways; what they hardly choose is not drawn in the last one.
    """
    settings, total, world = measured.settings, float(measured.trips), measured.world
    target, ways = prepare(measured)
    count = int(np.clip(settings.support * total, settings.least, settings.most))
    shares, dual = ways.first_shares, None
    for turn in range(1, ways.rounds + 1):
        with step(f"weaving, round {turn} of {ways.rounds}"):
            last = turn == ways.rounds
            support = ways.draw(count if last else min(count, settings.least), shares, rng)
            sweeps = 1 if last or isinstance(world, Grid) else settings.learning[1]
            found = target.fit_support(support, len(shares), sweeps, dual)
            dual = found.fit.dual
            shares = _choose_shares(found.kinds, ways, before_last=turn == ways.rounds - 1)
            ways.learn(found)
    return Woven(world, found, measured.resolution.times, settings, target.diagnose(found))


def _choose_shares(fitted: Floats, ways: Ways, *, before_last: bool) -> Floats:
    """Return the shares of kinds to draw next: a hundredth of those that may come back, none of the rare in the end."""
    if before_last:
        whole = np.bincount(ways.family, fitted)[ways.family]
        kept = (whole >= min(ways.rare, float(whole.max()))) & (fitted >= ways.rare * whole)
        shares = np.where(kept, fitted, 0.0)
    else:
        shares = np.maximum(fitted, (ways.first_shares > 0) / 100)
    return shares / shares.sum()


def read_blocks(measured: NoisyBlocks) -> tuple[WalkBlocks, dict[str, Block], dict[str, CellEstimates]]:
    """Return the public blocks of measurements; those asked for, by name; and what is believed of their cells."""
    blocks = measured.blocks()
    asked = {name: block for name, block in blocks.all().items() if name in measured.noisy}
    return blocks, asked, {name: measured.believe(name) for name in asked}


def prepare(measured: NoisyBlocks) -> tuple[Target, Ways]:
    """Return what is to be explained, and who draws trips that might: riders, drivers, or walks over a list."""
    settings, total, world = measured.settings, float(measured.trips), measured.world
    blocks, asked, noisy = read_blocks(measured)
    if isinstance(world, Network) and not isinstance(world, Grid):
        demand = Demand.estimate(blocks, noisy, total, settings)
        return Target(asked, noisy, total, settings), RoutedWays(demand, world, settings)
    on_list = not isinstance(world, Grid)
    noisy |= read_lengths(noisy, blocks.length_edges, total, settings, on_list=on_list)
    if isinstance(world, Grid):
        if "edge" in noisy:
            # A trip spreads one over its edges, or more where only the squares of what it adds are bounded.
            most = np.inf if measured.gaussian else total
            noisy["edge"] = estimate_flows(world, noisy["edge"], most, settings)
        demand = Demand.estimate(blocks, noisy, total, settings)
        return Target(asked, noisy, total, settings), DrivenWays(demand, world, settings)
    walked = ListDemand.estimate(blocks, noisy, total, settings)
    ends = LengthLaw(blocks.length_edges, noisy["length"].value).weigh_ends()
    if "move" in noisy:
        table = clean_moves(noisy["move"], walked.visits, total, ends, settings)
    else:
        table = guess_moves(walked.visits, total, ends, walked.origin, walked.destination)
    clean = _clean_blocks(walked)
    if "move" in noisy:
        asked["move"], clean["move"] = table.join_unknown(asked["move"])
    return Target(asked, clean, total, settings), WalkedWays(replace(walked, noisy=clean), world, table)


def _clean_blocks(demand: ListDemand) -> dict[str, CellEstimates]:
    """Return the blocks without most of their noise: walks can only be fitted to what is left."""
    noisy, settings = demand.noisy, demand.settings
    visit, memory, pair = noisy["visit"], noisy["memory"], noisy["pair"]
    busy = group_alike(np.tile(demand.visits, 1 << demand.blocks.resolution.visits), settings.alike)
    values = {
        "origin": demand.origin,
        "destination": demand.destination,
        "visit": keep_likely_counts(visit.value, visit.scale, demand.total, settings.doubtful, busy),
        "memory": judge_counts(memory.value, memory.scale)[0],
        "pair": judge_counts(pair.value, pair.scale)[0],
    }
    return noisy | {name: CellEstimates(value, noisy[name].deviation) for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class Woven:
    """A weighted support, ready to be sampled as often as one likes."""

    world: World
    found: FittedSupport
    times: int
    settings: Generation
    diagnostics: Diagnostics

    @cached_property
    def order(self) -> Ints:
        """Return the trips of the support sorted by origin, destination and time: whole trips are drawn at equal steps
        along this order, so that likes stand in for each other and their numbers come out as the weights say.
        """
        walks, code = self.found.support.walks, Geography(self.world).places.code
        bins = np.zeros(len(walks)) if walks.bins is None else walks.bins
        return np.lexsort((walks.lengths, bins, code[walks.destination], code[walks.origin]))

    def sample(
        self, trips: int, rng: np.random.Generator, put_in_order: np.random.Generator | None = None
    ) -> Trips:
        """Draw exactly so many trips in random order, which add to the cells of all blocks about what the weights say.

        Drawn several times at equal steps along `order`; at each step that trip is taken which brings the sums nearest.
        Their order and minutes may come from another generator.
        """
        weight, walks = self.found.fit.weight, self.found.support.walks
        running = np.cumsum(weight[self.order]) * (trips / weight.sum())

        def draw() -> Ints:
            at = np.searchsorted(running, np.arange(trips) + rng.random(), side="right")
            return self.order[np.minimum(at, len(running) - 1)]

        wanted = self.found.fit.fitted * (trips / weight.sum())
        again = (draw() for _ in range(8))
        chosen = self.found.features.exchange(draw(), again, wanted)
        rng = put_in_order or rng
        chosen = rng.permutation(chosen)
        plain = Trips(walks.location, walks.offsets, self.world).take(chosen)
        if walks.bins is None:
            return plain
        return add_times(plain, walks.bins[chosen], self.times, self.settings.seconds_per_move, rng)
