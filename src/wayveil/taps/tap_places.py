"""Where taps happened: stop ids or coordinates, matched with the locations of the world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from wayveil.arrays import Mask
from wayveil.errors import ParameterError
from wayveil.trips.matching import find_stops
from wayveil.world.geo import haversine, project
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.world import World

STOP_REACH_METRES = 500.0


@dataclass(frozen=True)
class MatchedPlaces:
    """The location of every row (-1: none), and why it has none. Each row is matched by itself."""

    location: NDArray[np.int32]
    missing: Mask
    inactive: Mask
    outside: Mask
    named: str
    say: Callable[[int], str]

    @classmethod
    def of(
        cls, text: Mapping[str, pl.Series], world: World, everywhere: World | None, reach: float | None
    ) -> "MatchedPlaces":
        """By stop id where there is one, else by coordinates, at most `reach` metres away (None: see `reach_of`)."""
        if "stop_id" not in text:
            return _by_coordinates(text, world, reach_of(world) if reach is None else reach)
        stop = text["stop_id"]
        location = find_stops(stop.fill_null(""), world)
        missing = stop.is_null().to_numpy()
        location = np.where(missing, -1, location).astype(np.int32)
        unknown = (location < 0) & ~missing
        inactive = np.zeros(len(stop), bool)
        if everywhere is not None:
            inactive = unknown & (find_stops(stop.fill_null(""), everywhere) >= 0)
        return cls(
            location, missing, inactive, unknown & ~inactive, "stop", lambda row: f"stop {stop[row]!r}"
        )


def reach_of(world: World) -> float:
    """How far from a location a tap may be, in metres; on a grid, as far as the corner of a cell and a little more."""
    return 0.75 * world.layout.longer_side if isinstance(world, Grid) else STOP_REACH_METRES


def _by_coordinates(text: Mapping[str, pl.Series], world: World, reach: float) -> MatchedPlaces:
    if not isinstance(world, Network):
        raise ParameterError(
            "taps with coordinates need a world that has coordinates: a network or a grid of cells"
        )
    lat, lon = (
        text[name].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        for name in ("lat", "lon")
    )
    # 0, 0 lies in the sea off Ghana and is what devices without a fix report.
    missing = ~(np.isfinite(lat) & np.isfinite(lon)) | ((lat == 0) & (lon == 0))
    origin = (float(world.lat.mean()), float(world.lon.mean()))
    tree = scipy.spatial.cKDTree(np.column_stack(project(world.lat, world.lon, origin=origin)))
    points = np.column_stack(project(np.where(missing, 0, lat), np.where(missing, 0, lon), origin=origin))
    nearest = np.asarray(tree.query(points)[1], np.int32)
    away = haversine(lat, lon, world.lat[nearest], world.lon[nearest])
    outside = ~missing & ~(away <= reach)
    location = np.where(missing | outside, -1, nearest).astype(np.int32)
    return MatchedPlaces(
        location,
        missing,
        np.zeros(len(lat), bool),
        outside,
        "coordinates",
        lambda row: f"({lat[row]:.4f}, {lon[row]:.4f})",
    )
