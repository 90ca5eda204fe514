"""A grid over a public box: cells as locations, moves to the eight cells around.

Box, cell size and mask are public: take them from a map, never from the data. A box or a list of cells that was read
off the trips tells where somebody was.
"""

import json
from dataclasses import dataclass, replace
from math import ceil, cos, log10, radians, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.errors import InputError, ParameterError
from wayveil.world.areas import Areas, polygons_of
from wayveil.world.geo import EARTH_RADIUS_METRES, BoundingBox, haversine
from wayveil.world.network import Edges, Network, Places, Platforms, Routes, restored_parts
from wayveil.world.world import Stored

MOST_CELLS = 250_000
# Cities move at up to this speed, on the way between two cells.
METRES_PER_SECOND = 14.0
METRES_PER_DEGREE = EARTH_RADIUS_METRES * np.pi / 180
# Cells per root of (trips x epsilon): see `cell_metres_for`.
CELLS_PER_ROOT = 13.0
PREFIX = "grid:"
DEGREES = "deg"


@dataclass(frozen=True)
class Layout:
    """Where the cells lie: from the south-west corner of a box, `rows` to the north and `columns` to the east."""

    box: BoundingBox
    rows: int
    columns: int
    lat_step: float
    lon_step: float

    @classmethod
    def of_metres(cls, box: BoundingBox | str, metres: float) -> "Layout":
        """Square cells; the last row and column may reach over the box."""
        box = BoundingBox.of(box)
        if not metres > 0:
            raise ParameterError(f"cells need a size above 0 metres, not {metres:g}")
        across = METRES_PER_DEGREE * cos(radians((box.south + box.north) / 2))
        return cls.of_steps(box, metres / METRES_PER_DEGREE, metres / across)

    @classmethod
    def of_counts(cls, box: BoundingBox | str, rows: int, columns: int) -> "Layout":
        """So many cells of equal size, which fill the box exactly."""
        box = BoundingBox.of(box)
        if rows < 1 or columns < 1:
            raise ParameterError(f"a grid needs at least one row and one column, not {rows} x {columns}")
        steps = (box.north - box.south) / rows, (box.east - box.west) / columns
        return cls(box, rows, columns, *steps)._checked()

    @classmethod
    def of_steps(cls, box: BoundingBox | str, lat_step: float, lon_step: float) -> "Layout":
        """Cells of so many degrees."""
        box = BoundingBox.of(box)
        if not (lat_step > 0 and lon_step > 0):
            raise ParameterError(f"cells need a size above 0 degrees, not {min(lat_step, lon_step):g}")
        rows = ceil((box.north - box.south) / lat_step - 1e-9)
        columns = ceil((box.east - box.west) / lon_step - 1e-9)
        return cls(box, rows, columns, lat_step, lon_step)._checked()

    def _checked(self) -> "Layout":
        if not 1 < self.rows * self.columns <= MOST_CELLS:
            larger = self.metres * sqrt(self.rows * self.columns / MOST_CELLS)
            raise ParameterError(
                f"cells of {self.metres:,.0f} m make {self.rows:,} x {self.columns:,} of them in the box {self.box}; "
                f"2 to {MOST_CELLS:,} work, so take cells of at least {_rounded_up(larger):g} m or a smaller box"
                if self.rows * self.columns > 1
                else f"the box {self.box} holds a single cell of {self.metres:,.0f} m; take smaller cells"
            )
        return self

    @property
    def metres(self) -> float:
        """The side of a cell; of cells that are not square, the mean of their sides."""
        middle = (self.box.south + self.box.north) / 2
        return METRES_PER_DEGREE * (self.lat_step + self.lon_step * cos(radians(middle))) / 2

    @property
    def longer_side(self) -> float:
        """The longer side of a cell, in metres."""
        middle = (self.box.south + self.box.north) / 2
        return METRES_PER_DEGREE * max(self.lat_step, self.lon_step * cos(radians(middle)))

    def row_and_column(self, lat: ArrayLike, lon: ArrayLike) -> tuple[Ints, Ints]:
        """The row and column of each point of the box; the border of the box belongs to it. -1 outside."""
        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        inside = self.box.contains(lat, lon)
        row = np.where(inside, (lat - self.box.south) / self.lat_step, -1.0)
        column = np.where(inside, (lon - self.box.west) / self.lon_step, -1.0)
        last = self.rows - 1, self.columns - 1
        return np.minimum(row, last[0]).astype(np.int64), np.minimum(column, last[1]).astype(np.int64)


