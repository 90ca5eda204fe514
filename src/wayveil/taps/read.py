"""From a vendor's file to clean taps, rule by rule, with a report that counts every row.

Rules look at one row and at public knowledge, so that one tap more or less in the file is one tap more or less in the
result, with two exceptions. Filling a gap from other rows of the same bus (`fill="same-bus"`, as the BC Transit study
does) depends on other people's taps: its taps are marked, and only the study's own unsound order accepts them. Dropping
exact repetitions of a row looks at rows that are equal in every column, card and transaction included. It keeps the
distance: what is left is the set of different rows, and one row more is at most one row more in that set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.taps.columns import COLUMNS, ColumnMap, column_map
from wayveil.taps.moments import read_moments
from wayveil.taps.report import CleaningReport
from wayveil.taps.tap_places import MatchedPlaces
from wayveil.taps.taps import Taps
from wayveil.taps.vehicles import VehicleTable, from_same_bus
from wayveil.trips.frames import Source, source_name
from wayveil.trips.history import FILLED, History
from wayveil.trips.ids import known_ids
from wayveil.trips.tables import (
    distinct_values,
    read_marked_table,
    read_table,
    require_file,
    table_header,
)
from wayveil.world.timebins import DAY
from wayveil.world.world import World

Fill = Literal["none", "same-bus"]
Mask = NDArray[np.bool_]
OPTED_OUT = ("1", "true", "yes", "y")


@dataclass(frozen=True, eq=False)
class CleanTaps:
    """Taps and how they were cleaned."""

    taps: Taps
    report: CleaningReport


def read_taps(
    source: Source,
    world: World,
    columns: ColumnMap | Mapping[str, Any] | str | Path | None = None,
    *,
    fill: Fill | VehicleTable = "none",
    repeated: Literal["auto", "drop", "keep"] = "auto",
    need_vehicle: bool | None = None,
    need_route: bool | None = None,
    devices: str | Path | None = None,
    everywhere: World | None = None,
    period: tuple[date, date] | None = None,
    reach_metres: float | None = None,
    zone: str | None = None,
    opt_out: str | None = None,
) -> CleanTaps:
    """Read and clean a tap file, or a polars or pandas frame or Arrow table of taps.

    columns       a column map: a `ColumnMap`, a dict, the name of a preset, a TOML file; None guesses the preset
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
    opt_out       the column with the wish not to be counted, in place of the column map's
    zone          the city's time zone (Europe/Madrid), in place of the column map's: zoned times are put on its clock
    """
    name = source_name(source)
    if isinstance(fill, str) and fill not in ("none", "same-bus"):
        raise ParameterError(f"fill is 'none', 'same-bus' or a vehicle table, not {fill!r}")
    if isinstance(name, Path):
        require_file(name)
    layout = column_map(columns, table_header(source), name)
    if zone is not None:
        layout = ColumnMap(**{**layout.model_dump(), "zone": zone})
    if opt_out is not None:
        if opt_out not in table_header(source):
            raise InputError(f"has no column {opt_out!r} with wishes not to be counted", file=name)
        layout = ColumnMap(**{**layout.model_dump(), "opt_out": opt_out})
    table, marks = read_marked_table(source, layout.theirs(), ("time",), COLUMNS)
    with step("Cleaning taps"):
        # The choice to fill marks the taps, whether or not it found a gap: that there was one is nobody's business.
        history = History(marks=marks | ({FILLED} if fill == "same-bus" else frozenset()))
        cleaner = _Cleaner(name, table, layout, world, history)
        cleaner.wishes()
        cleaner.times()
        cleaner.actions()
        study_like = layout.seats is not None
        if need_vehicle if need_vehicle is not None else study_like:
            cleaner.vehicle_data()
        cleaner.repetitions(repeated)
        cleaner.period(period)
        cleaner.devices(devices)
        if fill != "none":
            cleaner.fill(fill)
        cleaner.places(everywhere, reach_metres)
        cleaner.routes(need_route if need_route is not None else study_like and layout.route is not None)
        return cleaner.result()


class _Cleaner:
    """One file on its way: `alive` are the rows that no rule has dropped yet."""

    def __init__(
        self, name: Path | str, table: pl.DataFrame, layout: ColumnMap, world: World, history: History
    ) -> None:
        self.layout, self.world, self.history = layout, world, history
        self.text = {
            name: _without(table[name].cast(pl.String), layout.missing)
            for name in table.columns
            if name not in ("time", "filled", "card")
        }
        if "card" in table.columns:
            self.text["card"] = known_ids(table["card"].cast(pl.String), layout.missing)
        self.table = table
        self.alive: Mask = np.ones(table.height, bool)
        self.report = CleaningReport(name, layout.theirs(), table.height)
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
        if "card" in self.text:
            self.text["card"] = pl.select(pl.when(pl.Series(~away)).then(self.text["card"])).to_series()

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
        names = [name for name in ("vehicle", "bus", "seats") if name in self.text]
        lacking = {name: self.text[name].is_null().to_numpy() for name in names}
        if "seats" in lacking:
            lacking["seats"] = self._seats() <= 0
        where = np.logical_or.reduce([*lacking.values(), np.zeros(len(self.alive), bool)])
        self.drop(
            f"missing {', '.join(names)}",
            where,
            lambda row: "no " + " and no ".join(name for name in names if lacking[name][row]),
        )

    def repetitions(self, repeated: str) -> None:
        again = np.zeros(len(self.alive), bool)
        rows = np.flatnonzero(self.alive)
        again[rows] = ~self.table[rows].select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        # In whole hours, a card that boards twice looks the same twice.
        marked = "transaction" in self.text or ("card" in self.text and self.layout.clock != "hour")
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
        if devices is None or "device" not in self.text:
            return
        table = read_table(Path(devices), None, ("device_id", "stop_id"), ())
        names = table.select(pl.all().cast(pl.String)).unique("device_id", keep="first", maintain_order=True)
        at = (
            self.text["device"]
            .to_frame("device_id")
            .join(names, on="device_id", how="left", maintain_order="left")
        )
        self._fill("stop", at["stop_id"], "stop taken from the device", other_rows=False)

    def fill(self, fill: Fill | VehicleTable) -> None:
        key = next((name for name in ("bus", "vehicle") if name in self.text), None)
        if key is None:
            raise ParameterError("gaps can only be filled if the column map names the vehicle or the bus")
        bus, time = self.text[key], self.moments.wall
        if isinstance(fill, VehicleTable):
            stop, route = fill.where(bus, time)
            self._fill("stop", stop, "stop taken from public vehicle data", other_rows=False)
            self._fill("route", route, "route taken from public vehicle data", other_rows=False)
            return
        complete = self.alive & bus.is_not_null().to_numpy()
        for name in ("stop", "route"):
            if name in self.text:
                complete &= self.text[name].is_not_null().to_numpy()
        for name in ("stop", "route"):
            if name in self.text:
                value = from_same_bus(self.text[name], bus, time, complete)
                self._fill(name, value, f"{name} taken from another tap on the same bus", other_rows=True)

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
        if "route" not in self.text:
            return
        text = self.text["route"]
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
            )
        keep = np.flatnonzero(self.alive)
        vehicle = self.text.get("vehicle", self.text.get("bus"))
        card = self.text.get("card")
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
