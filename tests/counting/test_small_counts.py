"""What every engine rests on: which trips and visits count, how tallies add up, what pieces of a file must keep to."""

import numpy as np
import polars as pl
import pytest

from wayveil.counting.file_pieces import NotInOrderError, _check_rising, _half_known
from wayveil.counting.local import LocalCounter
from wayveil.counting.steps import RawFacts, Steps
from wayveil.counting.tally import ONE, Count, total
from wayveil.trips.history import PER_TRIP, UNMOVED, Stability
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.world import World

WORLD = World.of_symbols("abc")
TRIPS = Trips.of_lists([[0, 1, 2], [], [2, 2], []], WORLD)


class Places:
    """Visits by their place."""

    width = 1

    def encode(self, location, time):
        return [location]


def test_trips_without_visits_do_not_count():
    assert LocalCounter(TRIPS).trips().counts.tolist() == [2]


@pytest.mark.parametrize(("most", "found"), [(None, [1, 1, 3]), (2, [1, 1, 2]), (1, [1, 0, 1])])
def test_visits_beyond_the_most_of_a_trip_do_not_count(most, found):
    exact = LocalCounter(TRIPS).visits(Places(), 3, most)
    assert np.bincount(exact.keys, exact.counts, 3).tolist() == found


def test_the_tallies_of_all_workers_add_up(monkeypatch):
    places = Count(3, lambda trips: (trips.location, ONE))
    together = total(places, [TRIPS] * 40, TRIPS.visits, workers=1)
    monkeypatch.setattr("wayveil.counting.tally.ThreadPoolExecutor", _InTurn)
    shared = total(places, [TRIPS] * 40, TRIPS.visits, workers=2)
    assert shared.counts.tolist() == together.counts.tolist() == [40, 40, 120]


class _InTurn:
    """Threads that run one after the other, the last tally first: it counts all there is."""

    def __init__(self, workers):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def map(self, work, tallies):
        return [work(tally) for tally in reversed(tallies)]


def test_pieces_together_are_as_unstable_as_the_worst_of_them():
    steady, moved = RawFacts(stability=UNMOVED), RawFacts(stability=PER_TRIP)
    assert steady.joined(moved).stability == moved.joined(steady).stability == PER_TRIP
    some, more = Stability(trips=1, visits=4), Stability(trips=3, visits=2)
    assert some.joined(more) == more.joined(some) == Stability(trips=3, visits=4)


def test_routed_ways_are_paid_for():
    kept = LegalityRule(repeats="keep", impossible="keep")
    routed, plain = (Steps(kept, ways=ways).stability(RawFacts(), WORLD) for ways in ("routed", None))
    assert (routed, plain) == (PER_TRIP, UNMOVED)


@pytest.mark.parametrize("ids", [[3, 4], ["3", "4"], [6, 5], ["x", "y"]])
def test_ids_that_fall_or_change_their_kind_are_refused(ids):
    with pytest.raises(NotInOrderError):
        _check_rising(pl.Series(ids), 5)
    assert _check_rising(pl.Series([5, 5, 7]), 5) == 7


def test_a_trip_with_and_without_its_rider_is_noticed():
    table = pl.DataFrame({"trip_id": [1, 1, 2], "rider": ["a", None, "b"]})
    assert _half_known(table, "rider")
    assert not _half_known(table.filter(pl.col("rider").is_not_null()), "rider")
