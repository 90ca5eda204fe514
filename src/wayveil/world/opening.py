"""`open_world`: whatever public description of a place the caller has, as a world."""

import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.world.grid import PREFIX, Grid
from wayveil.world.gtfs import read_gtfs
from wayveil.world.places import is_shapefile, load_world, read_geojson, read_places
from wayveil.world.world import World


def open_world(
    path: str | Path,
    *,
    bbox: str | None = None,
    service_date: date | str | None = None,
    stations: bool = True,
    walk_radius_metres: float | None = None,
    kinds: Sequence[str] | None = None,
) -> World:
    """A GTFS zip or folder, a network saved before (.npz), a list of places, or a grid.

    A list is a csv or parquet table (stop_id, and if known stop_name, lat, lon), a GeoJSON or shapefile, or a
    text file with one location per line. `kinds` keeps some kinds of lines of a feed, as in `read_gtfs`. A saved
    network remembers the options that it was made with. A grid is written "grid:south,west,north,east@250": a public
    box and the metres of a cell (`Grid.parse` has other sizes).

    >>> wv.open_world(folder / "city.zip").size == city.size
    True
    """
    if str(path).startswith(PREFIX):
        if bbox or service_date or walk_radius_metres or kinds or not stations:
            raise ParameterError("a grid has its box in its own name; date, stations and walks are of feeds")
        return Grid.parse(str(path))
    path = Path(path)
    if not path.exists():
        raise InputError("does not exist", file=path)
    suffix = path.suffix.lower()
    shapes = is_shapefile(path)
    is_feed = path.is_dir() or (suffix == ".zip" and not shapes)
    if not is_feed and (bbox or service_date or walk_radius_metres or kinds or not stations):
        kept = " A saved network keeps those that it was made with." if suffix == ".npz" else ""
        raise ParameterError(
            f"bounding box, date, stations, walking radius and kinds of lines apply to GTFS feeds only.{kept}"
        )
    if is_feed:
        return read_gtfs(
            path,
            bbox=bbox,
            service_date=service_date,
            stations=stations,
            walk_radius_metres=walk_radius_metres,
            kinds=kinds,
        )
    if suffix == ".npz":
        return load_world(path)
    if shapes or suffix in (".geojson", ".json"):
        return read_geojson(path)
    listed = read_places(path) if suffix in (".csv", ".tsv", ".parquet") else None
    return World.of_file(path) if listed is None else listed


def is_world(path: Path) -> bool:
    """Tell whether a folder or zip is a feed, or a JSON file holds places."""
    if path.is_dir():
        return any(path.glob("stops.txt")) or any(path.glob("*/stops.txt"))
    if path.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                return any(Path(name).name == "stops.txt" for name in archive.namelist())
        except (OSError, zipfile.BadZipFile):
            return True
    return False
