"""The plan of a series, as a TOML file: what the files are, what is published, how often, and what it may cost.

Everything here is public, and everything that happens to a row follows from the row and the plan.
"""

import re
import tomllib
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from wayveil.errors import InputError, ParameterError
from wayveil.exports.menu import MENU
from wayveil.privacy.budget import exact
from wayveil.privacy.ledger.data_time import Days, Span, label, span_of
from wayveil.series.file_names import NamePattern

Cadence = Literal["day", "week", "month"]
BudgetUnit = Literal["rider", "rider-day", "trip", "event"]
OPEN_END = date(9999, 12, 31)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Source(_Part):
    """What the files are."""

    files: str = Field(description="How a file's name says its days, with %Y %m %d, or %G and %V for a week.")
    columns: str | None = Field(
        None, description="Layout of the taps: a preset or a TOML file; guessed if left out."
    )
    map: dict[str, str] = Field(default_factory=dict, description="In place of columns: ours = theirs.")
    zone: str | None = Field(
        None, description="The city's time zone; without it a row's day is the one it shows."
    )
    opt_out: str | None = Field(
        None, description="The column with the wish not to be counted: such rows are dropped."
    )
    outside: Literal["refuse", "drop"] = Field(
        "refuse", description="Rows of other days than the name says: refuse the file, or drop each such row."
    )
    days_per_rider: int = Field(
        366, ge=1, description="A person is in the data of a year on at most so many days."
    )
    daily_taps: int = Field(2, ge=1, description="Taps of the daily rider whose year the page states.")

    @field_validator("files")
    @classmethod
    def _readable(cls, text: str) -> str:
        try:
            NamePattern.parse(text)
        except ParameterError as error:
            raise ValueError(str(error)) from None
        return text

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if self.columns is not None and self.map:
            raise ValueError("give columns or map, not both")
        return self

    @property
    def layout(self) -> Any:
        """As `read_taps` takes it."""
        return self.map or self.columns


class WorldVersion(_Part):
    """A feed (or list of places, or grid) and from when to when it is in force."""

    place: str = Field(description="GTFS zip or folder, saved network, list of places, or grid:...")
    first: date = Field(description="First day of data that is read over it.")
    last: date = Field(OPEN_END, description="Last day; open if left out.")
    bbox: str | None = None
    service_date: date | None = None
    walk_radius: float | None = None


class Published(_Part):
    """What is released, and what is made of it."""

    way: Literal["cards", "counts", "counts-first"] = Field(
        "cards", description="See `wayveil taps release --help`."
    )
    unit: Literal["rider", "rider-day", "event"] | None = Field(
        None, description="Whom a release protects. Default: rider for cards, event for counts."
    )
    mechanism: str | None = Field(
        None, description="For cards. Default: tap-counts of the first four taps of a day."
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="Parameters of the mechanism.")
    max_trips: int = Field(
        2, ge=1, description="Days of taps of one rider that are counted (of a rider-day: 1)."
    )
    no_rider: Literal["refuse", "drop", "own"] = Field("refuse", description="Taps without a card.")
    prior: int = Field(
        8, ge=0, description="How many earlier releases are followed, where the mechanism can; 0: none."
    )
    exports: tuple[str, ...] = Field((), description=f"Formats beside the release: {', '.join(MENU)}.")
    report: bool = Field(True, description="Write a public report of every release.")
    purpose: str = ""

    @field_validator("exports")
    @classmethod
    def _known(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in formats if name not in MENU]
        if unknown:
            raise ValueError(f"there is no format {unknown[0]!r}; there are {', '.join(MENU)}")
        return formats

    @model_validator(mode="after")
    def _of_the_way(self) -> Self:
        if self.way == "cards" and self.unit == "event":
            raise ValueError(
                "chains of cards protect a rider or a rider-day; single taps are the way `counts`"
            )
        if self.way != "cards" and self.unit not in (None, "event"):
            raise ValueError(f"the way {self.way!r} protects single taps (unit `event`)")
        if self.way != "cards" and (self.mechanism is not None or self.parameters):
            raise ValueError(
                f"the way {self.way!r} has its own mechanism: leave mechanism and parameters out"
            )
        return self

    @property
    def protected(self) -> str:
        """Whom a release protects."""
        return self.unit or ("rider" if self.way == "cards" else "event")


