"""Distances and boxes on the globe. Degrees are WGS 84 (latitude, longitude); lengths are metres."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from wayveil.arrays import Floats, Int32s, Mask
from wayveil.errors import ParameterError

EARTH_RADIUS_METRES = 6_371_008.8


def haversine(lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike) -> Floats:
    """Great-circle distance in metres; the arguments broadcast like any numpy operands."""
    phi1, lambda1, phi2, lambda2 = (np.radians(np.asarray(x, np.float64)) for x in (lat1, lon1, lat2, lon2))
    half = np.sin((phi2 - phi1) / 2) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin((lambda2 - lambda1) / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(np.clip(half, 0, 1))))


def project(
    lat: ArrayLike, lon: ArrayLike, *, origin: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """East and north of an origin (default: the mean) in metres, good to a few metres within a city."""
    lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
    lat0, lon0 = (float(lat.mean()), float(lon.mean())) if origin is None else origin
    metres_per_degree = EARTH_RADIUS_METRES * np.pi / 180
    return (lon - lon0) * metres_per_degree * np.cos(np.radians(lat0)), (lat - lat0) * metres_per_degree


def pairs_within(lat: ArrayLike, lon: ArrayLike, radius_metres: float) -> Int32s:
    """All index pairs (i < j) of points at most `radius_metres` apart, as rows, ascending.

    The search tree holds points of the unit sphere, so it is right at any latitude and across the date line.
    """
    phi, lam = np.radians(np.asarray(lat, np.float64)), np.radians(np.asarray(lon, np.float64))
    points = np.column_stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])
    chord = 2 * np.sin(min(radius_metres / (2 * EARTH_RADIUS_METRES), np.pi / 2))
    pairs: Int32s = scipy.spatial.cKDTree(points).query_pairs(chord, output_type="ndarray").astype(np.int32)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


@dataclass(frozen=True)
class BoundingBox:
    """A rectangle in degrees; its border belongs to it."""

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        if not (-90 <= self.south < self.north <= 90):
            raise ParameterError(
                f"bounding box {self}: south must be below north and both within -90..90; "
                "the order is south,west,north,east"
            )
        if not (-180 <= self.west < self.east <= 180):
            raise ParameterError(
                f"bounding box {self}: west must be left of east and both within -180..180; "
                "the order is south,west,north,east"
            )

    @classmethod
    def parse(cls, text: str) -> "BoundingBox":
        """Read "south,west,north,east", for example "52.34,13.09,52.68,13.76"."""
        try:
            south, west, north, east = (float(part) for part in text.split(","))
        except ValueError as error:
            raise ParameterError(
                f"bounding box {text!r} is not south,west,north,east in degrees, like 52.34,13.09,52.68,13.76"
            ) from error
        return cls(south, west, north, east)

    @classmethod
    def of(cls, box: "BoundingBox | str | tuple[float, float, float, float]") -> "BoundingBox":
        """A box from any of the ways in which people write one."""
        if isinstance(box, BoundingBox):
            return box
        return cls.parse(box) if isinstance(box, str) else cls(*box)

    def contains(self, lat: ArrayLike, lon: ArrayLike) -> Mask:
        """Which points lie inside."""
        lat, lon = np.asarray(lat), np.asarray(lon)
        return np.asarray((lat >= self.south) & (lat <= self.north) & (lon >= self.west) & (lon <= self.east))

    def __str__(self) -> str:
        return ",".join(f"{side:g}" for side in (self.south, self.west, self.north, self.east))
