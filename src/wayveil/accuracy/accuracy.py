"""How far the numbers of a release can be trusted: an interval for every number, and a verdict on every kind.

The release is taken for the truth and made again with simulated noise. Intervals are read off the pairs that this gives
(see `bands`), for the kinds of question that the mechanism says it can hold; of others none is known. The same pairs
tell the error of a kind, which is set against public knowledge alone and against silence. All of it is computed from
what is released, so it is free, and it is signed with the release.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from wayveil.accuracy.bands import Bands, find_bands, find_sum_bands
from wayveil.accuracy.replicas import draw_replicas, mechanism_of
from wayveil.accuracy.sized import Sized
from wayveil.accuracy.verdicts import Verdict, judge
from wayveil.answers.tallies import KINDS, VISIT_KINDS, Tally, kinds_for, tally
from wayveil.errors import RefusedError
from wayveil.progress import step
from wayveil.releases.priors import followed_by
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
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

if TYPE_CHECKING:
    from wayveil.releases.release import Release

# A release is made again once: that takes as long as the release did.
ROUNDS = 1
# A replica with so much fewer or more visits or trips than its release shows that the mechanism loses as much.
MOST_LOST = 0.1
# A release is never thought to have kept less than this.
LEAST_KEPT = 0.25
# Of a model whose thresholds took more of the trips than this, nothing but the number of trips is known.
MOST_MISSING = 0.3
# Public knowledge is drawn as often as there are trips, up to so many; the rest is scaled.
MOST_PUBLIC = 20_000
# Routes of public knowledge lead to so many stops: with 4,000 stops this takes a seventh of the time, and visits per
# stop or edge come out at most 7 % farther from those of riders.
MOST_ENDS = 500
# Where only stops and hours are counted, fewer tell as much.
FEW_PUBLIC, FEW_ENDS = 1_000, 250
# Kinds that count trips and not their visits.
OF_ENDS = frozenset({"total", "boardings", "alightings", "journeys", "journey-hours"})
# Kinds that a model knows nothing of itself are as biased as what they are made of.
MADE_OF = {"stops": "edges", "visits": "lengths"}


# Intervals widen by so much of what trips of a model cannot express: noise makes it look larger than it is, and part of
# it is in the replicas already. Set on simulated towns.
MISFIT = 0.5
# Mean of the absolute noise in halves of its 95 % interval, for the normal law; others have less.
MEAN_IN_HALF = 0.41
ALL_NOISE = (
    "This release says no more than silence: with so few trips or so small an epsilon, all of it is noise."
)

NOT_JUDGED = "How far off the numbers of this release are is not known: it could not be made again to see."


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Intervals by kind of question, a verdict on each, and what the model itself expects (None: it does not)."""

    bands: Mapping[str, Bands]
    verdicts: tuple[Verdict, ...]
    expected: tuple[ExpectedError, ...] | None

    def of(self, kind: str) -> Verdict | None:
        """The verdict on one kind of question."""
        return next((verdict for verdict in self.verdicts if verdict.kind == kind), None)

    @property
    def is_noise(self) -> bool:
        """Whether the release is no better than silence on everything."""
        return bool(self.verdicts) and all(verdict.is_noise for verdict in self.verdicts)

    @property
    def words(self) -> list[str]:
        """The verdict for people, one sentence a line; the worst news first."""
        if not self.verdicts:
            return [NOT_JUDGED]
        return [*([ALL_NOISE] if self.is_noise else []), *(verdict.words for verdict in self.verdicts)]

    def refuse_noise(self, kind: str | None, *, anyway: bool) -> None:
        """Raise where a number of this kind would be noise, unless it is wanted anyway."""
        verdict = None if kind is None or anyway else self.of(kind)
        if verdict is not None and verdict.is_noise:
            raise RefusedError(f"{verdict.words} To see the numbers all the same: --anyway (anyway=True).")

    def record(self) -> dict[str, Any]:
        """For a file."""
        return {
            "intervals": {kind: bands.record() for kind, bands in self.bands.items()},
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "expected": None if self.expected is None else [asdict(error) for error in self.expected],
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Accuracy":
        """What `record` wrote."""
        expected = record["expected"]
        return cls(
            {kind: Bands.of_record(bands) for kind, bands in record["intervals"].items()},
            tuple(Verdict(**verdict) for verdict in record["verdicts"]),
            None if expected is None else tuple(ExpectedError(**error) for error in expected),
        )


def find_accuracy(release: "Release", holds: Collection[str] | None = None) -> Accuracy:
    """Make the release again, and see how far off that is. Takes about as long as the release.

    Intervals are made for the kinds of question that the mechanism can hold, or for others (`holds`), to measure them.
    """
    if release.whole is not release:
        return release.whole.accuracy
    trips = release.trips
    if "rewritten_by" in release.datasheet or mechanism_of(release.datasheet).trained:
        return Accuracy({}, (), None)  # made twice: nobody knows; trained: once more would take too long
    if release.each_stands_for != 1:
        return Accuracy({}, (), None)  # too many trips to make again: nobody knows
    if isinstance(release.model, OfTaps):
        return Accuracy({}, tuple(_judge_counted(release)), None)
    if len(trips) == 0:
        silent = (judge(kind, 0, 0.0, 1.0, None, sure=True) for kind in kinds_for(trips))
        return Accuracy({}, tuple(silent), None)
    with step("finding how far off to expect it"):
        replicas = list(draw_replicas(release, ROUNDS))
        if not replicas:
            return Accuracy({}, (), None)  # a replica that is refused says nothing
        expected = _ask_model(release, replicas)
        bins = None if trips.time is None else TimeBins.hour_of_day()
        public = floor(trips.world, min(len(trips), MOST_PUBLIC), 0, bins=bins, ends=MOST_ENDS)
        made_by = mechanism_of(release.datasheet)
        # How often intervals hold was measured for releases that follow no others.
        covered = made_by.covered(trips.world) and not followed_by(release.datasheet)
        known = _sized(release)
        if known is None and isinstance(release.model, KnowsSize):
            covered = False  # of models that may know their size, only those that do were measured
        held = set((made_by.holds if covered else ()) if holds is None else holds)
        tells = {**dict.fromkeys(held, 1.0), **(made_by.tells if covered and holds is None else {})}
        held -= _lost_kinds(trips, [replica.trips for replica in replicas]) - _by_law(release)
        missing = release.model.lost() if isinstance(release.model, KnowsLoss) else 0.0
        if missing > MOST_MISSING:
            held &= {"total"}
        kept_trips = _kept(len(trips), [len(replica.trips) for replica in replicas])
        bands, verdicts = {}, []
        for kind in kinds_for(trips):
            true = tally(kind, trips)
            shown = [tally(kind, replica.trips) for replica in replicas]
            bias = _bias(kind, expected)
            if kind in held and bias is not None:
                if kind == "total":
                    found = paid_total(release)
                elif kind == "visits":
                    parts = [tally("stops", each.trips) for each in replicas]
                    found = find_sum_bands(tally("stops", trips), parts)
                else:
                    found = find_bands(true, shown)
                if found is not None:
                    bands[kind] = found.widen(MISFIT * bias)
            worst = tells.get(kind)
            if worst is None and any(error.kind == kind for error in expected or ()):
                worst = 1.0
            if known is not None:
                told = _told(kind, public, known.size.trips) if KINDS[kind].public else None
                verdict = known.judge(kind, true, shown[0], told, worst)
            else:
                lost = 0.0 if kind == "total" else missing
                law = _paid_error(release, expected) if kind == "total" else None
                seen = KindEvidence(true, shown, bias or 0.0, lost, _made_up(release, kind, replicas), law)
                verdict = _judge(kind, len(trips) / kept_trips, seen, public, worst)
            verdicts.append(verdict)
            if verdict.is_noise or (verdict.margin or 0.0) < 1:
                # Of noise, or of what public knowledge knows better, no interval is worth having.
                bands.pop(kind, None)
    return Accuracy(bands, tuple(verdicts), expected)


def _judge_counted(release: "Release") -> Iterator[Verdict]:
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
        against = _distance(here, told) / size if KINDS[kind].public else None
        yield judge(kind, int(np.count_nonzero(values)), size, error, against, sure=True)


def _lost_kinds(trips: Trips, replicas: Sequence[Trips]) -> frozenset[str]:
    """Kinds that have no intervals, because a replica has many fewer or more trips or visits than the release.

    What is lost between a release and its replica was lost before as well, and nobody knows how much.
    """
    if any(abs(len(each) - len(trips)) > MOST_LOST * len(trips) for each in replicas):
        return frozenset(KINDS)
    if any(abs(each.visits - trips.visits) > MOST_LOST * trips.visits for each in replicas):
        return frozenset(KINDS) - OF_ENDS
    return frozenset()


def _sized(release: "Release") -> Sized | None:
    """The release beside its size, where that was paid for."""
    model, trips = release.model, release.trips
    if not isinstance(model, KnowsSize) or model.size is None:
        return None
    noise = {
        kind: MEAN_IN_HALF * (_paid_half(release, f"number of {what}") or 0.0) / whole
        for kind, what, whole in (
            ("total", "trips", model.size.trips),
            ("visits", "visits", model.size.visits),
        )
    }
    return Sized(model.size, float(len(trips)), float(trips.visits), model.thinned, noise)


def _paid_half(release: "Release", label: str) -> float | None:
    """Half of the 95 % interval of a number that was asked for by itself; None if it was not."""
    for spend in release.datasheet["spends"]:
        if spend["label"] == label and "error_95" in spend:
            return float(spend["error_95"]) + 1
    return None


def paid_total(release: "Release") -> Bands | None:
    """The interval of a number of trips that was asked for by itself: the law of its noise; None if it was not."""
    known, half = _sized(release), _paid_half(release, "number of trips")
    if half is None:
        return None
    count = float(len(release.trips))
    # A tree shows fewer trips than were paid for, as it lost some: the interval is about all of them.
    beyond = 0.0 if known is None else known.size.trips - count
    low, high = (np.array([side / sqrt(count + 1)]) for side in (beyond - half, beyond + half))
    return Bands(np.array([count]), low, high, None)


def _by_law(release: "Release") -> frozenset[str]:
    """Kinds whose intervals hold by the law of the noise, whatever a replica lost."""
    return frozenset() if _sized(release) is None else frozenset({"total"})


def _paid_error(release: "Release", expected: Sequence[ExpectedError] | None) -> float | None:
    """How far off a number of trips that was asked for by itself is on average, as a share; None if it was not."""
    known = next((error.relative for error in expected or () if error.kind == "total"), None)
    if known is not None:
        return known
    paid = paid_total(release)
    return None if paid is None else MEAN_IN_HALF * float(paid.high[0]) / sqrt(len(release.trips) + 1)


def _ask_model(release: "Release", replicas: Sequence[Replica]) -> tuple[ExpectedError, ...] | None:
    if not isinstance(release.model, ExpectsErrors):
        return None
    return tuple(release.model.expected_errors(release.trips, replicas[0]))


def _bias(kind: str, expected: Sequence[ExpectedError] | None) -> float | None:
    """Deviation of what trips of this model cannot express, in roots of the number; None where nobody knows."""
    if expected is None:
        return 0.0
    wanted = MADE_OF.get(kind, kind)
    for error in expected:
        if error.kind == wanted:
            return error.unexplained * sqrt(pi / 2) / sqrt(error.mean + 1)
    return None


@dataclass(frozen=True, eq=False)
class KindEvidence:
    """What is known of one kind of question without the raw trips.

    release, replicas  numbers of both
    bias   deviation of what trips of this model cannot express, in roots of the number
    lost   share of the trips that thresholds took
    false  how far off what nobody made puts it at least, by the law of the noise
    law    how far off it is by that law alone, whatever replicas show; None: not known
    """

    release: Tally
    replicas: Sequence[Tally]
    bias: float = 0.0
    lost: float = 0.0
    false: float = 0.0
    law: float | None = None

    @property
    def size(self) -> float:
        """The sum of its numbers."""
        return max(float(self.release.values.sum()), 1.0)

    @property
    def kept(self) -> float:
        """What the release keeps of that sum, by what replicas keep of it."""
        return _kept(self.size, [float(replica.values.sum()) for replica in self.replicas])

    @property
    def error(self) -> float:
        """The mean distance, in shares of what the release shows."""
        if self.law is not None:
            # Of a single number, one replica shows one draw of the noise, which says next to nothing of its mean.
            return self.law
        biased = float(np.sum(self.bias * np.sqrt(self.release.values))) * sqrt(2 / pi)
        off = [
            np.hypot(np.hypot(_distance(self.release, replica), biased) / self.size, self.lost)
            for replica in self.replicas
        ]
        return max(float(np.mean(off)), self.false)


def _made_up(release: "Release", kind: str, replicas: Sequence[Replica]) -> float:
    """How far off what nobody made puts a kind at least."""
    if not isinstance(release.model, KnowsNoise):
        return 0.0
    again = float(np.mean([len(replica.trips) for replica in replicas]))
    return release.model.made_up(kind, float(len(release.trips)), again) or 0.0


def _kept(size: float, replicas: Sequence[float]) -> float:
    """What a replica keeps of the sum of the release, and so the release of that of the truth; 1: about all."""
    share = float(np.mean(replicas)) / max(size, 1.0)
    return 1.0 if abs(share - 1) <= MOST_LOST else float(np.clip(share, LEAST_KEPT, 1 / LEAST_KEPT))


def _judge(kind: str, trips: float, seen: KindEvidence, public: Trips, worst: float | None) -> Verdict:
    """The error beside that of public knowledge, which knows the number of trips; both in shares of what was there.

    A release that lost half of all moves is not nearer to the truth than public knowledge because that has twice as
    many as the release: it is set beside a release that is as large as the truth is likely to be.
    """
    told, has_public = _told(kind, public, trips), KINDS[kind].public
    against = _beside(seen.release, told, seen.kept) if has_public else None
    return judge(
        kind,
        len(seen.release.cells),
        seen.size,
        seen.error,
        against,
        sure=worst is not None,
        worst=worst or 1.0,
    )


def _told(kind: str, public: Trips, trips: float) -> Tally:
    """What public knowledge says of so many trips."""
    # Public destinations are as even as public origins, and not all of them were drawn.
    few = kind == "alightings" and isinstance(public.world, Network) and public.world.size > MOST_ENDS
    told = tally("boardings" if few else kind, public)
    return Tally(told.cells, told.values * trips / len(public))


def _beside(shown: Tally, told: Tally, kept: float) -> float:
    """How far public knowledge is from a release that kept such a share of the truth, in shares of that truth."""
    whole = Tally(shown.cells, shown.values / kept)
    return _distance(whole, told) / max(float(whole.values.sum()), 1.0)


def _distance(left: Tally, right: Tally) -> float:
    return float(np.abs(np.subtract(*left.beside(right))).sum())
