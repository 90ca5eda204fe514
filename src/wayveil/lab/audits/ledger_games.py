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
from wayveil.lab.audits.conversion_games import (
    EPSILON,
    one_trip_covers_two,
    play_conversions,
    trained_like_counts,
)
from wayveil.lab.audits.disguises import DISGUISES, KEY, datasets, outcome
from wayveil.lab.audits.door import ACTOR, DATASET, nothing_broken
from wayveil.lab.audits.door_files import ANY_MOVE
from wayveil.lab.audits.grey_box import Examination
from wayveil.lab.audits.tiny_worlds import plain_world
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import Bits
from wayveil.privacy.ledger import (
    DataLimit,
    Days,
    Ledger,
    LedgerError,
    Policy,
    open_ledger,
)
from wayveil.privacy.ledger.conversion import Terms
from wayveil.privacy.ledger.fingerprint import Fingerprint, Fingerprinter, fingerprint
from wayveil.privacy.ledger.roles import Roles
from wayveil.privacy.ledger.traits import Traits
from wayveil.privacy.units import Event, Trip
from wayveil.releases import making, paid, priors
from wayveil.releases.key_changes import appoint_officer
from wayveil.releases.paid import Paid, resume_release
from wayveil.releases.release import Release
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid

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


def play_adopted(folder: Path, bits: Bits) -> Examination:
    """Book a dear release as one of other people, of whom nobody sees the rows, and follow it for nothing."""
    found, ledger = Examination(), _ledger(folder)
    ledger.set_policy("others", Policy(10**6, unit="event"), actor=ACTOR)
    dear = run_module.make_release(_taps(), COUNTS, epsilon=100, ledger=None, **AS_EVENTS).save(
        folder / "dear"
    )
    priors.adopt(dear, ledger, "others", ACTOR)
    found.questions += 1
    with suppress(LedgerError):
        run_module.make_release(
            _taps(), COUNTS, epsilon=1, ledger=ledger, dataset=DATASET, prior=[dear], **AS_EVENTS
        )
        found.problems.append("epsilon 100 of the same rows came in through a prior that others had paid for")
    return found


def _paid_by_anybody() -> AbstractContextManager[Any]:
    """A release may be followed that anybody paid for, whoever is in it."""
    honest = priors.is_booked
    return patch.object(
        priors, "is_booked", lambda made, ledger, dataset: honest(made, ledger, _dataset_of(made, ledger))
    )


def _dataset_of(made: Release, ledger: Ledger) -> str:
    line = ledger.committed(made.manifest or "")
    return "" if line is None else line.dataset


def play_backup(folder: Path, bits: Bits) -> Examination:
    """Put the key of a stopped run's noise back after its answers left, and release one row fewer with it."""
    found, ledger, trips = Examination(), _ledger(folder), _taps()
    options: dict[str, Any] = {"epsilon": EPSILON, "ledger": ledger, "dataset": DATASET, **AS_EVENTS}
    with patch.object(TapCounts, "measure", _stopped), suppress(KeyboardInterrupt):
        run_module.make_release(trips, COUNTS, keep=Paid(folder / "a", same_noise=True), **options)
    Paid(folder / "b").noise.write_text(Paid(folder / "a").noise.read_text())
    answers = [
        run_module.make_release(rows, COUNTS, keep=Paid(folder / name, same_noise=True), **options).model
        for name, rows in (("a", trips), ("b", trips.part(0, len(trips) - 1)))
    ]
    found.questions += len(answers)
    differing = int(np.count_nonzero(np.subtract(*(model.counts for model in answers))))  # type: ignore[attr-defined]
    if differing <= 1:
        found.problems.append("two releases with the same noise differ by exactly the row that one has more")
    return found


def _noise_for_any_rows() -> AbstractContextManager[Any]:
    """A key that lies there is used, whatever the rows are."""
    return patch.object(paid, "_digest_rows", lambda rows: "rows")


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
    """Take what waits as it lies there, and commit a line with whatever a datasheet says."""
    with (
        patch.object(paid, "require_seal", lambda folder: None),
        patch.object(Terms, "differing", lambda self, line: None),
    ):
        yield


def play_officer(folder: Path, bits: Bits) -> Examination:
    """Raise a policy, make a dataset and wave people through, in a ledger whose officer is somebody else."""
    found, ledger = Examination(), _ledger(folder)
    ledger.take_in(DATASET, _taps(), actor=ACTOR)
    with patch.dict("os.environ", {"WAYVEIL_HOME": str(folder / "officer")}):
        appoint_officer(ledger, "me", "officer")
    richer = Policy(10**6, unit="event")
    tries: dict[str, Callable[[], object]] = {
        "a policy was raised": lambda: ledger.set_policy(DATASET, richer, actor=ACTOR),
        "a dataset was made": lambda: ledger.set_policy("another", richer, actor=ACTOR),
        "known people passed as new": lambda: ledger.take_in("b", _taps(), actor=ACTOR, new_people=True),
        "the officer was dismissed": lambda: ledger.appoint(None, ACTOR),
        "a dataset without a policy was spent on": lambda: ledger.reserve(
            "c", 1, actor=ACTOR, mechanism="none", unit=Event()
        ),
    }
    with patch.dict("os.environ", {"WAYVEIL_HOME": str(folder / "analyst")}):
        for what, attempt in tries.items():
            found.questions += 1
            with suppress(LedgerError):
                attempt()
                found.problems.append(f"{what} without the officer")
    return found


def _nobody_signs() -> AbstractContextManager[Any]:
    """The officer is named, and nobody asks for her signature."""
    return patch.object(Roles, "needs_signature", lambda self, line: False)


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
    LedgerGame("a prior that others paid for", play_adopted),
    LedgerGame("the noise of a stopped run put back", play_backup),
    LedgerGame("the same rows as those of other days", play_days),
    LedgerGame("the same people in disguise", play_disguises),
    LedgerGame("the same points on another grid", play_grids),
    LedgerGame("a datasheet edited before it is signed", play_edits),
    LedgerGame("policies that the officer did not sign", play_officer),
)
BROKEN_GAMES = (
    LedgerGame("training charged as if it covered all trips", play_conversions, trained_like_counts),
    LedgerGame("a swap of trips charged like one trip", play_conversions, one_trip_covers_two),
    LedgerGame("priors that are free whoever paid", play_priors, _prior_for_nothing),
    LedgerGame("priors that anybody may have paid for", play_adopted, _paid_by_anybody),
    LedgerGame("noise for whatever rows come", play_backup, _noise_for_any_rows),
    LedgerGame("days that are believed", play_days, _days_believed),
    LedgerGame("people known by what stands there", play_disguises, _plain_eyes),
    LedgerGame("points known by their cells", play_grids, _known_by_cells),
    LedgerGame("what waits taken as it lies there", play_edits, _unsealed),
    LedgerGame("an officer whom nobody asks", play_officer, _nobody_signs),
)


def play_game(name: str, bits: Bits) -> Examination:
    """Play one game by its name, in a folder of its own."""
    game = next(each for each in (*GAMES, *BROKEN_GAMES) if each.name == name)
    with TemporaryDirectory(prefix="wayveil-audit-") as folder, game.broken():
        return game.play(Path(folder), bits)
