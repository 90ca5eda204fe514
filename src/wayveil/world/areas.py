"""Areas of zones: which of them coordinates lie in, and which share a border."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ring = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Areas:
    """The rings of each area, as arrays of longitude and latitude; holes are rings too."""

    rings: tuple[tuple[Ring, ...], ...]

    @classmethod
    def of(cls, geometries: Sequence[dict[str, Any]]) -> "Areas":
        """Read polygons and multipolygons of GeoJSON."""
        return cls(tuple(_rings(geometry) for geometry in geometries))

    def containing(self, lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the area that each point lies in, the first of several; -1 for none."""
        found = np.full(len(lat), -1, np.int32)
        for area, rings in enumerate(self.rings):
            corners = np.concatenate(rings)
            (west, south), (east, north) = corners.min(axis=0), corners.max(axis=0)
            near = np.flatnonzero(
                (found < 0) & (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
            )
            odd = np.zeros(len(near), bool)
            for ring in rings:
                odd ^= _inside(ring, lon[near], lat[near])
            found[near[odd]] = area
        return found

    def neighbours(self) -> list[tuple[int, int]]:
        """Return the pairs of areas that share a side of their borders, the smaller first."""
        owners: dict[tuple[tuple[float, float], ...], set[int]] = {}
        for area, rings in enumerate(self.rings):
            for ring in rings:
                corners = [tuple(corner) for corner in np.round(ring, 7).tolist()]
                for side in pairwise(corners):
                    owners.setdefault(tuple(sorted(side)), set()).add(area)
        pairs = {(a, b) for shared in owners.values() for a in shared for b in shared if a < b}
        return sorted(pairs)


def _rings(geometry: dict[str, Any]) -> tuple[Ring, ...]:
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return tuple(np.asarray(ring, np.float64)[:, :2] for polygon in polygons for ring in polygon)


def _inside(ring: Ring, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which points a ring goes around, by how often a ray to the east crosses it."""
    odd = np.zeros(len(x), bool)
    for (x1, y1), (x2, y2) in zip(ring[:-1].tolist(), ring[1:].tolist(), strict=True):
        if y1 != y2:
            crosses = (y1 > y) != (y2 > y)
            odd ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return odd
