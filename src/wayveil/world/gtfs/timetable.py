"""`Timetable`: which vehicles run on which day and hour, and which run leaves a stop next."""

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.arrays import Int32s, Ints, Mask
from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.world.gtfs.calls import Calls, frequent_runs, read_calls
from wayveil.world.gtfs.feed_stops import read_locations
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.gtfs.service import covered_dates, services_on
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR


@dataclass(frozen=True, eq=False)
class Timetable:
    """The runs of a feed over the places of a network.

    trips     trip_id, route_id, service_id; `calls.trip` are its rows
    stop_ids  of each call, as the feed has it
    place     the location of each call in the network, -1 outside it: the feed may be of another period or area
    """

    feed: Feed
    trips: pl.DataFrame
    calls: Calls
    stop_ids: pl.Series
    place: Ints
    _running: dict[int, Mask] = field(default_factory=dict)

    @cached_property
    def covered(self) -> tuple[str, str] | None:
        """First and last date of the calendars; None: the feed has none, and every trip runs every day."""
        return covered_dates(self.feed)

    def covers(self, day: int) -> bool:
        """Tell whether the calendars tell what runs on a day (days since 1970)."""
        return self.covered is None or self.covered[0] <= str(_date(day)) <= self.covered[1]

    def running(self, day: int) -> Mask:
        """Which trips run on a day; all of them where the calendars do not say."""
        if day not in self._running:
            if self.covered is None or not self.covers(day):
                self._running[day] = np.ones(len(self.trips), bool)
            else:
                services = services_on(self.feed, _date(day))
                self._running[day] = self.trips["service_id"].is_in(services.implode()).to_numpy()
        return self._running[day]

    def next_calls(self, day: int, place: Ints, second: Ints, *, leaving: bool) -> tuple[Ints, Mask]:
        """The call of the first run that leaves (or reaches) each place at or after a second of the day.

        After the last run of the day it is that last one. Where none stops there on that day, it is one of another day,
        and where no run ever leaves (or reaches) the place, one that stops there at all; -1 where there is none. Also
        whether it runs on the day.
        """
        calls, runs = self.calls, self.running(day)[self.calls.trip]
        same = calls.trip[1:] == calls.trip[:-1]
        # Nobody boards at the last call of a run or alights at the first.
        inner = np.append(same, False) if leaving else np.append(False, same)
        at = calls.departure if leaving else calls.arrival
        timed = (self.place >= 0) & (at >= 0)
        found = self._soonest(timed & inner & runs, at, place, second)
        scheduled = found >= 0
        for usable in (timed & inner, timed):
            lost = np.flatnonzero(found < 0)
            if len(lost):
                found[lost] = self._soonest(usable, at, place[lost], second[lost])
        return found, scheduled

    def _soonest(self, usable: Mask, at: Int32s, place: Ints, second: Ints) -> Ints:
        """Among some calls, the first at or after a second, or else the last one before it; -1 without any."""
        among = np.flatnonzero(usable)
        if len(among) == 0:
            return np.full(len(place), -1, np.int64)
        key = self.place[among] * DAY + at[among] % DAY
        order = np.argsort(key, kind="stable")
        among, key = among[order], key[order]
        found = np.searchsorted(key, place * DAY + second)
        later, earlier = np.minimum(found, len(key) - 1), np.maximum(found - 1, 0)
        after = (found < len(key)) & (key[later] // DAY == place)
        before = (found > 0) & (key[earlier] // DAY == place)
        return np.where(after, among[later], np.where(before, among[earlier], -1))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """`trip`, `hour` of the clock and `runs`: the share of the calls of a run that lie in the hour.

        So the hours of a run add up to one. A trip of frequencies.txt runs as often as its headways say.
        """
        hours = self._moves.group_by("trip", "hour").agg(pl.len().alias("calls"))
        share = pl.col("calls") / pl.col("calls").sum().over("trip")
        often = frequent_runs(self.feed, self.trips)
        once = hours.join(often, on="trip", how="anti").select("trip", "hour", runs=share)
        return pl.concat([once, often.select("trip", "hour", "runs")], how="vertical_relaxed")

    @cached_property
    def runs_over_edges(self) -> pl.DataFrame:
        """`trip`, `source` and `target` (places of the network), `hour` and `runs` from the one to the other."""
        inside = self._moves.filter((pl.col("source") >= 0) & (pl.col("target") >= 0))
        often = frequent_runs(self.feed, self.trips)
        once = inside.join(often, on="trip", how="anti").with_columns(runs=pl.lit(1.0))
        many = inside.drop("hour").join(often, on="trip")
        columns = ["trip", "source", "target", "hour", "runs"]
        return pl.concat([once.select(columns), many.select(columns)], how="vertical_relaxed")

    @cached_property
    def _moves(self) -> pl.DataFrame:
        """Every departure of a run to its next call, with the hour of the clock."""
        calls = self.calls
        on = np.flatnonzero((calls.trip[1:] == calls.trip[:-1]) & (calls.departure[:-1] >= 0))
        return pl.DataFrame(
            {
                "trip": calls.trip[on],
                "source": self.place[on],
                "target": self.place[on + 1],
                "hour": (calls.departure[on] // HOUR % 24).astype(np.int64),
            }
        )

    def describe_calls(self, call: Ints) -> pl.DataFrame:
        """trip_id, stop_id and stop_sequence of these calls, as the feed has them."""
        trip = self.trips["trip_id"].gather(self.calls.trip[call])
        return pl.DataFrame(
            {
                "trip_id": trip,
                "stop_id": self.stop_ids.gather(call),
                "stop_sequence": pl.Series(self.calls.sequence[call]),
            }
        )


def read_timetable(path: str | Path, world: Network) -> Timetable:
    """The timetable of a feed (zip or folder) over the places of a network."""
    path = Path(path)
    if not (path.is_dir() or path.suffix.lower() == ".zip"):
        raise ParameterError(f"{path} is no GTFS feed: a timetable is a zip file or a folder of tables")
    with step("reading the timetable"):
        feed = Feed(path)
        columns = ["trip_id", "route_id", "service_id"]
        trips = feed.read_small("trips", columns).filter(pl.col("trip_id").is_not_null())
        trips = trips.unique("trip_id", keep="first", maintain_order=True)
        if trips.is_empty():
            raise InputError("trips.txt has no trip in it", file=feed.path)
        calls = read_calls(feed, trips, read_locations(feed, stations=False))
        named = feed.read("stop_times", ["stop_id"])["stop_id"].str.strip_chars().gather(calls.row)
    return Timetable(feed, trips, calls, named, world.index_of(named).astype(np.int64))


def _date(day: int) -> date:
    return date.fromordinal(date(1970, 1, 1).toordinal() + day)
