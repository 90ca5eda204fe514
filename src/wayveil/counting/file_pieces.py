"""Files of visits, read in pieces that hold whole units, out of core.

Most files are in order: the rows of a trip, and the trips of a rider, stand together. Then a piece is a stretch of
rows, cut where a unit ends. Ids that rise from unit to unit show that no unit comes back later. Where they do not rise,
DuckDB sorts the rows on disk first. csv is written as Parquet first, which polars does without holding it.
"""

import gzip
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.counting.scratch import full_disk
from wayveil.disclosures import DAMAGED, EMPTY, ORDER_ON_DISK, discloses
from wayveil.errors import InputError
from wayveil.progress import step
from wayveil.sources.moments import with_text_times
from wayveil.sources.opening import SourceTable
from wayveil.sources.text_files import separator_of
from wayveil.trips.ids import coded_ids, duckdb_id
from wayveil.trips.tables import tidy_columns
from wayveil.trips.times import Form, read_times
from wayveil.trips.trip_files import TripFiles

# Rows read at a time, and values looked at to find how times are written.
ROWS = 1 << 21
LOOK = 10_000
ROW, UNIT = "row of the table", "unit of the row"


class NotInOrderError(Exception):
    """A unit may come back later in the table, so that it has to be sorted."""


@dataclass(frozen=True, eq=False)
class VisitFiles:
    """Visits as Parquet files under our names.

    files    what the person brought
    counts   rows of each of these
    unit     the column of a sorted table that tells units apart; None where rows are as they were brought
    """

    files: TripFiles
    paths: tuple[Path, ...]
    names: dict[str, str]
    counts: tuple[int, ...]
    unit: str | None = None

    def place(self, row: int) -> tuple[Path, int]:
        """The file of a row of the whole table (from 0), and the row in it (from 1)."""
        ends = np.cumsum(self.counts)
        part = int(np.searchsorted(ends, row, side="right"))
        return self.files.paths[part], row - int(ends[part]) + self.counts[part] + 1

    @property
    def form(self) -> Form | None:
        """Return how the table writes its times (see `time_form`)."""
        return time_form(pl.scan_parquet(list(self.paths)), self.names)

    def slices(self) -> Iterator[pl.DataFrame]:
        """All rows in order, with their number in the whole table; text comes as categories."""
        before = 0
        wanted = [pl.col(their).alias(our) for our, their in self.names.items()]
        for path, count in zip(self.paths, row_counts(self.paths), strict=True):
            for first in range(0, count, ROWS):
                part = pl.scan_parquet(path).slice(first, ROWS)
                if self.unit is None:
                    number = pl.int_range(before + first, before + first + pl.len(), dtype=pl.Int64)
                    table = part.select([*wanted, number.alias(ROW)])
                else:
                    table = part
                yield _tidy(table.collect(), self.files.paths[0])
            before += count


def row_counts(paths: tuple[Path, ...]) -> tuple[int, ...]:
    """Rows of Parquet files, which know them without being read."""
    return tuple(pl.scan_parquet(path).select(pl.len()).collect().item() for path in paths)


def time_form(table: pl.LazyFrame, names: dict[str, str]) -> Form | None:
    """Return how a table writes its times, judged by the first row that can be read; None without times."""
    if "event_time" not in names:
        return None
    some = table.select(pl.col(names["event_time"])).drop_nulls().head(LOOK).collect().to_series()
    return read_times(some).expected if len(some) else None


def as_parquet(files: TripFiles, folder: Path) -> VisitFiles:
    """The files themselves where they are Parquet; else the same rows as Parquet in the folder, all of them text."""
    if files.parquet:
        return VisitFiles(files, files.paths, files.names, row_counts(files.paths))
    if files.table is not None:
        return _rewritten(files, files.table, folder)
    written = []
    for number, path in enumerate(files.paths):
        target = folder / f"part-{number:06}.parquet"
        with step(f"Reading {path.name}"):
            _csv_to_parquet(path, target, folder, list(files.names.values()))
        written.append(target)
    return VisitFiles(files, tuple(written), files.names, row_counts(tuple(written)))


