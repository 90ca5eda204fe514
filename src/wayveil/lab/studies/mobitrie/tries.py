"""Pictures of tries and of simulated riders, and what the study decides without a measurement."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.mobitrie.mobitrie_datasets import EXAMPLE, SEED
from wayveil.lab.studies.mobitrie.mobitrie_trials import (
    BASELINE,
    BY_TRIE,
    MobiTrieTrials,
    N,
    by_length,
    error_rows,
    grams_of,
    metrics_of,
    own_ngrams,
)
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Trip
from wayveil.report.chart import Chart
from wayveil.report.maps import trip_map, with_ground
from wayveil.report.trie_picture import trie_chart
from wayveil.simulate.city import simulate_city
from wayveil.synthesis.ngram_model import nest_rows
from wayveil.trips.trips import Trips
from wayveil.trips.windows import GramCounts, gram_counts
from wayveil.utility.edges import edge_flows
from wayveil.utility.model_ngrams import trie_errors
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.network import Network
from wayveil.world.world import World

ROLLING, STATIC = "rolling", "static"
TOP = 20
NO_EPSILON = "-"  # of the baseline


def example_trips() -> Trips:
    """The nine trajectories of the study's table 3.1."""
    world = World.of_symbols([f"L{at}" for at in range(1, 8)])
    return Trips.of_lists([[stop - 1 for stop in trip] for trip in EXAMPLE], world)


def static_grams(trips: Trips, n: int = N) -> GramCounts:
    """The first n stops of every trip that has so many: the rest of it is not looked at."""
    long = np.flatnonzero(trips.lengths >= n)
    return gram_counts(trips, n, starts=trips.offsets[:-1][long])


class StaticCounter(LocalCounter):
    """Counts the first n stops of a trip in place of all its n-grams: at most one cell per trip."""

    def __init__(self, trips: Trips) -> None:
        super().__init__(trips)
        self._all = trips

    def capped_ngrams(self, universe: MarkedNgrams, most: int, bits: Bits) -> SparseCounts:
        counted = static_grams(self._all, universe.n)
        rank = universe.rank(counted.grams)
        order = np.argsort(rank[rank >= 0])
        return SparseCounts(universe.size, rank[rank >= 0][order], counted.count[rank >= 0][order])


def static_trie(trips: Trips, epsilon: str, seed: str, *, returns: bool) -> tuple[Ints, Floats]:
    """A private trie of static 3-grams: a trip counts for one, so its noise is a twentieth of that of rolling ones."""
    gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
    trie = MobiTrie(most=1, returns=returns).measure(StaticCounter(trips), gate)
    return trie.grams.of_places(trips.world.size)


def picture(
    grams: AnyInts, count: Sequence[float] | NDArray[np.generic], world: World, name: str, title: str
) -> Chart:
    """N-grams and their counts as a trie."""
    rows = [
        ([str(world.ids[stop]) for stop in gram], float(number))
        for gram, number in zip(grams.tolist(), np.asarray(count).tolist(), strict=True)
    ]
    nested = {"count": sum(number for _, number in rows), "children": nest_rows(rows, 0, None)}
    drawn = trie_chart(nested, world)
    # Several tries stand on one page, and each needs a title of its own.
    svg = drawn.svg.replace("trie-title", f"{name}-title").replace(drawn.alt, title)
    return Chart(name, svg, drawn.data, title)


