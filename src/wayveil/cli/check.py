"""What `wayveil check` finds and recommends about one file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayveil.releases.plan import Plan
    from wayveil.trips.findings import Findings
    from wayveil.trips.trips import Trips

NOTICE = "INTERNAL: exact facts about the raw data. Keep them inside."


@dataclass(frozen=True)
class Checked:
    """Findings, and for trips over a world the plan with its command."""

    findings: "Findings"
    plan: "Plan | None" = None
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
        """Read the file as a release would, and plan one."""
        from wayveil.privacy.budget import release_epsilon
        from wayveil.releases.plan import make_plan, map_columns
        from wayveil.trips.columns import parse_map
        from wayveil.trips.fit import WALKABLE_METRES, lacks_walks
        from wayveil.trips.read import PAIRS, VISITS, check, is_table_of_trips, kind_of
        from wayveil.trips.tables import TABLE_SUFFIXES, table_header, table_suffix
        from wayveil.world.opening import open_world

        budget = release_epsilon(epsilon)
        given = dict(parse_map(mapped))
        is_table = file.is_file() and file.stat().st_size > 0 and table_suffix(file) in TABLE_SUFFIXES
        header = table_header(file) if is_table else []
        columns = given or (map_columns(header) if is_table and is_table_of_trips(file) else {})
        place = (
            None
            if world is None
            else open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk)
        )
        findings = check(file, place, **({"columns": columns} if columns else {}))
        if columns and not given:
            taken = ", ".join(f"{theirs!r} for {ours}" for theirs, ours in columns.items())
            findings.notes.append(f"columns with other names: took {taken}; release needs --map for them")
        if is_table and findings.kind == VISITS and not {"seq", "event_time"} & _ours(header, columns):
            findings.notes.append(
                "rows have no order (no seq and no event_time): visits are taken as they stand in the file"
            )
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
        more = [*maps, *_policy_words(file, findings.trips, ledger, float(budget))]
        return cls(findings, plan, plan.command(file, world_options, epsilon, more))

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
            plan = self.plan
            told["notes"] += plan.notes
            lacking = None if plan.fit is None else {"share": plan.fit.share, **plan.fit.lacking}
            told |= {"seems": plan.visits, "moves_that_the_network_lacks": lacking}
            told |= {"bounds": [vars(row) for row in plan.bounds], "max_trips": plan.max_trips}
            told |= {"command": self.command}
        return {**told, "notice": NOTICE}


def _ours(header: list[str], columns: dict[str, str]) -> set[str]:
    named = {columns.get(name, name) for name in header}
    return named | ({"event_time"} if "datetime" in named else set())


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
