"""`open_world`: whatever public description of a place the caller has, as a world."""

from datetime import date
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.world import World


def open_world(
    path: str | Path,
    *,
    bbox: str | None = None,
    service_date: date | str | None = None,
    stations: bool = True,
    walk_radius_metres: float | None = None,
) -> World:
    """A GTFS zip or folder, a network saved before (.npz), or a text file with one location per line."""
    path = Path(path)
    if not path.exists():
        raise InputError("does not exist", file=path)
    is_feed = path.is_dir() or path.suffix.lower() == ".zip"
    if not is_feed and (bbox or service_date or walk_radius_metres or not stations):
        raise ParameterError("bounding box, date, stations and walking radius apply to GTFS feeds only")
    if is_feed:
        return read_gtfs(
            path,
            bbox=bbox,
            service_date=service_date,
            stations=stations,
            walk_radius_metres=walk_radius_metres,
        )
    return Network.load(path) if path.suffix.lower() == ".npz" else World.of_file(path)
