"""Gates that listen: one records everything that passes it, the other replays a recording on other data.

The privacy of a mechanism rests on its conversation with the gate. A recording of that conversation on a dataset D can
be replayed on a neighbour D': the mechanism then hears the answers of D while its questions carry the counts of D'.
Everything the audits compare comes out of that.

Which contributions of a unit are counted may be left to chance. Two datasets can be compared only if that chance falls
alike for the units they share, so a listening gate draws it apart from the noise: from words that depend on nothing but
a seed and the number of the draw. Units that both datasets begin with then get the same words.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate, NoisyCounts, Question, SparseCounts
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips


class Measures(Protocol):
    """The part of a mechanism that is audited."""

    def measure(self, counter: Any, gate: Any) -> Any:
        """Ask the gate for noisy counts and build a model from them."""


@dataclass(frozen=True)
class Subject:
    """What is audited: a mechanism, the guarantee it claims, and how it is run.

    `unit` and `epsilon` are the claim; the other parts are as in a release, unless a mutation broke one on purpose.
    """

    mechanism: Measures
    unit: Unit
    epsilon: Fraction
    gate: type[Gate] = Gate
    counter: Callable[[Trips], Counter] = LocalCounter
    variant: str = "as built"
    currency: str = "epsilon"

    def budget(self) -> Budget:
        return Budget(self.epsilon, currency=self.currency)


@dataclass(frozen=True, eq=False)
class Exchange:
    """One question, the exact counts behind it (for a selection: its utilities), and the answer.

    `scope` is 0 for the release itself, and a number of its own for each draw of a private search.
    """

    question: Question
    exact: SparseCounts
    answer: NoisyCounts | Leaves | int
    scope: int = 0


@dataclass
class Transcript:
    """A conversation: all exchanges in order, the budget of each scope, and the coins of private searches."""

    exchanges: list[Exchange] = field(default_factory=list)
    budgets: list[Budget] = field(default_factory=list)
    coins: list[bool] = field(default_factory=list)
    rejected: set[int] = field(default_factory=set)

    def visible(self) -> list[Exchange]:
        """What may be published: rejected draws of a search never leave the building."""
        return [exchange for exchange in self.exchanges if exchange.scope not in self.rejected]


class DivergedError(Exception):
    """Under replay the neighbour led to another question: the course of the run depends on exact counts."""


class CoupledBits:
    """Every draw from a stream of its own: the first words of the n-th draw are the same, however many it asks for."""

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draws = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self._draws += 1
        return SeededBits(f"{self._seed} draw {self._draws}").words(count)


class AuditGate(Gate):
    """A gate that an audit listens to. What passes it is no release.

    `bits` decide what is counted and are coupled; `noise_bits` are what a release would draw its noise from.
    """

    def __init__(
        self,
        unit: Unit,
        budget: Budget,
        noise_bits: Bits,
        coupled: Bits,
        transcript: Transcript | None = None,
    ) -> None:
        super().__init__(unit, budget, noise_bits)
        # Not the argument: a broken gate may have put other bits in its place.
        self.noise_bits = self.bits
        self.bits = coupled
        self.transcript = Transcript() if transcript is None else transcript
        self.scope = len(self.transcript.budgets)
        self.transcript.budgets.append(self.budget)

    def inner(self, budget: Budget) -> Gate:
        return type(self)(self.unit, budget, self.noise_bits, self.bits, self.transcript)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw noise, not choices, inside the block."""
        self.bits, coupled = self.noise_bits, self.bits
        try:
            yield
        finally:
            self.bits = coupled

    def note(self, question: Question, exact: SparseCounts, answer: NoisyCounts | Leaves | int) -> None:
        exchange = Exchange(question, _frozen(exact), answer, self.scope)
        self.transcript.exchanges.append(exchange)

    def note_coin(self, coin: bool) -> None:
        # A coin is flipped after every rejected draw, and the newest scope is that draw.
        self.transcript.coins.append(coin)
        self.transcript.rejected.add(len(self.transcript.budgets) - 1)


