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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats
from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.lab.audits.transcript import Draw, Exchange, Flip, Search, Transcript
from wayveil.mechanisms.all_rows import measure
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate
from wayveil.privacy.privtree import Leaves
from wayveil.privacy.questions import NoisyCounts, Question, SparseCounts
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips


class Measures(Protocol):
    """The part of a mechanism that is audited."""

    def measure(self, counter: Any, gate: Any) -> Any:
        """Ask the gate for noisy counts and build a model from them."""


@dataclass(frozen=True)
class Subject:
    """Subject of an audit: a mechanism, the guarantee it claims, and how it is run.

    `unit` and `epsilon` are the claim; the other parts are as in a release, unless a mutation broke one on purpose.
    """

    mechanism: Measures
    unit: Unit
    epsilon: Fraction
    gate: type[Gate] = Gate
    counter: Callable[[Trips], Counter] = LocalCounter
    variant: str = "as built"
    currency: str = "epsilon"
    delta: Fraction | None = None

    def budget(self) -> Budget:
        return Budget(self.epsilon, currency=self.currency, delta=self.delta)


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
        parent: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(unit, budget, noise_bits, **options)
        # Not the argument: a broken gate may have put other bits in its place.
        self.noise_bits = self.bits
        self.bits = coupled
        self.transcript = Transcript() if transcript is None else transcript
        self.scope = len(self.transcript.budgets)
        self.transcript.budgets.append(self.budget)
        self.transcript.parents.append(parent)

    def inner(self, budget: Budget) -> Gate:
        return type(self)(self.unit, budget, self.noise_bits, self.bits, self.transcript, self.scope)

    def search(self, *asked: Any) -> Any:
        label, draw, threshold, price, stopping = asked
        search = Search(self.scope, label, threshold, price, stopping)
        self.note_search(search)

        def heard(inner: Gate) -> Any:
            noted = Draw(cast("AuditGate", inner).scope, len(self.transcript.coins))
            search.draws.append(noted)
            noted.outcome = outcome = draw(inner)
            return outcome

        found = super().search(label, heard, threshold, price, stopping)
        search.nothing, search.coins = found is None, len(self.transcript.coins)
        return found

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

    def note_coin(self, probability: Fraction, heads: bool) -> None:
        self.transcript.coins.append(Flip(self.scope, probability, heads))

    def note_search(self, search: Search) -> None:
        self.transcript.searches.append(search)


class RecordingGate(AuditGate):
    """Draws noise as its base does, and keeps every question, exact count and answer."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        with self.drawing():
            noisy = super().answer(question, exact)
        self.note(question, exact, NoisyCounts(noisy.question, noisy.keys.copy(), noisy.counts.copy()))
        return noisy

    def answer_selection(self, question: Question, utilities: AnyInts) -> int:
        with self.drawing():
            chosen = super().answer_selection(question, utilities)
        self.note(question, SparseCounts.dense(np.array(utilities)), chosen)
        return chosen

    def answer_tree(self, question: Question, exact: SparseCounts) -> Leaves:
        with self.drawing():
            leaves = super().answer_tree(question, exact)
        self.note(question, exact, leaves)
        return leaves

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        with self.drawing():
            noisy = super().answer_step(question, exact)
        whole = SparseCounts.dense(exact.astype(np.int64))
        self.note(question, whole, NoisyCounts(question, whole.keys, noisy.astype(np.int64)))
        return noisy

    def flip(self, probability: Fraction) -> bool:
        with self.drawing():
            heads = super().flip(probability)
        self.note_coin(probability, heads)
        return heads


class ReplayGate(AuditGate):
    """Draws nothing: gives the recorded answers, and insists on the recorded questions."""

    recorded: Transcript

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

    def answer_selection(self, question: Question, utilities: AnyInts) -> int:
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

    def answer_step(self, question: Question, exact: Floats) -> Floats:
        answer = cast("NoisyCounts", self._recorded_answer(question))
        self.note(question, SparseCounts.dense(exact.astype(np.int64)), answer)
        return answer.counts.astype(np.float64)

    def flip(self, probability: Fraction) -> bool:
        position = len(self.transcript.coins)
        if position >= len(self.recorded.coins):
            raise DivergedError("the neighbour flips a coin more")
        coin = self.recorded.coins[position]
        if coin.probability != probability:
            raise DivergedError(f"the neighbour flips a coin of {probability} in place of {coin.probability}")
        self.note_coin(probability, coin.heads)
        return coin.heads

    def search(self, *asked: Any) -> Any:
        label, _, threshold, price, stopping = asked
        position = len(self.transcript.searches)
        if position < len(self.recorded.searches) and self.recorded.searches[position].given_up:
            self.note_search(Search(self.scope, label, threshold, price, stopping, nothing=True))
            self.budget.spend(Spend(label, price, 1, stopping.draw_price(price), kind="search"))
            return None
        return super().search(*asked)

    def note_search(self, search: Search) -> None:
        position = len(self.transcript.searches)
        if position >= len(self.recorded.searches):
            raise DivergedError(f"the neighbour searches once more: `{search.label}`")
        if search.question != self.recorded.searches[position].question:
            raise DivergedError(f"the neighbour searches by other rules: `{search.label}`")
        super().note_search(search)

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
    gate = listening_gate(subject, bits, subject.budget(), choices)
    return gate.transcript, _measured(subject, trips, gate)


def listening_gate(subject: Subject, bits: Bits, budget: Budget, choices: int = 0) -> RecordingGate:
    """A gate of the subject's kind that records."""
    kind = cast("type[RecordingGate]", listening(RecordingGate, subject.gate))
    return kind(subject.unit, budget, bits, CoupledBits(choices))


def replay(subject: Subject, trips: Trips, recorded: Transcript, choices: int = 0) -> tuple[Transcript, Any]:
    """Run the subject on other trips with the recorded answers. Raises `DivergedError` at another question."""
    kind = cast("type[ReplayGate]", listening(ReplayGate, subject.gate))
    gate = kind(subject.unit, subject.budget(), SeededBits("no noise is drawn"), CoupledBits(choices))
    gate.recorded = recorded
    model = _measured(subject, trips, gate)
    if len(gate.transcript.exchanges) < len(recorded.exchanges):
        missing = recorded.exchanges[len(gate.transcript.exchanges)].question
        raise DivergedError(f"the neighbour never asks {_short(missing)}")
    if len(gate.transcript.coins) < len(recorded.coins):
        raise DivergedError("the neighbour flips fewer coins")
    return gate.transcript, model


def _measured(subject: Subject, trips: Trips, gate: Gate) -> Any:
    """The model, or the words of a refusal, which is an answer too: the same answers must lead to the same one."""
    try:
        return measure(cast("Mechanism", subject.mechanism), subject.counter(gate.bound(trips)), gate)
    except RefusedError as refusal:
        return type(refusal), str(refusal)


_listeners: dict[tuple[type[AuditGate], type[Gate]], type[AuditGate]] = {}


def listening(listener: type[AuditGate], kind: type[Gate]) -> type[AuditGate]:
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
