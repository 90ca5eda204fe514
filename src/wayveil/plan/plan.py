"""`Plan`: one public file that says what the data is, who is protected, and what is released."""

import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from wayveil.errors import ParameterError
from wayveil.plan.file_names import NamePattern
from wayveil.plan.meanings import MEANINGS
from wayveil.plan.needs import Need, refuse_contradictory, refuse_unanswerable
from wayveil.plan.parts import (
    OPEN_END,
    Allowance,
    Cadence,
    Expected,
    Machine,
    Method,
    Output,
    Part,
    Protection,
    Source,
    WorldVersion,
    is_name,
)
from wayveil.privacy.ledger.data_time import Days, Span, label, span_of
from wayveil.releases.hold import DEFAULT_DELTA
from wayveil.sources.opening import dataset_name

SECTIONS: dict[str, type[Part]] = {
    "source": Source,
    "expected": Expected,
    "protection": Protection,
    "method": Method,
    "output": Output,
    "machine": Machine,
    "series": Cadence,
}
# Of these names the plan has one for the world, whichever version is in force.
WORLD_KEYS = ("bbox", "service_date", "walk_radius")
ORDER = ("day", "week", "month", "year")
# Keys that only one kind of rows has a use for.
_OF_KIND = {
    "points": {
        "source": {
            *("split_gap", "split_metres", "order", "repeated", "no_fix", "riders", "rules"),
        }
    },
    "taps": {
        "source": {"opt_out", "boardings"},
        "method": {"chain", "alightings", "rider_rules"},
        "protection": {"sensitive", "sensitive_epsilon", "max_taps", "window_hours"},
    },
}
# Keys that are paths.
_PATHS = {
    "source": {"files"},
    "protection": {"ledger", "sensitive"},
    "method": {"rider_rules", "prior"},
    "output": {"folder"},
    "machine": {"scratch"},
}
NO_WORLD = "say which public places the rows are of: --world (a feed, a list of places, or grid:...)"
NO_BOX = (
    "points need a public box of cells: add --world grid:south,west,north,east@250 (metres per cell). Choose it from a "
    "map, never from the data: a box that was read off the points tells where somebody was"
)
# How many earlier releases a series follows, where nothing is said.
FOLLOWED = 8


