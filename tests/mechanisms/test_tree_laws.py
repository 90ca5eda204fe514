"""Whole trees with real noise have the law of slow trees whose noise comes from elsewhere (numpy's geometric draws)."""

from collections import Counter as Tally
from math import ceil, exp, log, log2

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from slow_timed_trees import everything, slow_grow

from ring_networks import ring_of_stops
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.trips import Trips

STOPS, BINS, HALF_DAY = 2, 2, 12 * 3600
TREES = 2_500
VISITS = [[(0, 0), (1, 0)], [(0, 0), (1, 1)], [(0, 0)], [(1, 1)], [(1, 1), (0, 1)]]
AT_ALL = [(s, b) for s in range(STOPS) for b in range(BINS)]
BY_TIME = {"time": "720", "false_children": 0.5}


def later(path):
    """Any stop, not before the last visit."""
    return [(s, b) for s, b in AT_ALL if not path or b >= path[-1][1]]


def in_parts(path):
    """First a stop, then a time that is not before the last one."""
    if len(path) % 2 == 0:
        return range(STOPS)
    return range(path[-2] if len(path) > 2 else 0, BINS)


# Mechanism, how a path is written there, trips as symbols, what may follow a path, and the noise scale of each level.
PPDP_WEIGHTS = [log2(2), log2(3)]
CASES = {
    "noisy-prefix-tree": (
        NoisyPrefixTree(height=2, successors="all", false_children=0.5, size_share=0),
        lambda depth, symbol: symbol,
        [tuple(stop for stop, _ in trip) for trip in VISITS],
        lambda path: range(STOPS),
        [1, 1],
    ),
    "seqpt": (
        SeqPT(height=2, successors="all", size_share=0, **BY_TIME),
        lambda depth, symbol: divmod(symbol, BINS),
        [tuple(trip) for trip in VISITS],
        later,
        [1, 1],
    ),
    "safepath": (
        SafePath(
            height=1, location_groups="balanced", location_height=0, time_height=0, size_share=0, **BY_TIME
        ),
        lambda depth, symbol: symbol,
        [tuple(part for visit in trip[:1] for part in visit) for trip in VISITS],
        in_parts,
        [1, 1],
    ),
    "ppdp": (
        PPDP(height=2, prune_early=False, size_share=0, **BY_TIME),
        lambda depth, symbol: divmod(symbol, BINS),
        [tuple(trip) for trip in VISITS],
        later,
        [sum(PPDP_WEIGHTS) / weight / 2 for weight in PPDP_WEIGHTS],
    ),
}


def fast_trees(mechanism, name, bits):
    """{path: noisy count} of trees that the engine grows at epsilon 2."""
    world = ring_of_stops(STOPS, seconds=3600)
    time = np.array([b * HALF_DAY for trip in VISITS for _, b in trip], np.int64)
    trips = Trips.of_lists([[s for s, _ in trip] for trip in VISITS], world, time=time)
    for _ in range(TREES):
        paths, out = [()], {}
        tree = mechanism.measure(LocalCounter(trips), Gate(Trip(), Budget(2), bits))
        for depth, level in enumerate(tree.levels):
            paths = [
                (*paths[p], name(depth, int(s))) for p, s in zip(level.parent, level.symbol, strict=True)
            ]
            out.update(zip(paths, level.count.tolist(), strict=True))
        yield out


def slow_trees(sequences, children_of, scales, rng, wrong=1.0):
    """The same from the slow tree; `wrong` multiplies its noise."""

    def noise(path):
        rate = 1 - exp(-1 / (wrong * scales[len(path) - 1]))
        return int(rng.geometric(rate) - rng.geometric(rate))

    def threshold(depth, nodes, candidates):
        return max(1, ceil(scales[depth] * log(max(candidates / max(nodes, 1), 1.0))))

    for _ in range(TREES):
        root, _ = slow_grow(sequences, [children_of] * len(scales), noise, threshold)
        yield everything(root, lambda node: node.noisy)


def same_law(trees, others):
    """The smaller chance that equal laws differ so much: in which nodes there are, and in how large they are."""

    def chance(statistic):
        found, other = Tally(map(statistic, trees)), Tally(map(statistic, others))
        common = [key for key in found | other if found[key] + other[key] >= 40]
        table = np.array([[f[key] for key in common] for f in (found, other)])
        rest = [[sum(f.values()) - sum(row)] for f, row in zip((found, other), table, strict=True)]
        table = np.hstack([table, rest])
        return chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue

    return min(chance(frozenset), chance(lambda tree: sum(tree.values())))


@pytest.mark.parametrize("case", CASES)
def test_whole_trees_have_the_law_of_slow_ones_and_wrong_noise_would_show(case):
    mechanism, name, sequences, children_of, scales = CASES[case]
    trees = list(fast_trees(mechanism, name, SeededBits(7)))
    slow = (sequences, children_of, scales)
    assert same_law(trees, list(slow_trees(*slow, np.random.default_rng(7)))) > 1e-4
    assert same_law(trees, list(slow_trees(*slow, np.random.default_rng(8), wrong=0.8))) < 1e-6
