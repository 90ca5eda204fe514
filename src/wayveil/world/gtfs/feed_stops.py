"""From stops.txt to locations: platforms become part of their stations, or stay what they are."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.errors import InputError
from wayveil.world.gtfs.feed_tables import Feed

STOP, STATION, ENTRANCE, NODE, BOARDING_AREA = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class Locations:
    """Candidate locations, ascending by id, and the one that each row of stops.txt belongs to (-1: none).

    `platform` tells where vehicles stop and `station` is the row of the station, with or without collapsing.
    Coordinates are NaN where nobody gave any.
    """

    ids: NDArray[np.str_]
    names: NDArray[np.str_]
    lat: Floats
    lon: Floats
    stop_ids: pl.Series
    location: Int32s
    platform: Mask
    station: Ints

    def of(self, stop_ids: pl.Series) -> Int32s:
        """The location of each stop_id; -1 for null and for ids that are not in stops.txt."""
        return lookup(stop_ids, self.stop_ids, self.location)


def lookup(values: pl.Series, keys: pl.Series, codes: Int32s) -> Int32s:
    """The code of each value, -1 where it is not among the keys."""
    # Columns repeat few values many times: look every value up once, and strip blanks only there.
    known = pl.DataFrame({"key": keys, "code": codes}).unique("key", keep="first")
    seen = pl.DataFrame({"value": values.unique()}).with_columns(key=pl.col("value").str.strip_chars())
    found = seen.join(known, on="key", how="left").select("value", "code")
    column = pl.DataFrame({"value": values}).join(found, on="value", how="left", maintain_order="left")[
        "code"
    ]
    return column.fill_null(-1).to_numpy().astype(np.int32, copy=False)


def read_locations(feed: Feed, *, stations: bool) -> Locations:
    """Read stops.txt. With `stations`, every stop belongs to the root of its parent_station chain."""
    table = feed.read_small(
        "stops", ["stop_id", "stop_lat", "stop_lon"], ["stop_name", "location_type", "parent_station"]
    )
    nameless = table["stop_id"].null_count()
    table = table.filter(pl.col("stop_id").is_not_null())
    repeated = len(table)
    table = table.unique("stop_id", keep="first", maintain_order=True)
    repeated -= len(table)
    if table.is_empty():
        raise InputError("stops.txt has no stop in it", file=feed.path)
    lat, lon = _coordinates(table)
    kind = table["location_type"].cast(pl.Int32, strict=False).fill_null(STOP).to_numpy()
    unplaced = int(np.sum(np.isnan(lat) & np.isin(kind, (STOP, STATION))))

    ids, parent, orphans = _with_missing_parents(table)
    extra = len(ids) - len(table)
    kind = np.concatenate([kind, np.full(extra, STATION, np.int32)])
    lat, lon = (np.concatenate([axis, np.full(extra, np.nan)]) for axis in (lat, lon))
    station = _roots(parent, kind, stations=True)
    root = station if stations else _roots(parent, kind, stations=False)
    platform = np.isin(kind, (STOP, BOARDING_AREA))
    _borrow_coordinates(lat, lon, station, platform)

    names = table["stop_name"].extend_constant(None, extra)
    first_member = np.arange(len(ids))
    np.minimum.at(first_member, root, np.arange(len(ids)))
    own = names.is_not_null().to_numpy()
    lender = np.where(own, np.arange(len(ids)), first_member)
    names = names.gather(lender).fill_null(ids)

    is_location = np.zeros(len(ids), bool)
    is_location[root[(kind != ENTRANCE) & (kind != NODE)]] = True
    chosen = np.flatnonzero(is_location)
    id_text = np.asarray(ids.gather(chosen).to_list(), np.str_)
    order = np.argsort(id_text, kind="stable")
    chosen, id_text = chosen[order], id_text[order]
    index = np.full(len(ids), -1, np.int32)
    index[chosen] = np.arange(len(chosen), dtype=np.int32)
    feed.warn(nameless, "row", "of stops.txt had no stop_id: left out.")
    feed.warn(repeated, "row", "of stops.txt repeated a stop_id: the first one counts.")
    feed.warn(unplaced, "stop", "had no usable coordinates.")
    if stations:
        feed.warn(orphans, "parent station", "had no row in stops.txt: made from platforms.")
    return Locations(
        ids=id_text,
        names=np.asarray(names.gather(chosen).to_list(), np.str_),
        lat=lat[chosen],
        lon=lon[chosen],
        stop_ids=ids,
        location=index[root],
        platform=platform,
        station=station,
    )


def _coordinates(table: pl.DataFrame) -> tuple[Floats, Floats]:
    """Latitude and longitude, NaN where absent, no number, off the globe, or the 0,0 of an empty form."""
    lat, lon = (
        table[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
        for name in ("stop_lat", "stop_lon")
    )
    with np.errstate(invalid="ignore"):
        usable = (np.abs(lat) <= 90) & (np.abs(lon) <= 180) & ~((lat == 0) & (lon == 0))
    lat[~usable] = lon[~usable] = np.nan
    return lat, lon


def _with_missing_parents(table: pl.DataFrame) -> tuple[pl.Series, Ints, int]:
    """All ids (unlisted parents last), the row of each one's parent (-1: none), the number of unlisted."""
    ids, parents = table["stop_id"], table["parent_station"]
    missing = parents.drop_nulls().unique().sort()
    missing = missing.filter(~missing.is_in(ids.implode()))
    everything = pl.concat([ids.rename("id"), missing.rename("id")])
    row = lookup(parents, everything, np.arange(len(everything), dtype=np.int32)).astype(np.int64)
    return everything, np.concatenate([row, np.full(len(missing), -1)]), len(missing)


def _roots(parent: Ints, kind: Int32s, *, stations: bool) -> Ints:
    """The row that stands for each row: the top of its chain, or (no stations) a boarding area's platform."""
    itself = np.arange(len(parent))
    climbs = parent >= 0 if stations else (parent >= 0) & (kind == BOARDING_AREA)
    up = np.where(climbs, parent, itself)
    root = up
    for _ in range(3):  # boarding area, platform, station: a longer chain, or a ring, is a defect of the feed
        root = up[root]
    return root


def _borrow_coordinates(lat: Floats, lon: Floats, station: Ints, platform: Mask) -> None:
    """Give stations without coordinates the mean of their platforms', and platforms without any their station's."""
    lends = platform & ~np.isnan(lat)
    count = np.bincount(station[lends], minlength=len(station))
    for axis in (lat, lon):
        total = np.bincount(station[lends], weights=axis[lends], minlength=len(station))
        needy = np.isnan(axis) & (count > 0)
        axis[needy] = total[needy] / count[needy]
        axis[:] = np.where(np.isnan(axis), axis[station], axis)
