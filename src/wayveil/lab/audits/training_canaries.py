"""Canaries in one run of a training: many units, each in or out by a fair coin, each with a weight of its own.

The worst units that a training can meet: each moves one weight by a whole clip and no other, so that nothing hides it
but the noise. The steps go through the gate like those of any mechanism; the noisy sums are what an attacker sees.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.lab.audits.one_run import OneRun, accuracy_bound
from wayveil.lab.audits.recording import Subject, listening_gate
from wayveil.privacy.accounting import SampledSteps
from wayveil.privacy.bits import Bits
from wayveil.privacy.gradients import EmbeddingRows, Part
from wayveil.privacy.training import Examples

# A claim that some hundred guesses can refute; delta is far below one over the number of canaries.
CLAIM, DELTA = Fraction(1), Fraction(1, 10**9)
STEPS = SampledSteps(Fraction(1, 2), 4)


class OwnWeights:
    """A network with one weight per canary, whose gradient is one where the canary is; adds up what it is given."""

    def __init__(self, canaries: int) -> None:
        self.total = np.zeros(canaries)

    def parts(self, columns: tuple[NDArray[np.int64], ...]) -> list[Part]:
        (canary,) = columns
        return [EmbeddingRows(len(self.total), canary[:, None], np.ones((len(canary), 1, 1), np.float32))]

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
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
