"""The game against conversions: what one trip or visit loses by releases for other units, and what it is charged."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from wayveil.lab.audits.door import ACTOR, DATASET
from wayveil.lab.audits.door_variants import TREE
from wayveil.lab.audits.grey_box import Examination, check_distances, distances
from wayveil.lab.audits.recording import Subject, record, replay
from wayveil.lab.audits.tiny_worlds import crowd, tiny_grid, with_trips
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.gradients import CLIP
from wayveil.privacy.ledger import LedgerError, Policy, account, conversion, open_ledger
from wayveil.privacy.ledger.conversion import BookedUnit
from wayveil.privacy.units import Rider, RiderDay, Trip, Unit
from wayveil.trips.trips import Trips

EPSILON, DELTA = Fraction(4), Fraction(1, 1000)
TRAINED = DpLoc(weakest=0, training_steps=3, batch=1000, most_drawn=Fraction(1, 2), hidden=8, clip=0.05)
CHANCES = 4


def play_conversions(folder: Path, bits: Bits) -> Examination:
    """Change one trip or one visit, and hold what that moves against what the policy's unit was charged."""
    findings = Examination()
    for mechanism, unit in _released():
        subject = Subject(mechanism, unit, EPSILON, delta=DELTA if mechanism.trained else None)
        for policy, pairs in _neighbours().items():
            times = _charged(folder, subject, policy)
            if times is None:
                continue
            tries = [(pair, _seed(bits)) for pair in pairs for _ in range(CHANCES)]
            moved = max(_times_epsilon(subject, *pair, seed) for pair, seed in tries)
            findings.questions += len(tries)
            findings.loss = max(findings.loss, moved * EPSILON)
            if moved > times:
                findings.problems.append(
                    f"{mechanism.name} for {unit.name}: one {policy} loses {float(moved):.2f} epsilon, and the ledger "
                    f"charges {times}"
                )
    return findings


def _released() -> Iterator[tuple[Mechanism, Unit]]:
    units: list[Unit] = [Trip()]
    units += [kind(max_trips=most) for kind in (Rider, RiderDay) for most in (1, 2, 4)]
    for mechanism in (TREE, TRAINED):
        yield from ((mechanism, unit) for unit in units)
    # Where trips weigh, one more changes what all others of its rider count.
    yield from ((TREE, replace(unit, bounding="weights")) for unit in units if isinstance(unit, Rider))


def _neighbours() -> dict[str, list[tuple[Trips, Trips]]]:
    """By unit of a policy: pairs that differ in one of them, for a rider who has other trips."""
    world = tiny_grid()
    others = crowd(world, busy=4)
    rider = len(others)
    some = with_trips(others, [[0, 1, 2], [1, 2], [2, 1, 0], [3, 4]], [rider] * 4, day=2)
    alone = with_trips(others, [[0, 1]], [rider], day=2)
    return {
        "trip": [(each, with_trips(each, [[5, 4, 3]], [rider], day=2)) for each in (some, alone)],
        "event": [
            pair
            for each in (some, alone)
            for pair in ((each, _changed(each, place=5)), (each, _changed(each, place=5, later=86_400)))
        ],
        "element": [(each, _without(each, rider, place)) for each in (some, alone) for place in (0, 1)],
    }


def _without(trips: Trips, rider: int, place: int) -> Trips:
    """Leave out all visits of a rider to one place."""
    assert trips.rider is not None
    gone = (trips.rider[trips.trip_of_visit()] == rider) & (trips.location == place)
    left = trips.keep_visits(~gone)
    return left.take(left.lengths > 0)


def _changed(trips: Trips, *, place: int, later: int = 0) -> Trips:
    """Move the first visit of the last trip to another place, perhaps to another day."""
    first = int(trips.offsets[-2])
    location, time = trips.location.copy(), np.array(trips.time)
    location[first] = place
    time[first:] += later
    return replace(trips, location=location, time=time)


def _charged(folder: Path, subject: Subject, policy: str) -> Fraction | None:
    """Return how many times epsilon one unit of a policy is charged for a release; None where that is refused."""
    ledger = open_ledger(folder / f"{len(list(folder.iterdir()))}.ledger")
    ledger.set_policy(DATASET, Policy(1000, total_delta="1/2", unit=policy), actor=ACTOR)
    try:
        ledger.reserve(
            DATASET,
            subject.epsilon,
            subject.delta or 0,
            actor=ACTOR,
            mechanism="audited",
            unit=subject.unit,
        )
    except LedgerError:
        return None
    return ledger.spent(DATASET) / subject.epsilon


def _times_epsilon(subject: Subject, trips: Trips, neighbour: Trips, seed: int) -> Fraction:
    """Return what the pair loses, in epsilons of the release: of counts the loss, of steps the clips they moved."""
    recorded, _ = record(subject, trips, SeededBits(seed), seed)
    replayed, _ = replay(subject, neighbour, recorded, seed)
    worst = check_distances(subject, recorded, replayed, Examination()) / subject.epsilon
    for exchange, twin in zip(recorded.exchanges, replayed.exchanges, strict=True):
        if exchange.question.kind == "training":
            _, squared, _ = distances(exchange.exact, twin.exact)
            worst = max(worst, Fraction(int(float(squared) ** 0.5), CLIP))
    return worst


def _seed(bits: Bits) -> int:
    return int(bits.words(1)[0] >> 1)


def trained_like_counts() -> AbstractContextManager[Any]:
    """Trained releases are converted as if their noise covered as many trips as are counted."""
    honest = conversion.steps
    return patch.object(account, "steps", lambda *given, trained=False: honest(*given))


def one_trip_covers_two() -> AbstractContextManager[Any]:
    """One trip more is charged once although it may swap two trips and only one is counted."""
    honest = conversion.steps

    def steps(release: BookedUnit, *given: Any, **more: Any) -> int | None:
        return honest(replace(release, bounds={**release.bounds, "max_trips": 4}), *given, **more)

    return patch.object(account, "steps", steps)
