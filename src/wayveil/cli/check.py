"""What `wayveil check` finds and recommends about one file."""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayveil.releases.plan import Plan
    from wayveil.releases.tap_plan import TapPlan
    from wayveil.taps.columns import ColumnMap
    from wayveil.trips.findings import Findings
    from wayveil.trips.trips import Trips
    from wayveil.world.world import World

# A larger share of rows that are left out comes from the wrong world or the wrong columns, not from bad rows.
MANY_LOST = 0.2
NOTICE = "INTERNAL: exact facts about the raw data. Keep them inside."


@dataclass(frozen=True)
class Checked:
    """Findings, and for trips over a world the plan with its command."""

    findings: "Findings"
    plan: "Plan | TapPlan | None" = None
    command: str | None = None

    @classmethod
    def of_file(
        cls,
        file: Path,
        world: Path | None,
        mapped: list[str],
        epsilon: str,
        ledger: str | None,
        world_options: list[str],
        *,
        bbox: str | None,
        date: str | None,
        walk: float | None,
    ) -> "Checked":
        """Read the file as a release would, and plan one. Of a folder of parts the first one is looked at."""
        from wayveil.privacy.budget import release_epsilon
        from wayveil.releases.plan import make_plan
        from wayveil.trips.columns import map_columns, parse_map
        from wayveil.trips.files import parts_of_table
        from wayveil.trips.network_fit import WALKABLE_METRES, lacks_walks
        from wayveil.trips.read import PAIRS, check, is_table_of_trips, kind_of
        from wayveil.trips.tables import TABLE_SUFFIXES, table_header, table_suffix
        from wayveil.world.opening import open_world

        budget = release_epsilon(epsilon)
        given = dict(parse_map(mapped))
        whole, parts = file, parts_of_table(file)
        file = parts[0] if parts else file
        is_table = file.is_file() and file.stat().st_size > 0 and table_suffix(file) in TABLE_SUFFIXES
        header = table_header(file) if is_table else []
        place = (
            None
            if world is None
            else open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk)
        )
        of_trips = is_table and is_table_of_trips(file)
        layout = tap_layout(header, given) if of_trips else None
        if layout is not None:
            words = _Words(file, world_options, epsilon, ledger)
            return _of_taps(words, place, layout, float(budget))
        columns = given or (map_columns(file, place) if of_trips else {})
        findings = check(file, place, **({"columns": columns} if columns else {}))
        if len(parts) > 1:
            findings.notes.append(
                f"{whole} has {len(parts):,} parts of one table: only {file.name} was looked at, so a rider may have "
                f"more trips than are seen here; release checks every row of all parts before it spends anything"
            )
        if columns and not given:
            taken = ", ".join(f"{theirs!r} for {ours}" for theirs, ours in columns.items())
            findings.notes.append(f"columns with other names: took {taken}; release needs --map for them")
        if findings.ok and findings.trips is not None:
            findings.notes += _say_reading(findings.kind, header, columns)
            if place is None:
                findings.notes.append("with --world, the command that releases this file is told as well")
        if not findings.ok or findings.trips is None or place is None:
            return cls(findings)
        feed = world if world is not None and (world.is_dir() or world.suffix.lower() == ".zip") else None
        kind = kind_of(file, columns)
        trips = findings.trips
        if feed is not None and walk is None and kind != PAIRS and lacks_walks(trips):
            walking = open_world(
                feed, bbox=bbox, service_date=date, walk_radius_metres=float(WALKABLE_METRES)
            )
            trips, radius = replace(trips, world=walking), ["--walk-radius", str(WALKABLE_METRES)]
            world_options = [*world_options, *radius]
            findings.notes.append(
                f"people change on foot where the feed lists no walk: the command adds walks of at most "
                f"{WALKABLE_METRES} m; give {' '.join(radius)} wherever you open this world"
            )
        plan = make_plan(trips, pairs=kind == PAIRS, epsilon=float(budget), feed=feed)
        maps = [word for theirs, ours in columns.items() for word in ("--map", f"{ours}={theirs}")]
        words = _Words(whole, world_options, epsilon, ledger)
        return cls(findings, plan, words.command(plan, maps, findings.trips))

    def lines(self) -> list[str]:
        """All of it for people, the command last."""
        found = [*self.findings.lines()]
        if self.findings.trips is not None:
            found.insert(0, NOTICE)
        if self.plan is not None and self.command is not None:
            found += [*self.plan.lines(), "To release it:", f"  {self.command}"]
        return found

    def facts(self) -> dict[str, Any]:
        """All of it for machines."""
        findings = self.findings
        facts = {"file": str(findings.file), "kind": findings.kind, "ok": findings.ok, **findings.facts}
        problems = [str(problem) for problem in findings.problems]
        told: dict[str, Any] = {**facts, "problems": problems, "notes": list(findings.notes)}
        if self.plan is not None:
            told["notes"] += self.plan.notes
            told |= {**self.plan.facts(), "command": self.command}
        return {**told, "notice": NOTICE}


