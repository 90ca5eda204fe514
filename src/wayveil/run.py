"""`release`: the one way from raw rows to something that may leave the building."""

import getpass
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wayveil.counting.counter import TRAINED
from wayveil.counting.engines import Engine, engine_for, read_files
from wayveil.counting.steps import Steps
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.accounting import require_accounting
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget, Rational, exact, release_epsilon
from wayveil.privacy.gate import MEMORY_LIMIT, Gate
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.fingerprint import Fingerprint
from wayveil.privacy.ledger.terms import asked
from wayveil.privacy.training import check_trainable
from wayveil.privacy.units import Unit
from wayveil.privacy.zcdp import rho_for
from wayveil.progress import step
from wayveil.released.datasheet import (
    NO_LEDGER,
    declare_drawn,
    declare_marks,
    declare_rows,
    disclaim,
    make_datasheet,
    public_files,
    public_worlds,
)
from wayveil.releases.accounts import held, opened_ledger
from wayveil.releases.choices import choose_mechanism, choose_unit
from wayveil.releases.priors import declare_priors, read_priors, unsound_priors
from wayveil.synthesis.drawing import Wanted, draw
from wayveil.synthesis.model import OfTaps
from wayveil.trips.files import TripFiles
from wayveil.trips.history import History
from wayveil.trips.legality import LegalityRule
from wayveil.trips.legs import VisitKind, Ways, counted_world, default_ways, require_words
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Ledger
    from wayveil.releases.paid import Paid

from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.privacy.ledger import Ledger, open_ledger
from wayveil.released.released_trips import history_of_release
from wayveil.releases.accounts import UnknownDatasetError, open_account, require_policy
from wayveil.releases.release import Release

DEFAULT_DELTA = Fraction(1, 1_000_000)
# Where the command line books as well: WAYVEIL_HOME, a folder .wayveil here or above, or ~/.wayveil.
DEFAULT_LEDGER = "default"


def release(
    trips: Trips | TripFiles,
    mechanism: Mechanism | str | None = None,
    *,
    epsilon: Rational,
    unit: Unit | str | None = None,
    ledger: Ledger | str | Path | None = DEFAULT_LEDGER,
    dataset: str = "trips",
    policy_epsilon: str | int | float | None = None,
    **options: Any,
) -> Release:
    """Release trips under differential privacy; `options` are those of `make_release`.

    It is booked in the default ledger, in another one (or its place), or, with `ledger=None`, in none: the datasheet
    then says so. A dataset that the ledger does not know yet needs a policy, what may be spent on it in all:
    `policy_epsilon`. Seeded noise (`bits`) protects nobody and is booked only where a ledger is named.
    """
    unit = choose_unit(unit, trips)
    mechanism = find_mechanism(mechanism)() if isinstance(mechanism, str) else mechanism
    if ledger == DEFAULT_LEDGER:
        ledger = None if options.get("bits") is not None else open_account(None)
    elif isinstance(ledger, str | Path):
        ledger = open_ledger(ledger)
    if ledger is not None:
        rows = None if options.get("new_people") else options.get("rows")
        if rows is None and isinstance(trips, Trips) and not options.get("new_people"):
            rows = trips  # what is in files is known, and held against the ledger, once they are read
        said = None if policy_epsilon is None else str(policy_epsilon)
        actor = options.get("actor") or getpass.getuser()
        try:
            require_policy(ledger, dataset, unit, actor=actor, rows=rows, policy_epsilon=said)
        except UnknownDatasetError as error:
            raise UnknownDatasetError(
                f"{error}. In Python: policy_epsilon=10, or ledger=None for none"
            ) from None
    elif policy_epsilon is not None:
        raise ParameterError("policy_epsilon sets a policy in a ledger, and there is none")
    return make_release(
        trips, mechanism, epsilon=epsilon, unit=unit, ledger=ledger, dataset=dataset, **options
    )


