"""What `check` advises for taps: what each unit would keep and cost, and keys of a plan.

Exact facts about the raw taps, for the data holder's eyes only.
"""

from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np

from wayveil.mechanisms.mechanism import DEFAULT_PARTS
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.plan.needs import Need
from wayveil.plan.outlook import HEADER, Crowd, Forecast, Told, say_remedies, tell_answers
from wayveil.plan.tap_units import UnitAdvice, advise_units, say_unit
from wayveil.privacy.units import Event, Rider
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
    units: list[UnitAdvice] = field(default_factory=list)
    max_taps: int | None = None
    notes: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    rows: VisitKind = "taps"
    told: list[Told] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Say it in sentences and a small table."""
        found = [f"seems to be taps: {self.why}"]
        if self.units:
            found.append(
                "protects one | taps that count | share kept | noise on a stop (95 %) | epsilon of a frequent person"
            )
            found += [self._row(one) for one in self.units]
        found += [HEADER, *(each.words for each in self.told)] if self.told else []
        return [*found, *(f"note: {note}" for note in self.notes)]

    def _row(self, one: UnitAdvice) -> str:
        bound = "" if one.max_taps is None else f"{one.max_taps}"
        chosen = one.unit == "rider" and one.max_taps == self.max_taps
        noise = f"+-{one.noise * log(20) / float(COUNTED.stops_share):,.0f}"
        row = f"{one.unit:>12} | {bound:>15} | {one.kept:>10.1%} | {noise:>22} | {one.person:,.1f}"
        return row + ("   <- recommended" if chosen else "")

    def facts(self) -> dict[str, Any]:
        """Give it to machines."""
        return {
            "seems": "taps",
            "way": self.way,
            "units": [vars(one) for one in self.units],
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
        Crowd(singles, np.ones(len(taps), np.int64), len(taps)),
        COUNTED,
        Event(),
        None,
        timed=True,
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
    per_card = np.bincount(taps.card[taps.card >= 0])
    told = replace(told, crowd=replace(told.crowd, per_rider=per_card[per_card > 0]))
    advice.units = advise_units(taps, epsilon)
    bounds = [each.max_taps for each in advice.units if each.unit == "rider" and each.max_taps is not None]
    cases = [replace(told, unit=Rider(max_trips=bound), bound=bound) for bound in bounds]
    busiest = [Need(question="boardings", top=50)]
    best = min(range(len(cases)), key=lambda at: cases[at].at(busiest, epsilon)[0].median)
    advice.max_taps = bounds[best]
    advice.values |= {"unit": "rider", "max_taps": advice.max_taps}
    advice.notes += say_unit(advice.units, taps)[:2]
    without = int((taps.card < 0).sum())
    if without:
        advice.values["no_rider"] = "drop"
        advice.notes.append(f"{without:,} taps have no card; the command leaves them out")
    return cases[best]
