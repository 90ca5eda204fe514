import numpy as np

from wayveil.mechanisms.markov import Markov
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,5,5", 5, 5))
ROUTE = LegalityRule(impossible="route")


def test_jumps_are_filled_and_times_run_between_their_ends():
    trips = Trips.of_lists([[0, 4], [12], [6, 7, 7, 22]], GRID, time=np.array([0, 80, 5, 1, 2, 3, 33]))
    filled = ROUTE.apply(trips)
    first, second, third = filled.to_lists()
    assert first == [0, 1, 2, 3, 4]
    assert filled.time[:5].tolist() == [0, 20, 40, 60, 80]
    assert second == [12]
    assert (third[0], third[1], third[-1]) == (6, 7, 22)
    assert GRID.successors.contains(np.array(third[:-1]), np.array(third[1:])).all()
    assert len(third) == 5


def test_routing_treats_every_trip_by_itself():
    rng = np.random.default_rng(3)
    lists = [rng.integers(0, 25, rng.integers(1, 6)).tolist() for _ in range(40)]
    together = ROUTE.apply(Trips.of_lists(lists, GRID)).to_lists()
    apart = [ROUTE.apply(Trips.of_lists([one], GRID)).to_lists()[0] for one in lists]
    assert together == apart


def test_where_there_is_no_way_the_trip_is_cut():
    mask = np.ones((1, 5), bool)
    mask[0, 2] = False
    islands = Grid(Layout.of_counts("0,0,1,5", 1, 5), mask=mask)
    assert ROUTE.apply(Trips.of_lists([[0, 1, 3], [2, 3]], islands)).to_lists() == [[0, 1], [2, 3]]


def test_grids_route_unless_told_otherwise():
    assert Markov().rule(GRID).impossible == "route"
    assert "shortest path" in Markov().rule(GRID).sentence()