class Grid(Network):
    """A `Network` whose locations are the cells of a layout that the mask leaves, with the ways between them.

    Ids tell row and column from the south-west corner; those of a cell and its eight neighbours are joined by edges
    that take as long as the way at `metres_per_second`. `numbers` has the location of every cell of the layout, row by
    row, and -1 where the mask leaves none.

    >>> wv.Grid.parse("grid:37.6,-122.5,37.8,-122.3@2000").size
    108
    """

    def __init__(
        self,
        layout: Layout,
        *,
        mask: Mask | None = None,
        metres_per_second: float = METRES_PER_SECOND,
        name: str = "grid",
    ) -> None:
        kept = np.ones(layout.rows * layout.columns, bool) if mask is None else np.asarray(mask, bool).ravel()
        if len(kept) != layout.rows * layout.columns:
            raise ParameterError(
                f"the mask has {len(kept):,} cells, the grid {layout.rows} x {layout.columns}; give one for each"
            )
        if kept.sum() < 2:
            raise ParameterError("the mask leaves fewer than two cells of the grid")
        if not metres_per_second > 0:
            raise ParameterError(f"a speed must be above 0 metres per second, not {metres_per_second:g}")
        self.layout, self.metres_per_second = layout, float(metres_per_second)
        cells = np.flatnonzero(kept)
        self.row, self.column = np.divmod(cells, layout.columns)
        self.numbers = np.full(len(kept), -1, np.int32)
        self.numbers[cells] = np.arange(len(cells), dtype=np.int32)
        lat = layout.box.south + (self.row + 0.5) * layout.lat_step
        lon = layout.box.west + (self.column + 0.5) * layout.lon_step
        # Rows and columns are padded, so the order of the ids is that of the cells.
        places = zip(self.row.tolist(), self.column.tolist(), strict=True)
        ids = np.array([f"r{row:04d}c{column:04d}" for row, column in places])
        nothing = np.zeros(0, np.str_)
        super().__init__(
            Places(ids, ids, lat, lon),
            self._moves(lat, lon),
            Routes(nothing, nothing, np.zeros(0, np.int32)),
            Platforms(ids, np.arange(len(ids), dtype=np.int32)),
            name=name,
        )
        self._name_cells()

    def _name_cells(self) -> None:
        """Name each cell by where it lies, for people: no part of the fingerprint."""
        digits = max(ceil(-log10(min(self.layout.lat_step, self.layout.lon_step))), 0)
        middles = zip(self.lat.tolist(), self.lon.tolist(), strict=True)
        self.names = np.array([f"{lat:.{digits}f}, {lon:.{digits}f}" for lat, lon in middles])

    @classmethod
    def of_metres(cls, box: BoundingBox | str, metres: float, *, name: str = "grid") -> "Grid":
        """Square cells of so many metres over a box."""
        return cls(Layout.of_metres(box, metres), name=name)

    @classmethod
    def of_degrees(cls, box: BoundingBox | str, degrees: float) -> "Grid":
        """Cells of as many degrees of latitude as of longitude."""
        return cls(Layout.of_steps(box, degrees, degrees))

    @classmethod
    def parse(cls, text: str) -> "Grid":
        """Read "grid:south,west,north,east@250" (metres), "...@0.02deg" (degrees), "...@30x30" (rows x columns).

        ";mask=land.geojson" behind it leaves out cells.
        """
        described, _, mask_file = text.removeprefix(PREFIX).partition(";mask=")
        box, at, size = described.partition("@")
        if not box.strip():
            raise ParameterError(
                "a grid needs a box: grid:south,west,north,east@250. Choose it from a map, never from the data"
            )
        if not at:
            raise ParameterError(
                f"a grid needs a cell size: {text}@250 for cells of 250 m, or {text}@30x30 for 30 rows and 30 columns"
            )
        try:
            if "x" in size:
                rows, _, columns = size.partition("x")
                layout = Layout.of_counts(box, int(rows), int(columns))
            elif size.endswith(DEGREES):
                step = float(size.removesuffix(DEGREES))
                layout = Layout.of_steps(box, step, step)
            else:
                layout = Layout.of_metres(box, float(size))
        except ValueError as error:
            raise ParameterError(
                f"the cell size {size!r} is neither metres (250) nor degrees (0.02deg) nor rows x columns (30x30)"
            ) from error
        return cls(layout, mask=read_mask(mask_file, layout) if mask_file else None)

    def cell_of(self, lat: ArrayLike, lon: ArrayLike) -> Int32s:
        """The location of each point, -1 outside the box or where the mask has no cell."""
        row, column = self.layout.row_and_column(lat, lon)
        found = self.numbers[np.maximum(row, 0) * self.layout.columns + np.maximum(column, 0)]
        return np.where(row >= 0, found, np.int32(-1)).astype(np.int32)

    def describe(self) -> dict[str, object]:
        """Facts for people."""
        layout = self.layout
        return {
            "name": self.name,
            "cells": self.size,
            "rows": layout.rows,
            "columns": layout.columns,
            "cell metres": round(layout.metres, 1),
            "masked": layout.rows * layout.columns - self.size,
            "edges": self.edges,
            "box": str(layout.box),
        }

    def stored(self) -> Stored:
        """Arrays from which `restored` makes an equal grid."""
        box, layout = self.layout.box, self.layout
        return super().stored() | {
            "Grid.box": np.array([box.south, box.west, box.north, box.east]),
            "Grid.steps": np.array([layout.lat_step, layout.lon_step, self.metres_per_second]),
            "Grid.mask": (self.numbers >= 0).reshape(layout.rows, layout.columns),
        }

    @classmethod
    def restored(cls, stored: Stored) -> "Grid":
        """The grid behind what `stored` gave, with its metres and seconds as they were computed then."""
        mask = stored["Grid.mask"].astype(bool)
        lat_step, lon_step, speed = map(float, stored["Grid.steps"])
        box = BoundingBox(*map(float, stored["Grid.box"]))
        rows, columns = mask.shape
        layout = Layout(box, rows, columns, lat_step, lon_step)._checked()
        grid = cls(layout, mask=mask, metres_per_second=speed, name=str(stored["name"]))
        places, edges, routes, platforms = restored_parts(stored)
        if not np.array_equal(places.ids, grid.ids):
            raise ValueError("a grid needs the cells of its mask")
        places = replace(places, ids=grid.ids, names=grid.ids)
        Network.__init__(grid, places, edges, routes, platforms, name=grid.name)
        grid._name_cells()
        return grid

    def _moves(self, lat: Floats, lon: Floats) -> Edges:
        rows, columns = self.layout.rows, self.layout.columns
        source, target = [], []
        for north, east in ((n, e) for n in (-1, 0, 1) for e in (-1, 0, 1) if (n, e) != (0, 0)):
            row, column = self.row + north, self.column + east
            inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
            there = np.where(inside, self.numbers[np.where(inside, row * columns + column, 0)], -1)
            source.append(np.flatnonzero(there >= 0))
            target.append(there[there >= 0])
        one, other = np.concatenate(source), np.concatenate(target)
        order = np.lexsort((other, one))
        one, other = one[order], other[order]
        metres = haversine(lat[one], lon[one], lat[other], lon[other])
        return Edges(
            indptr=np.searchsorted(one, np.arange(len(lat) + 1)).astype(np.int64),
            indices=other.astype(np.int32),
            seconds=np.maximum(np.ceil(metres / self.metres_per_second), 1).astype(np.int32),
            metres=metres,
            walk=np.zeros(len(one), bool),
            runs=np.zeros(len(one), np.int64),
            route_indptr=np.zeros(len(one) + 1, np.int64),
            route=np.zeros(0, np.int32),
        )


