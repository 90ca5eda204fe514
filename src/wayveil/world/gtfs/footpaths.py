"""Where people change on foot: transfers.txt, the platforms of one station, and an optional radius."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.world.geo import haversine, pairs_within
from wayveil.world.gtfs.feed_stops import Locations
from wayveil.world.gtfs.feed_tables import Feed

MIN_WALK_SECONDS = 60  # stairs and corridors are not in the coordinates
_FORBIDDEN, _IN_SEAT = 3, (4, 5)
_PAIR = ["source", "target"]


@dataclass(frozen=True)
class Footpaths:
    """Walking links between locations, ascending by (source, target), and the seconds each takes."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    seconds: NDArray[np.int32]


def find_footpaths(
    feed: Feed,
    locations: Locations,
    candidates: NDArray[np.int32],
    *,
    radius_metres: float | None,
    metres_per_second: float,
) -> Footpaths:
    """All walking links among the candidate locations.

    A row of transfers.txt with a time keeps its time; every other link takes its distance at walking speed, at
    least a minute. A pair that transfers.txt only forbids (transfer_type 3) is not linked by anything else either.
    """
    stated, forbidden = _transfers(feed, locations)
    implied = pl.concat([_same_station(locations), _within(locations, candidates, radius_metres)])
    implied = implied.join(forbidden, on=_PAIR, how="anti").with_columns(seconds=pl.lit(None, pl.Int64))
    chosen = pl.Series(candidates)
    walks = (
        pl.concat([stated, implied])
        .filter(pl.col("source").is_in(chosen.implode()) & pl.col("target").is_in(chosen.implode()))
        .group_by(_PAIR)
        .agg(pl.col("seconds").min())
        .sort(_PAIR)
    )
    source, target = walks["source"].to_numpy(), walks["target"].to_numpy()
    metres = haversine(
        locations.lat[source], locations.lon[source], locations.lat[target], locations.lon[target]
    )
    by_distance = np.ceil(np.maximum(metres / metres_per_second, MIN_WALK_SECONDS)).astype(np.int64)
    seconds = walks["seconds"].fill_null(pl.Series(by_distance)).to_numpy()
    return Footpaths(source, target, np.maximum(seconds, 1).astype(np.int32))


def _transfers(feed: Feed, locations: Locations) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pairs that transfers.txt allows with their seconds (null: not said), and pairs that it only forbids."""
    columns = {"source": pl.Int32, "target": pl.Int32, "seconds": pl.Int64}
    if not feed.has("transfers"):
        return pl.DataFrame(schema=columns), pl.DataFrame(schema=columns)
    narrower = ["from_route_id", "to_route_id", "from_trip_id", "to_trip_id"]
    table = feed.read_small(
        "transfers", ["from_stop_id", "to_stop_id"], ["transfer_type", "min_transfer_time", *narrower]
    ).with_columns(
        kind=pl.col("transfer_type").cast(pl.Int32, strict=False).fill_null(0),
        seconds=pl.col("min_transfer_time").cast(pl.Int64, strict=False),
    )
    # A rule for some routes or trips cannot forbid the walk to everybody else.
    narrow = pl.any_horizontal(pl.col(narrower).is_not_null())
    table = table.filter(~pl.col("kind").is_in(_IN_SEAT) & ~(narrow & (pl.col("kind") == _FORBIDDEN)))
    members = _members(locations)
    known = table.join(members.select(from_stop_id="stop_id"), on="from_stop_id", how="semi")
    known = known.join(members.select(to_stop_id="stop_id"), on="to_stop_id", how="semi")
    feed.warn(
        len(table) - len(known), "row", "of transfers.txt named a stop that is not in stops.txt: left out."
    )
    pairs = (
        known.join(members.rename({"stop_id": "from_stop_id", "location": "source"}), on="from_stop_id")
        .join(members.rename({"stop_id": "to_stop_id", "location": "target"}), on="to_stop_id")
        .filter(pl.col("source") != pl.col("target"))
    )
    allowed = pairs.filter(pl.col("kind") != _FORBIDDEN).select(*columns)
    forbidden = (
        pairs.filter(pl.col("kind") == _FORBIDDEN).join(allowed, on=_PAIR, how="anti").select(*columns)
    )
    return allowed, forbidden


def _members(locations: Locations) -> pl.DataFrame:
    """The locations that a stop_id of transfers.txt means: its own, and for a station all its platforms'."""
    platform = locations.platform
    return (
        pl.DataFrame(
            {
                "stop_id": pl.concat(
                    [locations.stop_ids, locations.stop_ids.gather(locations.station[platform])]
                ),
                "location": np.concatenate([locations.location, locations.location[platform]]),
            }
        )
        .filter(pl.col("location") >= 0)
        .unique(maintain_order=True)
    )


def _same_station(locations: Locations) -> pl.DataFrame:
    """Pairs of different locations with one station: none when stations are collapsed."""
    platform = locations.platform
    home = pl.DataFrame(
        {"station": locations.station[platform], "location": locations.location[platform]}
    ).unique()
    return (
        home.rename({"location": "source"})
        .join(home.rename({"location": "target"}), on="station")
        .filter(pl.col("source") != pl.col("target"))
        .select(_PAIR)
    )


def _within(locations: Locations, candidates: NDArray[np.int32], radius_metres: float | None) -> pl.DataFrame:
    """Pairs of candidates at most the radius apart, in both directions."""
    if radius_metres is None:
        return pl.DataFrame(schema={"source": pl.Int32, "target": pl.Int32})
    pairs = candidates[pairs_within(locations.lat[candidates], locations.lon[candidates], radius_metres)]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return pl.DataFrame({"source": both[:, 0], "target": both[:, 1]})
