"""Column maps: which of a vendor's columns is which of ours."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, ValidationError

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.sources.column_names import in_our_words

EARLIER_RIDERS = "card_id"  # as files of our own called riders


# How values are written; every other field of a map is a column that a row may carry.
WRITTEN = ("missing", "boardings", "date_format", "clock", "form", "zone")


class ColumnMap(BaseModel):
    """The file's name for each of our columns, and how its values are written.

    event_time    moment of the tap: date and time in one, or a clock beside `service_date`
    service_date  if it stands in a column of its own; clocks may then pass 24:00 (25:10 = 01:10 next day)
    stop_id       stop; or `lat` and `lon`, which become the nearest location; or `device_id`, looked up in a table
    route_id, vehicle_id, bus_number, seats   what the tap was on; rows that lack vehicle data can be dropped
    rider_id      the rider's fare card or token
    tap_id        id of the row, which makes repeated rows recognisable
    action        kind of transaction; only `boardings` are kept
    opt_out       the wish not to be counted: rows that say 1, true, yes or y are left out before anything looks at them
    missing       texts that mean "no value"
    date_format   of `service_date`, as in strftime
    clock         how `event_time` is written beside a date: as a clock (08:15, 25:10:00) or as a whole `hour`
    form          what an `event_time` without `service_date` looks like: `dated` (a date and time with or without zone,
                  or seconds since 1970), or only one of `local`, `zoned`, `seconds`, `clock`. Other rows are dropped
    zone          the zone of the city (Europe/Madrid): times that name a zone are put on its clock, times that name
                  none are on it already. Without it, every row keeps the wall time that it shows
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_time: str
    service_date: str | None = None
    stop_id: str | None = None
    lat: str | None = None
    lon: str | None = None
    device_id: str | None = None
    route_id: str | None = None
    vehicle_id: str | None = None
    bus_number: str | None = None
    seats: str | None = None
    rider_id: str | None = None
    tap_id: str | None = None
    action: str | None = None
    filled: str | None = None
    opt_out: str | None = None
    missing: tuple[str, ...] = ("", "NA", "NaN", "null")
    boardings: tuple[str, ...] = ()
    date_format: str = "%Y-%m-%d"
    clock: Literal["clock", "hour"] = "clock"
    form: Literal["dated", "local", "zoned", "seconds", "clock"] = "dated"
    zone: str | None = None

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**in_our_words(values))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "column map"
            known = ", ".join(type(self).model_fields)
            raise ParameterError(
                f"column map: {place}: {first['msg'].lower()}; it may have {known}"
            ) from None
        if self.stop_id is None and self.device_id is None and (self.lat is None or self.lon is None):
            raise ParameterError("a column map needs a place: `stop_id`, or `lat` and `lon`, or `device_id`")
        if self.zone is not None:
            _check_zone(self.zone)

    def columns(self) -> dict[str, str]:
        """Our name to theirs, for the columns that are mapped."""
        pairs = ((name, getattr(self, name)) for name in COLUMNS)
        return {our: their for our, their in pairs if their is not None}

    def changed(self, **values: Any) -> "ColumnMap":
        """Return the same map with other values, checked like the first ones."""
        return ColumnMap(**{**self.model_dump(), **values}) if values else self

    def within(self, header: Sequence[str]) -> "ColumnMap":
        """Return the same map without optional columns that a file does not have; time and place must be there."""
        needed = {"event_time", "service_date", "lat", "lon"}
        if self.device_id not in header:
            needed.add("stop_id")
        changed: dict[str, str | None] = {
            our: None for our, their in self.columns().items() if their not in header and our not in needed
        }
        if self.rider_id == "rider_id" and "rider_id" in changed and EARLIER_RIDERS in header:
            changed["rider_id"] = EARLIER_RIDERS
        return self.model_copy(update=changed)


COLUMNS = tuple(name for name in ColumnMap.model_fields if name not in WRITTEN)
_OWN = ("event_time", "stop_id", "route_id", "vehicle_id", "seats", "rider_id", "tap_id", "filled")
_TIDES = ColumnMap(
    event_time="event_timestamp",
    stop_id="stop_id",
    device_id="device_id",
    vehicle_id="vehicle_id",
    rider_id="token_id",
    tap_id="transaction_id",
    action="fare_action",
    boardings=("Enter", "Transfer entrance"),
)
PRESETS: dict[str, ColumnMap] = {
    "wayveil": ColumnMap(**{name: name for name in _OWN}),
    "bc-transit": ColumnMap(
        event_time="ts",
        stop_id="stopId",
        route_id="routeName",
        vehicle_id="vehicle",
        bus_number="bus_number",
        seats="seats",
        missing=("", "Default", "NA", "NaN", "null"),
    ),
    "tides": _TIDES,
    "tides-draft": _TIDES.changed(event_time="timestamp", service_date="date", rider_id=None),
    "sube": ColumnMap(
        event_time="hora",
        service_date="fecha",
        lat="lat",
        lon="lon",
        route_id="id_linea",
        vehicle_id="interno_bus",
        rider_id="id_tarjeta",
        tap_id="id",
        date_format="%d/%m/%Y",
        clock="hour",
    ),
    "scikit-mobility": ColumnMap(event_time="datetime", lat="lat", lon="lng", rider_id="uid"),
}


def column_map(
    given: ColumnMap | Mapping[str, Any] | str | Path | None, header: Sequence[str], file: Path | str
) -> ColumnMap:
    """The map to read a file with: given as such, as a dict, by the name of a preset, as a TOML file, or guessed."""
    if given is None:
        return _guessed(header, file)
    if isinstance(given, ColumnMap):
        return given.within(header)
    if isinstance(given, Mapping):
        return ColumnMap(**given)
    if str(given) in PRESETS:
        return PRESETS[str(given)].within(header)
    return _from_toml(Path(given))


def known_layout(header: Sequence[str]) -> ColumnMap | None:
    """Return the known layout that fits a header; None where none does."""
    for preset in PRESETS.values():
        places = (preset.stop_id, preset.lat) if preset.device_id not in header else (preset.device_id,)
        needed = [preset.event_time, *([preset.service_date] if preset.service_date else [])]
        if all(name in header for name in needed) and any(name in header for name in places):
            return preset.within(header)
    return None


def _guessed(header: Sequence[str], file: Path | str) -> ColumnMap:
    found = known_layout(header)
    if found is not None:
        return found
    raise InputError(
        f"no known layout fits its columns {', '.join(map(repr, header))}; known are "
        f"{', '.join(PRESETS)}. Say which column is which, for example --map event_time=ts --map stop_id=stopId",
        file=file,
        tells=LAYOUT,
    )


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ParameterError(f"there is no time zone {name!r}; write one like Europe/Madrid") from error


def _from_toml(path: Path) -> ColumnMap:
    if not path.is_file():
        raise ParameterError(
            f"there is no column map {str(path)!r}: give a TOML file or one of {', '.join(PRESETS)}"
        )
    try:
        return ColumnMap(**tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not a TOML file ({error})", file=path, tells=LAYOUT) from error
