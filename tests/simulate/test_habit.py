"""Riders who board what comes first: legal trips, repeatable, and not the shortest ones."""

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.simulate.habit import Habits, simulate_habit
from wayveil.world.paths import shortest_paths
from weave_city import small_town


@pytest.fixture(scope="module")
def trips():
    return simulate_habit(small_town(), 1_500, seed=1)


def test_trips_are_legal_and_reach_another_stop(trips):
    inside = np.ones(trips.visits, bool)
    inside[trips.offsets[1:] - 1] = False
    at = np.flatnonzero(inside)
    assert np.all(small_town().edge_index(trips.location[at], trips.location[at + 1]) >= 0)
    assert np.all(trips.origins() != trips.destinations())
    assert np.all(np.diff(trips.time)[inside[:-1]] > 0)


def test_the_same_seed_gives_the_same_trips(trips):
    again = simulate_habit(small_town(), 1_500, seed=1)
    assert again.to_lists() == trips.to_lists()
    assert simulate_habit(small_town(), 1_500, seed=2).to_lists() != trips.to_lists()


def test_people_do_not_all_take_the_shortest_way(trips):
    best = shortest_paths(small_town(), trips.origins(), trips.destinations(), "seconds")
    assert trips.lengths.sum() > 1.02 * len(best.location)


def test_creatures_of_habit_choose_fewer_ways():
    ways = {}
    for habit in (0.0, 1.0):
        made = simulate_habit(small_town(), 4_000, seed=3, habits=Habits(classes=1, habit=habit), times=False)
        assert made.time is None
        ways[habit] = len({tuple(trip) for trip in made.to_lists()})
    assert ways[1.0] < ways[0.0]


def test_the_afternoon_goes_back():
    trips = simulate_habit(small_town(), 6_000, seed=4)
    morning = trips.time[trips.offsets[:-1]] < 12 * 3600
    size = small_town().size
    out, back = (
        np.bincount(ends, minlength=size)
        for ends in (trips.destinations()[morning], trips.origins()[~morning])
    )
    assert np.corrcoef(out, back)[0, 1] > 0.8


def test_nobody_is_no_simulation():
    with pytest.raises(ParameterError, match="at least one rider"):
        simulate_habit(small_town(), 0, seed=1)
