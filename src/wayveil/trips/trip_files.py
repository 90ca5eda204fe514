"""Trips that stay in their files: what they are and where, before anything is read.

Files of visits as `visits` describes them, Parquet or csv, in any number of parts that together are one table: a trip
may go on in the next part. Engines that count without holding trips in memory read them piece by piece.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.formats import format_of
from wayveil.sources.opening import SourceTable
from wayveil.trips.history import History, marks_together
from wayveil.trips.matching import OnUnknown, check_options, reading_history
from wayveil.trips.tables import (
    TABLE_SUFFIXES,
    file_marks,
    require_file,
    table_header,
    table_history,
    their_names,
)
from wayveil.trips.visits import OPTIONAL, REQUIRED, column_map
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class TripFiles:
    """Files of visits over a public world, not read yet.

    >>> files = wv.TripFiles.at(folder / "trips.parquet", city)
    >>> len(files.paths)
    1

    paths       the parts, in order
    columns     maps the files' names of columns to ours
    table       the same as a table whose rows are rewritten one by one, where the files are not as ours are
    on_unknown  what becomes of a trip with a stop that the world lacks
    """

    paths: tuple[Path, ...]
    world: World
    columns: Mapping[str, str] = field(default_factory=dict)
    on_unknown: OnUnknown = "error"
    table: SourceTable | None = None

    @classmethod
    def of_table(cls, table: SourceTable, world: World) -> "TripFiles":
        """Files as other people write them, their rows rewritten as the plan says."""
        files = cls(tuple(Path(str(part.name)) for part in table.parts), world, table=table)
        files._require(table.name, list(files.names), table.columns)
        return files

    @classmethod
    def at(
        cls,
        path: str | Path | Sequence[str | Path],
        world: World,
        *,
        columns: Mapping[str, str] | None = None,
        on_unknown: OnUnknown = "error",
    ) -> "TripFiles":
        """One file, a folder of parts (in the order of their names), or several files."""
        check_options(world, False, on_unknown, "keep")
        given = [path] if isinstance(path, str | Path) else list(path)
        paths: list[Path] = []
        for each in map(Path, given):
            paths += trip_parts(each) if each.is_dir() else [each]
        if not paths:
            raise ParameterError("there is no file to read trips from")
        kinds = {format_of(each) for each in paths}
        if len(kinds) > 1 or not kinds <= set(TABLE_SUFFIXES):
            raise InputError(
                "trips are read in pieces from Parquet or from csv files, all of one kind; "
                "sequence files are read into memory",
                file=paths[0],
                tells=LAYOUT,
            )
        for each in paths:
            require_file(each)
        named = column_map(paths[0], table_header(paths[0]), columns)
        files = cls(tuple(paths), world, dict(named), on_unknown)
        files._check_headers()
        return files

    @property
    def parquet(self) -> bool:
        return self.table is None and format_of(self.paths[0]) == ".parquet"

    @property
    def bytes(self) -> int:
        """Size on disk, as packed as the files are."""
        return sum(path.stat().st_size for path in self.paths if path.exists())

    @cached_property
    def names(self) -> dict[str, str]:
        """Our names of the columns that the files have, and theirs."""
        if self.table is not None:
            return {name: name for name in (*REQUIRED, *OPTIONAL) if name in self.table.columns}
        return their_names(self.paths[0], table_header(self.paths[0]), self.columns, [*REQUIRED, *OPTIONAL])

    @property
    def has_riders(self) -> bool:
        return "rider_id" in self.names

    @cached_property
    def history(self) -> History:
        """Return what reading does to all trips, as far as the options tell, and the marks that the files carry."""
        if self.table is not None:
            return table_history(self.table)
        marks = marks_together(map(file_marks, self.paths))
        return reading_history(self.on_unknown, "keep", marks)

    def _check_headers(self) -> None:
        if self.names.get("trip_id") == "tid" and self.has_riders:
            raise InputError(
                "counts its trips (tid) anew for every rider, and such files are read as a whole: use the engine "
                "`memory`, or give every trip an id of its own",
                file=self.paths[0],
                tells=LAYOUT,
            )
        for path in self.paths:
            header = table_header(path)
            found = their_names(path, header, self.columns, [*REQUIRED, *OPTIONAL])
            self._require(path, list(found), header)
            if found != self.names:
                raise InputError(f"has other columns than {self.paths[0].name}", file=path, tells=LAYOUT)

    def _require(self, path: Path | str, found: list[str], header: list[str]) -> None:
        missing = [repr(name) for name in REQUIRED if name not in found]
        if missing:
            listed = ", ".join(map(repr, header))
            raise InputError(
                f"has no column {' and no column '.join(missing)}; its columns are {listed}",
                file=path,
                tells=LAYOUT,
            )


def parts_of_table(folder: Path) -> list[Path]:
    """The files of a folder that together are one table, in the order of their names; none of what is no folder."""
    return sorted(part for part in folder.iterdir() if _is_part(part)) if folder.is_dir() else []


def trip_parts(folder: Path) -> list[Path]:
    """Return the parts of a folder, which has to have some."""
    parts = parts_of_table(folder)
    if not parts:
        raise InputError("is a folder without a Parquet or csv file", file=folder, tells=LAYOUT)
    return parts


def _is_part(path: Path) -> bool:
    return path.is_file() and not path.name.startswith((".", "_")) and format_of(path) in TABLE_SUFFIXES
