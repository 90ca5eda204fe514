"""`open_table`: files, a folder, a pattern of names or a database as one table under our names."""

import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import commonpath
from pathlib import Path

import polars as pl

from wayveil.disclosures import BAD_ROW, LAYOUT
from wayveil.errors import InputError
from wayveil.sources.bad_rows import apply_rules
from wayveil.sources.canonical import canonical
from wayveil.sources.cells import JOINT, joined
from wayveil.sources.column_names import WORDS, our_columns
from wayveil.sources.databases import database_address, is_address
from wayveil.sources.dialects import is_data
from wayveil.sources.formats import SUFFIXES, Part, format_of, open_part
from wayveil.sources.moments import of_one_form, with_text_times
from wayveil.sources.reading import Reading
from wayveil.world.world import World

Place = Path | str
# Rows that tell what columns are.
LOOKED_AT = 50_000
# The table of rows in a package of TIDES.
TIDES = "fare_transactions"
# What the places of a track are read as, whatever a record calls its other values.
OF_TRACKS = ("event_time", "lat", "lon")
# The column of marks (trips/history.py), which one record may carry: what it warns of holds for all.
MARKS = "wayveil_marks"
# Files beside tables that tell about them.
_ABOUT = re.compile(r"readme|licen[cs]e|datapackage|metadata|dictionary|changelog")
# What a map says where a column is the name of the file: whose rows they are, or of which trip.
FILE = "(file)"
# What a map says where a column that bears our name means something else, and is not read.
NOTHING = "(none)"


