"""Tables of visits on disk or in memory: in, with text kept as codes and marks found; whole files out, never half."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from wayveil.disclosures import DAMAGED, EMPTY, LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.files import whole_file
from wayveil.progress import step
from wayveil.sources.bad_rows import changes_trips, require_rules
from wayveil.sources.column_names import our_columns
from wayveil.sources.formats import format_of, open_part, readable
from wayveil.sources.frames import Source, frame_of, source_name
from wayveil.sources.opening import SourceTable
from wayveil.sources.reading import Reading
from wayveil.sources.text_files import separator_of
from wayveil.trips.history import (
    GOOD,
    MARKS_NAME,
    MERGED,
    PER_TRIP,
    History,
    marks_in,
    marks_of,
    marks_text,
    marks_together,
)

TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")
EXACT = 1 << 53  # up to here every whole number has a fraction of its own


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
        read = open_part(Path(source), Reading()).read if frame is None else frame.read
        table = tidy_columns(read(wanted), name)
        table = table.head(_height_without_trailing_blanks(table))
        marks = _metadata_marks(name) if isinstance(name, Path) else frozenset()
        if isinstance(source, SourceTable):
            marks = marks_together(_metadata_marks(part.name) for part in source.parts)
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
    return open_part(Path(source), Reading()).columns if frame is None else frame.columns


def first_rows(source: Source, names: list[str], rows: int) -> pl.DataFrame:
    """The first rows of some columns, as text."""
    frame = frame_of(source)
    read = open_part(Path(source), Reading()).read if frame is None else frame.read
    return read(names).head(rows).cast(pl.String)


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
        if format_of(path) == ".parquet":
            table = pl.scan_parquet(path)
        else:
            lines = pl.scan_csv(path, separator=separator_of(path), infer_schema=False)
            table = lines.filter(pl.any_horizontal(pl.all().is_not_null()))
        column = table.select(pl.col(MARKS_NAME).unique()).collect(engine="streaming").to_series()
    return _marks_of_both(column, _metadata_marks(path))


def table_marks(table: SourceTable) -> frozenset[str]:
    """The marks that the files of a table carry together."""
    marks = [_metadata_marks(part.name) for part in table.parts]
    if MARKS_NAME not in table.columns:
        return marks_together(marks)
    column = table.read([MARKS_NAME]).to_series()
    return _marks_of_both(column, marks_together(marks))


def table_history(table: SourceTable) -> History:
    """Return what reading does to the rows of a table, and the marks that its files carry."""
    return rules_history(table, History(marks=table_marks(table)))


def rules_history(source: Source, history: History) -> History:
    """A history with what the rules for bad rows do: some drop a whole trip for one of its rows, or move a visit."""
    rules = require_rules(source.reading.rules) if isinstance(source, SourceTable) else {}
    if "duplicate" in rules and "seq" not in source.columns:
        history = history.then(MERGED)
    return history.then(PER_TRIP) if changes_trips(rules) else history


def _marks_of_both(column: pl.Series, metadata: frozenset[str]) -> frozenset[str]:
    """The marks of a file whose rows carry some: what makes it safer is taken from the rows alone."""
    return marks_in(column) | (metadata - GOOD)


def _metadata_marks(path: Path | str) -> frozenset[str]:
    if isinstance(path, str) or format_of(path) != ".parquet":
        return frozenset()
    with readable(path):
        return marks_of([pl.read_parquet_metadata(path).get(MARKS_NAME, "")])


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
    while height and all(column.slice(height - 1, 1).null_count() for column in table):
        height -= 1
    return height


def write_table(table: pl.DataFrame, path: Path, history: History) -> None:
    """Write a frame to .parquet, .csv or .tsv, whole or not at all, with its marks as a column and as metadata."""
    suffix, mark = format_of(path), marks_text(history)
    if suffix not in TABLE_SUFFIXES or path.suffix.lower() == ".gz":
        raise ParameterError(f"cannot tell the format of {path}: end its name in .parquet or .csv")
    if mark is not None:
        table = table.with_columns(pl.lit(mark).alias(MARKS_NAME))
    with step(f"Writing {path.name}"), whole_file(path) as draft:
        if suffix == ".parquet":
            table.write_parquet(draft, metadata=None if mark is None else {MARKS_NAME: mark})
        else:
            table.write_csv(draft, separator="\t" if suffix == ".tsv" else ",")
