import csv
import io
import zipfile

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from wayveil.errors import InputError, ParameterError
from wayveil.simulate.feed import name_places, write_city
from wayveil.simulate.feed_layout import _scatter
from wayveil.world.gtfs import read_gtfs
from wayveil.world.trees import reverse_tree


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return write_city(tmp_path_factory.mktemp("city") / "city.zip", seed=4)


def rows(feed, table: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(feed) as archive:
        return list(csv.DictReader(io.StringIO(archive.read(f"{table}.txt").decode())))


def test_the_city_reads_without_a_single_warning(feed):
    network = read_gtfs(feed)
    assert network.warnings == []
    assert 300 <= network.size <= 360
    assert len(network.stop_ids) > network.size
    assert len(network.route_ids) == 24


def test_every_place_can_be_reached_from_every_other(feed):
    network = read_gtfs(feed)
    assert network.components("strong")[0] == 1
    assert np.isfinite(reverse_tree(network, np.arange(network.size)).distance).all()


def test_the_timetable_alone_connects_the_city(feed):
    network = read_gtfs(feed)
    rides = network.matrix((~network.walk).astype(float))
    rides.eliminate_zeros()
    assert connected_components(rides, connection="strong")[0] == 1
    assert 0 < network.walk.sum() < network.edges / 10


def test_the_same_seed_gives_the_same_file_and_another_seed_another_city(feed, tmp_path):
    again = write_city(tmp_path / "again.zip", seed=4)
    other = write_city(tmp_path / "other.zip", seed=5)
    assert again.read_bytes() == feed.read_bytes()
    assert read_gtfs(other).fingerprint() != read_gtfs(feed).fingerprint()


def test_the_file_is_small(feed):
    assert feed.stat().st_size < 2_000_000


def test_vehicles_are_as_fast_as_vehicles_are(feed):
    network = read_gtfs(feed)
    ride = ~network.walk
    speed = network.metres[ride] / network.seconds[ride]
    assert 3 < speed.min() < speed.max() < 20
    metro = np.asarray(
        [np.any(network.route_types[network.routes_of(e)] == 1) for e in np.flatnonzero(ride)], bool
    )
    assert np.median(speed[metro]) > 1.3 * np.median(speed[~metro])


def test_it_is_a_complete_feed(feed):
    stops = {row["stop_id"]: row for row in rows(feed, "stops")}
    assert len(stops) == len(rows(feed, "stops"))
    names = [row["stop_name"] for row in stops.values() if not row["parent_station"]]
    assert len(set(names)) == len(names)
    assert all(row["parent_station"] in stops for row in stops.values() if row["parent_station"])
    routes = {row["route_id"] for row in rows(feed, "routes")}
    assert all(len(row["route_color"]) == 6 for row in rows(feed, "routes"))
    trips = {row["trip_id"]: row for row in rows(feed, "trips")}
    assert len(trips) == len(rows(feed, "trips"))
    services = {row["service_id"] for row in rows(feed, "calendar")}
    assert all(row["route_id"] in routes and row["service_id"] in services for row in trips.values())
    calls = rows(feed, "stop_times")
    assert {row["trip_id"] for row in calls} == set(trips)
    assert {row["stop_id"] for row in calls} <= {i for i, row in stops.items() if row["location_type"] == "0"}
    assert all({row["from_stop_id"], row["to_stop_id"]} <= set(stops) for row in rows(feed, "transfers"))


def test_times_never_go_back_and_pass_midnight(feed):
    last: dict[str, str] = {}
    latest = ""
    for row in rows(feed, "stop_times"):
        assert last.get(row["trip_id"], "") <= row["arrival_time"] <= row["departure_time"]
        last[row["trip_id"]] = row["departure_time"]
        latest = max(latest, row["arrival_time"])
    assert "25:00:00" < latest < "28:00:00"


def test_service_runs_on_weekdays_only(feed):
    assert read_gtfs(feed, service_date="2026-03-04").size > 300
    for day in ("2026-03-07", "2026-05-01"):
        with pytest.raises(
            InputError, match=f"no trip runs on {day}; the feed covers 2026-01-05 to 2026-12-18"
        ):
            read_gtfs(feed, service_date=day)


@pytest.mark.parametrize(("stops", "lines"), [(40, 2), (60, 6), (150, 12), (200, 20)])
@pytest.mark.parametrize("seed", [0, 1])
def test_small_cities_are_connected_too(tmp_path, stops, lines, seed):
    network = read_gtfs(write_city(tmp_path / "city.zip", seed, stops=stops, lines=lines))
    assert network.components("strong")[0] == 1
    assert len(network.route_ids) == lines
    assert network.size <= stops
    assert network.warnings == []


@pytest.mark.parametrize(
    "size", [{"stops": 39}, {"stops": 10_001}, {"lines": 1}, {"stops": 100, "lines": 11}]
)
def test_cities_beyond_reason_are_refused(tmp_path, size):
    with pytest.raises(ParameterError, match="a city"):
        write_city(tmp_path / "city.zip", **size)
    assert not (tmp_path / "city.zip").exists()


def test_places_of_a_large_city_have_names_of_their_own():
    names = name_places(np.random.default_rng(0), 300, 10_000)
    assert len(names) == len(set(names)) == 10_000


def test_where_the_next_place_has_most_room_does_not_depend_on_how_neighbours_are_looked_up(monkeypatch):
    start = np.array([[0.0, 0.0]])
    one = _scatter(np.random.default_rng(1), start, 5_000.0, 300)
    monkeypatch.setattr("wayveil.simulate.feed_layout._LOOKED_THROUGH", 40)
    assert np.allclose(_scatter(np.random.default_rng(1), start, 5_000.0, 300), one)
