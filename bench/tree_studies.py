"""The qualitative results of the tree studies, once more, as plots in docs/figures.

    python -m bench.tree_studies

Every point is the mean of some releases with seeded noise; shaded bands are the range. Errors are count-query errors,
see docs/tree-studies.md. Takes a few minutes.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from bench.tree_family import exhaustive
from bench.weeks import network, pairs, shrunken
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.time_axis import time_bins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.city import simulate_city
from wayveil.synthesis.tree import PrefixTree
from wayveil.utility.count_queries import CountQueryError
from wayveil.utility.lengths import LengthDivergence
from wayveil.world.timebins import TimeBins

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
RELEASES = 3
QUERIES = 4_000
EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "4")


@dataclass
class Score:
    """Figures of one setting over its releases."""

    nonempty: list[float]
    uniform: list[float]
    lengths: list[float]
    seconds: float


class Arena:
    """Raw trips and the questions that every contender answers."""

    def __init__(self, trips, bins=None, max_length=3):
        self.trips = trips
        self.queries = CountQueryError(trips, queries=QUERIES, max_length=max_length, bins=bins)
        self.lengths = LengthDivergence(trips)

    def score(self, mechanism, epsilon, change=lambda tree: tree) -> Score:
        values, seconds = [], []
        for seed in range(RELEASES):
            gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
            start = time.process_time()
            tree = mechanism.measure(LocalCounter(self.trips), gate)
            private = change(tree).generate(seed)
            seconds.append(time.process_time() - start)
            found = {measure.key: measure.value for measure in self.queries.measure(private)}
            length = self.lengths.measure(private)[0].value
            values.append((found["count_query_error/non-empty"], found["count_query_error/uniform"], length))
        nonempty, uniform, lengths = zip(*values, strict=True)
        return Score(list(nonempty), list(uniform), list(lengths), min(seconds))


class EqualAsPublished(PrefixTree):
    """Subtracts the same from every child, below zero if need be; what is negative in the end is left out."""

    def consistent(self):
        counts = [level.count.astype(float) for level in self.levels]
        for depth in range(1, len(counts)):
            parent = self.levels[depth].parent
            children = np.maximum(np.bincount(parent, minlength=len(counts[depth - 1])), 1)
            together = np.bincount(parent, counts[depth], len(counts[depth - 1]))
            counts[depth] = counts[depth] + np.minimum(0, (counts[depth - 1] - together) / children)[parent]
        return [np.maximum(level, 0) for level in counts]


def as_published(tree):
    return EqualAsPublished(tree.world, tree.levels, tree.consistency)


def sequences():
    """Riders on the metro's stations, every station that they pass, without times."""
    return simulate_city(network("metro"), 100_000, seed=1, times=False).trips


def timed_rides(riders=100_000):
    """The same with times."""
    return simulate_city(network("metro"), riders, seed=1).trips


