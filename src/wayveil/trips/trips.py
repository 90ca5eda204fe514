"""`Trips`: a dataset of trips as flat columns."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import stretches
from wayveil.trips.history import AS_READ, MARKS_NAME, UNTOLD, History, marks_text
from wayveil.trips.trip_display import ROWS, STOPS, ShownRows, counted, described, html_table
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.trips.source_points import SourcePoints

# Earlier times have no date: they lie on the first day of the timeline, or in its first weeks.
UNDATED = 14 * 86_400
# Trips taken at a time.
PIECE = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Trips(ShownRows):
    """Trips over a public world. Trip i visits `location[offsets[i]:offsets[i + 1]]`.

    location  int32, index into `world.ids`, one per visit
    offsets   int64, number of trips + 1
    time      int64 seconds, one per visit, non-decreasing within a trip, on one timeline that begins at
              1970-01-01 00:00 local wall time; trips without a date live on its first day
    rider     int64 code, one per trip; -1 where a trip has no rider id
    rider_ids the id behind each code, as the file has it, where a reader kept it: for fingerprints, never for output
    history   what reading did to the trips, and the marks they carry (simulated, reconstructed, ...). A reader says it;
              trips of which nobody does count as if one row more could change all of a trip
    name      uint64, one per trip: how a file calls it, wherever it stands; without it, trips are called by rider and
              visits (see `identity`)
    weight    int64, one per trip, in whole parts of one: what it counts where units are bounded by weights
    source    the GPS points that trips were made of, where they were: for fingerprints, never for output. Of all rows
              that were read, whatever was taken of the trips since

    >>> small = wv.Trips.of_lists([[0, 1], [1, 2, 3]], city)
    >>> len(small), small.visits
    (2, 5)
    """

    location: NDArray[np.int32]
    offsets: NDArray[np.int64]
    world: World
    time: NDArray[np.int64] | None = None
    rider: NDArray[np.int64] | None = None
    history: History = UNTOLD
    rider_ids: pl.Series | None = None
    name: NDArray[np.uint64] | None = None
    source: "SourcePoints | None" = None
    weight: NDArray[np.int64] | None = None
    # The trips that a piece was taken from, and where it begins in them.
    _whole: ClassVar["tuple[Trips, int] | None"] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", np.ascontiguousarray(self.location, np.int32))
        object.__setattr__(self, "offsets", np.ascontiguousarray(self.offsets, np.int64))
        if len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.location):
            raise ValueError("offsets must run from 0 to the number of visits")
        if np.any(np.diff(self.offsets) < 0):
            raise ValueError("offsets must not decrease")
        if len(self.location) and not (self.location.min() >= 0 and self.location.max() < self.world.size):
            raise ValueError("a location lies outside the world")
        if self.time is not None:
            object.__setattr__(self, "time", np.ascontiguousarray(self.time, np.int64))
            if len(self.time) != len(self.location):
                raise ValueError("time needs one value per visit")
        if self.rider is not None:
            object.__setattr__(self, "rider", np.ascontiguousarray(self.rider, np.int64))
            if len(self.rider) != len(self):
                raise ValueError("rider needs one value per trip")
        if self.name is not None and len(self.name) != len(self):
            raise ValueError("name needs one value per trip")
        if self.weight is not None and len(self.weight) != len(self):
            raise ValueError("weight needs one value per trip")

    @classmethod
    def of_lists(cls, lists: list[list[int]], world: World, **columns: Any) -> "Trips":
        """Small datasets by hand: one list of location indices per trip, which is the trip as it is in the data."""
        columns.setdefault("history", AS_READ)
        offsets = np.concatenate([[0], np.cumsum([len(trip) for trip in lists])]).astype(np.int64)
        flat = [location for trip in lists for location in trip]
        return cls(np.asarray(flat, np.int32), offsets, world, **columns)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def visits(self) -> int:
        """Number of visits, all trips together."""
        return len(self.location)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Visits of each trip."""
        return np.diff(self.offsets)

    def names(self) -> NDArray[np.uint64]:
        """Return how each trip is called: nobody else's trips have a say in it."""
        return self._made_names if self.name is None else self.name

    @cached_property
    def _made_names(self) -> NDArray[np.uint64]:
        from wayveil.trips.identity import name_alike, name_riders

        if self._whole is not None:
            whole, first = self._whole
            return whole.names()[first : first + len(self)]
        riders = name_riders(self.rider, self.rider_ids, len(self))
        return name_alike(riders, self.location, self.time, self.offsets)

    def to_lists(self) -> list[list[int]]:
        """One list of location indices per trip, for small data and tests."""
        return [part.tolist() for part in np.split(self.location, self.offsets[1:-1])] if len(self) else []

    def take(self, index: NDArray[np.integer] | NDArray[np.bool_]) -> "Trips":
        """The trips at these positions (or where this mask is true), in that order."""
        index = np.flatnonzero(index) if index.dtype == np.bool_ else np.asarray(index, np.int64)
        lengths = self.lengths[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        location = np.empty(offsets[-1], np.int32)
        time = None if self.time is None else np.empty(offsets[-1], np.int64)
        # A piece at a time: positions of visits take twice the memory of the visits.
        for first in range(0, len(index), PIECE):
            piece = slice(first, min(first + PIECE, len(index)))
            visits = slice(offsets[piece.start], offsets[piece.stop])
            shift = np.repeat(self.offsets[index[piece]] - offsets[piece], lengths[piece])
            source = np.arange(visits.start, visits.stop) + shift
            location[visits] = self.location[source]
            if time is not None and self.time is not None:
                time[visits] = self.time[source]
        return replace(self, location=location, offsets=offsets, time=time, **self._of_trips(index))

    def _of_trips(self, index: Any) -> dict[str, Any]:
        """The columns that have a value per trip, at these trips."""
        columns = {"rider": self.rider, "name": self.name, "weight": self.weight}
        return {name: None if values is None else values[index] for name, values in columns.items()}

    def part(self, first: int, last: int) -> "Trips":
        """The trips first .. last - 1, as a view: a piece that is counted by itself."""
        visits = slice(self.offsets[first], self.offsets[last])
        columns = {
            "location": self.location[visits],
            "offsets": self.offsets[first : last + 1] - self.offsets[first],
            "time": None if self.time is None else self.time[visits],
            **self._of_trips(slice(first, last)),
            # Names are made for the whole, and only where something is chosen by them.
            "_whole": (self, first),
        }
        # What was checked as a whole need not be checked again: pieces are made at every count.
        piece = object.__new__(Trips)
        piece.__dict__.update(self.__dict__ | columns)
        piece.__dict__.pop("_made_names", None)
        return piece

    def head(self, trips: int = 5) -> "Trips":
        """The first few trips, for a look."""
        return self.take(np.arange(min(max(trips, 0), len(self))))

    def cut(self, length: int) -> "Trips":
        """Every trip cut after its first `length` visits: a rule per trip, so it costs no privacy."""
        return self._with_visits(*stretches(self.offsets[:-1], np.minimum(self.lengths, length)))

    def merged(self) -> "Trips":
        """Consecutive visits to the same location merged into the first of them (also a rule per trip).

        Where nobody charges for it, note it in the history: one visit more can move two (`history.MERGED`).
        """
        keep = np.ones(self.visits, bool)
        keep[1:] = self.location[1:] != self.location[:-1]
        starts = self.offsets[:-1]
        keep[starts[starts < self.visits]] = True
        return self.keep_visits(keep)

    def keep_visits(self, keep: NDArray[np.bool_]) -> "Trips":
        """Return the same trips without the visits where the mask is false; a trip may become empty."""
        if keep.all():
            return self
        offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        return self._with_visits(np.flatnonzero(keep), offsets)

    def without_times(self) -> "Trips":
        """Return the same trips as plain sequences."""
        return replace(self, time=None)

    def _with_visits(self, source: NDArray[np.int64], offsets: NDArray[np.int64]) -> "Trips":
        time = None if self.time is None else self.time[source]
        return replace(self, location=self.location[source], offsets=offsets, time=time)

    def later_visits(self) -> NDArray[np.int64]:
        """The positions of all visits but the first of each trip."""
        later = np.ones(self.visits + 1, bool)
        later[self.offsets] = False
        return np.flatnonzero(later)

    def pair_into(self, visit: NDArray[np.int64]) -> NDArray[np.int64]:
        """The move into each of these visits as one number: from x size + to."""
        return self.location[visit - 1] * np.int64(self.world.size) + self.location[visit]

    def trip_of_visit(self) -> NDArray[np.int64]:
        """The trip index of every visit."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def repeats(self) -> int:
        """Return how many visits are at a stop where their trip has been before."""
        stop = np.sort(self.trip_of_visit() * self.world.size + self.location)
        return int(np.count_nonzero(stop[1:] == stop[:-1]))

    def origins(self) -> NDArray[np.int32]:
        """First location of each trip, -1 for an empty one."""
        out = np.full(len(self), -1, np.int32)
        full = self.lengths > 0
        out[full] = self.location[self.offsets[:-1][full]]
        return out

    def destinations(self) -> NDArray[np.int32]:
        """Last location of each trip, -1 for an empty one."""
        out = np.full(len(self), -1, np.int32)
        full = self.lengths > 0
        out[full] = self.location[self.offsets[1:][full] - 1]
        return out

    def fingerprint(self) -> str:
        """SHA-256 of the trips, their riders and their world."""
        digest = hashlib.sha256(self.world.fingerprint().encode())
        for column in (self.location, self.offsets, self.time, self.rider):
            digest.update(b"-" if column is None else column.tobytes())
        return digest.hexdigest()

    def describe(self) -> dict[str, object]:
        """Exact facts about the raw data, for the data holder's eyes only."""
        lengths = self.lengths
        facts: dict[str, object] = {
            "trips": len(self),
            "visits": self.visits,
            "mean_length": round(float(lengths.mean()), 2) if len(self) else 0.0,
            "max_length": int(lengths.max()) if len(self) else 0,
            "distinct_locations": len(np.unique(self.location)),
        }
        if self.rider is not None:
            known = self.rider[self.rider >= 0]
            facts["riders"] = len(np.unique(known))
            facts["trips_without_rider"] = int((self.rider < 0).sum())
        if self.time is not None and self.visits:
            facts["first_time"], facts["last_time"] = (
                _say_moment(int(moment), dated=int(self.time.max()) >= UNDATED)
                for moment in (self.time.min(), self.time.max())
            )
        return facts

    def visit_rows(self, *, riders: bool = True, first_trip: int = 1) -> pl.LazyFrame:
        """One row per visit, lazily, so that text is made a piece at a time while a file is written."""
        stop = pl.col("stop_id").replace_strict(
            np.arange(self.world.size, dtype=np.int32), self.world.ids.tolist(), return_dtype=pl.String
        )
        columns: dict[str, NDArray[np.generic]] = {
            "trip_id": np.repeat(np.arange(len(self), dtype=np.int32), self.lengths),
            "seq": (np.arange(self.visits) - np.repeat(self.offsets[:-1], self.lengths) + 1).astype(np.int32),
            "stop_id": self.location,
        }
        expressions = [pl.col("trip_id").cast(pl.Int64) + first_trip, pl.col("seq"), stop]
        if self.time is not None:
            columns["event_time"] = self.time
            expressions.append(pl.from_epoch("event_time", time_unit="s").cast(pl.Datetime("us")))
        if riders and self.rider is not None:
            columns["rider_id"] = np.repeat(self.rider, self.lengths)
            expressions.append(pl.when(pl.col("rider_id") >= 0).then("rider_id"))
        mark = marks_text(self.history)
        if mark is not None:
            expressions.append(pl.lit(mark).alias(MARKS_NAME))
        return pl.LazyFrame(columns).select(expressions)

    def to_polars(self) -> pl.DataFrame:
        """One row per visit, as `read_trips` reads them: trip_id, seq, stop_id, event_time, rider_id."""
        return self.visit_rows().collect()

    def _line(self) -> str:
        columns = [name for name in ("time", "rider") if getattr(self, name) is not None]
        return (
            f"{counted(len(self), 'trip')}, {counted(self.visits, 'visit')} over "
            f"{counted(self.world.size, 'location')}, {described([f'{name}s' for name in columns], self.history)}"
        )

    def _repr_html_(self) -> str:
        first = self.head(ROWS)
        header = ["trip", "visits", *(["begins"] if self.time is not None else []), "stops"]
        rows = []
        for number, (start, end) in enumerate(pairwise(first.offsets.tolist()), 1):
            stops = " → ".join(self.world.ids[first.location[start : min(end, start + STOPS)]].tolist())
            begins = []
            if first.time is not None:
                moment = str(np.datetime64(int(first.time[start]), "s")) if end > start else ""
                begins = [moment.replace("T", " ")]
            more = " → …" if end - start > STOPS else ""
            rows.append([str(number), f"{end - start:,}", *begins, stops + more])
        return html_table(self._line(), header, rows, len(self) - len(first))


def _say_moment(seconds: int, *, dated: bool) -> str:
    """A date with a time, or the time of day alone where nobody wrote a date; after midnight it goes on past 24."""
    if dated:
        return str(np.datetime64(seconds, "s"))
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
