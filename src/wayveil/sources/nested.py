"""Files that are no tables (JSON lines, MDS trips, GeoJSON and MF-JSON tracks, GPX, GeoLife) as rows of text."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from wayveil.disclosures import EMPTY
from wayveil.errors import InputError
from wayveil.sources.text_files import open_bytes

NESTED = (".json", ".jsonl", ".ndjson", ".geojson", ".geojsonl", ".geojsonseq", ".mfjson", ".gpx", ".plt")
# Where MDS and GBFS, and other services, keep their lists.
_LISTS = (
    "trips",
    "status_changes",
    "events",
    "vehicles",
    "features",
    "records",
    "rows",
    "items",
    "data",
    "results",
    "result",
    "hits",
)
Row = dict[str, str | None]
# Moments as services of .NET write them: milliseconds in a word.
_COUNTED = re.compile(r"/Date\((-?\d+)(?:[+-]\d{4})?\)/")


def read_nested(path: Path) -> tuple[pl.DataFrame, frozenset[str] | None]:
    """Read a file as a table of text; points and tracks come under our names. Where records name their values, with
    the names that only some of them have.
    """
    name = path.name.lower()
    if ".gpx" in name:
        return _as_table(_gpx(path), path)[0], None
    if name.endswith(".plt"):
        return _as_table(_geolife(path), path)[0], None
    return _as_table(chain.from_iterable(map(_rows_of, _records(path))), path)


def _as_table(rows: Iterable[Row], path: Path) -> tuple[pl.DataFrame, frozenset[str]]:
    columns: dict[str, list[str | None]] = {}
    height, always = 0, frozenset[str]()
    for row in rows:
        always = always & row.keys() if height else frozenset(row)
        for name in [name for name in row if name not in columns]:
            columns[name] = [None] * height
        for name, values in columns.items():
            values.append(row.get(name))
        height += 1
    if not height:
        raise InputError("has no record in it", file=path, tells=EMPTY)
    order = list(dict.fromkeys([*_FIRST, *columns]))
    table = {name: pl.Series(columns[name], dtype=pl.String) for name in order if name in columns}
    return pl.DataFrame(table), frozenset(columns) - always


_FIRST = ("rider_id", "trip_id", "event_time", "lat", "lon")


def _records(path: Path) -> Iterator[Any]:
    """Give the objects of a file: one a line, those of a list, or those that an envelope holds."""
    with open_bytes(path) as file:
        text = file.read().decode("utf-8-sig")
    try:
        whole = json.loads(text)
    except ValueError:
        for number, line in enumerate(text.replace("\x1e", "").splitlines(), start=1):
            if line.strip():
                yield _line(line, number, path)
        return
    while isinstance(whole, dict):
        table = _columns_of(whole)
        if table is not None:
            whole = table
            break
        inner = next((whole[key] for key in _LISTS if isinstance(whole.get(key), list | dict)), None)
        lists = [
            each for each in whole.values() if isinstance(each, list) and each and isinstance(each[0], dict)
        ]
        if inner is None and len(lists) != 1:
            break
        whole = lists[0] if inner is None else inner
    yield from whole if isinstance(whole, list) else [whole]


def _columns_of(whole: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object that names its columns beside lists of values, or holds each column as a list or
    by number, as pandas writes it; None for another object.
    """
    named = whole.get("columns") or (whole.get("meta") or {}).get("view", {}).get("columns")
    rows = whole.get("data")
    if isinstance(named, list) and isinstance(rows, list) and rows and isinstance(rows[0], list):
        names = [each["name"] if isinstance(each, dict) else str(each) for each in named]
        return [dict(zip(names, row, strict=True)) for row in rows]
    values = list(whole.values())
    if len(values) < 2 or not (isinstance(values[0], list | dict) and values[0]):
        return None
    if all(isinstance(each, dict) and "0" in each and list(each) == list(values[0]) for each in values):
        return [{name: whole[name][key] for name in whole} for key in values[0]]
    if all(isinstance(each, list) and each and not isinstance(each[0], list | dict) for each in values):
        return [dict(zip(whole, row, strict=True)) for row in zip(*values, strict=True)]
    return None


