"""Districts: which stop lies in which, from a table of stops or from areas on a map (GeoJSON). All of it is public."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.errors import InputError, ParameterError
from wayveil.world.world import World

ELSEWHERE = "elsewhere"
# Where a feature of a map has its name.
NAMES = ("district", "name", "title", "label", "id")
MAPS = (".geojson", ".json")


@dataclass(frozen=True, eq=False)
class Districts:
    """Names, `elsewhere` last where a place is in none, and the district of every place of a world."""

    names: NDArray[np.object_]
    of_place: Ints


def read_districts(source: Any, world: World) -> Districts:
    """The districts of a world: a csv or frame with stop_id and district, or a GeoJSON of areas with a name."""
    file = source if isinstance(source, str | Path) else "the frame"
    if isinstance(source, str | Path) and Path(source).suffix.lower() in MAPS:
        named = _of_areas(Path(source), world)
    else:
        named = _of_table(source, world, file)
    if all(name is None for name in named):
        raise ParameterError(f"none of the stops of this world is in a district of {file}")
    known = sorted({name for name in named if name is not None and name != ELSEWHERE})
    names = [*known, *([ELSEWHERE] if {None, ELSEWHERE} & set(named) else [])]
    code = {name: at for at, name in enumerate(names)}
    return Districts(np.array(names, object), np.array([code[name or ELSEWHERE] for name in named], np.int64))


def _of_table(source: Any, world: World, file: str | Path) -> list[str | None]:
    try:
        table = (
            pl.read_csv(source, infer_schema=False)
            if isinstance(source, str | Path)
            else pl.DataFrame(source)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as a table of districts ({error})", file=file) from error
    if not {"stop_id", "district"} <= set(table.columns):
        raise InputError(
            f"needs the columns stop_id and district; its columns are {', '.join(table.columns)}", file=file
        )
    table = table.select(pl.col("stop_id", "district").cast(pl.String)).drop_nulls()
    twice = table.unique().filter(pl.col("stop_id").is_duplicated())
    if twice.height:
        raise InputError(f"puts the stop {twice['stop_id'][0]!r} into two districts", file=file)
    named: list[str | None] = [None] * world.size
    for place, district in zip(
        world.index_of(table["stop_id"]).tolist(), table["district"].to_list(), strict=True
    ):
        if place >= 0:
            named[place] = district
    return named


def _of_areas(file: Path, world: World) -> list[str | None]:
    """The first area that each place lies in; holes are outside."""
    lat, lon = getattr(world, "lat", None), getattr(world, "lon", None)
    if lat is None or lon is None:
        raise ParameterError(
            "areas need stops with coordinates, and this world has none: give a csv with stop_id and district"
        )
    try:
        areas = [_area(feature) for feature in json.loads(file.read_text(encoding="utf-8-sig"))["features"]]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"is not a GeoJSON file of areas ({error})", file=file) from error
    named: list[str | None] = [None] * world.size
    for at, (name, rings) in enumerate(areas):
        if name is None:
            raise InputError(
                f"has an area without a name: give every feature a property `district` or `name` (feature {at + 1})",
                file=file,
            )
        # A point is inside where a ray crosses the rings of an area an odd number of times.
        inside = np.zeros(world.size, bool)
        for ring in rings:
            inside ^= _inside(ring, lat, lon)
        for place in np.flatnonzero(inside).tolist():
            named[place] = named[place] or name
    return named


def _area(feature: dict[str, Any]) -> tuple[str | None, list[Floats]]:
    told = {str(key).lower(): value for key, value in (feature.get("properties") or {}).items()}
    name = next((told[key] for key in NAMES if told.get(key) not in (None, "")), feature.get("id"))
    geometry = feature["geometry"]
    if geometry["type"] not in ("Polygon", "MultiPolygon"):
        raise ValueError(f"a district is a Polygon or MultiPolygon, not a {geometry['type']}")
    parts = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
    rings = [np.asarray(ring, np.float64)[:, :2] for part in parts for ring in part]
    return None if name is None else str(name), rings


def _inside(ring: Floats, lat: Floats, lon: Floats) -> NDArray[np.bool_]:
    """Tell whether a ray to the east crosses the ring an odd number of times; a side at a time keeps memory small."""
    odd = np.zeros(len(lat), bool)
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        if y1 == y2:
            continue
        crosses = (y1 > lat) != (y2 > lat)
        odd ^= crosses & (lon < (x2 - x1) * (lat - y1) / (y2 - y1) + x1)
    return odd
