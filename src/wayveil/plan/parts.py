"""The parts of a plan: `Source`, `Protection`, `Method`, `Output`. All of it is public and checked once.

Every key has one name in the whole plan, so that an option of the command line or an argument in Python finds it.
"""

import re
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from wayveil.errors import ParameterError
from wayveil.exports.menu import MENU
from wayveil.plan.meanings import MEANINGS
from wayveil.privacy.budget import exact, release_epsilon
from wayveil.privacy.ledger.data_time import Days
from wayveil.sources.bad_rows import RULES, require_rules
from wayveil.sources.column_names import WORDS, our_columns, our_word
from wayveil.sources.moments import Times
from wayveil.sources.reading import Reading
from wayveil.trips.legs import VisitKind, Ways, require_words
from wayveil.trips.point_columns import in_order

Amount = Fraction
OPEN_END = date(9999, 12, 31)


class Part(BaseModel):
    """A section of a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def said(self) -> dict[str, Any]:
        """Give back what was said, by key; what was left to its default is left out."""
        return {
            key: _said(getattr(self, key)) for key in type(self).model_fields if key in self.model_fields_set
        }


def _said(value: Any) -> Any:
    if isinstance(value, Part):
        return value.said()
    if isinstance(value, tuple) and any(isinstance(each, Part) for each in value):
        return [_said(each) for each in value]
    return value


def _amount(value: Any, info: ValidationInfo) -> Fraction | None:
    if value is None:
        return None
    try:
        return exact(value, str(info.field_name))
    except ParameterError as error:
        raise ValueError(str(error)) from None


class Source(Part):
    """Where the rows are and what they are."""

    files: tuple[str, ...] = Field(
        (),
        description="Files, a folder or a pattern (taps-*.csv), together one table, relative to the plan; or the "
        "address of a database table (sqlite:///city.db?table=taps). In a series a name with %Y %m %d, or %G %V.",
    )
    rows: VisitKind | None = Field(None, description=MEANINGS["rows"])
    ways: Ways | None = Field(None, description=MEANINGS["ways"])
    columns: str | dict[str, str] | tuple[str, ...] | None = Field(
        None,
        description="Columns with other names, ours = theirs; a known layout of taps; or, for points without a header, "
        "all columns in order.",
    )
    encoding: str = Field("utf-8", description="Text files: their encoding, such as windows-1252 or utf-16.")
    separator: str | None = Field(
        None, description="Text files: what parts two cells. Default: as the header."
    )
    quote: str = Field('"', min_length=1, max_length=1, description="Text files: what stands around cells.")
    decimal: Literal[".", ",", "e5", "e6", "e7"] = Field(
        ".",
        description="The decimal mark of coordinates; `e7` where they are whole numbers that count ten millionths.",
    )
    skip: int = Field(0, ge=0, description="Text files and sheets: lines before the header.")
    header: bool = Field(
        True, description="Whether the first line names the columns; else column_1, column_2 ..."
    )
    ragged: bool = Field(
        False,
        description="Text files: rows may have more cells than the first line; those beyond are not read.",
    )
    line_ends: Literal["lf", "cr"] = Field(
        "lf", description="Text files: lines end in `lf` (also after a carriage return), or in `cr` alone."
    )
    sheet: str | None = Field(None, description="The sheet of a workbook, or the table of a database file.")
    times: Times = Field(
        "iso",
        description="How times are written: `iso` (or whole seconds since 1970), dates as `year-month-day`, "
        "`day.month.year` or `month/day/year` with a clock, a count of milliseconds, ... since 1970, or `none`: no "
        "times are read.",
    )
    clock: Literal["written", "seconds", "minutes", "hhmm", "hhmmss"] = Field(
        "written",
        description="Clocks: `written` (8:05), or whole numbers that count `seconds` or `minutes` since midnight, or "
        "whose digits are `hhmm` or `hhmmss` (9 is 0:09).",
    )
    zone: str | None = Field(
        None,
        description="The city's time zone: times that name a zone or count from 1970 are put on its clock. Without it "
        "every row keeps the wall time that it shows.",
    )
    places: Literal["id", "code", "name"] = Field(
        "id", description="What rows call places by: their `id` in the world, its `code`, or its `name`."
    )
    bad_rows: dict[str, str] = Field(
        default_factory=dict,
        description="Rules for bad rows by kind, each a rule of one row or one trip; default: refuse. "
        + " ".join(f"{kind}: {', '.join(rule.choices)}." for kind, rule in RULES.items()),
    )
    boardings: tuple[str, ...] = Field(
        (), description="Taps: the values of the column `action` that are boardings; other rows are dropped."
    )
    opt_out: str | None = Field(
        None, description="The column with the wish not to be counted: such rows are dropped, each by itself."
    )
    days: Days | None = Field(None, description=MEANINGS["days"])
    outside: Literal["refuse", "drop"] = Field(
        "refuse", description="Rows of other days: refuse the file, or drop each such row."
    )
    step: int | None = Field(
        None, gt=0, description="Points: seconds between positions where a cell holds a whole track."
    )
    split_gap: int | None = Field(None, gt=0, description="Points: a pause of more seconds ends a trip.")
    split_metres: float | None = Field(None, gt=0, description="Points: a jump of more metres ends a trip.")
    order: Literal["auto", "time", "file"] = Field(
        "auto",
        description="Points of a trip: sorted by `time`, or as in the `file`; default: by `tid`, file.",
    )
    repeated: Literal["error", "first"] = Field(
        "error", description="Points in one second at two places: an `error`, or the `first`."
    )
    no_fix: Literal["error", "skip"] = Field(
        "error", description="Points at (0, 0) or off the globe: an `error`, or `skip` them."
    )
    riders: Annotated[Literal["auto", "rider_id", "none"], BeforeValidator(our_word)] = Field(
        "auto",
        description="Points: `rider_id` names riders, or it does not; default: not if split by a flag.",
    )
    radius: float | None = Field(
        None,
        gt=0,
        description="Rows with coordinates: a place within so many metres is theirs. Needed for points.",
    )
    rules: dict[str, Any] = Field(
        default_factory=dict,
        description="Points: rules by name (fastest_kmh, fill, ...); `study = true`: the study's.",
    )

    @property
    def reading(self) -> Reading:
        """Return how the files are written."""
        columns: Any = self.columns
        if isinstance(columns, tuple):
            columns = in_order(columns)
        said = {key: getattr(self, key) for key in WRITTEN}
        named = columns if isinstance(columns, dict) and set(map(our_word, columns)) <= set(WORDS) else {}
        header = self.header and not isinstance(self.columns, tuple)
        rules = require_rules(self.bad_rows)
        return Reading(columns=our_columns(named, WORDS), rules=rules, **said | {"header": header})

    @field_validator("files", "boardings", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("days", mode="before")
    @classmethod
    def _days(cls, value: Any) -> Any:
        try:
            return Days.parse(value) if isinstance(value, str) else value
        except (ParameterError, ValueError) as error:
            raise ValueError(f"{error}; write 2026-01-05/2026-01-11") from None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            require_words(self.rows, self.ways)
            _ = self.reading
        except ParameterError as error:
            raise ValueError(str(error)) from None
        return self


WRITTEN = (
    *(
        "encoding",
        "separator",
        "quote",
        "decimal",
        "skip",
        "header",
        "ragged",
        "line_ends",
        "sheet",
        "times",
        "clock",
        "zone",
        "places",
        "radius",
        "step",
    ),
)


class WorldVersion(Part):
    """A public description of the places, and from when to when it is in force."""

    place: str = Field(description=MEANINGS["place"])
    first: date = Field(date.min, description="First day of data that is read over it.")
    last: date = Field(OPEN_END, description="Last day; open if left out.")
    bbox: str | None = Field(None, description=MEANINGS["bbox"])
    service_date: date | None = Field(None, description=MEANINGS["service_date"])
    walk_radius: float | None = Field(None, description=MEANINGS["walk_radius"])


class Expected(Part):
    """Public knowledge of the size of the data: for `wayveil plan`, which reads no row."""

    rides: int | None = Field(None, ge=1, description="Rides (taps) of a release, about: stated, never read.")
    people: int | None = Field(None, ge=1, description="Riders who make them, about. Default: rides / 5.")


class Allowance(Part):
    """Limit on what one unit may lose from the data of one span of time, for ever: the policy of a series."""

    epsilon: Amount = Field(description="What one unit may lose from the data of one span.")
    span: Literal["year", "month", "week", "day"] = Field("year", description="Of data time.")
    unit: Literal["rider", "rider-day", "trip", "event"] = Field("rider", description="Whose loss it limits.")
    carried_over: bool = Field(False, description="What a span leaves may be spent later (unit rider).")
    trips_per_day: int | None = Field(None, ge=1, description="Stated: no rider makes more trips in a day.")
    visits_per_day: int | None = Field(None, ge=1, description="Stated: no rider taps more often in a day.")
    days_per_rider: int = Field(
        366, ge=1, description="A person is in the data of a year on at most so many days."
    )
    daily_taps: int = Field(2, ge=1, description="Taps of the daily rider whose year the page states.")

    _exact = field_validator("epsilon", mode="before")(_amount)


class Protection(Part):
    """Who is protected, how much a release may cost, and where that is booked."""

    epsilon: Amount = Field(description=MEANINGS["epsilon"])
    delta: Amount | None = Field(None, description=MEANINGS["delta"])
    currency: Literal["epsilon", "rho"] = Field("epsilon", description=MEANINGS["currency"])
    unit: Literal["rider", "rider-day", "trip", "event", "points", "window"] | None = Field(
        None, description=MEANINGS["unit"]
    )
    max_trips: int | None = Field(None, ge=1, description=MEANINGS["max_trips"])
    max_taps: int | None = Field(None, ge=1, description=MEANINGS["max_taps"])
    bounding: Literal["draw", "weights"] | None = Field(
        None,
        description="`draw`: `max_trips` of a rider's trips count. `weights`: all of them count, together as "
        "`max_trips` (2 unless said), and numbers are of all trips. Default: weights where no `max_trips` is said.",
    )
    most_rows: int | None = Field(
        None,
        ge=1,
        description="Trips of one rider that are in the number of all trips, with weights. Default: 32.",
    )
    window_hours: int | None = Field(None, ge=1, description="Hours of the unit window.")
    consecutive: int | None = Field(
        None,
        ge=1,
        description="Visits of a trip, one after the other, that the unit points protects together.",
    )
    no_rider: Literal["refuse", "drop", "own"] = Field("refuse", description=MEANINGS["no_rider"])
    ledger: str | None = Field(None, description=MEANINGS["ledger"])
    policy_epsilon: Amount | None = Field(None, description=MEANINGS["policy_epsilon"])
    new_people: bool = Field(False, description=MEANINGS["new_people"])
    tuned_on_data: bool = Field(False, description=MEANINGS["tuned_on_data"])
    sensitive: str | None = Field(
        None,
        description="Taps: a csv of sensitive stops (stop_id, merge_into): merged into the nearest other stop.",
    )
    sensitive_epsilon: Amount | None = Field(
        None, description="With `sensitive`: do not merge; protect what a unit did there with this epsilon."
    )
    allowance: Allowance | None = Field(None, description="Of a series: what a year of data may cost.")

    _exact = field_validator("delta", "policy_epsilon", "sensitive_epsilon", mode="before")(_amount)

    @field_validator("epsilon", mode="before")
    @classmethod
    def _in_range(cls, value: Any) -> Fraction:
        try:
            return release_epsilon(value)
        except ParameterError as error:
            raise ValueError(str(error)) from None


class Method(Part):
    """Which mechanism counts what, with which parameters."""

    mechanism: str | None = Field(None, description=MEANINGS["mechanism"])
    preset: str | None = Field(None, description=MEANINGS["preset"])
    parameters: dict[str, Any] = Field(default_factory=dict, description="Parameters of the mechanism.")
    way: Literal["cards", "counts-first", "counts", "study"] | None = Field(None, description=MEANINGS["way"])
    chain: Literal["day", "week"] | None = Field(None, description="Taps: a trip is a rider's day or week.")
    alightings: bool = Field(False, description="Taps, way cards: add where riders get off.")
    rider_rules: str | None = Field(None, description="Taps: TOML file of rules by which riders are made.")
    prior: tuple[str, ...] | int = Field(
        (), description="Folders of earlier releases to follow, the oldest first; in a series how many (8)."
    )

    @field_validator("prior", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class Output(Part):
    """Files that are written, and where."""

    folder: str = Field("release", description="Folder of the release (of a series: of all of them).")
    trips_out: int | None = Field(
        None, ge=0, description="How many private trips are drawn; as many as there are if left out."
    )
    exports: tuple[str, ...] = Field((), description=f"Formats beside the release: {', '.join(MENU)}.")
    report: bool = Field(False, description="Write a public report beside the release.")

    @field_validator("exports")
    @classmethod
    def _known(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        for name in formats:
            if name not in MENU:
                raise ValueError(f"unknown format {name!r}; choose one of {', '.join(MENU)}")
        return formats


class Machine(Part):
    """Where rows are counted; all engines give the same release."""

    engine: Literal["auto", "memory", "stream", "spark"] = Field("auto", description=MEANINGS["engine"])
    spark: str | None = Field(None, description="Address of Spark: local[2], spark://host:7077 or sc://host.")
    scratch: str | None = Field(None, description="Folder for temporary files of stream and spark.")
    memory: float = Field(6, ge=0.001, description="GiB that noisy answers may take.")


class Cadence(Part):
    """A release every day, week or month."""

    every: Literal["day", "week", "month"] = Field("week", description="Weeks are ISO weeks, from Monday.")
    first: date = Field(description="First day of data. A release covers whole days, weeks or months.")


def is_name(text: str) -> bool:
    """Tell whether a name can also name files."""
    return bool(re.fullmatch(r"\w[\w .-]*", text)) and text == text.strip()
