"""`export`: a release in one of the formats of the menu.

Everything is computed from the private trips and the datasheet, so it is post-processing and costs nothing. All numbers
are whole and non-negative, and the formats of one release add up to the same trips.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.answers.trip_periods import is_dated, put_on_date
from wayveil.errors import ParameterError, WayveilError
from wayveil.exports.flows import write_edge_flows, write_stop_flows
from wayveil.exports.geoparquet import write_geoparquet
from wayveil.exports.gtfs_ride import write_gtfs_ride
from wayveil.exports.matsim import write_matsim
from wayveil.exports.menu import MENU
from wayveil.exports.od import od_table, write_od, write_od_month
from wayveil.exports.officer_pdf import write_officer
from wayveil.exports.omx import write_omx
from wayveil.exports.parts import judge_format, moment, network_of_trips, texts
from wayveil.exports.registry import write_registry
from wayveil.exports.statements import write_ccpa, write_dpia
from wayveil.exports.station_activities import HOURS, write_station_activities
from wayveil.exports.tides import write_tides
from wayveil.files import whole_folder
from wayveil.released.datasheet_making import restate
from wayveil.synthesis.model import Nests
from wayveil.trips.tracks import Tracks
from wayveil.world.grid import Grid
from wayveil.world.gtfs.service import parse_date
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins


def flowmap(release: JudgedRelease) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Locations (id, name, lat, lon) and flows (origin, dest, count)."""
    world = network_of_trips(release.trips)
    places = pl.DataFrame(
        {"id": texts(world.ids), "name": texts(world.names), "lat": world.lat, "lon": world.lon}
    )
    flows = od_table(release).select(origin="origin_stop_id", dest="destination_stop_id", count="trips")
    return places, flows