@dataclass(frozen=True, eq=False)
class SourceTable:
    """Files that together are one table: its columns under our names, read as `reading` says, each row by itself."""

    parts: tuple[Part, ...]
    reading: Reading
    world: World | None = None

    @property
    def name(self) -> Path | str:
        """Return what errors call it."""
        first = self.parts[0].name
        if len(self.parts) == 1:
            return first
        return f"{len(self.parts)} files of {Path(first).parent}"

    @cached_property
    def theirs(self) -> dict[str, str]:
        """Map ours to theirs, for the columns that are mapped or bear our names."""
        said = our_columns(self.reading.columns, WORDS)
        header = [name for name in self.parts[0].columns if said.get(name) != NOTHING]
        given = {our: their for our, their in said.items() if their != NOTHING}
        for our, their in given.items():
            if their not in (*header, FILE):
                listed = ", ".join(map(repr, header))
                raise InputError(
                    f"has no column {their!r} to use as {our!r}; its columns are {listed}",
                    file=self.parts[0].name,
                    tells=LAYOUT,
                )
        stems = [_stem(part) for part in self.parts]
        if given.get("trip_id") == FILE and len(set(stems)) < len(stems):
            raise InputError(
                "has two files of one name, which would be one trip; rename them",
                file=self.name,
                tells=LAYOUT,
            )
        if given and self.parts[0].uneven is not None:
            header = [name for name in header if name in (*OF_TRACKS, MARKS)]
        uneven = self.uneven & set(header) - {*given.values(), MARKS}
        if uneven:
            name = min(uneven)
            raise InputError(
                f"has records with {name!r} and records without, and no header says what is meant: name all columns "
                f"that count (--map ours={name}; `wayveil check --save` writes them)",
                file=self.name,
                tells=BAD_ROW,
            )
        same = {name: name for name in header if name not in given and name not in given.values()}
        return {**same, **given}

    @property
    def uneven(self) -> set[str]:
        """Return the columns that only some records have: one record more could bring in a column for all of them."""
        return {name for part in self.parts for name in part.uneven or ()}

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that `read` can give: ours where mapped, else theirs."""
        hidden = self.reading.hidden
        made = [our for our in self.reading.made if our not in self.theirs]
        return [*(name for name in self.theirs if name not in hidden), *made]

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        """Read some of the columns of all files, without the rows that the rules for bad rows drop."""
        wanted = self.columns if self.reading.rules else names
        tables = [self._rewritten(part, part.read(self._needed(wanted)), wanted) for part in self.parts]
        if len({tuple(table.dtypes) for table in tables}) > 1:
            tables = list(map(with_text_times, tables))
        table = tables[0] if len(tables) == 1 else pl.concat(tables, how="vertical_relaxed")
        return self._without_bad(table, names)

    def pieces(self, names: Sequence[str], folder: Path | None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Read some of the columns piece by piece; each piece comes with the number of its file. Packed text needs a
        folder to be read in more than one.
        """
        wanted = self.columns if self.reading.rules else names
        for number, part in enumerate(self.parts):
            for piece in part.pieces(self._needed(wanted), folder):
                yield number, self._without_bad(self._rewritten(part, piece, wanted), names)

    def head(self, rows: int = LOOKED_AT) -> pl.DataFrame:
        """Read the first rows of all files under their own names, to look at them."""
        each = -(-rows // len(self.parts))
        header = [name for name in self.parts[0].columns if all(name in part.columns for part in self.parts)]
        return pl.concat([part.head(header, each) for part in self.parts], how="vertical_relaxed")

    def column(self, name: str) -> pl.Series:
        """Read one column of all files under its own name."""
        return pl.concat([part.read([name]) for part in self.parts], how="vertical_relaxed").to_series()

    def _without_bad(self, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Return what the rules for bad rows leave; who reads no trips has rows that belong to none."""
        return apply_rules(table, self.reading.rules, self.world, of_trips="trip_id" in names).select(names)

    def _needed(self, names: Sequence[str]) -> list[str]:
        wanted = {need for name in names for need in self.reading.needs(name) if need in self.theirs}
        return list(
            dict.fromkeys(their for our, their in self.theirs.items() if our in wanted and their != FILE)
        )

    def _rewritten(self, part: Part, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        there = {our: their for our, their in self.theirs.items() if their in table.columns}
        named = [our for our, their in self.theirs.items() if their == FILE and our in names]
        table = table.select(
            *(pl.col(their).alias(our) for our, their in there.items()),
            *(pl.lit(_stem(part)).alias(our) for our in named),
        )
        return of_one_form(canonical(table, self.reading, self.world).select(names))


def _stem(part: Part) -> str:
    return Path(part.name).name.partition(".")[0]


def open_table(
    places: Sequence[Place], reading: Reading | None = None, world: World | None = None
) -> SourceTable:
    """Open files that together are one table; all have the same columns."""
    reading = Reading() if reading is None else reading
    parts = tuple(_under_one_name(open_part(place, reading), reading) for place in places)
    if reading.ragged and not reading.header:  # the first line of one file may be longer than that of another
        fewest = min(len(part.columns) for part in parts)
        parts = tuple(replace(part, columns=part.columns[:fewest]) for part in parts)
    needed = set(reading.columns.values()) | set(WORDS) if reading.columns else set(parts[0].columns)
    for part in parts[1:]:
        lacking = [name for name in parts[0].columns if name not in part.columns and name in needed]
        if lacking:
            if len(part.columns) == len(parts[0].columns) and is_data(part.columns):
                raise InputError(
                    f"begins with a row and no header, as files do that were cut from one: join them (cat "
                    f"{parts[0].name} {part.name} ... > whole.csv), and give the whole",
                    file=part.name,
                    tells=LAYOUT,
                )
            alike = " ".join(f"'{each.name}'" for each in parts if each.columns == parts[0].columns)
            raise InputError(
                f"has no column {lacking[0]!r}, which {parts[0].name} has; files of one table have the same columns: "
                f"name those that belong together, like wayveil check {alike}",
                file=part.name,
                tells=LAYOUT,
            )
    return SourceTable(parts, reading, world)


def _under_one_name(part: Part, reading: Reading) -> Part:
    """Return a part whose columns are called as the plan calls them (`A|B`): its own names are among these."""
    part = with_joints(part, [name for name in reading.columns.values() if JOINT in name])
    own = {
        said: name
        for said in reading.columns.values()
        for name in said.split("|")
        if said not in part.columns and name in part.columns
    }
    said = {name: each for each, name in own.items()}

    def renamed(table: pl.DataFrame) -> pl.DataFrame:
        return table.rename({name: said[name] for name in table.columns if name in said})

    def theirs(names: list[str]) -> list[str]:
        return [own.get(name, name) for name in names]

    return (
        replace(
            part,
            columns=[said.get(name, name) for name in part.columns],
            read=lambda names: renamed(part.read(theirs(names))),
            pieces=lambda names, folder: map(renamed, part.pieces(theirs(names), folder)),
            head=lambda names, rows: renamed(part.head(theirs(names), rows)),
        )
        if own
        else part
    )


def with_joints(part: Part, names: Sequence[str]) -> Part:
    """Return a part with columns that are made of several of its own (see `cells`), where it has these."""
    made = [name for name in names if name not in part.columns and set(name.split(JOINT)) <= {*part.columns}]

    def own(names: list[str]) -> list[str]:
        return list(
            dict.fromkeys(each for name in names for each in (name.split(JOINT) if name in made else [name]))
        )

    def whole(table: pl.DataFrame, names: list[str]) -> pl.DataFrame:
        return table.with_columns(joined(table, name) for name in names if name in made).select(names)

    return (
        replace(
            part,
            columns=[*part.columns, *made],
            read=lambda names: whole(part.read(own(names)), names),
            pieces=lambda names, folder: (whole(piece, names) for piece in part.pieces(own(names), folder)),
            head=lambda names, rows: whole(part.head(own(names), rows), names),
        )
        if made
        else part
    )


def expand_places(given: Sequence[str | Path]) -> list[Place]:
    """Return the files that names, folders and patterns stand for, in the order of the numbers in their names."""
    found: list[Place] = []
    for each in given:
        text, path = str(each), Path(each)
        if is_address(text):
            found.append(text)
        elif path.is_dir():
            found += files_in(path)
        elif glob.has_magic(text) and not path.exists():
            matched = sorted((Path(name) for name in glob.glob(text, recursive=True)), key=_natural)
            if not matched:
                raise InputError("no file is called like that", file=text, tells=LAYOUT)
            found += [path for path in matched if path.is_file()]
        else:
            found.append(path)
    return found


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that together are one table; of a package of TIDES, its transactions."""
    inside = sorted((path for path in folder.rglob("*") if _is_table(path, folder)), key=_natural)
    if not inside:
        raise InputError("is a folder without a file of rows", file=folder, tells=LAYOUT)
    tides = [path for path in inside if path.name.partition(".")[0] == TIDES]
    kinds = {format_of(path) for path in inside}
    if tides or ".plt" in kinds:  # GeoLife has labels beside its tracks
        return tides or [path for path in inside if format_of(path) == ".plt"]
    if len(kinds) > 1:
        raise InputError(
            "has files of several formats; say which are the rows: "
            + " or ".join(f"wayveil check '{folder}/**/*{kind}'" for kind in sorted(kinds)),
            file=folder,
            tells=LAYOUT,
        )
    return inside


def dataset_name(given: Sequence[str | Path]) -> str:
    """Return what the ledger calls rows that nobody named: by their file, folder, table, or what patterns share."""
    first = str(given[0])
    if is_address(first):
        return database_address(first).name
    if len(given) == 1 and not glob.has_magic(first):
        return Path(first).name
    shared = commonpath([Path(each).name for each in given]) if len(given) > 1 else Path(first).name
    folders = (part for part in reversed(Path(first).absolute().parts[:-1]) if not glob.has_magic(part))
    return re.split(r"[*?\[]", shared)[0].strip("-_. ") or next(folders)


def _is_table(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    told = hidden or _ABOUT.search(path.name.lower()) is not None
    return path.is_file() and not told and format_of(path) in SUFFIXES


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    parts = re.split(r"(\d+)", str(path))
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]
