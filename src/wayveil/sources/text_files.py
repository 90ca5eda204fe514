"""csv files of any encoding, separator and compression, as tables of text."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.reading import Reading

PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
# Packed text that polars unpacks by itself.
_BY_POLARS = (".gz", ".zst")


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file that may be packed, to read its bytes."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix == ".xz":
        return lzma.open(path, "rb")
    if suffix == ".zst":
        return _open_zst(path)
    if suffix == ".zip":
        return _only_member(path)
    return path.open("rb")


def read_text(
    path: Path, reading: Reading, columns: Sequence[str] | None = None, **options: Any
) -> pl.DataFrame:
    """Read columns of a csv, all as text (or as `options` of polars say)."""
    columns = None if columns is None else list(columns)
    return pl.read_csv(_content(path, reading), columns=columns, **{**csv_options(path, reading), **options})


def csv_options(path: Path, reading: Reading) -> dict[str, Any]:
    """Return the options of polars that read a csv as the plan says, every cell as text."""
    return {
        "separator": separator_for(path, reading),
        "quote_char": reading.quote,
        "skip_lines": reading.skip,
        "has_header": reading.header,
        "truncate_ragged_lines": reading.ragged,
        "eol_char": "\r" if reading.line_ends == "cr" else "\n",
        "infer_schema": False,
    }


def separator_for(path: Path, reading: Reading) -> str:
    """Return the separator that the plan says, or the one that the header uses most."""
    return reading.separator or separator_of(path, spaces=not reading.header)


def separator_of(path: Path, *, spaces: bool = False) -> str:
    """Return the separator that the first line uses most; spaces where no other is used, if that is allowed."""
    with open_bytes(path) as file:
        header = file.readline(1 << 16).decode("utf-8-sig")
    best = max(",;\t|", key=header.count)
    return " " if spaces and not header.count(best) else best


def utf8_file(path: Path, reading: Reading, folder: Path) -> Path:
    """Return a file of plain UTF-8 with the same text: the file itself, or one in the folder."""
    if is_plain(path, reading):
        return path
    target = folder / "unpacked.csv"
    with open_bytes(path) as file, target.open("w", encoding="utf-8", newline="") as out:
        text = io.TextIOWrapper(file, reading.encoding, newline="")
        while chunk := text.read(1 << 22):
            out.write(chunk)
    return target


def is_plain(path: Path, reading: Reading) -> bool:
    """Tell whether a file is UTF-8 and not packed."""
    return path.suffix.lower() not in PACKED and _is_utf8(reading.encoding)


def _content(path: Path, reading: Reading) -> Path | bytes:
    suffix = path.suffix.lower()
    if _is_utf8(reading.encoding) and (suffix in _BY_POLARS or suffix not in PACKED):
        return path
    with open_bytes(path) as file:
        raw = file.read()
    return raw if _is_utf8(reading.encoding) else raw.decode(reading.encoding).removeprefix("\ufeff").encode()


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")


def member_of(path: Path) -> str | None:
    """Return the name of the only table in an archive; None where there is none, or several."""
    try:
        names = [
            name
            for name in zipfile.ZipFile(path).namelist()
            if not name.endswith("/") and not _is_extra(name)
        ]
    except (zipfile.BadZipFile, OSError, ValueError):
        return None
    if len(names) > 1:
        names = [name for name in names if name.lower().endswith((".csv", ".tsv"))]
    return names[0] if len(names) == 1 else None


def _only_member(path: Path) -> IO[bytes]:
    archive, name = zipfile.ZipFile(path), member_of(path)
    if name is None:
        folder = path.name.partition(".")[0]
        raise InputError(
            f"holds {len(archive.namelist())} files, and not just one table: unpack it, and give the folder: python -m "
            f"zipfile -e {path} {folder} && wayveil check {folder}",
            file=path,
            tells=LAYOUT,
        )
    return archive.open(name)


def _is_extra(name: str) -> bool:
    return name.startswith("__MACOSX") or Path(name).name.startswith(".")


def _open_zst(path: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise ParameterError("files packed with zstd are looked at with: pip install zstandard") from error
    return io.BufferedReader(zstandard.open(path, "rb"))
