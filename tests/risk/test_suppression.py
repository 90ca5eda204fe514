"""Deleting small cells protects nobody: the difference attack, on trips that can be counted by hand."""

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.attacks.suppression import compare_suppression
from wayveil.trips.trips import Trips

CITY = ring_of_stops(6, seconds=60)
# 14 trips from stop 0 to 1 at eight, 4 from stop 0 to 2 at nine, 3 from stop 3 to 4 at eight, 2 from 3 to 5 at nine.
RIDES = [(14, 0, 1, 8), (4, 0, 2, 9), (3, 3, 4, 8), (2, 3, 5, 9)]


def rides(riders=None, times=True):
    begun = [(a, b, hour) for count, a, b, hour in RIDES for _ in range(count)]
    at = np.array([[hour * 3600, hour * 3600 + 60] for _, _, hour in begun]).ravel()
    return Trips(
        np.array([[a, b] for a, b, _ in begun], np.int32).ravel(),
        np.arange(0, 2 * len(begun) + 1, 2),
        CITY,
        at if times else None,
        None if riders is None else np.asarray(riders),
    )


def figures(trips, sheet=None):
    return {each.name: each for each in compare_suppression(trips, sheet or {}).figures}


def test_who_stands_in_a_shown_cell_is_revealed_by_a_second_table_without_her():
    found = figures(rides())["10 or more"].figures
    assert found["kept"] == pytest.approx(14 / 23)
    assert found["revealed"] == pytest.approx(14 / 23), (
        "nobody stands in a cell below ten, and all others are told"
    )


def test_a_total_gives_back_the_only_number_that_was_hidden_of_a_stop():
    found = figures(rides())["10 or more"].figures
    assert (found["hidden"], found["given_back"]) == (3, 1), "that of stop 0; stop 3 hides two"


def test_riders_are_revealed_by_any_of_their_trips():
    one_each_of_both = [*range(14), 0, 1, 2, 3, *range(20, 25)]
    found = figures(rides(one_each_of_both))["10 or more"].figures
    assert found["revealed"] == pytest.approx(14 / 19)


def test_groups_of_like_trips_keep_fewer_trips_than_a_table_of_stops_and_reveal_as_well():
    found = figures(rides(times=False))
    assert found["10 or more"].figures["kept"] == pytest.approx(18 / 23), "18 begin at stop 0"
    assert found["k-anonymity, k = 10"].figures == pytest.approx({"kept": 14 / 23, "revealed": 14 / 23})


def test_what_the_release_allows_stands_beside_it():
    sheet = {"private": True, "guarantee": {"epsilon": "1", "unit": "rider"}}
    assert "between 27 % and 73 % sure" in str(figures(rides(), sheet)["This release"])


def test_no_trips_reveal_nobody():
    none = rides().take(np.zeros(23, bool))
    assert all(figure.figures["revealed"] == 0 for figure in figures(none).values())
