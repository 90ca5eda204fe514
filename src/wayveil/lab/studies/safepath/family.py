"""The trees beside each other, on rides along the stations of a metro: what the study's figures do not show.

Every station that a ride passes is a visit. Trees with times share the bins of their setting; the prefix tree has none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.lab import Datasets, Lab
from wayveil.lab.studies.safepath.safepath_datasets import FEW_RIDES, MANY_RIDES
from wayveil.lab.studies.safepath.safepath_trials import NONEMPTY, UNIFORM
from wayveil.lab.studies.study import CellOutcome, Setting, StudyPart, crossed, figures
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.time_axis import time_bins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.synthesis.model import Model
from wayveil.synthesis.tree import PrefixTree
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.utility.length_figures import LengthDivergence

PREFIX_TREE = "noisy prefix tree"
LENGTHS = "divergence of trip lengths (bits)"
WEIGHTED, EQUAL, AS_PUBLISHED, NO_REPAIR = REPAIRS = (
    "weighted",
    "equal, never below zero",
    "equal, as published",
    "none",
)
HOURS, HALF_HOURS = "60", "30"


class EqualAsPublished(PrefixTree):
    """Subtracts the same from every child, below zero if need be; what is negative in the end is left out."""

    def consistent(self) -> list[NDArray[np.float64]]:
        counts = [level.count.astype(np.float64) for level in self.levels]
        for depth in range(1, len(counts)):
            parent = self.levels[depth].parent
            children = np.maximum(np.bincount(parent, minlength=len(counts[depth - 1])), 1)
            together = np.bincount(parent, counts[depth], len(counts[depth - 1]))
            counts[depth] = counts[depth] + np.minimum(0, (counts[depth - 1] - together) / children)[parent]
        return [np.maximum(level, 0) for level in counts]


def timed_trees(height: int, bins: str) -> dict[str, Mechanism]:
    """The three trees with times."""
    return {
        "SafePath": SafePath(height=height, time=bins),
        "PPDP": PPDP(height=height, time=bins, max_gap=1),
        "SeqPT": SeqPT(height=height, time=bins),
    }


def family_parts(lab: Lab, data: Datasets) -> tuple[StudyPart, ...]:
    """Against epsilon, against height, by the way that counts are repaired, and with finer times."""
    family = Family(data, queries=lab.pick(tiny=100, quick=4_000, full=4_000))
    repetitions = lab.pick(tiny=1, quick=2, full=3)
    epsilons = lab.pick(
        tiny=("1", "4"), quick=("0.1", "0.5", "1", "4"), full=("0.1", "0.25", "0.5", "1", "2", "4")
    )
    fine = lab.pick(tiny=("1", "4"), quick=("0.5", "1", "4"), full=("0.5", "1", "2", "4", "8"))
    heights = lab.pick(
        tiny=("2", "8"),
        quick=("2", "4", "8", "16", "26", "40"),
        full=("2", "4", "8", "12", "16", "20", "26", "32", "40"),
    )
    trees = (PREFIX_TREE, *timed_trees(1, HOURS))
    height = [
        {**one, "line": f"epsilon {one['epsilon']}"}
        for one in crossed(epsilon=("0.02", "0.05", "1"), height=heights)
    ]
    timed = crossed(mechanism=timed_trees(1, HALF_HOURS), epsilon=fine)
    return (
        StudyPart("trees", crossed(mechanism=trees, epsilon=epsilons), family.by_epsilon, repetitions),
        StudyPart("tree height", height, family.by_height, repetitions),
        StudyPart("repair", crossed(repair=REPAIRS, epsilon=epsilons), family.by_repair, repetitions),
        StudyPart("fine times", timed, family.with_fine_times, repetitions),
    )


class Family:
    """Runs the trials; the rides and their questions are made once."""

    def __init__(self, data: Datasets, queries: int) -> None:
        self.data, self.queries = data, queries
        self._asked: dict[tuple[str, str], tuple[Trips, CountQueryError, LengthDivergence]] = {}

    def by_epsilon(self, setting: Setting, repetition: int) -> CellOutcome:
        """Trees of 16 visits with hours; the prefix tree has 20, as it has no times to pay for."""
        name = setting["mechanism"]
        if name == PREFIX_TREE:
            return self._outcome("", FEW_RIDES, NoisyPrefixTree(height=20), setting, repetition)
        return self._outcome(HOURS, FEW_RIDES, timed_trees(16, HOURS)[name], setting, repetition)

    def by_height(self, setting: Setting, repetition: int) -> CellOutcome:
        """Prefix trees without times."""
        return self._outcome(
            "", FEW_RIDES, NoisyPrefixTree(height=int(setting["height"])), setting, repetition
        )

    def by_repair(self, setting: Setting, repetition: int) -> CellOutcome:
        """The same noisy tree, its counts repaired in four ways."""
        rule = {WEIGHTED: "weighted", EQUAL: "equal", AS_PUBLISHED: "weighted", NO_REPAIR: "none"}[
            setting["repair"]
        ]
        tree = NoisyPrefixTree(height=20, smoothing=False, consistency=rule)
        return self._outcome("", FEW_RIDES, tree, setting, repetition)

    def with_fine_times(self, setting: Setting, repetition: int) -> CellOutcome:
        """Trees of eight visits with half hours, on more rides."""
        tree = timed_trees(8, HALF_HOURS)[setting["mechanism"]]
        return self._outcome(HALF_HOURS, MANY_RIDES, tree, setting, repetition)

    def _outcome(
        self, bins: str, rides: str, mechanism: Mechanism, setting: Setting, repetition: int
    ) -> CellOutcome:
        raw, asked, lengths = self._questions(rides, bins)
        gate = Gate(Trip(), Budget(setting["epsilon"]), SeededBits(f"{rides} {bins} {repetition}"))
        model: Model = mechanism.measure(LocalCounter(raw), gate)
        if setting.get("repair") == AS_PUBLISHED and isinstance(model, PrefixTree):
            model = EqualAsPublished(model.world, model.levels, model.consistency)
        made = model.generate(repetition)
        found = {one.key: one.value for one in asked.measure(made)}
        values: dict[str, Any] = {
            NONEMPTY: found["count_query_error/non-empty"],
            UNIFORM: found["count_query_error/uniform"],
            LENGTHS: lengths.measure(made)[0].value,
            "trips released per ride": len(made) / len(raw),
        }
        return CellOutcome(figures(values))

    def _questions(self, rides: str, bins: str) -> tuple[Trips, CountQueryError, LengthDivergence]:
        if (rides, bins) not in self._asked:
            raw = self.data.trips[rides]()
            raw = raw if bins else raw.without_times()
            steps = time_bins(bins) if bins else None
            asked = CountQueryError(raw, queries=self.queries, max_length=3, bins=steps)
            # Two at most: with times and without them.
            self._asked = dict(list(self._asked.items())[-1:])
            self._asked[rides, bins] = raw, asked, LengthDivergence(raw)
        return self._asked[rides, bins]
