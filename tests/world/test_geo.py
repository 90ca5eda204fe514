import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.world.geo import EARTH_RADIUS_METRES, BoundingBox, haversine, pairs_within, project

degrees = st.tuples(st.floats(-90, 90), st.floats(-180, 180))


def test_known_distances():
    quarter = EARTH_RADIUS_METRES * np.pi / 2
    assert haversine(0, 0, 90, 0) == pytest.approx(quarter)
    assert haversine(0, 0, 0, 180) == pytest.approx(2 * quarter)
    # Berlin to Paris, between the centres of the cities.
    assert haversine(52.52, 13.405, 48.8566, 2.3522) == pytest.approx(877_464, rel=1e-4)


@given(degrees, degrees)
def test_distance_is_the_same_both_ways_and_never_negative(one, other):
    assert haversine(*one, *other) == pytest.approx(float(haversine(*other, *one)))
    assert 0 <= haversine(*one, *other) <= np.pi * EARTH_RADIUS_METRES * (1 + 1e-12)


def test_the_local_plane_agrees_with_the_globe_within_a_city():
    rng = np.random.default_rng(1)
    lat, lon = 52.5 + rng.uniform(-0.1, 0.1, 50), 13.4 + rng.uniform(-0.15, 0.15, 50)
    east, north = project(lat, lon)
    flat = np.hypot(east - east[0], north - north[0])
    assert flat == pytest.approx(haversine(lat, lon, lat[0], lon[0]), rel=3e-3, abs=1)
    assert project(52.5, 13.4, origin=(52.5, 13.4)) == (0, 0)


@given(
    st.lists(st.tuples(st.floats(-89, 89), st.floats(-180, 180)), min_size=2, max_size=12), st.floats(1, 3e6)
)
def test_near_pairs_are_those_that_the_distance_says(points, radius):
    lat, lon = np.asarray(points).T
    found = {tuple(pair) for pair in pairs_within(lat, lon, radius).tolist()}
    for i, j in itertools.combinations(range(len(points)), 2):
        metres = haversine(lat[i], lon[i], lat[j], lon[j])
        if abs(metres - radius) > 1e-3:
            assert ((i, j) in found) == (metres < radius)


def test_near_pairs_reach_across_the_date_line():
    assert pairs_within([0, 0, 10], [179.9999, -179.9999, 0], 100).tolist() == [[0, 1]]


def test_a_box_is_read_as_people_write_it():
    box = BoundingBox.parse(" 52.34,13.09, 52.68,13.76")
    assert box == BoundingBox(52.34, 13.09, 52.68, 13.76)
    assert BoundingBox.of(str(box)) == BoundingBox.of((52.34, 13.09, 52.68, 13.76)) == BoundingBox.of(box)
    assert box.contains([52.34, 52.5, 52.5], [13.09, 13.5, 13.77]).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("52,13,53", "is not south,west,north,east"),
        ("a,b,c,d", "is not south,west,north,east"),
        ("53,13,52,14", "south must be below north"),
        ("52,14,53,13", "west must be left of east"),
        ("13.09,52.34,113.76,52.68", "south must be below north"),
        ("52,13,53,nan", "west must be left of east"),
    ],
)
def test_a_box_that_is_none_is_refused(text, sentence):
    with pytest.raises(ParameterError, match=sentence):
        BoundingBox.parse(text)
