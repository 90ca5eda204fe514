"""`ReleasedTrips`: private trips, the model behind them and their datasheet, before anybody judged them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from wayveil.errors import RefusedError
from wayveil.progress import step
from wayveil.released.datasheet import DRAWN, Datasheet
from wayveil.synthesis import drawing as limits
from wayveil.synthesis.drawing import Drawing
from wayveil.synthesis.model import DrawsMore, Model
from wayveil.trips.history import NOT_PRIVATE, SIMULATED, History
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Reservation

# Whoever asks again gets the same numbers.
SEED = 0


@dataclass(frozen=True, eq=False)
class ReleasedTrips:
    """Private trips, the private model behind them, and the datasheet. All of it may be published.

    Of a release with millions of trips they are not in memory: `drawing` makes them while it is saved. Where another
    number of trips was written than the model stands for, numbers are counted in those of `whole`. `reservation` is
    what a ledger holds for it until it is saved; `manifest` the hash of the manifest of the folder that it comes from;
    `plan` the plan that it followed, as text.
    """

    trips: Trips
    model: Model
    datasheet: Datasheet
    reservation: "Reservation | None" = None
    drawing: Drawing | None = None
    each_stands_for: float = 1.0
    manifest: str | None = None
    plan: str | None = None

    @property
    def world(self) -> World:
        """The public world of the released trips."""
        return self.trips.world

    @property
    def released_trips(self) -> int:
        """Number of private trips, also of those that are drawn only when it is saved."""
        return len(self.trips) if self.drawing is None else self.drawing.count

    @property
    def visits_are_taps(self) -> bool:
        """Tell that every visit boards, as a tap does; else only the first of a trip."""
        return bool(self.datasheet["visits"] == "taps")

    @cached_property
    def whole(self) -> Self:
        """The release with all trips that its numbers are about, also where its folder holds another number of them.

        Numbers that people read off a release are about all trips that were counted, whatever part of them was written
        (`--trips-out`). The model draws the others again, always the same ones: this is post-processing and costs
        nothing. Of very many trips no more than `synthesis.drawing.AT_ONCE` are drawn; each then stands for several.
        """
        if DRAWN not in self.datasheet:
            return self
        model, count = self.model, float(getattr(self.model, "trips", 0.0))
        with step("drawing the trips that the model stands for"):
            if isinstance(model, DrawsMore) and count > limits.AT_ONCE:
                trips, each = model.draw(limits.AT_ONCE, SEED), count / limits.AT_ONCE
            else:
                trips, each = model.generate(SEED), 1.0
        trips = replace(trips, history=self.trips.history)
        datasheet = Datasheet({name: value for name, value in self.datasheet.items() if name != DRAWN})
        return replace(self, trips=trips, datasheet=datasheet, drawing=None, each_stands_for=each)

    def require_single(self, what: str) -> Self:
        """Refuse where each trip stands for several: what is made of single trips would be wrong."""
        if self.each_stands_for != 1:
            raise RefusedError(
                f"{what} would show {len(self.trips):,} trips, each of which stands for about "
                f"{self.each_stands_for:,.0f}; `wayveil ask` answers for all of them"
            )
        return self


def history_of_release(datasheet: Datasheet) -> History:
    """Mark private trips: they are nobody's rows any more; that they are simulated or not private stays with them."""
    marks = frozenset(datasheet["source"]) & {SIMULATED}
    return History(marks=marks if datasheet["private"] else marks | {NOT_PRIVATE})
