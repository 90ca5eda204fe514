"""Findings of `wayveil check` about a file, and the plan that it would follow.

Exact facts about the raw data, for the data holder's eyes only: whoever chooses by them has looked at it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from shlex import join
from typing import Any

from wayveil.disclosures import CHECKED, discloses
from wayveil.errors import InputError, WayveilError
from wayveil.plan.advice import Advice, advise_taps, advise_trips
from wayveil.plan.files import toml_value
from wayveil.plan.looking import Look, holds_other, holds_rows
from wayveil.plan.parts import Source
from wayveil.plan.plan import Plan
from wayveil.plan.promise import say_percent
from wayveil.plan.reading import point_options
from wayveil.privacy.budget import release_epsilon
from wayveil.privacy.ledger import KnownRowsError
from wayveil.releases.accounts import ledger_in_reach, note_look
from wayveil.sources.column_names import WORDS
from wayveil.sources.opening import SourceTable, dataset_name
from wayveil.taps.read import read_taps
from wayveil.trips.findings import Findings
from wayveil.trips.network_fit import WALKABLE_METRES, lacks_walks
from wayveil.trips.read import PAIRS, POINTS, check
from wayveil.trips.trips import Trips
from wayveil.world.opening import is_world, open_world
from wayveil.world.world import World

# A larger share of rows that are left out comes from the wrong world or the wrong columns, not from bad rows.
MANY_LOST = 0.2
# What ends a trip of points that name none, and the pause in seconds that is proposed.
SPLITS, USUAL_GAP = ("split_gap", "split_metres"), 1200
NOTICE = "INTERNAL: exact facts about the raw data. Keep them inside."


@dataclass(frozen=True)
class Checked:
    """Findings about a file; for rows over a world also the advice and the plan."""

    findings: Findings
    advice: Advice | None = None
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
            found += [*self.advice.lines(), *say_policy(self.plan), "To release it:", f"  {self.command}"]
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
    """Facts stated about rows before they are looked at.

    file     a file, folder, pattern or address, or several that together are one table
    world    the place of the public world, with the keys of a plan that it is opened with (`world_keys`)
    columns  names of columns that were said, ours to theirs
    keys     keys of a plan's source that were said: times, zone, encoding, rows, ...
    """

    file: Path | str | Sequence[Path | str]
    world: str | None = None
    world_keys: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    epsilon: str = "1"
    ledger: str | None = None
    keys: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> list[str]:
        """The files as they were named."""
        one = isinstance(self.file, str | Path)
        return [str(self.file)] if one else [str(each) for each in self.file]  # type: ignore[union-attr]

    @discloses(CHECKED)
    def look(self) -> Checked:
        """Read the rows as a release would, and plan one. Whatever of them is told, the look is booked where there is
        a ledger.
        """
        checked = self._look()
        if checked.findings.trips is not None:
            name = dataset_name(self.given)
            note_look("check", checked.findings.trips, Path(self.given[0]), self.ledger, name)
        return checked

    def _look(self) -> Checked:
        place = None if self.world is None else self._open()
        if not holds_rows(self.given):
            return self._look_at_trips(Path(self.given[0]), place, None, {})
        looked = Look(self.given, place, self.columns, self.keys)
        found = looked.recognised
        if found.rows is None:
            if len(self.given) == 1 and holds_other(Path(self.given[0]), looked.table):
                return self._look_at_trips(Path(self.given[0]), place, None, {})
            return Checked(looked.unknown(self._command))
        if looked.doubts:
            return Checked(looked.doubtful(self._again))
        if found.rows == "taps":
            return self._look_at_taps(looked, place)
        if found.rows == "points" and not {"trip_id", "flag", *SPLITS} & {*found.reading.columns, *self.keys}:
            checked = replace(self, keys={**self.keys, "split_gap": USUAL_GAP})._look()
            checked.findings.notes.append(
                f"points name no trips: the plan ends a trip after {USUAL_GAP} seconds without a point. To change "
                "this: --with split_gap=SECONDS, --with split_metres=METRES, or --map trip_id=COLUMN or flag=COLUMN"
            )
            return checked
        checked = self._look_at_trips(looked.source, place, found.rows, looked.values, looked.notes())
        if not checked.findings.ok:
            bad = [f"bad_rows.{kind}={rule}" for kind, rule in looked.first_rules().items()]
            if found.rows == "points":
                told = " ".join(map(str, checked.findings.problems))
                bad = list(dict.fromkeys(re.findall(r"\(--with (\w+=\w+)\)", told)))
            if bad:
                rules = [word for rule in bad for word in ("--with", rule)]
                checked.findings.notes.append(f"to mend or drop such rows and go on: {self._command(rules)}")
        return checked

    def _again(self, key: str, value: str) -> str:
        """The command that looks once more, with a key said; tracks over stops need a radius too."""
        near = key == "step" and "radius" not in self.keys and not str(self.world).startswith("grid:")
        more = ["--with", "radius=200"] if near and self.world is not None else []
        return self._command(["--map" if key in WORDS else "--with", f"{key}={value}", *more])

    def _command(self, words: list[str]) -> str:
        world = [] if self.world is None else ["--world", self.world]
        world += [] if self.ledger is None else ["--ledger", self.ledger]
        world += [] if self.epsilon == "1" else ["--epsilon", self.epsilon]
        new = {word.partition("=")[0] for word in words}
        before = [f"{key}={_said(value)}" for key, value in _flat(self.keys).items() if key not in new]
        words = [word for each in before for word in ("--with", each)] + words
        maps = [word for ours, theirs in self.columns.items() for word in ("--map", f"{ours}={theirs}")]
        return join(["wayveil", "check", *self.given, *world, *maps, *words, "--save", "wayveil.toml"])

    def _open(self, **more: Any) -> World:
        keys = {**self.world_keys, **more}
        return open_world(
            str(self.world),
            bbox=keys.get("bbox"),
            service_date=keys.get("service_date"),
            walk_radius_metres=keys.get("walk_radius"),
        )

    def _look_at_trips(
        self,
        file: Path | SourceTable,
        place: World | None,
        rows: str | None,
        values: dict[str, Any],
        notes: Any = (),
    ) -> Checked:
        """Look at trips, in whatever form they are."""
        findings = check(file, place, kind=POINTS if rows == "points" else None, **self._points(rows))
        findings.notes += notes
        if findings.trips is not None and findings.ok and place is None:
            findings.notes.append("add --world to see the command that releases this file")
        if not findings.ok or findings.trips is None or place is None:
            return Checked(findings)
        trips, keys = self._with_walks(findings, findings.kind)
        pairs, epsilon = findings.kind == PAIRS, float(release_epsilon(self.epsilon))
        advice = advise_trips(trips, pairs=pairs, epsilon=epsilon, feed=self._feed())
        if findings.kind == POINTS:
            advice.rows, advice.why = "points", "every row has a time and coordinates"
        return self._planned(findings, advice, findings.trips, {**keys, **values})

    def _points(self, rows: str | None) -> dict[str, Any]:
        """Return how points become trips, as far as somebody said it."""
        if rows != "points":
            return {}
        said = Source(**{key: value for key, value in self.keys.items() if key in Source.model_fields})
        return point_options(said)

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
            f"riders walk between stops where the feed has no transfer: the plan adds walks of up to "
            f"{WALKABLE_METRES} m"
        )
        radius = {"walk_radius": float(WALKABLE_METRES)}
        return replace(trips, world=self._open(**radius)), radius

    def _feed(self) -> Path | None:
        place = None if self.world is None else Path(self.world)
        return place if place is not None and is_world(place) else None

    def _look_at_taps(self, looked: Look, place: World | None) -> Checked:
        """Look at boardings that say no trips: read as a release of taps would read them."""
        findings = Findings(looked.source.name, "taps", notes=looked.notes())
        if place is None:
            findings.notes.append(
                "add --world (a feed, or grid:south,west,north,east@metres for taps with coordinates) to learn more, "
                "and to see the command that releases this file"
            )
            return Checked(findings)
        try:
            read = read_taps(looked.source, place, looked.layout)
        except WayveilError as error:
            findings.error(error)
            return Checked(findings)
        findings.facts = {"rows": read.report.rows_in, "taps": len(read.taps)}
        findings.notes += [str(rule) for rule in read.report.rules if rule.rows]
        lost = read.report.dropped / max(read.report.rows_in, 1)
        if lost > MANY_LOST:
            findings.notes.append(
                f"{lost:.0%} of the rows are left out: the notes above say why. Check this before you release anything"
            )
        findings.trips = read.taps.as_single_visits()
        advice = advise_taps(read.taps, float(release_epsilon(self.epsilon)))
        return self._planned(findings, advice, findings.trips, looked.values)

    def _planned(self, findings: Findings, advice: Advice, rows: Trips, keys: dict[str, Any]) -> Checked:
        """The plan, with what the ledger still has to be told."""
        values = {
            "files": self.given,
            "world": self.world,
            **self.world_keys,
            **keys,
            "rows": advice.rows,
            "epsilon": self.epsilon,
            **advice.values,
            **self._booked(rows),
            "folder": f"release-{dataset_name(self.given).partition('.')[0]}",
        }
        return Checked(
            findings, advice, Plan.of(**{key: each for key, each in values.items() if each is not None})
        )

    def _booked(self, rows: Trips) -> dict[str, Any]:
        """Return what a ledger still has to be told: a dataset that it does not know needs a policy, or its other
        name.
        """
        place, name = self.ledger, dataset_name(self.given)
        said = {} if place is None else {"ledger": place}
        if place == "none":
            return said
        known = ledger_in_reach(place, Path(self.given[0]))
        if known is not None and known.policy(name) is not None:
            return said
        if known is not None and known.datasets():
            try:
                known.refuse_known(name, rows)
            except KnownRowsError as error:
                return {**said, "name": error.dataset}
        return {**said, "policy_epsilon": f"{10 * max(float(release_epsilon(self.epsilon)), 1):g}"}


def say_policy(plan: Plan | None) -> list[str]:
    """Say what the policy of a plan and others mean for one person, so that nobody takes it without a thought."""
    if plan is None or plan.protection.policy_epsilon is None:
        return []
    policy, epsilon = (float(each) for each in (plan.protection.policy_epsilon, plan.protection.epsilon))
    means = ", ".join(f"{each}: {say_percent(0.5, each)}" for each in (1, 3, 10, 52))
    return [
        f"note: --policy-epsilon {policy:g} allows {policy / epsilon:.0f} such releases of the same people; you decide "
        "how much to allow. An observer who is 50 % sure of something about one person can become at most this sure "
        f"after epsilon {means} (52 is a year of weeks at 1 each)"
    ]


def guess_plan(file: str | Path, world: str | Path, **keys: Any) -> Plan:
    """Look at a file as `wayveil check` does, and give the plan that it recommends.

    `keys` are those of `Guess`: columns (ours to theirs), epsilon, ledger, world_keys.

    >>> wv.guess_plan(folder / "trips.parquet", folder / "city.zip", ledger="none").source.rows
    'calls'
    """
    checked = Guess(file, str(world), **keys).look()
    if checked.plan is None:
        raise InputError("; ".join(map(str, checked.findings.problems)) or "holds no rows", file=file)
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
        elif key in (*Source.model_fields, "bounding", "most_rows") and key not in ("files", "columns"):
            words += ["--with", f"{key}={_said(value)}"]
        elif key == "parameters":
            words += [word for name, each in value.items() for word in ("--set", f"{name}={each}")]
    return join(words)


_ORDER = ("source", "protection", "method", "output")


def _said(value: Any) -> str:
    """A value as --with reads it."""
    plain = isinstance(value, str) and value.replace("-", "").replace("/", "").replace(".", "").isalnum()
    return value if plain else toml_value(value)


def _flat(keys: dict[str, Any]) -> dict[str, Any]:
    """Keys of a plan with those of their tables beside them: `bad_rows.empty_id`."""
    inner = {
        f"{key}.{name}": each
        for key, value in keys.items()
        if isinstance(value, dict)
        for name, each in value.items()
    }
    return {key: value for key, value in keys.items() if not isinstance(value, dict)} | inner