def cell_metres_for(box: BoundingBox | str, trips: float, epsilon: float) -> float:
    """A cell size for a public (or bought) number of trips, to two digits.

    With k cells the noise of all of them together grows like the root of k while what a cell hides shrinks like one
    over the root of k; so the number of cells follows the root of trips x epsilon. The factor gives 900 cells at
    5,000 and 4,500 at 120,000 trips per unit of noise, in the range that studies of taxi trips settled on.
    """
    box = BoundingBox.of(box)
    if not (trips > 0 and epsilon > 0):
        raise ParameterError("a cell size needs a number of trips and an epsilon above 0")
    height = (box.north - box.south) * METRES_PER_DEGREE
    width = (box.east - box.west) * METRES_PER_DEGREE * cos(radians((box.south + box.north) / 2))
    cells = min(max(CELLS_PER_ROOT * sqrt(trips * epsilon), 4.0), MOST_CELLS / 2)
    return _rounded_up(sqrt(height * width / cells))


def read_mask(path: str | Path, layout: Layout) -> Mask:
    """Which cells a public file leaves: GeoJSON areas (cells whose centre lies in one), or cell ids, one a line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as a mask ({error})", file=path) from error
    if path.suffix.lower() in (".geojson", ".json"):
        return _cells_in_areas(path, text, layout)
    mask = np.zeros((layout.rows, layout.columns), bool)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row, column = (int(part) for part in line.strip().lstrip("r").split("c"))
            mask[row, column] = True
        except (ValueError, IndexError) as error:
            raise InputError(
                f"{line!r} is not a cell of the grid, like r0004c0012", file=path, row=number
            ) from error
    return mask


def _cells_in_areas(path: Path, text: str, layout: Layout) -> Mask:
    lat = layout.box.south + (np.arange(layout.rows) + 0.5) * layout.lat_step
    lon = layout.box.west + (np.arange(layout.columns) + 0.5) * layout.lon_step
    try:
        polygons = [{"type": "Polygon", "coordinates": each} for each in polygons_of(json.loads(text))]
        inside = Areas.of(polygons).containing(np.repeat(lat, layout.columns), np.tile(lon, layout.rows)) >= 0
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"holds no GeoJSON areas ({error})", file=path) from error
    return inside.reshape(layout.rows, layout.columns)


def _rounded_up(value: float) -> float:
    """To two digits."""
    unit = 10.0 ** (int(np.floor(log10(value))) - 1)
    return ceil(value / unit - 1e-9) * unit
