"""The distinguishing game: how well can somebody who sees the output tell two neighbouring datasets apart?

Under epsilon-differential privacy every event has P1(event) <= exp(epsilon) P0(event) + delta, and the other way
round. So one event with enough more probability under one dataset refutes the claim. The event is chosen on one sample
and judged on a fresh one, with Clopper-Pearson bounds: a sound mechanism is accused with probability at most alpha.
A bound below the claim proves nothing; it is a failed attack.

A game for every question on its own: block by block, each against its own share of the price.

A whole release can only be shown to leak what a few thousand runs can show, and its price may be far above that. One
question has a small price, so a game about it alone can fail. What came before the question is fixed: it was recorded
once, and its exact counts under the other dataset come from a replay. So both players hear the same history, the answer
to this question is all that tells them apart, and its price alone is the claim.

Only the noise is drawn again, not the whole mechanism run, which makes thousands of runs cheap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, log

import numpy as np
from scipy.stats import beta

from wayveil.arrays import Floats
from wayveil.lab.audits.grey_box import moved_cells
from wayveil.lab.audits.likelihood import log_ratio
from wayveil.lab.audits.recording import DivergedError, Subject, listening_gate, record, replay
from wayveil.lab.audits.replay_checks import difference
from wayveil.lab.audits.transcript import Exchange, Transcript
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.questions import NoisyCounts, SparseCounts
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
    """Return how many runs a game needs to show epsilon and somewhat more (a tenth, for imperfect events)."""
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


# More would take too long; a question that is dearer than they can show is reported as one that cannot fail.
MOST_RUNS = 4_000


@dataclass(frozen=True)
class BlockGame:
    """The game about one question."""

    label: str
    found: Distinction

    @property
    def excess(self) -> float:
        """Return how far the bound is above the claim; negative for a question that held."""
        return self.found.bound - self.found.claimed

    @property
    def blind(self) -> bool:
        return not self.found.refuted and self.found.reach <= self.found.claimed


class AskedBlock:
    """One question with its exact counts under both datasets, and what was booked until it was answered."""

    def __init__(self, subject: Subject, recorded: Transcript, replayed: Transcript, place: int) -> None:
        self.subject = subject
        self.exchange = recorded.exchanges[place]
        self.exact = (self.exchange.exact, replayed.exchanges[place].exact)
        scope = self.exchange.scope
        asked = sum(each.scope == scope for each in recorded.exchanges[: place + 1])
        self.spends = _until(recorded.budgets[scope], asked)
        self.total = recorded.budgets[scope].total

    @property
    def moved(self) -> bool:
        return len(moved_cells(*self.exact)[0]) > 0

    def sampler(self, side: int, bits: Bits) -> Sampler:
        """Log-likelihood ratios of answers that are drawn from the counts of one side."""
        return lambda runs: np.array([self._statistic(side, bits) for _ in range(runs)])

    def _statistic(self, side: int, bits: Bits) -> float:
        question, exact = self.exchange.question, self.exact[side]
        answer = self._draw(exact, bits)
        return log_ratio(
            Exchange(question, exact, answer), self.exact[0], self.exact[1], self.subject.currency
        )

    def _draw(self, exact: SparseCounts, bits: Bits) -> NoisyCounts | Leaves | int:
        """A gate of its own for each draw, as each release has one, with the same bookings behind it."""
        budget = Budget(self.total, currency=self.subject.currency)
        for spend in self.spends:
            budget.spend(spend)
        gate = listening_gate(self.subject, bits, budget)
        question = self.exchange.question
        if question.kind == "tree":
            return gate.answer_tree(question, exact)
        if question.kind == "selection":
            utilities = np.zeros(question.universe, np.int64)
            utilities[exact.keys] = exact.counts
            return gate.answer_selection(question, utilities)
        return gate.answer(question, exact)


def block_games(
    subject: Subject,
    without: Trips,
    within: Trips,
    bits: Bits,
    *,
    selection: int = 300,
    test: int = 2_000,
    alpha: float = 1e-4,
) -> list[BlockGame]:
    """A game for every question whose exact counts the canary moves. The chance of a false alarm is shared by all.

    Raises `DivergedError` where the replay asks other questions; such a mechanism is the grey box's to refuse.
    """
    seed = int(bits.words(1)[0])
    recorded, _ = record(subject, without, bits, seed)
    replayed, _ = replay(subject, within, recorded, seed)
    blocks = [AskedBlock(subject, recorded, replayed, place) for place in range(len(recorded.exchanges))]
    played = [block for block in blocks if block.moved]
    games = []
    for block in played:
        price, share = float(block.exchange.question.price), alpha / len(played)
        found = distinguish(
            block.sampler(0, bits),
            block.sampler(1, bits),
            price,
            selection=selection,
            test=max(test, min(runs_to_show(price, share), MOST_RUNS)),
            alpha=share,
        )
        games.append(BlockGame(block.exchange.question.label, found))
    return games


def _until(budget: Budget, asked: int) -> list[Spend]:
    """The spends up to the one that paid for the `asked`-th question; searches are booked beside the questions."""
    spends: list[Spend] = []
    for spend in budget.spends:
        if asked == 0:
            break
        spends.append(spend)
        asked -= spend.kind != "search"
    return spends
