"""What `check` advises for taps: what each unit would keep and cost, and keys of a plan.

Exact facts about the raw taps, for the data holder's eyes only.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.plan.tap_units import UnitAdvice, advise_units, enough_taps, say_unit
from wayveil.taps.taps import Taps
from wayveil.trips.legs import VisitKind
from wayveil.world.network import Network
from wayveil.world.timebins import DAY

# From this share of a number on, noise on it leaves nothing that silence would not say.
AS_LARGE = 0.7
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

    def lines(self) -> list[str]:
        """Say it in sentences and a small table."""
        found = [f"seems to be taps: {self.why}"]
        if self.units:
            found.append(
                "protects one | taps that count | share kept | noise of a count | epsilon of a frequent person"
            )
            found += [self._row(one) for one in self.units]
        return [*found, *(f"note: {note}" for note in self.notes)]

    def _row(self, one: UnitAdvice) -> str:
        bound = "" if one.max_taps is None else f"{one.max_taps}"
        chosen = one.unit == "rider" and one.max_taps == self.max_taps
        row = f"{one.unit:>12} | {bound:>15} | {one.kept:>10.1%} | {one.noise:>16,.1f} | {one.person:,.1f}"
        return row + ("   <- recommended" if chosen else "")

    def facts(self) -> dict[str, Any]:
        """Give it to machines."""
        return {
            "seems": "taps",
            "way": self.way,
            "units": [vars(one) for one in self.units],
            "max_taps": self.max_taps,
        }


def advise_taps(taps: Taps, epsilon: float) -> TapAdvice:
    """Look at clean taps, and advise how to release them: for people where there are cards, else for single taps."""
    routes = taps.route is not None and isinstance(taps.world, Network) and bool((taps.route >= 0).any())
    dated = len(taps) > 0 and int(taps.time.min()) >= UNDATED
    way = "counts-first" if routes and dated else "counts"
    advice = TapAdvice(way, "every row has a time and a place, and none says which trip it belongs to")
    if taps.card is None or not bool((taps.card >= 0).any()):
        advice.notes.append("no column has cards: single taps are protected, not the people behind them")
    else:
        advice.units = advise_units(taps, epsilon)
        advice.max_taps = enough_taps(advice.units).max_taps
        advice.values |= {"unit": "rider", "max_taps": advice.max_taps}
        advice.notes += say_unit(advice.units, taps)[:3]
        without = int((taps.card < 0).sum())
        if without:
            advice.values["no_rider"] = "drop"
            advice.notes.append(f"{without:,} taps have no card; the command leaves them out")
    advice.notes += _say_noise(advice, taps, epsilon)
    if way == "counts-first":
        first, last = int(taps.day.min()), int(taps.day.max())
        advice.values["days"] = f"{np.datetime64(first, 'D')}/{np.datetime64(last, 'D')}"
        advice.notes.append("--days says the period: give the one that you publish")
    if advice.values:
        advice.values["tuned_on_data"] = True
        advice.notes.append(
            "bounds and period were chosen by looking at the raw taps; --tuned-on-data says so on the datasheet. What "
            "was known before needs no such word"
        )
    return advice


def _say_noise(advice: TapAdvice, taps: Taps, epsilon: float) -> list[str]:
    """A word where noise on the number of a stop will be as large as the number, before it is paid for."""
    bound = 1 if advice.max_taps is None else advice.max_taps
    kept = len(taps) * (enough_taps(advice.units).kept if advice.units else 1.0)
    noise = bound / (epsilon * float(TapCounts().stops_share))
    if noise * taps.world.size < AS_LARGE * kept:
        return []
    return [
        f"{taps.world.size:,} stops share about {kept:,.0f} taps, and noise on each is about {noise:,.0f}: numbers "
        "by stop will be noise. Take a larger epsilon, a longer file or a smaller bound, or ask for hours only"
    ]
