"""A public grid for taps that come with coordinates and no stops: cells as locations, with the ways between them."""

from math import ceil

import numpy as np

from wayveil.errors import ParameterError
from wayveil.world.geo import BoundingBox, haversine
from wayveil.world.network import Edges, Network, Places, Platforms, Routes

MOST_CELLS = 20_000


def grid_of_cells(
    box: BoundingBox | str, *, degrees: float = 0.02, metres_per_second: float = 14.0, name: str = "grid"
) -> Network:
    """A network whose locations are the cells of a box; one moves to the eight cells around, at a top speed.

    Box, size of the cells (degrees of latitude and longitude) and speed are public parameters: choose them from a map,
    never from the taps. Ids tell row and column from the south-west corner.
    """
    box = BoundingBox.of(box)
    rows, columns = (
        ceil((box.north - box.south) / degrees - 1e-9),
        ceil((box.east - box.west) / degrees - 1e-9),
    )
    if not 1 < rows * columns <= MOST_CELLS:
        raise ParameterError(
            f"cells of {degrees:g} degrees make {rows * columns:,} of them; 2 to {MOST_CELLS:,} work"
        )
    row, column = np.divmod(np.arange(rows * columns), columns)
    lat, lon = box.south + (row + 0.5) * degrees, box.west + (column + 0.5) * degrees
    # Rows and columns are padded, so the order of the ids is that of the cells.
    ids = np.array([f"r{r:04d}c{c:04d}" for r, c in zip(row.tolist(), column.tolist(), strict=True)])
    source, target = [], []
    for north in (-1, 0, 1):
        for east in (-1, 0, 1):
            there = (
                (row + north >= 0) & (row + north < rows) & (column + east >= 0) & (column + east < columns)
            )
            if (north, east) != (0, 0):
                source.append(np.flatnonzero(there))
                target.append((row + north)[there] * columns + (column + east)[there])
    one, other = np.concatenate(source), np.concatenate(target)
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    metres = haversine(lat[one], lon[one], lat[other], lon[other])
    edges = Edges(
        indptr=np.searchsorted(one, np.arange(rows * columns + 1)).astype(np.int64),
        indices=other.astype(np.int32),
        seconds=np.maximum(np.ceil(metres / metres_per_second), 1).astype(np.int32),
        metres=metres,
        walk=np.ones(len(one), bool),
        runs=np.zeros(len(one), np.int64),
        route_indptr=np.zeros(len(one) + 1, np.int64),
        route=np.zeros(0, np.int32),
    )
    nothing = np.zeros(0, np.str_)
    return Network(
        Places(ids, ids, lat, lon),
        edges,
        Routes(nothing, nothing, np.zeros(0, np.int32)),
        Platforms(ids, np.arange(rows * columns, dtype=np.int32)),
        name=name,
    )
