"""Worlds from lists of places: csv, parquet, GeoJSON, and what is refused."""

import json

import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import InputError
from wayveil.world.opening import open_world
from wayveil.world.places import PlaceList


def test_a_csv_of_places_has_names_and_coordinates(tmp_path):
    file = tmp_path / "places.csv"
    file.write_text("Stop_ID;Stop_Name;Lat;Lon\nb;Zürich HB;47.4;8.5\na;Bern;46.9;7.4\n", encoding="utf-8")
    world = open_world(file)
    assert isinstance(world, PlaceList)
    assert (world.ids.tolist(), world.names.tolist()) == (["a", "b"], ["Bern", "Zürich HB"])
    assert world.lat is not None
    assert world.lat.tolist() == [46.9, 47.4]
    pl.DataFrame({"id": [2, 1]}).write_parquet(tmp_path / "places.parquet")
    assert open_world(tmp_path / "places.parquet").ids.tolist() == ["1", "2"]


def test_a_geojson_gives_points_and_the_middle_of_areas(tmp_path):
    square = [[[0, 0], [2, 0], [2, 2], [0, 2]]]
    features = [
        {"id": "x", "properties": {"name": "Ex"}, "geometry": {"type": "Point", "coordinates": [8, 47]}},
        {"properties": {"stop_id": "w"}, "geometry": {"type": "Polygon", "coordinates": square}},
    ]
    file = tmp_path / "places.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    world = open_world(file)
    assert isinstance(world, PlaceList)
    assert (world.ids.tolist(), world.names.tolist()) == (["w", "x"], ["w", "Ex"])
    assert world.lon is not None
    assert world.lon.tolist() == [1.0, 8.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trip_id,stop_id\n1,a\n", "looks like trips"),
        ("origin,destination\na,b\n", "looks like trips"),
        ("stop_id\na\na\n", "row 2"),
        ("stop_id,lat,lon\na,north,8\n", "degrees"),
        ("colour,size\nred,2\n", "stop_id"),
    ],
)
def test_what_is_no_list_of_places_is_refused_with_a_reason(tmp_path, text, said):
    file = tmp_path / "places.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        open_world(file)


def test_a_plain_list_in_a_csv_is_still_a_list(tmp_path):
    file = tmp_path / "list.csv"
    file.write_text("alpha\nbeta\n")
    assert open_world(file).ids.tolist() == ["alpha", "beta"]


def test_names_and_coordinates_do_not_change_the_fingerprint():
    ring = ring_of_stops(4)
    places = PlaceList.of_network(ring)
    assert places.fingerprint() == PlaceList(ring.ids, ring.ids).fingerprint() != ring.fingerprint()
