"""Mechanisms that are broken on purpose, so that audits can show that they notice.

Each is a mistake that was really made in a published mechanism or in a library. None works outside an audit: every one
of them looks at its gate first and refuses any that no audit listens to.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.recording import AuditGate, Measures, Subject
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.noise import discrete_laplace
from wayveil.privacy.questions import NoisyCounts, Question, SparseCounts
from wayveil.privacy.survivors import survivors
from wayveil.privacy.units import Rider, Unit
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.world import World

GREY, LAW, BLOCKS, GAME, CHORUS = "grey box", "conformance", "block by block", "black box", "one run"
DOOR = "front door"


@dataclass(frozen=True)
class Mutation:
    """One deliberate mistake: how to make it, the canary that it hurts most, and the audits that see it.

    `caught_by` begins with the cheapest: fast runs try that one only.
    """

    name: str
    make: Callable[[Subject], Subject]
    caught_by: tuple[str, ...]
    canary: str = "one more on the busy path"

    def of(self, subject: Subject) -> Subject:
        """The subject with this mistake in it."""
        return replace(self.make(subject), variant=self.name)


class OnlyInAuditsError(RuntimeError):
    """Something that is broken on purpose was about to be used for real."""


def only_in_audits(gate: Gate) -> None:
    """Refuse a gate that no audit listens to."""
    if not isinstance(gate, AuditGate):
        raise OnlyInAuditsError("this is broken on purpose and protects nobody: it runs in audits only")


class BrokenGate(Gate):
    """A gate with a mistake in it, which works in audits only."""

    def __init__(self, unit: Unit, budget: Budget, bits: Bits | None = None, **options: Any) -> None:
        only_in_audits(self)
        super().__init__(unit, budget, bits, **options)


def _answer(question: Question, exact: SparseCounts, noise: int) -> NoisyCounts:
    """Answer with one value of noise in every cell, above the threshold where there is one."""
    counts = np.full(question.universe, noise)
    counts[exact.keys] += exact.counts
    over = np.flatnonzero(counts >= (counts.min() if question.threshold is None else question.threshold))
    return NoisyCounts(question, over, counts[over])


class _HalfNoise(BrokenGate):
    """Draws noise of half the scale that was booked."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        noisy = super().answer(replace(question, scale=question.scale / 2), exact)
        return NoisyCounts(question, noisy.keys, noisy.counts)


class _WholePrice(BrokenGate):
    """Every question gets the noise of the whole budget instead of its share."""

    def scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        return super().scale(contribution, self.budget.total)


class _SilentEnd(BrokenGate):
    """The last question is answered without noise."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        if self.budget.remaining > 0:
            return super().answer(question, exact)
        return _answer(question, exact, 0)


class _EmptySkipped(BrokenGate):
    """Only cells that somebody is in are noised."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        packed = SparseCounts(len(exact.keys), np.arange(len(exact.keys)), exact.counts)
        noisy = super().answer(replace(question, universe=len(exact.keys)), packed)
        if question.threshold is not None:
            return NoisyCounts(question, exact.keys[noisy.keys], noisy.counts)
        counts = np.zeros(question.universe, np.int64)
        counts[exact.keys] = noisy.counts
        return NoisyCounts(question, np.arange(question.universe), counts)


class _ZerosSpecial(BrokenGate):
    """Cells that are truly empty must pass a threshold twice as high, or are set to zero when below it."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        noisy = super().answer(question, exact)
        limit = 2 * (question.threshold or round(float(question.scale)))
        weak = ~np.isin(noisy.keys, exact.keys[exact.counts > 0]) & (noisy.counts < limit)
        if question.threshold is None:
            return NoisyCounts(question, noisy.keys, np.where(weak, 0, noisy.counts))
        return NoisyCounts(question, noisy.keys[~weak], noisy.counts[~weak])


class _NoBound(BrokenGate):
    """Counts everything that a unit did."""

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        return trips if rule is None else rule.apply(trips)


class _HeavyUnbounded(BrokenGate):
    """Riders with more than eight trips are taken for machines, and their trips for trips of nobody."""

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        if not isinstance(self.unit, Rider) or trips.rider is None:
            return super().bound(trips, rule)
        known = np.maximum(trips.rider, -1) + 1
        heavy = np.bincount(known)[known] > 8
        return super().bound(replace(trips, rider=np.where(heavy, -1, trips.rider)), rule)


class _NoNoise(BrokenGate):
    """Histograms are answered without noise."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        return _answer(question, exact, 0)


