"""Sequence files, one trip per line: MSNBC (`1 1 2`), SPMF (`1 -1 2 -1 -2`), comma and space lists.

Lines are counted as rows from 1, the first line after the header. A file may sit inside a zip or be gzipped.
"""

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import DAMAGED, EMPTY, LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.sources.categories import distinct_values
from wayveil.trips.findings import Findings
from wayveil.trips.matching import (
    OnUnknown,
    Repeats,
    assemble,
    check_options,
    match_stops,
    reading_history,
    universe_of,
)
from wayveil.trips.tables import require_file
from wayveil.trips.trips import Trips
from wayveil.world.world import World

SequenceFormat = Literal["auto", "msnbc", "spmf", "comma", "space"]

_COMMENTS = ("%", "#", "@")
_MSNBC_START = "% Sequences:"
_LOOK_AHEAD = 1 << 16


def read_sequences(
    path: str | Path,
    world: World | None = None,
    *,
    format: SequenceFormat = "auto",
    header_lines: int | None = None,
    universe_from_data: bool = False,
    on_unknown: OnUnknown = "error",
    repeats: Repeats = "keep",
    findings: Findings | None = None,
) -> Trips:
    """Read one trip per line; blank lines are no trips.

    `header_lines` are skipped and every line after them is a trip; without it, lines that begin like a comment (`%`,
    `#`, `@`) are no trips wherever they stand, nor is the preamble of an MSNBC file. The first line tells the format
    unless it is given. Trips with unknown locations are dropped only in a given format, because else one trip in
    another format, put first, would make all others unknown. A universe taken from the sequences themselves
    (`universe_from_data`) is for experiments only: it marks everything made from it as not private.
    """
    path = Path(path)
    check_options(world, universe_from_data, on_unknown, repeats)
    if format not in get_args(SequenceFormat):
        raise ParameterError(f"sequence formats are {', '.join(get_args(SequenceFormat))}, not {format!r}")
    if format == "auto" and on_unknown == "drop-trip":
        raise ParameterError(
            "to drop trips with unknown locations, say how the file is written: format='msnbc', 'spmf', 'comma' or "
            "'space'. Guessed from the first trip, the format of all would hang on that one"
        )
    findings = Findings(path, strict=True) if findings is None else findings
    with step(f"Reading {path.name}"):
        content = read_content(path)
        if format == "auto":
            format = sequence_format(content)
        lines = _lines(path, content, header_lines, format)
        row, symbol = _symbols(lines, format, findings)
        distinct, code = distinct_values(symbol.cast(pl.Categorical))
        world = universe_of(distinct) if world is None else world
        location = match_stops(distinct, code, world, findings, report_unknown=on_unknown == "error", row=row)
    starts = np.concatenate([[0], np.flatnonzero(row[1:] != row[:-1]) + 1, [len(row)]])
    trips = assemble(location, starts, world, reading_history(on_unknown, repeats))
    return trips.merged() if repeats == "merge" else trips


