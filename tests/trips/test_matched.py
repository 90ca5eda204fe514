import json

import numpy as np
import pytest

from wayveil.errors import InputError, UnknownStopError
from wayveil.trips.matched import decode_polyline, read_matched
from wayveil.trips.read import read_trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.world import World

NODES = World.of_symbols(["11", "12", "13", "14"])
GRID = Grid(Layout.of_counts("38,-121,41,-118", 3, 3))


def write(tmp_path, records):
    path = tmp_path / "ways.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def test_ways_of_leuvenmapmatching_as_nodes_states_or_objects(tmp_path):
    records = [[11, 12, 12, 13], [[11, 12], [12, 13], [13, 14]], {"tid": "x", "nodes": ["14", "13"]}]
    trips = read_trips(write(tmp_path, records), NODES)
    assert trips.to_lists() == [[0, 1, 2], [0, 1, 2, 3], [3, 2]]


def encode(points):
    text, before = "", [0, 0]
    for point in points:
        for axis in (0, 1):
            value = round(point[axis] * 1e6)
            change, before[axis] = value - before[axis], value
            left = ~(change << 1) if change < 0 else change << 1
            while left >= 0x20:
                text += chr((0x20 | (left & 0x1F)) + 63)
                left >>= 5
            text += chr(left + 63)
    return text


def test_answers_of_valhalla_by_shape_on_a_grid_and_by_way_elsewhere(tmp_path):
    points = [(38.5, -120.2), (40.7, -120.95), (40.252, -118.453)]
    shape = encode(points)
    assert np.allclose(decode_polyline(shape), points)
    answer = {"shape": shape, "edges": [{"way_id": 12}, {"way_id": 12}, {"way_id": 14}]}
    assert read_matched(write(tmp_path, [answer]), GRID).to_lists() == [[0, 6, 8]]
    legs = {"trip": {"legs": [{"shape": encode(points[:2])}, {"shape": encode(points[1:])}]}}
    assert read_matched(write(tmp_path, [legs]), GRID).to_lists() == [[0, 6, 8]]
    assert read_matched(write(tmp_path, [answer]), NODES).to_lists() == [[1, 3]]


def test_what_is_no_way_is_named(tmp_path):
    with pytest.raises(InputError, match="row 2"):
        read_matched(write(tmp_path, [[11], {"speed": 3}]), NODES)
    with pytest.raises(UnknownStopError, match="'99' in row 1"):
        read_matched(write(tmp_path, [[11, 99, 12, 13]]), NODES)
    assert read_matched(write(tmp_path, [[11, 99], [12, 13]]), NODES, on_unknown="drop-trip").to_lists() == [
        [1, 2]
    ]
    with pytest.raises(InputError, match="names nodes"):
        read_matched(write(tmp_path, [["a", "b"]]), GRID)


def test_bytes_that_are_no_text_are_said(tmp_path):
    path = tmp_path / "ways.jsonl"
    path.write_bytes(b'[11, "\xec"]')
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_trips(path, NODES)
