"""Which column of a file of GPS points is which: ours, those of scikit-mobility, mapped, or named in order."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.trips.column_names import SCIKIT_MOBILITY, candidates, our_columns, our_word
from wayveil.trips.tables import readable, separator_of, table_header, table_suffix

COLUMNS = ("rider_id", "trip_id", "event_time", "lat", "lon", "flag", "h3")
UNUSED = "-"
# Columns that tell a file of points by its header: either of these.
RECOGNISED = ({"datetime", "lat", "lng"}, {"tid", "lat", "lng"}, {"trip_id", "lat", "lon"})


def point_columns(
    path: Path, columns: Mapping[str, str] | Sequence[str] | None, *, header: bool
) -> dict[str, str]:
    """Our name of each used column, by theirs; without a header theirs are what polars calls them."""
    if not header:
        if columns is None or isinstance(columns, Mapping):
            raise ParameterError(
                "a file without a header needs the names of its columns in order, like "
                "rider_id,event_time,lon,lat,flag,-"
            )
        there = _names_without_header(path)
        if len(columns) != len(there):
            raise InputError(
                f"has {len(there)} columns, but {len(columns)} are named; write - for unused ones",
                file=path,
                tells=LAYOUT,
            )
        named = {their: our_word(our) for their, our in zip(there, columns, strict=True) if our != UNUSED}
    elif columns is None or isinstance(columns, Mapping):
        named = _names_in_header(path, our_columns(columns, COLUMNS))
    else:
        raise ParameterError(
            "columns of a file with a header are mapped ours=theirs; a list is for files without one"
        )
    ours = set(named.values())
    if unknown := ours - set(COLUMNS):
        raise ParameterError(
            f"points have no column {min(unknown)!r}; they have {', '.join(COLUMNS)}, and - for others"
        )
    if len(ours) < len(named):
        raise ParameterError("the columns give one of ours twice")
    missing = [] if {"event_time", "trip_id"} & ours else ["event_time"]
    if "h3" not in ours:
        missing += [name for name in ("lat", "lon") if name not in ours]
    if missing:
        remedy = "map one to it" if missing != ["event_time"] else "map one to it, or name trips ('trip_id')"
        raise InputError(
            f"has no column for {' and '.join(map(repr, missing))}; {remedy}", file=path, tells=LAYOUT
        )
    if header and "event_time" not in ours:
        _refuse_hidden_times(path, set(named))
    return named


def _names_in_header(path: Path, mapped: Mapping[str, str]) -> dict[str, str]:
    """Our name of each used column, by theirs: as mapped, under our names, or under those of scikit-mobility."""
    present = table_header(path)
    for their in mapped.values():
        if their not in present:
            raise InputError(
                f"has no column {their!r}; its columns are {', '.join(sorted(present))}",
                file=path,
                tells=LAYOUT,
            )
    spoken = {our: their for their, our in SCIKIT_MOBILITY.items() if their in present}
    named = {**spoken, **{name: name for name in COLUMNS if name in present}, **mapped}
    return {their: our for our, their in named.items() if their not in mapped.values() or our in mapped}


def _refuse_hidden_times(path: Path, read: set[str]) -> None:
    """Refuse to pass over times under another name, where points seem to have none."""
    names = table_header(path)
    hidden = {name for name in names if "time" in name.lower() or "date" in name.lower()}
    hidden |= set(candidates(names, "event_time"))
    for name in names:
        if name in hidden - read:
            raise InputError(
                f"has no column 'event_time', but {name!r}, which may be one: map it (--map event_time={name}), or "
                f"leave it out of the file",
                file=path,
                tells=LAYOUT,
            )


def _names_without_header(path: Path) -> list[str]:
    with readable(path):
        if table_suffix(path) == ".parquet":
            raise ParameterError(
                "a parquet file has names for its columns: map them instead of leaving the header out"
            )
        return pl.read_csv(
            path, has_header=False, separator=separator_of(path, spaces=True), n_rows=1, infer_schema=False
        ).columns
