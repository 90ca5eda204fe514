"""Record of a conversation with the gate: questions and answers, budgets, coins, searches."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from wayveil.privacy.budget import Budget
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.questions import NoisyCounts, Question, SparseCounts
from wayveil.privacy.repeat import Score, Stopping


@dataclass(frozen=True, eq=False)
class Exchange:
    """One question, the exact counts behind it (for a selection: its utilities), and the answer.

    `scope` is 0 for the release itself, and a number of its own for each draw of a private search.
    """

    question: Question
    exact: SparseCounts
    answer: NoisyCounts | Leaves | int
    scope: int = 0


@dataclass(frozen=True)
class Flip:
    """One flip of the gate of a scope, with the probability that was asked for."""

    scope: int
    probability: Fraction
    heads: bool


@dataclass
class Draw:
    """One draw: its first scope, the number of coins before it, and candidate and score, None if it broke off."""

    scope: int
    coins: int
    outcome: Any = None


@dataclass
class Search:
    """A search by the gate of a scope. `nothing`: it ended without a result; `coins`: so many had fallen then."""

    scope: int
    label: str
    threshold: Score
    price: Fraction
    stopping: Stopping
    draws: list[Draw] = field(default_factory=list)
    nothing: bool = False
    coins: int = 0

    @property
    def question(self) -> tuple[object, ...]:
        """Return what must be the same for both neighbours."""
        return self.label, self.threshold, self.price, self.stopping

    @property
    def rejected(self) -> list[Draw]:
        return self.draws if self.nothing else self.draws[:-1]

    @property
    def given_up(self) -> bool:
        """Tell whether it ended before its first draw, as only an audit can make it."""
        return self.nothing and not self.draws


@dataclass
class Transcript:
    """A conversation: all exchanges in order, the budget of each scope and the scope it came from, coins, searches."""

    exchanges: list[Exchange] = field(default_factory=list)
    budgets: list[Budget] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    coins: list[Flip] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)

    def visible(self) -> list[Exchange]:
        """Return what may be published: rejected draws of a search never leave the building."""
        hidden = self._scopes_of([draw for search in self.searches for draw in search.rejected])
        return [exchange for exchange in self.exchanges if exchange.scope not in hidden]

    def forgetting(self, *, vain: bool) -> "Transcript":
        """Return the conversation as if every search had begun with its last draw.

        With `vain`, one that found nothing keeps that last draw too, and ends after it; else it makes no draw at all.
        """
        forgotten: list[Draw] = []
        searches: list[Search] = []
        dropped: set[int] = set()
        last: set[int] = set()
        for search in self.searches:
            kept = search.draws[-1:] if vain or not search.nothing else []
            forgotten += search.draws[: len(search.draws) - len(kept)]
            searches.append(replace(search, draws=kept))
            if search.draws:
                dropped |= set(range(search.draws[0].coins, kept[0].coins if kept else search.coins))
            if search.nothing:
                last.add(search.coins - 1)
        hidden = self._scopes_of(forgotten)
        return Transcript(
            [exchange for exchange in self.exchanges if exchange.scope not in hidden],
            coins=[
                # Where the number of draws was capped, tails had the last word.
                replace(coin, heads=True) if place in last else coin
                for place, coin in enumerate(self.coins)
                if place not in dropped
            ],
            searches=[search for search in searches if search.scope not in hidden],
        )

    def handed_on(self) -> list[int]:
        """Scopes whose budget a gate handed on by itself, outside a search."""
        drawn = {draw.scope for search in self.searches for draw in search.draws}
        return [scope for scope in range(1, len(self.parents)) if scope not in drawn]

    def _scopes_of(self, draws: list[Draw]) -> set[int]:
        """The scopes of the draws, and those that were opened inside them."""
        found = {draw.scope for draw in draws}
        for scope, parent in enumerate(self.parents):
            if scope > 0 and parent in found:
                found.add(scope)
        return found
