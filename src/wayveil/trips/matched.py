"""Trips that a map matcher has already put on a network: what leuvenmapmatching and Valhalla give, read as it is.

One JSON value per trip, as lines or as one list:

    leuvenmapmatching  the nodes of the way (`matcher.path_pred_onlynodes`), or the states of `matcher.match(...)[0]`,
                       which are nodes or pairs of them; alone or under "nodes" or "states" beside a "tid" or "uid"
    Valhalla           an answer of `trace_attributes` or `trace_route`: its "shape" (or that of its legs) on a grid,
                       the "way_id" of its "edges" on a world whose ids are ways

Nothing else is needed: neither of the two is a dependency.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import DAMAGED, EMPTY
from wayveil.errors import InputError
from wayveil.trips.findings import Findings
from wayveil.trips.history import PER_TRIP, History
from wayveil.trips.matching import OnUnknown, assemble, match_stops
from wayveil.trips.tables import require_file
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.world import World

# Valhalla writes degrees with six digits.
_POLYLINE = 1e6


def read_matched(path: str | Path, world: World, *, on_unknown: OnUnknown = "error") -> Trips:
    """Read matched trips over a grid (by their shape) or over a network (by the ids of its nodes or ways).

    Visits in a row to one place are merged. A trip through a place that the world lacks is an error or dropped.
    """
    path = Path(path)
    findings = Findings(path, strict=True)
    ways = [
        _way(record, row, path, shapes=isinstance(world, Grid))
        for row, record in enumerate(_records(path), 1)
    ]
    if not ways:
        raise InputError("has no trip in it", file=path, tells=EMPTY)
    lengths = [len(way) for way in ways]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    row = np.repeat(np.arange(len(ways)), lengths)
    if isinstance(world, Grid):
        location = _cells(ways, world, path)
        outside = row[location < 0]
        if on_unknown == "error":
            findings.rows(
                "ways that leave the grid",
                np.unique(outside),
                lambda row: "goes through no cell of the grid; take a larger box, or drop such trips",
            )
    else:
        names = pl.Series([str(place) for way in ways for place in way], dtype=pl.Categorical)
        distinct = names.unique(maintain_order=True)
        code = names.to_physical().to_numpy()
        position = np.zeros(int(code.max()) + 1, np.int32)
        position[distinct.to_physical().to_numpy()] = np.arange(len(distinct), dtype=np.int32)
        report = on_unknown == "error"
        location = match_stops(
            distinct.cast(pl.String), position[code], world, findings, report_unknown=report, row=row
        )
    # Repeats are merged, and a trip with a place outside is dropped: one place more can change the whole trip.
    trips = assemble(location, offsets, world, History(stability=PER_TRIP)).merged()
    return trips.take(trips.lengths > 0)


def is_matched(path: Path) -> bool:
    """Tell whether a file holds JSON as a map matcher gives it: lists, or objects with nodes, states, edges or a
    shape.
    """
    if path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        return False
    with path.open("rb") as file:
        head = file.read(1 << 16).decode("utf-8-sig", "replace").strip()
    objects = re.match(r"\[?\s*\{", head) is not None
    return not objects or re.search(r'"(nodes|states|edges|shape|legs)"\s*:', head) is not None


def _records(path: Path) -> list[Any]:
    require_file(path)
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"is not text in UTF-8 (byte {error.start:,})", file=path, tells=DAMAGED) from error
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        records = []
        for row, line in enumerate(text.splitlines(), 1):
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise InputError(f"is not JSON ({error.msg})", file=path, row=row, tells=DAMAGED) from error
        return records
    # One way is a list of places; several are a list of lists or objects.
    if isinstance(whole, list) and whole and isinstance(whole[0], dict | list):
        return whole
    return [whole]


def _way(record: Any, row: int, path: Path, *, shapes: bool) -> list[Any]:
    """The places of one trip: ids, or (latitude, longitude)."""
    try:
        if isinstance(record, dict):
            if shapes and ("shape" in record or "trip" in record):
                legs = [record] if "shape" in record else record["trip"]["legs"]
                return [point for leg in legs for point in decode_polyline(leg["shape"])]
            if "edges" in record:
                return [edge["way_id"] for edge in record["edges"]]
            record = record.get("nodes", record.get("states"))
        if not isinstance(record, list):
            raise TypeError("it has no nodes, states, edges or shape")
        return _nodes(record)
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"is not a way of leuvenmapmatching or Valhalla ({error})", file=path, row=row, tells=DAMAGED
        ) from error


def _nodes(record: list[Any]) -> list[Any]:
    """States may be edges (a, b): the first node of the first, then the second of each."""
    if record and isinstance(record[0], list) and len(record[0]) == 2 and not isinstance(record[0][0], float):
        return [record[0][0], *(state[1] for state in record)]
    return record


def _cells(ways: list[list[Any]], grid: Grid, path: Path) -> NDArray[np.int32]:
    try:
        points = np.array([point for way in ways for point in way], np.float64).reshape(-1, 2)
    except (ValueError, TypeError) as error:
        raise InputError(
            "names nodes, which a grid does not know; give the network that was matched to as the world",
            file=path,
            tells=DAMAGED,
        ) from error
    return grid.cell_of(points[:, 0], points[:, 1])


def decode_polyline(text: str) -> list[tuple[float, float]]:
    """Latitudes and longitudes of an encoded polyline with six digits."""
    values: list[int] = []
    number, shift = 0, 0
    for letter in text:
        part = ord(letter) - 63
        number |= (part & 0x1F) << shift
        shift += 5
        if part < 0x20:
            values.append(~(number >> 1) if number & 1 else number >> 1)
            number, shift = 0, 0
    if shift or len(values) % 2:
        raise ValueError("its shape is cut off")
    degrees = np.cumsum(np.array(values).reshape(-1, 2), axis=0) / _POLYLINE
    return [(float(lat), float(lon)) for lat, lon in degrees]