def read_content(path: Path) -> bytes:
    """The bytes of a sequence file: as they are, gunzipped, or the only data file of a zip."""
    require_file(path)
    if not zipfile.is_zipfile(path):
        if path.suffix.lower() == ".zip":
            raise InputError("is not a zip file, or is cut off", file=path, tells=DAMAGED)
        try:
            return gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
        except (OSError, EOFError, zlib.error) as error:
            raise InputError("is not a gzip file, or is damaged", file=path, tells=DAMAGED) from error
    try:
        with zipfile.ZipFile(path) as archive:
            names = data_names(archive)
            if len(names) != 1:
                found = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
                raise InputError(
                    f"should hold one file of sequences, but holds {found or 'none'}", file=path, tells=LAYOUT
                )
            return archive.read(names[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise InputError(f"is a damaged zip file ({error})", file=path, tells=DAMAGED) from error


def data_names(archive: zipfile.ZipFile) -> list[str]:
    """The files of a zip without folders, hidden files and what macOS adds."""
    parts = ((name, name.split("/")) for name in archive.namelist() if not name.endswith("/"))
    return [name for name, path in parts if path[0] != "__MACOSX" and not path[-1].startswith(".")]


def sequence_format(content: bytes) -> SequenceFormat:
    """The format, judged by the head of a file."""
    lines = content[:_LOOK_AHEAD].decode("utf-8-sig", errors="replace").splitlines()
    if any(line.startswith(_MSNBC_START) for line in lines):
        return "msnbc"
    line = next((line for line in lines if line.strip()[:1] not in ("", *_COMMENTS)), "")
    if line.split()[-1:] == ["-2"]:
        return "spmf"
    return "comma" if "," in line else "space"


def _lines(path: Path, content: bytes, header_lines: int | None, format: SequenceFormat) -> pl.Series:
    """The lines after the header, blank ones included."""
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError("is not a text file of sequences in UTF-8", file=path, tells=DAMAGED) from error
    comments = header_lines is None
    if header_lines is None:
        header_lines = 0
        if format == "msnbc":
            marked = (i + 1 for i, line in enumerate(lines[:_LOOK_AHEAD]) if line.startswith(_MSNBC_START))
            header_lines = next(marked, 0)
        while header_lines < len(lines) and lines[header_lines].strip()[:1] in ("", *_COMMENTS):
            header_lines += 1
    series = pl.Series("line", lines[header_lines:], dtype=pl.String).str.strip_chars()
    if comments:
        # Wherever it stands: a comment that only counts as one at the head would hang on the trips before it.
        comment = series.str.slice(0, 1).is_in(list(_COMMENTS))
        series = (
            series.to_frame().select(pl.when(~comment).then(pl.first()).otherwise(pl.lit(""))).to_series()
        )
    if not (series != "").any():
        raise InputError("has no sequence in it", file=path, tells=EMPTY)
    return series


def _symbols(
    lines: pl.Series, format: SequenceFormat, findings: Findings
) -> tuple[NDArray[np.int64], pl.Series]:
    """Every symbol of every line, and the row (0-based) of each."""
    table = pl.DataFrame({"line": lines}).with_row_index("row").filter(pl.col("line") != "")
    if format == "comma":
        split = pl.col("line").str.split(",").list.eval(pl.element().str.strip_chars())
    else:
        split = pl.col("line").str.extract_all(r"\S+")
    table = table.select(pl.col("row").cast(pl.Int64), symbol=split).explode("symbol")
    if format == "spmf":
        table = _spmf_items(table, findings)
    elif format == "comma":
        gaps = np.flatnonzero((table["symbol"] == "").to_numpy())
        row = table["row"].to_numpy()
        findings.rows("lines with an empty symbol", row[gaps], lambda row: "has nothing between two commas")
        table = table.filter(pl.col("symbol") != "")
    return table["row"].to_numpy(), table["symbol"]


def _spmf_items(table: pl.DataFrame, findings: Findings) -> pl.DataFrame:
    """The items of SPMF lines: -1 ends an itemset, which here is one location, and -2 ends the line."""
    symbol, row = pl.col("symbol"), pl.col("row")
    table = table.with_columns(last=(row != row.shift(-1)).fill_null(True), item=~symbol.is_in(["-1", "-2"]))
    unended = table.filter(pl.col("last") != (symbol == "-2"))["row"].unique(maintain_order=True)
    findings.rows(
        "lines that -2 does not end",
        unended.to_numpy(),
        lambda row: "does not end in -2, or goes on after it",
    )
    crowded = table.filter(pl.col("item") & pl.col("item").shift(-1) & ~pl.col("last"))["row"]
    findings.rows(
        "lines with several items at once",
        crowded.unique(maintain_order=True).to_numpy(),
        lambda row: "has two items without -1 between them; a trip visits one location at a time",
    )
    return table.filter("item")
