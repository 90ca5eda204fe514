"""Feeds of a few lines, written by hand for one quirk each."""

import zipfile
from pathlib import Path

STOPS = """stop_id,stop_name,stop_lat,stop_lon
A,Alpha,50.0,8.0
B,Beta,50.0,8.01
C,Gamma,50.0,8.02
"""
ROUTES = "route_id,route_short_name,route_type\nR,1,3\n"
TRIPS = "route_id,service_id,trip_id\nR,W,t1\n"
STOP_TIMES = """trip_id,arrival_time,departure_time,stop_id,stop_sequence
t1,08:00:00,08:00:00,A,1
t1,08:02:00,08:03:00,B,2
t1,08:05:00,08:05:00,C,3
"""


def tables(**changed: str | None) -> dict[str, str]:
    """The texts of a small feed; a table given as None is left out."""
    plain = {"stops": STOPS, "routes": ROUTES, "trips": TRIPS, "stop_times": STOP_TIMES}
    return {name: text for name, text in (plain | changed).items() if text is not None}


def feed_folder(folder: Path, **changed: str | None) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in tables(**changed).items():
        (folder / f"{name}.txt").write_bytes(text.encode())
    return folder


def feed_zip(
    path: Path, *, inside: str = "", raw: dict[str, bytes] | None = None, **changed: str | None
) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in tables(**changed).items():
            archive.writestr(f"{inside}{name}.txt", (raw or {}).get(name, text.encode()))
    return path


def calls(*trips: tuple[str, list[tuple[str, str]]]) -> str:
    """stop_times.txt from (trip_id, [(time, stop_id), ...])."""
    rows = ["trip_id,arrival_time,departure_time,stop_id,stop_sequence"]
    for trip, visits in trips:
        rows += [f"{trip},{time},{time},{stop},{at}" for at, (time, stop) in enumerate(visits)]
    return "\n".join(rows) + "\n"


def trip_table(*ids: str, service: str = "W", route: str = "R") -> str:
    return "route_id,service_id,trip_id\n" + "".join(f"{route},{service},{trip}\n" for trip in ids)
