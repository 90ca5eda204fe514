"""Districts: which stop lies in which, from a table of stops or from areas on a map (GeoJSON). All of it is public."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.errors import InputError, ParameterError
from wayveil.world.areas import Areas
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
        features = json.loads(file.read_text(encoding="utf-8-sig"))["features"]
        names = [_name(feature) for feature in features]
        within = Areas.of([feature["geometry"] for feature in features]).containing(lat, lon)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"is not a GeoJSON file of areas ({error})", file=file) from error
    if None in names:
        raise InputError(
            "has an area without a name: give every feature a property `district` or `name` (feature "
            f"{names.index(None) + 1})",
            file=file,
        )
    return [names[area] if area >= 0 else None for area in within.tolist()]


def _name(feature: dict[str, Any]) -> str | None:
    told = {str(key).lower(): value for key, value in (feature.get("properties") or {}).items()}
    name = next((told[key] for key in NAMES if told.get(key) not in (None, "")), feature.get("id"))
    kind = feature["geometry"]["type"]
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError(f"a district is a Polygon or MultiPolygon, not a {kind}")
    return None if name is None else str(name)
