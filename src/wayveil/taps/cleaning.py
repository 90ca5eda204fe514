"""Rules that clean taps: which rows are dropped, filled or kept, and how many each rule touched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Mask
from wayveil.disclosures import EMPTY
from wayveil.errors import InputError, ParameterError
from wayveil.sources.categories import distinct_values
from wayveil.taps.cleaning_report import CleaningReport
from wayveil.taps.columns import ColumnMap
from wayveil.taps.moments import read_moments
from wayveil.taps.taps import Taps
from wayveil.taps.vehicles import VehicleTable, from_same_bus
from wayveil.trips.history import FILLED, History
from wayveil.trips.ids import known_ids
from wayveil.trips.tables import read_table
from wayveil.world.locating import find_places, locate
from wayveil.world.network import Network
from wayveil.world.timebins import DAY
from wayveil.world.world import World


@dataclass(frozen=True)
class MatchedPlaces:
    """The location of every row (-1: none), and why it has none. Each row is matched by itself."""

    location: NDArray[np.int32]
    missing: Mask
    inactive: Mask
    outside: Mask
    named: str
    say: Callable[[int], str]

    @classmethod
    def of(
        cls, text: Mapping[str, pl.Series], world: World, everywhere: World | None, reach: float | None
    ) -> "MatchedPlaces":
        """By stop id where there is one, else by coordinates, at most `reach` metres away (None: see `locating`)."""
        if "stop_id" not in text:
            return _by_coordinates(text, world, reach)
        stop = text["stop_id"]
        location = find_places(stop.fill_null(""), world)
        missing = stop.is_null().to_numpy()
        location = np.where(missing, -1, location).astype(np.int32)
        unknown = (location < 0) & ~missing
        inactive = np.zeros(len(stop), bool)
        if everywhere is not None:
            inactive = unknown & (find_places(stop.fill_null(""), everywhere) >= 0)
        return cls(
            location, missing, inactive, unknown & ~inactive, "stop", lambda row: f"stop {stop[row]!r}"
        )


def _by_coordinates(text: Mapping[str, pl.Series], world: World, reach: float | None) -> MatchedPlaces:
    if not isinstance(world, Network):
        raise ParameterError(
            "taps with coordinates need a world that has coordinates: a network or a grid of cells"
        )
    lat, lon = (
        text[name].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        for name in ("lat", "lon")
    )
    # 0, 0 lies in the sea off Ghana and is what devices without a fix report.
    missing = ~(np.isfinite(lat) & np.isfinite(lon)) | ((lat == 0) & (lon == 0))
    location = locate(world, lat, lon, reach)
    outside = ~missing & (location < 0)
    return MatchedPlaces(
        location,
        missing,
        np.zeros(len(lat), bool),
        outside,
        "coordinates",
        lambda row: f"({lat[row]:.4f}, {lon[row]:.4f})",
    )


OPTED_OUT = ("1", "true", "yes", "y")


@dataclass(frozen=True, eq=False)
class Cleaning:
    """Rules for what is dropped and what is filled.

    fill          gaps in stop and route: left alone, filled from other rows of the same bus (unsound before noise), or
                  filled from a public `VehicleTable`
    repeated      exact repetitions of a row: drop all but one, or keep. `auto` drops them if rows have a transaction or
                  a card and times finer than whole hours; otherwise two boardings may look the same
    need_vehicle  drop rows without vehicle, bus number or seats (default: if the file has seats, as in the study)
    need_route    drop rows without route (default: likewise)
    devices       a TIDES `devices` table, which says at which stop a gate stands
    everywhere    a larger world: a stop that only this one has is counted as inactive in the period
    period        first and last day that count, both included
    reach_metres  how far a tap with coordinates may be from the nearest location: 500 m, or a cell of a grid
    """

    fill: Literal["none", "same-bus"] | VehicleTable = "none"
    repeated: Literal["auto", "drop", "keep"] = "auto"
    need_vehicle: bool | None = None
    need_route: bool | None = None
    devices: str | Path | None = None
    everywhere: World | None = None
    period: tuple[date, date] | None = None
    reach_metres: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.fill, str) and self.fill not in ("none", "same-bus"):
            raise ParameterError(f"fill is 'none', 'same-bus' or a vehicle table, not {self.fill!r}")

    def apply(
        self, name: Path | str, table: pl.DataFrame, layout: ColumnMap, world: World, marks: frozenset[str]
    ) -> "CleanTaps":
        """Apply every rule in its order to the rows of a table under our names."""
        # The choice to fill marks the taps, whether or not it found a gap: that there was one is nobody's business.
        history = History(marks=marks | ({FILLED} if self.fill == "same-bus" else frozenset()))
        rows = _Rows(name, table, layout, world, history)
        study_like = layout.seats is not None
        rows.wishes()
        rows.times()
        rows.actions()
        if study_like if self.need_vehicle is None else self.need_vehicle:
            rows.vehicle_data()
        rows.repetitions(self.repeated)
        rows.period(self.period)
        rows.devices(self.devices)
        if self.fill != "none":
            rows.fill(self.fill)
        rows.places(self.everywhere, self.reach_metres)
        with_route = study_like and layout.route_id is not None
        rows.routes(with_route if self.need_route is None else self.need_route)
        return rows.result()


@dataclass(frozen=True, eq=False)
class CleanTaps:
    """Taps and how they were cleaned."""

    taps: Taps
    report: CleaningReport


class _Rows:
    """One file on its way: `alive` are the rows that no rule has dropped yet."""

    def __init__(
        self, name: Path | str, table: pl.DataFrame, layout: ColumnMap, world: World, history: History
    ) -> None:
        self.layout, self.world, self.history = layout, world, history
        self.text = {
            name: _without(table[name].cast(pl.String), layout.missing)
            for name in table.columns
            if name not in ("event_time", "filled", "rider_id")
        }
        if "rider_id" in table.columns:
            self.text["rider_id"] = known_ids(table["rider_id"].cast(pl.String), layout.missing)
        self.table = table
        self.alive: Mask = np.ones(table.height, bool)
        self.report = CleaningReport(name, layout.columns(), table.height)
        self.filled: Mask = _already_filled(table)
        self.location = np.full(table.height, -1, np.int32)
        self.route: NDArray[np.int32] | None = None
        self.moments = read_moments(table, layout)

    def drop(self, rule: str, where: Mask, say: Any) -> None:
        where = where & self.alive
        self.report.add(rule, "dropped", where, say)
        self.alive &= ~where

    def wishes(self) -> None:
        """Leave out who does not want to be counted: a rule of that row alone, before anything else looks at it."""
        if "opt_out" not in self.text:
            return
        away = self.text["opt_out"].str.to_lowercase().is_in(list(OPTED_OUT)).fill_null(False).to_numpy()
        self.drop("wish not to be counted", away, lambda row: "opted out")
        if "rider_id" in self.text:
            self.text["rider_id"] = pl.select(
                pl.when(pl.Series(~away)).then(self.text["rider_id"])
            ).to_series()

    def times(self) -> None:
        self.drop("time that cannot be read", self.moments.unreadable, self.moments.say)
        form = self.layout.form
        self.drop(
            f"time in another form than `{form}`, which the column map declares",
            self.moments.other_form,
            self.moments.say,
        )

    def actions(self) -> None:
        if "action" in self.text and self.layout.boardings:
            action = self.text["action"]
            other = ~action.is_in(list(self.layout.boardings)).fill_null(False).to_numpy()
            self.drop("transaction that is no boarding", other, lambda row: f"{action[row]!r}")

    def vehicle_data(self) -> None:
        words = {"vehicle_id": "vehicle", "bus_number": "bus", "seats": "seats"}
        lacking = {
            word: self.text[name].is_null().to_numpy() for name, word in words.items() if name in self.text
        }
        if "seats" in lacking:
            lacking["seats"] = self._seats() <= 0
        where = np.logical_or.reduce([*lacking.values(), np.zeros(len(self.alive), bool)])
        self.drop(
            f"missing {', '.join(lacking)}",
            where,
            lambda row: "no " + " and no ".join(word for word, gone in lacking.items() if gone[row]),
        )

    def repetitions(self, repeated: str) -> None:
        again = np.zeros(len(self.alive), bool)
        rows = np.flatnonzero(self.alive)
        again[rows] = ~self.table[rows].select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        # In whole hours, a card that boards twice looks the same twice.
        marked = "tap_id" in self.text or ("rider_id" in self.text and self.layout.clock != "hour")
        if repeated == "drop" or (repeated == "auto" and marked):
            self.drop("exact repetition of an earlier row", again, lambda row: "seen before")
        else:
            self.report.add(
                "exact repetition of an earlier row (may be two people)",
                "kept",
                again,
                lambda row: "seen before",
            )

    def period(self, period: tuple[date, date] | None) -> None:
        if period is not None:
            first, last = ((day - date(1970, 1, 1)).days for day in period)
            day = self.moments.wall // DAY
            outside = (day < first) | (day > last)
            self.drop("outside the period", outside, lambda row: str(np.datetime64(int(day[row]), "D")))

    def devices(self, devices: str | Path | None) -> None:
        """Gate taps take the stop of their device: public, so sound."""
        if devices is None or "device_id" not in self.text:
            return
        table = read_table(Path(devices), None, ("device_id", "stop_id"), ())
        names = table.select(pl.all().cast(pl.String)).unique("device_id", keep="first", maintain_order=True)
        at = (
            self.text["device_id"]
            .to_frame("device_id")
            .join(names, on="device_id", how="left", maintain_order="left")
        )
        self._fill("stop_id", at["stop_id"], "stop taken from the device", other_rows=False)

    def fill(self, fill: Literal["same-bus"] | VehicleTable) -> None:
        key = next((name for name in ("bus_number", "vehicle_id") if name in self.text), None)
        if key is None:
            raise ParameterError("gaps can only be filled if the column map names the vehicle or the bus")
        bus, time = self.text[key], self.moments.wall
        if isinstance(fill, VehicleTable):
            stop, route = fill.where(bus, time)
            self._fill("stop_id", stop, "stop taken from public vehicle data", other_rows=False)
            self._fill("route_id", route, "route taken from public vehicle data", other_rows=False)
            return
        complete = self.alive & bus.is_not_null().to_numpy()
        for name in ("stop_id", "route_id"):
            if name in self.text:
                complete &= self.text[name].is_not_null().to_numpy()
        for name in ("stop_id", "route_id"):
            if name in self.text:
                value = from_same_bus(self.text[name], bus, time, complete)
                rule = f"{name.removesuffix('_id')} taken from another tap on the same bus"
                self._fill(name, value, rule, other_rows=True)

    def _fill(self, name: str, value: pl.Series, rule: str, *, other_rows: bool) -> None:
        if name not in self.text:
            self.text[name] = pl.Series([None] * len(self.alive), dtype=pl.String)
        empty = self.text[name].is_null().to_numpy() & value.is_not_null().to_numpy() & self.alive
        self.report.add(rule, "filled", empty, lambda row: f"{value[row]!r}", other_rows=other_rows)
        self.text[name] = pl.select(
            pl.when(pl.Series(empty)).then(value).otherwise(self.text[name])
        ).to_series()
        if other_rows:
            self.filled |= empty

    def places(self, everywhere: World | None, reach: float | None) -> None:
        places = MatchedPlaces.of(self.text, self.world, everywhere, reach)
        self.location = places.location
        self.drop(f"missing {places.named}", places.missing, lambda row: f"no {places.named}")
        if everywhere is not None:
            self.drop("stop that is inactive in the period", places.inactive, places.say)
        self.drop("stop outside the network", places.outside, places.say)

    def routes(self, needed: bool) -> None:
        if "route_id" not in self.text:
            return
        text = self.text["route_id"]
        if needed:
            self.drop("missing route", text.is_null().to_numpy(), lambda row: "no route")
        names = getattr(self.world, "route_ids", np.zeros(0, np.str_))
        if len(names) == 0:
            return
        self.route = _route_index(text, names, getattr(self.world, "route_names", names))
        unknown = (self.route < 0) & text.is_not_null().to_numpy() & self.alive
        self.report.add(
            "route that the feed does not have (the tap stays)", "kept", unknown, lambda row: f"{text[row]!r}"
        )

    def _seats(self) -> NDArray[np.int32]:
        seats = self.text["seats"].cast(pl.Float64, strict=False).cast(pl.Int32, strict=False)
        return seats.fill_null(0).to_numpy()

    def result(self) -> CleanTaps:
        if not self.alive.any():
            reasons = [str(rule) for rule in self.report.rules if rule.done == "dropped" and rule.rows]
            raise InputError(
                f"no valid row is left of {self.report.rows_in:,}. " + ". ".join(reasons),
                file=self.report.file,
                tells=EMPTY,
            )
        keep = np.flatnonzero(self.alive)
        vehicle = self.text.get("vehicle_id", self.text.get("bus_number"))
        card = self.text.get("rider_id")
        columns: dict[str, Any] = {
            "offset": self.moments.offset,
            "route": self.route,
            "vehicle": None if vehicle is None else _codes(vehicle),
            "seats": self._seats() if "seats" in self.text else None,
            "card": None if card is None else _codes(card).astype(np.int64),
            "filled": self.filled if self.filled.any() else None,
        }
        kept = {name: None if values is None else values[keep] for name, values in columns.items()}
        taps = Taps(self.location[keep], self.moments.wall[keep], self.world, history=self.history, **kept)
        ids = None if card is None else distinct_values(card.cast(pl.Categorical))[0]
        return CleanTaps(replace(taps, card_ids=ids), self.report)


def _without(text: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Stripped text, null where it says that there is none."""
    text = text.str.strip_chars()
    return pl.select(pl.when(~text.is_in(list(missing))).then(text)).to_series()


def _already_filled(table: pl.DataFrame) -> Mask:
    if "filled" not in table.columns:
        return np.zeros(table.height, bool)
    return (table["filled"].cast(pl.String).str.to_lowercase() == "true").fill_null(False).to_numpy()


def _codes(text: pl.Series) -> NDArray[np.int32]:
    """Codes in the order in which the file names the values; -1 for none."""
    return distinct_values(text.cast(pl.Categorical))[1]


def _route_index(text: pl.Series, ids: NDArray[np.str_], names: NDArray[np.str_]) -> NDArray[np.int32]:
    """The route by id, else by the name that riders know, if only one route has it."""
    index = np.arange(len(ids), dtype=np.int32)
    by_name = pl.DataFrame({"key": names.tolist(), "route": index}).filter(~pl.col("key").is_duplicated())
    by_id = pl.DataFrame({"key": ids.tolist(), "route": index})
    known = pl.concat([by_id, by_name]).unique("key", keep="first", maintain_order=True)
    found = text.to_frame("key").join(known, on="key", how="left", maintain_order="left")
    return found["route"].fill_null(-1).to_numpy().astype(np.int32)
