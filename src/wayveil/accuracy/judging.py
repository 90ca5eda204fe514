"""`judge`: how far the numbers of a release can be trusted, found from the release alone.

The release is taken for the truth and made again with simulated noise. Intervals are read off the pairs that this gives
(see `bands`), for the kinds of question that the mechanism says it can hold; of others none is known. The same pairs
tell the error of a kind, which is set against public knowledge alone and against nothing. All of it is computed from
what is released, so it is free, and it is signed with the release.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from typing import Protocol, runtime_checkable

import numpy as np

from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.bands import Bands
from wayveil.accuracy.distances import (
    MOST_ENDS,
    MOST_LOST,
    SURELY,
    KindEvidence,
    distance,
    find_public,
    judge_kind,
    public_tally,
    share_kept,
    with_sizes,
)
from wayveil.accuracy.find_bands import find_bands, find_even_bands, find_sum_bands
from wayveil.accuracy.misfits import (
    MEAN_ERROR,
    MISFIT,
    OF_WAYS,
    ROUGHER,
    TOGETHER,
    blur_hours,
    find_bias,
    is_misfit,
    least_together,
    tell_visits,
)
from wayveil.accuracy.paid_sizes import held_by_law, paid_error, paid_size, paid_total
from wayveil.accuracy.posterior import MEAN_IN_HALF, Posterior, mean_errors, off_by
from wayveil.accuracy.replicas import draw_replicas, mechanism_of
from wayveil.accuracy.sized import Sized
from wayveil.accuracy.sizes import SEEN_TWICE, find_sizes
from wayveil.accuracy.verdicts import SINGLE, Verdict, give_verdict
from wayveil.arrays import Floats, Ints
from wayveil.privacy.weights import Scaling
from wayveil.progress import step
from wayveil.released.released_trips import ReleasedTrips, followed_by
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import Visits
from wayveil.synthesis.model import (
    Estimates,
    ExpectedError,
    ExpectsErrors,
    KnowsLoss,
    KnowsNoise,
    KnowsSize,
    OfTaps,
    Replica,
)
from wayveil.synthesis.public_knowledge import floor
from wayveil.synthesis.tallies import KINDS, VISIT_KINDS, Tally, kinds_for, tally
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

# A release is made again once: that takes as long as the release did.
ROUNDS = 1
# Of a model whose thresholds took more of the trips than this, nothing but the number of trips is known.
MOST_MISSING = 0.3
# Public knowledge is drawn as often as there are trips, up to so many; the rest is scaled.
MOST_PUBLIC = 20_000
# Where only stops and hours are counted, fewer tell as much.
FEW_PUBLIC, FEW_ENDS = 1_000, 250
# Kinds that count trips and not their visits.
OF_ENDS = frozenset({"total", "boardings", "alightings", "journeys", "journey-hours"})
# Kinds that a noisy count of every stop tells by itself.
AT_STOPS = frozenset({"boardings", "alightings"})
# Of the errors of stops that replicas and noisy counts tell, the weight of the former in their geometric mean. Set on
# seven simulated towns.
BY_REPLICA = 0.7
# Replicas show so much too little where intervals hold all the same, and noise smooths by no more than the other.
USUAL, MOST_SMOOTHED = 1.25, 2.5
NOTHING_KNOWN = Accuracy({}, (), None)


def judge(release: ReleasedTrips, holds: Collection[str] | None = None) -> Accuracy:
    """Make the release again, and see how far off that is. Takes about as long as the release.

    Intervals are made for the kinds of question that the mechanism can hold, or for others (`holds`), to measure them.
    """
    found = _judge(release.whole, holds)
    scaling = Scaling.of(release.datasheet)
    if scaling is None:
        return found
    return replace(found, verdicts=tuple(_scale(release, verdict, scaling) for verdict in found.verdicts))


def _scale(release: ReleasedTrips, verdict: Verdict, scaling: Scaling) -> Verdict:
    """Add to a verdict how far off numbers are because counts were scaled to all rows."""
    model = release.model
    counted = model.counted(verdict.kind) if isinstance(model, CountsCells) else None
    if getattr(counted, "of_rows", False):
        return verdict  # the number of all rows itself
    if not verdict.sizes:
        return replace(verdict, error=hypot(verdict.error, MEAN_ERROR * scaling.error))
    more = MEAN_ERROR * scaling.deviation(np.array([each.mean for each in verdict.sizes]))
    cells, means = (np.array([getattr(each, of) for each in verdict.sizes]) for of in ("cells", "mean"))
    sizes = tuple(each.add(float(off)) for each, off in zip(verdict.sizes, more, strict=True))
    shown, uneven = float(cells @ means), float(cells @ more)
    return replace(verdict, error=hypot(verdict.error, uneven / max(shown, 1.0)), sizes=sizes)


def _judge(release: ReleasedTrips, holds: Collection[str] | None) -> Accuracy:
    if "rewritten_by" in release.datasheet or mechanism_of(release.datasheet).trained:
        return NOTHING_KNOWN  # made twice: nobody knows; trained: once more would take too long
    if release.each_stands_for != 1:
        return NOTHING_KNOWN  # too many trips to make again: nobody knows
    if isinstance(release.model, OfTaps):
        return Accuracy({}, tuple(_judge_counted(release)), None)
    if len(release.trips) == 0:
        silent = (give_verdict(kind, 0, 0.0, 1.0, None, sure=True) for kind in kinds_for(release.trips))
        return Accuracy({}, tuple(silent), None)
    with step("finding how far off to expect it"):
        replicas = list(draw_replicas(release, ROUNDS))
        # A replica that is refused says nothing.
        return _Judging.of(release, replicas, holds).accuracy() if replicas else NOTHING_KNOWN


@dataclass(frozen=True, eq=False)
class _Judging:
    """A release beside its replicas and public knowledge.

    expected  what the model itself expects (None: it does not)
    known     the release beside its size, where that was paid for
    held      kinds of question whose intervals are made; `even`: as those of numbers that follow from whole trips
    tells     how many times the error of replicas a kind may be off; a kind that is missing may be biased
    missing   share of the trips that thresholds took
    """

    release: ReleasedTrips
    replicas: Sequence[Replica]
    expected: tuple[ExpectedError, ...] | None
    known: Sized | None
    held: Collection[str]
    tells: Mapping[str, float]
    missing: float
    even: Collection[str] = ()

    @classmethod
    def of(
        cls, release: ReleasedTrips, replicas: Sequence[Replica], holds: Collection[str] | None
    ) -> "_Judging":
        """Find what mechanism and model say about themselves."""
        trips, made_by = release.trips, mechanism_of(release.datasheet)
        # How often intervals hold was measured for releases that follow no others.
        covered = made_by.covered(trips.world) and not followed_by(release.datasheet)
        known = paid_size(release)
        if known is None and isinstance(release.model, KnowsSize):
            covered = False  # of models that may know their size, only those that do were measured
        held = set((made_by.holds if covered else ()) if holds is None else holds)
        tells = {**dict.fromkeys(held, 1.0), **(made_by.tells if covered and holds is None else {})}
        held -= _lost_kinds(trips, [replica.trips for replica in replicas]) - held_by_law(release)
        missing = release.model.lost() if isinstance(release.model, KnowsLoss) else 0.0
        if missing > MOST_MISSING:
            held &= {"total"}
        expected = _ask_model(release, replicas)
        if is_misfit(expected):
            # People take other ways than its support has: what follows from ways is off by more than noise.
            held -= OF_WAYS
            tells = {kind: worst for kind, worst in tells.items() if kind not in OF_WAYS}
        return cls(release, replicas, expected, known, held, tells, missing, made_by.even)

    def accuracy(self) -> Accuracy:
        """Judge every kind of question that such trips can answer."""
        bands, verdicts = {}, []
        for kind in kinds_for(self.release.trips):
            true = tally(kind, self.release.trips)
            shown = [tally(kind, replica.trips) for replica in self.replicas]
            verdict = self._verdict(kind, true, shown)
            verdicts.append(verdict)
            # Of noise, or of what public knowledge knows better, no interval is worth having.
            found = None
            if not verdict.is_noise and (verdict.margin or 0.0) >= 1:
                found = self._bands(kind, true, shown)
            if found is not None:
                bands[kind] = found
        return Accuracy(bands, tuple(verdicts), self.expected, self.replicas[0].trips, self.smoothed)

    @cached_property
    def smoothed(self) -> float:
        """Return how many times farther off stops are by noisy counts than replicas show, beyond what is usual."""
        told = []
        for kind in AT_STOPS:
            true = tally(kind, self.release.trips)
            shown = [tally(kind, replica.trips) for replica in self.replicas]
            again = max(self._evidence(kind, true, shown).error, 1e-9)
            counted = _off_by_counts(self.release, kind, true)
            if counted is not None:
                told.append(float(counted[1].sum()) / max(float(counted[0].sum()), 1.0) / again)
        return float(np.clip(max(told, default=1.0) / USUAL, 1.0, MOST_SMOOTHED))

    @cached_property
    def public(self) -> Trips:
        """Trips from public knowledge alone."""
        trips = self.release.trips
        bins = None if trips.time is None else TimeBins.hour_of_day()
        return floor(trips.world, min(len(trips), MOST_PUBLIC), 0, bins=bins, ends=MOST_ENDS)

    def _bands(self, kind: str, true: Tally, shown: Sequence[Tally]) -> Bands | None:
        """Intervals of one kind; None where they would not hold."""
        bias = find_bias(kind, self.expected)
        if kind not in self.held or bias is None:
            return None
        least = hypot(least_together(self.release.model, kind), self._blur(kind))
        if kind == "total":
            found = paid_total(self.release)
        elif kind == "visits":
            parts = [tally("stops", each.trips) for each in self.replicas]
            found = find_sum_bands(tally("stops", self.release.trips), parts, least)
        elif kind in self.even:
            found = find_even_bands(true, shown[0], least, self.smoothed)
        else:
            found = find_bands(true, shown)
        return None if found is None else found.widen(MISFIT * bias)

    def _blur(self, kind: str) -> float:
        """Deviation of visits by hour because starts may not be even within theirs, in shares of them."""
        known = self.expected is not None and isinstance(self.release.world, Network)
        return blur_hours(self.release.trips) if known and kind in ("hours", "stop-hours") else 0.0

    def _verdict(self, kind: str, true: Tally, shown: Sequence[Tally]) -> Verdict:
        worst, trips = self.tells.get(kind), float(len(self.release.trips))
        told_by_model = any(error.kind == kind for error in self.expected or ())
        if worst is None and told_by_model and not (kind in OF_WAYS and is_misfit(self.expected)):
            worst = 1.0
        if worst is not None and self.expected is not None:
            worst = max(worst, ROUGHER.get(kind, 1.0))
        if self.known is not None:
            trips = self.known.size.trips
            told = public_tally(kind, self.public, trips) if KINDS[kind].public else None
            verdict = self.known.judge(kind, true, shown[0], told, worst)
        else:
            trips /= share_kept(trips, [len(replica.trips) for replica in self.replicas])
            told = public_tally(kind, self.public, trips) if KINDS[kind].public else None
            seen = self._evidence(kind, true, shown)
            counted = _judge_stops(self.release, kind, seen, told)
            if counted is not None:
                return counted
            verdict = judge_kind(kind, seen, told, worst)
        return with_sizes(verdict, true, shown[0], told, worst or 1.0)

    def _evidence(self, kind: str, true: Tally, shown: Sequence[Tally]) -> KindEvidence:
        lost = 0.0 if kind == "total" else self.missing
        law = paid_error(self.release, self.expected) if kind == "total" else None
        invented = _invented(self.release, kind, self.replicas)
        seen, blur = find_bias(kind, self.expected), self._blur(kind)
        bias = find_bias(kind, self.expected, guess=True) or 0.0
        if self.expected is not None and isinstance(self.release.world, Network):
            # A guess holds no noise that would make it look larger.
            bias *= 1.0 if seen is None else MISFIT
            if kind == "visits":
                least = MEAN_ERROR * TOGETHER * least_together(self.release.model)
                law = max(least, tell_visits(self.expected))
        return KindEvidence(true, shown, bias, lost, invented, law, blur, self.expected is not None)


def _judge_counted(release: ReleasedTrips) -> Iterator[Verdict]:
    """Counted taps have the law of their noise, and their intervals with it."""
    trips = release.trips
    bins = None if trips.time is None else TimeBins.hour_of_day()
    public = floor(trips.world, min(max(len(trips), 1), FEW_PUBLIC), 0, bins=bins, ends=FEW_ENDS)
    for keys, kind in VISIT_KINDS.items():
        if not isinstance(release.model, Estimates) or (bins is None and "hour" in keys):
            continue
        known = release.model.estimate(Visits(keys), trips)
        if known is None or known.low is None or known.high is None:
            continue
        values = np.maximum(known.values, 0)
        size = max(float(values.sum()), 1.0)
        # A count below nothing is shown as nothing, and is then off by as much as was there: next to nothing.
        error = float(np.sum((known.high - known.low)[known.values > 0])) / 2 * MEAN_IN_HALF / size
        told = tally(kind, public)
        told = Tally(told.cells, told.values * size / max(float(told.values.sum()), 1.0))
        here = Tally(np.arange(len(values)), values)
        against = distance(here, told) / size if KINDS[kind].public else None
        verdict = give_verdict(kind, int(np.count_nonzero(values)), size, error, against, sure=True)
        if kind not in SINGLE:
            off = np.where(values > 0, mean_errors(known), 0.0)
            off_public = np.abs(values - told.at(here.cells)) if KINDS[kind].public else None
            verdict = replace(verdict, sizes=find_sizes(values, off, off_public))
        yield verdict


def _lost_kinds(trips: Trips, replicas: Sequence[Trips]) -> frozenset[str]:
    """Kinds that have no intervals, because a replica has many fewer or more trips or visits than the release.

    What is lost between a release and its replica was lost before as well, and nobody knows how much.
    """
    if any(abs(len(each) - len(trips)) > MOST_LOST * len(trips) for each in replicas):
        return frozenset(KINDS)
    if any(abs(each.visits - trips.visits) > MOST_LOST * trips.visits for each in replicas):
        return frozenset(KINDS) - OF_ENDS
    return frozenset()


def _ask_model(release: ReleasedTrips, replicas: Sequence[Replica]) -> tuple[ExpectedError, ...] | None:
    if not isinstance(release.model, ExpectsErrors):
        return None
    return tuple(release.model.expected_errors(release.trips, replicas[0]))


@runtime_checkable
class KnowsCells(Protocol):
    """A release that tells what its noisy counts say of each cell, and which number it shows there."""

    def posterior(self, kind: str) -> Posterior | None: ...

    def sharpen(self, kind: str, cells: Ints, values: Floats) -> Floats: ...


def _off_by_counts(release: ReleasedTrips, kind: str, shown: Tally) -> tuple[Floats, Floats] | None:
    """Numbers of stops that are printed, and how far off each is by its noisy count; None: there are no such counts."""
    known = release.model.counted(kind) if isinstance(release.model, CountsCells) else None
    if kind not in AT_STOPS or not isinstance(known, AllCounted) or not isinstance(release, KnowsCells):
        return None
    believed, cells = release.posterior(kind), np.arange(len(known.values))
    if believed is None:
        return None
    values = release.sharpen(kind, cells, shown.at(cells))
    return values, off_by(values, believed)


def _judge_stops(release: ReleasedTrips, kind: str, seen: KindEvidence, told: Tally | None) -> Verdict | None:
    """The verdict on stops whose noisy counts tell it, too; None: they do not.

    A release that noise made smooth has replicas that are as smooth: they show too little. The counts know what was
    smoothed away, and nothing of what other tables told: they show too much. So a mean of both is told.
    """
    counted = _off_by_counts(release, kind, seen.release)
    if counted is None or told is None:
        return None
    (values, off), cells = counted, np.arange(len(counted[0]))
    size, printed = max(float(values.sum()), 1.0), Tally(cells, values)
    against = find_public(seen.release, seen.replicas[0], told, printed)
    off *= (seen.error * size / max(float(off.sum()), 1e-9)) ** BY_REPLICA
    public = np.abs(told.at(cells) - values)
    public *= against * size / max(float(public.sum()), 1e-9)
    verdict = give_verdict(
        kind,
        int(np.count_nonzero(values)),
        size,
        float(off.sum()) / size,
        against,
        sure=True,
        apart=SURELY,
    )
    return replace(verdict, sizes=find_sizes(values, off, public, worst=1 / SEEN_TWICE))


def _invented(release: ReleasedTrips, kind: str, replicas: Sequence[Replica]) -> float:
    """Least error of this kind of question that invented cells cause."""
    if not isinstance(release.model, KnowsNoise):
        return 0.0
    again = float(np.mean([len(replica.trips) for replica in replicas]))
    return release.model.made_up(kind, float(len(release.trips)), again) or 0.0
