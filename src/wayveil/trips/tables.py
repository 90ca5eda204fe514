"""Tables of visits on disk or in memory: in, with text kept as codes and marks found; whole files out, never half."""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import DAMAGED, EMPTY, LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.files import whole_file
from wayveil.progress import step
from wayveil.trips.column_names import our_columns
from wayveil.trips.frames import Source, frame_of, source_name
from wayveil.trips.history import GOOD, MARKS_NAME, History, marks_in, marks_of, marks_text

_SEPARATORS = (",", ";", "\t", "|")
TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")
EXACT = 1 << 53  # up to here every whole number has a fraction of its own


def table_suffix(path: Path) -> str:
    """The suffix that tells the format: `.csv` for taps.csv and for taps.csv.gz."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def read_table(
    source: Source, columns: Mapping[str, str] | None, required: Sequence[str], optional: Sequence[str]
) -> pl.DataFrame:
    """The wanted columns of a parquet or csv file, or of a frame, under our names; text columns come as categories.

    `columns` maps our names to theirs. Categories hold 44 million ids in 4 bytes each and let every
    distinct value be parsed once.
    """
    return read_marked_table(source, columns, required, optional)[0]


def read_marked_table(
    source: Source, columns: Mapping[str, str] | None, required: Sequence[str], optional: Sequence[str]
) -> tuple[pl.DataFrame, frozenset[str]]:
    """A table as `read_table` gives it, and the marks that it carries, in a column or in the file's metadata."""
    frame, name = frame_of(source), source_name(source)
    if frame is None:
        require_file(Path(source))
    with step(f"Reading {name.name if isinstance(name, Path) else name}"):
        header = table_header(source)
        theirs = their_names(name, header, columns, [*required, *optional])
        missing = [repr(column) for column in required if column not in theirs]
        if missing:
            raise InputError(
                f"has no column {' and no column '.join(missing)}; its columns are {_listed(header)}"
                f"{_say_headless(header)}",
                file=name,
                tells=LAYOUT,
            )
        wanted = [*dict.fromkeys(theirs.values()), *[MARKS_NAME] * (MARKS_NAME in header)]
        table = _read(Path(source), wanted) if frame is None else tidy_columns(frame.read(wanted), name)
        table = table.head(_height_without_trailing_blanks(table))
        marks = _metadata_marks(name) if isinstance(name, Path) else frozenset()
        if MARKS_NAME in table.columns:
            marks = _marks_of_both(table[MARKS_NAME], marks)
        table = table.select(pl.col(their).alias(our) for our, their in theirs.items())
    if table.height == 0:
        raise InputError("has a header but no rows", file=name, tells=EMPTY)
    return table, marks


def require_file(path: Path) -> None:
    """Refuse early what is not a file with something in it."""
    if path.is_dir():
        raise InputError("is a folder, not a file of trips", file=path, tells=LAYOUT)
    if not path.exists():
        raise InputError("no such file", file=path, tells=LAYOUT)
    if path.stat().st_size == 0:
        raise InputError("is empty", file=path, tells=EMPTY)


def table_header(source: Source) -> list[str]:
    """The column names of a table."""
    frame = frame_of(source)
    if frame is not None:
        return frame.columns
    path = Path(source)
    with readable(path):
        if table_suffix(path) == ".parquet":
            return list(pl.read_parquet_schema(path))
        return pl.read_csv(path, separator=separator_of(path), n_rows=0, infer_schema=False).columns


def first_rows(source: Source, names: list[str], rows: int) -> pl.DataFrame:
    """The first rows of some columns, as text."""
    frame = frame_of(source)
    if frame is not None:
        return frame.read(names).head(rows).cast(pl.String)
    path = Path(source)
    with readable(path):
        if table_suffix(path) == ".parquet":
            table = pl.scan_parquet(path).select(names).head(rows).collect()
        else:
            table = pl.read_csv(
                path, separator=separator_of(path), columns=names, n_rows=rows, infer_schema=False
            )
    return table.cast(pl.String)


def _read(path: Path, names: list[str]) -> pl.DataFrame:
    with readable(path):
        if table_suffix(path) == ".parquet":
            text = pl.selectors.string().cast(pl.Categorical)
            columns = pl.scan_parquet(path).select(names).with_columns(text)
            return tidy_columns(columns.collect(engine="streaming"), path)
        as_codes = dict.fromkeys(names, pl.Categorical)
        return pl.read_csv(
            path, separator=separator_of(path), columns=names, schema_overrides=as_codes
        ).select(names)


