"""What a row is: legs and pairs put on public ways, one trip at a time."""

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.trips.history import PER_TRIP
from wayveil.trips.legs import over_places, put_on_ways, route_legs
from wayveil.trips.network_fit import fit_moves
from wayveil.trips.read import check, read_trips
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.world import World

RING = ring_of_stops(6, seconds=60)


def test_a_leg_becomes_the_fastest_public_path_with_times_in_between():
    legs = Trips.of_lists([[0, 2], [3], [0, 2, 4]], RING, time=np.array([0, 240, 9, 100, 100, 220]))
    routed = route_legs(legs)
    assert routed.to_lists() == [[0, 1, 2], [3], [0, 1, 2, 3, 4]]
    assert routed.time is not None
    assert routed.time.tolist() == [0, 120, 240, 9, 100, 100, 100, 160, 220]
    assert routed.history.stability == PER_TRIP


def test_every_routed_trip_depends_on_that_trip_alone():
    rng = np.random.default_rng(1)
    lists = [rng.integers(0, 6, rng.integers(1, 5)).tolist() for _ in range(40)]
    together = route_legs(Trips.of_lists(lists, RING)).to_lists()
    alone = [route_legs(Trips.of_lists([each], RING)).to_lists()[0] for each in lists]
    assert together == alone


def test_ends_are_released_over_the_places_without_any_way():
    legs = Trips.of_lists([[0, 3]], RING)
    placed, ways = put_on_ways(legs, "legs", "ends")
    assert (ways, placed.to_lists(), placed.world.restricts_moves) == ("ends", [[0, 3]], False)
    assert over_places(legs).world.names.tolist() == RING.names.tolist()


def test_pairs_are_read_with_their_own_rows_in_errors(tmp_path):
    file = tmp_path / "pairs.csv"
    a, b, c = RING.ids[:3]
    file.write_text(f"origin,destination,start,end\n{a},{b},08:00:00,08:05:00\n{c},{a},09:00:00,09:01:00\n")
    trips = read_trips(file, RING)
    assert trips.to_lists() == [[0, 1], [2, 0]]
    assert trips.time is not None
    file.write_text(f"origin,destination\n{a},{b}\n{a},nowhere\n")
    with pytest.raises(InputError, match="row 2"):
        read_trips(file, RING)
    file.write_text(f"origin,destination,start\n{a},{b},08:00:00\n")
    assert read_trips(file, RING).time.tolist() == [8 * 3600] * 2
    file.write_text(f"origin,destination,end\n{a},{b},08:00:00\n")
    with pytest.raises(InputError, match="an end and no start"):
        read_trips(file, RING)


def test_pairs_that_share_a_trip_are_one_journey():
    a, b, c = RING.ids[:3].tolist()
    rows = pl.DataFrame({"trip_id": [7, 7, 8], "origin": [a, b, c], "destination": [b, c, a]})
    assert read_trips(rows, RING).to_lists() == [[0, 1, 1, 2], [2, 0]]


def test_a_release_of_trips_that_nobody_named_is_refused_where_they_do_not_fit():
    legs = Trips.of_lists([[0, 3]] * 50, RING)
    assert fit_moves(legs).lacking == {"skips": 50}
    with pytest.raises(ParameterError, match="--rows legs"):
        release(legs, "noisy-prefix-tree", epsilon=1, unit="trip")


def test_the_datasheet_says_what_a_row_was():
    legs = Trips.of_lists([[0, 2]] * 400, RING)
    routed = release(legs, "noisy-prefix-tree", epsilon=100, unit=Trip(), rows="legs")
    assert (routed.datasheet["visits"], routed.datasheet["rows"]["ways"]) == ("legs", "routed")
    assert "fastest path" in routed.datasheet["rows"]["sentence"]
    assert np.bincount(routed.trips.lengths).argmax() == 3
    ends = release(legs, "noisy-prefix-tree", epsilon=100, unit=Trip(), rows="legs", ways="ends")
    assert ends.datasheet["rows"]["ways"] == "ends"
    assert not ends.world.restricts_moves
    unsaid = release(route_legs(legs), "noisy-prefix-tree", epsilon=1, unit=Trip())
    assert "did not say" in unsaid.datasheet["rows"]["sentence"]


def test_a_release_of_ends_opens_with_the_network_it_came_from(tmp_path):
    legs = Trips.of_lists([[0, 2]] * 50, RING)
    made = release(legs, "noisy-prefix-tree", epsilon=1, unit="trip", rows="pairs", ways="ends")
    made.save(tmp_path / "out")
    assert type(made).load(tmp_path / "out", RING).world.size == RING.size


def test_all_trips_of_a_rider_count_where_no_bound_is_said_and_the_datasheet_says_as_how_many():
    for riders in ([0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]):
        trips = Trips.of_lists([[0, 1]] * 6, RING, rider=np.array(riders))
        bounds = release(trips, "noisy-prefix-tree", epsilon=1).datasheet["guarantee"]["bounds"]
        assert (bounds["bounding"], bounds["max_trips"]) == ("weights", 2)


def test_milliseconds_and_other_impossible_years_are_named():
    rows = {"trip_id": [1, 1], "stop_id": RING.ids[:2].tolist()}
    for moment, said in ((1_700_000_000_000, "milliseconds"), (7_000_000_000, "1900 to 2100")):
        table = pl.DataFrame({**rows, "event_time": [moment, moment]})
        with pytest.raises(InputError, match=said):
            read_trips(table, RING)
        assert "impossible year" in str(check(table, RING).problems[0])


def test_an_id_with_a_point_and_zero_is_the_whole_number():
    world = World.of_symbols(["7", "25", "8.0"])
    rows = pl.DataFrame({"trip_id": [1, 1, 1], "stop_id": ["25.0", "7", "8.0"]})
    assert [world.ids[at] for at in read_trips(rows, world).location] == ["25", "7", "8.0"]


def test_legs_of_riders_who_take_the_fastest_way_are_counted_as_their_calls(tmp_path):
    """Then nothing is lost by knowing ends only: whatever is measured on calls is measured on legs."""
    city = read_gtfs(write_city(tmp_path / "city.zip", seed=3, stops=40, lines=3))
    calls = simulate_city(city, 2_000, seed=3, cost="seconds").trips
    ends = np.stack([calls.origins(), calls.destinations()], axis=1)
    legs = Trips(ends.ravel(), np.arange(0, ends.size + 1, 2), city)
    routed, ways = put_on_ways(legs, "legs")
    assert ways == "routed"
    assert routed.merged().to_lists() == calls.merged().to_lists()
    assert not fit_moves(legs).fits
    assert fit_moves(routed).fits
