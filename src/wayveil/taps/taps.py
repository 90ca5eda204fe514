"""`Taps`: one row per boarding, as flat columns, in memory and on disk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.trips.history import FILLED, MARKS_NAME, SIMULATED, UNTOLD, History, marks_text
from wayveil.trips.tables import write_table
from wayveil.trips.trip_display import ROWS, ShownRows, counted, described, html_table
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY
from wayveil.world.world import World

NOBODY, NO_ROUTE = -1, -1
NO_OFFSET = int(np.iinfo(np.int32).min)  # of a row whose time names no zone


@dataclass(frozen=True, eq=False, repr=False)
class Taps(ShownRows):
    """Boardings over a public world, in the order of the file.

    location  int32, index into `world.ids`
    time      int64 seconds of local wall time since 1970-01-01 00:00
    offset    int32 seconds east of UTC where the row gave a zone, so that `time - offset` is UTC, else NO_OFFSET; None
              where no row gave one
    route     int32, index into the network's `route_ids`, -1 where unknown; None where the file has no routes
    vehicle   int32 code, -1 where unknown
    seats     int32, 0 where unknown
    card      int64 code of the fare card, -1 for a tap without one; None where the file has no cards
    filled    bool, true where stop or route was taken from *other rows*. Such rows depend on other people's taps, and
              nothing sound can be released from them.
    card_ids  the id behind each code of `card`, where a reader kept it: for fingerprints, never for output
    history   what reading did, and the marks that the taps carry (filled, reconstructed, simulated, ...); see `Trips`

    >>> taps = wv.read_taps(folder / "taps.csv", city).taps
    >>> len(taps), taps.world is city
    (4, True)
    """

    location: NDArray[np.int32]
    time: NDArray[np.int64]
    world: World
    offset: NDArray[np.int32] | None = None
    route: NDArray[np.int32] | None = None
    vehicle: NDArray[np.int32] | None = None
    seats: NDArray[np.int32] | None = None
    card: NDArray[np.int64] | None = None
    filled: NDArray[np.bool_] | None = None
    history: History = UNTOLD
    card_ids: pl.Series | None = None

    def __post_init__(self) -> None:
        for name in self._columns():
            if len(getattr(self, name)) != len(self.location):
                raise ValueError(f"{name} needs one value per tap")
        if self.filled is not None and bool(self.filled.any()):
            object.__setattr__(self, "history", self.history.marked(FILLED))
        if len(self.location) and not (self.location.min() >= 0 and self.location.max() < self.world.size):
            raise ValueError("a tap lies outside the world")

    def __len__(self) -> int:
        return len(self.location)

    @property
    def day(self) -> NDArray[np.int64]:
        """Days since 1970-01-01, local, of each tap."""
        return self.time // DAY

    @property
    def sound(self) -> bool:
        """Tell whether every row follows from that row of the file and public knowledge alone."""
        return not self.history.marks - {SIMULATED}

    def take(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> "Taps":
        """The taps at these positions, or where this mask is true."""
        columns = {name: getattr(self, name)[index] for name in self._columns()}
        return Taps(world=self.world, history=self.history, card_ids=self.card_ids, **columns)

    def _columns(self) -> list[str]:
        names = ("location", "time", "offset", "route", "vehicle", "seats", "card", "filled")
        return [name for name in names if getattr(self, name) is not None]

    def as_single_visits(self) -> Trips:
        """Every tap as a trip of one visit: the shape in which events are counted."""
        single = np.arange(len(self) + 1)
        return Trips(self.location, single, self.world, self.time, self.card, self.history, self.card_ids)

    def describe(self) -> dict[str, object]:
        """Exact facts about the raw data, for the data holder's eyes only."""
        facts: dict[str, object] = {"taps": len(self), "stops": len(np.unique(self.location))}
        if len(self):
            facts["first_time"] = str(np.datetime64(int(self.time.min()), "s"))
            facts["last_time"] = str(np.datetime64(int(self.time.max()), "s"))
            facts["days"] = len(np.unique(self.day))
        if self.route is not None:
            facts["routes"] = len(np.unique(self.route[self.route >= 0]))
        if self.vehicle is not None:
            facts["vehicles"] = len(np.unique(self.vehicle[self.vehicle >= 0]))
        if self.card is not None:
            facts["cards"] = len(np.unique(self.card[self.card >= 0]))
            facts["taps_without_card"] = int((self.card < 0).sum())
        return facts

    def to_polars(self) -> pl.DataFrame:
        """One row per tap, as `read_taps` reads them: stop_id, event_time, route_id, vehicle_id, rider_id, ..."""
        columns: dict[str, pl.Series] = {
            "stop_id": _named(self.world.ids, self.location),
            "event_time": _moments(self.time, self.offset),
            "tap_id": pl.Series(np.arange(1, len(self) + 1)),
        }
        if self.route is not None:
            columns["route_id"] = _named(self.world.route_ids, self.route)  # type: ignore[attr-defined]
        for name, values in (("vehicle_id", self.vehicle), ("rider_id", self.card)):
            if values is not None:
                columns[name] = pl.select(pl.when(pl.Series(values >= 0)).then(pl.Series(values))).to_series()
        if self.seats is not None:
            columns["seats"] = pl.Series(self.seats)
        if self.filled is not None:
            columns["filled"] = pl.Series(self.filled)
        mark = marks_text(self.history)
        return pl.DataFrame(columns).with_columns([] if mark is None else pl.lit(mark).alias(MARKS_NAME))

    def _repr_html_(self) -> str:
        table = self.take(np.arange(min(ROWS, len(self)))).to_polars()
        rows = [["" if value is None else str(value) for value in row] for row in table.iter_rows()]
        return html_table(self._line(), table.columns, rows, len(self) - len(rows))

    def _line(self) -> str:
        columns = [name for name in ("route", "vehicle", "seats", "card") if getattr(self, name) is not None]
        return (
            f"{counted(len(self), 'tap')} over {counted(self.world.size, 'location')}, "
            f"{described(columns, self.history)}"
        )


def _named(ids: NDArray[np.str_], index: NDArray[np.int32]) -> pl.Series:
    names = pl.Series([*ids.tolist(), None], dtype=pl.String)
    return names.gather(np.where(index < 0, len(ids), index))


def _moments(time: NDArray[np.int64], offset: NDArray[np.int32] | None) -> pl.Series:
    text = (
        (pl.Series(time).cast(pl.Int64) * 1_000_000).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S")
    )
    if offset is None:
        return text
    away = np.abs(offset.astype(np.int64))
    sign = pl.Series(np.where(offset < 0, "-", "+"))
    zone = [pl.Series(part).cast(pl.String).str.zfill(2) for part in (away // 3600, away // 60 % 60)]
    zoned = text + sign + zone[0] + ":" + zone[1]
    return pl.select(pl.when(pl.Series(offset != NO_OFFSET)).then(zoned).otherwise(text)).to_series()


def write_taps(taps: Taps, path: str | Path) -> None:
    """Write stop_id, event_time, route_id, vehicle_id, seats, rider_id, filled (those there are) to .parquet or .csv.

    Every tap has a number, `tap_id`: two that are equal in all else (as hourly times make them) stay two when read.
    Cards and vehicles are written as numbers; a card still links the taps of a person, so the file is as sensitive as
    the one it came from. Zoned times are written with their zone. Marks are written as a column and as metadata.
    """
    write_table(taps.to_polars(), Path(path), taps.history)
