"""The datasheet of a run, written once: from what was ordered, what the gate spent, and what the model is."""

from collections.abc import Sequence

from wayveil.privacy.gate import Gate
from wayveil.released.datasheet import NO_LEDGER, Datasheet
from wayveil.released.datasheet_making import (
    Measured,
    Statement,
    declare_drawn,
    declare_marks,
    declare_rows,
    disclaim,
    make_datasheet,
    public_files,
    public_worlds,
)
from wayveil.releases.hidden_stops import declare_hidden
from wayveil.releases.hold import Hold
from wayveil.releases.order import Order
from wayveil.releases.priors import Prior, declare_priors
from wayveil.synthesis.model import Model, OfTaps


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
    )
    sheet = make_datasheet(
        name=hold.booking.dataset, stated=stated, measured=measured, ledger=hold.describe()
    )
    sheet = declare_marks(sheet, order.rows.history)
    sheet = declare_priors(sheet, priors)
    sheet = declare_rows(sheet, order.ways, said=order.said is not None)
    sheet = declare_drawn(sheet, drawn)
    if hold.reservation is None:
        sheet["limitations"].append(NO_LEDGER)
    if order.not_private is not None:
        sheet = disclaim(sheet, order.not_private)
    sheet["public_inputs"] = [
        *public_worlds(model.world, order.world),
        *public_files(order.mechanism),
        *(each.as_public_input() for each in priors),
    ]
    if order.hidden is not None:
        sheet = declare_hidden(sheet, order.hidden)
    if order.rewritten is not None:
        sheet["rewritten_by"] = order.rewritten.describe()
    return sheet
