"""Training through the gate: units by Poisson draws, clipped sums in whole numbers, noise on every parameter.

Guarantee
    (epsilon, delta)-differential privacy for units that own whole trips.
    Reason: in every step each unit is drawn by itself with a public probability, from secure bits; a drawn unit adds
    one gradient, of one example of one of its trips, whose norm is at most the clip, a whole number of units of the
    grid. A Gaussian of sigma clips, rounded to the grid, is added to every parameter, whether or not anybody in the
    draw touched it. So a step is the Poisson-sampled Gaussian mechanism with rounding after it, and sigma is such that
    the privacy loss distribution of all steps of all trainings bought together stays below the price. What is learnt
    from the noisy sums is post-processing; so are their public step sizes.
    Attacked by tests/privacy/test_training.py, lab/audits/training_steps.py and lab/audits/training_canaries.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.accounting import SampledSteps
from wayveil.privacy.bits import Bits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gradients import CLIP, Part
from wayveil.privacy.laws import RationalRatio
from wayveil.privacy.noise import geometric_of_ratio
from wayveil.privacy.questions import Question
from wayveil.privacy.units import Rider, Trip, Unit
from wayveil.progress import track
from wayveil.trips.identity import Words, keyed_words

if TYPE_CHECKING:
    from wayveil.trips.trips import Trips


class BrokenOffError(WayveilError):
    """Training was stopped on the way."""


class Learner(Protocol):
    """A network that learns from noisy sums of gradients alone."""

    def parts(self, columns: tuple[NDArray[np.int64], ...]) -> list[Part]:
        """The factors of the gradient of each example; see `gradients`."""

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
        """Take a step: noisy sums of clipped gradients over the expected number of examples of a step."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Material to learn from: examples of trips, trips of units. Exact, and so for the gate only.

    Trip t has the examples from `of_trip[t]` up to `of_trip[t + 1]`; unit u the trips
    `trips[of_unit[u]:of_unit[u + 1]]`. Columns have one value per example.
    """

    columns: tuple[NDArray[np.int64], ...]
    of_trip: NDArray[np.int64]
    trips: NDArray[np.int64]
    of_unit: NDArray[np.int64]

    @classmethod
    def of(
        cls, trips: "Trips", unit: Unit, columns: tuple[NDArray[np.int64], ...], of_trip: NDArray[np.int64]
    ) -> "Examples":
        """Trips grouped by the unit that they belong to."""
        check_trainable(unit)
        owner = np.full(len(trips), -1, np.int64) if not isinstance(unit, Rider) else unit.groups(trips)
        # A trip without a rider is a unit of its own.
        alone = np.flatnonzero(owner < 0)
        owner = owner.copy()
        owner[alone] = owner.max(initial=-1) + 1 + np.arange(len(alone))
        # In the order of their first trips: one unit more at the end does not move the others.
        _, first, code = np.unique(owner, return_index=True, return_inverse=True)
        owner = first[code]
        order = np.argsort(owner, kind="stable")
        starts = (
            np.flatnonzero(np.r_[True, np.diff(owner[order]) != 0]) if len(order) else np.zeros(0, np.int64)
        )
        return cls(columns, of_trip, order, np.append(starts, len(order)).astype(np.int64))

    @property
    def units(self) -> int:
        return len(self.of_unit) - 1

    def draw(self, probability: Fraction, bits: Bits) -> NDArray[np.int64]:
        """One example of each drawn unit: one of its trips, one of that trip's examples, each uniformly."""
        # The key comes first: how many words the draw of units takes depends on how many there are.
        key = bits.words(2).copy()
        return self.one_each(poisson(self.units, probability, bits), key)

    def one_each(self, unit: NDArray[np.int64], key: Words) -> NDArray[np.int64]:
        """One example of each of these units, by words of its own; a trip without examples gives none."""
        words = keyed_words(key, np.repeat(unit.astype(np.uint64), 2), np.tile([0, 1], len(unit)))
        trip = self.trips[_one_of(self.of_unit, unit, words[0::2])]
        some = self.of_trip[trip + 1] > self.of_trip[trip]
        return _one_of(self.of_trip, trip[some], words[1::2][some])

    def take(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        return tuple(column[index] for column in self.columns)


def _one_of(
    offsets: NDArray[np.int64], group: NDArray[np.int64], words: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """A member of each group. Which one is drawn need not be secret, so the last digits of a word will do."""
    size = (offsets[group + 1] - offsets[group]).astype(np.uint64)
    return offsets[group] + (words % np.maximum(size, np.uint64(1))).astype(np.int64)


def poisson(units: int, probability: Fraction, bits: Bits) -> NDArray[np.int64]:
    """Every unit with this probability, independently: the gaps between drawn ones are geometric, drawn exactly."""
    if probability >= 1:
        return np.arange(units)
    ratio = RationalRatio(1 - Fraction(probability))
    found: list[NDArray[np.int64]] = []
    last = -1
    while last < units:
        expected = float(probability) * (units - last)
        gaps = geometric_of_ratio(int(expected + 6 * expected**0.5) + 8, ratio, bits)
        position = last + np.cumsum(gaps + 1)
        found.append(position[position < units])
        last = int(position[-1])
    return np.concatenate(found)


def check_trainable(unit: Unit) -> None:
    """Refuse units that are not made of whole trips: one of them may change every example of a trip."""
    if not isinstance(unit, Trip | Rider):
        raise ParameterError(
            f"trained mechanisms draw whole trips of a unit; the unit `{unit.name}` is not made of them. Use trip, "
            f"rider or rider-day"
        )
    if unit.stability.trips != 1:
        raise ParameterError(
            "a training covers one trip, and trips that are made by a split can join or part others; protect the "
            "`rider`, or give every trip a name ('trip_id')"
        )


class StepGate(Protocol):
    """Questions that a step of a training asks of the gate."""

    def draw_units(self, examples: Examples, probability: Fraction) -> NDArray[np.int64]: ...

    def clip(self, parts: Sequence[Part], clip: float) -> list[NDArray[np.float64]]: ...

    def answer_step(self, question: Question, exact: NDArray[np.float64]) -> NDArray[np.float64]: ...


@dataclass(eq=False)
class Trainings:
    """Steps that are paid for. Each plan can be run once."""

    gate: StepGate
    label: str
    price: Fraction
    plans: tuple[SampledSteps, ...]
    sigma: Fraction
    done: int = 0

    def run(self, examples: Examples, learner: Learner, *, clip: float, expected: float, name: str) -> None:
        """All steps of the next plan. `expected` is the public number of examples that a step is divided by."""
        if self.done == len(self.plans):
            raise ParameterError(f"{self.label}: all trainings that were paid for have been run")
        plan, self.done = self.plans[self.done], self.done + 1
        scale = clip / CLIP / expected
        taken = 0
        try:
            for _ in track(range(plan.steps), name, total=plan.steps):
                drawn = self.gate.draw_units(examples, plan.probability)
                sums = self.gate.clip(learner.parts(examples.take(drawn)), clip)
                flat = np.concatenate([total.ravel() for total in sums])
                question = Question(
                    self.label,
                    len(flat),
                    Contribution(per_trip=CLIP, euclidean=True),
                    self.price,
                    self.sigma * CLIP,
                    None,
                    kind="training",
                    probability=plan.probability,
                )
                noisy = self.gate.answer_step(question, flat) * scale
                learner.update(_like(noisy, sums))
                taken += 1
        except KeyboardInterrupt as error:
            raise BrokenOffError(
                f"{self.label} was broken off after {taken:,} of {plan.steps:,} steps. What it costs stays spent: "
                f"noisy steps were taken, and nothing was released."
            ) from error


def _like(flat: NDArray[np.float64], shapes: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    cuts = np.cumsum([array.size for array in shapes])[:-1]
    return [part.reshape(array.shape) for part, array in zip(np.split(flat, cuts), shapes, strict=True)]
