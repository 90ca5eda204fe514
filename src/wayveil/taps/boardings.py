"""Where and when one can board: the public cells in which taps are counted."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import Stored, World

HOURS: Final = 24


class Boardings(World):
    """The public places to board: every stop with every route that serves it, and with no known route.

    A derived world whose locations are pairs, so that taps with routes can be counted like any visits.
    """

    def __init__(self, network: Network) -> None:
        routes = len(network.route_ids)
        edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
        ends = np.concatenate([network.sources[edge], network.indices[edge]]).astype(np.int64)
        served = ends * (routes + 1) + np.concatenate([network.route, network.route])
        unknown = np.arange(network.size, dtype=np.int64) * (routes + 1) + routes
        self.pairs = np.unique(np.concatenate([served, unknown]))
        self.network = network
        self.stop, self.route = np.divmod(self.pairs, routes + 1)
        super().__init__([f"{pair:012d}" for pair in self.pairs.tolist()])

    def of(self, taps: Taps) -> Trips:
        """Every tap as a trip of one visit. A route that does not serve the stop counts as unknown."""
        routes = len(self.network.route_ids)
        route = (
            np.full(len(taps), routes) if taps.route is None else np.where(taps.route < 0, routes, taps.route)
        )
        stop = taps.location.astype(np.int64) * (routes + 1)
        at = np.searchsorted(self.pairs, stop + route)
        found = self.pairs[np.minimum(at, len(self.pairs) - 1)] == stop + route
        at = np.where(found, at, np.searchsorted(self.pairs, stop + routes))
        single = np.arange(len(taps) + 1)
        return Trips(at.astype(np.int32), single, self, taps.time, history=taps.history)

    def stored(self) -> Stored:
        """Arrays of the network that it is derived from."""
        return self.network.stored()

    @classmethod
    def restored(cls, stored: Stored) -> "Boardings":
        """The places to board of the network that `stored` gave."""
        return cls(Network.restored(stored))

    def _public_arrays(self) -> list[NDArray[np.generic]]:
        return [self.pairs, *self.network._public_arrays()]

    def describe(self) -> dict[str, object]:
        return {**self.network.describe(), "stop and route pairs": self.size}


@dataclass(frozen=True, eq=False)
class Margin:
    """One histogram of taps: `code` of each place to board, times `slots` moments."""

    label: str
    code: NDArray[np.int64]
    slots: int
    first: int
    days: int
    width = 1

    @property
    def cells(self) -> int:
        """Count the cells."""
        return (int(self.code.max(initial=-1)) + 1) * self.slots

    def slot(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """The moment of a time (seconds), -1 outside the period."""
        day, second = np.divmod(time, DAY)
        slot = (day - self.first) * HOURS + second // HOUR
        return np.where((slot >= 0) & (slot < self.days * HOURS), slot % self.slots, -1)

    def encode(self, location: NDArray[np.int32], time: NDArray[np.int64] | None) -> list[NDArray[np.int32]]:
        """The cell of every visit, -1 outside the period."""
        if time is None:
            raise ParameterError("these trips have no times; counts by day and hour need a time column")
        slot = self.slot(time)
        return [np.where(slot < 0, -1, self.code[location] * self.slots + slot).astype(np.int32)]


@dataclass(frozen=True, eq=False)
class TapCells:
    """Stops, routes, and the hours of a public period (`days` days from the day number `first` on).

    On a world that knows no routes, every place is boarded by one unknown route.
    """

    world: World
    first: int
    days: int

    @property
    def places(self) -> World:
        """The world of the stops."""
        return self.world.network if isinstance(self.world, Boardings) else self.world

    @property
    def stop(self) -> NDArray[np.int64]:
        """The stop of each place to board."""
        return self.world.stop if isinstance(self.world, Boardings) else np.arange(self.world.size)

    @property
    def route(self) -> NDArray[np.int64]:
        """The route of each place to board, an index into `route_ids`."""
        if isinstance(self.world, Boardings):
            return self.world.route
        return np.zeros(self.world.size, np.int64)

    @property
    def route_ids(self) -> list[str | None]:
        """Routes; the last is the unknown one."""
        return [*(self.world.network.route_ids.tolist() if isinstance(self.world, Boardings) else []), None]

    @property
    def slots(self) -> int:
        """Hours of the period."""
        return self.days * HOURS

    def margins(self) -> tuple[Margin, Margin, Margin]:
        """The three histograms that tap margins are."""
        period = self.first, self.days
        return (
            Margin("taps by stop and route", np.arange(self.world.size), 1, *period),
            Margin("taps by route, day and hour", self.route, self.slots, *period),
            Margin("taps by stop and hour of day", self.stop, HOURS, *period),
        )
