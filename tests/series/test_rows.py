"""Which rows belong to a period is a rule per row: what lets disjoint periods compose in parallel."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from series.series_worlds import MONDAY, week_file, write_plan
from wayveil.errors import InputError
from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan
from wayveil.plan.reading import open_rows, require_days
from wayveil.privacy.ledger.data_time import Days, span_of
from wayveil.taps.taps import Taps
from wayveil.world.opening import open_world

WEEK = [span_of("day", MONDAY + timedelta(days=day)) for day in range(7)]
Reader = Callable[[Plan, Path, Days], Taps]


def as_built(plan: Plan, path: Path, days: Days) -> Taps:
    world = open_world(plan.beside("stops.csv"))
    return open_rows(plan, world, [path], days).rows


def shifted_to_the_first_row(plan: Plan, path: Path, days: Days) -> Taps:
    """A broken rule: days are counted from the first row of the file, so one row can move all others."""
    table = pl.read_csv(path)
    times = table["event_time"].str.to_datetime()
    start = times.min()
    assert start is not None
    ahead = (times - start).dt.total_days() - (days.first - MONDAY).days
    world = open_world(plan.beside("stops.csv"))
    mine = table.filter(ahead == 0)
    stops = np.searchsorted(world.ids, mine["stop_id"].to_numpy()).astype(np.int32)
    return Taps(stops, np.arange(len(mine)), world)


def days_that_change(reader: Reader, plan: Plan, path: Path, row: str) -> set[date]:
    """The days of data whose rows are others once the file has one row more."""

    def rows() -> list[list[int]]:
        return [np.sort(reader(plan, path, day).location).tolist() for day in WEEK]

    text, before = path.read_text(), rows()
    path.write_text(text + row)
    after = rows()
    path.write_text(text)
    return {day.first for day, old, new in zip(WEEK, before, after, strict=True) if old != new}


@pytest.mark.parametrize("day", [0, 3, 6])
def test_one_tap_more_changes_the_rows_of_its_own_day_and_of_no_other(tmp_path: Path, day: int) -> None:
    plan, path = write_plan(tmp_path, every="day", outside="drop"), week_file(tmp_path, 1)
    when = MONDAY + timedelta(days=day)
    assert days_that_change(as_built, plan, path, f"c1,s03,{when}T00:00:01\n") == {when}


def test_a_tap_of_another_week_changes_nothing(tmp_path: Path) -> None:
    plan, path = write_plan(tmp_path, every="day", outside="drop"), week_file(tmp_path, 1)
    assert days_that_change(as_built, plan, path, "c1,s03,2025-12-28T23:59:59\n") == set()
    assert days_that_change(as_built, plan, path, "c1,s03,not a time\n") == set()


def test_riders_who_do_not_want_to_be_counted_are_dropped_by_their_own_rows(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    plan.path.write_text(plan.path.read_text().replace("[[worlds]]", 'opt_out = "wish"\n\n[[worlds]]'))
    plan, path = read_plan(plan.path), week_file(tmp_path, 1)
    world = open_world(plan.beside("stops.csv"))
    with pytest.raises(InputError, match="no column 'wish'"):
        require_days(plan, world, path, span_of("week", MONDAY))
    head, *rows = path.read_text().splitlines()
    wishes = [f"{row},{'yes' if at < 10 else ''}" for at, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},wish", *wishes]))
    require_days(plan, world, path, span_of("week", MONDAY))
    assert len(as_built(plan, path, span_of("week", MONDAY))) == len(rows) - 10


def test_a_rule_that_looks_at_other_rows_is_caught(tmp_path: Path) -> None:
    plan, path = write_plan(tmp_path, every="day", outside="drop"), week_file(tmp_path, 1)
    changed = days_that_change(shifted_to_the_first_row, plan, path, "c1,s03,2025-12-26T08:00:00\n")
    assert len(changed) > 1
