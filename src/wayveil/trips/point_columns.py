"""Which column of a file of GPS points is which: ours, those of scikit-mobility, mapped, or named in order."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.column_names import SCIKIT_MOBILITY, candidates, our_columns, our_word
from wayveil.sources.formats import format_of
from wayveil.sources.opening import SourceTable, open_table
from wayveil.sources.reading import Reading
from wayveil.trips.tables import require_file

COLUMNS = ("rider_id", "trip_id", "event_time", "lat", "lon", "flag", "h3")
UNUSED = "-"
# Columns that tell a file of points by its header: either of these.
RECOGNISED = ({"datetime", "lat", "lng"}, {"tid", "lat", "lng"}, {"trip_id", "lat", "lon"})


def point_source(
    source: Path | SourceTable, columns: Mapping[str, str] | Sequence[str] | None, *, header: bool = True
) -> SourceTable:
    """Open a file of points, its columns mapped, or named in order where it has no header."""
    if isinstance(source, SourceTable):
        return source
    if header and (columns is None or isinstance(columns, Mapping)):
        require_file(source)
        return open_table([source], Reading(columns=our_columns(columns, COLUMNS)))
    if header:
        raise ParameterError(
            "columns of a file with a header are mapped ours=theirs; a list is for files without one"
        )
    if columns is None or isinstance(columns, Mapping):
        raise ParameterError(
            "a file without a header needs the names of its columns in order, like rider_id,event_time,lon,lat,flag,-"
        )
    if format_of(source) == ".parquet":
        raise ParameterError(
            "a parquet file has names for its columns: map them instead of leaving the header out"
        )
    require_file(source)
    reading = Reading(columns=in_order(columns), header=False)
    there = open_table([source], Reading(header=False)).columns
    if len(columns) != len(there):
        raise InputError(
            f"has {len(there)} columns, but {len(columns)} are named; write - for unused ones",
            file=source,
            tells=LAYOUT,
        )
    return open_table([source], reading)


def in_order(columns: Sequence[str]) -> dict[str, str]:
    """Map ours to the columns of a file without a header, which are named one after the other."""
    named = {our_word(our): f"column_{at}" for at, our in enumerate(columns, start=1) if our != UNUSED}
    if len(named) < sum(our != UNUSED for our in columns):
        raise ParameterError("the columns give one of ours twice")
    if unknown := set(named) - set(COLUMNS):
        raise ParameterError(
            f"points have no column {min(unknown)!r}; they have {', '.join(COLUMNS)}, and - for others"
        )
    return named


def point_columns(table: SourceTable) -> dict[str, str]:
    """Map the used columns of a table to ours: mapped, under our names, or under those of scikit-mobility."""
    present, header = table.columns, table.reading.header
    spoken = {our: their for their, our in SCIKIT_MOBILITY.items() if their in present}
    ours_there = {**spoken, **{name: name for name in COLUMNS if name in present}}
    named = {their: our for our, their in ours_there.items()}
    ours = set(named.values())
    missing = [] if {"event_time", "trip_id"} & ours else ["event_time"]
    if "h3" not in ours:
        missing += [name for name in ("lat", "lon") if name not in ours]
    if missing:
        remedy = "map one to it" if missing != ["event_time"] else "map one to it, or name trips ('trip_id')"
        raise InputError(
            f"has no column for {' and '.join(map(repr, missing))}; {remedy}", file=table.name, tells=LAYOUT
        )
    if header and "event_time" not in ours:
        _refuse_hidden_times(table, set(named))
    return named


def _refuse_hidden_times(table: SourceTable, read: set[str]) -> None:
    """Refuse to pass over times under another name, where points seem to have none."""
    names = table.columns
    hidden = {name for name in names if "time" in name.lower() or "date" in name.lower()}
    hidden |= set(candidates(names, "event_time"))
    for name in names:
        if name in hidden - read:
            raise InputError(
                f"has no column 'event_time', but {name!r}, which may be one: map it (--map event_time={name}), or "
                f"leave it out of the file",
                file=table.name,
                tells=LAYOUT,
            )
