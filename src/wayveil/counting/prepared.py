"""Bounded trips on disk, as plain columns that are read back a piece at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.world import World


@dataclass(frozen=True)
class _Piece:
    """Where a piece begins, in trips and visits, and how much it holds."""

    first_trip: int
    trips: int
    first_visit: int
    visits: int


class PreparedTrips:
    """Trips after rule and bound. Written once, in any order; then read as often as something is counted.

    Places take two bytes where the world is small. A piece of trips that were cut away entirely is not written.
    """

    def __init__(self, folder: Path, world: World, *, timed: bool, weighted: bool = False) -> None:
        self.world, self.timed, self.weighted = world, timed, weighted
        self._kinds: dict[str, np.dtype[np.generic]] = {
            "location": np.dtype(np.uint16 if world.size <= 1 << 16 else np.int32),
            "length": np.dtype(np.int32),
            "name": np.dtype(np.uint64),
        }
        if timed:
            self._kinds["time"] = np.dtype(np.int64)
        if weighted:
            self._kinds["weight"] = np.dtype(np.int32)
        self._paths = {name: folder / f"{name}.column" for name in self._kinds}
        self._files = {name: path.open("wb", buffering=0) for name, path in self._paths.items()}
        self._pieces: list[_Piece] = []
        self._lock = Lock()
        self.trips = self.visits = 0

    @staticmethod
    def bytes_for(rows: int, timed: bool) -> int:
        """At most so many bytes for so many visits."""
        return rows * (4 + 8 * timed + 16)

    def add(self, trips: Trips) -> None:
        """Write a piece behind the others."""
        columns: dict[str, NDArray[np.generic]] = {
            "location": trips.location,
            "length": trips.lengths,
            "name": trips.names(),
        }
        if self.timed and trips.time is not None:
            columns["time"] = trips.time
        if self.weighted and trips.weight is not None:
            columns["weight"] = trips.weight
        packed = {name: column.astype(self._kinds[name]) for name, column in columns.items()}
        with self._lock:
            for name, column in packed.items():
                _write_whole(self._files[name], column)
            self._pieces.append(_Piece(self.trips, len(trips), self.visits, trips.visits))
            self.trips += len(trips)
            self.visits += trips.visits

    def finish(self) -> None:
        """No more pieces come."""
        for file in self._files.values():
            file.close()

    def pieces(self, visits: int) -> Iterator[Trips]:
        """The trips in pieces of at least so many visits, made of those that were written."""
        waiting: list[_Piece] = []
        for piece in self._pieces:
            waiting.append(piece)
            if sum(each.visits for each in waiting) >= visits:
                yield self._read(waiting)
                waiting = []
        if waiting:
            yield self._read(waiting)

    def _read(self, pieces: list[_Piece]) -> Trips:
        first, trips = pieces[0], sum(piece.trips for piece in pieces)
        visits = sum(piece.visits for piece in pieces)
        lengths = self._column("length", first.first_trip, trips)
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return Trips(
            self._column("location", first.first_visit, visits).astype(np.int32),
            offsets,
            self.world,
            self._column("time", first.first_visit, visits) if self.timed else None,
            name=self._column("name", first.first_trip, trips),
            weight=self._column("weight", first.first_trip, trips).astype(np.int64)
            if self.weighted
            else None,
        )

    def _column(self, name: str, first: int, count: int) -> NDArray[Any]:
        kind = self._kinds[name]
        return np.fromfile(self._paths[name], kind, count, offset=first * kind.itemsize)


def _write_whole(file, column: NDArray[np.generic]) -> None:  # type: ignore[no-untyped-def]
    """All bytes or an error: an unbuffered file may take fewer than it is given when the disk is nearly full."""
    view = memoryview(np.ascontiguousarray(column).view(np.uint8).data)
    while len(view):
        view = view[file.write(view) :]
