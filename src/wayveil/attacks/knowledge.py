"""What trips hold, as sets of points: stops, or stops with the hour. Who knows some points looks them up here."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayveil.attacks.metric_paths import distinct_rows
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips

Ints = NDArray[np.int64]
Known = Literal["stop", "stop and hour"]
HOURS = 24


def point_of_visit(trips: Trips, known: Known) -> Ints:
    """The point of every visit as a number."""
    if known == "stop":
        return trips.location.astype(np.int64)
    if trips.time is None:
        raise ParameterError("somebody's hours can only be known where trips carry times; these carry none")
    return trips.location.astype(np.int64) * HOURS + (trips.time // 3600) % HOURS


def points(known: Known, size: int) -> int:
    """How many points there may be in a world of so many places."""
    return size if known == "stop" else size * HOURS


@dataclass(frozen=True, eq=False)
class PointSets:
    """The points of each row, ascending and without repeats: row i has `point[offsets[i]:offsets[i + 1]]`."""

    point: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, row: Ints, point: Ints, rows: int) -> "PointSets":
        """From pairs of row and point in any order."""
        order = np.lexsort((point, row))
        row, point = row[order], point[order]
        new = np.ones(len(row), bool)
        new[1:] = (row[1:] != row[:-1]) | (point[1:] != point[:-1])
        row, point = row[new], point[new]
        return cls(point, np.searchsorted(row, np.arange(rows + 1)).astype(np.int64))

    @classmethod
    def of_trips(cls, trips: Trips, known: Known) -> "PointSets":
        return cls.of(trips.trip_of_visit(), point_of_visit(trips, known), len(trips))

    def different(self) -> "PointSets":
        """Every set once."""
        first = np.sort(distinct_rows(self.point, self.offsets).first)
        lengths = np.diff(self.offsets)[first]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[first] - offsets[:-1], lengths)
        return PointSets(self.point[source], offsets)

    def postings(self, size: int) -> tuple[Ints, Ints]:
        """Which rows hold each point: those of point p are `rows[start[p]:start[p + 1]]`, ascending."""
        row = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        order = np.argsort(self.point, kind="stable")
        start = np.searchsorted(self.point[order], np.arange(size + 1)).astype(np.int64)
        return row[order].astype(np.int64), start
