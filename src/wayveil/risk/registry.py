"""Which audits each mechanism must pass. A mechanism without a plan here fails the tests.

A plan is a module of `wayveil.risk.plans` with a `PLAN` in it; nothing else has to be told of it.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism, mechanisms
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.risk import plans as plan_modules
from wayveil.risk.mutants import EVERYWHERE, WITH_QUESTIONS, Mutation
from wayveil.risk.recording import Subject
from wayveil.risk.tiny_worlds import CanaryPair, canary_pairs, plain_world, small_network
from wayveil.world.world import World

UNITS: tuple[Unit, ...] = (
    Trip(),
    Rider(max_trips=2),
    Rider(max_trips=1, without_id="drop"),
    RiderDay(max_trips=2),
    Event(),
    Points(length=3),
    Window(seconds=3600, max_visits=2),
)


@dataclass(frozen=True)
class AuditPlan:
    """How one mechanism is attacked.

    mechanism   small parameters, so that a run on a tiny world takes a millisecond; used by every audit
    also        other settings that take other ways through the code; used by the grey box
    epsilon     audits have most power where each question gets about one unit of epsilon, not a tenth
    worlds      tiny worlds that it can work on; the last one is where the distinguishing game is played
    units       units that it supports
    currencies  budgets that it can be run on; the grey box looks at all of them
    canaries    names and trips of canaries beside those that every mechanism meets
    mutations   mistakes that could be made in it
    busy        trips on the busiest path of a tiny world, and in each quarter of a town: far above the threshold
    town        quarters for canaries in one run are a network; False where the mechanism has no use for one
    largest     quarters of a town at most; fewer for a mechanism whose memory grows with the square of the stops
    delta       of a mechanism that is trained; the grey box looks at its steps and their noise, the other audits need
                laws of counts and leave it out
    """

    mechanism: Mechanism
    also: tuple[Mechanism, ...] = ()
    epsilon: Fraction = Fraction(1)
    worlds: tuple[Callable[[], World], ...] = (plain_world, small_network)
    units: tuple[Unit, ...] = UNITS
    currencies: tuple[str, ...] = ("epsilon",)
    canaries: tuple[tuple[str, tuple[int, ...]], ...] = ()
    mutations: tuple[Mutation, ...] = EVERYWHERE + WITH_QUESTIONS
    busy: int = 12
    busy_in_town: int = 60
    town: bool = True
    largest: int = 8_000
    delta: Fraction | None = None

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def pairs(self) -> tuple[CanaryPair, ...]:
        """The canary pairs of the game."""
        return canary_pairs(self.worlds[-1](), self.busy, more=self.canaries)

    def subject(self, unit: Unit, variant: str | None = None) -> Subject:
        """The mechanism as built, or with one of its mutations."""
        sound = Subject(self.mechanism, unit, self.epsilon, delta=self.delta)
        return sound if variant is None else self.mutation(variant).of(sound)

    def mutation(self, name: str) -> Mutation:
        return next(mutation for mutation in self.mutations if mutation.name == name)


@cache
def audit_plans() -> dict[str, AuditPlan]:
    """Every plan by the name of its mechanism."""
    found = {}
    for module in pkgutil.iter_modules(plan_modules.__path__):
        plan: AuditPlan = import_module(f"{plan_modules.__name__}.{module.name}").PLAN
        found[plan.name] = plan
    return found


def audit_plan(name: str) -> AuditPlan:
    """The plan of a mechanism; an error says which mechanisms there are."""
    plans = audit_plans()
    if name not in plans:
        known = ", ".join(sorted(plans))
        raise ParameterError(f"there is no audit for a mechanism called {name!r}; there are: {known}")
    return plans[name]


def without_audit() -> set[str]:
    """Mechanisms that nobody attacks yet. Must be empty."""
    return set(mechanisms()) - set(audit_plans())
