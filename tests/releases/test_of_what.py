"""Every answer says of what it is the number: of all rows, or of those that a bound lets count."""

import numpy as np

from ring_networks import ring_of_stops
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider, Trip
from wayveil.released.datasheet_page import datasheet_page
from wayveil.released.released_trips import say_left_out, say_of_what
from wayveil.run import make_release
from wayveil.trips.trips import Trips

CITY = ring_of_stops(8, seconds=300, skip=2, routes=2)
TRIPS = Trips.of_lists([[0, 1, 2]] * 400, CITY, time=np.tile([0, 300, 600], 400), rider=np.arange(400) // 4)


def made(unit):
    return make_release(
        TRIPS, TapCounts(max_visits=3), epsilon=50, unit=unit, rows="calls", bits=SeededBits(1), seed=1
    )


def test_an_answer_under_a_bound_says_that_it_is_not_of_all_rows():
    bounded = made(Rider(max_trips=2))
    said = "not all rows: at most 2 of each rider, chosen at random, and the first 3 stops of each trip."
    assert said in bounded.ask("stops").note
    assert said in say_of_what(bounded.datasheet)
    assert said in bounded.datasheet["of_what"]
    assert said in datasheet_page(bounded.datasheet)
    left = made(Rider(max_trips=2, without_id="drop"))
    assert "no row without a rider id" in left.ask("stops").note


def test_an_answer_by_weights_is_of_all_rows_and_says_what_riders_with_many_do_to_it():
    weighed = made(Rider(max_trips=2, bounding="weights"))
    said = weighed.datasheet["of_what"]
    assert said.startswith(
        "These numbers cover all rows, the first 3 stops of each trip: every row of a rider"
    )
    assert "at most 32 of each rider" in said
    assert "a place used only by those with 3 to 4 rows" in said
    assert said in weighed.ask("stops").note
    assert weighed.ask("stops").sentence.endswith(
        "These numbers cover all rows, the first 3 stops of each trip, at most 32 of each rider."
    )
    assert "together as at most 2 trips" in " ".join(say_left_out(weighed.datasheet))


def test_an_answer_without_a_bound_is_of_all_rows():
    unbounded = make_release(
        TRIPS, Markov(), epsilon=50, unit=Trip(), rows="calls", bits=SeededBits(1), seed=1
    )
    assert "numbers cover all rows" in unbounded.datasheet["of_what"]


def test_trips_that_are_counted_up_to_a_stop_are_not_counted_whole():
    assert "not all rows: the first 3 stops of each trip." in made(Trip()).ask("stops").note