def write_flowmap(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Two files beside each other."""
    files = [out.with_name(f"{out.stem}-locations.csv"), out.with_name(f"{out.stem}-flows.csv")]
    for table, file in zip(flowmap(release), files, strict=True):
        write_csv(table, file)
    return files


def write_trie(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One JSON file: `n` and the `root`."""
    if not isinstance(release.model, Nests):
        raise ParameterError(
            "this release was not made from n-grams, so it has no trie; `mobitrie` makes one"
        )
    root = release.model.nested()
    out.write_text(json.dumps({"n": _depth(root) - 1, "root": root}, ensure_ascii=False), encoding="utf-8")
    return [out]


def _depth(node: dict[str, Any]) -> int:
    return 1 + max((_depth(child) for child in node["children"]), default=0)


def trajectories(release: JudgedRelease, seed: int | None = None) -> pl.DataFrame:
    """uid, tid, datetime, lat, lng, and how the place was chosen.

    Every trip has a uid of its own: nothing links released trips. On a grid points are drawn in cells, and on the
    straight way from one to the next, about as often as vehicles are seen (`placed` says so): where in a cell a point
    lies says nothing. Elsewhere it is the place of the stop.
    """
    trips = release.trips
    if not isinstance(trips.world, Network):
        raise ParameterError("trajectories need coordinates; this release is over a plain list")
    grid = isinstance(trips.world, Grid)
    points, paced = Tracks.drive(trips, seed) if grid else (Tracks.centres(trips), None)
    trip = np.repeat(np.arange(1, len(trips) + 1), np.diff(points.offsets))
    time, placed = trips.time, np.full(len(trip), "at its stop")
    if paced is not None:
        time = None if time is None else paced.between(time).astype(np.int64)
        placed = np.where(paced.share > 0, "on the way to the next cell", "drawn in its cell")
    return pl.DataFrame({"uid": trip, "tid": trip}).with_columns(
        datetime=pl.lit(None, pl.Datetime("us")) if time is None else moment(time),
        lat=pl.Series(np.round(points.lat, 6)),
        lng=pl.Series(np.round(points.lon, 6)),
        placed=pl.Series(placed),
    )


def write_trajectories(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv."""
    write_csv(trajectories(release), out)
    return [out]


def passengers(release: JudgedRelease) -> pl.DataFrame:
    """passenger, stop_1, time_1, stop_2, ...: a row per trip (of taps: a rider's day or week), numbered anew.

    Without times there are stops alone. Cells after the last visit are empty.
    """
    trips = release.trips.take(release.trips.lengths > 0)
    values = {"stop": texts(trips.world.ids[trips.location])}
    if trips.time is not None:
        values["time"] = moment(trips.time)
    columns = {"passenger": pl.Series(np.arange(1, len(trips) + 1))}
    for at in range(int(trips.lengths.max(initial=0))):
        visit = pl.Series(np.where(trips.lengths > at, trips.offsets[:-1] + at, -1))
        row = visit.set(visit < 0, None)
        columns |= {f"{name}_{at + 1}": column.gather(row) for name, column in values.items()}
    return pl.DataFrame(columns)


def write_passengers(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv."""
    write_csv(passengers(release), out)
    return [out]


Writer = Callable[[JudgedRelease, Path, TimeBins], list[Path]]
FORMATS: Final[dict[str, Writer]] = {
    "od": write_od,
    "od-month": write_od_month,
    "omx": write_omx,
    "geoparquet": write_geoparquet,
    "flowmap": write_flowmap,
    "matsim": write_matsim,
    "tides": write_tides,
    "station-activities": write_station_activities,
    "gtfs-ride": write_gtfs_ride,
    "stop-flows": write_stop_flows,
    "edge-flows": write_edge_flows,
    "trajectories": write_trajectories,
    "passengers": write_passengers,
    "trie": write_trie,
    "registry": write_registry,
    "officer": write_officer,
    "dpia": write_dpia,
    "ccpa": write_ccpa,
}


def export(
    release: JudgedRelease,
    kind: str,
    out: str | Path,
    bins: TimeBins = HOURS,
    *,
    anyway: bool = False,
    put_on: date | str | None = None,
    feed: str | Path | None = None,
    stated: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write one format of the `MENU`; returns the files. `tides` and `gtfs-ride` are folders, `flowmap` two files.

    A format of which no number is worth having is refused, unless it is wanted `anyway`. `put_on` is the date of
    released trips that have none (or the week, where they have weekdays), for formats with dates; `feed` is the
    timetable whose runs `gtfs-ride` names. `stated` says anew what the plan did or did not say for formats about the
    release itself: curator, curator_type, purpose, region, contact.
    """
    if kind not in FORMATS:
        raise ParameterError(f"unknown format {kind!r}; choose one of {', '.join(FORMATS)}")
    entry = MENU[kind]
    if feed is not None and not entry.feed:
        raise ParameterError(f"--feed is for formats that name runs of the timetable, not for {kind!r}")
    if stated:
        if not entry.stated:
            raise ParameterError(f"--with is for formats about the release itself, not for {kind!r}")
        release = replace(release, datasheet=restate(release.datasheet, **stated))
    if entry.about is not None:
        release = release.whole.require_single(f"the format {kind}")
    if put_on is not None:
        if not entry.dated:
            raise ParameterError(f"--put-on is for formats with dates, not for {kind!r}")
        if is_dated(release.trips):
            raise ParameterError("these trips have dates of their own: omit --put-on")
        release = replace(release, trips=put_on_date(release.trips, parse_date(put_on)))
    judge_format(release, kind, anyway=anyway)
    write = partial(write_gtfs_ride, feed=feed) if entry.feed else FORMATS[kind]
    return write(release, Path(out), bins)


def export_wanted(
    release: JudgedRelease, kinds: Sequence[str], folder: Path, name: str, first_day: date | None, feed: Path
) -> dict[str, str]:
    """Write the formats that a plan wants into a folder that appears whole; returns why some were left out.

    Files are `name` with the format behind it. Trips without a date are put on the first day, where it is known.
    """
    left_out = {}
    with whole_folder(folder) as draft:
        for kind in kinds:
            entry = MENU[kind]
            put_on = first_day if entry.dated and not is_dated(release.trips) else None
            file = draft / f"{name}_{kind}{entry.ending}"
            try:
                export(release, kind, file, put_on=put_on, feed=feed if entry.feed else None)
            except WayveilError as error:  # what the verdict calls noise, or what this release does not have
                left_out[kind] = str(error)
    return left_out
