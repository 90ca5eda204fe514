"""Rows as the readers of trips, taps and points take them: ISO times, points for decimals, ids of the world's places.

Each row is rewritten by itself: what a text becomes follows from that text, the plan and the public world.
"""

from collections.abc import Callable

import numpy as np
import polars as pl

from wayveil.sources.categories import as_categories, each_distinct
from wayveil.sources.cells import along, split_places
from wayveil.sources.column_names import DATES
from wayveil.sources.moments import ORDERS, beside_date, clocks_of_numbers, read_moments, read_numbers
from wayveil.sources.reading import COORDINATE_PAIR, ENDS, Reading
from wayveil.world.locating import find_places, ids_by_code, ids_by_name, locate
from wayveil.world.world import World

PLACES = ("stop_id", "origin", "destination")
DEGREES = ("lat", "lon", *(f"{end}_{part}" for end in ENDS for part in ("lat", "lon")))


def canonical(table: pl.DataFrame, reading: Reading, world: World | None) -> pl.DataFrame:
    """Return a table under our names with its values rewritten as the readers take them."""
    if not reading.changes_values:
        return table
    made = [_moment(table, name, reading) for name in DATES if name in table.columns]
    if reading.decimal != ".":
        made += [_points(table[name], reading.decimal) for name in DEGREES if name in table.columns]
    pairs = [name for name in DEGREES if name in table.columns and reading.of_pair(name)]
    made += [_part_of_pair(table[name]) for name in pairs if reading.step is None]
    made += [
        _one_of_two(table[end], reading, world) for end in ENDS if reading.both_ends and end in table.columns
    ]
    table = table.with_columns(made)
    if reading.step is not None and "lat" in pairs:
        table = along(table, reading.step)
    places = [_placed(table[name], reading, world) for name in PLACES if name in table.columns]
    places += [_located(table, end, reading, world) for end in reading.made if f"{end}_lat" in table.columns]
    return table.with_columns(places)


def _moment(table: pl.DataFrame, name: str, reading: Reading) -> pl.Series:
    column, times, zone = table[name], reading.times, reading.zone
    if reading.clock != "written":
        column = clocks_of_numbers(column, reading.clock)
    date = DATES[name]
    order = "year-month-day" if times == "iso" else times
    if date in table.columns:
        return beside_date(table[date], column, order, zone).alias(name)
    if isinstance(column.dtype, pl.Datetime):
        aware = column.dtype.time_zone is not None and zone is not None
        return column.dt.convert_time_zone(zone) if aware and zone is not None else column
    text = column.cast(pl.String)
    return (read_moments(text, order, zone) if order in ORDERS else read_numbers(text, times, zone)).alias(
        name
    )


def _points(column: pl.Series, decimal: str) -> pl.Series:
    if decimal != ",":
        return column.cast(pl.String).cast(pl.Float64, strict=False) / 10 ** int(decimal[1:])
    if column.dtype.is_numeric():
        return column
    return each_distinct(column, lambda text: text.str.replace(",", ".", literal=True))


def _part_of_pair(column: pl.Series) -> pl.Series:
    """Return the latitude or longitude of cells with both: `POINT (lon lat)` as in GIS, else latitude first."""
    north_first = column.name.endswith("lat")

    def part(text: pl.Series) -> pl.Series:
        both = text.str.extract_groups(COORDINATE_PAIR).struct.unnest()
        swapped = text.str.contains("(?i)^\\W*point")
        lat, lon = (both[each] for each in ("a", "b"))
        one, other = (lat, lon) if north_first else (lon, lat)
        return pl.select(pl.when(swapped).then(other).otherwise(one)).to_series()

    return each_distinct(column, part)


def _placed(column: pl.Series, reading: Reading, world: World | None) -> pl.Series:
    if reading.places == "id" or world is None:
        return column
    known = ids_by_code(world) if reading.places == "code" else ids_by_name(world)
    return each_distinct(column, lambda text: known.find(text))


def _one_of_two(column: pl.Series, reading: Reading, world: World | None) -> pl.Series:
    """Return the place that a cell with two says of this end."""
    if world is None:
        return column
    known = known_by(reading.places, world)
    return each_distinct(column, lambda text: split_places(text, known, column.name))


def known_by(places: str, world: World) -> Callable[[pl.Series], pl.Series]:
    """Return what tells whether texts are places of the world by their id, code or name."""
    if places == "id":
        return lambda text: pl.Series(find_places(text, world) >= 0)
    names = ids_by_code(world) if places == "code" else ids_by_name(world)
    return lambda text: names.find(text).is_not_null()


def _located(table: pl.DataFrame, end: str, reading: Reading, world: World | None) -> pl.Series:
    """Return the place of the coordinates of an end, their text where there is none."""
    lat, lon = (
        as_categories(table[f"{end}_{part}"]).cast(pl.String).cast(pl.Float64, strict=False)
        for part in ("lat", "lon")
    )
    text = pl.select(pl.format("{}, {}", lat, lon)).to_series().alias(end)
    if world is None:
        return text
    north, east = (each.fill_null(np.nan).to_numpy() for each in (lat, lon))
    place = locate(world, north, east, reading.radius)
    ids = pl.Series([*world.ids.tolist(), None], dtype=pl.String).gather(
        pl.Series(place).replace(-1, world.size)
    )
    return pl.select(pl.coalesce(ids, text)).to_series().alias(end)
