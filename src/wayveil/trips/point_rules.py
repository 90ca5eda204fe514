"""Rules for the points of one trip until they are visits: public switches, each trip by itself.

The order is that of the DP-Loc study: speed and box, days, one cell per minute, gaps, repeats, single visits, one
hour. What becomes of a trip depends on that trip and on public facts alone, and a trip never becomes two; so the rules
cost no privacy. How many trips they changed or dropped is a fact about the raw data, and nothing here tells it.
"""

from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wayveil.arrays import Floats
from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.world.geo import EARTH_RADIUS_METRES
from wayveil.world.timebins import DAY, HOUR

Mask = NDArray[np.bool_]
KEEP, CUT, DROP = range(3)
# Rules that look at times.
NEED_TIMES = (
    "fastest_kmh",
    "faster",
    "weekends",
    "holidays",
    "window_seconds",
    "gap_seconds",
    "fill",
    "longer",
    "hour",
)
# Placed later, from its interpolated coordinates.
UNPLACED = np.int32(-2)


class PointRules(BaseModel):
    """The rules, in the order in which they are applied. `PointRules.study()` has them as the study did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fastest_kmh: float | None = Field(
        150.0,
        gt=0,
        description="a move between two points is not faster than this; none: any speed goes",
    )
    faster: Literal["drop", "skip"] = Field(
        "drop", description="a faster move: `drop` the trip, or `skip` the point that it leads to"
    )
    outside: Literal["drop", "skip"] = Field(
        "drop", description="points outside the box: `drop` the trip, or `skip` the points"
    )
    weekends: bool = Field(True, description="keep trips that begin on a Saturday or Sunday")
    holidays: tuple[date, ...] = Field((), description="days whose trips are dropped, as YYYY-MM-DD")
    window_seconds: int | None = Field(
        60,
        ge=1,
        description="one visit per so many seconds: the cell with the most points; none: every point",
    )
    gap_seconds: int = Field(300, ge=1, description="gaps shorter than this are short, others long")
    fill: bool = Field(True, description="points on the straight line stand in for a short gap")
    longer: Literal["cut", "drop", "keep"] = Field(
        "cut", description="a long gap: `cut` the trip before it, `drop` the trip, or `keep` the jump"
    )
    merge: bool = Field(True, description="visits in a row to one place become one, at the time of the first")
    fewest_visits: int = Field(2, ge=1, description="trips with fewer visits are dropped")
    hour: Literal["keep", "majority"] = Field(
        "keep", description="`majority`: all visits get the hour in which most of the trip was"
    )

    def __init__(self, **switches: Any) -> None:
        try:
            super().__init__(**switches)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ParameterError(f"points: {place}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
        if self.window_seconds is None and "fill" in self.model_fields_set and self.fill:
            raise ParameterError("points: gaps are filled once per window; give window_seconds or fill=False")

    @classmethod
    def study(cls) -> "PointRules":
        """Return the rules of the DP-Loc study: working days only, and one hour per trip."""
        return cls(weekends=False, hour="majority")

    def without_times(self, file: Path | str) -> "PointRules":
        """The rules for points that have no times; one that was asked for and needs them is refused."""
        asked = [name for name in NEED_TIMES if name in self.model_fields_set]
        if asked:
            raise InputError(
                f"has no times, which the rule {asked[0]} needs: leave it out, or map a column to 'datetime'",
                file=file,
                tells=LAYOUT,
            )
        return PointRules(
            **{**self.model_dump(exclude_unset=True), "fastest_kmh": None, "window_seconds": None},
            fill=False,
            longer="keep",
        )

    @property
    def needs_dates(self) -> bool:
        """Tell whether a clock without dates is not enough."""
        return not self.weekends or bool(self.holidays)

    def fast(self, time: NDArray[np.int64], metres: NDArray[np.float64]) -> Mask:
        """Tell whether the move into each point is too fast; `metres` is 0 for the first point of a trip."""
        if self.fastest_kmh is None or self.faster == "skip":
            return np.zeros(len(time), bool)
        seconds = np.ones(len(time))
        seconds[1:] = np.maximum(np.diff(time), 1)
        return np.asarray(metres / seconds > self.fastest_kmh / 3.6)

    def reachable(
        self, time: NDArray[np.int64], lat: Floats, lon: Floats, offsets: NDArray[np.int64]
    ) -> Mask | None:
        """Tell which points of each trip can be reached from the one before that is kept; None where all are kept."""
        if self.fastest_kmh is None or self.faster == "drop":
            return None
        kept: Mask = _reachable(time, np.radians(lat), np.radians(lon), offsets, self.fastest_kmh / 3.6)
        return kept

    def day_is_kept(self, start: NDArray[np.int64]) -> Mask:
        """Tell whether trips that begin at these moments are kept."""
        day = start // DAY
        kept = np.ones(len(day), bool)
        if not self.weekends:
            kept &= (day + 3) % 7 < 5  # 1970-01-01 was a Thursday
        if self.holidays:
            off = [one.toordinal() - date(1970, 1, 1).toordinal() for one in self.holidays]
            kept &= ~np.isin(day, off)
        return kept

    def one_hour(self, time: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first second of the hour in which most of each trip was, for all of its visits; ties: the earlier."""
        start, end = time[offsets[:-1]], time[offsets[1:] - 1]
        first, last = start // HOUR, end // HOUR
        before, after = (first + 1) * HOUR - start, end - last * HOUR
        hour = np.where((first == last) | ((last == first + 1) & (before >= after)), first, last)
        hour = np.where(last > first + 1, first + 1, hour)
        return np.repeat(hour * HOUR, np.diff(offsets))