def _rewritten(files: TripFiles, table: SourceTable, folder: Path) -> VisitFiles:
    """Files as other people write them, as Parquet under our names: piece by piece, each row by itself."""
    parts: dict[int, list[Path]] = {number: [] for number in range(len(files.paths))}
    with step("Reading files"):
        for number, piece in table.pieces(list(files.names), folder):
            target = folder / f"piece-{number:06}-{len(parts[number]):06}.parquet"
            with_text_times(piece).with_columns(pl.selectors.categorical().cast(pl.String)).write_parquet(
                target
            )
            target.chmod(0o600)
            parts[number].append(target)
    paths = tuple(path for each in parts.values() for path in each)
    if not paths:
        raise InputError("has a header but no rows", file=table.name, tells=EMPTY)
    counts = tuple(sum(row_counts(tuple(each))) for each in parts.values())
    return VisitFiles(files, paths, files.names, counts)


@discloses(ORDER_ON_DISK)
def sort_rows(rows: VisitFiles, folder: Path, memory: int) -> VisitFiles:
    """Return the same rows with every rider's trips, and every trip's rows, side by side; DuckDB spills to the
    folder.
    """
    import duckdb

    target, spill = folder / "sorted.parquet", folder / "spill"
    spill.mkdir(mode=0o700, exist_ok=True)
    columns = ", ".join(f'"{their}" AS {our}' for our, their in rows.names.items())
    firsts = np.concatenate([[0], np.cumsum(row_counts(rows.paths))]).tolist()
    parts = " UNION ALL ".join(
        f'SELECT {columns}, file_row_number + {first} AS "{ROW}" '
        f"FROM read_parquet('{_quoted(path)}', file_row_number = true)"
        for path, first in zip(rows.paths, firsts, strict=False)
    )
    query = f'SELECT *, trip_id AS "{UNIT}" FROM visits ORDER BY trip_id, "{ROW}"'
    if "rider_id" in rows.names:
        kinds = [pl.read_parquet_schema(path)[rows.names["rider_id"]] for path in rows.paths]
        whose = duckdb_id("rider_id", fraction=any(kind.is_float() for kind in kinds))
        # A trip belongs to one rider. Where the file says otherwise the trip stays whole, and the check tells.
        query = (
            f'SELECT visits.*, whose AS "{UNIT}" FROM visits JOIN '
            f"(SELECT trip_id, min({whose}) AS whose FROM visits GROUP BY trip_id) AS owners "
            f'ON visits.trip_id IS NOT DISTINCT FROM owners.trip_id ORDER BY whose, visits.trip_id, "{ROW}"'
        )
    with step("Sorting visits by rider and trip"), duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{memory // 2**20}MiB'")
        connection.execute(f"SET temp_directory = '{_quoted(spill)}'")
        try:
            connection.execute(
                f"COPY (WITH visits AS NOT MATERIALIZED ({parts}) {query}) TO '{_quoted(target)}' (FORMAT parquet)"
            )
        except duckdb.Error as error:
            raise full_disk(folder.parent, error) from error
    shutil.rmtree(spill, ignore_errors=True)
    return VisitFiles(rows.files, (target,), {our: our for our in rows.names}, rows.counts, UNIT)


def _tidy(table: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Columns as readers have them, text as categories; what stands for no rider is none."""
    table = tidy_columns(table, file)
    if "rider_id" not in table.columns or table["rider_id"].dtype.is_integer():
        return table
    return table.with_columns(coded_ids(table["rider_id"]))


def whole_units(rows: VisitFiles, unit: str) -> Iterator[pl.DataFrame]:
    """The rows in pieces that end where a unit does. `unit` is the column that tells units apart; a trip without one
    is a unit by itself.

    Raises `NotInOrderError` where a trip or unit could come back later; sorted rows cannot.
    """
    return cut_between_units(rows.slices() if rows.unit else _in_order(rows, unit), rows.unit or unit)


def _in_order(rows: VisitFiles, unit: str) -> Iterator[pl.DataFrame]:
    """The rows as they were brought, as long as they show that no unit comes back."""
    last: dict[str, object] = {}
    before: pl.DataFrame | None = None
    for read in rows.slices():
        for column in dict.fromkeys(["trip_id", unit]):
            last[column] = _check_rising(read[column], last.get(column))
        if unit != "trip_id" and _half_known(read if before is None else pl.concat([before, read]), unit):
            raise NotInOrderError
        before = read.tail(1)
        yield read


def cut_between_units(tables: Iterable[pl.DataFrame], unit: str) -> Iterator[pl.DataFrame]:
    """Tables that follow each other, in pieces that end where a unit does, for rows that are sorted by units."""
    carried: pl.DataFrame | None = None
    for read in tables:
        table = read if carried is None else pl.concat([carried, read])
        end = _last_start(table, unit)
        carried = table.slice(end)
        if end:
            yield table.slice(0, end)
    if carried is not None and (rest := _without_trailing_blanks(carried)).height:
        yield rest


def _changed(column: pl.Series) -> NDArray[np.bool_]:
    """Tell whether a row has another value than the row before; true for the first."""
    code = column.to_physical() if column.dtype == pl.Categorical else column
    changed = np.ones(len(code), bool)
    changed[1:] = code.slice(1).ne_missing(code.slice(0, max(len(code) - 1, 0))).to_numpy()
    return changed


def _last_start(table: pl.DataFrame, unit: str) -> int:
    """The row at which the last unit of a table begins; 0 if there is one unit only."""
    trip = _changed(table["trip_id"])
    starts = trip if unit == "trip_id" else trip & (_changed(table[unit]) | table[unit].is_null().to_numpy())
    return int(np.flatnonzero(starts)[-1])


def _half_known(table: pl.DataFrame, unit: str) -> bool:
    """Tell whether a trip has rows with and without its rider, which only a look at the whole trip brings together."""
    return bool((_changed(table[unit].is_not_null()) & ~_changed(table["trip_id"])).any())


def _without_trailing_blanks(table: pl.DataFrame) -> pl.DataFrame:
    """Blank lines at the end of a csv come as rows without any value; they are no visits."""
    known = table.select(pl.any_horizontal(pl.exclude(ROW, UNIT).is_not_null())).to_series().arg_true()
    return table.head(int(known[-1]) + 1 if len(known) else 0)


def _check_rising(column: pl.Series, last: object) -> object:
    """Refuse ids that fall or come back. Returns the last one. Text that is a number is compared as one."""
    runs = column.filter(_changed(column))
    if not runs.dtype.is_numeric():
        text = runs.cast(pl.String)
        number = text.cast(pl.Int64, strict=False)
        runs = number if number.null_count() == text.null_count() else text
    runs = runs.drop_nulls()
    first = runs[0] if len(runs) else None
    if first is None:
        return last
    if last is not None and (isinstance(first, str) != isinstance(last, str) or first < last):
        raise NotInOrderError
    if not bool((runs.slice(1) > runs.slice(0, len(runs) - 1)).all()):
        raise NotInOrderError
    return runs[-1]


def _csv_to_parquet(path: Path, target: Path, folder: Path, names: list[str]) -> None:
    separator, plain = separator_of(path), path
    try:
        if path.suffix.lower() == ".gz":
            plain = folder / "unpacked.csv"
            with gzip.open(path, "rb") as packed, plain.open("wb") as out:
                shutil.copyfileobj(packed, out, 1 << 22)
        table = pl.scan_csv(plain, separator=separator, infer_schema=False).select(names)
        table.sink_parquet(target, row_group_size=1 << 18)
    except (pl.exceptions.PolarsError, EOFError, OSError) as error:
        full = full_disk(folder.parent, error)
        if full is not error:
            raise full from error
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"is not a csv file, or is damaged ({reason})", file=path, tells=DAMAGED) from error
    finally:
        if plain is not path:
            plain.unlink(missing_ok=True)
    target.chmod(0o600)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