class RecordingGate(AuditGate):
    """Draws noise as its base does, and keeps every question, exact count and answer."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        with self.drawing():
            noisy = super().answer(question, exact)
        self.note(question, exact, NoisyCounts(noisy.question, noisy.keys.copy(), noisy.counts.copy()))
        return noisy

    def answer_selection(self, question: Question, utilities: NDArray[np.integer]) -> int:
        with self.drawing():
            chosen = super().answer_selection(question, utilities)
        self.note(question, SparseCounts.dense(np.array(utilities)), chosen)
        return chosen

    def answer_tree(self, question: Question, exact: SparseCounts) -> Leaves:
        with self.drawing():
            leaves = super().answer_tree(question, exact)
        self.note(question, exact, leaves)
        return leaves

    def flip(self, probability: Fraction) -> bool:
        with self.drawing():
            coin = super().flip(probability)
        self.note_coin(coin)
        return coin


class ReplayGate(AuditGate):
    """Draws nothing: gives the recorded answers, and insists on the recorded questions."""

    def __init__(
        self,
        unit: Unit,
        budget: Budget,
        noise_bits: Bits,
        coupled: Bits,
        transcript: Transcript | None = None,
    ) -> None:
        super().__init__(unit, budget, noise_bits, coupled, transcript)
        self.recorded = Transcript()

    def inner(self, budget: Budget) -> Gate:
        gate = cast("ReplayGate", super().inner(budget))
        gate.recorded = self.recorded
        return gate

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        answer = self._recorded_answer(question)
        self.note(question, exact, answer)
        if not isinstance(answer, NoisyCounts):
            raise DivergedError(f"{question.label}: counts are asked for where something else was")
        return NoisyCounts(answer.question, answer.keys.copy(), answer.counts.copy())

    def answer_selection(self, question: Question, utilities: NDArray[np.integer]) -> int:
        answer = self._recorded_answer(question)
        self.note(question, SparseCounts.dense(np.array(utilities)), answer)
        if not isinstance(answer, int):
            raise DivergedError(f"{question.label}: a selection is asked for where counts were")
        return answer

    def answer_tree(self, question: Question, exact: SparseCounts) -> Leaves:
        answer = self._recorded_answer(question)
        self.note(question, exact, answer)
        if not isinstance(answer, Leaves):
            raise DivergedError(f"{question.label}: a tree is asked for where something else was")
        return answer

    def flip(self, probability: Fraction) -> bool:
        position = len(self.transcript.coins)
        if position >= len(self.recorded.coins):
            raise DivergedError("the neighbour flips a coin more")
        coin = self.recorded.coins[position]
        self.note_coin(coin)
        return coin

    def _recorded_answer(self, question: Question) -> NoisyCounts | Leaves | int:
        position = len(self.transcript.exchanges)
        if position >= len(self.recorded.exchanges):
            raise DivergedError(f"the neighbour asks one question more: {_short(question)}")
        earlier = self.recorded.exchanges[position].question
        if question != earlier:
            raise DivergedError(f"the neighbour asks {_short(question)} in place of {_short(earlier)}")
        return self.recorded.exchanges[position].answer


def record(subject: Subject, trips: Trips, bits: Bits, choices: int = 0) -> tuple[Transcript, Any]:
    """Run the subject on trips; the conversation and the model. `choices` seeds what is counted by chance."""
    kind = cast("type[RecordingGate]", _listening(RecordingGate, subject.gate))
    gate = kind(subject.unit, subject.budget(), bits, CoupledBits(choices))
    model = subject.mechanism.measure(subject.counter(gate.bound(trips)), gate)
    return gate.transcript, model


def replay(subject: Subject, trips: Trips, recorded: Transcript, choices: int = 0) -> tuple[Transcript, Any]:
    """Run the subject on other trips with the recorded answers. Raises `DivergedError` at another question."""
    kind = cast("type[ReplayGate]", _listening(ReplayGate, subject.gate))
    gate = kind(subject.unit, subject.budget(), SeededBits("no noise is drawn"), CoupledBits(choices))
    gate.recorded = recorded
    model = subject.mechanism.measure(subject.counter(gate.bound(trips)), gate)
    if len(gate.transcript.exchanges) < len(recorded.exchanges):
        missing = recorded.exchanges[len(gate.transcript.exchanges)].question
        raise DivergedError(f"the neighbour never asks {_short(missing)}")
    return gate.transcript, model


_listeners: dict[tuple[type[AuditGate], type[Gate]], type[AuditGate]] = {}


def _listening(listener: type[AuditGate], kind: type[Gate]) -> type[AuditGate]:
    """The listener in front of a gate of the given kind, so that a broken gate is heard like a sound one."""
    if kind is Gate:
        return listener
    if (listener, kind) not in _listeners:
        made = type(f"{listener.__name__}Of{kind.__name__}", (listener, kind), {})
        _listeners[listener, kind] = cast("type[AuditGate]", made)
    return _listeners[listener, kind]


def _frozen(exact: SparseCounts) -> SparseCounts:
    return SparseCounts(exact.universe, exact.keys.copy(), exact.counts.copy())


def _short(question: Question) -> str:
    threshold = "" if question.threshold is None else f", threshold {question.threshold}"
    return f"`{question.label}` ({question.universe:,} cells, price {question.price}{threshold})"
