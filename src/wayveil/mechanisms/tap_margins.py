"""Tap margins: noisy counts of taps by stop, route and time, from which taps and riders are drawn.

Guarantee
    epsilon-differential privacy for the unit that the release names (pure, no delta).
    Reason: one visit adds one to one cell of each of three histograms over public cells (stop and route; route, day
    and hour; stop and hour of day). A unit of visits (event, points, window) moves a histogram by as many visits as
    it has; a unit of trips by at most `max_visits` per trip, since only the first `max_visits` visits of a trip are
    counted. Each histogram is noised over all its cells and paid with its share of epsilon. Fitting a table to the
    three, drawing taps from it and giving those taps to riders never sees the data.
    Earlier releases that it follows are public: the filter over them is post-processing.
    Attacked by the audits registered for `tap-margins`.

With the unit `event`, somebody who taps k times is protected with k times epsilon.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import ClassVar, Self

from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import HOURS, Mechanism, typical_cells
from wayveil.mechanisms.shared_fields import MaxVisits, Share, visit_contribution
from wayveil.mechanisms.tap_counts import share_out
from wayveil.privacy.gate import Gate
from wayveil.synthesis.model import Model
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.synthesis.tap_model import TapModel
from wayveil.taps.boardings import TapCells
from wayveil.taps.chains import Period
from wayveil.world.network import Network
from wayveil.world.world import World

EPOCH = date(1970, 1, 1)


def require_past(first_day: date, days: int) -> None:
    """Refuse a public period in which no tap can lie: it would be paid for, and be noise alone."""
    if first_day > date.today():
        raise ParameterError(
            f"the public period begins on {first_day}, which is still to come: no tap can lie in it. Nothing was spent"
        )
    if first_day.toordinal() + days <= EPOCH.toordinal():
        raise ParameterError(
            f"the public period ends before 1970, and no tap has a time before: {first_day}, {days} days. Nothing was "
            f"spent"
        )


class TapMargins(Mechanism):
    """Noisy taps by stop and route, by route, day and hour, and by stop and hour of day.

    >>> wv.TapMargins(first_day="2024-12-16", days=7).days
    7
    """

    name: ClassVar[str] = "tap-margins"
    makes: ClassVar[type[Model]] = TapModel
    summary: ClassVar[str] = (
        "noisy numbers of taps by stop, route and time, and riders made from taps drawn from them"
    )
    steps: ClassVar[bool] = False
    follows: ClassVar[bool] = True
    same_as_prior: ClassVar[tuple[str, ...]] = ("max_visits",)

    first_day: date | None = Field(
        None,
        description="First day of the public period; taps outside it are not counted. Needed: a period taken from "
        "the taps would tell when the first and the last one was.",
    )
    days: int | None = Field(None, ge=1, le=400, description="Days of the public period. Needed.")
    max_visits: MaxVisits = None
    shares: tuple[Share, Share, Share] = Field(
        (Fraction(2, 5), Fraction(3, 10), Fraction(3, 10)),
        description="In which proportion epsilon pays for taps by stop and route; by route, day and hour; by stop "
        "and hour.",
    )
    riders: bool = Field(
        True, description="Give the drawn taps to riders, on a network; otherwise each is a trip of its own."
    )
    rules: RiderRules | None = Field(
        None, description="How riders are made of the drawn taps; none: as in the BC Transit study."
    )
    period: Period = Field("day", description="A trip is what a rider taps in a `day`, or in a `week`.")

    def serving(self, parts: Mapping[str, Fraction], districts: str | None = None) -> Self:
        """Share the budget between the three histograms; what nobody needs keeps the least."""
        if "shares" in self.model_fields_set:
            return self

        def sum_of(*questions: str) -> Fraction:
            return sum((parts.get(each, Fraction(0)) for each in questions), Fraction(0))

        wanted = sum_of("boardings", "routes"), sum_of("hours", "route-hours"), sum_of("stop-hours")
        return self.model_copy(update={"shares": share_out(wanted, parts.get("total"))})

    def cells_told(self, world: World) -> Sequence[tuple[float, Fraction]]:
        """Return busy stops, and routes by hour."""
        stops, routes, _ = self.shares
        lines = len(world.route_ids) if isinstance(world, Network) else 1
        return (typical_cells(world.size), Fraction(stops)), (lines * HOURS, Fraction(routes))

    def measure(self, counter: Counter, gate: Gate) -> TapModel:
        """Three histograms of the same visits."""
        if self.first_day is None or self.days is None:
            raise ParameterError(
                "tap-margins needs the public period: first_day and days. Taken from the taps, it would tell when the "
                "first and the last one was"
            )
        require_past(self.first_day, self.days)
        contribution = visit_contribution(self.name, gate.unit, self.max_visits)
        cells = TapCells(counter.world, (self.first_day - EPOCH).days, self.days)
        if self.riders and not isinstance(cells.places, Network):
            raise ParameterError(
                "riders move on a network; open the world from a GTFS feed, or set riders to false for single taps"
            )
        earlier = tuple(
            _require_days(model, cells).as_earlier(cells)
            for model in self._earlier
            if isinstance(model, TapModel)
        )
        noisy = []
        for margin, price in zip(cells.margins(), gate.budget.split(list(self.shares)), strict=True):
            exact = counter.visits(margin, margin.cells, self.max_visits)
            noisy.append(gate.histogram(margin.label, exact, contribution, price))
        return TapModel(
            cells,
            tuple(answer.counts for answer in noisy),
            tuple(answer.question.scale for answer in noisy),
            (self.rules or RiderRules()) if self.riders else None,
            self.period,
            earlier,
            gaussian=gate.budget.currency == "rho",
        )


def _require_days(model: TapModel, cells: TapCells) -> TapModel:
    """Refuse an earlier release over another number of days, or with other days of the week in their places."""
    if model.cells.days != cells.days:
        raise ParameterError(
            f"a prior counted {model.cells.days} days, and this release counts {cells.days}: their days cannot be "
            f"compared. Give releases over periods of the same length. Nothing was spent"
        )
    if cells.days > 1 and (model.cells.first - cells.first) % 7:
        raise ParameterError(
            "a prior begins on another day of the week than this release: their days cannot be compared. "
            "Nothing was spent"
        )
    return model
