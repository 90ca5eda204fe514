"""What `wayveil check` finds about a file, and the plan that it would follow.

Exact facts about the raw data, for the data holder's eyes only: whoever chooses by them has looked at it.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from shlex import join
from typing import Any

from wayveil.disclosures import CHECKED, discloses
from wayveil.errors import InputError, WayveilError
from wayveil.plan.advice import Advice, advise_trips
from wayveil.plan.plan import Plan
from wayveil.plan.tap_advice import TapAdvice, advise_taps
from wayveil.privacy.budget import release_epsilon
from wayveil.privacy.ledger import KnownRowsError
from wayveil.releases.accounts import ledger_in_reach, note_look
from wayveil.taps.columns import PRESETS, ColumnMap, guess_layout
from wayveil.taps.read import read_taps
from wayveil.trips.column_names import guess_columns
from wayveil.trips.columns import map_columns
from wayveil.trips.findings import Findings
from wayveil.trips.network_fit import WALKABLE_METRES, lacks_walks
from wayveil.trips.pairs import OPTIONAL as OF_PAIRS
from wayveil.trips.pairs import REQUIRED as PAIRED
from wayveil.trips.read import PAIRS, POINTS, VISITS, check, is_table_of_trips, kind_of
from wayveil.trips.tables import TABLE_SUFFIXES, table_header, table_suffix
from wayveil.trips.trip_files import parts_of_table
from wayveil.trips.trips import Trips
from wayveil.trips.visits import OPTIONAL, REQUIRED, column_map
from wayveil.world.opening import open_world
from wayveil.world.world import World

# A larger share of rows that are left out comes from the wrong world or the wrong columns, not from bad rows.
MANY_LOST = 0.2
NOTICE = "INTERNAL: exact facts about the raw data. Keep them inside."


@dataclass(frozen=True)
class Checked:
    """Findings about a file; for rows over a world also the advice and the plan."""

    findings: Findings
    advice: Advice | TapAdvice | None = None
    plan: Plan | None = None

    @property
    def command(self) -> str | None:
        """The exact command that follows the plan, quoted for the shell."""
        return None if self.plan is None else release_command(self.plan)

    def lines(self) -> list[str]:
        """Say all of it to people, the command last."""
        found = [*self.findings.lines()]
        if self.findings.trips is not None:
            found.insert(0, NOTICE)
        if self.advice is not None and self.command is not None:
            found += [*self.advice.lines(), "To release it:", f"  {self.command}"]
        return found

    def facts(self) -> dict[str, Any]:
        """Give all of it to machines."""
        findings = self.findings
        facts = {"file": str(findings.file), "kind": findings.kind, "ok": findings.ok, **findings.facts}
        problems = [str(problem) for problem in findings.problems]
        told: dict[str, Any] = {**facts, "problems": problems, "notes": list(findings.notes)}
        if self.advice is not None:
            told["notes"] += self.advice.notes
            told |= {**self.advice.facts(), "command": self.command}
        return {**told, "notice": NOTICE}


@dataclass(frozen=True)
class Guess:
    """What is known of a file before it is looked at.

    world    the place of the public world, with the keys of a plan that it is opened with (`world_keys`)
    columns  names of columns that were said, ours to theirs
    """

    file: Path
    world: str | None = None
    world_keys: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    epsilon: str = "1"
    ledger: str | None = None

    @discloses(CHECKED)
    def look(self) -> Checked:
        """Read the file as a release would, and plan one; of a folder of parts the first one is looked at.

        Whatever of the rows is told, the look is booked where there is a ledger.
        """
        checked = self._look()
        if checked.findings.trips is not None:
            note_look("check", checked.findings.trips, self.file, self.ledger)
        return checked

    def _look(self) -> Checked:
        parts = parts_of_table(self.file)
        file = parts[0] if parts else self.file
        is_table = file.is_file() and file.stat().st_size > 0 and table_suffix(file) in TABLE_SUFFIXES
        header = table_header(file) if is_table else []
        place = None if self.world is None else self._open()
        if is_table and is_table_of_trips(file):
            layout = tap_layout(header, self.columns)
            if layout is not None:
                return self._look_at_taps(file, place, layout)
        checked = self._look_at_trips(file, header, place)
        if len(parts) > 1:
            checked.findings.notes.append(
                f"{self.file} has {len(parts):,} parts of one table: only {file.name} was looked at, so a rider may "
                f"have more trips than are seen here; release checks every row of all parts before it spends anything"
            )
        return checked

    def _open(self, **more: Any) -> World:
        keys = {**self.world_keys, **more}
        return open_world(
            str(self.world),
            bbox=keys.get("bbox"),
            service_date=keys.get("service_date"),
            walk_radius_metres=keys.get("walk_radius"),
        )

    def _look_at_trips(self, file: Path, header: list[str], place: World | None) -> Checked:
        """Look at trips, in whatever form they are."""
        of_trips = bool(header) and is_table_of_trips(file)
        columns = self.columns or (map_columns(file, place) if of_trips else {})
        findings = check(file, place, **({"columns": columns} if columns else {}))
        if columns and not self.columns:
            taken = ", ".join(f"{theirs!r} for {ours}" for ours, theirs in columns.items())
            findings.notes.append(f"columns with other names: took {taken}; release needs --map for them")
        if findings.ok and findings.trips is not None:
            findings.notes += _say_reading(findings.kind, header, columns)
            if place is None:
                findings.notes.append("with --world, the command that releases this file is told as well")
        if not findings.ok or findings.trips is None or place is None:
            return Checked(findings)
        kind = kind_of(file, columns)
        trips, keys = self._with_walks(findings, kind)
        advice = advise_trips(
            trips, pairs=kind == PAIRS, epsilon=float(release_epsilon(self.epsilon)), feed=self._feed()
        )
        if kind == POINTS:
            advice.rows, advice.why = "points", "every row has a time and coordinates"
        return self._planned(findings, advice, findings.trips, {**keys, "columns": columns or None})

    def _with_walks(self, findings: Findings, kind: str) -> tuple[Trips, dict[str, Any]]:
        """The trips, over a world with walks where people walk and the feed has none; and the keys that add them."""
        trips = findings.trips
        assert trips is not None
        if (
            self._feed() is None
            or self.world_keys.get("walk_radius")
            or kind == PAIRS
            or not lacks_walks(trips)
        ):
            return trips, {}
        findings.notes.append(
            f"people change on foot where the feed lists no walk: the plan adds walks of at most {WALKABLE_METRES} m"
        )
        radius = {"walk_radius": float(WALKABLE_METRES)}
        return replace(trips, world=self._open(**radius)), radius

    def _feed(self) -> Path | None:
        place = None if self.world is None else Path(self.world)
        return place if place is not None and (place.is_dir() or place.suffix.lower() == ".zip") else None

    def _look_at_taps(self, file: Path, place: World | None, layout: ColumnMap) -> Checked:
        """Look at a file of boardings that says no trips: read as a release of taps would read it."""
        findings = Findings(file, "taps")
        named = ", ".join(f"{our} is {their}" for our, their in layout.columns().items())
        findings.notes.append(f"columns: {named}")
        if place is None:
            findings.notes.append(
                "give --world (a feed, or grid:south,west,north,east@metres for taps with coordinates) to hear more, "
                "and how to release it"
            )
            return Checked(findings)
        try:
            read = read_taps(file, place, layout)
        except WayveilError as error:
            findings.error(error)
            return Checked(findings)
        findings.facts = {"rows": read.report.rows_in, "taps": len(read.taps)}
        findings.notes += [str(rule) for rule in read.report.rules if rule.rows]
        lost = read.report.dropped / max(read.report.rows_in, 1)
        if lost > MANY_LOST:
            findings.notes.append(
                f"{lost:.0%} of the rows are left out: see above why, before anything is released"
            )
        person = [] if layout.rider_id is not None else ["rider_id"]
        findings.notes += _say_unread(table_header(file), set(layout.columns().values()), *person)
        findings.trips = read.taps.as_single_visits()
        advice = advise_taps(read.taps, float(release_epsilon(self.epsilon)))
        by_name = any(layout == preset.within(table_header(file)) for preset in PRESETS.values())
        columns = None if by_name else layout.columns()
        return self._planned(findings, advice, findings.trips, {"columns": columns, "way": advice.way})

    def _planned(
        self, findings: Findings, advice: Advice | TapAdvice, rows: Trips, keys: dict[str, Any]
    ) -> Checked:
        """The plan, with what the ledger still has to be told."""
        values = {
            "files": str(self.file),
            "world": self.world,
            **self.world_keys,
            **keys,
            "rows": advice.rows,
            "epsilon": self.epsilon,
            **advice.values,
            **self._booked(rows),
            "folder": f"release-{self.file.name.partition('.')[0]}",
        }
        return Checked(
            findings, advice, Plan.of(**{key: each for key, each in values.items() if each is not None})
        )

    def _booked(self, rows: Trips) -> dict[str, Any]:
        """What a ledger still has to be told: a dataset that it does not know needs a policy, or its other name."""
        place, name = self.ledger, self.file.name
        said = {} if place is None else {"ledger": place}
        if place == "none":
            return said
        known = ledger_in_reach(place, self.file)
        if known is not None and known.policy(name) is not None:
            return said
        if known is not None and known.datasets():
            try:
                known.refuse_known(name, rows)
            except KnownRowsError as error:
                return {**said, "name": error.dataset}
        return {**said, "policy_epsilon": f"{10 * max(float(release_epsilon(self.epsilon)), 1):g}"}


def guess_plan(file: str | Path, world: str | Path, **keys: Any) -> Plan:
    """Look at a file as `wayveil check` does, and give the plan that it recommends.

    `keys` are those of `Guess`: columns (ours to theirs), epsilon, ledger, world_keys.

    >>> wv.guess_plan(folder / "trips.parquet", folder / "city.zip", ledger="none").source.rows
    'calls'
    """
    checked = Guess(Path(file), str(world), **keys).look()
    if checked.plan is None:
        raise InputError("; ".join(map(str, checked.findings.problems)) or "holds no rows", file=Path(file))
    return checked.plan


# The option of a key, where it is not the key with dashes; None: there is none, it goes with --with.
_OPTIONS = {"name": "--dataset", "service_date": "--date", "folder": "--out", "place": "--world"}
_PLAIN = {
    *("place", "bbox", "service_date", "walk_radius", "rows", "ways", "days", "epsilon", "delta", "currency"),
    *("unit", "max_trips", "max_taps", "no_rider", "ledger", "policy_epsilon", "mechanism", "preset", "way"),
    *("purpose", "curator", "engine", "name", "folder", "trips_out"),
}


def release_command(plan: Plan) -> str:
    """The `wayveil release` command that says all that the plan says, quoted for the shell."""
    said = plan.said()
    words = ["wayveil", "release", *plan.source.files]
    keys: dict[str, Any] = {}
    for section in (said.get("worlds", [{}])[0], *(said.get(each, {}) for each in _ORDER), said):
        keys |= {key: value for key, value in section.items() if key not in keys and value is not None}
    for key, value in keys.items():
        option = _OPTIONS.get(key, f"--{key.replace('_', '-')}")
        if key in _PLAIN:
            number = isinstance(value, float | Fraction)
            words += [option, f"{float(value):g}" if number else str(value)]
        elif value is True and key in ("new_people", "tuned_on_data"):
            words.append(option)
        elif key == "columns" and isinstance(value, dict):
            words += [word for ours, theirs in value.items() for word in ("--map", f"{ours}={theirs}")]
        elif key == "columns":
            words += ["--columns", str(value)]
        elif key == "needs":
            words += [word for need in plan.needs for word in ("--need", str(need))]
        elif key == "parameters":
            words += [word for name, each in value.items() for word in ("--set", f"{name}={each}")]
    return join(words)


_ORDER = ("source", "protection", "method", "output")


def tap_layout(header: list[str], columns: dict[str, str]) -> ColumnMap | None:
    """The layout of a table that has boardings and says no trips; None for every other table."""
    ours = set(guess_columns(header)) | set(columns)
    if "trip_id" in ours or {"origin", "destination"} <= ours:
        return None
    return guess_layout(header, columns)


def _say_reading(kind: str, header: list[str], columns: dict[str, str]) -> list[str]:
    """What a reader of a table should know: rows without order, columns that nobody reads."""
    if kind not in (VISITS, PAIRS) or not header:
        return []
    read = {*PAIRED, *OF_PAIRS} if kind == PAIRS else {*REQUIRED, *OPTIONAL}
    mapped = columns if columns or kind == PAIRS else column_map("", header, None)
    ours = {name: name for name in header} | {their: our for our, their in mapped.items()}
    said = []
    if kind == VISITS and not {"seq", "event_time"} & set(ours.values()):
        said.append(
            "rows have no order (no seq and no event_time): visits are taken as they stand in the file"
        )
    rider = [] if "rider_id" in ours.values() else ["rider_id"]
    return said + _say_unread(header, {name for name, our in ours.items() if our in read}, *rider)


def _say_unread(header: list[str], read: set[str], *person: str) -> list[str]:
    """Columns that nobody reads; where no column stands for people, one of them might."""
    unread = [name for name in header if name not in read and name != "wayveil_marks"]
    if not unread:
        return []
    said = f"columns that are not read: {', '.join(unread)}"
    if person:
        said += f". If one of them says who somebody is, give it as --map {person[0]}=..., or people are not protected"
    return [said]
