"""`release`: the one way from raw trips to something that may leave the building."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError, RefusedError, plain
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.weave import Weave, fits
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget, Rational, exact
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip, Unit
from wayveil.progress import step
from wayveil.releases.answers import SEATS, Answer, answer_question
from wayveil.releases.datasheet import Datasheet, VisitKind, make_datasheet
from wayveil.showing import draw_map, show
from wayveil.synthesis.estimates import Ends, Estimate, Question, Visits, count_runs, count_visits
from wayveil.synthesis.model import Estimates, ExpectedError, ExpectsErrors, Model, OfTaps
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Ledger, Reservation

# There and back: what most people do on a day. Only used when the caller names no bound.
DEFAULT_TRIPS_PER_RIDER = 2


@dataclass(frozen=True, eq=False)
class Release:
    """Private trips, the private model behind them, and the datasheet. All of it may be published."""

    trips: Trips
    model: Model
    datasheet: Datasheet
    reservation: "Reservation | None" = None
    known_errors: tuple[ExpectedError, ...] | None = None

    @property
    def world(self) -> World:
        """The public world of the released trips."""
        return self.trips.world

    @property
    def visits_are_taps(self) -> bool:
        """Whether every visit boards, as a tap does; else only the first of a trip."""
        return bool(self.datasheet["visits"] == "taps")

    @cached_property
    def expected(self) -> tuple[ExpectedError, ...] | None:
        """How far off each kind of question is expected to be; None if the model cannot tell. Kept when saved."""
        if self.known_errors is not None:
            return self.known_errors
        if not isinstance(self.model, ExpectsErrors) or len(self.trips) == 0:
            return None
        with step("finding how far off to expect it"):
            return tuple(self.model.expected_errors(self.trips))

    def estimate(self, question: Question) -> Estimate | None:
        """A number with its bars, as far as the model or the trips tell; None if they do not."""
        found = self.model.estimate(question, self.trips) if isinstance(self.model, Estimates) else None
        if found is not None:
            return found
        if isinstance(question, Ends):
            return None
        values = (
            count_visits(question, self.trips)
            if isinstance(question, Visits)
            else count_runs(question, self.trips)
        )
        return None if values is None else Estimate(values, None)

    def ask(self, question: str, *, top: int = 20, seats: int = SEATS) -> Answer:
        """Answer one of an agency's questions (see `wayveil.releases.answers`); costs nothing."""
        return answer_question(self, question, top=top, seats=seats)

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        from wayveil.releases.store import save_release

        return save_release(self, Path(folder), key)

    @classmethod
    def load(cls, folder: str | Path, world: World, *, trust: str | None = None) -> "Release":
        """A saved release, whole, after its signature, its files and its world were checked.

        The signer must be known: oneself, a key pinned before, or the one whose fingerprint `trust` is.
        """
        from wayveil.releases.store import load_parts

        trips, model, datasheet, expected = load_parts(Path(folder), world, trust)
        return cls(trips, model, datasheet, known_errors=expected)

    def map(self) -> Any:
        """The flows of the release on its network, as a picture that notebooks show and `save` writes."""
        return draw_map(self)

    def __repr__(self) -> str:
        return f"<Release of {len(self.trips):,} trips: {self.datasheet['guarantee']['sentence']}>"

    def _repr_html_(self) -> str:
        return show(self)


def default_mechanism(world: World) -> Mechanism:
    """Weave, as docs/results.md shows it ahead of the others; for lists too long for it, the noisy prefix tree."""
    return Weave() if fits(world) else NoisyPrefixTree()


def release(
    trips: Trips,
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
    visits: VisitKind = "calls",
    bits: Bits | None = None,
    seed: int | None = None,
) -> Release:
    """Release trips under epsilon-differential privacy.

    Without a mechanism it is the `default_mechanism` of the world. The unit is a rider where the trips have riders,
    else a trip. With a ledger, epsilon is reserved before anything is counted; an error before the first noise gives
    it back, an error after it does not. A mechanism that refuses because of its own noisy answers costs what it bought
    for them. `visits` says what a visit is: a stop that a trip calls at, or a tap. `bits` is for tests: seeded noise
    makes a release that says it is not private. `seed` only fixes the generation of trips from the private model, which
    is post-processing.
    """
    epsilon = exact(epsilon)
    mechanism = default_mechanism(trips.world) if mechanism is None else mechanism
    unit = default_unit(trips) if unit is None else unit
    rule = mechanism.rule(trips.world) if rule is None else rule
    if len(trips) == 0:
        raise ParameterError("there are no trips to release")
    actor = getpass.getuser() if actor is None else actor
    with _held(ledger, dataset, epsilon, actor, mechanism, purpose) as hold:
        gate = Gate(unit, Budget(epsilon), bits, before_first_answer=None if hold is None else hold.start)
        if hold is not None:
            hold.budget = gate.budget
        with step("cutting trips to their bounds"):
            counter = LocalCounter(gate.bound(rule.apply(trips)))
        model = mechanism.measure(counter, gate)
        with step("writing private trips"):
            private = model.generate(seed)
        datasheet = make_datasheet(
            name=dataset,
            curator=curator,
            mechanism=mechanism,
            gate=gate,
            world=trips.world,
            released_over=private.world,
            visits="taps" if isinstance(model, OfTaps) else visits,
            rule=rule,
            tuned_on_data=tuned_on_data,
            ledger=None if hold is None else hold.describe(),
        )
    return Release(private, model, datasheet, None if hold is None else hold.reservation)


def default_unit(trips: Trips) -> Unit:
    """A rider where the data knows riders, else a trip."""
    return Trip() if trips.rider is None else Rider(max_trips=DEFAULT_TRIPS_PER_RIDER)


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
