"""Where taps happened: stop ids or coordinates, matched with the locations of the world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Mask
from wayveil.errors import ParameterError
from wayveil.trips.matching import find_stops
from wayveil.world.locating import locate
from wayveil.world.network import Network
from wayveil.world.world import World


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
        """By stop id where there is one, else by coordinates, at most `reach` metres away (None: see `locating`)."""
        if "stop_id" not in text:
            return _by_coordinates(text, world, reach)
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


def _by_coordinates(text: Mapping[str, pl.Series], world: World, reach: float | None) -> MatchedPlaces:
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
    location = locate(world, lat, lon, reach)
    outside = ~missing & (location < 0)
    return MatchedPlaces(
        location,
        missing,
        np.zeros(len(lat), bool),
        outside,
        "coordinates",
        lambda row: f"({lat[row]:.4f}, {lon[row]:.4f})",
    )
