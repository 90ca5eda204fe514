"""One file, sheet or database table as columns of their own names: every format that rows come in."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.disclosures import DAMAGED, EMPTY, LAYOUT
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.sources.arrow_files import require_lengths
from wayveil.sources.databases import DATABASES, database_address, open_database
from wayveil.sources.dialects import names_more
from wayveil.sources.nested import NESTED, read_nested
from wayveil.sources.reading import Reading
from wayveil.sources.text_files import PACKED, csv_options, is_plain, member_of, read_text, utf8_file

TEXT = (".csv", ".tsv", ".txt", ".dat")
COLUMNAR = (".parquet", ".arrow", ".feather", ".ipc")
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# Files that hold tables of rows by their suffix; others are told by what is in them.
SUFFIXES = (*TEXT, *COLUMNAR, *SHEETS, *NESTED, *DATABASES)
ROWS = 1 << 18
# How workbooks begin: packed, or as of old; and a file that is empty or was cut off.
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"")


@dataclass(frozen=True)
class Part:
    """One file, sheet or table: its columns, and how to read some of them, at once or in pieces.

    pieces   with a folder for what must be unpacked; without one, text that is packed comes as one piece
    uneven   where no header names the columns and each record names its own: those that only some records have
    """

    name: Path | str
    columns: list[str]
    read: Callable[[list[str]], pl.DataFrame]
    pieces: Callable[[list[str], Path | None], Iterator[pl.DataFrame]]
    head: Callable[[list[str], int], pl.DataFrame]
    uneven: frozenset[str] | None = None


def format_of(path: Path) -> str:
    """Return the suffix that tells the format: `.csv` for taps.csv and for taps.csv.gz."""
    name = path.name.lower()
    for packed in PACKED:
        if name.endswith(packed) and Path(name.removesuffix(packed)).suffix in (*TEXT, *NESTED):
            name = name.removesuffix(packed)
    suffix = Path(name).suffix
    if suffix == ".zip" and path.is_file():
        return Path(member_of(path) or name).suffix.lower()
    if suffix in SHEETS and path.is_file():
        with path.open("rb") as file:  # exports of tabs are often called .xls
            return suffix if file.read(4) in _WORKBOOKS else ".txt"
    return suffix


def open_part(place: Path | str, reading: Reading) -> Part:
    """Open one file, or one table of a database by its address, without reading its rows."""
    if isinstance(place, str) or format_of(place) in DATABASES:
        with readable(place, "database"):
            columns, pieces = open_database(database_address(place, reading.sheet))
        return Part(
            place,
            columns,
            lambda names: _joined(pieces(names), names),
            lambda names, _: pieces(names),
            lambda names, rows: next(pieces(names), _joined(iter(()), names)).head(rows),
        )
    kind = format_of(place)
    if kind in COLUMNAR:
        return _columnar(place)
    if kind in SHEETS:
        return _in_memory(place, "workbook", lambda: (_read_sheet(place, reading), None))
    if kind in NESTED:
        return _in_memory(place, kind[1:], lambda: read_nested(place))
    return _text(place, reading)


def _text(path: Path, reading: Reading) -> Part:
    with readable(path, "csv"):
        found = read_text(path, reading, n_rows=0 if reading.header else 1).columns
    # Versions of polars number the columns of a file without header from 0 or from 1.
    called = {name if reading.header else f"column_{at}": name for at, name in enumerate(found, start=1)}

    def chosen(table: pl.DataFrame, names: list[str]) -> pl.DataFrame:
        return table.select(pl.col(called[name]).alias(name) for name in names)

    def read(names: list[str]) -> pl.DataFrame:
        with readable(path, "csv"):
            return chosen(read_text(path, reading, [called[name] for name in names]), names)

    def pieces(names: list[str], folder: Path | None) -> Iterator[pl.DataFrame]:
        if folder is None and not is_plain(path, reading):
            yield read(names)
            return
        with readable(path, "csv"):
            plain = utf8_file(path, reading, folder or path.parent)
            lines = pl.scan_csv(plain, **csv_options(path, reading))
            wanted = [pl.col(called[name]).alias(name) for name in names]
            yield from lines.select(wanted).collect_batches(chunk_size=ROWS, maintain_order=True)
        if plain != path:
            plain.unlink()

    def head(names: list[str], rows: int) -> pl.DataFrame:
        with readable(path, "csv"):
            return chosen(read_text(path, reading, [called[name] for name in names], n_rows=rows), names)

    return Part(path, list(called), read, pieces, head)


def _columnar(path: Path) -> Part:
    def scan() -> pl.LazyFrame:
        # A folder may say a column: `service_date=2026-11-17`.
        rows = pl.scan_parquet(path, hive_partitioning=True) if is_parquet else pl.scan_ipc(path)
        return rows.select(each for name, kind in rows.collect_schema().items() for each in _flat(name, kind))

    is_parquet = format_of(path) == ".parquet"

    with readable(path, format_of(path)[1:]):
        if not is_parquet:
            require_lengths(path)
        columns = scan().collect_schema().names()

    def read(names: list[str]) -> pl.DataFrame:
        with readable(path, format_of(path)[1:]):
            text = pl.selectors.string().cast(pl.Categorical)
            return scan().select(names).with_columns(text).collect(engine="streaming")

    def head(names: list[str], rows: int) -> pl.DataFrame:
        with readable(path, format_of(path)[1:]):
            return scan().select(names).head(rows).collect()

    def pieces(names: list[str], _: Path | None) -> Iterator[pl.DataFrame]:
        with readable(path, format_of(path)[1:]):
            yield from scan().select(names).collect_batches(chunk_size=ROWS, maintain_order=True)

    return Part(path, columns, read, pieces, head)


def _flat(name: str, kind: Any, column: pl.Expr | None = None) -> Iterator[pl.Expr]:
    """Give a column, or the values inside it with dots in their names."""
    column = pl.col(name) if column is None else column
    if not isinstance(kind, pl.Struct):
        yield column.alias(name)
        return
    for field in kind.fields:
        yield from _flat(f"{name}.{field.name}", field.dtype, column.struct.field(field.name))


def _in_memory(path: Path, kind: str, load: Callable[[], tuple[pl.DataFrame, frozenset[str] | None]]) -> Part:
    with readable(path, kind):
        table, uneven = load()
        if not table.width:
            raise InputError("is empty", file=path, tells=EMPTY)

    def pieces(names: list[str], _: Path | None) -> Iterator[pl.DataFrame]:
        yield from table.select(names).iter_slices(ROWS)

    return Part(
        path,
        table.columns,
        lambda names: table.select(names),
        pieces,
        lambda names, rows: table.select(names).head(rows),
        uneven,
    )


def guess_sheet(path: Path, sheet: str | None = None) -> dict[str, Any]:
    """Return the lines before the header of a sheet; of several sheets, that of the fullest first rows, and those with
    the same header, apart by slashes.
    """
    with readable(path, "workbook"):
        book = _calamine().read_excel(str(path))
        names = book.sheet_names if sheet is None else _sheets(book, sheet, path)
        if not names:
            raise InputError("has no sheet", file=path, tells=EMPTY)
        tops = {
            name: pl.DataFrame(book.load_sheet(name, header_row=None, n_rows=50, dtypes="string"))
            for name in names
        }
    filled = {
        name: [sum(cell is not None for cell in row) for row in top.rows()] for name, top in tops.items()
    }
    best = max(names, key=lambda name: sum(filled[name]))
    widest = max(filled[best], default=0)
    skip = next((row for row, cells in enumerate(filled[best]) if cells > widest / 2), 0)
    head = [["" if cell is None else str(cell) for cell in row] for row in tops[best][skip : skip + 2].rows()]
    skip += len(head) == 2 and names_more(*head)
    alike = [
        name for name in names if widest and tops[name][skip : skip + 1].rows() == tops[best][skip].rows()
    ]
    return {"skip": skip, **({"sheet": "/".join(alike or [best])} if len(book.sheet_names) > 1 else {})}


def _sheets(book: Any, sheet: str | None, path: Path) -> list[str]:
    """Return the names of the sheets that are read: the first, one, or several apart by slashes."""
    names = (
        book.sheet_names[:1] if sheet is None else [sheet] if sheet in book.sheet_names else sheet.split("/")
    )
    for name in names:
        if name not in book.sheet_names:
            listed = ", ".join(book.sheet_names)
            raise InputError(f"has no sheet {name!r}; choose one of {listed}", file=path, tells=LAYOUT)
    return list(names)


def _read_sheet(path: Path, reading: Reading) -> pl.DataFrame:
    """Read sheets, every cell as its own text: no type is taken from the other cells of a column."""
    book = _calamine().read_excel(str(path))
    header = reading.skip if reading.header else None
    sheets = [
        pl.DataFrame(book.load_sheet(name, header_row=header, dtypes="string"))
        for name in _sheets(book, reading.sheet, path)
    ]
    table = pl.concat(sheets)
    # A clock in a cell of its own is one of day 0.
    table = table.with_columns(
        pl.selectors.string().str.replace(r"^1899-12-3[01][ T](\d\d:\d\d:\d\d)$", "$1")
    )
    return (
        table if reading.header else table.rename({n: f"column_{i + 1}" for i, n in enumerate(table.columns)})
    )


def _calamine():  # type: ignore[no-untyped-def]
    try:
        import fastexcel
    except ImportError as error:
        raise ParameterError("workbooks are read with fastexcel: pip install 'wayveil[excel]'") from error
    return fastexcel


def _joined(pieces: Iterator[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    parts = [piece.with_columns(pl.selectors.string().cast(pl.Categorical)) for piece in pieces]
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(names, pl.Categorical))


@contextmanager
def readable(path: Path | str, kind: str = "csv") -> Iterator[None]:
    """Turn what a library and the file system say about a bad file into one sentence."""
    try:
        yield
    except WayveilError:
        raise
    except pl.exceptions.NoDataError as error:
        raise InputError("is empty", file=path, tells=EMPTY) from error
    # Libraries have errors of many kinds, and polars panics, at some damaged files.
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        if "more fields" in reason:
            raise InputError(
                "has rows with more cells than its first line has: mend quotes and separators, or read it without the "
                "cells beyond (--with ragged=true)",
                file=path,
                tells=DAMAGED,
            ) from error
        raise InputError(
            f"is not a {kind} file, or is damaged ({reason})", file=path, tells=DAMAGED
        ) from error