@njit(cache=True)
def _reachable(time, lat, lon, offsets, fastest):  # type: ignore[no-untyped-def]
    kept = np.ones(len(time), np.bool_)
    for trip in range(len(offsets) - 1):
        last = offsets[trip]
        for point in range(last + 1, offsets[trip + 1]):
            north, east = np.sin((lat[point] - lat[last]) / 2), np.sin((lon[point] - lon[last]) / 2)
            half = north**2 + np.cos(lat[point]) * np.cos(lat[last]) * east**2
            metres = 2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(min(half, 1.0)))
            if metres > fastest * max(time[point] - time[last], 1):
                kept[point] = False
            else:
                last = point
    return kept


class PlacedPoints(NamedTuple):
    """Points one after the other: the place (-1: none) of each, its moment and its degrees."""

    place: NDArray[np.int32]
    time: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]


class _Windows(NamedTuple):
    """Seconds of a window (0: none), the longest gap, whether gaps are filled, and what becomes of longer ones."""

    seconds: int
    limit: int
    fill: bool
    longer: int


def smoothed(
    rules: PointRules, points: PlacedPoints, offsets: NDArray[np.int64], places: int
) -> tuple[PlacedPoints, NDArray[np.int64]]:
    """Visits of each trip: one per window, short gaps filled, long ones cut or dropped.

    Points without a place (-1) are left out. Filled visits come as `UNPLACED`, with coordinates.
    """
    window = rules.window_seconds or 0
    room = len(points.time)
    if window and rules.fill:
        frames = np.diff(points.time // window)
        room += int(np.clip(frames, 0, rules.gap_seconds // window + 2).sum())
    out = PlacedPoints(np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room), np.empty(room))
    longer = {"keep": KEEP, "cut": CUT, "drop": DROP}[rules.longer]
    windows = _Windows(window, rules.gap_seconds, rules.fill and window > 0, longer)
    ends = _smooth(points, offsets, windows, np.zeros(places, np.int64), out)
    to, at, north, east = out
    used = slice(0, ends[-1])
    return PlacedPoints(to[used], at[used], north[used], east[used]), ends


@njit(cache=True)
def _smooth(points, offsets, windows, votes, out):  # type: ignore[no-untyped-def]
    place, time, lat, lon = points
    window, limit, fill, longer = windows
    to, at, north, east = out
    ends = np.zeros(len(offsets), np.int64)
    n = 0
    for trip in range(len(offsets) - 1):
        begun, last, i = n, -1, offsets[trip]
        while i < offsets[trip + 1]:
            # Points i..j-1 are one window; the place with the most of them wins, the earlier one if two have as many.
            j = i + 1
            if window > 0:
                while j < offsets[trip + 1] and time[j] // window == time[i] // window:
                    j += 1
            winner, most = -1, 0
            for k in range(i, j):
                if place[k] >= 0:
                    votes[place[k]] += 1
            for k in range(i, j):
                if place[k] >= 0:
                    if votes[place[k]] > most:
                        winner, most = k, votes[place[k]]
                    votes[place[k]] = 0
            i = j
            if winner < 0:
                continue
            if last >= 0:
                gap = time[winner] - time[last]
                if gap >= limit:
                    if longer == DROP:
                        n = begun
                        break
                    if longer == CUT:
                        break
                elif fill:
                    for frame in range(1, time[winner] // window - time[last] // window):
                        moment = time[last] + frame * window
                        share = (moment - time[last]) / gap
                        to[n], at[n] = UNPLACED, moment
                        north[n] = lat[last] + share * (lat[winner] - lat[last])
                        east[n] = lon[last] + share * (lon[winner] - lon[last])
                        n += 1
            to[n], at[n], north[n], east[n] = place[winner], time[winner], lat[winner], lon[winner]
            n += 1
            last = winner
        ends[trip + 1] = n
    return ends