def make_release(
    trips: Trips | TripFiles,
    mechanism: Mechanism | str | None = None,
    *,
    epsilon: Rational,
    delta: Rational | None = None,
    currency: Literal["epsilon", "rho"] = "epsilon",
    unit: Unit | str | None = None,
    rule: LegalityRule | None = None,
    ledger: "Ledger | str | Path | None" = None,
    dataset: str = "trips",
    rows: Trips | Fingerprint | None = None,
    new_people: bool = False,
    memory: int = MEMORY_LIMIT,
    actor: str | None = None,
    curator: str = "",
    purpose: str = "",
    tuned_on_data: bool = False,
    visits: VisitKind | None = None,
    ways: Ways | None = None,
    keep: "Paid | None" = None,
    not_private: str | None = None,
    bits: Bits | None = None,
    seed: int | None = None,
    counter: Engine | str | None = None,
    trips_out: int | None = None,
    prior: Sequence["Release | str | Path"] = (),
    days: Days | None = None,
) -> Release:
    """Release trips under epsilon-differential privacy, or under (epsilon, delta) where the mechanism is trained or the
    budget is counted in rho (zCDP: Gaussian noise, which suits mechanisms with many small counts, such as Weave).
    `delta` is then 1e-6 unless given.

    Mechanism and unit may be given by name. Without a mechanism it is the `default_mechanism` of the world. The unit
    is a rider where the trips have riders, else a trip; where riders have several trips, say how many count. Epsilon
    is from 0.001 to 1000. With a ledger (or the place of one), epsilon is reserved before anything is counted; an
    error before the first noise gives it back, an error after it does not. A mechanism that refuses because of its
    own noisy answers costs what it bought for them; so does one that would need more than `memory` bytes for its
    answers. The ledger knows the people in `rows` (by default the trips) under one name only: under another, they
    must be confirmed to be `new_people`. Trips that are marked as filled, reconstructed or not private are refused,
    unless the caller says in a sentence why the release is `not_private`; like one with seeded noise, it is then
    recorded and in no sum. Simulated trips are released, and the datasheet says what they are. `visits` says what a
    visit is (see `wayveil.trips.legs`): a stop that a trip passes, an end of a leg, a tap; `ways` what stands for the
    way between the ends of a leg. Trips of which nobody says it are calls, and refused where the network lacks many
    of their moves. What was paid for is kept with `keep` before trips are drawn. `bits` is for tests: seeded noise
    makes a release that says it is not private. `seed` only fixes the generation of trips from the private model,
    which is post-processing.

    `counter` is the engine that counts: `memory` (default for trips), `stream` (default for files) or `spark`; all give
    the same release. `trips_out` is how many private trips are drawn (None: as many as the model says there are).

    `prior` are earlier releases of the same kind, or their folders, the oldest first: public, so that following them
    costs nothing. A mechanism that cannot follow releases refuses them.
    `days` are the days of data that the trips are of; rows of other days must have been left out by a rule per row. The
    ledger needs them where its policy is per span of data time.
    """
    epsilon = release_epsilon(epsilon)
    engine = engine_for(trips, counter)
    if isinstance(trips, TripFiles) and engine.name == "memory":
        trips = read_files(trips)
    if isinstance(trips, Trips) and len(trips) == 0:
        raise ParameterError("there are no trips to release")
    if not_private is None:
        trips.history.refuse_unsound()
    unit = choose_unit(unit, trips)
    if isinstance(trips, Trips):
        unit.check(trips)
    steps, mechanism = _steps(trips.world, mechanism, rule, visits, ways)
    world, ways = steps.world(trips.world), steps.ways or ways
    priors = read_priors(prior, trips.world, mechanism, unit)
    if priors:
        mechanism = mechanism.following([each.model for each in priors])
    account = opened_ledger(ledger)
    not_private = not_private or unsound_priors(priors, account, dataset)
    budget = budget_for(mechanism, epsilon, delta, currency)
    if mechanism.trained:
        check_trainable(unit.after(trips.history.stability))
        if engine.name != "memory":
            raise ParameterError(f"{mechanism.name}: {TRAINED}. Nothing was spent")
    prints = None
    if isinstance(trips, TripFiles) and account is not None:
        prints = account.fingerprinter(trips.world)
    actor = getpass.getuser() if actor is None else actor
    again = False
    if keep is not None and keep.same_noise and bits is None:
        earlier = [each.as_public_input() for each in priors]
        bits, again = keep.bits(mechanism, world, budget, unit, earlier)
    gate = Gate(unit, budget, bits, memory=memory)
    with ExitStack() as reading:
        read = reading.enter_context(engine.open(trips, steps, gate, prints))
        if rows is None:
            rows = trips if isinstance(trips, Trips) else read.content
        with held(
            account,
            dataset,
            epsilon,
            delta=budget.delta,
            rho=budget.total if budget.currency == "rho" else None,
            unit=unit,
            rows=rows,
            actor=actor,
            mechanism=mechanism.name,
            purpose=_purpose(purpose, trips.history),
            private=not_private is None and world.public and (bits is None or bits.private),
            new_people=new_people,
            days=days,
            asked=asked(mechanism.describe()["parameters"], world.fingerprint()),
            same_noise=keep is not None and keep.same_noise,
            again=again,
        ) as hold:
            if hold is not None:
                gate.before_first_answer = hold.start
                hold.budget = gate.budget
            model = mechanism.measure(read.counter(), gate)
            wanted = Wanted(trips_out, in_memory=isinstance(trips, Trips))
            reading.close()  # no raw row is left when trips are drawn
            datasheet = make_datasheet(
                name=dataset,
                curator=curator,
                mechanism=mechanism,
                gate=gate,
                world=world,
                released_over=world,
                visits="taps" if isinstance(model, OfTaps) else visits or "calls",
                rule=steps.rule,
                purpose=purpose,
                tuned_on_data=tuned_on_data,
                ledger=None if hold is None else hold.describe(),
                claim=None if budget.currency == "epsilon" else epsilon,
            )
            datasheet = declare_marks(datasheet, trips.history)
            datasheet = declare_priors(datasheet, priors)
            datasheet = declare_rows(datasheet, ways or "as-read", said=visits is not None)
            datasheet = declare_drawn(datasheet, wanted.in_part(model))
            if hold is None:
                datasheet["limitations"].append(NO_LEDGER)
            if not_private is not None:
                datasheet = disclaim(datasheet, not_private)
            if keep is not None:
                keep.keep(model, datasheet, None if hold is None else hold.reservation, wanted)
                if hold is not None:
                    hold.kept = True
            with step("writing private trips"):
                private, drawing = draw(model, seed, wanted, history_of_release(datasheet))
            datasheet["public_inputs"] = [
                *public_worlds(private.world, world),
                *public_files(mechanism),
                *(each.as_public_input() for each in priors),
            ]
    reservation = None if hold is None else hold.reservation
    return Release(private, model, datasheet, reservation, drawing=drawing)


