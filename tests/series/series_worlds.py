"""A small source for the tests of series: thirty stops, sixty cards, a file per week."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np

from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan

MONDAY = date(2025, 12, 29)
STOPS = 30
PLAN = """
name = "town"
curator = "Town Transit"

[source]
rows = "taps"
files = "{files}"
outside = "{outside}"

[[worlds]]
place = "stops.csv"
first = 2025-12-29

[method]
way = "{way}"
prior = 2

[output]
folder = "series"
report = {report}
exports = [{exports}]

[protection]
ledger = "ledger"
epsilon = {epsilon}
unit = "{unit}"
{bound}

[protection.allowance]
epsilon = {period_epsilon}
unit = "{budget_unit}"

[series]
every = "{every}"
first = 2025-12-29
"""
DEFAULTS = {
    "every": "week",
    "files": "taps_%G-W%V.csv",
    "outside": "refuse",
    "way": "cards",
    "unit": "rider",
    "bound": "max_trips = 3",
    "report": "false",
    "exports": '"station-activities"',
    "epsilon": 1,
    "budget_unit": "rider",
    "period_epsilon": 52,
}


def write_plan(folder: Path, **changes: object) -> Plan:
    """The plan and its world."""
    (folder / "stops.csv").write_text(
        "stop_id,stop_name,lat,lon\n"
        + "".join(f"s{at:02},Stop {at},{48.4 + at / 1000:.3f},-123.3\n" for at in range(STOPS))
    )
    given = {**DEFAULTS, **changes}
    if given["way"] != "cards":
        given["bound"] = ""
    (folder / "wayveil.toml").write_text(PLAN.format(**given))
    return read_plan(folder / "wayveil.toml")


def week_file(folder: Path, week: int, *, seed: int = 0, days: range = range(7)) -> Path:
    """The taps of one week (1 is the first), two a day for every card."""
    first = MONDAY + timedelta(days=7 * (week - 1))
    iso = first.isocalendar()
    return write_taps_of(folder / f"taps_{iso.year}-W{iso.week:02}.csv", first, days, seed=1000 * seed + week)


def write_taps_of(path: Path, first: date, days: range, *, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = ["card_id,stop_id,event_time"]
    for day in days:
        for card in range(60):
            for hour in (8, 17):
                stop = int(min(rng.geometric(0.2), STOPS)) - 1
                minute = int(rng.integers(60))
                rows.append(f"c{card},s{stop:02},{first + timedelta(days=day)}T{hour:02}:{minute:02}:00")
    path.write_text("\n".join(rows) + "\n")
    return path