class _NoisePerTrip(BrokenGate):
    """Draws the noise that would cover one trip of a unit, not all of them."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        trips = getattr(self.unit, "max_trips", 1)
        # A scale for epsilon, a variance for rho.
        less = trips if self.budget.currency == "epsilon" else trips**2
        noisy = super().answer(replace(question, scale=question.scale / less), exact)
        return NoisyCounts(question, noisy.keys, noisy.counts)


class _SameSurvivors(BrokenGate):
    """Which empty cells pass a threshold is drawn from the same words for every question of a run."""

    def __init__(self, unit: Unit, budget: Budget, bits: Bits | None = None) -> None:
        super().__init__(unit, budget, bits)
        self._seed = int(self.bits.words(1)[0])

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        if question.threshold is None:
            return super().answer(question, exact)
        counted = exact.counts + discrete_laplace(len(exact.counts), question.scale, self.bits)
        over = counted >= question.threshold
        empty = np.setdiff1d(np.arange(question.universe), exact.keys)
        place, value = survivors(len(empty), question.scale, question.threshold, SeededBits(self._seed))
        keys = np.concatenate([exact.keys[over], empty[place]])
        order = np.argsort(keys)
        return NoisyCounts(question, keys[order], np.concatenate([counted[over], value])[order])


class _DrawnAgain(BrokenGate):
    """A lost task is run again and draws anew which trips of a rider count; what it had sent before counts too."""

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        named = replace(trips, name=trips.names())
        attempts = [super(_DrawnAgain, self).bound(named, rule).names() for _ in range(2)]
        everybody = named if rule is None else rule.apply(named)
        return everybody.take(np.isin(everybody.names(), np.concatenate(attempts)))


class _PeekingThreshold(BrokenGate):
    """Chooses its threshold after a look at the counts."""

    def histogram(
        self,
        label: str,
        exact: SparseCounts,
        contribution: Contribution,
        price: Fraction,
        *,
        threshold: int | None = None,
        group: str | None = None,
    ) -> NoisyCounts:
        peeked = None if threshold is None else max(1, int(exact.counts.sum()) // 3)
        return super().histogram(label, exact, contribution, price, threshold=peeked, group=group)


class _SharedNoise(BrokenGate):
    """One draw for all cells of an answer."""

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        one = Question(question.label, 1, question.contribution, question.price, question.scale, None)
        draw = super().answer(one, SparseCounts.dense(np.zeros(1, np.int64))).counts[0]
        return _answer(question, exact, int(draw))


class _SameNoiseAgain(BrokenGate):
    """Every answer of a run draws from the same words."""

    def __init__(self, unit: Unit, budget: Budget, bits: Bits | None = None) -> None:
        super().__init__(unit, budget, bits)
        self._seed = int(self.bits.words(1)[0])

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        self.bits, kept = SeededBits(self._seed), self.bits
        noisy = super().answer(question, exact)
        self.bits = kept
        return noisy


class _SeededRelease(BrokenGate):
    """Draws the same words in every run."""

    def __init__(self, unit: Unit, budget: Budget, bits: Bits | None = None) -> None:
        super().__init__(unit, budget, SeededBits("left in by mistake"))


@dataclass(frozen=True)
class _TotalInModel:
    """Publishes the exact number of trips beside the model."""

    mechanism: Measures

    def measure(self, counter: Counter, gate: Gate) -> Any:
        only_in_audits(gate)
        return {"model": self.mechanism.measure(counter, gate), "trips": int(counter.lengths(1).counts.sum())}


def observed_world(trips: Trips) -> Counter:
    """Counts over a universe of the locations that occur in the data."""
    found, index = np.unique(trips.location, return_inverse=True)
    ids: NDArray[np.str_] = trips.world.ids[found] if len(found) else trips.world.ids[:1]
    return LocalCounter(Trips(index.astype(np.int32), trips.offsets, World(ids), trips.time, trips.rider))


@dataclass(frozen=True)
class _ParameterFromData:
    """A mechanism of which one parameter follows from a look at the exact counts."""

    mechanism: Mechanism
    name: str
    look: Callable[[Counter], Any]

    def measure(self, counter: Counter, gate: Gate) -> Any:
        only_in_audits(gate)
        return self.mechanism.model_copy(update={self.name: self.look(counter)}).measure(counter, gate)


def parameter_from_data(name: str, look: Callable[[Counter], Any]) -> Callable[[Subject], Subject]:
    """Let a parameter of a mechanism follow from the data."""

    def make(subject: Subject) -> Subject:
        assert isinstance(subject.mechanism, Mechanism)
        return replace(subject, mechanism=_ParameterFromData(subject.mechanism, name, look))

    return make


def counting(method: str, change: Callable[..., Any], **more: Any) -> Callable[[Subject], Subject]:
    """Let a subject count by a counter of which one method is changed: `change` gets the honest one, and its words."""

    def changed(self: LocalCounter, *given: Any, **options: Any) -> Any:
        return change(partial(getattr(LocalCounter, method), self), *given, **options)

    return with_counter(type("BrokenCounter", (LocalCounter,), {method: changed}), **more)


def only_seen(honest: Callable[..., SparseCounts], *given: Any, **options: Any) -> SparseCounts:
    """Only cells that somebody is in have a place in the histogram."""
    seen = honest(*given, **options)
    return SparseCounts(max(len(seen.keys), 1), np.arange(len(seen.keys)), seen.counts)


def whole_steps(
    honest: Callable[..., SparseCounts], block: Any, whole: int, bins: Any = None
) -> SparseCounts:
    """Every step of a trip counts whole, so that a long trip counts many times."""
    return honest(block, 4 * whole if block.spread else whole, bins)


def as_kind(kind: type[Mechanism], **more: Any) -> Callable[[Subject], Subject]:
    """Let a subject be a broken kind of its mechanism, with the same parameters."""
    return lambda subject: replace(subject, mechanism=kind(**dict(subject.mechanism)), **more)  # type: ignore[call-overload]


def with_gate(kind: type[Gate]) -> Callable[[Subject], Subject]:
    """Let a subject ask a broken gate."""
    return lambda subject: replace(subject, gate=kind)


def with_counter(count: Callable[[Trips], Counter], **more: Any) -> Callable[[Subject], Subject]:
    """Let a subject count by a broken counter; `more` says what else of the subject changes."""
    return lambda subject: replace(subject, counter=count, **more)


HEAVY_RIDER = "a rider with twenty trips"
UNSEEN_PATH = "a path nobody takes"
LONG_TRIP = "a trip of forty visits"
LONGEST, UNSEEN_STOP = "the longest trip", "a stop nobody visits"

NO_NOISE = Mutation("no noise in any histogram", with_gate(_NoNoise), (BLOCKS, GAME))
HALF_NOISE = Mutation("half the noise", with_gate(_HalfNoise), (LAW, CHORUS, BLOCKS))
WHOLE_PRICE = Mutation("whole epsilon for every question", with_gate(_WholePrice), (GREY, CHORUS, BLOCKS))
SILENT_END = Mutation("last question without noise", with_gate(_SilentEnd), (LAW, BLOCKS))
EMPTY_SKIPPED = Mutation("empty cells skipped", with_gate(_EmptySkipped), (LAW, GAME), UNSEEN_PATH)
ZEROS_SPECIAL = Mutation("true zeros treated specially", with_gate(_ZerosSpecial), (LAW, BLOCKS), UNSEEN_PATH)
NO_BOUND = Mutation("bound not applied", with_gate(_NoBound), (GREY, GAME), HEAVY_RIDER)
HEAVY_UNBOUNDED = Mutation(
    "riders with more than 8 trips not bounded", with_gate(_HeavyUnbounded), (GREY,), HEAVY_RIDER
)
NOISE_PER_TRIP = Mutation("noise divided by max_trips", with_gate(_NoisePerTrip), (LAW,), HEAVY_RIDER)
DRAWN_AGAIN = Mutation("bound drawn again on retry", with_gate(_DrawnAgain), (GREY,), HEAVY_RIDER)
PEEKING = Mutation("threshold after a look at the counts", with_gate(_PeekingThreshold), (GREY, GAME))
SHARED_NOISE = Mutation("one draw for all cells", with_gate(_SharedNoise), (LAW,))
SAME_NOISE = Mutation("noise reused across questions", with_gate(_SameNoiseAgain), (LAW,))
SAME_SURVIVORS = Mutation(
    "survivors of every question from the same words", with_gate(_SameSurvivors), (LAW,)
)
SEEDED = Mutation("seeded bits in a release", with_gate(_SeededRelease), (LAW, BLOCKS))
TOTAL = Mutation(
    "number of trips released",
    lambda subject: replace(subject, mechanism=_TotalInModel(subject.mechanism)),
    (GREY, GAME),
)
OBSERVED_WORLD = Mutation("universe from the data", with_counter(observed_world), (GREY, GAME), UNSEEN_STOP)

# Mistakes that can be made around any mechanism.
EVERYWHERE = (
    NO_NOISE,
    HALF_NOISE,
    SILENT_END,
    EMPTY_SKIPPED,
    ZEROS_SPECIAL,
    NO_BOUND,
    HEAVY_UNBOUNDED,
    NOISE_PER_TRIP,
    SHARED_NOISE,
    SEEDED,
    TOTAL,
)
# Those that need several questions,
WITH_QUESTIONS = (WHOLE_PRICE, SAME_NOISE)
# those that need several with a threshold,
WITH_THRESHOLDS = (PEEKING, SAME_SURVIVORS)
# and those of any mechanism that asks several questions about places.
COMMON = (*EVERYWHERE, *WITH_QUESTIONS, OBSERVED_WORLD)
