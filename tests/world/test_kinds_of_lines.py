"""Networks of some kinds of lines of a feed."""

import numpy as np
import pytest

from wayveil.errors import InputError, ParameterError
from wayveil.lab.studies.lab import Lab
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs
from wayveil.world.opening import open_world


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return write_city(tmp_path_factory.mktemp("city") / "city.zip", 1, stops=150, lines=12)


def test_a_network_has_lines_of_the_kinds_that_were_asked_for(feed):
    whole = read_gtfs(feed)
    assert set(whole.route_types.tolist()) == {1, 3}
    metro, bus = (read_gtfs(feed, kinds=kind) for kind in ("metro", "bus"))
    assert set(metro.route_types.tolist()) == {1}
    assert set(bus.route_types.tolist()) == {3}
    assert sorted([*metro.route_ids, *bus.route_ids]) == whole.route_ids.tolist()
    assert 0 < metro.size < whole.size
    assert set(metro.ids) | set(bus.ids) == set(whole.ids)
    both = read_gtfs(feed, kinds=("bus", "metro"))
    assert np.array_equal(both.indices, whole.indices)
    assert open_world(feed, kinds=("metro",)).fingerprint() == metro.fingerprint()


def test_riders_of_a_study_travel_on_the_kinds_of_a_saved_network(feed, tmp_path):
    metro = read_gtfs(feed, kinds="metro")
    metro.save(tmp_path / "metro.npz")
    lab = Lab(scale="tiny", world=tmp_path / "metro.npz")
    city = lab.city(stops=60, lines=6)()
    assert set(city.route_types.tolist()) == {1}
    trips = simulate_city(city, 50, seed=1).trips
    assert set(city.ids[trips.location]) <= set(metro.ids)


def test_kinds_that_are_none_or_not_there_are_refused(feed):
    with pytest.raises(ParameterError, match="tram, metro, rail, bus, ferry, not zeppelin"):
        read_gtfs(feed, kinds=("metro", "zeppelin"))
    with pytest.raises(InputError, match="no trip of a line of the kind ferry"):
        read_gtfs(feed, kinds="ferry")
    (feed.parent / "places.txt").write_text("a\nb\n")
    with pytest.raises(ParameterError, match="kinds of lines apply to GTFS feeds only"):
        open_world(feed.parent / "places.txt", kinds="bus")
