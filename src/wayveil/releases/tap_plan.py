"""The plan that `check` prints for a file of taps: what each unit would keep and cost, and the command to release it.

Exact facts about the raw taps, for the data holder's eyes only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join
from typing import Any

import numpy as np

from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.releases.tap_units import UnitAdvice, advise_units, enough_taps, say_unit
from wayveil.taps.taps import Taps
from wayveil.world.network import Network
from wayveil.world.timebins import DAY

# From this share of a number on, noise on it leaves nothing that silence would not say.
AS_LARGE = 0.7
# A time of day without a date is read as one of the first of January 1970.
UNDATED = 2 * DAY


@dataclass
class TapPlan:
    """What to say to `taps release`, and why."""

    way: str
    why: str
    advice: list[UnitAdvice] = field(default_factory=list)
    max_taps: int | None = None
    notes: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)

    def command(self, file: Path, world: Sequence[str], epsilon: str, more: Sequence[str] = ()) -> str:
        """The exact `taps release` command, quoted for the shell."""
        out = f"release-{file.name.partition('.')[0]}"
        words = ["wayveil", "taps", "release", str(file), *world, "--epsilon", epsilon, "--way", self.way]
        return join([*words, *self.options, *more, "--out", out])

    def lines(self) -> list[str]:
        """The plan as sentences and a small table."""
        found = [f"seems to be taps: {self.why}"]
        if self.advice:
            found.append(
                "protects one | taps that count | share kept | noise of a count | epsilon of a frequent person"
            )
            found += [self._row(one) for one in self.advice]
        return [*found, *(f"note: {note}" for note in self.notes)]

    def _row(self, one: UnitAdvice) -> str:
        bound = "" if one.max_taps is None else f"{one.max_taps}"
        chosen = one.unit == "rider" and one.max_taps == self.max_taps
        row = f"{one.unit:>12} | {bound:>15} | {one.kept:>10.1%} | {one.noise:>16,.1f} | {one.person:,.1f}"
        return row + ("   <- recommended" if chosen else "")

    def facts(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "seems": "taps",
            "way": self.way,
            "units": [vars(one) for one in self.advice],
            "max_taps": self.max_taps,
        }


def plan_taps(taps: Taps, epsilon: float) -> TapPlan:
    """Look at clean taps, and plan their release: for people where there are cards, else for single taps."""
    routes = taps.route is not None and isinstance(taps.world, Network) and bool((taps.route >= 0).any())
    dated = len(taps) > 0 and int(taps.time.min()) >= UNDATED
    way = "counts-first" if routes and dated else "counts"
    plan = TapPlan(way, "every row has a time and a place, and none says which trip it belongs to")
    if taps.card is None or not bool((taps.card >= 0).any()):
        plan.notes.append("no column has cards: single taps are protected, not the people behind them")
    else:
        plan.advice = advise_units(taps, epsilon)
        plan.max_taps = enough_taps(plan.advice).max_taps
        plan.options += ["--unit", "rider", "--max-taps", str(plan.max_taps)]
        plan.notes += say_unit(plan.advice, taps)[:3]
        without = int((taps.card < 0).sum())
        if without:
            plan.options += ["--no-rider", "drop"]
            plan.notes.append(f"{without:,} taps have no card; the command leaves them out")
    plan.notes += _say_noise(plan, taps, epsilon)
    if way == "counts-first":
        first, last = int(taps.day.min()), int(taps.day.max())
        plan.options += ["--first-day", str(np.datetime64(first, "D")), "--days", str(last - first + 1)]
        plan.notes.append("--first-day and --days say the period: give the one that you publish")
    if plan.options:
        plan.options.append("--tuned-on-data")
        plan.notes.append(
            "bounds and period were chosen by looking at the raw taps; --tuned-on-data says so on the datasheet. What "
            "was known before needs no such word"
        )
    return plan


def _say_noise(plan: TapPlan, taps: Taps, epsilon: float) -> list[str]:
    """A word where noise on the number of a stop will be as large as the number, before it is paid for."""
    bound = 1 if plan.max_taps is None else plan.max_taps
    kept = len(taps) * (enough_taps(plan.advice).kept if plan.advice else 1.0)
    noise = bound / (epsilon * float(TapCounts().stops_share))
    if noise * taps.world.size < AS_LARGE * kept:
        return []
    return [
        f"{taps.world.size:,} stops share about {kept:,.0f} taps, and noise on each is about {noise:,.0f}: numbers "
        "by stop will be noise. Take a larger epsilon, a longer file or a smaller bound, or ask for hours only"
    ]
