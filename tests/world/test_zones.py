"""Zones: near places share digits, and pairs can be taken apart again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.lab.audits.tiny_worlds import plain_world, small_network
from wayveil.world.zones import Geography, Zones, interleave, take_apart


@given(st.integers(1, 70), st.integers(0, 100))
def test_codes_are_different_and_zones_are_even(size, seed):
    rng = np.random.default_rng(seed)
    zones = Zones.of_points(rng.random(size), rng.random(size))
    assert len(np.unique(zones.code)) == size
    assert zones.code.max() < 1 << zones.depth
    for bits in range(zones.depth + 1):
        filled = np.bincount(zones.zone(np.arange(size), bits), minlength=1 << bits)
        assert filled.max() - filled.min() <= 1


def test_the_first_digit_divides_the_wider_side():
    zones = Zones.of_points(np.array([0.0, 1, 10, 11]), np.array([0.0, 5, 0, 5]))
    assert zones.zone(np.arange(4), 1).tolist() == [0, 0, 1, 1]


def test_slots_find_the_places_of_a_range_of_codes():
    zones = Zones.of_points(np.arange(11.0), np.zeros(11))
    start, end = zones.slots(np.array([4]), np.array([12]))
    inside = zones.order[start[0] : end[0]]
    assert set(inside) == {place for place in range(11) if 4 <= zones.code[place] < 12}


@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 1023)), min_size=1))
def test_interleaved_numbers_can_be_taken_apart(pairs):
    one, other = np.array(pairs, np.int64).T
    both = interleave(one, other, 10)
    back = take_apart(both, 10)
    assert np.array_equal(back[0], one)
    assert np.array_equal(back[1], other)


def test_a_quarter_of_the_pairs_is_a_square_of_halves():
    zones = Zones.of_points(np.arange(8.0), np.zeros(8))
    pair = zones.pair(np.array([7, 0, 7]), np.array([0, 7, 7]))
    assert (pair >> 2 * (zones.depth - 1)).tolist() == [2, 1, 3]


def test_a_world_without_coordinates_has_zones_by_the_order_of_its_ids():
    geography = Geography(plain_world(6))
    assert np.all(np.diff(geography.places.code) > 0)
    assert geography.metres(np.array([1, 1]), np.array([1, 2])).tolist() == [0.0, geography.widest]
    assert len(geography.edge_zones(geography.edge_digits)) == 0


def test_edges_of_a_network_have_zones_of_their_own():
    network = small_network(3)
    geography = Geography(network)
    finest = geography.edge_zones(geography.edge_digits)
    assert len(np.unique(finest)) == network.edges
    assert np.array_equal(geography.edge_zones(3), finest >> geography.edge_digits - 3)
    assert 0 < geography.metres(np.array([0]), np.array([1]))[0] <= geography.widest


def test_nothing_has_no_zones():
    zones = Zones.of_points(np.zeros(0), np.zeros(0))
    assert (len(zones.code), zones.depth) == (0, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 17, 100, 257])
@pytest.mark.parametrize("grid", [True, False])
def test_halving_all_boxes_at_once_is_halving_one_after_the_other(count, grid):
    rng = np.random.default_rng(count)
    points = rng.integers(0, 6, (count, 2)).astype(float) if grid else rng.random((count, 2))
    depth = (count - 1).bit_length()
    slow = np.zeros(count, np.int64)

    def halve(group, level):
        if level == depth or len(group) == 0:
            return
        group = group[np.argsort(points[group, np.argmax(np.ptp(points[group], axis=0))], kind="stable")]
        middle = (len(group) + 1) // 2
        slow[group[middle:]] += 1 << (depth - 1 - level)
        halve(group[:middle], level + 1)
        halve(group[middle:], level + 1)

    halve(np.arange(count), 0)
    assert np.array_equal(Zones.of_points(*points.T).code, slow)
