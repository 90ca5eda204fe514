"""`Datasheet` and `ReleasedTrips`: what was guaranteed at what price, private trips and the model behind them.

`Datasheet`: what was guaranteed to whom, at what price, from which public inputs.

Its `deployment` part uses the field names of the public registry of differential-privacy deployments (all three
tiers, as they have been called since July 2026); the other parts say what that registry has no field for. Nothing in it
is computed from raw trips. `datasheet_making` writes it.
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import exp, log
from typing import TYPE_CHECKING, Any, Self

from wayveil.errors import RefusedError
from wayveil.progress import step
from wayveil.showing import show
from wayveil.synthesis import drawing as limits
from wayveil.synthesis.drawing import Drawing
from wayveil.synthesis.model import DrawsMore, Model
from wayveil.trips.history import NOT_PRIVATE, SIMULATED, History
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Reservation

NOT_STATED = "not stated"
TUNING = "preprocessing_and_hyperparameter_tuning"
# How many trips were written, where that is not as many as the model stands for.
DRAWN = "drawn_trips"
# The name of an earlier release among the public inputs.
PRIOR = "prior"
NO_LEDGER = "No ledger was kept: nobody adds this release to others of the same people."


def say_factor(epsilon: float) -> str:
    """Say e^epsilon: how many times as likely one unit can make an output.

    >>> say_factor(1), say_factor(8), say_factor(1000)
    ('2.72', '2,981', '10^434')
    """
    if epsilon > log(1e6):
        return f"10^{epsilon / log(10):.0f}"
    return f"{exp(epsilon):.2f}" if epsilon < log(100) else f"{exp(epsilon):,.0f}"


def split_label(label: str) -> tuple[str, int]:
    """Split the label of a spend into its words and the parts of a trip in which counts are kept inside.

    >>> split_label("trips by edge, 1,024 parts each")
    ('trips by edge', 1024)
    """
    found = re.fullmatch(r"(.*), ([\d,]+) parts each", label)
    return (label, 1) if found is None else (found[1], int(found[2].replace(",", "")))


class Datasheet(dict[str, Any]):
    """Plain data with the names of `datasheet_making.make_datasheet`, shown to people by its promise."""

    def __repr__(self) -> str:
        return f"<Datasheet: {self.get('guarantee', {}).get('sentence', 'no guarantee is stated')}>"

    def _repr_html_(self) -> str:
        return show(self)


def followed_by(datasheet: Datasheet) -> set[str]:
    """Hashes of the releases that this one follows."""
    return {str(each["sha256"]) for each in datasheet["public_inputs"] if each["name"] == PRIOR}


_WITHOUT_ID = {
    "drop": "Trips without a rider id are left out.",
    "own": "A trip without a rider id counts as a rider of its own.",
}


def say_of_what(datasheet: Datasheet) -> str:
    """Say of what the numbers of a release are: of all rows, or of those that bounds let count."""
    guarantee: dict[str, Any] = datasheet.get("guarantee") or {}
    if not guarantee:
        return ""
    if datasheet.get("size"):
        return _say_all_rows(datasheet)
    bounds = guarantee.get("bounds") or {}
    most = (
        bounds.get("max_trips")
        if guarantee.get("unit") in ("rider", "rider-day")
        else bounds.get("max_visits")
    )
    visits, single = _stops_of_a_trip(datasheet)
    counted = [] if most is None else [f"at most {int(most):,} of each {guarantee['unit']}, chosen at random"]
    counted += [] if visits is None or single else [f"the first {visits:,} stops of each trip"]
    counted += ["no row without a rider id"] if bounds.get("without_id") == "drop" else []
    if not counted:
        return "These numbers cover all rows that could be read."
    return f"These numbers cover what was counted, not all rows: {', and '.join(counted)}."


def quote_of_what(datasheet: Datasheet) -> str:
    """Say of what a number is in a sentence for a paper: without what weights do, which the datasheet tells."""
    said = say_of_what(datasheet)
    if not datasheet.get("size"):
        return said
    each, unit = datasheet["guarantee"]["bounds"]["most_rows"], datasheet["guarantee"]["unit"]
    return f"{said.partition(':')[0]}, at most {each:,} of each {unit}."


def _say_all_rows(datasheet: Datasheet) -> str:
    """Say that numbers were scaled to all rows, how sure that is, and what riders with many of them do to it."""
    size, bounds = datasheet["size"], datasheet["guarantee"]["bounds"]
    whose, (visits, single) = datasheet["guarantee"]["unit"], _stops_of_a_trip(datasheet)
    left = " with a rider id" if bounds.get("without_id") == "drop" else ""
    first = "" if visits is None or single else f", the first {visits:,} stops of each trip"
    said = (
        f"These numbers cover all rows{left}{first}: every row of a {whose} counts by weight, and the weights stand "
        f"for about {size['rows']:,} rows (+-{size['rows_95']:,}), at most {bounds['most_rows']:,} of each {whose}."
    )
    heavy = size["heaviest"]
    if heavy is None:
        return said
    return (
        f"{said} A {whose} with many rows weighs less: a place used only by those with {heavy['from']:,} to "
        f"{heavy['to']:,} rows shows about {heavy['shown']:.0%} of its rows, and one used only by those with up to "
        f"{bounds['max_trips']:,} shows {float(Fraction(size['rows_per_weight'])):.0%}."
    )


def _stops_of_a_trip(datasheet: Datasheet) -> tuple[int | None, bool]:
    """Return how many stops of a trip count (None: all), and whether every tap is counted by itself."""
    parameters = (datasheet.get("mechanism") or {}).get("parameters") or {}
    visits = parameters.get("height") or parameters.get("max_visits")
    return visits if isinstance(visits, int) else None, visits == 1 and datasheet.get("visits") == "taps"


def say_left_out(datasheet: Datasheet) -> list[str]:
    """One sentence for each bound and rule that the datasheet names."""
    guarantee: dict[str, Any] = datasheet.get("guarantee") or {}
    bounds = guarantee.get("bounds") or {}
    said = []
    visits, single = _stops_of_a_trip(datasheet)
    thing = "tap" if single else "trip"
    if guarantee.get("unit") in ("rider", "rider-day") and "max_trips" in bounds:
        whose = "rider" if guarantee["unit"] == "rider" else "rider and day"
        count = int(bounds["max_trips"])
        counted = f"{count:,} {thing}{'s' * (count != 1)}"
        said.append(
            f"All {thing}s of a {whose} count, together as at most {counted}."
            if bounds.get("bounding") == "weights"
            else f"At most {counted} of a {whose} {'counts' if count == 1 else 'count'}, chosen at random."
        )
    if bounds.get("without_id") in _WITHOUT_ID:
        said.append(
            _WITHOUT_ID[bounds["without_id"]].replace("trip", thing).replace("Trip", thing.capitalize())
        )
    if single:
        said.append("Every tap is counted by itself.")
    elif visits is not None:
        said.append(f"Of each trip, the first {visits:,} stops count.")
    rule = datasheet.get("deployment", {}).get("implementation", {}).get(TUNING, "")
    if rule:
        said.append(rule.partition(". ")[0].rstrip(".") + ".")
    rows = (datasheet.get("rows") or {}).get("sentence")
    return [*said, rows] if rows else said


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
