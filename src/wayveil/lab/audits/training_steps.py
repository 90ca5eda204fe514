"""Steps of trainings under the grey box: what was paid for them, and whether every parameter got its noise."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.stats import chi2

from wayveil.lab.audits.transcript import Exchange, Transcript
from wayveil.privacy.accounting import SampledSteps, training_epsilon
from wayveil.privacy.gradients import CLIP
from wayveil.privacy.questions import NoisyCounts

# A sound step is accused with at most this probability.
ALPHA = 1e-9
# The slack of sigma's search: its epsilon is held against the price, no tighter.
ROOM = 1e-9


def check_steps(transcript: Transcript, say: Callable[[str], object]) -> None:
    """Every training: noise of the booked sigma, enough of it for the steps that were run, on every parameter."""
    for budget in transcript.budgets:
        for spend in budget.spends:
            if spend.kind != "training":
                continue
            steps = [
                e
                for e in transcript.exchanges
                if e.question.kind == "training" and e.question.label == spend.label
            ]
            if not steps:
                say(f"{spend.label}: paid for, but no step was taken")
                continue
            counted: dict[Fraction, int] = {}
            for exchange in steps:
                probability = exchange.question.probability or Fraction(1)
                counted[probability] = counted.get(probability, 0) + 1
                if exchange.question.scale != spend.scale * CLIP:
                    say(f"{spend.label}: the noise is {exchange.question.scale}, not sigma clips")
                _check_noise(spend.label, exchange, say)
            cost = training_epsilon(
                [SampledSteps(*item) for item in counted.items()], spend.scale, spend.delta
            )
            if cost > float(spend.price) + ROOM:
                say(
                    f"{spend.label}: {len(steps)} steps cost {cost:.4f}, but {float(spend.price):.4f} was paid"
                )


def _check_noise(label: str, exchange: Exchange, say: Callable[[str], object]) -> None:
    """The noise of a step: its spread over all parameters, and no parameter without any."""
    answer = exchange.answer
    assert isinstance(answer, NoisyCounts)
    exact = np.zeros(exchange.exact.universe, np.float64)
    exact[exchange.exact.keys] = exchange.exact.counts
    noise = (answer.counts - exact) / float(exchange.question.scale)
    total = float((noise**2).sum())
    tail = min(chi2.cdf(total, len(noise)), chi2.sf(total, len(noise)))
    if tail < ALPHA:
        say(
            f"{label}: the noise of a step has {np.sqrt(total / len(noise)):.3f} times the spread that was booked"
        )
    # A Gaussian of a million units is nearly never zero.
    if np.count_nonzero(noise == 0) > 2 + 0.01 * len(noise):
        say(f"{label}: {np.count_nonzero(noise == 0):,} of {len(noise):,} parameters got no noise")
