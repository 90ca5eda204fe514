"""Corners of ways on a grid."""

import numpy as np

from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import find_corners

GRID = Grid(Layout.of_counts("0,0,1,1", 4, 4))


def cell(row, column):
    return row * 4 + column


def corners(*walks):
    trips = Trips.of_lists([[cell(*at) for at in walk] for walk in walks], GRID)
    return find_corners(GRID, trips.location, trips.offsets).tolist()


def test_a_cell_between_two_diagonal_neighbours_is_a_corner():
    assert corners([(0, 0), (0, 1), (1, 1)]) == [False, True, False]


def test_a_straight_way_and_a_way_there_and_back_have_no_corner():
    assert corners([(0, 0), (0, 1), (0, 2)], [(0, 0), (0, 1), (0, 0)]) == [False] * 6


def test_stairs_lose_every_second_step_and_stay_a_way():
    stairs = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
    assert corners(stairs) == [False, True, False, True, False]
    rule = LegalityRule(impossible="route", corners="cut")
    left = rule.apply(Trips.of_lists([[cell(*at) for at in stairs]], GRID))
    assert left.to_lists() == [[cell(0, 0), cell(1, 1), cell(2, 2)]]
    assert GRID.successors.contains(left.location[:-1], left.location[1:]).all()


def test_what_becomes_of_a_trip_depends_on_that_trip_alone():
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 16, rng.integers(1, 9)).tolist() for _ in range(200)]
    rule = LegalityRule(impossible="route", corners="cut")
    together = rule.apply(Trips.of_lists(lists, GRID)).to_lists()
    alone = [rule.apply(Trips.of_lists([trip], GRID)).to_lists()[0] for trip in lists]
    assert together == alone


def test_the_rule_says_that_corners_are_left_out():
    assert "diagonal neighbours" in LegalityRule(impossible="route", corners="cut").sentence()
    assert "diagonal neighbours" not in LegalityRule(impossible="route").sentence()
