"""Does the noise that a mechanism really gets follow the law that its price was computed for?

Every cell of every answer is turned into a number that is uniform on [0, 1) if, and only if, the noise has the claimed
law: its distribution function at the noise, spread evenly over the jump (a cell that did not come back is one large
jump). So cells with different counts, thresholds and scales become one sample. Empty cells are in it, on their own.

An audit of epsilon alone would miss noise that is too small where the analysis has slack; this one does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2, poisson

from wayveil.arrays import Floats, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.lab.audits.likelihood import node_chances, noise_law
from wayveil.lab.audits.recording import Subject, record
from wayveil.lab.audits.transcript import Exchange, Flip, Transcript
from wayveil.privacy.bits import Bits
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.questions import NoisyCounts
from wayveil.trips.trips import Trips

BINS, PAIR_BINS = 50, (8, 4)
FEWEST_RUNS = 16  # else there are too few pairs of runs,
FEWEST_PAIRS = 240  # and so many pairs of answers, even where one of the two has a single cell
FEWEST_SPLITS = 4_000  # of trees, which have few nodes in a run that draws many counts
MOST_CELLS = 1_000_000  # of one answer; an audit belongs on a tiny world
APART = (1, 2, 3)  # survivors are compared with those so many questions later


@dataclass(frozen=True)
class Conformance:
    """p-values of the tests; each is uniform for noise as claimed, and tiny for any other."""

    draws: int
    p_values: dict[str, float]

    @property
    def smallest(self) -> tuple[str, float]:
        """The test that speaks loudest against the claim."""
        return min(self.p_values.items(), key=lambda item: item[1], default=("no test", 1.0))


def conformance(subject: Subject, trips: Trips, bits: Bits, *, draws: int = 200_000) -> Conformance:
    """Run the subject until enough noise was drawn, and test its law and its independence.

    Tests: the law in counted cells, in empty ones, of the splits of a tree and of coins; independence between
    neighbouring cells of an answer, between answers of a run, between survivors of a threshold in different answers,
    and between runs.
    """
    found = _Evidence(subject.currency, bits)
    while found.asks_for_more(draws):
        transcript, _ = record(subject, trips, bits, found.runs)
        found.add(transcript)
    return Conformance(found.done, found.p_values())


class _Evidence:
    """Uniform numbers of all runs so far, by what they are tested for."""

    def __init__(self, currency: str, bits: Bits) -> None:
        self.currency, self.bits = currency, bits
        self.counted: list[Floats] = []
        self.empty: list[Floats] = []
        self.splits: list[Floats] = [np.empty(0)]
        self.coins: list[Flip] = []
        self.rare = Rare()
        self.pairs: dict[str, list[Floats]] = {"next cell": [], "next question": [], "next run": []}
        self.pairs |= {f"survivors {apart} questions later": [] for apart in APART}
        self.earlier_run: list[Floats] = []
        self.done = self.runs = 0

    def asks_for_more(self, draws: int) -> bool:
        """Tell whether the tests need another run."""
        pairs = (self.pairs[name] for name in ("next question", "survivors 1 questions later"))
        few_splits = self.runs < FEWEST_PAIRS and sum(map(len, self.splits)) < FEWEST_SPLITS
        return (
            self.done < draws
            or self.runs < FEWEST_RUNS
            or any(_too_few(each, self.runs) for each in pairs)
            or (len(self.splits) > 1 and few_splits)
        )

    def add(self, transcript: Transcript) -> None:
        """Take in one run."""
        self.coins += transcript.coins
        run: list[Floats] = []
        passing: list[Floats] = []
        for exchange in transcript.exchanges:
            tree = isinstance(exchange.answer, Leaves)
            large = run and exchange.question.universe > MOST_CELLS and not tree
            if isinstance(exchange.answer, int) or large:
                continue  # how large a later question is depends on noise that was tested
            cells = cells_of(exchange, self.currency)
            values = cells.uniforms(self.bits)
            self.done += len(values)
            if tree:
                self.splits.append(values)
                continue
            self.rare.add(cells)
            self.counted.append(values[cells.counted & ~cells.rare])
            self.empty.append(values[~cells.counted & ~cells.rare])
            self.pairs["next cell"].append(_adjacent(values[~cells.rare]))
            run.append(values[_drawn(exchange)])
            if exchange.question.threshold is not None:
                passing.append(skipping_uniforms(exchange, self.bits))
        if not run:
            raise ParameterError("this mechanism asked for no counts, so there is no noise to test")
        # Every answer with the next one, as a chain of transitions; runs in disjoint pairs.
        self.pairs["next question"].extend(_alongside(run[:-1], run[1:]))
        self.pairs["next run"].extend(_alongside(self.earlier_run, run) if self.runs % 2 else ())
        for apart in APART:
            later = _alongside(passing[:-apart], passing[apart:])
            self.pairs[f"survivors {apart} questions later"].extend(later)
        self.earlier_run, self.runs = run, self.runs + 1

    def p_values(self) -> dict[str, float]:
        """The p-value of every test."""
        alone = {
            "law in counted cells": uniform_p_value(np.concatenate(self.counted)),
            "law in empty cells": uniform_p_value(np.concatenate(self.empty)),
            "number of survivors": self.rare.p_value(),
            "law of splits in a tree": uniform_p_value(np.concatenate(self.splits)),
            "law of coins": coins_p_value(self.coins),
        }
        return alone | {
            f"independence of the {name}": independence_p_value(np.concatenate([np.empty((0, 2)), *found]))
            for name, found in self.pairs.items()
        }


@dataclass(frozen=True)
class NoiseCells:
    """All cells of an answer: where the distribution function of their noise jumps, and how far.

    A `rare` cell reaches its threshold once in a hundred times or less; alone it says too little.
    """

    low: Floats
    jump: Floats
    seen: Mask
    counted: Mask
    passing: Floats

    @property
    def rare(self) -> Mask:
        return self.passing <= 0.01

    def uniforms(self, bits: Bits) -> Floats:
        """One number per cell, uniform if the noise is as claimed."""
        return self.low + self.jump * fractions(len(self.low), bits)


class Rare:
    """Cells that hardly ever pass, judged together: how many passed, against a Poisson law."""

    def __init__(self) -> None:
        self.passed, self.expected = 0, 0.0

    def add(self, cells: NoiseCells) -> None:
        self.passed += int(cells.seen[cells.rare].sum())
        self.expected += float(cells.passing[cells.rare].sum())

    def p_value(self) -> float:
        if self.expected == 0:
            return float(self.passed == 0)
        tails = poisson.cdf(self.passed, self.expected), poisson.sf(self.passed - 1, self.expected)
        return min(1.0, 2 * float(min(tails)))


def cells_of(exchange: Exchange, currency: str) -> NoiseCells:
    """Every cell of an answer, empty ones and those that did not come back included; of a tree, every visited node."""
    question, exact, answer = exchange.question, exchange.exact, exchange.answer
    if isinstance(answer, Leaves):
        values, yes, no, split = node_chances(exchange, exact)
        return NoiseCells(
            np.where(split, no, 0.0), np.where(split, yes, no), split, values > -answer.step, yes
        )
    if not isinstance(answer, NoisyCounts) or question.universe > MOST_CELLS:
        raise ParameterError(f"{question.label}: noise can be tested only on histograms of a tiny world")
    law = noise_law(question.scale, currency)
    counts = np.zeros(question.universe, np.int64)
    counts[exact.keys] = exact.counts
    seen = np.zeros(question.universe, bool)
    seen[answer.keys] = True
    noise = np.zeros(question.universe, np.int64)
    noise[answer.keys] = answer.counts
    noise -= counts
    if question.threshold is None:
        return NoiseCells(law.below(noise), law.pmf(noise), seen, counts > 0, np.ones(question.universe))
    below = law.below(question.threshold - counts)
    low, jump = np.where(seen, law.below(noise), 0.0), np.where(seen, law.pmf(noise), below)
    return NoiseCells(low, jump, seen, counts > 0, 1 - below)


def skipping_uniforms(exchange: Exchange, bits: Bits) -> Floats:
    """Return how empty cells were passed over and what survivors got, as numbers that are uniform by the law.

    The k-th number is about the gap before the k-th survivor, given where the one before it was; the gap after the last
    one is known only to be longer than what was left. Words that serve two questions show at the same place of both.
    """
    question, exact, answer = exchange.question, exchange.exact, exchange.answer
    if not isinstance(answer, NoisyCounts) or question.threshold is None:
        return np.empty(0)
    law = noise_law(question.scale, "epsilon")
    passing = 1 - float(law.below(np.array([question.threshold]))[0])
    counted = np.zeros(question.universe, bool)
    counted[exact.keys] = True
    rank = np.cumsum(~counted) - 1
    place = rank[answer.keys[~counted[answer.keys]]]
    empty = question.universe - len(exact.keys)
    gap = np.diff(np.concatenate([[-1], place])) - 1
    left = empty - 1 - place[-1] if len(place) else empty
    stays = np.exp(np.concatenate([gap, [left]]) * np.log1p(-passing))
    jump = stays * np.concatenate([np.full(len(gap), passing), [1.0]])
    return (1 - stays) + jump * fractions(len(stays), bits)


def fractions(size: int, bits: Bits) -> Floats:
    """Uniform numbers in [0, 1) for tests and attacks."""
    return (bits.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform_p_value(values: Floats) -> float:
    """Chi-square against the uniform law; 1 where there are too few values to say anything."""
    if len(values) < 20 * BINS:
        return 1.0
    return _chi_square_p(np.bincount(np.clip((values * BINS).astype(int), 0, BINS - 1), minlength=BINS))


def coins_p_value(coins: Sequence[Flip]) -> float:
    """Exact binomial tests of the coins of each probability, the smallest times their number."""
    fallen: dict[Fraction, list[bool]] = {}
    for coin in coins:
        fallen.setdefault(coin.probability, []).append(coin.heads)
    found = [binomtest(sum(heads), len(heads), float(p)).pvalue for p, heads in fallen.items()]
    return min(1.0, len(found) * float(min(found))) if found else 1.0


def independence_p_value(pairs: Floats) -> float:
    """Chi-square of pairs: whatever the first number is, the second must be uniform.

    The first one may be distributed in any way: which questions come later depends on earlier noise, and rightly so.
    It may also be the second number of an earlier pair, as in the transitions of a chain: what is tested is the law of
    a number given all that came before it. Few pairs are sorted into fewer bins.
    """
    bins = next((each for each in PAIR_BINS if len(pairs) >= 20 * each**2), PAIR_BINS[-1])
    cell = np.clip((pairs * bins).astype(int), 0, bins - 1)
    table = np.bincount(cell[:, 0] * bins + cell[:, 1], minlength=bins**2).reshape(-1, bins)
    table = table[table.sum(axis=1) >= 10 * bins]
    return _chi_square_p(table) if len(table) else 1.0


def _chi_square_p(table: NDArray[np.intp]) -> float:
    """p-value of rows of counts, each against equal probabilities."""
    expected = table.sum(axis=-1, keepdims=True) / table.shape[-1]
    freedom = table.size - table.size // table.shape[-1]
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), freedom))


def _adjacent(values: Floats) -> Floats:
    """Disjoint pairs of neighbours: with overlapping ones the statistic would not follow chi-square."""
    return values[: len(values) // 2 * 2].reshape(-1, 2)


def _drawn(exchange: Exchange) -> Ints:
    """The cells in the order in which their noise is drawn: with a threshold, those that somebody is in come first.

    So noise that is used again is found at the same place of two answers, whatever cells these are about.
    """
    dense = exchange.question.threshold is None or len(exchange.exact.keys) == 0
    return np.arange(exchange.question.universe) if dense else exchange.exact.keys


def _too_few(pairs: list[Floats], runs: int) -> bool:
    """Tell whether a mechanism that asks several questions was not run often enough to compare their noise."""
    found = sum(map(len, pairs))
    return 0 < found < FEWEST_PAIRS and runs < FEWEST_PAIRS


def _alongside(run: list[Floats], later: list[Floats]) -> Iterator[Floats]:
    """Pairs of draws at the same place of two answers."""
    for one, other in zip(run, later, strict=False):
        size = min(len(one), len(other))
        yield np.stack([one[:size], other[:size]], axis=1)
