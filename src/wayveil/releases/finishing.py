"""From a measured model to a release: post-processing, which needs no raw rows and spends nothing."""

from wayveil.accuracy.replicas import mechanism_of
from wayveil.counting.local import LocalCounter
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Reservation
from wayveil.privacy.units import Trip
from wayveil.progress import step
from wayveil.released.datasheet import Datasheet
from wayveil.released.released_trips import history_of_release
from wayveil.releases.price import Price
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.synthesis.drawing import Wanted, draw
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips

REWRITTEN = "rewritten_by"


def draw_release(
    model: Model,
    datasheet: Datasheet,
    wanted: Wanted,
    reservation: Reservation | None = None,
    seed: int | None = None,
) -> Release:
    """Draw the private trips of a model that was paid for."""
    with step("writing private trips"):
        trips, drawing = draw(model, seed, wanted, history_of_release(datasheet))
        if REWRITTEN in datasheet:
            trips = _rewritten(trips, datasheet, seed)
    return Release(trips, model, datasheet, reservation, drawing=drawing)


def _rewritten(trips: Trips, datasheet: Datasheet, seed: int | None) -> Trips:
    """Take private trips once more through a mechanism. They are private already, so its noise buys nothing."""
    mechanism = mechanism_of(Datasheet(mechanism=datasheet[REWRITTEN]))
    gate = Gate(Trip(), Price.of(datasheet["guarantee"]["epsilon"]).budget(mechanism))
    again = mechanism.measure(LocalCounter(gate.bound(trips, ANY_MOVE)), gate)
    return again.generate(seed)
