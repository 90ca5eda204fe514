"""A city of our own: a complete GTFS feed of an invented place, so that demo, tests and docs need no download.

The city lies on the Dogger Bank, in the middle of the North Sea, where no real stop can be mistaken for one of it.
"""

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from wayveil.arrays import Floats
from wayveil.errors import ParameterError
from wayveil.simulate.feed_layout import CityLayout, CityLine, lay_out
from wayveil.world.geo import EARTH_RADIUS_METRES, haversine

CITY = "Veilhaven"

_LANDMARKS = (
    "Central Station", "Town Hall", "Harbour Front", "University", "Old Exchange", "Museum Quay", "Lock Gardens",
    "Assembly House", "Botanic Garden", "North Terminal", "Ferry Steps", "Grain Market", "Opera", "Stadium",
)  # fmt: skip
_FIRST = (
    "Alder", "Brack", "Carn", "Drift", "Elver", "Fen", "Gorse", "Hazel", "Iver", "Juniper", "Kelp", "Lark", "Mallow",
    "Nettle", "Oster", "Pell", "Quill", "Rowan", "Sallow", "Tarn", "Ulver", "Vesper", "Wether", "Yarrow",
)  # fmt: skip
_SECOND = (
    "bridge", "croft", "dale", "field", "gate", "holm", "hurst", "ley", "mead", "moor", "ness", "ridge", "stead",
    "strand", "ton", "wick", "worth",
)  # fmt: skip
_KINDS = ("Street", "Lane", "Square", "Road", "Mill", "School", "Green", "Row", "Corner", "Park")


