"""`Trips` holds what it is given, refuses what does not fit, and its views are rules per trip."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])
lists_of_trips = st.lists(st.lists(st.integers(0, 2), max_size=5), max_size=6)


def timed(lists: list[list[int]]) -> Trips:
    visits = sum(map(len, lists))
    return Trips.of_lists(lists, ABC, time=np.arange(visits) * 10, rider=np.arange(len(lists)))


@given(lists=lists_of_trips)
def test_lists_survive(lists):
    trips = timed(lists)
    assert trips.to_lists() == lists
    assert len(trips) == len(lists)
    assert trips.lengths.tolist() == [len(trip) for trip in lists]
    assert trips.trip_of_visit().tolist() == [i for i, trip in enumerate(lists) for _ in trip]
    assert trips.origins().tolist() == [trip[0] if trip else -1 for trip in lists]
    assert trips.destinations().tolist() == [trip[-1] if trip else -1 for trip in lists]


@given(lists=lists_of_trips, data=st.data())
def test_taking_trips_takes_their_times_and_riders(lists, data):
    trips = timed(lists)
    index = data.draw(st.lists(st.integers(0, max(0, len(lists) - 1)), max_size=6)) if lists else []
    taken = trips.take(np.asarray(index, np.int64))
    assert taken.to_lists() == [lists[i] for i in index]
    assert taken.rider.tolist() == index
    expected = [t for i in index for t in trips.time[trips.offsets[i] : trips.offsets[i + 1]].tolist()]
    assert taken.time.tolist() == expected
    mask = np.isin(np.arange(len(lists)), index)
    assert trips.take(mask).to_lists() == [trip for i, trip in enumerate(lists) if i in index]


@given(lists=lists_of_trips, length=st.integers(0, 6))
def test_head_and_merged_work_trip_by_trip(lists, length):
    trips = timed(lists)
    assert trips.cut(length).to_lists() == [trip[:length] for trip in lists]
    merged = [[at for i, at in enumerate(trip) if i == 0 or at != trip[i - 1]] for trip in lists]
    assert trips.merged().to_lists() == merged
    assert trips.without_times().time is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"location": [0], "offsets": [0, 2]}, "offsets must run"),
        ({"location": [0, 1], "offsets": [0, 2, 1, 2]}, "not decrease"),
        ({"location": [3], "offsets": [0, 1]}, "outside the world"),
        ({"location": [-1], "offsets": [0, 1]}, "outside the world"),
        ({"location": [0], "offsets": [0, 1], "time": [1, 2]}, "one value per visit"),
        ({"location": [0], "offsets": [0, 1], "rider": []}, "one value per trip"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Trips(world=ABC, **columns)


def test_describe_tells_the_exact_facts():
    trips = Trips.of_lists([[0, 1, 1], [2]], ABC, time=np.array([0, 1, 2, 86_400]), rider=np.array([5, -1]))
    assert trips.describe() == {
        "trips": 2,
        "visits": 4,
        "mean_length": 2.0,
        "max_length": 3,
        "distinct_locations": 3,
        "riders": 1,
        "trips_without_rider": 1,
        "first_time": "00:00:00",
        "last_time": "24:00:00",
    }
    assert Trips.of_lists([], ABC).describe()["trips"] == 0


def test_what_is_taken_does_not_depend_on_the_pieces_it_is_taken_in(monkeypatch):
    world = World([f"p{i}" for i in range(9)])
    rng = np.random.default_rng(3)
    lists = [rng.integers(0, 9, rng.integers(0, 5)).tolist() for _ in range(40)]
    trips = Trips.of_lists(lists, world, time=np.arange(sum(map(len, lists))), rider=np.arange(40))
    index = rng.integers(0, 40, 100)
    whole = trips.take(index)
    monkeypatch.setattr("wayveil.trips.trips.PIECE", 7)
    pieces = trips.take(index)
    assert pieces.to_lists() == whole.to_lists() == [lists[i] for i in index]
    assert np.array_equal(pieces.time, whole.time)
    assert np.array_equal(pieces.rider, index)
    assert len(trips.take(np.zeros(0, np.int64))) == 0


def test_windows_are_counted_once_per_trip_whether_a_trip_is_short_or_long():
    """Long trips are sorted, short ones held against each other; a set of windows is the reference."""
    rng = np.random.default_rng(1)
    world = World([f"s{at}" for at in range(4)])
    trips = Trips.of_lists([rng.integers(0, 4, size).tolist() for size in (1, 3, 40, 300, 2, 250)], world)
    found = gram_counts(trips, 3, once_per_trip=True)
    lists = trips.to_lists()
    kinds = [{tuple(each[at : at + 3]) for at in range(len(each) - 2)} for each in lists]
    expected = Counter(gram for kind in kinds for gram in kind)
    assert dict(zip(map(tuple, found.grams.tolist()), found.count.tolist(), strict=True)) == expected
