"""From calls and walks to the directed edges of a network."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.world.geo import haversine, pairs_within
from wayveil.world.gtfs.calls import UNKNOWN, Calls
from wayveil.world.gtfs.feed_stops import Locations
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.network import Edges

MIN_WALK_SECONDS = 60  # stairs and corridors are not in the coordinates
_FORBIDDEN, _IN_SEAT = 3, (4, 5)
_PAIR = ["source", "target"]


@dataclass(frozen=True)
class Footpaths:
    """Walking links between locations, ascending by (source, target), and the seconds each takes."""

    source: Int32s
    target: Int32s
    seconds: Int32s


def find_footpaths(
    feed: Feed,
    locations: Locations,
    candidates: Int32s,
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


def _within(locations: Locations, candidates: Int32s, radius_metres: float | None) -> pl.DataFrame:
    """Pairs of candidates at most the radius apart, in both directions."""
    if radius_metres is None:
        return pl.DataFrame(schema={"source": pl.Int32, "target": pl.Int32})
    pairs = candidates[pairs_within(locations.lat[candidates], locations.lon[candidates], radius_metres)]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return pl.DataFrame({"source": both[:, 0], "target": both[:, 1]})


_FALLBACK_SPEED = 5.0  # metres per second, where a feed has no usable time at all


def make_edges(
    feed: Feed, calls: Calls, runs: Ints, route: Int32s, walks: Footpaths, locations: Locations, keep: Int32s
) -> Edges:
    """Edges among the locations in `keep` (ascending); `runs` and `route` (-1: unknown) are per trip.

    An edge joins consecutive calls of a vehicle at two different places that are both kept: a trip that
    leaves the kept area and returns makes no edge across. Where vehicles run, their time counts, not the walk's.
    """
    size = len(keep)
    index = np.full(len(locations.ids), -1, np.int32)
    index[keep] = np.arange(size, dtype=np.int32)
    place = index[calls.location]
    here, there = place[:-1], place[1:]
    leg = np.flatnonzero((calls.trip[1:] == calls.trip[:-1]) & (here != there) & (here >= 0) & (there >= 0))
    trip = calls.trip[leg]
    legs = pl.DataFrame(
        {
            "edge": here[leg].astype(np.int64) * size + there[leg],
            "seconds": _leg_seconds(feed, calls, leg),
            "runs": runs[trip],
            "route": route[trip],
        }
    )
    # Vehicles repeat themselves: most legs share their edge and seconds with many others.
    times = legs.group_by("edge", "seconds").agg(pl.col("runs").sum()).sort("edge", "seconds")
    on_edge = legs.filter(pl.col("route") >= 0).select("edge", "route").unique().sort("edge", "route")
    ride, ride_seconds, ride_runs = _median_seconds(times)

    inside = (index[walks.source] >= 0) & (index[walks.target] >= 0)
    walk = index[walks.source[inside]].astype(np.int64) * size + index[walks.target[inside]]
    only_walk = ~np.isin(walk, ride)

    key = np.concatenate([ride, walk[only_walk]])
    order = np.argsort(key)
    is_walk = order >= len(ride)
    source, target = np.divmod(key[order], size)
    lat, lon = locations.lat[keep], locations.lon[keep]
    metres = haversine(lat[source], lon[source], lat[target], lon[target])
    seconds = np.concatenate([ride_seconds, walks.seconds[inside][only_walk]])[order]
    all_runs = np.concatenate([ride_runs, np.zeros(int(only_walk.sum()), np.int64)])[order]
    return Edges(
        indptr=np.searchsorted(source, np.arange(size + 1)).astype(np.int64),
        indices=target.astype(np.int32),
        seconds=_complete_seconds(feed, seconds, metres, is_walk),
        metres=metres,
        walk=is_walk,
        runs=all_runs,
        route_indptr=np.searchsorted(on_edge["edge"].to_numpy(), np.append(key[order], size * size)).astype(
            np.int64
        ),
        route=on_edge["route"].to_numpy().astype(np.int32),
    )


def _median_seconds(times: pl.DataFrame) -> tuple[Ints, Int32s, Ints]:
    """The edges of a table (edge, seconds, runs), ascending, with the median seconds and the runs of each.

    It is the lower median, a time that some vehicle really takes; UNKNOWN only where nothing else is there.
    """
    edge, start = np.unique(times["edge"].to_numpy(), return_index=True)
    seconds, runs = times["seconds"].to_numpy(), times["runs"].to_numpy()
    bounds = np.append(start, len(seconds))
    total = np.add.reduceat(runs, start) if len(start) else runs
    timed = np.where(seconds == UNKNOWN, 0, runs)
    running = np.cumsum(timed)
    before = np.append(0, running)[bounds[:-1]]
    after = np.append(0, running)[bounds[1:]]
    half = before + (after - before + 1) // 2
    at = np.where(after > before, np.searchsorted(running, half), start)
    return edge, seconds[at].astype(np.int32), total


def _leg_seconds(feed: Feed, calls: Calls, leg: Ints) -> Int32s:
    """Departure to next arrival; UNKNOWN where a time is missing or would go backwards."""
    departure, arrival = calls.departure[leg], calls.arrival[leg + 1]
    timed = (departure != UNKNOWN) & (arrival != UNKNOWN)
    backwards = timed & (arrival < departure)
    feed.warn(backwards.sum(), "leg", "arrived before departing: time not used.")
    return np.where(timed & ~backwards, arrival - departure, UNKNOWN).astype(np.int32)


def _complete_seconds(feed: Feed, seconds: Int32s, metres: Floats, is_walk: Mask) -> Int32s:
    """Give edges without a time, or of 0 seconds, the typical speed of the others; at least 1 second.

    Timetables in whole minutes show 0 seconds between near stops. Taken at their word, paths of such edges
    would take no time at all.
    """
    instant, untimed = seconds == 0, seconds == UNKNOWN
    if not np.any(instant | untimed):
        return seconds
    timed = ~is_walk & (seconds > 0) & (metres > 0)
    speed = float(np.median(metres[timed] / seconds[timed])) if np.any(timed) else _FALLBACK_SPEED
    feed.warn(
        int(instant.sum()), "edge", f"took 0 seconds in the timetable: set to distance at {speed:.1f} m/s."
    )
    feed.warn(int(untimed.sum()), "edge", f"had no usable time: set to distance at {speed:.1f} m/s.")
    return np.where(instant | untimed, np.maximum(np.round(metres / speed), 1), seconds).astype(np.int32)
