"""Areas on a map, as GeoJSON has them, and which points lie in them. All of it is public."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wayveil.arrays import Floats, Int32s, Mask


@dataclass(frozen=True, eq=False)
class Areas:
    """The rings of each area, as arrays of longitude and latitude; holes are rings too."""

    rings: tuple[tuple[Floats, ...], ...]

    @classmethod
    def of(cls, geometries: Sequence[dict[str, Any]]) -> "Areas":
        """Read polygons and multipolygons of GeoJSON."""
        return cls(
            tuple(
                tuple(
                    np.asarray(ring, np.float64)[:, :2] for polygon in polygons_of(each) for ring in polygon
                )
                for each in geometries
            )
        )

    def containing(self, lat: Floats, lon: Floats) -> Int32s:
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


def polygons_of(item: dict[str, Any]) -> list[list[Any]]:
    """Every polygon in a GeoJSON object, as its rings."""
    kind = item["type"]
    if kind == "FeatureCollection":
        return [polygon for feature in item["features"] for polygon in polygons_of(feature["geometry"])]
    if kind == "Feature":
        return polygons_of(item["geometry"])
    if kind == "Polygon":
        return [item["coordinates"]]
    return list(item["coordinates"]) if kind == "MultiPolygon" else []


def _inside(ring: Floats, x: Floats, y: Floats) -> Mask:
    """Tell which points a ring goes around, by how often a ray to the east crosses it; a side at a time keeps memory
    small.
    """
    odd = np.zeros(len(x), bool)
    for (x1, y1), (x2, y2) in zip(ring.tolist(), np.roll(ring, -1, axis=0).tolist(), strict=True):
        if y1 != y2:
            crosses = (y1 > y) != (y2 > y)
            odd ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return odd
