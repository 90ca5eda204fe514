"""The gate: the only door between exact counts and the outside.

A mechanism asks a `Question` about exact counts and gets a noisy answer. The gate derives the sensitivity
from the unit, books the spend, draws the noise, and lets nothing else out. Because every question passes
here, one argument covers every mechanism: if, given the same earlier answers, two neighbouring datasets lead
to the same question over the same public cells, and their exact counts differ by at most the booked
sensitivity, then the whole run costs the sum of the booked prices (adaptive composition). The grey-box audit
checks exactly these two conditions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError, RefusedError
from wayveil.privacy.accounting import SampledSteps, sigma_for
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.budget import Budget, Spend, exact
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gradients import CLIP, Part, clipped_sum
from wayveil.privacy.noise import bernoulli, discrete_gaussian, discrete_laplace
from wayveil.privacy.privtree import COST, Leaves, decay, depth_of, partition
from wayveil.privacy.questions import NoisyCounts, Question, SparseCounts
from wayveil.privacy.repeat import Candidate, Score, Stopping, repeat_until
from wayveil.privacy.rounded import rounded_gaussian
from wayveil.privacy.selection import permute_and_flip, quantile_utilities, utility_contribution
from wayveil.privacy.survivors import most_survivors, survivors
from wayveil.privacy.training import Examples, Trainings, check_trainable
from wayveil.privacy.units import Unit
from wayveil.privacy.weights import Size
from wayveil.privacy.zcdp import pure_epsilon
from wayveil.trips.history import Stability
from wayveil.trips.identity import Words
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips

# Above this many cells a histogram is never written out cell by cell.
DENSE_LIMIT = 200_000_000
# What the answers of one release may take in memory, in bytes, unless the caller says otherwise. Public: it decides
# whether a mechanism goes on, together with noisy answers alone.
MEMORY_LIMIT = 6 << 30
# What one kept cell of a sparse answer takes at most, from the draw to the tree that is made of it (measured: 94).
BYTES_PER_KEPT_CELL = 160
BYTES_PER_DENSE_CELL = 24


class Gate:
    """Answers questions about bounded trips under one unit and one budget."""

    def __init__(
        self,
        unit: Unit,
        budget: Budget,
        bits: Bits | None = None,
        *,
        before_first_answer: Callable[[], None] | None = None,
        memory: int = MEMORY_LIMIT,
    ) -> None:
        self.unit = unit
        self.memory = memory
        self._kept = 0
        self.budget = budget
        self.bits = secure_bits() if bits is None else bits
        self.before_first_answer = before_first_answer
        # How many rows the counted weights stand for, once that is bought.
        self.size: Size | None = None

    @property
    def factor(self) -> Fraction:
        """Rows that a weight of one stands for: what answers and their scales are multiplied by."""
        return Fraction(1) if self.size is None else self.size.factor

    @property
    def private(self) -> bool:
        """Tell whether the noise comes from the secure generator."""
        return self.bits.private

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        """The trips that are counted: every unit cut down to its bound, and every trip as the rule leaves it.

        From here on the unit pays for what the rule, and what reading did before, can move.
        """
        before = trips.history.stability
        self.pay_for(before if rule is None else before.then(rule.stability(trips.world)))
        if rule is None:
            return self.unit.bound(trips, self.bits)
        return self.unit.counted(trips, rule, self.choice_key())

    def choice_key(self) -> Words:
        """The key by which engines that read trips in pieces bound each of them; drawn once a run."""
        return self.unit.choice_key(self.bits)

    def pay_for(self, steps: Stability) -> None:
        """From here on the unit pays for what these steps before the counts can move."""
        self.unit = self.unit.after(steps)

    def scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        """The noise that such a question needs, in rows: Laplace scale for epsilon, Gaussian variance for rho."""
        sensitivity, price = self.unit.sensitivity(contribution), exact(price, self.budget.currency)
        if self.budget.currency == "rho":
            return sensitivity.l2_squared * self.factor**2 / (2 * price)
        return sensitivity.l1 * self.factor / price

    def selection_scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        """The gap in utility that makes a candidate e times less likely."""
        price = exact(price, self.budget.currency)
        epsilon = pure_epsilon(price) if self.budget.currency == "rho" else price
        return 2 * self.unit.utility_sensitivity(contribution) / epsilon

    def tree_scale(self, contribution: Contribution, price: Fraction) -> Fraction:
        """The noise scale of a node of a private partition (see `privtree`)."""
        price = exact(price, self.budget.currency)
        epsilon = pure_epsilon(price) if self.budget.currency == "rho" else price
        return COST * self.unit.sensitivity(contribution).l1 * self.factor / epsilon

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
        """Noisy counts of all cells, or of those that reach the threshold.

        With a threshold, empty cells are not visited: those that noise lifts over it are drawn from their
        exact law. An answer that would not fit into the memory limit is refused before it is paid for.
        """
        if threshold is not None and threshold < 1:
            raise ParameterError(f"{label}: a threshold must be at least 1, not {threshold}")
        if threshold is None and exact.universe > DENSE_LIMIT:
            raise ParameterError(f"{label}: {exact.universe:,} cells are too many without a threshold")
        if threshold is not None and self.budget.currency == "rho":
            raise ParameterError(f"{label}: thresholded histograms are counted in epsilon, not in rho")
        parts, factor = self._parts(label, exact.parts), self.factor
        asked = Question(
            label, exact.universe, contribution, price, self.scale(contribution, price), threshold, group
        )
        self._require_room(asked)
        sensitivity = self.unit.sensitivity(contribution)
        booked = sensitivity.l2_squared if self.budget.currency == "rho" else sensitivity.l1
        self.budget.spend(Spend(label, price, booked, asked.scale, group))
        self.open()
        if parts == 1 == factor:
            answer = self.answer(asked, exact)
        else:
            noisy = self.answer(self._in_parts(asked, parts), exact)
            in_rows = np.rint(noisy.counts * float(factor / parts)).astype(np.int64)
            answer = NoisyCounts(asked, noisy.keys, in_rows)
        self._kept += 0 if threshold is None else len(answer.keys)
        return answer

    def _in_parts(self, asked: Question, parts: int) -> Question:
        """The question as it is answered: about weights in parts, not about rows."""
        counted = asked.contribution.times(parts)
        squared = self.budget.currency == "rho" and asked.kind == "counts"
        ratio = parts / self.factor
        return replace(
            asked,
            contribution=counted,
            scale=asked.scale * (ratio**2 if squared else ratio),
            threshold=None if asked.threshold is None else ceil(asked.threshold * ratio),
        )

    def _parts(self, label: str, parts: int | None) -> int:
        """Return how much a weight of one counts; refuse weighted counts of which nobody says it."""
        if parts is None and self.unit.weighs:
            raise ParameterError(
                f"{label}: trips are weighed here, and these counts do not say in which parts (SparseCounts.parts). "
                'Nothing was spent on them; `bounding = "draw"` counts whole trips'
            )
        return parts or 1

    @staticmethod
    def most_kept(universe: int, scale: Fraction, threshold: int) -> int:
        """Return how many empty cells noise keeps at most (but for a chance below 1e-20): a public number."""
        return most_survivors(universe, scale, threshold)

    def _require_room(self, question: Question) -> None:
        """Refuse an answer that would pass the memory limit, before the spend.

        The number of cells that noise alone keeps is bounded from above by public numbers: the universe, which holds
        every child of every node kept so far, true or false, the scale and the threshold. Cells that are kept because
        trips are in them are no more than the trips, which are in memory already. So the refusal follows from the
        question and from noisy answers, never from exact counts.
        """
        if question.threshold is None:
            cells, needed = question.universe, question.universe * BYTES_PER_DENSE_CELL
        else:
            cells = self.most_kept(question.universe, question.scale, question.threshold)
            needed = (self._kept + cells) * BYTES_PER_KEPT_CELL
        if needed > self.memory:
            raise RefusedError(
                f"{question.label}: noise alone may keep {cells:,} of {question.universe:,} cells; with all "
                f"before it that takes {needed / 2**30:,.1f} GiB, over the limit of {self.memory / 2**30:,.1f} GiB. "
                "Use fewer levels or time bins, a higher threshold or a larger epsilon, or raise the limit (memory)"
            )

    def select(
        self,
        label: str,
        utilities: NDArray[np.integer],
        contribution: Contribution,
        price: Fraction,
        *,
        group: str | None = None,
        parts: int | None = None,
    ) -> int:
        """The index of a public candidate with a high utility; one trip moves any by at most `per_cell`.

        Utilities that are made of weighted counts are in the same `parts`.
        """
        if len(utilities) == 0:
            raise ParameterError(f"{label}: there is no candidate to select")
        contribution = contribution.times(self._parts(label, parts))
        scale = self.selection_scale(contribution, price)
        question = Question(label, len(utilities), contribution, price, scale, None, group, "selection")
        sensitivity = self.unit.utility_sensitivity(contribution)
        self.budget.spend(Spend(label, price, sensitivity, scale, group, "selection"))
        self.open()
        return self.answer_selection(question, utilities)

    def quantile(
        self,
        label: str,
        values: NDArray[np.integer],
        q: Fraction,
        low: int,
        high: int,
        contribution: Contribution,
        price: Fraction,
        *,
        times: NDArray[np.integer] | None = None,
        parts: int | None = None,
    ) -> int:
        """A number of the public range low..high near the q-quantile of the values.

        `contribution` says how far one trip moves the histogram of the values. With `times`, the i-th value stands for
        so many of them, in `parts` where trips are weighed.
        """
        utilities = quantile_utilities(values, q, low, high, times)
        return low + self.select(label, utilities, utility_contribution(contribution, q), price, parts=parts)

    def tree(self, label: str, exact: SparseCounts, contribution: Contribution, price: Fraction) -> Leaves:
        """A partition of 4^depth public cells that is fine where counts are high; no count comes with it."""
        depth_of(exact.universe)
        scale = self.tree_scale(contribution, price)
        question = Question(label, exact.universe, contribution, price, scale, None, None, "tree")
        sensitivity = self.unit.sensitivity(contribution).l1
        self.budget.spend(Spend(label, price, sensitivity, scale, kind="tree"))
        self.open()
        return self.answer_tree(self._in_parts(question, self._parts(label, exact.parts)), exact)

    def search(
        self,
        label: str,
        draw: Callable[["Gate"], tuple[Candidate, Score]],
        threshold: Score,
        price: Fraction,
        stopping: Stopping,
    ) -> Candidate | None:
        """The first candidate whose score reaches the threshold, or None, which is final (see `repeat`).

        Every draw gets a gate of its own that holds half the price, less the slack. The price is booked at
        the start.
        """
        if self.budget.currency == "rho":
            raise ParameterError(f"{label}: searches are counted in epsilon, not in rho")
        each = stopping.draw_price(price)
        self.budget.spend(Spend(label, price, 1, each, kind="search"))
        self.open()
        return repeat_until(lambda: draw(self.inner(Budget(each))), threshold, stopping, self.flip)

    def training(self, label: str, plans: Sequence[SampledSteps], price: Fraction) -> Trainings:
        """Buy the steps of some trainings together; each is then run once (see `training`).

        All of delta goes into it. The price is booked now: a training that is broken off stays spent.
        """
        check_trainable(self.unit)
        sigma = sigma_for(plans, price, self.budget.delta)
        self.budget.spend(
            Spend(
                label, price, CLIP, sigma, kind="training", delta=self.budget.delta - self.budget.spent_delta
            )
        )
        self.open()
        return Trainings(self, label, price, tuple(plans), sigma)

    def open(self) -> None:
        """From here on noise has been drawn and the budget cannot come back."""
        if self.before_first_answer is not None:
            self.before_first_answer()
            self.before_first_answer = None

    def answer(self, question: Question, exact: SparseCounts) -> NoisyCounts:
        """Draw the noise. Audits replace this step to record and to replay."""
        if question.threshold is None:
            noise = self._noise(question)
            noise[exact.keys] += exact.counts
            return NoisyCounts(question, np.arange(exact.universe), noise)
        noisy = exact.counts + discrete_laplace(len(exact.counts), question.scale, self.bits)
        over = noisy >= question.threshold
        empty = exact.universe - len(exact.keys)
        position, value = survivors(empty, question.scale, question.threshold, self.bits)
        # The i-th empty cell lies behind all counted cells with fewer than i+1 empty cells before them.
        before = exact.keys - np.arange(len(exact.keys))
        position = position + np.searchsorted(before, position, side="right")
        keys = np.concatenate([exact.keys[over], position])
        order = np.argsort(keys, kind="stable")
        return NoisyCounts(question, keys[order], np.concatenate([noisy[over], value])[order])

    def deviation(self, question: Question) -> float:
        """Standard deviation of the noise of a count, in rows."""
        return sqrt(question.scale) if self.budget.currency == "rho" else sqrt(2) * float(question.scale)

    def answer_selection(self, question: Question, utilities: NDArray[np.integer]) -> int:
        """Choose. Audits replace this step, like `answer`."""
        sensitivity = self.unit.utility_sensitivity(question.contribution)
        return permute_and_flip(utilities, 2 * sensitivity / question.scale, sensitivity, self.bits)

    def answer_tree(self, question: Question, exact: SparseCounts) -> Leaves:
        """Draw noise for every visited node. Audits replace this step, like `answer`."""
        step = decay(question.scale, self.unit.sensitivity(question.contribution).l1)

        def split(level: int, nodes: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
            return values + discrete_laplace(len(nodes), question.scale, self.bits) > 0

        return partition(exact.keys, exact.counts, depth_of(question.universe), step, split)

    def draw_units(self, examples: Examples, probability: Fraction) -> NDArray[np.int64]:
        """One example of every unit that a Poisson draw picks. Audits replace it, like `answer`."""
        return examples.draw(probability, self.bits)

    def clip(self, parts: Sequence[Part], clip: float) -> list[NDArray[np.float64]]:
        """The clipped sum of a step, in whole numbers. Audits break it to see that they notice."""
        return clipped_sum(parts, clip)

    def answer_step(self, question: Question, exact: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise on every parameter. Audits replace this step, like `answer`."""
        return exact + rounded_gaussian(len(exact), question.scale, self.bits)

    def inner(self, budget: Budget) -> "Gate":
        """A gate for one draw of a search. Audits replace it by one of their own kind."""
        gate = Gate(self.unit, budget, self.bits, memory=self.memory)
        gate.size = self.size
        return gate

    def flip(self, probability: Fraction) -> bool:
        """The coin of a search. Audits replace it, like `answer`."""
        return bool(bernoulli(1, probability, self.bits)[0])

    def _noise(self, question: Question) -> NDArray[np.int64]:
        if self.budget.currency == "rho":
            return discrete_gaussian(question.universe, question.scale, self.bits)
        return discrete_laplace(question.universe, question.scale, self.bits)
