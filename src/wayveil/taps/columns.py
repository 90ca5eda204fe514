"""Column maps: which of a vendor's columns is which of ours."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, ValidationError

from wayveil.errors import InputError, ParameterError
from wayveil.trips.columns import candidates, plain_name

# What a row may carry; each is the name of a column in the file, or None.
COLUMNS = (
    "time",
    "date",
    "stop",
    "lat",
    "lon",
    "device",
    "route",
    "vehicle",
    "bus",
    "seats",
    "card",
    "transaction",
    "action",
    "filled",
    "opt_out",
)

# What taps have and trips do not, as it is called in the wild (see `trips.columns`).
SAYINGS = {
    "route": ("routeid", "route", "routename", "line", "lineid", "routeno", "routenumber"),
    "lat": ("lat", "latitude", "stoplat"),
    "lon": ("lon", "lng", "long", "longitude", "stoplon"),
}


class ColumnMap(BaseModel):
    """The file's name for each of our columns, and how its values are written.

    time         moment of the tap: date and time in one, or a clock beside `date`
    date         service date, if it stands in a column of its own; clocks may then pass 24:00 (25:10 = 01:10 next day)
    stop         stop id; or `lat` and `lon`, which become the nearest location; or `device`, looked up in a table
    route, vehicle, bus, seats   what the tap was on; rows that lack vehicle data can be dropped
    card         the rider's fare card or token
    transaction  id of the row, which makes repeated rows recognisable
    action       kind of transaction; only `boardings` are kept
    opt_out      the wish not to be counted: rows that say 1, true, yes or y are left out before anything looks at them
    missing      texts that mean "no value"
    date_format  of the `date` column, as in strftime
    clock        how `time` is written beside a date: as a clock (08:15, 25:10:00) or as a whole `hour`
    form         what a `time` without `date` looks like: `dated` (a date and time with or without zone, or seconds
                 since 1970), or only one of `local`, `zoned`, `seconds`, `clock`. Other rows are dropped
    zone         the zone of the city (Europe/Madrid): times that name a zone are put on its clock, times that name none
                 are on it already. Without it, every row keeps the wall time that it shows
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    time: str
    date: str | None = None
    stop: str | None = None
    lat: str | None = None
    lon: str | None = None
    device: str | None = None
    route: str | None = None
    vehicle: str | None = None
    bus: str | None = None
    seats: str | None = None
    card: str | None = None
    transaction: str | None = None
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
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "column map"
            known = ", ".join(type(self).model_fields)
            raise ParameterError(
                f"column map: {place}: {first['msg'].lower()}; it may have {known}"
            ) from None
        if self.stop is None and self.device is None and (self.lat is None or self.lon is None):
            raise ParameterError("a column map needs a place: `stop`, or `lat` and `lon`, or `device`")
        if self.zone is not None:
            _check_zone(self.zone)

    def theirs(self) -> dict[str, str]:
        """Their name to ours, for the columns that are mapped."""
        pairs = ((getattr(self, name), name) for name in COLUMNS)
        return {their: our for their, our in pairs if their is not None}

    def within(self, header: Sequence[str]) -> "ColumnMap":
        """The same map without optional columns that a file does not have; time and place must be there."""
        needed = {"time", "date", "lat", "lon"} | ({"stop"} if self.device not in header else set())
        absent = {
            name: None for their, name in self.theirs().items() if their not in header and name not in needed
        }
        return self.model_copy(update=absent)


PRESETS: dict[str, ColumnMap] = {
    "wayveil": ColumnMap(
        time="event_time",
        stop="stop_id",
        route="route_id",
        vehicle="vehicle_id",
        seats="seats",
        card="card_id",
        transaction="tap_id",
        filled="filled",
    ),
    "bc-transit": ColumnMap(
        time="ts",
        stop="stopId",
        route="routeName",
        vehicle="vehicle",
        bus="bus_number",
        seats="seats",
        missing=("", "Default", "NA", "NaN", "null"),
    ),
    "tides": ColumnMap(
        time="event_timestamp",
        stop="stop_id",
        device="device_id",
        vehicle="vehicle_id",
        card="token_id",
        transaction="transaction_id",
        action="fare_action",
        boardings=("Enter", "Transfer entrance"),
    ),
    "tides-draft": ColumnMap(
        time="timestamp",
        date="date",
        stop="stop_id",
        device="device_id",
        vehicle="vehicle_id",
        transaction="transaction_id",
        action="fare_action",
        boardings=("Enter", "Transfer entrance"),
    ),
    "sube": ColumnMap(
        time="hora",
        date="fecha",
        lat="lat",
        lon="lon",
        route="id_linea",
        vehicle="interno_bus",
        card="id_tarjeta",
        transaction="id",
        date_format="%d/%m/%Y",
        clock="hour",
    ),
    "scikit-mobility": ColumnMap(time="datetime", lat="lat", lon="lng", card="uid"),
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


def guess_layout(header: Sequence[str], columns: Mapping[str, str] | None = None) -> ColumnMap | None:
    """The layout of a table of taps, by its columns or by what they are often called; None where none can be told.

    `columns` are their names to those of trips (stop_id, event_time, rider_id), where somebody has said them.
    """
    known = None if columns else _preset_of(header)
    if known is not None and (known.card is not None or not candidates(header, "rider_id")):
        return known
    named: dict[str, str] = {} if known is None else {our: their for their, our in known.theirs().items()}
    if "date" in named:
        return known  # a clock beside a date is more than names can say
    said = {ours: theirs for theirs, ours in (columns or {}).items()}
    for ours, of_trips in (("time", "event_time"), ("stop", "stop_id"), ("card", "rider_id")):
        told = [said[of_trips]] if of_trips in said else candidates(header, of_trips)
        if told:
            named.setdefault(ours, told[0])
    for ours, names in SAYINGS.items():
        told = [name for name in header if plain_name(name) in names]
        if told:
            named.setdefault(ours, told[0])
    located = "stop" in named or {"lat", "lon"} <= set(named)
    return ColumnMap(**named) if "time" in named and located else None


def _preset_of(header: Sequence[str]) -> ColumnMap | None:
    for preset in PRESETS.values():
        places = (preset.stop, preset.lat) if preset.device not in header else (preset.device,)
        needed = [preset.time, *([preset.date] if preset.date else [])]
        if all(name in header for name in needed) and any(name in header for name in places):
            return preset.within(header)
    return None


def _guessed(header: Sequence[str], file: Path | str) -> ColumnMap:
    found = _preset_of(header)
    if found is not None:
        return found
    raise InputError(
        f"no known layout fits its columns {', '.join(map(repr, header))}; known are "
        f"{', '.join(PRESETS)}. Say which column is which, for example --map time=ts --map stop=stopId",
        file=file,
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
        raise InputError(f"is not a TOML file ({error})", file=path) from error
