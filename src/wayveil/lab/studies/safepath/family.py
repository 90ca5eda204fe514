"""Trees beside each other on rides along the stations of a metro, and the figures that show them.

Every station that a ride passes is a visit. Trees with times share the bins of their setting; the prefix tree has none.
"""

from typing import Any

import numpy as np

from wayveil.arrays import Floats
from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.figure_verdicts import NOT_MEASURED, Said, always_less, pairs
from wayveil.lab.studies.lab import Datasets, Lab
from wayveil.lab.studies.safepath.safepath_datasets import FEW_RIDES, MANY_RIDES
from wayveil.lab.studies.safepath.safepath_trials import NONEMPTY, UNIFORM
from wayveil.lab.studies.study import CellOutcome, Claim, Exhibit, Setting, StudyPart, crossed, figures
from wayveil.lab.studies.study_results import Results
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
from wayveil.utility.stop_figures import LengthDivergence

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

    def consistent(self) -> list[Floats]:
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
        """Repair the counts of one noisy tree in four ways."""
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


RELEASED = "trips released per ride"


def beside() -> tuple[Exhibit, ...]:
    """Epsilon, height, repair, and times of half an hour."""
    return (
        Exhibit(
            label="Trees against epsilon",
            title="rides along the stations of the metro, heights 20 (prefix tree) and 16",
            part="trees",
            shape="lines",
            columns=(NONEMPTY, UNIFORM),
            claims=(Claim("the error of every tree falls with epsilon", errors_fall),),
            published=False,
            note="Count queries of one to three visits. The prefix tree has no times; the others have hours.",
        ),
        Exhibit(
            label="Trees against height",
            title="the noisy prefix tree on the same rides",
            part="tree height",
            shape="lines",
            down="height",
            series="line",
            columns=(NONEMPTY,),
            claims=(Claim("the best height grows with epsilon", best_height_grows),),
            published=False,
            note="A higher tree sees more of each trip and spreads epsilon thinner. A height that is read off the "
            "average length of trips is a leak, and a poor rule: the best one depends on epsilon.",
        ),
        Exhibit(
            label="Repairs",
            title="four ways to make children fit their parents, noisy prefix tree, height 20",
            part="repair",
            series="repair",
            columns=(NONEMPTY, RELEASED),
            claims=(
                Claim("equal repair has less error than weighted repair at every epsilon", equal_wins),
                Claim(
                    "the rule as published releases more trips than where the other children pay", adds_trips
                ),
            ),
            published=False,
            note="As published, what falls below zero is left out without being taken from anybody. Never below zero, "
            "it is taken from the other children; this is the default here.",
        ),
        Exhibit(
            label="Trees with half hours",
            title="timed trees on three times as many rides, height 8",
            part="fine times",
            shape="lines",
            columns=(NONEMPTY, LENGTHS),
            claims=(Claim("PPDP has less error than SeqPT at every epsilon", ppdp_beats_seqpt),),
            published=False,
            note="What speaks for PPDP is fewer candidates, and so lower thresholds; what speaks against it is that "
            "the first level, on which all others stand, gets the smallest share of epsilon.",
        ),
    )


def errors_fall(results: Results) -> Said:
    """From the smallest epsilon to the largest, by tree."""
    words, holds = [], []
    for name in (PREFIX_TREE, "SafePath", "PPDP", "SeqPT"):
        curve = results.curve("trees", NONEMPTY, "epsilon", mechanism=name)
        if len(curve) < 2:
            return NOT_MEASURED
        first, *_, last = curve.values()
        holds.append(last < first)
        words.append(f"{name} from {first:.3g} to {last:.3g}")
    return all(holds), "; ".join(words)


def best_height_grows(results: Results) -> Said:
    """The height of the least error, by epsilon."""
    best = {}
    for epsilon in ("0.02", "0.05", "1"):
        curve = results.curve("tree height", NONEMPTY, "height", epsilon=epsilon)
        if not curve:
            return NOT_MEASURED
        best[epsilon] = min(curve, key=curve.__getitem__)
    small, middle, large = best.values()
    return small <= middle <= large and small < large, "; ".join(
        f"{height:g} at epsilon {epsilon}" for epsilon, height in best.items()
    )


def equal_wins(results: Results) -> Said:
    """At every epsilon."""
    both = pairs(*(results.curve("repair", NONEMPTY, "epsilon", repair=one) for one in (EQUAL, WEIGHTED)))
    if not both:
        return NOT_MEASURED
    wins = sum(equal < weighted for equal, weighted in both)
    less = [100 * (1 - equal / weighted) for equal, weighted in both]
    return wins == len(both), f"at {wins} of {len(both)}, by {min(less):.1f} to {max(less):.1f} %"


def adds_trips(results: Results) -> Said:
    """Trips per ride, at every epsilon."""
    return always_less(
        *(results.curve("repair", RELEASED, "epsilon", repair=one) for one in (EQUAL, AS_PUBLISHED))
    )


def ppdp_beats_seqpt(results: Results) -> Said:
    """At every epsilon, with the trip lengths beside."""
    both = pairs(
        *(results.curve("fine times", NONEMPTY, "epsilon", mechanism=one) for one in ("PPDP", "SeqPT"))
    )
    lengths = pairs(
        *(results.curve("fine times", LENGTHS, "epsilon", mechanism=one) for one in ("PPDP", "SeqPT"))
    )
    if not both:
        return NOT_MEASURED
    wins, worse = sum(a < b for a, b in both), sum(a > b for a, b in lengths)
    return wins == len(both), f"at {wins} of {len(both)}; its trip lengths are worse at {worse}"
