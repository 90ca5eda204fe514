"""A release in the formats that people already use: TIDES, origin-destination tables, GeoJSON, flow maps.

Everything is computed from the private trips and the datasheet, so it is post-processing and costs nothing. All numbers
are whole and non-negative, and tables of one release add up to the same trips.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.releases.datasheet import NOT_STATED
from wayveil.releases.spreadsheets import write_csv
from wayveil.releases.trip_periods import has_weekdays_only, is_dated
from wayveil.synthesis.estimates import Ends, Estimate, Runs, Visits
from wayveil.synthesis.model import Nests
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, TimeBins

if TYPE_CHECKING:
    from wayveil.releases.release import Release

# TIDES v1.0 station_activities; columns that we have no data for stay empty.
STATION_ACTIVITIES = (
    "service_date",
    "stop_id",
    "time_period_start",
    "time_period_end",
    "time_period_category",
    "total_entries",
    "total_exits",
    "number_of_transactions",
    "bike_entries",
    "bike_exits",
    "ramp_entries",
    "ramp_exits",
)
HOURS = TimeBins.hour_of_day()


def station_activities(release: "Release", bins: TimeBins = HOURS) -> pl.DataFrame:
    """TIDES `station_activities`: per service date, stop and period, who came in and who went out.

    Where visits are taps, every one is an entry and a transaction, and nothing is known of exits. Otherwise a trip
    enters at its first visit and leaves at its last. Trips without a date have no service date, and their periods are
    times of the clock; `put_on_date` gives them one.
    """
    trips, taps = release.trips, release.visits_are_taps
    time = _times(trips)
    if has_weekdays_only(trips):
        raise ParameterError(
            "these trips have weekdays and no dates: say with --put-on in which week they lie"
        )
    dated = is_dated(trips)
    time = time if dated else time % DAY
    full = trips.lengths > 0
    first, last = trips.offsets[:-1][full], trips.offsets[1:][full] - 1
    entries = np.arange(trips.visits) if taps else first
    table = _activity(trips.location[entries], time[entries], bins, "total_entries")
    if taps:
        table = table.with_columns(total_exits=pl.lit(None, pl.Int64))
    else:
        keys = ["day", "bin", "stop"]
        out = _activity(trips.location[last], time[last], bins, "total_exits")
        table = table.join(out, on=keys, how="full", coalesce=True).with_columns(
            pl.col("total_entries", "total_exits").fill_null(0)
        )
    table = table.sort("day", "stop", "bin")
    stop = trips.world.ids[table["stop"].to_numpy()]
    start, end = _period(table["day"].to_numpy(), table["bin"].to_numpy(), bins)
    day = _date(table["day"].to_numpy())
    if not dated:
        start, end = start.str.slice(11), end.str.slice(11).replace("00:00:00", "24:00:00")
        day = pl.Series([None] * len(day), dtype=pl.Date)
    given = pl.DataFrame(
        {
            "service_date": day,
            "stop_id": pl.Series(stop.tolist(), dtype=pl.String),
            "time_period_start": start,
            "time_period_end": end,
            "total_entries": table["total_entries"],
            "total_exits": table["total_exits"],
            "number_of_transactions": table["total_entries"],
        }
    )
    missing = [
        pl.lit(None, pl.String).alias(name) for name in STATION_ACTIVITIES if name not in given.columns
    ]
    return given.with_columns(missing).select(STATION_ACTIVITIES)


def od_table(release: "Release", bins: TimeBins | None = None) -> pl.DataFrame:
    """Trips from origin to destination by period of departure; pairs that are not listed have none.

    Without bins there is one period, whose start and end are empty. `trips_low` and `trips_high` hold the
    true number in 95 of 100 cases, where intervals of the mechanism are known to; else they are empty. They do not
    cover what bounds left out.
    """
    trips = release.trips
    full = trips.lengths > 0
    table: dict[str, NDArray[np.int64]] = {
        "origin": trips.origins()[full].astype(np.int64),
        "destination": trips.destinations()[full].astype(np.int64),
    }
    if bins is not None:
        table["bin"] = bins.bin_of(_times(trips)[trips.offsets[:-1][full]]).astype(np.int64)
    rows = pl.DataFrame(table).with_row_index("row")
    keys = list(table)
    cells = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias("trips")).sort(keys)
    low, high = _bars(release, cells, bins)
    cells = cells.with_columns(trips_low=low, trips_high=high)
    names = trips.world.ids
    place = {name: names[cells[name].to_numpy()].tolist() for name in ("origin", "destination")}
    nowhen: pl.Series = pl.Series([None] * len(cells), dtype=pl.String)
    period = (nowhen, nowhen) if bins is None else _clock_period(cells["bin"].to_numpy(), bins)
    return pl.DataFrame(
        {
            "origin_stop_id": pl.Series(place["origin"], dtype=pl.String),
            "destination_stop_id": pl.Series(place["destination"], dtype=pl.String),
            "period_start": period[0],
            "period_end": period[1],
            "trips": cells["trips"],
            "trips_low": cells["trips_low"],
            "trips_high": cells["trips_high"],
        }
    )


def stop_flows(trips: Trips) -> dict[str, Any]:
    """GeoJSON points: visits, entries (trips that begin) and exits (trips that end) of every stop."""
    world = _network(trips)
    size = world.size
    counts = {
        "visits": np.bincount(trips.location, minlength=size),
        "entries": np.bincount(trips.origins()[trips.lengths > 0], minlength=size),
        "exits": np.bincount(trips.destinations()[trips.lengths > 0], minlength=size),
    }
    return _collection(
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": _point(world, stop)},
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
    world = _network(trips)
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1][trips.lengths > 0]] = False
    there = np.flatnonzero(inner)
    pair = trips.location[there - 1].astype(np.int64) * world.size + trips.location[there]
    found, count = np.unique(pair, return_counts=True)
    return _collection(
        {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": [_point(world, a), _point(world, b)]},
            "properties": {
                "from_stop_id": str(world.ids[a]),
                "to_stop_id": str(world.ids[b]),
                "trips": int(n),
            },
        }
        for (a, b), n in zip((divmod(int(key), world.size) for key in found), count, strict=True)
    )


def flowmap(release: "Release") -> tuple[pl.DataFrame, pl.DataFrame]:
    """The pair of tables of flowmap.blue: locations (id, name, lat, lon) and flows (origin, dest, count)."""
    world = _network(release.trips)
    places = pl.DataFrame(
        {
            "id": pl.Series(world.ids.tolist(), dtype=pl.String),
            "name": pl.Series(world.names.tolist(), dtype=pl.String),
            "lat": world.lat,
            "lon": world.lon,
        }
    )
    flows = od_table(release).select(origin="origin_stop_id", dest="destination_stop_id", count="trips")
    return places, flows


# The kind of question that a format answers.
ABOUT = {
    "station-activities": "boardings",
    "od": "journeys",
    "stop-flows": "stops",
    "edge-flows": "edges",
    "flowmap": "journeys",
}


def verdict_on(release: "Release", kind: str) -> str | None:
    """What the release says of the numbers in this format; None if nothing."""
    verdict = release.accuracy.of(ABOUT.get(kind, kind))
    return None if verdict is None else verdict.words


def export(
    release: "Release", kind: str, out: str | Path, bins: TimeBins = HOURS, *, anyway: bool = False
) -> list[Path]:
    """Write one format (see `FORMATS`); returns the files. `flowmap` writes two, beside each other.

    What the verdict of the release calls noise is refused, unless it is wanted `anyway`.
    """
    if kind not in FORMATS:
        raise ParameterError(f"there is no format {kind!r}; there are {', '.join(FORMATS)}")
    release.accuracy.refuse_noise(ABOUT.get(kind), anyway=anyway)
    return FORMATS[kind](release, Path(out), bins)


def _write_activities(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    write_csv(station_activities(release, bins), out)
    return [out]


def _write_od(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    timed = release.trips.time is not None
    write_csv(od_table(release, bins if timed else None), out)
    return [out]


def _write_stop_flows(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    flows = stop_flows(release.trips)
    _set_bars(flows["features"], "visits", release.estimate(Visits(("stop",))))
    flows["note"] = _bars_note(release, "stop-flows")
    out.write_text(json.dumps(flows), encoding="utf-8")
    return [out]


def _write_edge_flows(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    flows, world = edge_flows(release.trips), release.world
    ends = [
        world.index_of([flow["properties"][name] for flow in flows["features"]])
        for name in ("from_stop_id", "to_stop_id")
    ]
    known = release.estimate(Runs(np.stack(ends, axis=1))) if flows["features"] else None
    _set_bars(flows["features"], "trips", known)
    flows["note"] = _bars_note(release, "edge-flows")
    out.write_text(json.dumps(flows), encoding="utf-8")
    return [out]


def _bars_note(release: "Release", kind: str) -> str:
    """What to know of the numbers of a file: the verdict, and what `low` and `high` hold."""
    said = verdict_on(release, kind)
    bars = (
        "low and high hold the number of what was counted in 95 of 100 cases; null where that is not known."
    )
    return bars if said is None else f"{said} {bars}"


def _set_bars(features: list[dict[str, Any]], name: str, known: Estimate | None) -> None:
    """The ends of the bars as properties of each feature; null where nothing is known."""
    nothing = [None] * len(features)
    ends: tuple[list[Any], list[Any]] = (nothing, nothing)
    if known is not None and known.low is not None and known.high is not None:
        low, high = np.maximum(np.floor(known.low), 0), np.ceil(np.maximum(known.high, 0))
        ends = low.astype(np.int64).tolist(), high.astype(np.int64).tolist()
    for feature, low_end, high_end in zip(features, *ends, strict=True):
        feature["properties"] |= {f"{name}_low": low_end, f"{name}_high": high_end}


def trajectories(release: "Release", seed: int | None = None) -> pl.DataFrame:
    """The shape of scikit-mobility's TrajDataFrame: uid, tid, datetime, lat, lng, and how the place was chosen.

    Every trip has a uid of its own: nothing links released trips. On a grid a point is uniform in its cell
    (`placed` says so): where in a cell it lies says nothing. Elsewhere it is the place of the stop.
    """
    trips = release.trips
    if not isinstance(trips.world, Network):
        raise ParameterError("trajectories need coordinates; this release is over a plain list")
    grid = isinstance(trips.world, Grid)
    points = Tracks.spread(trips, seed) if grid else Tracks.centres(trips)
    trip = np.repeat(np.arange(1, len(trips) + 1), trips.lengths)
    moment = pl.lit(None, pl.Datetime("us")) if trips.time is None else _moment(trips.time)
    return pl.DataFrame({"uid": trip, "tid": trip}).with_columns(
        datetime=moment,
        lat=pl.Series(np.round(points.lat, 6)),
        lng=pl.Series(np.round(points.lon, 6)),
        placed=pl.lit("uniform in its cell" if grid else "at its stop"),
    )


def _write_flowmap(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    files = [out.with_name(f"{out.stem}-locations.csv"), out.with_name(f"{out.stem}-flows.csv")]
    for table, file in zip(flowmap(release), files, strict=True):
        write_csv(table, file)
    return files


def _write_trie(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    if not isinstance(release.model, Nests):
        raise ParameterError(
            "this release was not made from n-grams, so it has no trie; `mobitrie` makes one"
        )
    root = release.model.nested()
    out.write_text(json.dumps({"n": _depth(root) - 1, "root": root}, ensure_ascii=False), encoding="utf-8")
    return [out]


def _write_trajectories(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    write_csv(trajectories(release), out)
    return [out]


def registry_record(release: "Release") -> dict[str, Any]:
    """The release as a draft for the public registry of differential-privacy deployments, all three tiers."""
    deployment = release.datasheet["deployment"]
    basic = deployment["basic"]
    slug = "-".join("".join(sign if sign.isalnum() else " " for sign in basic["name"].lower()).split())
    authors = [each["data_curator_name"] for each in basic["data_curators"]]
    administrative = {"sources": NOT_STATED, "registry_authors": authors}
    return {
        "url_slug": slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {**deployment, "administrative": administrative},
    }


def _write_registry(release: "Release", out: Path, bins: TimeBins) -> list[Path]:
    # The registry takes YAML, and JSON is YAML.
    out.write_text(json.dumps(registry_record(release), indent=2, ensure_ascii=False), encoding="utf-8")
    return [out]


def _depth(node: dict[str, Any]) -> int:
    return 1 + max((_depth(child) for child in node["children"]), default=0)


FORMATS: dict[str, Callable[["Release", Path, TimeBins], list[Path]]] = {
    "station-activities": _write_activities,
    "od": _write_od,
    "stop-flows": _write_stop_flows,
    "edge-flows": _write_edge_flows,
    "flowmap": _write_flowmap,
    "trie": _write_trie,
    "trajectories": _write_trajectories,
    "registry": _write_registry,
}


def _bars(release: "Release", cells: pl.DataFrame, bins: TimeBins | None) -> tuple[Any, Any]:
    """The ends of the bars of each cell, where the model knows them."""
    origin, destination = (cells[name].to_numpy() for name in ("origin", "destination"))
    asked = Ends(origin, destination, bins, None if bins is None else cells["bin"].to_numpy())
    found = None if len(cells) == 0 else release.estimate(asked)
    if found is None or found.interval is None:
        return pl.lit(None, pl.Int64), pl.lit(None, pl.Int64)
    low, high = found.interval
    return pl.Series(np.maximum(np.floor(low), 0).astype(np.int64)), pl.Series(np.ceil(high).astype(np.int64))


def _activity(
    location: NDArray[np.int32], time: NDArray[np.int64], bins: TimeBins, name: str
) -> pl.DataFrame:
    rows = {"day": time // DAY, "bin": bins.bin_of(time).astype(np.int64), "stop": location.astype(np.int64)}
    return pl.DataFrame(rows).group_by("day", "bin", "stop").agg(pl.len().cast(pl.Int64).alias(name))


def _period(day: NDArray[np.int64], bin_: NDArray[np.int64], bins: TimeBins) -> tuple[pl.Series, pl.Series]:
    """Start and end of each period as moments of the timeline; weekly bins are taken within their day."""
    start = day * DAY + bins.start[bin_] % DAY
    return _moment(start), _moment(start + bins.end[bin_] - bins.start[bin_])


def _clock_period(bin_: NDArray[np.int64], bins: TimeBins) -> tuple[pl.Series, pl.Series]:
    """`08:00` and `09:00` of a repeating day, `Mon 08:00` of a week: the labels of the bins, cut in two."""
    labels = [bins.labels[i].rsplit("-", 1) for i in bin_.tolist()]
    return (
        pl.Series([label[0] for label in labels], dtype=pl.String),
        pl.Series([label[1] for label in labels], dtype=pl.String),
    )


def _moment(seconds: NDArray[np.int64]) -> pl.Series:
    return (
        pl.Series(seconds).cast(pl.Datetime("ms"))
        if len(seconds) == 0
        else ((pl.Series(seconds) * 1000).cast(pl.Datetime("ms")).dt.strftime("%Y-%m-%dT%H:%M:%S"))
    )


def _date(day: NDArray[np.int64]) -> pl.Series:
    return pl.Series(day).cast(pl.Int32).cast(pl.Date)


def _times(trips: Trips) -> NDArray[np.int64]:
    if trips.time is None:
        raise ParameterError(
            "this format needs times, and the released trips have none; use a mechanism with times"
        )
    return trips.time


def _network(trips: Trips) -> Network:
    if not isinstance(trips.world, Network):
        raise ParameterError("this format needs coordinates; load the release with the network of its city")
    return trips.world


def _point(world: Network, stop: int) -> list[float]:
    return [round(float(world.lon[stop]), 6), round(float(world.lat[stop]), 6)]


def _collection(features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}
