"""Finding and reading the tables of a GTFS feed, in a zip file or a folder, as columns of text."""

import csv
import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import polars as pl

from wayveil.errors import InputError

# What a feed may unpack to. The largest national feeds have a few dozen tables and some 3 GB of text that packs 5 to 30
# times smaller; a zip far beyond that was made to fill memory.
MOST_MEMBERS = 1_000
MOST_BYTES = 8 << 30
MOST_RATIO = 200
SMALL = 1 << 20  # bytes; below, any ratio will do

REQUIRED = ("stops", "routes", "trips", "stop_times")
_UNPACKING_FAILS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


class Feed:
    """A GTFS feed whose tables are read one at a time, only the columns that are asked for.

    Tolerated, as they all happen: a folder inside the zip, byte-order marks, CRLF, columns in any order or
    that nobody asked for, blanks around names, and tables in Windows-1252 or UTF-16 (noted in `warnings`).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.warnings: list[str] = []
        if not self.path.exists():
            raise InputError(
                "no such file or folder; give a GTFS zip file or the folder it was unpacked to", file=path
            )
        self._members = self._find_tables()
        missing = [f"{table}.txt" for table in REQUIRED if table not in self._members]
        if missing:
            raise InputError(f"is not a GTFS feed: it has no {', no '.join(missing)}", file=path)

    def warn(self, count: int, noun: str, fact: str) -> None:
        """Note something odd that was met `count` times."""
        if count > 0:
            self.warnings.append(f"{count:,} {noun}{'' if count == 1 else 's'} {fact}")

    def has(self, table: str) -> bool:
        """Tell whether the feed has this table."""
        return table in self._members

    def read(self, table: str, required: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
        """The named columns of a table as text, in the order of the file; optional ones may be all null."""
        raw = self._text(table).lstrip()
        first = raw[:65_536].split(b"\n", 1)[0].decode("utf-8", "replace")
        try:
            header = next(csv.reader(io.StringIO(first)), [])
        except csv.Error as error:
            raise InputError(f"{table}.txt has no readable header ({error})", file=self.path) from error
        position = {name.strip().strip('"').lower(): at for at, name in reversed(list(enumerate(header)))}
        missing = [column for column in required if column not in position]
        if missing:
            raise InputError(f"{table}.txt has no column {', '.join(missing)}", file=self.path)
        # By position, because names may carry blanks or be repeated; in the order of the file, because not
        # every version of polars keeps another one.
        wanted = sorted(position.keys() & {*required, *optional}, key=position.__getitem__)
        try:
            frame = pl.read_csv(
                raw,
                infer_schema=False,
                columns=[position[name] for name in wanted],
                truncate_ragged_lines=True,
            )
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{table}.txt is not a readable table ({reason})", file=self.path) from error
        frame.columns = wanted
        blank_lines = pl.all_horizontal(pl.all().is_null())
        absent = [pl.lit(None, pl.String).alias(name) for name in optional if name not in position]
        return frame.filter(~blank_lines).with_columns(absent)

    def read_small(self, table: str, required: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
        """Like `read`, with blanks around values removed and empty values null; too slow for stop_times."""
        frame = self.read(table, required, optional)
        stripped = pl.all().str.strip_chars()
        return frame.select(pl.when(stripped != "").then(stripped))

    def _sizes(self) -> dict[str, int]:
        """Every file of the feed with its size in bytes."""
        if self.path.is_dir():
            files = [p for pattern in ("*.txt", "*/*.txt") for p in self.path.glob(pattern)]
            return {p.relative_to(self.path).as_posix(): p.stat().st_size for p in files}
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, OSError) as error:
            with self.path.open("rb") as file:
                looks_like_zip = file.read(2) == b"PK"
            problem = (
                "is a zip file that was cut off or damaged; fetch it again"
                if looks_like_zip
                else "is not a zip file; give a GTFS zip file or the folder it was unpacked to"
            )
            raise InputError(problem, file=self.path) from error
        self._check_limits(members)
        return {item.filename: item.file_size for item in members}

    def _check_limits(self, members: list[zipfile.ZipInfo]) -> None:
        """Refuse a zip that would fill memory, by what it says of itself; what it unpacks to is held to that."""
        if len(members) > MOST_MEMBERS:
            raise InputError(
                f"holds {len(members):,} files; a feed has at most {MOST_MEMBERS:,}", file=self.path
            )
        total = sum(item.file_size for item in members)
        if total > MOST_BYTES:
            raise InputError(
                f"would unpack to {total / 2**30:,.1f} GB; a feed has at most {MOST_BYTES / 2**30:,.0f} GB. Unpack it "
                f"yourself and give the folder if that is right",
                file=self.path,
            )
        for item in members:
            if item.file_size > SMALL and item.file_size > MOST_RATIO * max(item.compress_size, 1):
                raise InputError(
                    f"{item.filename} would unpack to more than {MOST_RATIO} times its size, which no timetable does",
                    file=self.path,
                )

    def _find_tables(self) -> dict[str, str]:
        """The tables by name. An optional table without a single byte is as good as none."""
        sizes = {name: size for name, size in self._sizes().items() if not name.startswith("__MACOSX/")}
        names = [name for name, size in sizes.items() if size or PurePosixPath(name).stem.lower() in REQUIRED]
        homes = {
            str(PurePosixPath(name).parent)
            for name in names
            if PurePosixPath(name).name.lower() == "stop_times.txt"
        }
        if not homes:
            homes = {"."}
        shallow = min(home.count("/") + (home != ".") for home in homes)
        nearest = sorted(home for home in homes if home.count("/") + (home != ".") == shallow)
        if len(nearest) > 1:
            raise InputError(
                f"holds {len(nearest)} feeds ({', '.join(nearest)}); give one of them", file=self.path
            )
        inside = [name for name in names if str(PurePosixPath(name).parent) == nearest[0]]
        return {PurePosixPath(name).stem.lower(): name for name in inside if name.lower().endswith(".txt")}

    def _text(self, table: str) -> bytes:
        member = self._members[table]
        try:
            if self.path.is_dir():
                raw = (self.path / member).read_bytes()
            else:
                with zipfile.ZipFile(self.path) as archive:
                    raw = archive.read(member)
        except _UNPACKING_FAILS as error:
            problem = f"{member} cannot be unpacked ({error}); fetch the file again"
            raise InputError(problem, file=self.path) from error
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.warnings.append(f"{table}.txt is in UTF-16 instead of UTF-8.")
            return raw.decode("utf-16", "replace").encode()
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw.isascii():
            try:
                raw.decode()
            except UnicodeDecodeError:
                self.warnings.append(f"{table}.txt is not in UTF-8; it was read as Windows-1252.")
                raw = raw.decode("cp1252", "replace").encode()
        if not raw or raw.isspace():
            raise InputError(f"{table}.txt is empty", file=self.path)
        return raw