def tidy_columns(table: pl.DataFrame, source: Path | str) -> pl.DataFrame:
    """Texts as categories. Fractions become texts too, 7.0 being "7": a gap in any row makes whole numbers fractions
    in many tools, and must not change how the other rows are read.
    """
    fraction, text = pl.selectors.float(), pl.selectors.string()
    large = table.select((fraction.abs().fill_nan(None) >= EXACT).any())
    inexact = [column.name for column in large if column[0]]
    if inexact:
        raise InputError(
            f"column {inexact[0]!r} holds fractions of {EXACT:,} and more, which are not exact; write ids as text",
            file=source,
            tells=DAMAGED,
        )
    whole = fraction.cast(pl.Int64, strict=False)
    number = fraction.fill_nan(None).cast(pl.String)
    return table.with_columns(
        pl.when(fraction == whole).then(whole.cast(pl.String)).otherwise(number).name.keep()
    ).with_columns(text.cast(pl.Categorical))


def file_marks(path: Path) -> frozenset[str]:
    """The marks that a file carries in a column or in its metadata, found without holding its rows."""
    if MARKS_NAME not in table_header(path):
        return _metadata_marks(path)
    with readable(path):
        if table_suffix(path) == ".parquet":
            table = pl.scan_parquet(path)
        else:
            lines = pl.scan_csv(path, separator=separator_of(path), infer_schema=False)
            table = lines.filter(pl.any_horizontal(pl.all().is_not_null()))
        column = table.select(pl.col(MARKS_NAME).unique()).collect(engine="streaming").to_series()
    return _marks_of_both(column, _metadata_marks(path))


def _marks_of_both(column: pl.Series, metadata: frozenset[str]) -> frozenset[str]:
    """The marks of a file whose rows carry some: what makes it safer is taken from the rows alone."""
    return marks_in(column) | (metadata - GOOD)


def _metadata_marks(path: Path) -> frozenset[str]:
    if table_suffix(path) != ".parquet":
        return frozenset()
    with readable(path):
        return marks_of([pl.read_parquet_metadata(path).get(MARKS_NAME, "")])


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what polars and the file system say about a bad file into one sentence."""
    kind = "parquet" if table_suffix(path) == ".parquet" else "csv"
    try:
        yield
    except pl.exceptions.NoDataError as error:
        raise InputError("is empty", file=path, tells=EMPTY) from error
    # Polars panics, rather than raising an error of its own, at some damaged parquet files.
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        EOFError,
        zlib.error,
        UnicodeDecodeError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"is not a {kind} file, or is damaged ({reason})", file=path, tells=DAMAGED
        ) from error


def separator_of(path: Path, *, spaces: bool = False) -> str:
    """The separator that the first line uses most; spaces are one where no other is used, if that is allowed."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        header = file.readline(1 << 16).decode("utf-8-sig")
    best = max(_SEPARATORS, key=header.count)
    return " " if spaces and not header.count(best) else best


def their_names(
    path: Path | str, header: Sequence[str], columns: Mapping[str, str] | None, wanted: Sequence[str]
) -> dict[str, str]:
    """Our name to theirs, for the wanted columns that the file has."""
    mapped = our_columns(columns, wanted)
    for our, their in mapped.items():
        if their not in header:
            raise InputError(
                f"has no column {their!r} to use as {our!r}; its columns are {_listed(header)}",
                file=path,
                tells=LAYOUT,
            )
    return {our: our for our in wanted if our in header and our not in mapped.values()} | mapped


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _say_headless(header: Sequence[str]) -> str:
    """No column is called by a number or a time: such a first row is no header."""
    data = any(re.fullmatch(r"[\d.:/ T+-]*\d[\d.:/ T+-]*", name) for name in header)
    return ". The first row looks like data: give the file a header" if data else ""


def _height_without_trailing_blanks(table: pl.DataFrame) -> int:
    """Blank lines at the end of a csv come as rows without any value; they are no visits."""
    height = table.height
    while height and all(value is None for value in table.row(height - 1)):
        height -= 1
    return height


def distinct_values(column: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """The distinct texts of a categorical column and, per row, the position of its text (-1 for none)."""
    distinct = column.drop_nulls().unique(maintain_order=True)
    codes = distinct.to_physical().to_numpy()
    position = np.full(int(codes.max()) + 2 if len(codes) else 1, -1, np.int32)
    position[codes] = np.arange(len(codes), dtype=np.int32)
    return distinct.cast(pl.String), position[
        column.to_physical().cast(pl.UInt32).fill_null(len(position) - 1).to_numpy()
    ]


def write_table(table: pl.DataFrame, path: Path, history: History) -> None:
    """Write a frame to .parquet, .csv or .tsv, whole or not at all, with its marks as a column and as metadata."""
    suffix, mark = table_suffix(path), marks_text(history)
    if suffix not in TABLE_SUFFIXES or path.suffix.lower() == ".gz":
        raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet or .csv")
    if mark is not None:
        table = table.with_columns(pl.lit(mark).alias(MARKS_NAME))
    with step(f"Writing {path.name}"), whole_file(path) as draft:
        if suffix == ".parquet":
            table.write_parquet(draft, metadata=None if mark is None else {MARKS_NAME: mark})
        else:
            table.write_csv(draft, separator="\t" if suffix == ".tsv" else ",")