def draw(name, title, x_label, x, curves, *, log_x=False, log_y=False, y_label="count-query error"):
    """One figure; `curves` are (label, list of lists of values, dashed)."""
    figure, axis = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    for label, values, dashed in curves:
        middle = [float(np.mean(value)) for value in values]
        (line,) = axis.plot(x, middle, marker="o", ms=3.5, lw=1.6, ls="--" if dashed else "-", label=label)
        low, high = [min(value) for value in values], [max(value) for value in values]
        axis.fill_between(x, low, high, color=line.get_color(), alpha=0.15, lw=0)
        print(f"{name:18s} {label:42s}", " ".join(f"{value:.4g}" for value in middle), flush=True)
    axis.set(title=title, xlabel=x_label, ylabel=y_label)
    if log_x:
        axis.set_xscale("log")
        axis.set_xticks(x, [f"{value:g}" for value in x])
        axis.minorticks_off()
    if log_y:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, frameon=False)
    figure.savefig(FIGURES / f"tree-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def against_epsilon(arena, contenders, epsilons=EPSILONS):
    x = [float(e) for e in epsilons]
    found = {label: [arena.score(mechanism, e) for e in epsilons] for label, mechanism in contenders}
    return x, found


def error_against_epsilon(plain: Arena, rides: Arena) -> None:
    x, found = against_epsilon(plain, [("noisy prefix tree", NoisyPrefixTree(height=20))])
    timed = [
        ("SafePath", SafePath(height=16, time="60")),
        ("PPDP", PPDP(height=16, time="60", max_gap=1)),
        ("SeqPT", SeqPT(height=16, time="60")),
    ]
    x, more = against_epsilon(rides, timed)
    draw(
        "epsilon",
        "Error falls with epsilon",
        "epsilon",
        x,
        [
            (f"{label}, non-empty", [s.nonempty for s in scores], False)
            for label, scores in (found | more).items()
        ]
        + [("noisy prefix tree, uniform", [s.uniform for s in found["noisy prefix tree"]], True)],
        log_x=True,
    )


def error_against_height(plain: Arena) -> None:
    heights = [2, 4, 8, 12, 16, 20, 26, 32, 40]
    curves = []
    for epsilon in ("0.02", "0.05", "1"):
        scores = [plain.score(NoisyPrefixTree(height=height), epsilon) for height in heights]
        curves.append((f"epsilon {epsilon}", [s.nonempty for s in scores], False))
    draw("height", "Error against the height of the tree (non-empty queries)", "height", heights, curves)


def error_by_consistency(plain: Arena) -> None:
    mechanism = NoisyPrefixTree(height=20, smoothing=False, consistency="weighted")
    x = [float(e) for e in EPSILONS]
    rules = [
        ("weighted", lambda e: plain.score(mechanism, e)),
        ("equal, as published", lambda e: plain.score(mechanism, e, as_published)),
        (
            "equal, never below zero",
            lambda e: plain.score(mechanism.model_copy(update={"consistency": "equal"}), e),
        ),
        ("none", lambda e: plain.score(mechanism.model_copy(update={"consistency": "none"}), e)),
    ]
    scores = [(label, [measure(e) for e in EPSILONS]) for label, measure in rules]
    curves = [(label, [s.nonempty for s in found], label == "none") for label, found in scores]
    draw(
        "consistency", "Repairing parents and children (non-empty queries)", "epsilon", x, curves, log_x=True
    )


def ppdp_against_seqpt(rides_fine: Arena) -> None:
    x, found = against_epsilon(
        rides_fine,
        [
            ("PPDP", PPDP(height=8, time="30", max_gap=1)),
            ("SeqPT (prefix tree over stop and time)", SeqPT(height=8, time="30")),
            ("SafePath", SafePath(height=8, time="30")),
        ],
        ("0.5", "1", "2", "4", "8"),
    )
    curves = [(label, [s.nonempty for s in scores], False) for label, scores in found.items()]
    draw("ppdp", "Timed data, bins of thirty minutes (non-empty queries)", "epsilon", x, curves, log_x=True)
    curves = [(label, [s.lengths for s in scores], False) for label, scores in found.items()]
    draw(
        "ppdp-lengths",
        "The same: divergence of trip lengths",
        "epsilon",
        x,
        curves,
        log_x=True,
        y_label="Jensen-Shannon divergence (bits)",
    )


def safepath_against_seqpt() -> None:
    trips = shrunken(200_000)
    arena = Arena(trips, TimeBins.hour_of_day(), max_length=2)
    heights = [2, 3, 4, 5]
    contenders = [
        ("SafePath", lambda h: SafePath(height=h)),
        ("SeqPT", lambda h: SeqPT(height=h)),
        (
            "SeqPT, published threshold",
            lambda h: SeqPT.published(height=h, max_false_nodes=10**9),
        ),
    ]
    scores = {label: [arena.score(make(h), 1) for h in heights] for label, make in contenders}
    draw(
        "safepath-error",
        "20 stops x 24 hours, 200,000 records (non-empty queries)",
        "height",
        heights,
        [(label, [s.nonempty for s in found], False) for label, found in scores.items()],
    )
    columns = pairs(trips, TimeBins.hour_of_day(), 5)
    every = []
    for height in heights:
        start = time.process_time()
        exhaustive(columns[:, :height], 480, 24, height, np.random.default_rng(0))
        every.append([time.process_time() - start])
    curves = [(label, [[s.seconds] for s in found], False) for label, found in scores.items()]
    curves.append(("SeqPT that visits every empty child", every, True))
    draw(
        "safepath-time",
        "The same: time",
        "height",
        heights,
        curves,
        log_y=True,
        y_label="seconds of one core",
    )


def run() -> list[dict]:
    """All figures; returns how long it took."""
    mpl.rcParams["svg.hashsalt"] = "wayveil"
    FIGURES.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    plain = Arena(sequences())
    error_against_epsilon(plain, Arena(timed_rides(), time_bins("60")))
    error_against_height(plain)
    error_by_consistency(plain)
    ppdp_against_seqpt(Arena(timed_rides(300_000), time_bins("30")))
    safepath_against_seqpt()
    return [{"figure": "tree studies, all plots", "value": time.perf_counter() - start, "unit": "s"}]


if __name__ == "__main__":
    run()
