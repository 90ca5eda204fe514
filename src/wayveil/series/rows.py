"""The rows of a period: which they are is a rule per row, the day of its own time.

Rows of other days than the name of their file says are refused or dropped, as the plan says. Either way no row of a
period hangs on another one, which is what lets disjoint periods compose in parallel (docs/ledger.md).
"""

from collections.abc import Sequence
from datetime import date

import numpy as np
import polars as pl

from wayveil.errors import InputError
from wayveil.privacy.ledger.data_time import Days
from wayveil.series.due import DatedFile
from wayveil.series.plan import Plan
from wayveil.taps.columns import COLUMNS, ColumnMap, column_map
from wayveil.taps.moments import read_moments
from wayveil.taps.read import CleanTaps, read_taps
from wayveil.trips.history import MARKS_NAME, History, marks_text
from wayveil.trips.tables import read_marked_table, require_file, table_header
from wayveil.world.timebins import DAY
from wayveil.world.world import World

_EPOCH = date(1970, 1, 1)


def check_file(plan: Plan, file: DatedFile) -> None:
    """Refuse a file with rows of other days than its name says, unless the plan drops such rows. Reads times only."""
    require_file(file.path)
    layout = _layout(plan, file)
    if plan.source.outside == "drop":
        return
    times = {their: our for their, our in layout.theirs().items() if our in ("time", "date")}
    table, _ = read_marked_table(file.path, times, ("time",), ("date",))
    moments = read_moments(table, layout)
    day = moments.wall // DAY
    first, last = ((each - _EPOCH).days for each in (file.days.first, file.days.last))
    outside = np.flatnonzero(~moments.unreadable & ~moments.other_form & ((day < first) | (day > last)))
    if len(outside):
        row = int(outside[0])
        raise InputError(
            f"is of {np.datetime64(int(day[row]), 'D')}, and the name of the file says {file.days} ({len(outside):,} "
            'such rows). Mend the file, or drop such rows one by one with outside = "drop" in [source]. Nothing was '
            "spent",
            file=file.path,
            row=row + 1,
        )


def read_rows(plan: Plan, files: Sequence[DatedFile], days: Days, world: World) -> CleanTaps:
    """The clean taps of a period, from the files that have its days."""
    period = (days.first, days.last)
    if len(files) == 1:
        return read_taps(files[0].path, world, _layout(plan, files[0]), period=period)
    tables = []
    for file in files:
        layout = _layout(plan, file)
        table, marks = read_marked_table(file.path, layout.theirs(), ("time",), COLUMNS)
        if marks:
            table = table.with_columns(pl.lit(marks_text(History(marks=marks))).alias(MARKS_NAME))
        tables.append(table)
    together = pl.concat(tables, how="diagonal_relaxed")
    ours = {name: name for name in COLUMNS if name in together.columns}
    rest = {name: value for name, value in layout.model_dump().items() if name not in COLUMNS}
    return read_taps(together, world, ColumnMap(**ours, **rest), period=period)


def _layout(plan: Plan, file: DatedFile) -> ColumnMap:
    given = plan.source.layout
    if isinstance(given, str) and given.endswith(".toml"):
        given = plan.beside(given)
    found = column_map(given, table_header(file.path), file.path)
    if plan.source.opt_out is not None and plan.source.opt_out not in table_header(file.path):
        raise InputError(
            f"has no column {plan.source.opt_out!r} with wishes not to be counted. Nothing was spent",
            file=file.path,
        )
    said = {"zone": plan.source.zone, "opt_out": plan.source.opt_out}
    stated = {name: value for name, value in said.items() if value is not None}
    return ColumnMap(**{**found.model_dump(), **stated}) if stated else found
