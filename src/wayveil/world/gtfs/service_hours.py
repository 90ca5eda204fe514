"""How many vehicles leave each location in each hour of the day: what a feed tells about when and where people ride."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.world.gtfs.calls import Calls
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.gtfs.service import seconds_of

HOURS = 24


def service_by_hour(
    feed: Feed, trips: pl.DataFrame, calls: Calls, keep: NDArray[np.int32], locations: int
) -> NDArray[np.int64]:
    """Departures per location in `keep` (ascending) and hour of the clock.

    A trip of frequencies.txt leaves as often as its headways say, in their hours; the times of its calls are only an
    example.
    """
    index = np.full(locations, -1, np.int64)
    index[keep] = np.arange(len(keep))
    place = index[calls.location]
    # Nobody boards at the last call of a vehicle.
    leaves = np.append(calls.trip[1:] == calls.trip[:-1], False) & (place >= 0)
    table = pl.DataFrame({"trip": calls.trip[leaves], "place": place[leaves], "at": calls.departure[leaves]})
    often = frequent_runs(feed, trips)
    once = table.join(often, on="trip", how="anti").filter(pl.col("at") >= 0)
    found = [once.select("place", hour=pl.col("at") // 3_600 % HOURS, runs=pl.lit(1.0))]
    if often.height:
        found.append(table.join(often, on="trip").select("place", "hour", "runs"))
    counted = pl.concat(found, how="vertical_relaxed").group_by("place", "hour").agg(pl.col("runs").sum())
    service = np.zeros((len(keep), HOURS))
    service[counted["place"].to_numpy(), counted["hour"].to_numpy()] = counted["runs"].to_numpy()
    return np.rint(service).astype(np.int64)


def frequent_runs(feed: Feed, trips: pl.DataFrame) -> pl.DataFrame:
    """Runs by hour of the trips of frequencies.txt, by their row in the table of trips."""
    empty = pl.DataFrame(schema={"trip": pl.Int32, "hour": pl.Int64, "runs": pl.Float64})
    if not feed.has("frequencies"):
        return empty
    table = feed.read_small("frequencies", ["trip_id", "start_time", "end_time", "headway_secs"])
    spans = table.select(
        "trip_id",
        start=seconds_of(pl.col("start_time")),
        end=seconds_of(pl.col("end_time")),
        headway=pl.col("headway_secs").cast(pl.Int64, strict=False),
    ).filter((pl.col("end") > pl.col("start")) & (pl.col("headway") > 0))
    if spans.is_empty():
        return empty
    hours = spans.with_columns(
        hour=pl.int_ranges(pl.col("start") // 3_600, (pl.col("end") - 1) // 3_600 + 1)
    ).explode("hour")
    inside = pl.min_horizontal("end", (pl.col("hour") + 1) * 3_600) - pl.max_horizontal(
        "start", pl.col("hour") * 3_600
    )
    row = trips.select("trip_id", trip=pl.int_range(pl.len(), dtype=pl.Int32))
    return (
        hours.select("trip_id", hour=pl.col("hour") % HOURS, runs=inside / pl.col("headway"))
        .join(row, on="trip_id")
        .group_by("trip", "hour")
        .agg(pl.col("runs").sum())
    )