class Tries:
    """The cells that draw tries."""

    def __init__(self, trials: MobiTrieTrials) -> None:
        self.trials = trials

    def example(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figures 3.3 and 6.1 from table 3.1: how many n-grams (leaves) and branches there are."""
        trips, n, kind = example_trips(), int(setting["n"]), setting["kind"]
        counted = gram_counts(trips, n) if kind == ROLLING else static_grams(trips, n)
        title = f"{n}-grams of the example, {kind}"
        drawn = picture(counted.grams, counted.count, trips.world, f"example-{kind}-{n}", title)
        values = {
            "n-grams": float(len(counted)),
            "branches at the root": float(len(np.unique(counted.grams[:, 0]))),
        }
        return CellOutcome(figures(values), [drawn])

    def private(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figures 6.2 to 6.4: a trie, and how many of the most frequent 3-grams it shares with the baseline."""
        bench, name, epsilon = self.trials.bench(setting["data"]), setting["mechanism"], setting["epsilon"]
        raw = gram_counts(bench.raw, N)
        if name == BASELINE:
            grams: AnyInts = raw.grams
            count: NDArray[np.generic] = raw.count
        else:
            model = self.trials.release(setting, repetition)
            grams, count = own_ngrams(model) or grams_of(model.generate(0))
        shared = {tuple(gram) for gram in top_grams(raw.grams, raw.count)} & {
            tuple(gram) for gram in top_grams(grams, count)
        }
        title = f"{name} of {setting['data']}" + ("" if name == BASELINE else f", epsilon {epsilon}")
        slug = f"trie-{name.split()[0]}-{epsilon}"
        values = {f"of the {TOP} most frequent": float(len(shared)), "n-grams": float(len(grams))}
        return CellOutcome(figures(values), [picture(grams, count, bench.raw.world, slug, title)])


def top_grams(grams: AnyInts, count: NDArray[np.generic]) -> list[list[int]]:
    """The most frequent ones."""
    order = np.argsort(-np.asarray(count, np.float64), kind="stable")[:TOP]
    found: list[list[int]] = grams[order].tolist()
    return found


HOTSPOTS, NO_HOTSPOTS = "with hotspots", "without hotspots"
BUSIEST = 0.01


class MobiTrieMaps:
    """The cells that draw maps."""

    def __init__(self, city: Callable[[], Network], riders: int) -> None:
        self.city, self.riders = city, riders

    def draw(self, setting: Setting, repetition: int) -> CellOutcome:
        """The map, and how much of all travel is on the busiest hundredth of the moves."""
        kind = setting["kind"]
        made = simulate_city(
            self.city(),
            self.riders,
            seed=SEED,
            times=False,
            hotspots=None if kind == HOTSPOTS else 0,
        )
        flows = np.sort(edge_flows(made.trips).count)[::-1]
        top = max(1, int(BUSIEST * len(flows)))
        ends = np.bincount(made.trips.location[made.trips.offsets[1:] - 1], minlength=self.city().size)
        name = kind.replace(" ", "-")
        title = f"{self.riders:,} riders {kind}"
        if kind == HOTSPOTS:
            title += f" ({len(made.hotspots)} stars)"
        drawn = trip_map(made.trips, made.hotspots.tolist(), name=f"map-{name}", title=title)
        alone = Chart(drawn.name, with_ground(drawn), drawn.data, drawn.alt, plain=True)
        values = {
            "share of travel on the busiest 1 % of moves": float(flows[:top].sum() / flows.sum()),
            "share of trips that end at the 30 busiest ends": float(
                np.sort(ends)[::-1][:30].sum() / ends.sum()
            ),
            "hotspots": float(len(made.hotspots)),
        }
        return CellOutcome(figures(values), [alone])


STATIC_TRIE, STATIC_BASELINE = "mobitrie, static 3-grams", "static baseline (no privacy)"
VARIANTS = (STATIC_BASELINE, STATIC_TRIE)


def static_trial(trials: MobiTrieTrials, setting: Setting, repetition: int) -> CellOutcome:
    """Static 3-grams, with privacy and without, judged like rolling ones: by all 3-grams of the trips."""
    bench, name, epsilon = trials.bench(setting["data"]), setting["mechanism"], setting["epsilon"]
    if name == STATIC_BASELINE:
        counted = static_grams(bench.raw, N)
        grams, count = counted.grams.astype(np.int64), counted.count.astype(np.float64)
    else:
        seed = f"{setting['data']} static {epsilon} {repetition}"
        grams, count = static_trie(bench.raw, epsilon, seed, returns=bench.ngrams.returns)
    rows = figures(metrics_of(bench.ngrams.score(grams)))
    errors = by_length(trie_errors(bench.errors, grams, count), "uniform")
    return CellOutcome(rows + error_rows(name, {BY_TRIE: errors}))