def name_places(rng: Generator, stations: int, places: int) -> list[str]:
    """One name per place, no two alike; the stations, which come first, have the short ones."""
    bases = [first + second for first in _FIRST for second in _SECOND]
    shuffled = [bases[i] for i in rng.permutation(len(bases))]
    short = (list(_LANDMARKS) + shuffled)[:stations]
    streets = [f"{base} {kind}" for base in bases for kind in _KINDS]
    # A large city has the same street in several districts.
    districts = max(1, -(-(places - len(short)) // len(streets)))
    streets += [f"{street} {district}" for district in range(2, districts + 1) for street in streets]
    chosen = rng.permutation(len(streets))[: places - len(short)]
    return short + [streets[i] for i in chosen]


CENTRE = (54.72, 2.35)  # latitude, longitude
_MOST_STOPS = 10_000
_METRO, _BUS = 1, 3
_HOUR = 3_600
_COLOURS = ("C8102E", "00539B", "00843D", "F2A900", "6D2077")
_TRANSFER_METRES = 450.0

# Seconds between vehicles, from each hour of the service day on; the last entry ends the service.
_HEADWAYS = {
    True: ((5, 600), (7, 240), (9.5, 420), (16, 240), (19, 420), (22, 720), (24.75, 0)),
    False: ((5, 1_500), (6.5, 600), (9.5, 1_080), (15.5, 600), (19, 1_260), (23, 1_800), (24.5, 0)),
}

Row = Sequence[object]


def write_city(path: str | Path, seed: int = 0, *, stops: int = 360, lines: int = 24) -> Path:
    """Write a GTFS zip of an invented city with about `stops` places and `lines` lines, and return its path.

    A sixth of the lines (one to five) are metro lines with stations and platforms, the others buses. Everything runs
    in both directions on weekdays, with peaks, and the last vehicles after midnight. The same seed gives the same
    file.
    """
    if not 40 <= stops <= _MOST_STOPS:
        raise ParameterError(f"a city has 40 to {_MOST_STOPS} stops, not {stops}")
    if not 2 <= lines <= stops // 10:
        raise ParameterError(f"a city of {stops} stops has 2 to {stops // 10} lines, not {lines}")
    rng = np.random.default_rng(seed)
    metro = min(5, max(1, lines // 6))
    layout = lay_out(rng, places=stops, metro_lines=metro, bus_lines=lines - metro)
    lat, lon = _coordinates(layout)
    tables = {
        "agency": _agency(),
        "calendar": _calendar(),
        "calendar_dates": _calendar_dates(),
        "stops": _stops(layout, name_places(rng, layout.stations, len(layout.points)), lat, lon),
        "routes": _routes(layout),
        "transfers": _transfers(layout, lat, lon),
    }
    tables["trips"], tables["stop_times"] = _timetable(rng, layout, lat, lon)
    path = Path(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for table, rows in tables.items():
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            # A fixed date, so that equal cities are equal files.
            member = zipfile.ZipInfo(f"{table}.txt", (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, text.getvalue())
    return path


def _coordinates(layout: CityLayout) -> tuple[Floats, Floats]:
    degree = EARTH_RADIUS_METRES * np.pi / 180
    lat = CENTRE[0] + layout.points[:, 1] / degree
    lon = CENTRE[1] + layout.points[:, 0] / (degree * np.cos(np.radians(CENTRE[0])))
    return np.round(lat, 6), np.round(lon, 6)


def _agency() -> list[Row]:
    header = ("agency_id", "agency_name", "agency_url", "agency_timezone")
    return [header, ("VT", f"{CITY} Transit", "https://example.org/veilhaven", "Europe/London")]


def _calendar() -> list[Row]:
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    return [
        ("service_id", *days, "start_date", "end_date"),
        ("WEEKDAY", 1, 1, 1, 1, 1, 0, 0, "20260105", "20261218"),
    ]


def _calendar_dates() -> list[Row]:
    return [("service_id", "date", "exception_type"), ("WEEKDAY", "20260501", 2)]


def _place_id(place: int, layout: CityLayout) -> str:
    return f"S{place:03d}" if place < layout.stations else f"B{place:04d}"


def _stop_id(place: int, line: int, direction: int, layout: CityLayout) -> str:
    """Where a vehicle stops: a platform per metro line and direction, a bus bay at stations, a stop elsewhere."""
    place_id = _place_id(place, layout)
    if place >= layout.stations:
        return place_id
    return f"{place_id}-M{line + 1}{'AB'[direction]}" if layout.lines[line].metro else f"{place_id}-BUS"


def _stops(layout: CityLayout, names: list[str], lat: Floats, lon: Floats) -> list[Row]:
    rows: list[Row] = [("stop_id", "stop_name", "stop_lat", "stop_lon", "location_type", "parent_station")]
    platforms: dict[int, set[str]] = {}
    for number, line in enumerate(layout.lines):
        for place in line.places:
            found = platforms.setdefault(place, set())
            found.update(_stop_id(place, number, direction, layout) for direction in (0, 1))
    for place, name in enumerate(names):
        where = (f"{lat[place]:.6f}", f"{lon[place]:.6f}")
        if place >= layout.stations:
            rows.append((_place_id(place, layout), name, *where, 0, ""))
            continue
        rows.append((_place_id(place, layout), name, *where, 1, ""))
        rows.extend(
            (stop_id, name, *where, 0, _place_id(place, layout)) for stop_id in sorted(platforms[place])
        )
    return rows


def _route_id(number: int, layout: CityLayout) -> str:
    metros = sum(line.metro for line in layout.lines)
    return f"M{number + 1}" if layout.lines[number].metro else f"{10 + number - metros}"


def _routes(layout: CityLayout) -> list[Row]:
    rows: list[Row] = [
        ("route_id", "agency_id", "route_short_name", "route_type", "route_color", "route_text_color")
    ]
    for number, line in enumerate(layout.lines):
        route = _route_id(number, layout)
        colour = _COLOURS[number % len(_COLOURS)] if line.metro else "4A5568"
        rows.append((route, "VT", route, _METRO if line.metro else _BUS, colour, "FFFFFF"))
    return rows


def _transfers(layout: CityLayout, lat: Floats, lon: Floats) -> list[Row]:
    """Changes between a station and what lies near it, and the time a change inside a station takes."""
    rows: list[Row] = [("from_stop_id", "to_stop_id", "transfer_type", "min_transfer_time")]
    for station in range(layout.stations):
        rows.append((_place_id(station, layout), _place_id(station, layout), 2, 120))
        metres = haversine(lat[station], lon[station], lat, lon)
        for other in np.flatnonzero(metres < _TRANSFER_METRES).tolist():
            if other == station:
                continue
            seconds = 60 + round(float(metres[other]) / 1.2)
            rows.append((_place_id(station, layout), _place_id(other, layout), 2, seconds))
            if other >= layout.stations:
                rows.append((_place_id(other, layout), _place_id(station, layout), 2, seconds))
    return rows


def _departures(line: CityLine, offset: int) -> list[int]:
    """Seconds of the service day at which vehicles leave the first stop."""
    plan = _HEADWAYS[line.metro]
    moment, leaving = plan[0][0] * _HOUR + offset, []
    while moment < plan[-1][0] * _HOUR:
        leaving.append(int(moment))
        moment += next(headway for hour, headway in reversed(plan) if moment >= hour * _HOUR)
    return leaving


def _timetable(rng: Generator, layout: CityLayout, lat: Floats, lon: Floats) -> tuple[list[Row], list[Row]]:
    trips: list[Row] = [("route_id", "service_id", "trip_id", "direction_id")]
    calls: list[Row] = [("trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence")]
    for number, line in enumerate(layout.lines):
        route = _route_id(number, layout)
        speed = rng.uniform(15, 18) if line.metro else rng.uniform(6.5, 8)  # metres per second, between stops
        for direction in (0, 1):
            places = line.places if direction == 0 else line.places[::-1]
            at = np.asarray(places)
            metres = haversine(lat[at[:-1]], lon[at[:-1]], lat[at[1:]], lon[at[1:]])
            running = np.round(metres * 1.15 / speed + (20 if line.metro else 8)).astype(int)
            stop_ids = [_stop_id(place, number, direction, layout) for place in places]
            for leaving in _departures(line, int(rng.integers(0, 300))):
                trip_id = f"{route}-{direction}-{_clock(leaving).replace(':', '')}"
                trips.append((route, "WEEKDAY", trip_id, direction))
                calls.extend(_calls(trip_id, stop_ids, running, leaving, line.metro))
    return trips, calls


def _calls(
    trip_id: str, stop_ids: list[str], running: NDArray[np.int_], leaving: int, metro: bool
) -> Iterable[Row]:
    """The calls of one vehicle. Buses are slower and stand longer in the peaks."""
    hour = leaving / _HOUR
    peak = not metro and (7 <= hour < 9.5 or 15.5 <= hour < 19)
    dwell = 25 if metro else 18 if peak else 10
    arrival = leaving
    for sequence, stop_id in enumerate(stop_ids):
        last = sequence == len(stop_ids) - 1
        departure = arrival if sequence == 0 or last else arrival + dwell
        yield trip_id, _clock(arrival), _clock(departure), stop_id, sequence + 1
        if not last:
            arrival = departure + int(running[sequence] * (1.25 if peak else 1))


def _clock(seconds: int) -> str:
    """Time of the service day; it goes on past 24:00:00."""
    return f"{seconds // _HOUR:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
