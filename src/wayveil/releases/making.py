"""The one run: count, add noise, keep what was paid for, draw. Every kind of rows, one-off or weekly, goes this way."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from wayveil.counting.counter import TRAINED
from wayveil.counting.engines import Engine, engine_for, read_files
from wayveil.disclosures import MOVING_DAYS
from wayveil.errors import ParameterError
from wayveil.mechanisms.all_rows import measure
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import MEMORY_LIMIT, Gate
from wayveil.privacy.ledger.conversion import asked
from wayveil.privacy.training import check_trainable
from wayveil.privacy.units import Points, Window
from wayveil.privacy.weights import Scaling
from wayveil.released.datasheet_making import Measured, Statement, make_datasheet
from wayveil.released.reached import reached_needs
from wayveil.released.released_trips import DRAWN, NO_LEDGER, Datasheet, say_of_what
from wayveil.releases.hold import Booking, Hold, Price
from wayveil.releases.order import Order
from wayveil.releases.paid import Paid, draw_release
from wayveil.releases.priors import FOLLOWS, Prior, read_priors, unsound_priors
from wayveil.releases.release import Release
from wayveil.synthesis.drawing import Wanted
from wayveil.synthesis.model import Model, OfTaps
from wayveil.trips.history import MARKS, SIMULATED
from wayveil.trips.legs import describe_rows
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips

CANNOT_WEIGH = (
    "{name} cannot count trips by weights, it needs whole ones: omit `bounding`, and trips of a rider are drawn at "
    "random. Nothing was spent"
)


def write_sheet(
    order: Order,
    stated: Statement,
    gate: Gate,
    model: Model,
    hold: Hold,
    priors: Sequence[Prior],
    drawn: int | None,
) -> Datasheet:
    """Write the datasheet; `drawn` is the number of trips where it is not the model's own."""
    measured = Measured(
        order.mechanism,
        gate,
        world=order.world,
        released_over=model.world,
        rule=order.steps.rule,
        visits="taps" if isinstance(model, OfTaps) else order.said or "calls",
        claim=None if gate.budget.currency == "epsilon" else hold.price.epsilon,
        not_private=order.not_private,
    )
    sheet = make_datasheet(
        name=hold.booking.dataset, stated=stated, measured=measured, ledger=hold.describe()
    )
    limits, inputs, history = sheet["limitations"], sheet["public_inputs"], order.rows.history
    sheet["source"] = {mark: MARKS[mark] for mark in history.words}
    if SIMULATED in history.marks and order.not_private is None:
        sheet["guarantee"]["sentence"] += " The trips behind it are simulated: it is about nobody."
    sheet["rows"] = describe_rows(sheet["visits"], order.ways)
    if order.said is None:
        sheet["rows"]["sentence"] += " The data holder did not say so; it was taken for granted."
    if priors:
        inputs += [each.as_public_input() for each in priors]
        limits.append(
            FOLLOWS.format("1 earlier release" if len(priors) == 1 else f"{len(priors)} earlier releases")
        )
    if drawn is not None:
        sheet[DRAWN] = drawn
        limits.append(
            f"{drawn:,} trips were drawn from the model. Answers are about all trips that it stands for, which are "
            "drawn again for them; whoever counts in the file counts these trips only."
        )
    if hold.reservation is None:
        limits.append(NO_LEDGER)
    if order.hidden is not None:
        inputs.append(order.hidden.stops.record())
        limits.append(order.hidden.sentence)
        sheet["sensitive_stops"] = {
            "stops": len(order.hidden.stops.stop),
            "merged": order.hidden.chance is None,
            "chance": order.hidden.chance,
        }
    if order.rewritten is not None:
        sheet["rewritten_by"] = order.rewritten.describe()
    if stated.needs:
        sheet["needs"] = reached_needs(stated.needs, model, Scaling.of(sheet))
    sheet["of_what"] = say_of_what(sheet)
    return sheet


@dataclass(frozen=True, eq=False)
class Means:
    """Means by which a run is carried out; none of it changes what is promised.

    engine     where rows are counted: `memory`, `stream` or `spark`; all give the same release
    memory     bytes that noisy answers may take
    prior      earlier releases of the same kind (or their folders), the oldest first; public, so that they cost nothing
    keep       where the measured model is kept before trips are drawn, so that a stopped run can be finished
    trips_out  how many private trips are drawn; None: as many as the model says there are
    seed       of the generation of trips from the private model, which is post-processing
    bits       for tests: seeded noise makes a release that says it is not private
    """

    engine: Engine | str | None = None
    memory: int = MEMORY_LIMIT
    prior: Sequence[Release | str | Path] = ()
    keep: Paid | None = None
    trips_out: int | None = None
    seed: int | None = None
    bits: Bits | None = None


