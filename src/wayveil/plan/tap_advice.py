"""What `check` advises for taps: what each unit would keep and cost, and keys of a plan.

Exact facts about the raw taps, for the data holder's eyes only.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from wayveil.mechanisms.mechanism import DEFAULT_PARTS
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.plan.outlook import Forecast
from wayveil.plan.tap_units import advise_units, say_unit
from wayveil.plan.telling import BOUNDS_HEADER, HEADER, Bound, Told, plan_riders, say_remedies, tell_answers
from wayveil.privacy.units import Event, Rider
from wayveil.simulate.crowd import Crowd
from wayveil.taps.taps import Taps
from wayveil.trips.legs import VisitKind
from wayveil.world.network import Network
from wayveil.world.timebins import DAY

# How taps are counted where nobody names a mechanism.
COUNTED = TapCounts(max_visits=1).serving(DEFAULT_PARTS)
# A time of day without a date is read as one of the first of January 1970.
UNDATED = 2 * DAY


@dataclass
class TapAdvice:
    """What a file of taps seems to be and why, and the keys of a plan that suit it."""

    way: str
    why: str
    bounds: list[Bound] = field(default_factory=list)
    max_taps: int | None = None
    notes: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    rows: VisitKind = "taps"
    told: list[Told] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Say it in sentences and a small table."""
        found = [f"seems to be taps: {self.why}"]
        if self.bounds:
            found.append(BOUNDS_HEADER)
            found += [row.words(chosen=row.most == self.max_taps) for row in self.bounds]
        found += [HEADER, *(each.words for each in self.told)] if self.told else []
        return [*found, *(f"note: {note}" for note in self.notes)]

    def facts(self) -> dict[str, Any]:
        """Give it to machines."""
        return {
            "seems": "taps",
            "way": self.way,
            "bounds": [vars(row) for row in self.bounds],
            "max_taps": self.max_taps,
            "answers": [vars(each) for each in self.told],
        }


def advise_taps(taps: Taps, epsilon: float) -> TapAdvice:
    """Look at clean taps, and advise how to release them: for people where there are cards, else for single taps."""
    routes = taps.route is not None and isinstance(taps.world, Network) and bool((taps.route >= 0).any())
    dated = len(taps) > 0 and int(taps.time.min()) >= UNDATED
    advice = TapAdvice("counts", "every row has a time and a place, and none says which trip it belongs to")
    if routes and dated:
        advice.notes.append(
            "taps have routes: if boardings per route are needed, add --way counts-first, --days and --need "
            '"boardings per route and hour, within 15 %"; they cost epsilon that stops and hours would have'
        )
    singles = taps.as_single_visits()
    told = Forecast(
        taps.world,
        Crowd(replace(singles, rider=None, rider_ids=None), len(taps)),
        COUNTED,
        Event(),
    )
    if taps.card is None or not bool((taps.card >= 0).any()):
        advice.notes.append("no column has cards: single taps are protected, not the people behind them")
    else:
        told = _plan_cards(advice, taps, told, epsilon)
    advice.told = tell_answers(told, epsilon)
    advice.notes += say_remedies(told, epsilon)
    if advice.values:
        advice.values["tuned_on_data"] = True
        advice.notes.append(
            "bounds were chosen by looking at the raw taps; --tuned-on-data says so on the datasheet. What was known "
            "before needs no such word"
        )
    return advice


def _plan_cards(advice: TapAdvice, taps: Taps, told: Forecast, epsilon: float) -> Forecast:
    """Choose the bound with which boardings of busy stops are least off; gives the forecast with it."""
    assert taps.card is not None
    known = taps.card >= 0
    singles = taps.as_single_visits()
    crowd = Crowd(singles if known.all() else singles.take(known), int(known.sum()))
    told, advice.bounds, values = plan_riders(told, crowd, epsilon)
    if "max_trips" in values:
        values["max_taps"] = values.pop("max_trips")
    advice.values |= {"unit": "rider", **values}
    assert isinstance(told.unit, Rider)
    advice.max_taps = told.unit.max_trips
    advice.notes += say_unit(advise_units(taps, epsilon), taps)[:2]
    without = int((~known).sum())
    if without:
        advice.values["no_rider"] = "drop"
        advice.notes.append(f"{without:,} taps have no card; the command leaves them out")
    return told
