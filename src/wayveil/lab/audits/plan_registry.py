"""Which audits each mechanism must pass. A mechanism without a plan fails the tests.

The plans of our mechanisms are the `PLANS` of the modules in `wayveil.lab.audits.plans`; that of a mechanism outside
this package is the `PLAN` in the module of its class, or in the one that its `plan` names. Nothing else has to be told
of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from wayveil.errors import ParameterError
from wayveil.lab.audits import plans
from wayveil.lab.audits.mutants import EVERYWHERE, WITH_QUESTIONS, Mutation
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import CanaryPair, canary_pairs, plain_world, small_network
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import homes
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.world.world import World

UNITS: tuple[Unit, ...] = (
    Trip(),
    Rider(max_trips=2, without_id="own"),
    Rider(max_trips=1, without_id="drop"),
    Rider(max_trips=2, without_id="own", bounding="weights"),
    RiderDay(max_trips=2, without_id="own"),
    RiderDay(max_trips=1, without_id="drop", bounding="weights", most_rows=4),
    Event(),
    Points(length=3),
    Window(seconds=3600, max_visits=2, without_id="own"),
)


@dataclass(frozen=True)
class AuditPlan:
    """Plan of attack on one mechanism.

    mechanism   small parameters, so that a run on a tiny world takes a millisecond; used by every audit
    also        other settings that take other ways through the code; used by the grey box
    on_networks the same, for settings that need a world in which only some moves are possible
    epsilon     audits have most power where each question gets about one unit of epsilon, not a tenth
    whole       epsilon of the attacks on a release as a whole (black box, one run): a claim
                beyond their reach would make an audit that cannot fail. None: `epsilon`
    worlds      tiny worlds that it can work on; the last one is where the distinguishing game is played
    units       units that it supports; weighed ones are left out where it cannot weigh
    unfit       the other units that the command line offers, each with the words in which `release` refuses it
    currencies  budgets that it can be run on; the grey box looks at all of them
    canaries    names and trips of canaries beside those that every mechanism meets
    mutations   mistakes that could be made in it
    busy        trips on the busiest path of a tiny world, and in each quarter of a town: far above the threshold
    town        quarters for canaries in one run are a network; False where the mechanism has no use for one
    lawful      quarters of the town whose noise is tested; fewer where a histogram grows with their square
    largest     quarters of a town at most; fewer for a mechanism whose memory grows with the square of the stops
    delta       of a mechanism that is trained; the grey box looks at its steps and their noise, one run at canaries
                with weights of their own (`training_canaries`); the other audits need laws of counts and leave it out
    """

    mechanism: Mechanism
    also: tuple[Mechanism, ...] = ()
    on_networks: tuple[Mechanism, ...] = ()
    epsilon: Fraction = Fraction(1)
    whole: Fraction | None = None
    worlds: tuple[Callable[[], World], ...] = (plain_world, small_network)
    units: tuple[Unit, ...] = UNITS
    unfit: tuple[tuple[str, str], ...] = ()
    currencies: tuple[str, ...] = ("epsilon",)
    canaries: tuple[tuple[str, tuple[int, ...]], ...] = ()
    mutations: tuple[Mutation, ...] = EVERYWHERE + WITH_QUESTIONS
    busy: int = 12
    busy_in_town: int = 60
    town: bool = True
    lawful: int = 150
    largest: int = 8_000
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.mechanism.weighs:
            object.__setattr__(self, "units", tuple(unit for unit in self.units if not unit.weighs))

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def pairs(self) -> tuple[CanaryPair, ...]:
        """The canary pairs of the game."""
        return canary_pairs(self.worlds[-1](), self.busy, more=self.canaries)

    @property
    def trained(self) -> bool:
        return self.delta is not None

    @property
    def claim_as_a_whole(self) -> Fraction:
        return self.epsilon if self.whole is None else self.whole

    def subject(
        self, unit: Unit, variant: str | None = None, *, whole: bool = False, currency: str = "epsilon"
    ) -> Subject:
        """The mechanism as built, or with one of its mutations; `whole` for attacks on all of a release at once."""
        epsilon = self.claim_as_a_whole if whole else self.epsilon
        sound = Subject(self.mechanism, unit, epsilon, currency=currency, delta=self.delta)
        return sound if variant is None else self.mutation(variant).of(sound)

    def mutation(self, name: str) -> Mutation:
        return next(mutation for mutation in self.mutations if mutation.name == name)


def audit_plans() -> dict[str, AuditPlan]:
    """Every plan by the name of its mechanism."""
    return {name: audit_plan(name) for name in sorted(set(homes()) - without_audit())}


def audit_plan(name: str) -> AuditPlan:
    """The plan of a mechanism; an error says which mechanisms there are."""
    if name not in homes():
        known = ", ".join(sorted(homes()))
        raise ParameterError(f"no audit is known for a mechanism called {name!r}; choose one of {known}")
    plan = _find_plan(name)
    if plan is None:
        raise ParameterError(
            f"the mechanism {name!r} has no audit plan: put a PLAN beside it (see docs/audits.md)"
        )
    if plan.name != name:
        raise ParameterError(f"the audit plan of {name!r} is one for {plan.name!r}, not for {name!r}")
    return plan


def without_audit() -> set[str]:
    """Mechanisms that nobody attacks yet. Must be empty."""
    return {name for name in homes() if _find_plan(name) is None}


def _find_plan(name: str) -> AuditPlan | None:
    """Look for the plan among ours; of a mechanism from outside, in its own module or in the one that it names."""
    home = homes()[name]
    if home.ours:
        return _our_plans().get(name)
    kind = home.load()
    return getattr(import_module(kind.plan or kind.__module__), "PLAN", None)


@cache
def _our_plans() -> dict[str, AuditPlan]:
    modules = [import_module(f"{plans.__name__}.{each.name}") for each in iter_modules(plans.__path__)]
    return {plan.name: plan for module in modules for plan in module.PLANS}
