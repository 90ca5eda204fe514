"""A game for every question on its own: block by block, each against its own share of the price.

A whole release can only be shown to leak what a few thousand runs can show, and its price may be far above that. One
question has a small price, so a game about it alone can fail. What came before the question is fixed: it was recorded
once, and its exact counts under the other dataset come from a replay. So both players hear the same history, the answer
to this question is all that tells them apart, and its price alone is the claim.

Only the noise is drawn again, not the whole mechanism run, which makes thousands of runs cheap.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.lab.audits.distinguish import Distinction, Sampler, distinguish, runs_to_show
from wayveil.lab.audits.grey_box import moved_cells
from wayveil.lab.audits.likelihood import log_ratio
from wayveil.lab.audits.recording import Subject, listening_gate, record, replay
from wayveil.lab.audits.transcript import Exchange, Transcript
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.trips.trips import Trips

# More would take too long; a question that is dearer than they can show is reported as one that cannot fail.
MOST_RUNS = 4_000


@dataclass(frozen=True)
class BlockGame:
    """The game about one question."""

    label: str
    found: Distinction

    @property
    def excess(self) -> float:
        """How far the bound is above the claim; negative for a question that held."""
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
