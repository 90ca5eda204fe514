"""Profile of the values of a column: times and how they are written, places of the world, numbers."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from wayveil.errors import ParameterError
from wayveil.sources.canonical import known_by
from wayveil.sources.categories import as_categories, distinct_values
from wayveil.sources.cells import TRACK, split_places
from wayveil.sources.header_words import column_for
from wayveil.sources.moments import PER_SECOND, parse_moments, parse_orders
from wayveil.sources.quick_moments import DAY
from wayveil.sources.reading import COORDINATE_PAIR
from wayveil.world.world import World

# What the readers of trips take as it is.
_ISO = r"^\d{4}-\d{2}-\d{2}[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?( ?(Z|[+-]\d{2}:?(\d{2})?))?$"
# Years that a time of trips may be of, as seconds since 1970.
_EARLIEST, _LATEST = 631_152_000, 2_524_608_000
# Numbers of which so few are clocks count from midnight.
CLOCKS = 0.8
_ROUNDED = r"(?i)^\d(?:[.,]\d{1,8})?e\+?\d+$"
_EXCEL = (25_569, 60_000)
# Coordinates as whole numbers, and how many texts are tried as two places.
_SCALES, _LOOKED_AT = ("e5", "e6", "e7"), 1_000
# So many different clocks show a day's hours.
_HALF_DAY = 50


@dataclass(frozen=True)
class Profile:
    """Shares of the values of a column that are something; all of the values that are there.

    moments  a date and a clock, by the order of the date; `dates` and `clocks` those that are only one of them
    differ   texts that mean two days under two orders
    numbers  counts since an epoch, by unit
    pairs    texts with two coordinates
    places   texts that name a place of the world, by id, code or name
    clock    how whole numbers may be clocks (see `NUMBERED`): a count since midnight, or digits
    size     how large numbers usually are, whatever their sign
    rounded  numbers as spreadsheets show long ones: 3.08526E+11
    scale    how coordinates in whole numbers are written, if they are: `e7` counts ten millionths of a degree
    tracks   texts that are a whole track (see `cells`), and `two` those that name two places
    half_day whether no clock is before 1:00 or after 12:59, as where AM and PM were lost
    """

    name: str
    filled: float = 0.0
    distinct: int = 0
    moments: dict[str, float] = field(default_factory=dict)
    dates: dict[str, float] = field(default_factory=dict)
    clocks: float = 0.0
    iso: float = 0.0
    zoned: float = 0.0
    dotted: float = 0.0
    differ: tuple[str, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    places: dict[str, float] = field(default_factory=dict)
    degrees: float = 0.0
    pairs: float = 0.0
    clock: str = ""
    size: float = 0.0
    example: str = ""
    typed: bool = False
    rounded: float = 0.0
    half_day: bool = False
    scale: str = ""
    tracks: float = 0.0
    two: dict[str, float] = field(default_factory=dict)

    @property
    def time(self) -> float:
        """Share of values that are a moment in some way of writing."""
        return max([0.0, *self.moments.values(), *self.numbers.values()])

    @property
    def date(self) -> float:
        """Share of values that are a date without a clock."""
        return max([0.0, *self.dates.values()])

    @property
    def place(self) -> float:
        """Share of values that are places of the world, by what most of them are called."""
        return max([0.0, *self.places.values()])

    def called(self) -> str:
        """Return what most places are called by; the id where there is no difference."""
        return max(("id", "code", "name"), key=lambda kind: self.places.get(kind, 0.0))


class Profiler:
    """Looks at columns; the names and codes of a world are listed once."""

    def __init__(self, world: World | None) -> None:
        self.world = world
        self.known: dict[str, Callable[[pl.Series], pl.Series]] = {}
        for kind in ("id", "name", "code"):
            with contextlib.suppress(ParameterError):
                if world is not None:
                    self.known[kind] = known_by(kind, world)

    def of(self, column: pl.Series) -> Profile:
        """Return the profile of a column."""
        if isinstance(column.dtype, pl.Datetime):
            zoned = float(column.dtype.time_zone is not None)
            share = float(column.is_not_null().mean() or 0)  # type: ignore[arg-type]
            days = {"dates" if (column.dt.epoch("s") % DAY == 0).all() else "moments": {"iso": 1.0}}
            return Profile(column.name, share, iso=1.0, zoned=zoned, typed=True, **days)  # type: ignore[arg-type]
        if column.dtype.is_nested():
            return Profile(column.name)
        text, weight = _weighted(column)
        if not len(text):
            return Profile(column.name)
        shares: dict[str, Any] = {**_times(text, weight), "places": self._places(text, weight)}
        number = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        shares["degrees"] = _share((number.abs() <= 180) & text.str.contains(r"[.,]\d"), weight)
        shares |= self._scaled(column.name, number, weight)
        shares["tracks"] = _share(text.str.contains(TRACK), weight)
        if max(shares["places"].values(), default=1.0) < 0.5:
            some = text[:_LOOKED_AT]
            shares["two"] = {
                kind: _share(split_places(some, known, "origin") != some, weight[:_LOOKED_AT])
                for kind, known in self.known.items()
            }
        shares["pairs"] = _share(text.str.contains(COORDINATE_PAIR), weight)
        shares["rounded"] = _share(text.str.contains(_ROUNDED), weight)
        shares |= {"size": float(number.abs().median() or 0.0), "example": text[0]}  # type: ignore[arg-type]
        filled = 1 - float(column.null_count()) / max(len(column), 1)
        return Profile(column.name, filled, len(text), **shares)

    def _places(self, text: pl.Series, weight: np.ndarray) -> dict[str, float]:
        return {kind: _share(known(text), weight) for kind, known in self.known.items()}

    def _scaled(self, name: str, number: pl.Series, weight: np.ndarray) -> dict[str, Any]:
        """Return how whole numbers are coordinates: by the box of the world, or by the name (`latE7`)."""
        axis = (column_for(name) or "")[-3:]
        box = getattr(self.world, axis, None) if axis in ("lat", "lon") else None
        found = {}
        for scale in _SCALES if axis in ("lat", "lon") and (number % 1 == 0).all() else ():
            degrees = number / 10 ** int(scale[1:])
            if box is not None:
                found[scale] = _share(degrees.is_between(float(box.min()) - 1, float(box.max()) + 1), weight)
            elif name.lower().endswith(scale):
                found[scale] = _share(degrees.abs() <= 180, weight)
        best = max(found, key=lambda scale: found[scale], default="")
        return {"scale": best, "degrees": found[best]} if best and found[best] > 0.5 else {}


def _weighted(column: pl.Series) -> tuple[pl.Series, np.ndarray]:
    distinct, code = distinct_values(as_categories(column))
    text = distinct.str.strip_chars()
    weight = np.bincount(code[code >= 0], minlength=len(distinct)).astype(float)
    there = (text != "").to_numpy()
    return text.filter(pl.Series(there)), weight[there]


def _share(fits: pl.Series, weight: np.ndarray) -> float:
    return float(weight[fits.fill_null(False).to_numpy()].sum() / weight.sum()) if weight.sum() else 0.0


def _dotted_clocks(text: pl.Series, weight: np.ndarray) -> bool:
    """Tell whether clocks are written 7.45, which beside other writings would be a date."""
    return _share(text.str.contains(r"^\d{1,2}\.[0-5]\d$"), weight) > 0.9


def _spread(days: pl.Series) -> int:
    known = days.drop_nulls()
    return int(np.ptp(known.to_numpy())) if len(known) else 0


def _times(text: pl.Series, weight: np.ndarray) -> dict[str, Any]:
    whole = text.str.replace(r"^(\d{9,})\.\d*$|\.0*$", "$1").cast(pl.Int64, strict=False)
    exact = text.set(text.str.contains(_ROUNDED), None)
    large = exact.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    number = pl.select(pl.coalesce(whole, pl.when(large > 10**8).then(large))).to_series()
    if _share(number.is_not_null(), weight) > 0.9 and _share(text.str.len_chars() < 8, weight) > 0.1:
        alone = parse_moments(text, clock_alone=True)["second"]
        clocks, most = _share(alone.is_not_null(), weight), float(number.max() or 0)  # type: ignore[arg-type]
        fits = {"hhmm": 100 <= most < 4_800, "hhmmss": 10_000 <= most < 480_000}
        if clocks < CLOCKS:
            fits = {"minutes": 60 < most < 2 * DAY / 60, "seconds": 3_600 < most < 2 * DAY}
        return {"clocks": clocks, "clock": next((form for form, fit in fits.items() if fit), "")}
    found: dict[str, Any] = {"moments": {}, "dates": {}, "numbers": {}}
    read = parse_orders(text)
    year, first, month = (moments["day"] for moments in read.values())
    # 26-09-03 may begin with its year or its day; trips do not lie decades apart.
    short = text.str.contains(r"^\d\d-\d\d-\d\d(\D|$)")
    apart, near = (_spread(day.filter(short)) for day in (year, first))
    named = text.str.contains(r"^\D*\d{4}") | (year == first) | (short & (apart <= 10 * near))
    for order, moments in read.items():
        dated, clocked = moments["day"].is_not_null(), moments["second"].is_not_null()
        clocked &= (moments["second"] > 0).any()  # days as some write them: 2026-11-17 00:00:00
        if order == "year-month-day":  # 26.09.03 is taken so only where somebody says it
            dated &= named
        elif 10 * apart < near:
            dated &= ~short
        found["moments"][order] = _share(dated & clocked, weight)
        found["dates"][order] = _share(dated & ~clocked, weight)
    one = read["year-month-day"]
    undated = [moments["day"].is_null() for moments in read.values()]
    second = (
        parse_moments(text, clock_alone=True)["second"] if _dotted_clocks(text, weight) else one["second"]
    )
    found["clocks"] = _share(undated[0] & undated[1] & undated[2] & second.is_not_null(), weight)
    at = second.drop_nulls().to_numpy()
    if len(at) >= _HALF_DAY:
        found["half_day"] = at.min() >= DAY // 24 and DAY // 2 <= at.max() < DAY * 13 // 24
    found["zoned"] = _share(one["offset"].is_not_null(), weight)
    found["iso"] = _share(text.str.contains(_ISO), weight)
    differ = (first != month) | (short & named & (year != first))
    found["differ"] = tuple(text.filter(differ.fill_null(False)).head(3).to_list())
    found["dotted"] = _share(text.str.contains(r"^\d{1,2}\.\d{1,2}\."), weight)
    for unit, parts in PER_SECOND.items():
        seconds = number // parts
        found["numbers"][unit] = _share((seconds >= _EARLIEST) & (seconds < _LATEST), weight)
    days = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    serial = (days > _EXCEL[0]) & (days < _EXCEL[1]) & text.str.contains(r"[.,]\d{3}")
    found["numbers"]["excel-days"] = _share(serial, weight)
    return found
