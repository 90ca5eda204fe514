"""GeoJSON: visits of every stop as points, trips over every step as lines, with the ends of their bars."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.accuracy.judged import JudgedRelease
from wayveil.arrays import Floats
from wayveil.exports.parts import missing_cells, network_of_trips, point, whole_bars
from wayveil.synthesis.estimates import Estimate, Interval, Runs, Visits
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
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1][trips.lengths > 0]] = False
    there = np.flatnonzero(inner)
    pair = trips.location[there - 1].astype(np.int64) * world.size + trips.location[there]
    found, count = np.unique(pair, return_counts=True)
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
    visits = release.estimate(Visits(("stop",)))
    _set_bars(features, "visits", visits)
    if release.visits_are_taps:
        for feature in features:
            feature["properties"] |= {"entries": feature["properties"]["visits"], "exits": None}
        _set_bars(features, "entries", visits)
        _set_bars(features, "exits", None)
    else:
        for name, kind in (("entries", "boardings"), ("exits", "alightings")):
            values = np.array([feature["properties"][name] for feature in features], np.float64)
            _set_bars(features, name, _known(release.interval(kind, np.arange(len(values)), values), values))
    return _write(flows, release, "stops", out)


def _known(ends: Interval | None, values: Floats) -> Estimate | None:
    """The numbers with their ends, if these are known of all."""
    return None if ends is None or np.isnan(ends[0]).any() else Estimate(values, *ends)


def write_edge_flows(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One GeoJSON file of lines."""
    flows, world = edge_flows(release.trips), release.world
    ends = [
        world.index_of([flow["properties"][name] for flow in flows["features"]])
        for name in ("from_stop_id", "to_stop_id")
    ]
    known = release.estimate(Runs(np.stack(ends, axis=1))) if flows["features"] else None
    _set_bars(flows["features"], "trips", known)
    return _write(flows, release, "edges", out)


def _write(flows: dict[str, Any], release: JudgedRelease, kind: str, out: Path) -> list[Path]:
    """With a note for whoever reads the file: the verdict, what the bars hold, what is missing."""
    verdict = release.accuracy.of(kind)
    said = [] if verdict is None else [verdict.words]
    flows["note"] = " ".join([*said, BARS, missing_cells(release)])
    out.write_text(json.dumps(flows), encoding="utf-8")
    return [out]


def _set_bars(features: list[dict[str, Any]], name: str, known: Estimate | None) -> None:
    """The ends of the bars as properties of each feature; null where nothing is known."""
    nothing = [None] * len(features)
    found = whole_bars(known)
    ends: tuple[list[Any], list[Any]] = (nothing, nothing)
    if found is not None:
        ends = found[0].tolist(), found[1].tolist()
    for feature, low, high in zip(features, *ends, strict=True):
        feature["properties"] |= {f"{name}_low": low, f"{name}_high": high}


def _collection(features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}
