"""Reading GTFS, the format in which transit agencies publish their timetables."""

from wayveil.world.gtfs.reader import read_gtfs

__all__ = ["read_gtfs"]