def carry_out(order: Order, price: Price, booking: Booking, stated: Statement, means: Means) -> Release:
    """Count, add noise and draw: from an order to private trips. Epsilon is reserved before anything is counted.

    An error before the first noise gives it back, an error after it does not. A mechanism that refuses because of its
    own noisy answers costs what it bought for them; so does one that would need more than `means.memory` bytes.
    """
    order, engine = _ready(order, means)
    if booking.days is not None:
        _refuse_moving_days(order)
    priors: tuple[Prior, ...] = ()
    if means.prior:
        priors = read_priors(means.prior, order.rows.world, order.mechanism, order.unit)
        order = _following(order, priors, booking)
    budget = price.budget(order.mechanism)
    bits, again = _noise(means, order, budget, priors)
    marks = [f"[{mark}]" for mark in order.rows.history.words]  # for the ledger's page
    hold = Hold(
        replace(booking, purpose=" ".join([*([stated.purpose] if stated.purpose else []), *marks])),
        price,
        budget,
        order.unit,
        order.mechanism.name,
        asked(order.mechanism.describe()["parameters"], order.world.fingerprint()),
        private=order.not_private is None and order.world.public and (bits is None or bits.private),
        same_noise=means.keep is not None and means.keep.same_noise,
        again=again,
    )
    gate = Gate(order.unit, budget, bits, before_first_answer=hold.start, memory=means.memory)
    wanted = Wanted(means.trips_out, in_memory=isinstance(order.rows, Trips))
    with ExitStack() as reading:
        prints = hold.fingerprinter(order.rows.world) if isinstance(order.rows, TripFiles) else None
        read = reading.enter_context(engine.open(order.rows, order.steps, gate, prints))
        rows = order.known_by or (order.rows if isinstance(order.rows, Trips) else read.content)
        with hold.reserved(rows):
            model = measure(order.mechanism, read.counter(), gate)
            reading.close()  # no raw row is left when trips are drawn
            sheet = write_sheet(order, stated, gate, model, hold, priors, wanted.in_part(model))
            if means.keep is not None:
                means.keep.keep(model, sheet, hold.reservation, wanted)
                hold.kept = True
            return draw_release(model, sheet, wanted, hold.reservation, means.seed)


def _ready(order: Order, means: Means) -> tuple[Order, Engine]:
    """Refuse what cannot be released, and choose the engine; files that are counted in memory are read."""
    engine = engine_for(order.rows, means.engine)
    if isinstance(order.rows, TripFiles) and engine.name == "memory":
        order = replace(order, rows=read_files(order.rows))
    if order.unit.weighs and not order.mechanism.weighs:
        raise ParameterError(CANNOT_WEIGH.format(name=order.mechanism.name))
    order.check()
    if order.mechanism.trained:
        check_trainable(order.unit.after(order.rows.history.stability))
        if engine.name != "memory":
            raise ParameterError(f"{order.mechanism.name}: {TRAINED}. Nothing was spent")
    return order, engine


def _refuse_moving_days(order: Order) -> None:
    """Refuse to protect single visits of trips by their days: one visit more in front moves a trip to another day."""
    several = isinstance(order.rows, TripFiles) or int(order.rows.lengths.max(initial=0)) > 1
    if isinstance(order.unit, Points | Window) and several:
        raise ParameterError(
            f"the unit `{order.unit.name}` protects single visits, and trips of several visits are of the day of the "
            "first: one visit more could move a whole trip to another day. Use the unit trip, rider or rider-day, or "
            "omit the days. Nothing was spent",
            tells=MOVING_DAYS,
        )


def _following(order: Order, priors: Sequence[Prior], booking: Booking) -> Order:
    """Let the mechanism of an order follow earlier releases; it is not private where one of these launders."""
    reason = order.not_private or unsound_priors(priors, booking.ledger, booking.dataset)
    following = order.mechanism.following([each.model for each in priors])
    return replace(order, mechanism=following, not_private=reason)


def _noise(means: Means, order: Order, budget: Budget, priors: Sequence[Prior]) -> tuple[Bits | None, bool]:
    """The noise of this run, and whether an earlier try had begun with it; None: the operating system's."""
    if means.keep is None or not means.keep.same_noise or means.bits is not None:
        return means.bits, False
    earlier = [each.as_public_input() for each in priors]
    return means.keep.bits(order, budget, earlier)
