"""`read_gtfs`: a GTFS feed as a `Network`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from zoneinfo import available_timezones

import numpy as np
import polars as pl

from wayveil.arrays import Int32s
from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.world.geo import BoundingBox
from wayveil.world.gtfs.calls import Calls, read_calls, service_by_hour
from wayveil.world.gtfs.feed_edges import find_footpaths, make_edges
from wayveil.world.gtfs.feed_shapes import read_tracks
from wayveil.world.gtfs.feed_stops import Locations, lookup, read_locations
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.gtfs.service import parse_date, read_trips, runs_of_trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes

WALKING_SPEED = 1.2  # metres per second
# `route_type` of every kind of line, and the hundreds of its extended types.
KINDS = {"tram": (0, 9), "metro": (1, 4), "rail": (2, 1), "bus": (3, 7), "ferry": (4, 10)}


def read_gtfs(
    path: str | Path,
    *,
    bbox: BoundingBox | str | tuple[float, float, float, float] | None = None,
    service_date: date | str | None = None,
    stations: bool = True,
    walk_radius_metres: float | None = None,
    walking_speed: float = WALKING_SPEED,
    kinds: Sequence[str] | None = None,
    name: str | None = None,
) -> Network:
    """Read a GTFS zip file or folder.

    The locations are the places that at least one trip calls at: stations (stops merged into their
    `parent_station`), or single stops with `stations=False`. Edges are the steps of vehicles between consecutive
    calls and the walks of transfers.txt, between platforms of one station, and (if asked for) between all places
    at most `walk_radius_metres` apart at `walking_speed` metres per second.

    `bbox` keeps places inside (south, west, north, east); `service_date` keeps the trips of one day; `kinds` keeps
    those of some kinds of lines: tram, metro, rail, bus, ferry. All are public choices of the caller. Whatever the
    feed has that cannot be used is counted in `warnings`.

    >>> wv.read_gtfs(folder / "city.zip").size == city.size
    True
    """
    box = None if bbox is None else BoundingBox.of(bbox)
    day = None if service_date is None else parse_date(service_date)
    if walk_radius_metres is not None and not walk_radius_metres > 0:
        raise ParameterError(f"a walk radius of {walk_radius_metres} metres is not above zero")
    if not walking_speed > 0:
        raise ParameterError(f"a walking speed of {walking_speed} metres per second is not above zero")
    with step("reading the feed"):
        feed = Feed(path)
        locations = read_locations(feed, stations=stations)
        trips = read_trips(feed, day)
        if kinds is not None:
            trips = _of_kinds(feed, trips, kinds)
        routes, route = _routes(feed, trips)
        calls = read_calls(feed, trips, locations, all_trips=day is None and kinds is None)
        keep = _served(feed, calls, locations, box)
        walks = find_footpaths(
            feed, locations, keep, radius_metres=walk_radius_metres, metres_per_second=walking_speed
        )
        runs = runs_of_trips(feed, trips).to_numpy()
        edges = make_edges(feed, calls, runs, route, walks, locations, keep)
        service = service_by_hour(feed, trips, calls, keep, len(locations.ids))
    edges, routes = _only_used(edges, routes)
    places = Places(locations.ids[keep], locations.names[keep], locations.lat[keep], locations.lon[keep])
    network = Network(
        places,
        edges,
        routes,
        _platforms(locations, keep),
        name=name or _name(feed.path),
        warnings=feed.warnings,
        service=service,
    )
    network.other_names, network.zone = _other_names(feed), _zone(feed)
    network.tracks = read_tracks(feed, trips, calls, keep, network)
    return network


def _other_names(feed: Feed) -> dict[str, dict[str, str]]:
    """Return the stop_id of every code and every name of stops.txt; of several with one name the first by id."""
    table = feed.read_small("stops", ["stop_id"], ["stop_code", "stop_name"]).sort("stop_id", descending=True)
    known = {"code": table["stop_code"], "name": table["stop_name"]}
    return {
        kind: {text: stop for text, stop in zip(texts, table["stop_id"], strict=True) if text and stop}
        for kind, texts in known.items()
    }


def _zone(feed: Feed) -> str | None:
    """Return the time zone of the first agency."""
    if not feed.has("agency"):
        return None
    zones = feed.read_small("agency", [], ["agency_timezone"])["agency_timezone"].drop_nulls()
    return str(zones[0]) if len(zones) and zones[0] in available_timezones() else None


def _served(feed: Feed, calls: Calls, locations: Locations, box: BoundingBox | None) -> Int32s:
    """The locations to keep: some trip calls there, and they are inside the box."""
    served = np.unique(calls.location)
    idle = len(np.unique(locations.location[locations.platform])) - len(served)
    feed.warn(idle, "place", "of stops.txt saw no call of the chosen trips: left out.")
    if box is None:
        return served
    inside = served[box.contains(locations.lat[served], locations.lon[served])]
    if len(inside) == 0:
        lat, lon = locations.lat[served], locations.lon[served]
        raise InputError(
            f"no stop lies inside the bounding box {box}; the feed's stops span "
            f"{lat.min():.4f},{lon.min():.4f},{lat.max():.4f},{lon.max():.4f} (south,west,north,east)",
            file=feed.path,
        )
    return inside


def _of_kinds(feed: Feed, trips: pl.DataFrame, kinds: Sequence[str]) -> pl.DataFrame:
    """The trips of lines of these kinds; one whose line has no known type is left out."""
    wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown or not wanted:
        raise ParameterError(f"kinds of lines are {', '.join(KINDS)}, not {', '.join(unknown) or 'none'}")
    table = feed.read_small("routes", ["route_id"], ["route_type"])
    kind = pl.col("route_type").cast(pl.Int32, strict=False)
    types, hundreds = ([KINDS[one][part] for one in wanted] for part in (0, 1))
    kept = table.filter(kind.is_in(types) | ((kind >= 100) & (kind // 100).is_in(hundreds)))
    found = trips.filter(pl.col("route_id").is_in(kept["route_id"].implode()))
    if found.is_empty():
        raise InputError(f"has no trip of a line of the kind {' or '.join(wanted)}", file=feed.path)
    return found


def _routes(feed: Feed, trips: pl.DataFrame) -> tuple[Routes, Int32s]:
    """The routes of the trips, ascending by id, and the route of each trip (-1: none)."""
    table = feed.read_small("routes", ["route_id"], ["route_short_name", "route_long_name", "route_type"])
    used = trips.select("route_id").unique().drop_nulls()
    table = used.join(table.unique("route_id", keep="first"), on="route_id", how="left")
    ids = np.asarray(table["route_id"].to_list(), np.str_)
    table = table[np.argsort(ids, kind="stable")]
    names = table.select(pl.coalesce("route_short_name", "route_long_name", "route_id")).to_series()
    types = table["route_type"].cast(pl.Int32, strict=False).fill_null(-1).to_numpy()
    routes = Routes(np.sort(ids), np.asarray(names.to_list(), np.str_), types.astype(np.int32))
    return routes, lookup(trips["route_id"], table["route_id"], np.arange(len(table), dtype=np.int32))


def _only_used(edges: Edges, routes: Routes) -> tuple[Edges, Routes]:
    """Leave out routes without an edge, such as those outside the box."""
    used, route = np.unique(edges.route, return_inverse=True)
    return replace(edges, route=route.astype(np.int32)), Routes(
        routes.ids[used], routes.names[used], routes.types[used]
    )


def _name(path: Path) -> str:
    """Return what to call the network: the file's name, or its folder's where the file is just `gtfs.zip`."""
    plain = path.stem.lower() in ("gtfs", "feed", "google_transit")
    return (path.resolve().parent.name or path.stem) if plain else path.stem


def _platforms(locations: Locations, keep: Int32s) -> Platforms:
    """The stops that became part of a kept location."""
    index = np.full(len(locations.ids) + 1, -1, np.int32)  # the last entry stands for "no location"
    index[keep] = np.arange(len(keep), dtype=np.int32)
    place = index[locations.location]
    rows = np.flatnonzero(locations.platform & (place >= 0))
    ids = np.asarray(locations.stop_ids.gather(rows).to_list(), np.str_)
    order = np.argsort(ids, kind="stable")
    return Platforms(ids[order], place[rows][order])
