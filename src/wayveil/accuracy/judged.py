"""`JudgedRelease`: released trips with an interval for every number and a verdict on every kind of question."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.posterior import Posterior, believe_counted, believe_estimate, stand_out
from wayveil.arrays import Floats, Ints, Mask
from wayveil.privacy.weights import Scaling
from wayveil.released.officer import Usefulness
from wayveil.released.released_trips import ReleasedTrips
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import Estimate, Interval, Question, count_in_trips
from wayveil.synthesis.model import Estimates, ExpectedError
from wayveil.synthesis.tallies import KINDS, kind_of, tally


@dataclass(frozen=True, eq=False)
class JudgedRelease(ReleasedTrips):
    """Released trips, and how far their numbers can be trusted: what is known already, or found once when asked."""

    known_accuracy: Accuracy | None = None

    @cached_property
    def accuracy(self) -> Accuracy:
        """Intervals and a verdict for every kind of question. Kept and signed when saved."""
        if self.known_accuracy is not None:
            return self.known_accuracy
        if self.whole is not self:
            return self.whole.accuracy
        from wayveil.accuracy.judging import (
            judge,  # every mechanism comes with it, and a saved release is judged
        )

        return judge(self)

    @property
    def usefulness(self) -> Usefulness:
        """Return what the first page of the datasheet says of these numbers."""
        judged = self.accuracy.verdicts
        fit, unfit = ([each.what for each in judged if each.useful is useful] for useful in (True, False))
        return Usefulness(fit, unfit, self.released_trips)

    @property
    def expected(self) -> tuple[ExpectedError, ...] | None:
        """Expected error of each kind of question; None if the model cannot tell."""
        return self.accuracy.expected

    def estimate(self, question: Question) -> Estimate | None:
        """Numbers with their intervals, as far as the model or the trips tell; None if they do not."""
        if self.whole is not self:
            return self.whole.estimate(question)
        found = self.model.estimate(question, self.trips) if isinstance(self.model, Estimates) else None
        if found is not None:
            return self.widened(found)
        values = count_in_trips(question, self.trips)
        if values is None:
            return None
        values = values * self.each_stands_for
        kind = kind_of(question)
        bands = None if kind is None else self.accuracy.bands.get(kind)
        return Estimate(values) if bands is None else self.widened(Estimate(values, *bands.ends(values)))

    def widened(self, found: Estimate) -> Estimate:
        """Ends that also hold how sure the number of all rows is that counts were scaled to, and who is where."""
        scaling = Scaling.of(self.datasheet)
        believed = found if scaling is None else believe_estimate(found)
        if scaling is None or believed.interval is None:
            return found
        low, high = scaling.widen(found.values, believed.interval)
        return replace(believed, low=low, high=high, fourth=None)

    def sharpen(self, kind: str, cells: Ints, values: Floats) -> Floats:
        """Noisy counts in place of what the trips show, in cells whose count stands out of its noise.

        Trips are the better guess where a count is mostly noise; where it is not, they only blur it. A posterior mean
        would be too low for the truly busiest cells, which people ask for.
        """
        known = self.model.counted(kind) if isinstance(self.model, CountsCells) else None
        if not isinstance(known, AllCounted) or "rewritten_by" in self.datasheet or self.each_stands_for != 1:
            return values
        believed = self.posterior(kind)
        mean = None if believed is None else believed.mean
        sure = stand_out(known.values, sqrt(known.variance / 2), mean)
        left = self._left(kind, known.values, sure)
        return np.where(sure[cells], np.rint(known.values[cells]), np.rint(values * left))

    def _left(self, kind: str, counts: Floats, sure: Mask) -> float:
        """Return what part of the other trips is left where those in sure cells are as many as were counted.

        Noise lifts counts over the line, so that with whole trips elsewhere a list would add up to too many.
        """
        if kind not in KINDS:
            return 1.0
        shown = tally(kind, self.trips).at(np.arange(len(counts)))
        left = float(shown.sum() - counts[sure].sum()) / max(float(shown[~sure].sum()), 1.0)
        return min(max(left, 0.0), 1.0)

    def interval(self, kind: str, cells: Ints, values: Floats) -> Interval | None:
        """Both ends of 95 % intervals of cells (see `synthesis.tallies`) for which the release shows these numbers.

        By the law of the noise where the cells were counted, else from replicas. They always hold what is shown. Not a
        number where nothing is known of a cell, None where nothing is known of the kind.
        """
        if self.whole is not self:
            return self.whole.interval(kind, cells, values)
        counted = None
        if "rewritten_by" not in self.datasheet and isinstance(self.model, CountsCells):
            counted = self.model.counted(kind)
        believed = self.posterior(kind)
        if counted is not None:
            low, high = counted.ends(cells) if believed is None else believed.at(cells)
            ends = np.minimum(low, values), np.maximum(high, values)
        else:
            bands = self.accuracy.bands.get(kind)
            if bands is None:
                return None
            ends = bands.ends(values)
        scaling = Scaling.of(self.datasheet)
        return ends if scaling is None or getattr(counted, "of_rows", False) else scaling.widen(values, ends)

    @cached_property
    def _believed(self) -> dict[str, Posterior | None]:
        return {}

    def posterior(self, kind: str) -> Posterior | None:
        """Return what all noisy counts of a kind together say of each cell; None where they were not counted."""
        if kind not in self._believed:
            known = self.model.counted(kind) if isinstance(self.model, CountsCells) else None
            self._believed[kind] = (
                None if "rewritten_by" in self.datasheet else believe_counted(known, self.world.size)
            )
        return self._believed[kind]
