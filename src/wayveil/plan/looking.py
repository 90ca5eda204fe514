"""Findings of `wayveil check` about the form of rows: how files are written, what columns are, what a row is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.plan.parts import WRITTEN
from wayveil.sources.assigning import USED
from wayveil.sources.bad_rows import RULES, count_bad_rows, require_rules
from wayveil.sources.column_names import DATES, guess_columns
from wayveil.sources.coverage import FileDays, file_days, say_coverage
from wayveil.sources.databases import DATABASES, database_address, guess_table, is_address
from wayveil.sources.dialects import guess_dialect
from wayveil.sources.doubts import Doubt
from wayveil.sources.formats import COLUMNAR, SHEETS, SUFFIXES, format_of, guess_sheet, readable
from wayveil.sources.nested import NESTED
from wayveil.sources.opening import Place, SourceTable, expand_places, open_table
from wayveil.sources.reading import Reading
from wayveil.sources.recognise import Recognised, recognise
from wayveil.taps.columns import COLUMNS, ColumnMap, known_layout
from wayveil.trips.findings import Finding, Findings
from wayveil.trips.matched import is_matched
from wayveil.trips.tables import require_file
from wayveil.world.opening import is_world
from wayveil.world.places import is_place_list
from wayveil.world.world import World


def holds_rows(given: Sequence[str]) -> bool:
    """Tell whether names stand for tables of rows, and not for a feed, a saved network or ways of a map matcher."""
    if len(given) > 1 or is_address(given[0]):
        return True
    path = Path(given[0])
    if path.is_dir():
        return not is_world(path)
    if not path.exists() or path.stat().st_size == 0:
        return not path.exists() and any(sign in given[0] for sign in "*?[")
    if format_of(path) in NESTED and is_matched(path):
        return False
    return path.suffix.lower() != ".npz" and not is_world(path)


def holds_other(path: Path, table: SourceTable) -> bool:
    """Tell whether a file that names no rows is a list of places, or sequences of symbols."""
    if not path.is_file():
        return False
    header = table.parts[0].columns
    listed = is_place_list(header) and set(guess_columns(header)) <= {"stop_id"}
    return listed or format_of(path) not in SUFFIXES or format_of(path) in (".txt", ".dat")


@dataclass(frozen=True)
class Look:
    """A look at files that are one table.

    columns  ours to theirs, as far as they were said
    keys     keys of a plan's source that were said
    """

    given: Sequence[str]
    world: World | None
    columns: dict[str, str] = field(default_factory=dict)
    keys: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def table(self) -> SourceTable:
        """The files as one table under their own names."""
        places = expand_places(self.given)
        for place in places:
            if isinstance(place, Path):
                require_file(place)
            if isinstance(place, Path) and is_world(place):
                raise InputError(
                    f"is a feed, and no rows: give it as --world {place}", file=place, tells=LAYOUT
                )
        first = places[0]
        text = isinstance(first, Path) and format_of(first) not in (*COLUMNAR, *SHEETS, *NESTED)
        is_text = text and isinstance(first, Path) and format_of(first) not in DATABASES
        with readable(first, "text"):
            guessed = guess_dialect(Path(first)) if is_text else Reading()
        said = {key: self.keys[key] for key in WRITTEN if key in self.keys}
        if isinstance(first, Path) and format_of(first) in SHEETS:
            said = {**guess_sheet(first, said.get("sheet")), **said}
        elif not is_text and (not isinstance(first, Path) or format_of(first) in DATABASES):
            with readable(first, "database"):
                said = {"sheet": guess_table(database_address(first)), **said}
        if len(places) > 1 and replace(guessed, separator=None).written == Reading().written:
            guessed = replace(guessed, separator=None)  # as the header of each file shows it
        reading = replace(guessed, **said)
        try:
            return open_table(places, replace(reading, columns=self.columns))
        except InputError:
            columns = self._called(places, reading)
            if columns is None:
                raise
        return open_table(places, replace(reading, columns=columns))

    def _called(self, places: Sequence[Place], reading: Reading) -> dict[str, str] | None:
        """Return what files with other headers call the columns of one kind of rows (`A|B`); None where they differ."""
        found: list[Recognised] = []
        headers: set[tuple[str, ...]] = set()
        for place in places:
            table = open_table([place], reading)
            if tuple(table.parts[0].columns) not in headers:
                headers.add(tuple(table.parts[0].columns))
                found.append(recognise(table, self.world, {}, self.keys.get("rows")))
        columns = [each.reading.columns for each in found]
        if any(each.rows is None or each.rows != found[0].rows for each in found) or self.columns:
            return None
        if any(set(each) != set(columns[0]) for each in columns):
            return None
        return {our: "|".join(dict.fromkeys(each[our] for each in columns)) for our in columns[0]}

    @cached_property
    def recognised(self) -> Recognised:
        """Return what the table seems to be; what was said stays as it was said."""
        entering = self.keys.get("boardings")
        found = recognise(
            self.table,
            self.world,
            dict(self.table.reading.columns),
            self.keys.get("rows"),
            (entering,) if isinstance(entering, str) else entering,
        )
        said = {key: self.keys[key] for key in WRITTEN if key in self.keys}
        rules = require_rules(self.keys.get("bad_rows", {}))
        return replace(found, reading=replace(found.reading, rules=rules, **said))

    def bad(self) -> dict[str, int]:
        """Count bad rows by kind, as they stand before any rule."""
        plain = SourceTable(self.source.parts, replace(self.reading, rules={}), self.world)
        used = [name for name in USED[self.recognised.rows or "pairs"] if name in plain.columns]
        if not used:
            return {}  # a layout that is known by its own names
        counts = count_bad_rows(plain.read(used), self.world)
        return {kind: count for kind, count in counts.items() if count}

    @cached_property
    def known(self) -> ColumnMap | None:
        """A layout of taps that is known by its columns."""
        if self.columns or self.recognised.boardings or self.table.uneven:
            return None
        found = known_layout(self.table.parts[0].columns)
        if found is not None and found.service_date is not None:
            date = self.table.column(found.service_date).cast(pl.String)
            if date.str.to_date(found.date_format, strict=False).null_count() > len(date) / 2:
                return None
        riders = "rider_id" in self.recognised.reading.columns
        return found if found is not None and (found.rider_id is not None or not riders) else None

    @cached_property
    def reading(self) -> Reading:
        """Return how the files are written; a separator that the header shows is not said once more."""
        reading = self.recognised.reading
        plain = replace(reading, separator=None)
        shown = reading.separator in (",", ";", "\t", "|") and plain.written == Reading().written
        reading = plain if shown else reading
        same = all(our == their for our, their in reading.columns.items()) and not self.table.uneven
        if self.recognised.rows == "taps" and self.known is not None:
            return replace(reading, columns={}, times="iso", zone=self.keys.get("zone"))
        return replace(reading, columns={}) if same and not reading.changes_values else reading

    @cached_property
    def source(self) -> SourceTable:
        """The files as one table under our names."""
        return SourceTable(
            open_table(expand_places(self.given), self.reading).parts, self.reading, self.world
        )

    @cached_property
    def layout(self) -> ColumnMap:
        """The layout of taps."""
        if self.known is not None:
            return self.known
        ours = {our: our for our in self.source.columns if our in COLUMNS}
        return ColumnMap(**ours, boardings=self.recognised.boardings)

    @property
    def values(self) -> dict[str, Any]:
        """The keys of the plan that say all this."""
        said = {key: getattr(self.reading, key) for key in WRITTEN}
        found = {key: value for key, value in said.items() if value != getattr(Reading(), key)}
        others = {key: value for key, value in self.keys.items() if key not in WRITTEN}
        boardings = list(self.recognised.boardings) or None
        return {**found, **others, "columns": dict(self.reading.columns) or None, "boardings": boardings}

    def notes(self) -> list[str]:
        """Say what was taken for what, the days of each file, and what is not read."""
        found = self.recognised
        said = [f"took it for {found.rows}: {found.why}", *found.notes]
        said += [f"column {each}" for each in found.columns]
        written = {key: value for key, value in self.values.items() if key in WRITTEN and value is not None}
        if written:
            said.append("written as " + ", ".join(f"{key} {value!r}" for key, value in written.items()))
        if "/" in (self.reading.sheet or ""):
            said.append(
                "sheets with one header are read as one table; for one of them alone: --with sheet=NAME"
            )
        if found.rows == "calls" and not {"seq", "event_time"} & set(found.reading.columns):
            said.append(
                "rows have no order (no seq and no event_time): visits are taken as they stand in the file"
            )
        unread = ", ".join(found.unread)
        if unread:
            person = (
                ""
                if "rider_id" in found.reading.columns
                else (
                    ". If one of them says who somebody is, give it as --map rider_id=..., or people are not protected"
                )
            )
            said.append(f"columns that are not read: {unread}{person}")
        return said + self._coverage() + self._rules()

    def first_rules(self) -> dict[str, str]:
        """Return a rule for every kind of bad rows that there are and that no rule was said for."""
        found = {kind: RULES[kind].choices[-1] for kind in self.bad() if kind not in self.reading.rules}
        columns = self.reading.columns
        one = "end_date" in columns and columns["end_date"] == columns.get("start_date")
        if (one or self.recognised.undated) and "ends_long_before" in found:
            found["ends_long_before"] = "next_day"  # one date for both, or none: the night passed midnight
        # A row of a named trip that is there twice is in two files, or was exported twice.
        return {kind: rule for kind, rule in found.items() if kind != "duplicate" or "trip_id" in columns}

    def _rules(self) -> list[str]:
        """Say how many rows are bad in which way, and the option that does something about them."""
        said = []
        for kind, count in self.bad().items() if self.recognised.rows != "points" else ():
            rule = self.reading.rules.get(kind)
            choices = " or ".join(f"--with bad_rows.{kind}={each}" for each in RULES[kind].choices)
            done = f"the plan says {rule}" if rule else f"to go on all the same: {choices}"
            if kind != "duplicate" or rule:
                said.append(f"{count:,} rows with {RULES[kind].what}: {done}")
        return said

    def _coverage(self) -> list[str]:
        moment = next((name for name in DATES if name in self.source.columns), None)
        # Files of points are of people or trips, and not of days.
        if len(self.source.parts) < 2 or moment is None or self.recognised.rows == "points":
            return [f"{len(self.source.parts)} files are one table"] if len(self.source.parts) > 1 else []
        files: list[FileDays] = file_days(self.source, moment)
        listed = [str(each) for each in files] if len(files) <= 12 else []
        return [f"{len(self.source.parts)} files are one table", *listed, *say_coverage(files)]

    @property
    def doubts(self) -> list[Doubt]:
        """Doubts that nobody has settled."""
        return [doubt for doubt in self.recognised.doubts if doubt.key not in (*self.keys, *self.columns)]

    def unknown(self, command: Callable[[list[str]], str]) -> Findings:
        """Say what the file was taken for, and what each kind of rows still lacks."""
        found, findings = self.recognised, Findings(self.table.name, "table")
        first = self.table.head(1)
        header = ", ".join(f"`{name}`" for name in first.columns)
        if not self.table.reading.header:
            cells = ", ".join(f"{name} ({first[name][0]})" for name in first.columns)
            header = (
                f"{cells}: the first line looks like data. Map them by their place, or give the file a header"
            )
        places = [
            name for name in first.columns if self.world is not None and name in self.world.ids.tolist()
        ]
        if not first.height:
            findings.problems.append(Finding(f"has no row below its header; its columns are {header}"))
            return findings
        if 2 * len(places) > len(first.columns):
            findings.problems.append(
                Finding(
                    "its columns are places, as in a matrix of counts: what is protected here are rides, one a row"
                )
            )
            return findings
        findings.problems.append(Finding(f"{found.why}. Its columns are {header}"))
        findings.notes += found.notes
        nearest = sorted(found.missing.items(), key=lambda each: len(each[1]))[:3]
        for kind, lacking in nearest:
            words = [word for each in lacking for word in ("--map", f"{each}=COLUMN")]
            findings.notes.append(
                f"to read it as {kind}, say which column is {' and '.join(lacking)}: {command(words)}"
            )
        return findings

    def doubtful(self, again: Callable[[str, str], str]) -> Findings:
        """Ask what cannot be told, with the command for each answer."""
        findings = Findings(self.table.name, str(self.recognised.rows))
        for doubt in self.doubts:
            commands = " or ".join(f"`{again(doubt.key, value)}`" for value in doubt.values)
            ask = "Say which" if len(doubt.values) > 1 else "To go on all the same"
            findings.problems.append(Finding(f"{doubt.question}. {ask}: {commands}"))
        asked = {doubt.question for doubt in self.doubts}
        findings.notes += [note for note in self.notes() if note not in asked]
        return findings
