"""From a vendor's file to clean taps, rule by rule, with a report that counts every row.

Rules look at one row and at public knowledge, so that one tap more or less in the file is one tap more or less in the
result, with two exceptions. Filling a gap from other rows of the same bus (`fill="same-bus"`, as the BC Transit study
does) depends on other people's taps: its taps are marked, and only the study's own unsound order accepts them. Dropping
exact repetitions of a row looks at rows that are equal in every column, card and transaction included. It keeps the
distance: what is left is the set of different rows, and one row more is at most one row more in that set.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.progress import step
from wayveil.sources.frames import Source, source_name
from wayveil.taps.cleaning import Cleaning, CleanTaps
from wayveil.taps.columns import COLUMNS, ColumnMap, column_map
from wayveil.trips.tables import read_marked_table, require_file, table_header
from wayveil.world.world import World


def read_taps(
    source: Source,
    world: World,
    columns: ColumnMap | Mapping[str, Any] | str | Path | None = None,
    cleaning: Cleaning | None = None,
    *,
    zone: str | None = None,
    opt_out: str | None = None,
    **changes: Any,
) -> CleanTaps:
    """Read and clean a tap file, or a polars or pandas frame or Arrow table of taps.

    columns   a column map, ours to theirs: a `ColumnMap`, a dict, the name of a preset, a TOML file; None guesses the
              preset
    cleaning  which rows are dropped and filled; `changes` are fields of it (`repeated="keep"`)
    zone      the city's time zone (Europe/Madrid), in place of the column map's: zoned times are put on its clock
    opt_out   the column with the wish not to be counted, in place of the column map's

    >>> len(wv.read_taps(folder / "taps.csv", city).taps)
    4
    """
    name = source_name(source)
    cleaning = replace(cleaning or Cleaning(), **changes)
    if isinstance(name, Path):
        require_file(name)
    header = table_header(source)
    layout = column_map(columns, header, name)
    if opt_out is not None and opt_out not in header:
        raise InputError(f"has no column {opt_out!r} with wishes not to be counted", file=name, tells=LAYOUT)
    said = {"zone": zone, "opt_out": opt_out}
    layout = layout.changed(**{what: value for what, value in said.items() if value is not None})
    table, marks = read_marked_table(source, layout.columns(), ("event_time",), COLUMNS)
    with step("Cleaning taps"):
        return cleaning.apply(name, table, layout, world, marks)
