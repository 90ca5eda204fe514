"""TIDES `station_activities`: per service date, stop and period, who came in and who went out."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.answers.trip_periods import has_weekdays_only, is_dated
from wayveil.arrays import Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.exports.parts import date_of, moment, texts, times_of
from wayveil.world.timebins import DAY, TimeBins

HOURS: Final = TimeBins.hour_of_day()
# TIDES v1.0; columns that we have no data for stay empty.
STATION_ACTIVITIES: Final = (
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


def station_activities(release: JudgedRelease, bins: TimeBins = HOURS) -> pl.DataFrame:
    """The table of a release.

    Where visits are taps, every one is an entry and a transaction, and nothing is known of exits. Otherwise a trip
    enters at its first visit and leaves at its last. Trips without a date have no service date, and their periods are
    times of the clock; `put_on_date` gives them one.
    """
    trips, taps = release.trips, release.visits_are_taps
    time = times_of(trips)
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
    start, end = _period(table["day"].to_numpy(), table["bin"].to_numpy(), bins)
    day = date_of(table["day"].to_numpy())
    if not dated:
        start, end = start.str.slice(11), end.str.slice(11).replace("00:00:00", "24:00:00")
        day = pl.Series([None] * len(day), dtype=pl.Date)
    given = pl.DataFrame(
        {
            "service_date": day,
            "stop_id": texts(trips.world.ids[table["stop"].to_numpy()]),
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


def write_station_activities(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv."""
    write_csv(station_activities(release, bins), out)
    return [out]


def _activity(location: Int32s, time: Ints, bins: TimeBins, name: str) -> pl.DataFrame:
    rows = {"day": time // DAY, "bin": bins.bin_of(time).astype(np.int64), "stop": location.astype(np.int64)}
    return pl.DataFrame(rows).group_by("day", "bin", "stop").agg(pl.len().cast(pl.Int64).alias(name))


def _period(day: Ints, bin_: Ints, bins: TimeBins) -> tuple[pl.Series, pl.Series]:
    """Start and end of each period as moments of the timeline; weekly bins are taken within their day."""
    start = day * DAY + bins.start[bin_] % DAY
    return moment(start), moment(start + bins.end[bin_] - bins.start[bin_])
