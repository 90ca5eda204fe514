"""The distinguishing game: how well can somebody who sees the output tell two neighbouring datasets apart?

Under epsilon-differential privacy every event has P1(event) <= exp(epsilon) P0(event) + delta, and the other way
round. So one event with enough more probability under one dataset refutes the claim. The event is chosen on one sample
and judged on a fresh one, with Clopper-Pearson bounds: a sound mechanism is accused with probability at most alpha.
A bound below the claim proves nothing; it is a failed attack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, log

import numpy as np
from scipy.stats import beta

from wayveil.arrays import Floats
from wayveil.lab.audits.likelihood import log_ratio
from wayveil.lab.audits.likeness import difference
from wayveil.lab.audits.recording import DivergedError, Subject, record, replay
from wayveil.privacy.bits import Bits
from wayveil.trips.trips import Trips

Sampler = Callable[[int], Floats]

QUANTILES = (0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True)
class RejectionRegion:
    """Statistic at or beyond `limit`: above (`sign` +1) or below (-1); likelier under dataset `favours` (0 or 1)."""

    limit: float
    sign: int
    favours: int

    def hits(self, sample: Floats) -> int:
        return int(np.count_nonzero(self.sign * sample >= self.sign * self.limit))


@dataclass(frozen=True)
class Distinction:
    """The outcome of a game: epsilon is at least `bound`, up to an error of probability alpha."""

    bound: float
    claimed: float
    event: RejectionRegion
    hits: tuple[int, int]
    runs: int
    alpha: float = 1e-4

    @property
    def refuted(self) -> bool:
        return self.bound > self.claimed

    @property
    def reach(self) -> float:
        """The largest epsilon that so many runs could have shown."""
        return largest_shown(self.runs, self.alpha)


def distinguish(
    without: Sampler,
    within: Sampler,
    epsilon: float,
    *,
    delta: float = 0.0,
    selection: int = 3_000,
    test: int = 20_000,
    alpha: float = 1e-4,
) -> Distinction:
    """A lower bound on epsilon from the statistics of many runs on two neighbouring datasets."""
    event = choose_event(without(selection), within(selection), delta, alpha)
    hits = event.hits(without(test)), event.hits(within(test))
    bound = epsilon_bound(hits[event.favours], hits[1 - event.favours], test, delta, alpha)
    return Distinction(bound, float(epsilon), event, hits, test, alpha)


def choose_event(without: Floats, within: Floats, delta: float, alpha: float) -> RejectionRegion:
    """The event with the best bound on this sample: both tails, in favour of either dataset, a grid of quantiles."""
    pooled = np.sort(np.concatenate([without, within]))
    ranks = np.array([int(share * (len(pooled) - 1)) for share in QUANTILES])
    best, chosen = -inf, RejectionRegion(0.0, 1, 1)
    for sign in (1, -1):
        for limit in np.unique(pooled[-1 - ranks] if sign > 0 else pooled[ranks]):
            event = RejectionRegion(float(limit), sign, 1)
            hits = event.hits(without), event.hits(within)
            for favours in (0, 1):
                bound = epsilon_bound(hits[favours], hits[1 - favours], len(without), delta, alpha)
                if bound > best:
                    best, chosen = bound, RejectionRegion(event.limit, sign, favours)
    return chosen


def epsilon_bound(likely: int, unlikely: int, runs: int, delta: float, alpha: float) -> float:
    """log of (lower bound on one probability, less delta) over (upper bound on the other); Clopper-Pearson."""
    if likely == 0:
        return -inf
    low = float(beta.ppf(alpha / 2, likely, runs - likely + 1)) - delta
    high = 1.0 if unlikely == runs else float(beta.ppf(1 - alpha / 2, unlikely + 1, runs - unlikely))
    return log(low / high) if low > 0 else -inf


def largest_shown(runs: int, alpha: float) -> float:
    """The bound of a perfect event: in every run on one dataset, and in none on the other. No game shows more."""
    return epsilon_bound(runs, 0, runs, 0.0, alpha)


def runs_to_show(epsilon: float, alpha: float) -> int:
    """How many runs a game needs so that it could show epsilon, and somewhat more (a tenth, for imperfect events)."""
    runs = ceil(log(2 / alpha) * exp(1.1 * epsilon))
    while largest_shown(runs, alpha) < 1.1 * epsilon:
        runs += max(1, runs // 50)
    return runs


class Attack:
    """Somebody who knows the code, both datasets and every answer, and has to say which dataset it was.

    The statistic is the log-likelihood ratio of all published answers by the claimed law. The counts behind them under
    the dataset that was not used come from a replay, so it works for every mechanism. A run that the other dataset
    cannot have produced (another question, another model) settles the matter: plus or minus infinity.

    What was counted by chance is known to the attacker too: it falls alike in both datasets, so the guarantee must hold
    whatever it was.
    """

    def __init__(self, subject: Subject, without: Trips, within: Trips, bits: Bits) -> None:
        self.subject = subject
        self.datasets = (without, within)
        self.bits = bits

    def sampler(self, side: int) -> Sampler:
        """Statistics of runs on the dataset without (0) or with (1) the canary."""
        return lambda runs: np.array([self.statistic(side) for _ in range(runs)])

    def statistic(self, side: int) -> float:
        choices = int(self.bits.words(1)[0])
        transcript, model = record(self.subject, self.datasets[side], self.bits, choices)
        sign = 1 if side else -1
        try:
            other, twin = replay(self.subject, self.datasets[1 - side], transcript, choices)
        except DivergedError:
            return sign * inf
        if difference(model, twin) is not None:
            return sign * inf
        published = {id(exchange) for exchange in transcript.visible()}
        return sign * sum(
            log_ratio(exchange, twin.exact, exchange.exact, self.subject.currency)
            for exchange, twin in zip(transcript.exchanges, other.exchanges, strict=True)
            if id(exchange) in published
        )

    def play(self, *, selection: int = 3_000, test: int = 20_000, alpha: float = 1e-4) -> Distinction:
        """The whole game against the claim of the subject."""
        return distinguish(
            self.sampler(0),
            self.sampler(1),
            float(self.subject.epsilon),
            selection=selection,
            test=test,
            alpha=alpha,
        )
