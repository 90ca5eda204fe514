"""Riders as a city has them."""

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.simulate.feed import write_city
from wayveil.simulate.riders import Attraction, departures, reachable_stops, simulate_riders
from wayveil.world.geo import haversine
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.places import load_world


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    feed = tmp_path_factory.mktemp("riders") / "city.zip"
    write_city(feed, seed=5)
    return read_gtfs(feed)


@pytest.fixture(scope="module")
def trips(city):
    return simulate_riders(city, 20_000, seed=1).trips


def test_the_same_seed_makes_the_same_riders(city, trips):
    again = simulate_riders(city, 20_000, seed=1).trips
    assert np.array_equal(again.location, trips.location)
    assert np.array_equal(again.time, trips.time)
    assert trips.history.words == ["simulated"]


def test_every_move_is_one_of_the_network_and_every_trip_goes_somewhere(city, trips):
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1]] = False
    into = np.flatnonzero(inner)
    assert (city.edge_index(trips.location[into - 1], trips.location[into]) >= 0).all()
    assert (trips.origins() != trips.destinations()).all()


def test_busy_stops_have_more_service_than_quiet_ones(city, trips):
    service = departures(city).sum(axis=1)
    boardings = np.bincount(trips.origins(), minlength=city.size)
    busy, quiet = (service[order] for order in (np.argsort(-boardings)[:20], np.argsort(boardings)[:20]))
    assert busy.mean() > 1.5 * quiet.mean()


def test_people_ride_less_far_than_chance_would_take_them(city, trips):
    def metres(trips, destinations):
        ends = trips.origins(), destinations
        return float(
            haversine(city.lat[ends[0]], city.lon[ends[0]], city.lat[ends[1]], city.lon[ends[1]]).mean()
        )

    shuffled = np.random.default_rng(0).permutation(trips.destinations())
    assert metres(trips, trips.destinations()) < metres(trips, shuffled)
    near = simulate_riders(city, 20_000, seed=1, demand=Attraction(minutes=2)).trips
    assert metres(near, near.destinations()) < 0.8 * metres(trips, trips.destinations())


def test_nobody_boards_at_an_hour_when_nothing_leaves_the_whole_day(city, trips):
    hour = trips.time[trips.offsets[:-1]] % 86_400 // 3_600
    silent = departures(city)[trips.origins(), hour] == 0
    assert silent.mean() < 0.01


def test_all_parts_of_a_network_are_reached(city):
    both = two_of(city)
    _, part = reachable_stops(both)
    assert len(np.unique(part)) >= 2
    made = simulate_riders(both, 4_000, seed=2).trips
    side = made.origins() >= city.size
    assert 0.3 < side.mean() < 0.7
    assert np.array_equal(side, made.destinations() >= city.size)


def test_a_way_out_is_followed_by_the_way_back(city):
    trips = simulate_riders(city, 50, seed=3, trips_per_rider=3).trips
    origin, destination = (ends.reshape(50, 3) for ends in (trips.origins(), trips.destinations()))
    assert np.array_equal(origin[:, 0], destination[:, 1])
    assert np.array_equal(origin[:, 0], origin[:, 2])
    start = trips.time[trips.offsets[:-1]].reshape(50, 3)
    assert (np.diff(start, axis=1) > 0).all()


def test_service_survives_saving(city, tmp_path):
    city.save(tmp_path / "city.npz")
    again = load_world(tmp_path / "city.npz")
    assert np.array_equal(again.service, city.service)
    assert again.fingerprint() == city.fingerprint()


def test_nobody_is_no_simulation(city):
    with pytest.raises(ParameterError, match="at least one rider"):
        simulate_riders(city, 0, seed=1)


def two_of(city):
    """The same city twice, with nothing in between."""
    places, edges, routes, platforms = city._parts
    size, count = city.size, city.edges
    kind = type
    more = np.array([f"z{name}" for name in places.ids])
    return Network(
        kind(places)(
            np.concatenate([places.ids, more]),
            np.tile(places.names, 2),
            np.tile(places.lat, 2),
            np.concatenate([places.lon, places.lon + 5]),
        ),
        kind(edges)(
            np.concatenate([edges.indptr, edges.indptr[1:] + count]),
            np.concatenate([edges.indices, edges.indices + size]).astype(np.int32),
            *(np.tile(getattr(edges, name), 2) for name in ("seconds", "metres", "walk", "runs")),
            np.concatenate([edges.route_indptr, edges.route_indptr[1:] + len(edges.route)]),
            np.tile(edges.route, 2),
        ),
        routes,
        kind(platforms)(np.concatenate([places.ids, more]), np.arange(2 * size, dtype=np.int32)),
        service=np.tile(city.service, (2, 1)),
    )
