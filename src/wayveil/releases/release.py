"""`release`: the one way from raw trips to something that may leave the building."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from wayveil.counting.engines import Engine, engine_for
from wayveil.errors import RefusedError, plain
from wayveil.mechanisms.mechanism import Mechanism, Model
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.weave import Weave, fits
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget, Rational, exact
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip, Unit
from wayveil.progress import step
from wayveil.releases.datasheet import Datasheet, make_datasheet
from wayveil.synthesis.drawing import Drawing, draw_later, draw_trips
from wayveil.trips.files import TripFiles
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Ledger, Reservation

# There and back: what most people do on a day. Only used when the caller names no bound.
DEFAULT_TRIPS_PER_RIDER = 2


@dataclass(frozen=True, eq=False)
class Release:
    """Private trips, the private model behind them, and the datasheet. All of it may be published.

    A release that was loaded from its folder has no model in memory; the table stays in model.parquet. Of one with
    millions of trips they are not in memory either: `drawing` makes them while it is saved.
    """

    trips: Trips
    model: Model | None
    datasheet: Datasheet
    reservation: "Reservation | None" = None
    drawing: Drawing | None = None

    @property
    def released_trips(self) -> int:
        """How many private trips it has, also those that are drawn only when it is saved."""
        return len(self.trips) if self.drawing is None else self.drawing.count

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        from wayveil.releases.store import save_release

        return save_release(self, Path(folder), key)

    @classmethod
    def load(cls, folder: str | Path, world: World) -> "Release":
        """A saved release, read back over the world it was made for."""
        from wayveil.releases.store import load_datasheet, load_release_trips

        return cls(load_release_trips(folder, world), None, load_datasheet(folder))

    def __repr__(self) -> str:
        return f"<Release of {len(self.trips):,} trips: {self.datasheet['guarantee']['sentence']}>"


def default_mechanism(world: World) -> Mechanism:
    """Weave, as docs/results.md shows it ahead of the others; for lists too long for it, the noisy prefix tree."""
    return Weave() if fits(world) else NoisyPrefixTree()


def release(
    trips: Trips | TripFiles,
    mechanism: Mechanism | None = None,
    *,
    epsilon: Rational,
    unit: Unit | None = None,
    rule: LegalityRule | None = None,
    ledger: "Ledger | None" = None,
    dataset: str = "trips",
    actor: str | None = None,
    curator: str = "",
    purpose: str = "",
    tuned_on_data: bool = False,
    bits: Bits | None = None,
    seed: int | None = None,
    counter: Engine | str | None = None,
    trips_out: int | None = None,
) -> Release:
    """Release trips under epsilon-differential privacy.

    Without a mechanism it is the `default_mechanism` of the world. The unit is a rider where the trips have riders,
    else a trip. With a ledger, epsilon is reserved before anything is counted; an error before the first noise gives
    it back, an error after it does not. A mechanism that refuses because of its own noisy answers costs what it bought
    for them. `bits` is for tests: seeded noise makes a release that says it is not private. `seed` only fixes the
    generation of trips from the private model, which is post-processing.

    `counter` is the engine that counts: `memory` (default for trips), `stream` (default for files) or `spark`; all give
    the same release. `trips_out` is how many private trips are drawn (None: as many as the model says there are).
    """
    epsilon = exact(epsilon)
    mechanism = default_mechanism(trips.world) if mechanism is None else mechanism
    unit = default_unit(trips) if unit is None else unit
    rule = mechanism.rule(trips.world) if rule is None else rule
    engine = engine_for(trips, counter)
    actor = getpass.getuser() if actor is None else actor
    with _held(ledger, dataset, epsilon, actor, mechanism, purpose) as hold:
        gate = Gate(unit, Budget(epsilon), bits, before_first_answer=None if hold is None else hold.start)
        if hold is not None:
            hold.budget = gate.budget
        with engine.open(trips, rule, gate) as counted:
            model = mechanism.measure(counted, gate)
        with step("writing private trips"):
            drawing = draw_later(model, seed, trips_out)
            private = draw_trips(model, seed, trips_out if drawing is None else 0)
        datasheet = make_datasheet(
            name=dataset,
            curator=curator,
            mechanism=mechanism,
            gate=gate,
            world=trips.world,
            rule=rule,
            tuned_on_data=tuned_on_data,
            ledger=None if hold is None else hold.describe(),
        )
    return Release(private, model, datasheet, None if hold is None else hold.reservation, drawing)


def default_unit(trips: Trips | TripFiles) -> Unit:
    """A rider where the data knows riders, else a trip."""
    riders = trips.has_riders if isinstance(trips, TripFiles) else trips.rider is not None
    return Trip() if not riders else Rider(max_trips=DEFAULT_TRIPS_PER_RIDER)


class _Hold:
    """Epsilon held in a ledger while a release runs."""

    def __init__(self, reservation: "Reservation") -> None:
        self.reservation = reservation
        self.started = False
        self.budget: Budget | None = None

    def start(self) -> None:
        """Called by the gate right before the first noise. Set first: a start that half failed is not given back."""
        self.started = True
        self.reservation.start()

    def refuse(self) -> None:
        """Book what was bought before the mechanism refused; prices are booked before their noise is drawn."""
        if self.started and self.budget is not None:
            self.reservation.settle(self.budget.spent, "refused by the mechanism after its noisy answers")

    def describe(self) -> dict[str, object]:
        """Where the spend can be found again."""
        return {
            "dataset": self.reservation.dataset,
            "reservation": self.reservation.id,
            "head": str(self.reservation.head),
            "spent_so_far": plain(self.reservation.ledger.spent(self.reservation.dataset)),
        }


@contextmanager
def _held(
    ledger: "Ledger | None", dataset: str, epsilon: Fraction, actor: str, mechanism: Mechanism, purpose: str
) -> Iterator[_Hold | None]:
    """Hold epsilon in the ledger; give it back if the work fails before the first noise, and what was not bought if
    the mechanism refuses.
    """
    if ledger is None:
        yield None
        return
    hold = _Hold(ledger.reserve(dataset, epsilon, actor=actor, mechanism=mechanism.name, purpose=purpose))
    try:
        yield hold
    except BaseException as error:
        if not hold.started:
            hold.reservation.cancel(f"failed before the first noise: {type(error).__name__}")
        elif isinstance(error, RefusedError):
            hold.refuse()
        raise
