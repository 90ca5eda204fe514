"""Tables in memory as well as in files: polars and pandas frames, Arrow tables, and whatever streams Arrow columns.

Neither pandas nor pyarrow is imported: an object is known by what it can do. No column's type is guessed from its rows,
because then one row could change how all others are read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.formats import Part
from wayveil.sources.opening import SourceTable
from wayveil.sources.reading import Reading
from wayveil.world.world import World

# Whatever a reader takes: a path, a polars or pandas frame, an Arrow table.
Source = Any
# What an error calls a table that has no file.
FRAME = "the frame"


@dataclass(frozen=True)
class Frame:
    """A table in memory: its column names, and how to get some of them as polars columns."""

    columns: list[str]
    read: Callable[[list[str]], pl.DataFrame]


def frame_of(source: Source) -> Frame | None:
    """The table behind an object in memory; None where it is a path."""
    if isinstance(source, str | Path):
        return None
    if isinstance(source, SourceTable):
        return Frame(source.columns, source.read)
    source = _plain_points(source)
    if isinstance(source, pl.LazyFrame):
        return Frame(source.collect_schema().names(), lambda names: source.select(names).collect())
    if isinstance(source, pl.DataFrame):
        return Frame(source.columns, source.select)
    if _of_pandas(source):
        return Frame([str(name) for name in source.columns], lambda names: _from_pandas(source, names))
    if hasattr(source, "__arrow_c_stream__"):
        table = pl.DataFrame(source)
        return Frame(table.columns, table.select)
    raise ParameterError(
        f"expected a path, a polars or pandas frame or an Arrow table, not {type(source).__name__}"
    )


def frame_table(frame: Any, reading: Reading, world: World | None = None) -> SourceTable:
    """Return a frame as a table that is read as a file would be."""
    table = frame_of(frame)
    if table is None:
        raise ParameterError("a path is no frame")
    read = table.read

    def pieces(names: list[str], _: Path | None) -> Iterator[pl.DataFrame]:
        yield read(names)

    part = Part(FRAME, table.columns, read, pieces, lambda names, rows: read(names).head(rows))
    return SourceTable((part,), reading, world)


# What trackintel and movingpandas call our columns.
_OF_TOOLS = {"rider_id": "user_id", "event_time": "tracked_at", "trip_id": "traj_id"}


def _plain_points(frame: Any) -> Any:
    """Return a frame of points with plain columns beside its own.

    Frames of geopandas (trackintel, movingpandas) give the coordinates of their points as `lat` and `lon`, an index of
    moments as `event_time`, and whose and which trip's they are; a collection of trajectories gives its points.
    """
    if hasattr(frame, "to_point_gdf"):
        frame = frame.to_point_gdf()
    shapes = getattr(frame, "geometry", None) if _of_pandas(frame) else None
    if shapes is None or not hasattr(shapes, "x"):
        return frame
    plain = frame.drop(columns=shapes.name).assign(lat=shapes.y.to_numpy(), lon=shapes.x.to_numpy())
    more = {our: plain[their] for our, their in _OF_TOOLS.items() if their in plain.columns}
    if getattr(getattr(frame.index, "dtype", None), "kind", "") == "M":
        more.setdefault("event_time", frame.index)
    return plain.assign(**{our: column for our, column in more.items() if our not in plain.columns})


def source_name(source: Source) -> Path | str:
    """Return what errors call a source."""
    if isinstance(source, SourceTable):
        return source.name
    return Path(source) if isinstance(source, str | Path) else FRAME


def to_pandas(table: pl.DataFrame) -> Any:
    """A pandas frame of a small set of column types, made without pyarrow."""
    try:
        import pandas
    except ImportError as error:
        raise ParameterError("pandas is not installed: pip install pandas, or use to_polars()") from error
    columns: dict[str, Any] = {}
    for column in table:
        plain = column.dtype.is_numeric() and column.null_count() == 0
        if plain or column.dtype.is_temporal():
            columns[column.name] = column.to_numpy()
        elif column.dtype.is_integer():
            columns[column.name] = pandas.array(column.to_list(), dtype="Int64")
        else:
            columns[column.name] = column.to_list()
    return pandas.DataFrame(columns)


def to_arrow(table: pl.DataFrame) -> Any:
    """A pyarrow table."""
    try:
        return table.to_arrow()
    except ImportError as error:
        raise ParameterError("pyarrow is not installed: pip install pyarrow, or use to_polars()") from error


def _of_pandas(source: object) -> bool:
    """Tell whether it is a pandas frame, or a kind of one, such as a TrajDataFrame of scikit-mobility."""
    kinds = type(source).__mro__
    return any(
        kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame" for kind in kinds
    )


def _from_pandas(frame: Any, names: list[str]) -> pl.DataFrame:
    """Numbers and moments as they are, everything else as text, value by value."""
    by_name = {str(name): name for name in frame.columns}
    columns = {}
    for name in names:
        values = frame[by_name[name]]
        if getattr(values, "ndim", 1) != 1:
            raise InputError(f"has two columns {name!r}", file=FRAME, tells=LAYOUT)
        columns[name] = _pandas_column(values)
    return pl.DataFrame(columns)


def _pandas_column(values: Any) -> pl.Series:
    kind = getattr(values.dtype, "kind", "O")
    zone = getattr(values.dtype, "tz", None)
    if kind == "M" and zone is not None:
        moments = pl.Series(values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        utc = moments.dt.replace_time_zone("UTC")
        # A fixed offset has no name that polars knows; as text, every value keeps its own.
        return utc.dt.convert_time_zone(str(zone)) if "/" in str(zone) else _as_iso(values)
    extension = not hasattr(values.dtype, "itemsize") or hasattr(values.dtype, "na_value")
    if kind in "iufM" and not extension:
        return pl.Series(values.to_numpy())
    if extension and find_spec("pyarrow") is not None:
        column: Any = pl.from_pandas(values)
        return column
    # Columns of Python objects have no type that all rows share, so each value becomes its own text.
    missing = values.isna().to_numpy()
    texts = [None if gone else str(value) for value, gone in zip(values.tolist(), missing, strict=True)]
    return pl.Series(texts, dtype=pl.String)


def _as_iso(values: Any) -> pl.Series:
    missing = values.isna().to_numpy()
    texts = [
        None if gone else value.isoformat() for value, gone in zip(values.tolist(), missing, strict=True)
    ]
    return pl.Series(texts, dtype=pl.String)
