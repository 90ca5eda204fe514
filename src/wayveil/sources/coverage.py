"""Which days each file of a table is of: days that are missing, that two files have, and files out of order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median

import polars as pl

from wayveil.sources.opening import SourceTable


@dataclass(frozen=True)
class FileDays:
    """The first and last day of a file, and its rows."""

    name: str
    first: date
    last: date
    rows: int

    def __str__(self) -> str:
        return f"{self.name}: {self.rows:,} rows of {self.first} to {self.last}"


def file_days(table: SourceTable, name: str) -> list[FileDays]:
    """Return the days of every file that has readable times in a column of ours."""
    found = []
    for part in table.parts:
        times = SourceTable((part,), table.reading, table.world).read([name]).to_series()
        text = times.cast(pl.String) if times.dtype in (pl.Categorical, pl.String) else times.cast(pl.Date)
        days = (
            text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if text.dtype == pl.String else text
        )
        first, last = days.min(), days.max()
        if isinstance(first, date) and isinstance(last, date):
            found.append(FileDays(Path(str(part.name)).name, first, last, len(times)))
    return found


def say_coverage(files: Sequence[FileDays]) -> list[str]:
    """Say what is odd about the days of files: missing ones, those of two files, and files out of order."""
    ordered = sorted(files, key=lambda each: (each.first, each.last))
    if not files:
        return []
    usual = median((each.last - each.first).days + 1 for each in files)
    said = []
    for before, after in pairwise(ordered):
        missing = (after.first - before.last).days - 1
        if missing >= max(1.0, usual / 2):
            since, until = before.last + timedelta(1), after.first - timedelta(1)
            said.append(f"no file has rows of {since} to {until} (between {before.name} and {after.name})")
        shared = (min(before.last, after.last) - after.first).days + 1
        # A night after midnight is in the file of the day before.
        if shared > (1 if usual > 1 else 0):
            both = f"{after.first} to {min(before.last, after.last)}"
            said.append(
                f"{before.name} and {after.name} both have rows of {both}: rows may be in both; to read equal ones "
                "once: --with bad_rows.duplicate=drop"
            )
    late = [after.name for before, after in pairwise(files) if after.first < before.first]
    if late:
        said.append(f"in the order of their names, {', '.join(late)} comes after files of later days")
    return said
