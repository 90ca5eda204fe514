"""GeoJSON: visits of every stop as points, trips over every step as lines, with the ends of their bars."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.arrays import Ints
from wayveil.exports.parts import network_of_trips, note_of, point
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins

BARS = "low and high hold the number of what was counted in 95 of 100 cases; null where that is not known."


def stop_flows(trips: Trips) -> dict[str, Any]:
    """GeoJSON points: visits, entries (trips that begin) and exits (trips that end) of every stop."""
    world = network_of_trips(trips)
    size = world.size
    counts = {
        "visits": np.bincount(trips.location, minlength=size),
        "entries": np.bincount(trips.origins()[trips.lengths > 0], minlength=size),
        "exits": np.bincount(trips.destinations()[trips.lengths > 0], minlength=size),
    }
    return _collection(
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": point(world, stop)},
            "properties": {
                "stop_id": str(world.ids[stop]),
                "name": str(world.names[stop]),
                **{name: int(count[stop]) for name, count in counts.items()},
            },
        }
        for stop in range(size)
    )


def edge_flows(trips: Trips) -> dict[str, Any]:
    """GeoJSON lines: trips that move from one stop directly to another, for every pair with any."""
    world = network_of_trips(trips)
    found, count = np.unique(trips.pair_into(trips.later_visits()), return_counts=True)
    return _collection(
        {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": [point(world, a), point(world, b)]},
            "properties": {
                "from_stop_id": str(world.ids[a]),
                "to_stop_id": str(world.ids[b]),
                "trips": int(n),
            },
        }
        for (a, b), n in zip((divmod(int(key), world.size) for key in found), count, strict=True)
    )


def write_stop_flows(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One GeoJSON file of points. A tap is a visit and an entry, and nothing is known of exits."""
    flows = stop_flows(release.trips)
    features = flows["features"]
    taps = release.visits_are_taps
    if taps:
        for feature in features:
            feature["properties"] |= {"entries": feature["properties"]["visits"], "exits": None}
    kinds = {"visits": "stops", "entries": "stops" if taps else "boardings", "exits": "alightings"}
    for name, kind in kinds.items():
        _set_bars(release, features, name, None if taps and name == "exits" else kind)
    return _write(flows, release, "stop-flows", out)


def write_edge_flows(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One GeoJSON file of lines."""
    flows, world = edge_flows(release.trips), release.world
    ends = [
        world.index_of([flow["properties"][name] for flow in flows["features"]]).astype(np.int64)
        for name in ("from_stop_id", "to_stop_id")
    ]
    _set_bars(release, flows["features"], "trips", "edges", ends[0] * world.size + ends[1])
    return _write(flows, release, "edge-flows", out)


def _write(flows: dict[str, Any], release: JudgedRelease, format: str, out: Path) -> list[Path]:
    flows["note"] = f"{BARS} {note_of(release, format)}"
    out.write_text(json.dumps(flows), encoding="utf-8")
    return [out]


def _set_bars(
    release: JudgedRelease,
    features: list[dict[str, Any]],
    name: str,
    kind: str | None,
    cells: Ints | None = None,
) -> None:
    """The number as it was judged and the ends of its bar as properties of each feature; null: nothing is known."""
    low: list[Any] = [None] * len(features)
    high = low
    if kind is not None and features:
        values = np.array([feature["properties"][name] for feature in features], np.float64)
        asked = Numbers(name, values, kind, np.arange(len(values)) if cells is None else cells)
        judged = judge_numbers(release, asked, anyway=True)
        low, high = (end.to_list() for end in judged.whole_ends())
        for feature, value in zip(features, judged.shown.tolist(), strict=True):
            feature["properties"][name] = value
    for feature, least, most in zip(features, low, high, strict=True):
        feature["properties"] |= {f"{name}_low": least, f"{name}_high": most}


def _collection(features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}
