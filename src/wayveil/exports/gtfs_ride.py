"""GTFS-ride (1.2): who boarded and alighted which run, ridership, synthetic riders, and what describes them.

A released trip boards once, at its first stop, and alights once, at its last; changes between lines are not boardings
here, so that all formats of a release have the same total. Which run it boards is not in the release: it is the next
one that leaves that stop by the timetable, and `source` says 3, model estimation. Where none stops there on the day, it
is a run of another day, and `schedule_relationship` says 5, an added run. Where visits are taps, every tap
boards, and where people alight is left empty.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import defuse
from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.exports.parts import date_of, dates_of, network_of_trips, texts
from wayveil.trips.trips import Trips
from wayveil.world.gtfs.timetable import Timetable, read_timetable
from wayveil.world.timebins import DAY, TimeBins

COMPLETE_COUNT: Final = 0
SCHEDULED, ADDED = 0, 5
MODEL_ESTIMATION: Final = 3
ALL_THREE_FILES: Final = 6
FEED_WANTED: Final = (
    "GTFS-ride names runs of the timetable: give the feed (a GTFS zip or folder) with --feed, or as --world"
)


def write_gtfs_ride(
    release: JudgedRelease, out: Path, bins: TimeBins, *, feed: str | Path | None = None
) -> list[Path]:
    """A folder with four files, to be zipped together with the files of the feed."""
    if feed is None:
        raise ParameterError(FEED_WANTED)
    trips = release.trips
    dates_of(trips)
    timetable = read_timetable(feed, network_of_trips(trips))
    full = trips.lengths > 0
    first, last = trips.offsets[:-1][full], trips.offsets[1:][full] - 1
    boarding = np.arange(trips.visits) if release.visits_are_taps else first
    alighting = None if release.visits_are_taps else last
    tables = {
        "board_alight.txt": board_alight(trips, timetable, boarding, alighting),
        "ridership.txt": ridership(trips, boarding, alighting),
        "rider_trip.txt": rider_trip(trips, boarding, alighting),
        "ride_feed_info.txt": ride_feed_info(trips),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        defuse(table).write_csv(out / name)
    return [out / name for name in tables]


def board_alight(trips: Trips, timetable: Timetable, boarding: Ints, alighting: Ints | None) -> pl.DataFrame:
    """Boardings and alightings per run, stop and service date."""
    keys = ["day", "call", "scheduled"]
    sides = {"boardings": boarding, **({} if alighting is None else {"alightings": alighting})}
    table = None
    for name, visits in sides.items():
        day, call, scheduled = _next_calls(trips, timetable, visits, leaving=name == "boardings")
        counted = (
            pl.DataFrame({"day": day, "call": call, "scheduled": scheduled})
            .filter(pl.col("call") >= 0)
            .group_by(keys)
            .agg(pl.len().cast(pl.Int64).alias(name))
        )
        table = counted if table is None else table.join(counted, on=keys, how="full", coalesce=True)
    assert table is not None
    table = table.with_columns(pl.col(*sides).fill_null(0)).sort("day", "call")
    call = table["call"].to_numpy()
    made = timetable.describe_calls(call).with_columns(
        record_use=pl.lit(COMPLETE_COUNT),
        schedule_relationship=pl.when(table["scheduled"]).then(SCHEDULED).otherwise(ADDED),
        **{name: table[name] for name in sides},
        service_date=_stamp(table["day"].to_numpy()),
        source=pl.lit(MODEL_ESTIMATION),
    )
    if alighting is None:
        made = made.with_columns(alightings=pl.lit(None, pl.Int64))
    order = ("schedule_relationship", "boardings", "alightings", "service_date", "source")
    return made.select("trip_id", "stop_id", "stop_sequence", "record_use", *order)


def ridership(trips: Trips, boarding: Ints, alighting: Ints | None) -> pl.DataFrame:
    """All of it in the first row; then every stop that somebody boards or alights at.

    Whoever boards alights somewhere, so the first row has as many alightings as boardings.
    """
    world, size = trips.world, trips.world.size
    on = np.bincount(trips.location[boarding], minlength=size)
    off = (
        np.zeros(size, np.int64)
        if alighting is None
        else np.bincount(trips.location[alighting], minlength=size)
    )
    used = np.flatnonzero(on + off)
    start, end = _dates(trips)
    alighted: list[int | None] = [None] * len(used) if alighting is None else off[used].tolist()
    return pl.DataFrame(
        {
            "total_boardings": pl.Series([int(on.sum()), *on[used].tolist()], dtype=pl.Int64),
            "total_alightings": pl.Series([int(on.sum()), *alighted], dtype=pl.Int64),
            "stop_id": pl.Series([None, *world.ids[used].tolist()], dtype=pl.String),
        }
    ).select(
        "total_boardings",
        "total_alightings",
        ridership_start_date=pl.lit(start),
        ridership_end_date=pl.lit(end),
        stop_id="stop_id",
    )


def rider_trip(trips: Trips, boarding: Ints, alighting: Ints | None) -> pl.DataFrame:
    """One synthetic rider per boarding, numbered by time: nothing links two of them."""
    time = dates_of(trips)
    order = np.lexsort((trips.location[boarding], time[boarding]))
    one = boarding[order]
    table = pl.DataFrame(
        {
            "rider_id": pl.Series([f"synthetic-{at}" for at in range(1, len(one) + 1)], dtype=pl.String),
            "boarding_stop_id": texts(trips.world.ids[trips.location[one]]),
            "service_date": _stamp(time[one] // DAY),
            "boarding_time": _clock(time[one]),
        }
    )
    if alighting is None:
        nothing = pl.lit(None, pl.String)
        table = table.with_columns(alighting_stop_id=nothing, alighting_time=nothing)
    else:
        other = alighting[order]
        # The clock of the service day goes on after midnight.
        table = table.with_columns(
            alighting_stop_id=texts(trips.world.ids[trips.location[other]]),
            alighting_time=_clock(time[other], time[one] // DAY),
        )
    columns = ("boarding_stop_id", "alighting_stop_id", "service_date", "boarding_time", "alighting_time")
    return table.select("rider_id", *columns)


def ride_feed_info(trips: Trips) -> pl.DataFrame:
    """Which files there are, and which days they are about."""
    start, end = _dates(trips)
    return pl.DataFrame({"ride_files": [ALL_THREE_FILES], "ride_start_date": [start], "ride_end_date": [end]})


def _next_calls(trips: Trips, timetable: Timetable, visits: Ints, *, leaving: bool) -> tuple[Ints, Ints, Any]:
    """Of each of these visits the day, the call of the run that it boards or alights, and whether that runs then."""
    time, place = dates_of(trips)[visits], trips.location[visits].astype(np.int64)
    day = time // DAY
    call, scheduled = np.full(len(visits), -1, np.int64), np.ones(len(visits), bool)
    for each in np.unique(day):
        here = np.flatnonzero(day == each)
        call[here], scheduled[here] = timetable.next_calls(
            int(each), place[here], time[here] % DAY, leaving=leaving
        )
    return day, call, scheduled


def _dates(trips: Trips) -> tuple[str, str]:
    day = dates_of(trips) // DAY
    if len(day) == 0:
        raise ParameterError("this release has no trips, so there is no period to write of")
    return tuple(_stamp(np.array([day.min(), day.max()])).to_list())


def _stamp(day: Ints) -> pl.Series:
    return date_of(day).dt.strftime("%Y%m%d")


def _clock(time: Ints, day: Ints | None = None) -> pl.Series:
    second = time % DAY if day is None else time - day * DAY
    parts = [
        pl.Series(part).cast(pl.String).str.zfill(2)
        for part in (second // 3600, second // 60 % 60, second % 60)
    ]
    return pl.select(pl.concat_str(*parts, separator=":")).to_series()