class Plan(Part):
    """Plan of a release: of what, for whom, at what price. All that happens to a row follows from it and the row.

    With a cadence (`series`) it is run again and again: every period that the files make due, once.

    >>> plan = wv.Plan.of(files="rides.csv", world="city.zip", rows="pairs", epsilon=1)
    >>> plan.source.rows, plan.protection.epsilon
    ('pairs', Fraction(1, 1))
    """

    name: str = Field("", description=MEANINGS["name"])
    curator: str = Field("", description=MEANINGS["curator"])
    purpose: str = Field("", description=MEANINGS["purpose"])
    curator_type: Literal["", "Government", "Industry", "Nonprofit"] = Field(
        "",
        description="What kind of body publishes: Government, Industry or Nonprofit; for public registries.",
    )
    region: str = Field("", description="The region that the data describes, and whose law applies.")
    contact: str = Field("", description="Whom a reader of the datasheet may ask.")
    source: Source = Field(default_factory=Source)
    worlds: tuple[WorldVersion, ...] = ()
    needs: tuple[Need, ...] = ()
    expected: Expected = Field(default_factory=Expected)
    protection: Protection
    method: Method = Field(default_factory=Method)
    output: Output = Field(default_factory=Output)
    machine: Machine = Field(default_factory=Machine)
    series: Cadence | None = None
    path: Path = Field(Path("wayveil.toml"), exclude=True)

    @field_validator("needs", mode="before")
    @classmethod
    def _sentences(cls, value: Any) -> Any:
        several = [value] if isinstance(value, str) else value
        try:
            return [Need.parse(each) if isinstance(each, str) else each for each in several]
        except ParameterError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self._fits_needs()
        if self.source.rows != "taps" and self.method.way is not None:
            raise ValueError('method.way: a way is for taps; say rows = "taps", or omit it')
        for kind, sections in _OF_KIND.items():
            for section, keys in sections.items() if self.source.rows not in (None, kind) else ():
                for key in sorted(keys & getattr(self, section).model_fields_set):
                    raise ValueError(
                        f"{section}.{key}: this is for {kind}, and the rows are {self.source.rows}"
                    )
        if self.source.rows in ("taps", "points") and self.machine.engine not in ("auto", "memory"):
            raise ValueError(
                f"machine.engine: {self.source.rows} are counted in memory; omit --engine, or say memory"
            )
        if self.series is not None:
            self._fits_series(self.series)
        return self

    def _fits_needs(self) -> None:
        rows = self.source.rows
        try:
            refuse_contradictory(self.needs)
            if rows is not None and not (rows == "taps" and self.method.alightings):
                refuse_unanswerable(self.needs, "taps" if rows == "taps" else "trips")
        except ParameterError as error:
            raise ValueError(f"needs: {error}") from None
        by_route = [need for need in self.needs if need.question in ("routes", "route-hours")]
        if by_route and self.method.way not in (None, "counts-first"):
            raise ValueError(f"needs: {str(by_route[0])!r} needs counts by route: --way counts-first")

    def _fits_series(self, series: Cadence) -> None:
        first, allowed = series.first, self.protection.allowance
        if not self.name:
            raise ValueError("name: the ledger knows the data of a series by its name; give one")
        if not is_name(self.name):
            raise ValueError(
                f"name: {self.name!r} also names files: use letters, digits, spaces, dots and dashes"
            )
        if span_of(series.every, first).first != first:
            raise ValueError(
                f"series.first: a {series.every} does not begin on {first}; say {span_of(series.every, first).first}"
            )
        if len(self.source.files) != 1:
            raise ValueError("source.files: give the one pattern that the names of all files follow")
        try:
            NamePattern.parse(Path(self.source.files[0]).name)
        except ParameterError as error:
            raise ValueError(f"source.files: {error}") from None
        if allowed is None:
            raise ValueError("protection.allowance: say what a year of data may cost")
        ordered = sorted(self.worlds, key=lambda world: world.first)
        for before, after in pairwise(ordered):
            if before.last >= after.first and before.last != OPEN_END:
                raise ValueError(f"worlds: two are in force on {after.first}; end the first one before")
        if not ordered or ordered[0].first > first:
            raise ValueError(f"worlds: none is in force on {first}, the first day of the series")
        if ORDER.index(allowed.span) < ORDER.index(series.every):
            raise ValueError(
                f"protection.allowance.span: a {series.every} of data lies in several {allowed.span}s; say a longer one"
            )

    # --- filling in

    @classmethod
    def of(cls, **given: Any) -> "Plan":
        """Make a plan of values by the names of its keys (`world` is the place of the one world)."""
        return checked(cls.filled({}, given))

    def changed(self, **given: Any) -> "Plan":
        """Make the same plan with other values, by the names of its keys."""
        return checked({"path": self.path, **self.filled(self.said(), given)})

    @classmethod
    def filled(cls, record: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a plan with values put where their keys belong; an unknown key is refused."""
        made = {key: dict(value) if key in SECTIONS and value else value for key, value in record.items()}
        if "way" in given and "rows" not in given and "rows" not in made.get("source", {}):
            given = {**given, "rows": "taps"}  # only taps have ways
        for key, value in sorted(given.items(), key=lambda each: each[0] != "world"):  # its keys need a world
            section = home_of(key)
            if key == "world" or key in WORLD_KEYS:
                _fill_world(made, "place" if key == "world" else key, value)
            elif section is None:
                made[key] = value
            else:
                made.setdefault(section, {})
                made[section][key] = value
        return made

    # --- reading off

    @property
    def dataset(self) -> str:
        """The name that the ledger knows the data by."""
        return self.name or (dataset_name(self.source.files) if self.source.files else "trips")

    @property
    def delta(self) -> Fraction:
        """The chance that epsilon does not cover, where there is one."""
        return DEFAULT_DELTA if self.protection.delta is None else self.protection.delta

    @property
    def protected(self) -> str:
        """The name of the unit, as far as the plan alone tells it."""
        counted = self.method.way in ("counts", "counts-first")
        return self.protection.unit or ("event" if counted else "rider")

    @property
    def allowance(self) -> Allowance:
        """Return what a span of data may cost; of a series only."""
        assert self.protection.allowance is not None
        return self.protection.allowance

    @property
    def cadence(self) -> Cadence:
        """Return how often there is a release; of a series only."""
        assert self.series is not None
        return self.series

    @property
    def span(self) -> Span:
        """The span of data time that the allowance is for. Weeks are counted in years of whole weeks."""
        if self.allowance.span == "year" and self.cadence.every == "week":
            return "iso-year"
        return self.allowance.span

    @property
    def home(self) -> Path:
        """The folder of the release, or of the series; relative to the plan."""
        return self.path.parent / self.output.folder

    def beside(self, place: str) -> str:
        """A path of the plan, which is relative to the plan's folder."""
        return place if place.startswith("grid:") or "://" in place else str(self.path.parent / place)

    def from_here(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values whose paths lead from the plan's folder, where they led from the working folder."""
        keys = {"world"}.union(*_PATHS.values())

        def moved(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [moved(each) for each in value]
            return _moved(value, Path(), self.path.parent) if isinstance(value, str) else value

        return {key: moved(value) if key in keys else value for key, value in given.items()}

    def at(self, path: Path) -> "Plan":
        """Return the same plan as a file elsewhere: its paths lead from there to the same places."""
        said, folder = self.said(), path.parent

        def moved(place: str) -> str:
            return _moved(place, self.path.parent, folder)

        for section, keys in _PATHS.items():
            for key in keys & set(said.get(section, ())):
                value = said[section][key]
                if isinstance(value, str):
                    said[section][key] = moved(value)
                elif isinstance(value, tuple | list):
                    said[section][key] = [moved(each) for each in value]
        said["worlds"] = [{**world, "place": moved(world["place"])} for world in said.get("worlds", ())]
        for need in (need for need in said.get("needs", ()) if need.get("districts")):
            need["districts"] = moved(need["districts"])
        return Plan(**{**said, "path": path})

    def label(self, days: Days) -> str:
        """Return what people call a period of this series: 2026-W05."""
        return label(self.cadence.every, days)

    def world_of(self, days: Days | None = None) -> WorldVersion:
        """The version in force on the first day of a period (the latest one that had begun), or the only one."""
        on = date.min if days is None else days.first
        found = [world for world in self.worlds if days is None or world.first <= on <= world.last]
        if not found and days is not None:
            raise ParameterError(
                f"no world of the plan is in force on {on}: add the feed of that time to [[worlds]]"
            )
        if not found:
            raise ParameterError(NO_BOX if self.source.rows == "points" else NO_WORLD)
        return max(found, key=lambda world: world.first)


def home_of(key: str) -> str | None:
    """The section that has a key; None: the plan itself."""
    if key in Plan.model_fields or key == "world" or key in WORLD_KEYS:
        return None
    for name, section in SECTIONS.items():
        if key in section.model_fields:
            return name
    known = sorted(
        {*Plan.model_fields, "world", *WORLD_KEYS}.union(*(s.model_fields for s in SECTIONS.values()))
    )
    raise ParameterError(f"a plan has no key {key!r}; choose one of {', '.join(known)}")


def checked(record: Mapping[str, Any]) -> Plan:
    """The plan, or the first thing that is wrong with it in one sentence."""
    try:
        return Plan(**record)
    except ValidationError as error:
        place, said = first_problem(error)
        raise ParameterError(f"{'.'.join(place)}: {said}" if place else said) from None


def first_problem(error: ValidationError) -> tuple[list[str], str]:
    """Where the first problem is and what it is."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if re.fullmatch(r"\w+", str(part))]
    if place[-1:] in (["str"], ["int"]):  # one of the kinds that a key may have
        place.pop()
    said = first["msg"].removeprefix("Value error, ")
    key, _, rest = said.partition(": ")
    if not place and rest:
        return key.split("."), rest
    if first["type"] == "literal_error":
        wanted = str(first["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        said = f"choose one of {wanted}, not {first['input']!r}"
    elif first["type"] == "extra_forbidden":
        said = "there is no such key"
    return place, said[:1].lower() + said[1:]


def _moved(place: str, old: Path, new: Path) -> str:
    """A path from one folder as one from another; what is no relative path stays."""
    kept = place == "none" or place.startswith("grid:") or "://" in place or Path(place).is_absolute()
    return place if kept else relpath(old / place, new)


def _fill_world(made: dict[str, Any], key: str, value: Any) -> None:
    worlds = [dict(world) for world in made.get("worlds", ())]
    if len(worlds) > 1:
        raise ParameterError("the plan has several versions of the world: change them in the file")
    if not worlds and key != "place":
        raise ParameterError(f"--{key.replace('_', '-')} is about a world: name that with --world")
    made["worlds"] = [{**(worlds[0] if worlds else {}), key: value}]
