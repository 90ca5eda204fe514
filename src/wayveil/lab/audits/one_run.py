"""Canaries in one run (Steinke, Nasr and Jagielski 2023): many units at once, each in or out by a fair coin.

A town of many equal quarters, with a canary in each. One run, then a guess for some of the canaries whether they were
in. Under epsilon-differential privacy the number of right guesses is stochastically at most binomial with success
probability e^eps / (1 + e^eps), so too many right guesses refute the claim. A single run gives thousands of guesses;
gross leaks of large generators that cannot be run ten thousand times show here.

Canaries in one run of a training: many units, each in or out by a fair coin, each with a weight of its own.

The worst units that a training can meet: each moves one weight by a whole clip and no other, so that nothing hides it
but the noise. The steps go through the gate like those of any mechanism; the noisy sums are what an attacker sees.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

import numpy as np
from scipy.stats import beta

from wayveil.arrays import Floats, Ints, Mask
from wayveil.lab.audits.grey_box import moved_cells
from wayveil.lab.audits.likelihood import cell_log_ratios
from wayveil.lab.audits.recording import Subject, listening_gate, record, replay
from wayveil.lab.audits.tiny_worlds import Town
from wayveil.lab.audits.transcript import Transcript
from wayveil.privacy.accounting import SampledSteps
from wayveil.privacy.bits import Bits
from wayveil.privacy.gradients import EmbeddingRows, Part
from wayveil.privacy.questions import NoisyCounts
from wayveil.privacy.training import Examples


@dataclass(frozen=True)
class OneRun:
    """Epsilon is at least `bound`, up to an error of probability alpha."""

    bound: float
    claimed: float
    right: int
    guesses: int
    alpha: float = 1e-4

    @property
    def refuted(self) -> bool:
        return self.bound > self.claimed

    @property
    def reach(self) -> float:
        """The largest epsilon that so many guesses could have shown: all of them right."""
        return accuracy_bound(self.guesses, self.guesses, self.alpha)


def one_run(subject: Subject, town: Town, bits: Bits, *, share: float = 0.1, alpha: float = 1e-4) -> OneRun:
    """Toss a coin for every canary, run once, and guess `share` of them in and as many out.

    Raises `DivergedError` where replays ask other questions; such a mechanism is the grey box's to refuse.
    """
    is_in = (bits.words(town.quarters) & np.uint64(1)).astype(bool)
    transcript, _ = record(subject, town.trips(is_in), bits)
    score = canary_scores(subject, town, transcript)
    order = np.argsort(score, kind="stable")
    count = max(1, int(share * town.quarters))
    right = int(is_in[order[-count:]].sum() + (~is_in[order[:count]]).sum())
    return OneRun(accuracy_bound(right, 2 * count, alpha), float(subject.epsilon), right, 2 * count, alpha)


def accuracy_bound(right: int, guesses: int, alpha: float) -> float:
    """The largest epsilon under which this many right guesses have a probability below alpha."""
    if right == 0:
        return -inf
    accuracy = float(beta.ppf(alpha, right, guesses - right + 1))
    return log(accuracy / (1 - accuracy))


def canary_scores(subject: Subject, town: Town, transcript: Transcript) -> Floats:
    """Log-likelihood ratio "in" against "out" of every canary, from the cells that it alone can move.

    Whose a cell is, replays tell: in the b-th one are the canaries whose number has bit b, so the replays that move a
    cell spell its owner.
    """
    everybody, nobody = np.ones(town.quarters, bool), np.zeros(town.quarters, bool)
    number = np.arange(town.quarters)
    digits = max(1, (town.quarters - 1).bit_length())

    def counts(is_in: Mask) -> Transcript:
        return replay(subject, town.trips(is_in), transcript)[0]

    without, within = counts(nobody), counts(everybody)
    spelled = [counts((number >> digit & 1).astype(bool)) for digit in range(digits)]
    score = np.zeros(town.quarters)
    for place, exchange in enumerate(transcript.exchanges):
        if not isinstance(exchange.answer, NoisyCounts):
            continue
        cells, moved = moved_cells(without.exchanges[place].exact, within.exchanges[place].exact)
        owner, alone = np.zeros(len(cells), np.int64), np.ones(len(cells), bool)
        for digit, part in enumerate(spelled):
            changed, by = moved_cells(without.exchanges[place].exact, part.exchanges[place].exact)
            known = np.isin(changed, cells)
            change = np.zeros(len(cells), np.int64)
            change[np.searchsorted(cells, changed[known])] = by[known]
            owner |= (change == moved).astype(np.int64) << digit
            alone &= (change == moved) | (change == 0)
        alone &= owner < town.quarters
        ratio = cell_log_ratios(exchange, without.exchanges[place].exact, cells, moved, subject.currency)
        score += np.bincount(owner[alone], ratio[alone], town.quarters)
    return score


# A claim that some hundred guesses can refute; delta is far below one over the number of canaries.
CLAIM, DELTA = Fraction(1), Fraction(1, 10**9)
STEPS = SampledSteps(Fraction(1, 2), 4)


class OwnWeights:
    """A network with one weight per canary, whose gradient is one where the canary is; adds up what it is given."""

    def __init__(self, canaries: int) -> None:
        self.total = np.zeros(canaries)

    def parts(self, columns: tuple[Ints, ...]) -> list[Part]:
        (canary,) = columns
        return [EmbeddingRows(len(self.total), canary[:, None], np.ones((len(canary), 1, 1), np.float32))]

    def update(self, gradients: list[Floats]) -> None:
        self.total += gradients[0].ravel()


def one_training(subject: Subject, canaries: int, bits: Bits, *, share: float, alpha: float) -> OneRun:
    """Toss a coin for every canary, train once through the subject's gate, and guess `share` in and as many out."""
    is_in = (bits.words(canaries) & np.uint64(1)).astype(bool)
    inside = np.flatnonzero(is_in)
    one_each = np.arange(len(inside) + 1)
    budget = Subject(subject.mechanism, subject.unit, CLAIM, delta=DELTA).budget()
    gate = listening_gate(subject, bits, budget, choices=int(bits.words(1)[0]))
    network = OwnWeights(canaries)
    gate.training("canaries", [STEPS], CLAIM).run(
        Examples((inside,), one_each, one_each[:-1], one_each),
        network,
        clip=1.0,
        expected=float(STEPS.probability) * canaries / 2,
        name="canaries",
    )
    order = np.argsort(network.total, kind="stable")
    count = max(1, int(share * canaries))
    right = int(is_in[order[-count:]].sum() + (~is_in[order[:count]]).sum())
    # Theorem 5.2 of Steinke, Nasr and Jagielski: delta adds at most 2 delta per canary to the chance of an error.
    left = alpha - 2 * canaries * float(DELTA)
    return OneRun(accuracy_bound(right, 2 * count, left), float(CLAIM), right, 2 * count, left)