def _steps(
    world: World,
    mechanism: Mechanism | str | None,
    rule: LegalityRule | None,
    visits: VisitKind | None,
    ways: Ways | None,
) -> tuple[Steps, Mechanism]:
    """What trips go through before they are counted, and the mechanism that counts them then.

    A rule that the caller gives stands for everything that is done to trips; ways are then not looked for.
    """
    if rule is not None:
        return Steps(rule), choose_mechanism(mechanism, world)
    if visits is None:
        chosen = choose_mechanism(mechanism, world)
        own = chosen.rule(world)
        return Steps(own, must_fit=own.impossible not in ("keep", "route")), chosen
    require_words(visits, ways)
    ways = default_ways(visits, world) if ways is None else ways
    counted_over = counted_world(world, visits, ways)
    chosen = choose_mechanism(mechanism, counted_over)
    return Steps(chosen.rule(counted_over), visits, ways), chosen


def budget_for(mechanism: Mechanism, epsilon: Fraction, delta: Rational | None, currency: str) -> Budget:
    """What a release may spend: pure epsilon; rho for (epsilon, delta); or epsilon with a delta, for training."""
    if currency not in ("epsilon", "rho"):
        raise ParameterError(f"a release is counted in epsilon or rho, not in {currency!r}")
    if currency == "epsilon" and not mechanism.trained:
        if delta is not None:
            raise ParameterError(
                f"{mechanism.name} satisfies pure epsilon and needs no delta; leave it out, or count in rho"
            )
        return Budget(epsilon)
    if currency == "rho" and mechanism.trained:
        raise ParameterError(f"{mechanism.name} is trained and counted in epsilon and delta, not in rho")
    chance = DEFAULT_DELTA if delta is None else exact(delta, "delta")
    if currency == "rho":
        return Budget(rho_for(epsilon, chance), currency="rho", delta=chance)
    require_accounting()
    return Budget(epsilon, delta=chance)


def _purpose(purpose: str, history: History) -> str:
    """The purpose with the marks of the data, so that the ledger's page shows them."""
    return " ".join([*([purpose] if purpose else []), *(f"[{mark}]" for mark in history.words)])