def _line(line: str, number: int, path: Path) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _rows_of(record: Any) -> Iterator[Row]:
    """Lay out one record: a track as its points, anything else as one row."""
    if not isinstance(record, dict):
        raise ValueError("a record is no object of names and values")
    record = record["_source"] if isinstance(record.get("_source"), dict) else record
    geometry = (
        record.get("temporalGeometry")
        or record.get("geometry")
        or (record if "datetimes" in record else None)
    )
    told = {**record, **(record.get("properties") or {})}
    if isinstance(geometry, dict) and isinstance(geometry.get("coordinates"), list):
        yield from _track(geometry, told)
        return
    route = told.pop("route", None)
    if isinstance(route, dict) and isinstance(route.get("features"), list) and route["features"]:
        # MDS before 2.0 says where a trip begins and ends by its route alone.
        ends = {"start_location": route["features"][0], "end_location": route["features"][-1]}
        told = {**ends, **told}
    elif route is not None:
        told["route"] = route
    yield dict(_flat(told))


def _track(geometry: dict[str, Any], told: dict[str, Any]) -> Iterator[Row]:
    places = geometry["coordinates"]
    inner = ("geometry", "temporalGeometry", "properties", "type", "coordinates", "datetimes", "crs", "trs")
    shared = dict(_flat({key: value for key, value in told.items() if key not in inner}))
    times = geometry.get("datetimes")
    for name in ("coordTimes", "times", "timestamps", "datetimes"):
        if times is None and isinstance(told.get(name), list):
            times, shared = (
                told[name],
                {key: value for key, value in shared.items() if not key.startswith(name)},
            )
    if places and not isinstance(places[0], list):
        places, times = [places], None
    if times is not None and len(times) != len(places):
        raise ValueError(f"a track has {len(places)} places and {len(times)} times")
    for number, place in enumerate(places):
        moment = {} if times is None else {"event_time": _text(times[number])}
        yield {**shared, "lat": _text(place[1]), "lon": _text(place[0]), **moment}


def _flat(record: dict[str, Any], before: str = "") -> Iterator[tuple[str, str | None]]:
    for key, value in record.items():
        name = f"{before}{key}"
        point = value.get("geometry", value) if isinstance(value, dict) else None
        if (
            isinstance(point, dict)
            and point.get("type") == "Point"
            and len(point.get("coordinates") or ()) >= 2
        ):
            yield from zip((f"{name}.lon", f"{name}.lat"), map(_text, point["coordinates"][:2]), strict=True)
        elif isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, json.dumps(value)
        else:
            yield name, _text(value)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        counted = _COUNTED.fullmatch(value)
        return counted[1] if counted else value
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _gpx(path: Path) -> Iterator[Row]:
    """Give the points of a GPX file: whose file it is, and a trip for each segment of a track."""
    track, segment, person = 0, 0, _owner(path)
    try:
        with open_bytes(path) as file:
            for event, element in ElementTree.iterparse(file, ("start", "end")):
                tag = element.tag.rpartition("}")[2]
                track += event == "start" and tag == "trk"
                segment += event == "start" and tag == "trkseg"
                if event == "end" and tag == "trkpt":
                    moment = next(
                        (each.text for each in element if each.tag.rpartition("}")[2] == "time"), None
                    )
                    trip = f"{path.name.partition('.')[0]}-{segment}"
                    place = {"lat": element.get("lat"), "lon": element.get("lon")}
                    yield {"rider_id": person, "trip_id": trip, "event_time": moment, **place}
                    element.clear()
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error


def _geolife(path: Path) -> Iterator[Row]:
    """Give the points of a GeoLife file, which is one trip of the person whose folder it lies in."""
    for line in path.read_text(encoding="utf-8").splitlines()[6:]:
        cells = line.split(",")
        if len(cells) < 7:
            raise ValueError(f"a line has {len(cells)} values and not 7")
        moment = f"{cells[5]} {cells[6]}"
        row = {"rider_id": _owner(path), "trip_id": f"{_owner(path)}-{path.stem}", "event_time": moment}
        yield {**row, "lat": cells[0], "lon": cells[1]}


def _owner(path: Path) -> str:
    """Return whose file it is: the folder's name, as GeoLife has it (000/Trajectory/x.plt), or the file's."""
    folder = path.absolute().parent
    if path.suffix.lower() == ".plt":
        return folder.parent.name if folder.name.lower() == "trajectory" else folder.name
    return path.name.partition(".")[0]
