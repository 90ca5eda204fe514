"""Tables of visits on disk: parquet and csv in, with text kept as codes; whole files out, never half."""

import gzip
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError, ParameterError
from wayveil.progress import step

_SEPARATORS = (",", ";", "\t", "|")
TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")


def table_suffix(path: Path) -> str:
    """The suffix that tells the format: `.csv` for taps.csv and for taps.csv.gz."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def read_table(
    path: Path, columns: Mapping[str, str] | None, required: Sequence[str], optional: Sequence[str]
) -> pl.DataFrame:
    """The wanted columns of a parquet or csv file under our names; text columns come as categories.

    `columns` maps their names to ours. Categories hold 44 million ids in 4 bytes each and let every
    distinct value be parsed once.
    """
    require_file(path)
    with step(f"Reading {path.name}"):
        header = table_header(path)
        theirs = their_names(path, header, columns or {}, [*required, *optional])
        missing = [repr(name) for name in required if name not in theirs]
        if missing:
            raise InputError(
                f"has no column {' and no column '.join(missing)}; its columns are {_listed(header)}",
                file=path,
            )
        table = _read(path, list(theirs.values())).rename({their: our for our, their in theirs.items()})
    table = table.head(_height_without_trailing_blanks(table))
    if table.height == 0:
        raise InputError("has a header but no rows", file=path)
    return table


def require_file(path: Path) -> None:
    """Refuse early what is not a file with something in it."""
    if path.is_dir():
        raise InputError("is a folder, not a file of trips", file=path)
    if not path.exists():
        raise InputError("no such file", file=path)
    if path.stat().st_size == 0:
        raise InputError("is empty", file=path)


def table_header(path: Path) -> list[str]:
    """The column names of a table."""
    with _readable(path):
        if table_suffix(path) == ".parquet":
            return list(pl.read_parquet_schema(path))
        return pl.read_csv(path, separator=csv_separator(path), n_rows=0, infer_schema=False).columns


def _read(path: Path, names: list[str]) -> pl.DataFrame:
    with _readable(path):
        if table_suffix(path) == ".parquet":
            text = pl.selectors.string().cast(pl.Categorical)
            return pl.scan_parquet(path).select(names).with_columns(text).collect(engine="streaming")
        as_codes = dict.fromkeys(names, pl.Categorical)
        return pl.read_csv(
            path, separator=csv_separator(path), columns=names, schema_overrides=as_codes
        ).select(names)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what polars and the file system say about a bad file into one sentence."""
    kind = "parquet" if table_suffix(path) == ".parquet" else "csv"
    try:
        yield
    except pl.exceptions.NoDataError as error:
        raise InputError("is empty", file=path) from error
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"is not a {kind} file, or is damaged ({reason})", file=path) from error


def csv_separator(path: Path) -> str:
    """The separator that the header line uses most."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        header = file.readline(1 << 16).decode("utf-8-sig")
    return max(_SEPARATORS, key=header.count)


def their_names(
    path: Path, header: Sequence[str], columns: Mapping[str, str], wanted: Sequence[str]
) -> dict[str, str]:
    """Our name to theirs, for the wanted columns that the file has."""
    for their, our in columns.items():
        if our not in wanted:
            raise ParameterError(
                f"cannot map column {their!r} to {our!r}; the columns of visits are {', '.join(wanted)}"
            )
        if their not in header:
            raise InputError(
                f"has no column {their!r} to use as {our!r}; its columns are {_listed(header)}",
                file=path,
            )
    if len(set(columns.values())) < len(columns):
        raise ParameterError("the column map gives one of our columns two of theirs")
    named = {our: our for our in wanted if our in header and our not in columns}
    return named | {our: their for their, our in columns.items()}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when the block ends well, and is removed when it does not."""
    if not path.parent.is_dir():
        raise InputError("cannot be written: its folder does not exist", file=path)
    draft = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into that becomes `folder` when the block ends well, and is removed when it does not."""
    if not folder.parent.is_dir():
        raise InputError("cannot be written: its parent folder does not exist", file=folder)
    draft = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    draft.mkdir()
    try:
        yield draft
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
