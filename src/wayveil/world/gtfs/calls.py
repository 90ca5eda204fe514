"""The calls of vehicles at locations, in order: stop_times.txt with the gaps in its times filled."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.errors import InputError
from wayveil.world.geo import haversine
from wayveil.world.gtfs.feed_stops import Locations, lookup
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.gtfs.service import seconds_of

UNKNOWN = -1


@dataclass(frozen=True)
class Calls:
    """One row per call; the calls of a trip are together, by stop_sequence.

    `trip` is a row of the trips table, `location` a candidate location; `arrival` and `departure` are seconds
    of the service day (they pass 24:00:00), `UNKNOWN` where no timepoint around them gives any. `sequence` is
    the stop_sequence, and `row` the row of stop_times.txt.
    """

    trip: Int32s
    location: Int32s
    arrival: Int32s
    departure: Int32s
    sequence: Ints
    row: Ints


def read_calls(feed: Feed, trips: pl.DataFrame, locations: Locations, *, all_trips: bool = True) -> Calls:
    """Read stop_times.txt for the given trips; rows that cannot be used are dropped and counted.

    `all_trips` says that no trip was filtered out before: then a row of an unknown trip is worth a warning.
    """
    table = feed.read(
        "stop_times", ["trip_id", "stop_id", "stop_sequence"], ["arrival_time", "departure_time"]
    )
    if table.is_empty():
        raise InputError(
            "stop_times.txt has no row in it, so the feed says nothing of what runs where", file=feed.path
        )
    trip = lookup(table["trip_id"], trips["trip_id"], np.arange(len(trips), dtype=np.int32))
    location = locations.of(table["stop_id"])
    known = location >= 0
    known[known] = ~np.isnan(locations.lat[location[known]])
    _count_unusable(feed, table, trip >= 0, known)
    if all_trips:
        feed.warn(
            int(np.sum(trip < 0)), "row", "of stop_times.txt named a trip that is not in trips.txt: left out."
        )
    kept = np.flatnonzero((trip >= 0) & known)
    if len(kept) == 0:
        raise InputError("no row of stop_times.txt names a trip and a stop that the feed has", file=feed.path)
    whole = len(kept) == len(table)
    table = table if whole else table[kept]
    trip, location = trip[kept], location[kept]
    sequence = _sequence(feed, table, kept)
    arrival = _times(feed, table, "arrival_time", kept)
    departure = _times(feed, table, "departure_time", kept)

    order = _order(trip, sequence)
    if order is not None:
        trip, location, sequence, kept = trip[order], location[order], sequence[order], kept[order]
        arrival, departure = arrival[order], departure[order]
    repeats = int(np.sum((trip[1:] == trip[:-1]) & (sequence[1:] == sequence[:-1])))
    feed.warn(
        repeats,
        "row",
        "of stop_times.txt repeated a stop_sequence of its trip: the order of the file counts.",
    )
    arrival, departure = _fill(feed, trip, location, arrival, departure, locations)
    return Calls(trip, location, arrival, departure, sequence, kept)


def _count_unusable(feed: Feed, table: pl.DataFrame, in_trips: Mask, known: Mask) -> None:
    flex = (table["stop_id"].is_null() | (table["stop_id"] == "")).to_numpy() & in_trips
    feed.warn(flex.sum(), "row", "of stop_times.txt had no stop_id (flexible service): left out.")
    lost = int(np.sum(in_trips & ~flex & ~known))
    feed.warn(
        lost,
        "row",
        "of stop_times.txt named a stop that stops.txt does not have or does not place: left out.",
    )


def _sequence(feed: Feed, table: pl.DataFrame, row: Ints) -> Ints:
    column = table["stop_sequence"].str.strip_chars().cast(pl.Int64, strict=False)
    if column.null_count():
        at = int(column.is_null().arg_true()[0])
        raise InputError(
            f"stop_sequence {table['stop_sequence'][at]!r} is not a whole number",
            file=f"{feed.path}: stop_times.txt",
            row=int(row[at]) + 1,
        )
    return column.to_numpy()


def _times(feed: Feed, table: pl.DataFrame, column: str, row: Ints) -> Int32s:
    """Seconds of the service day, UNKNOWN where the field is blank."""
    distinct = pl.DataFrame({"text": table[column].unique()})
    parsed = distinct.with_columns(
        blank=pl.col("text").is_null() | (pl.col("text").str.strip_chars() == ""),
        seconds=seconds_of(pl.col("text")),
    )
    wrong = parsed.filter(pl.col("seconds").is_null() & ~pl.col("blank"))
    if not wrong.is_empty():
        at = int(table[column].is_in(wrong["text"].implode()).arg_true()[0])
        raise InputError(
            f"{column} {table[column][at]!r} is not a time like 08:15:00",
            file=f"{feed.path}: stop_times.txt",
            row=int(row[at]) + 1,
        )
    times = parsed.select("text", pl.col("seconds").cast(pl.Int32))
    joined = pl.DataFrame({"text": table[column]}).join(times, on="text", how="left", maintain_order="left")
    return joined["seconds"].fill_null(UNKNOWN).to_numpy().astype(np.int32, copy=False)


def _order(trip: Int32s, sequence: Ints) -> Ints | None:
    """The stable order by trip and stop_sequence, or none where the file already has it within each trip."""
    changes = trip[1:] != trip[:-1]
    in_one_piece = 1 + int(changes.sum()) == np.count_nonzero(np.bincount(trip))
    if in_one_piece and np.all(changes | (sequence[1:] >= sequence[:-1])):
        return None
    return np.lexsort((sequence, trip))


def _fill(
    feed: Feed, trip: Int32s, location: Int32s, arrival: Int32s, departure: Int32s, locations: Locations
) -> tuple[Int32s, Int32s]:
    """One time of a call stands for both; calls without any get one by distance between timepoints."""
    arrival, departure = (
        np.where(arrival == UNKNOWN, departure, arrival),
        np.where(departure == UNKNOWN, arrival, departure),
    )
    blank = int(np.sum(arrival == UNKNOWN))
    if blank == 0:
        return arrival, departure
    lat, lon = locations.lat[location], locations.lon[location]
    along = np.concatenate([[0.0], np.cumsum(haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]))])
    interpolate(trip, along, arrival, departure)
    left = int(np.sum(arrival == UNKNOWN))
    feed.warn(blank - left, "call", "had no time and got one between the nearest timepoints.")
    feed.warn(left, "call", "had no time and no timepoint on both sides.")
    return arrival, departure


@njit(cache=True)
def interpolate(trip: Int32s, along: Floats, arrival: Int32s, departure: Int32s) -> None:
    """Fill unknown times in place, by the metres (or calls, if nothing moves) between the known ones."""
    last = -1
    for i in range(len(trip)):
        if arrival[i] == UNKNOWN:
            continue
        if last >= 0 and trip[last] == trip[i] and last < i - 1:
            metres = along[i] - along[last]
            for k in range(last + 1, i):
                share = (along[k] - along[last]) / metres if metres > 0 else (k - last) / (i - last)
                arrival[k] = departure[k] = round(departure[last] + share * (arrival[i] - departure[last]))
        last = i


HOURS = 24


def service_by_hour(feed: Feed, trips: pl.DataFrame, calls: Calls, keep: Int32s, locations: int) -> Ints:
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