class Budget(_Part):
    """What may be spent: per release, and per year (or month, ...) of data."""

    epsilon: Fraction = Field(description='Of one release; with accounting = "rho" at `delta`.')
    unit: BudgetUnit = Field("rider", description="Whose loss the period limits.")
    period: Literal["year", "month", "week", "day"] = Field(
        "year", description="Of data time. No total is needed."
    )
    period_epsilon: Fraction = Field(description="What one unit may lose from the data of one period.")
    accounting: Literal["epsilon", "rho"] = Field(
        "epsilon",
        description="epsilon: plain sums of Laplace noise. rho: zCDP, Gaussian noise, with `delta`.",
    )
    delta: Fraction = Field(
        Fraction(1, 1_000_000), description="For rho, and for what is stated beside plain sums."
    )
    carried_over: bool = Field(False, description="What a period leaves may be spent later (unit rider).")
    trips_per_day: int | None = Field(None, ge=1, description="Stated: no rider makes more trips in a day.")
    visits_per_day: int | None = Field(None, ge=1, description="Stated: no rider taps more often in a day.")

    @field_validator("epsilon", "period_epsilon", "delta", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Fraction:
        try:
            return exact(value)
        except ParameterError as error:
            raise ValueError(str(error)) from None


class Plan(_Part):
    """One source of data, one plan, one budget over a period of data time, many releases."""

    name: str = Field(min_length=1, description="Of the series; the ledger knows the data by it.")
    curator: str = Field("", description="Who publishes; goes into datasheets.")
    folder: str = Field("series", description="Where everything goes: public/ and internal/ in it.")
    ledger: str | None = Field(None, description="Place of the ledger; without it the default one.")
    every: Cadence = Field("week", description="One release per day, week (ISO, from Monday) or month.")
    first: date = Field(description="First day of data. A release covers whole days, weeks or months.")
    source: Source
    worlds: tuple[WorldVersion, ...] = Field(min_length=1)
    publish: Published = Field(default_factory=Published)
    budget: Budget
    path: Path = Field(Path("plan.toml"), exclude=True)

    @field_validator("name")
    @classmethod
    def _names_files(cls, name: str) -> str:
        if not re.fullmatch(r"\w[\w .-]*", name) or name != name.strip():
            raise ValueError(f"{name!r} also names files: use letters, digits, spaces, dots and dashes")
        return name

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if span_of(self.every, self.first).first != self.first:
            raise ValueError(
                f"first: a {self.every} does not begin on {self.first}; say {span_of(self.every, self.first).first}"
            )
        ordered = sorted(self.worlds, key=lambda world: world.first)
        for before, after in pairwise(ordered):
            if before.last >= after.first and before.last != OPEN_END:
                raise ValueError(f"worlds: two are in force on {after.first}; end the first one before")
        if ordered[0].first > self.first:
            raise ValueError(f"worlds: none is in force on {self.first}, the first day of the series")
        order = ("day", "week", "month", "year")
        if order.index(self.budget.period) < order.index(self.every):
            raise ValueError(
                f"budget.period: a {self.every} of data lies in several {self.budget.period}s; say a longer one"
            )
        return self

    @property
    def home(self) -> Path:
        """The folder of the series; relative to the plan."""
        return self.path.parent / self.folder

    @property
    def span(self) -> Span:
        """The span of data time that the budget is for. Weeks are counted in years of whole weeks."""
        if self.budget.period == "year" and self.every == "week":
            return "iso-year"
        return self.budget.period

    def beside(self, place: str) -> str:
        """A path of the plan, which is relative to the plan's folder."""
        return place if place.startswith("grid:") or "://" in place else str(self.path.parent / place)

    def label(self, days: Days) -> str:
        """What people call a period of this series: 2026-W05."""
        return label(self.every, days)

    def world_of(self, days: Days) -> WorldVersion:
        """The version in force on the first day of a period; the latest one that had begun."""
        found = [world for world in self.worlds if world.first <= days.first <= world.last]
        if not found:
            raise ParameterError(
                f"no world of the plan is in force on {days.first}: add the feed of that time to [[worlds]]"
            )
        return max(found, key=lambda world: world.first)


def read_plan(path: str | Path) -> Plan:
    """A plan from its file; what is wrong with it is said with its key and line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    try:
        return Plan(**tomllib.loads(text), path=path)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not a TOML file ({error})", file=path) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"]]
        said = first["msg"].removeprefix("Value error, ")
        if not place:
            key, _, rest = said.partition(": ")
            place, said = (key.split("."), rest) if rest else (place, said)
        at = _line_of(text, place)
        named = ".".join(place) or "the plan"
        raise InputError(f"{'' if at is None else f'line {at}: '}{named}: {said}", file=path) from None


def _line_of(text: str, place: list[str]) -> int | None:
    """The line on which a key stands, as far as a plain look at the file finds it."""
    keys = [part for part in place if not part.isdigit()]
    if not keys:
        return None
    table, wanted = ".".join(keys[:-1]), keys[-1]
    number = next((int(part) for part in place if part.isdigit()), 0)
    current, seen, header = "", -1, None
    for at, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].strip()
        if words.startswith("["):
            current = words.strip("[] ")
            seen += current == (table or wanted)
            if current == ".".join(keys) or (current == table and seen == number):
                header = at if header is None else header
            continue
        key = words.partition("=")[0].strip()
        if key == wanted and current == table and (not table or seen in (-1, number)):
            return at
    return header
