"""Mechanisms that follow earlier releases, for audits: with releases of invented trips before them, and broken ones.

Earlier releases are public, so both of two neighbours have the same. An audit then sees whether everything else of a
release that follows them still comes through the gate.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from wayveil.counting.counter import Counter
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.mutants import GREY, Mutation, only_in_audits
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import chooser, some_trips
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.synthesis.model import Model
from wayveil.world.world import World

EARLIER = 2


def with_made_up_prior(kind: type[Mechanism]) -> type[Mechanism]:
    """The mechanism after two releases of invented trips, over whatever world it is given."""

    class Following(kind):  # type: ignore[misc, valid-type]
        def measure(self, counter: Counter, gate: Gate) -> Model:
            plain = kind(**dict(self))
            earlier = _made_up(plain, counter.world, gate.budget.currency)
            found: Model = plain.following(earlier).measure(counter, gate)
            return found

    return Following


def trusting_raw_counts(kind: type[Mechanism], trust: Callable[[Model, float], Model]) -> Mutation:
    """A broken variant: how far earlier releases are trusted is learnt from exact counts, not from noisy ones."""

    class TrustFromData(with_made_up_prior(kind)):  # type: ignore[misc]
        def measure(self, counter: Counter, gate: Gate) -> Model:
            only_in_audits(gate)
            return trust(super().measure(counter, gate), float(counter.trips().counts.sum()))

    def make(subject: Subject) -> Subject:
        settings = dict(subject.mechanism) if isinstance(subject.mechanism, kind) else {}
        return replace(subject, mechanism=TrustFromData(**settings))

    return Mutation("trust in earlier releases learnt from raw counts", make, (GREY,))


def _made_up(mechanism: Mechanism, world: World, currency: str) -> tuple[Model, ...]:
    key = mechanism.name, mechanism.model_dump_json(), world.fingerprint(), currency
    if key in _known:
        return _known[key]
    found: list[Model] = []
    choose = chooser(SeededBits("trips of earlier weeks"))
    for week in range(EARLIER):
        gate = Gate(Trip(), Budget(Fraction(100), currency=currency), SeededBits(f"week {week}"))
        following = mechanism.following(found) if found else mechanism
        found.append(following.measure(LocalCounter(gate.bound(some_trips(choose, world, most=40))), gate))
    return _known.setdefault(key, tuple(found))


_known: dict[tuple[str, str, str, str], tuple[Model, ...]] = {}
