"""Games against the ledger: somebody tries to learn more from releases than the ledger says that they cost.

Each game is played against the ledger as built, where it must be lost, and against a ledger with one mistake made on
purpose, where it must be won. The front door (`door`) holds one release against its epsilon; here it is several
releases, other units than that of the release, and people who come back.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from wayveil import run as run_module
from wayveil.errors import WayveilError
from wayveil.lab.audits.disguises import DISGUISES, KEY, datasets, outcome
from wayveil.lab.audits.door import ACTOR, DATASET, nothing_broken
from wayveil.lab.audits.door_files import ANY_MOVE
from wayveil.lab.audits.door_variants import TREE
from wayveil.lab.audits.grey_box import Examination, check_distances, distances
from wayveil.lab.audits.neighbours import with_trips
from wayveil.lab.audits.recording import Subject, record, replay
from wayveil.lab.audits.tiny_worlds import crowd, plain_world, tiny_grid
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import Bits, SeededBits
from wayveil.privacy.gradients import CLIP
from wayveil.privacy.ledger import (
    DataLimit,
    Days,
    Ledger,
    LedgerError,
    Policy,
    account,
    conversion,
    open_ledger,
)
from wayveil.privacy.ledger.conversion import BookedUnit
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter, fingerprint
from wayveil.privacy.ledger.terms import Terms
from wayveil.privacy.ledger.traits import Traits
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Unit
from wayveil.releases import making, paid
from wayveil.releases.paid import Paid, resume_release
from wayveil.releases.release import Release
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid

EPSILON, DELTA = Fraction(4), Fraction(1, 1000)
TRAINED = DpLoc(weakest=0, training_steps=3, batch=1000, most_drawn=Fraction(1, 2), hidden=8, clip=0.05)
CHANCES = 4

POINTS = TapCounts(max_visits=9, time="60")
FIRST = date(2026, 1, 5)
WORLD = plain_world()
COUNTS = TapCounts()
AS_EVENTS: dict[str, Any] = {"unit": Event(), "rule": ANY_MOVE, "actor": ACTOR, "seed": 1}
LEDGER = "ledger"

Play = Callable[[Path, Bits], Examination]


@dataclass(frozen=True)
class LedgerGame:
    """One game, and the mistake that it is played against."""

    name: str
    play: Play
    broken: Callable[[], AbstractContextManager[Any]] = nothing_broken


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
    }


def _changed(trips: Trips, *, place: int, later: int = 0) -> Trips:
    """The same trips; the first visit of the last one is at another place, perhaps on another day."""
    first = int(trips.offsets[-2])
    location, time = trips.location.copy(), np.array(trips.time)
    location[first] = place
    time[first:] += later
    return replace(trips, location=location, time=time)


def _charged(folder: Path, subject: Subject, policy: str) -> Fraction | None:
    """How many times epsilon one unit of a policy is charged for a release; None where that is refused."""
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
    """What the pair loses, in epsilons of the release: of counts the loss, of steps how many clips they moved."""
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


def _trained_like_counts() -> AbstractContextManager[Any]:
    """Trained releases are converted as if their noise covered as many trips as are counted."""
    honest = conversion.steps
    return patch.object(account, "steps", lambda *given, trained=False: honest(*given))


def _one_trip_covers_two() -> AbstractContextManager[Any]:
    """One trip more is charged once although it may swap two trips and only one is counted."""
    honest = conversion.steps

    def steps(release: BookedUnit, *given: Any, **more: Any) -> int | None:
        return honest(replace(release, bounds={**release.bounds, "max_trips": 4}), *given, **more)

    return patch.object(account, "steps", steps)


def play_priors(folder: Path, bits: Bits) -> Examination:
    """Follow a dear release that no ledger knows with a cheap one of the same rows."""
    trips, found = _taps(), Examination()
    for ledger, name in ((None, "no ledger"), (_ledger(folder), "a ledger")):
        dear = run_module.make_release(trips, COUNTS, epsilon=100, ledger=None, **AS_EVENTS)
        known: list[Release | Path] = [dear, dear.save(folder / f"after {name}")]
        for prior in known:
            found.questions += 1
            try:
                cheap = run_module.make_release(
                    trips, COUNTS, epsilon=1, ledger=ledger, dataset=DATASET, prior=[prior], **AS_EVENTS
                )
            except LedgerError:
                continue
            if cheap.datasheet["private"]:
                found.problems.append(f"with {name}, epsilon 100 came in through a prior of epsilon 1")
    return found


def _prior_for_nothing() -> AbstractContextManager[Any]:
    """Every release may be followed, whether or not anybody paid for it."""
    return patch.object(making, "unsound_priors", lambda *given: None)


def play_days(folder: Path, bits: Bits) -> Examination:
    """Release the rows of one day again and again, each time as those of another day."""
    found, ledger, trips = Examination(), open_ledger(folder / "days.ledger"), _taps()
    ledger.set_policy(DATASET, Policy(None, unit="event", data=DataLimit("day", 1)), actor=ACTOR)
    made = 0
    for day in range(3):
        said = Days(FIRST + timedelta(days=day), FIRST + timedelta(days=day))
        found.questions += 1
        with suppress(WayveilError):
            run_module.make_release(
                trips, COUNTS, epsilon=1, ledger=ledger, dataset=DATASET, days=said, **AS_EVENTS
            )
            made += 1
    found.loss = Fraction(made)
    if made > 1:
        found.problems.append(f"the rows of one day were released {made} times, with epsilon 1 a day")
    long = Trips(trips.location, np.array([0, len(trips)]), WORLD, trips.time, history=AS_READ)
    with suppress(WayveilError):
        days = Days(FIRST, FIRST)
        run_module.make_release(long, COUNTS, epsilon=1, ledger=_dated(folder), days=days, **AS_EVENTS)
        found.problems.append("single visits are protected by the day on which their trip begins")
    return found


def _dated(folder: Path) -> Ledger:
    ledger = open_ledger(folder / "visits.ledger")
    ledger.set_policy("trips", Policy(None, unit="event", data=DataLimit("day", 1)), actor=ACTOR)
    return ledger


@contextmanager
def _days_believed() -> Iterator[None]:
    """Rows are of the days that somebody says."""
    with (
        patch.object(Fingerprint, "require_days", lambda self, days: None),
        patch.object(making, "_refuse_moving_days", lambda order: None),
    ):
        yield


def play_disguises(folder: Path, bits: Bits) -> Examination:
    """Bring the same people under another name in every disguise that the ledger says it sees through."""
    found = Examination()
    for kind, trips in datasets().items():
        known = fingerprint(trips, KEY)
        for disguise in DISGUISES:
            found.questions += 1
            passed = outcome(disguise, known, trips) is None
            if disguise.caught and passed:
                found.problems.append(f"{kind} in disguise get a budget of their own: {disguise.name}")
    return found


def _plain_eyes() -> AbstractContextManager[Any]:
    """Only what is equal is compared: ids, times and places as they stand there."""
    return patch.object(Traits, "likeness", lambda self, new: None)


def play_grids(folder: Path, bits: Bits) -> Examination:
    """Release GPS points over one grid, and the same points over another as those of other people."""
    found, ledger = Examination(), _ledger(folder)
    ledger.set_policy("others", Policy(1000, unit="event"), actor=ACTOR)
    points = folder / "points.csv"
    rows = [
        (trip, 600 * trip + 30 * i, (i + 1) / 600, (trip + 1) / 600) for trip in range(9) for i in range(9)
    ]
    points.write_text("\n".join(["tid,datetime,lat,lng", *(",".join(map(str, row)) for row in rows)]))
    made = 0
    for metres, name in ((250, DATASET), (300, "others")):
        found.questions += 1
        world = Grid.of_metres("0,0,0.02,0.02", metres)
        with suppress(LedgerError):
            run_module.release(
                points,
                POINTS,
                world=world,
                rows="points",
                epsilon=1,
                unit=Trip(),
                ledger=ledger,
                dataset=name,
            )
            made += 1
    if made != 1:
        found.problems.append(f"the same points were released {made} times over two grids, not once")
    return found


def _known_by_cells() -> AbstractContextManager[Any]:
    """Points are known by the cells that they were put into."""
    honest = Fingerprinter.of
    return patch.object(
        Fingerprinter, "of", lambda self, trips: honest(self, replace(trips, source=None, time=None))
    )


def play_edits(folder: Path, bits: Bits) -> Examination:
    """Change what a stopped run keeps, and have it finished, signed and committed."""
    found, ledger, out = Examination(), _ledger(folder), folder / "out"
    with patch.object(making, "draw_release", _stopped), suppress(KeyboardInterrupt):
        run_module.make_release(
            _taps(), COUNTS, epsilon=EPSILON, ledger=ledger, dataset=DATASET, keep=Paid(out), **AS_EVENTS
        )
    kept = Paid(out).folder / "datasheet.json"
    sheet = json.loads(kept.read_text())
    sheet["guarantee"]["epsilon"] = "0.01"
    kept.write_text(json.dumps(sheet))
    found.questions += 1
    with suppress(WayveilError):
        made = resume_release(out, WORLD, ledger=ledger)
        found.problems.append(f"epsilon {made.datasheet['guarantee']['epsilon']} was signed for {EPSILON}")
    return found


def _stopped(*given: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


@contextmanager
def _unsealed() -> Iterator[None]:
    """What waits is taken as it lies there, and a line is committed with whatever a datasheet says."""
    with (
        patch.object(paid, "require_seal", lambda folder: None),
        patch.object(Terms, "differing", lambda self, line: None),
    ):
        yield


def _taps(visits: int = 60) -> Trips:
    place = (np.arange(visits) % WORLD.size).astype(np.int32)
    time = (FIRST - date(1970, 1, 1)).days * 86_400 + 8 * 3600 + 60 * np.arange(visits)
    return Trips(place, np.arange(visits + 1), WORLD, time, history=AS_READ)


def _ledger(folder: Path) -> Ledger:
    ledger = open_ledger(folder / f"{len(list(folder.iterdir()))}.ledger")
    ledger.set_policy(DATASET, Policy(1000, unit="event"), actor=ACTOR)
    return ledger


CONVERSIONS = LedgerGame("one trip or visit under a policy for it", play_conversions)

GAMES = (
    CONVERSIONS,
    LedgerGame("a prior that nobody paid for", play_priors),
    LedgerGame("the same rows as those of other days", play_days),
    LedgerGame("the same people in disguise", play_disguises),
    LedgerGame("the same points on another grid", play_grids),
    LedgerGame("a datasheet edited before it is signed", play_edits),
)
BROKEN_GAMES = (
    LedgerGame("training charged as if it covered all trips", play_conversions, _trained_like_counts),
    LedgerGame("a swap of trips charged like one trip", play_conversions, _one_trip_covers_two),
    LedgerGame("priors that are free whoever paid", play_priors, _prior_for_nothing),
    LedgerGame("days that are believed", play_days, _days_believed),
    LedgerGame("people known by what stands there", play_disguises, _plain_eyes),
    LedgerGame("points known by their cells", play_grids, _known_by_cells),
    LedgerGame("what waits taken as it lies there", play_edits, _unsealed),
)


def play_game(name: str, bits: Bits) -> Examination:
    """Play one game by its name, in a folder of its own."""
    game = next(each for each in (*GAMES, *BROKEN_GAMES) if each.name == name)
    with TemporaryDirectory(prefix="wayveil-audit-") as folder, game.broken():
        return game.play(Path(folder), bits)