@dataclass(frozen=True)
class _Words:
    """What every command that `check` prints has in it."""

    file: Path
    world: list[str]
    epsilon: str
    ledger: str | None

    def command(self, plan: "Plan | TapPlan", maps: list[str], rows: "Trips") -> str:
        policy = _policy_words(self.file, rows, self.ledger, float(Fraction(self.epsilon)))
        return plan.command(self.file, self.world, self.epsilon, [*maps, *policy])


def _of_taps(words: _Words, place: "World | None", layout: "ColumnMap", epsilon: float) -> Checked:
    """A file of boardings that says no trips: read as `taps release` would read it."""
    from wayveil.errors import WayveilError
    from wayveil.releases.tap_plan import plan_taps
    from wayveil.taps.columns import PRESETS
    from wayveil.taps.read import read_taps
    from wayveil.trips.findings import Findings
    from wayveil.trips.tables import table_header

    findings = Findings(words.file, "taps")
    findings.notes.append(
        f"columns: {', '.join(f'{our} is {their}' for their, our in layout.theirs().items())}"
    )
    if place is None:
        findings.notes.append(
            "give --world (a feed, or grid:south,west,north,east@metres for taps with coordinates) to hear more, and "
            "how to release it"
        )
        return Checked(findings)
    try:
        read = read_taps(words.file, place, layout)
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
    person = [] if layout.card is not None else ["card"]
    findings.notes += _say_unread(table_header(words.file), set(layout.theirs()), *person)
    findings.trips = read.taps.as_single_visits()
    plan = plan_taps(read.taps, epsilon)
    by_name = any(layout == preset.within(table_header(words.file)) for preset in PRESETS.values())
    pairs = () if by_name else [(our, their) for their, our in layout.theirs().items()]
    maps = [word for our, their in pairs for word in ("--map", f"{our}={their}")]
    return Checked(findings, plan, words.command(plan, maps, findings.trips))


def tap_layout(header: list[str], given: dict[str, str]) -> "ColumnMap | None":
    """The layout of a table that has boardings and says no trips; None for every other table."""
    from wayveil.taps.columns import guess_layout
    from wayveil.trips.columns import guess_columns

    ours = set(guess_columns(header)) | set(given.values())
    if "trip_id" in ours or {"origin", "destination"} <= ours:
        return None
    return guess_layout(header, given)


def _say_reading(kind: str, header: list[str], columns: dict[str, str]) -> list[str]:
    """What a reader of a table should know: rows without order, columns that nobody reads."""
    from wayveil.trips.pairs import OPTIONAL as OF_PAIRS
    from wayveil.trips.pairs import REQUIRED as PAIRED
    from wayveil.trips.read import PAIRS, VISITS
    from wayveil.trips.visits import OPTIONAL, REQUIRED, SCIKIT_MOBILITY

    if kind not in (VISITS, PAIRS) or not header:
        return []
    read = {*PAIRED, *OF_PAIRS} if kind == PAIRS else {*REQUIRED, *OPTIONAL}
    names = {} if kind == PAIRS else SCIKIT_MOBILITY
    ours = {name: columns.get(name, names.get(name, name)) for name in header}
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


def _policy_words(file: Path, trips: "Trips", place: str | None, epsilon: float) -> list[str]:
    """What a ledger still has to be told: a dataset that it does not know needs a policy, or its other name."""
    from wayveil.privacy.ledger import KnownRowsError
    from wayveil.releases.accounts import ledger_in_reach

    said = [] if place is None else ["--ledger", place]
    if place == "none":
        return said
    known = ledger_in_reach(None if place is None or not Path(place).exists() else place, file)
    if known is not None and known.policy(file.name) is not None:
        return said
    if known is not None and known.datasets():
        try:
            known.refuse_known(file.name, trips)
        except KnownRowsError as error:
            return [*said, "--dataset", error.dataset]
    return [*said, "--policy-epsilon", f"{10 * max(epsilon, 1):g}"]
