import pytest
from tiny_feed import calls, feed_zip, trip_table

from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

# Two stations of two platforms each, and a bus stop; about 72 metres from one longitude to the next.
STOPS = (
    "stop_id,stop_lat,stop_lon,location_type,parent_station\n"
    "S,50,8.000,1,\nS1,50,8.000,0,S\nS2,50,8.000,0,S\n"
    "T,50,8.001,1,\nT1,50,8.001,0,T\nT2,50,8.001,0,T\n"
    "U,50,8.004,0,\n"
)
TIMES = calls(
    ("t1", [("08:00:00", "S1"), ("08:30:00", "U")]),
    ("t2", [("08:00:00", "T1"), ("08:30:00", "U")]),
    ("t3", [("08:00:00", "S2"), ("08:30:00", "U")]),
    ("t4", [("08:00:00", "T2"), ("08:30:00", "U")]),
)
HEADER = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\n"


def city(tmp_path, transfers: str | None = None, **options) -> Network:
    trips = trip_table("t1", "t2", "t3", "t4")
    path = feed_zip(tmp_path / "f.zip", stops=STOPS, stop_times=TIMES, trips=trips, transfers=transfers)
    return read_gtfs(path, **options)


def walks(network: Network) -> dict[str, int]:
    return {
        f"{network.ids[a]}>{network.ids[b]}": int(seconds)
        for a, b, seconds, walk in zip(
            network.sources, network.indices, network.seconds, network.walk, strict=True
        )
        if walk
    }


def test_without_transfers_or_radius_nobody_walks_between_stations(tmp_path):
    assert walks(city(tmp_path)) == {}


def test_a_transfer_keeps_its_time_and_its_direction(tmp_path):
    assert walks(city(tmp_path, HEADER + "S1,T2,2,240\n")) == {"S>T": 240}


def test_the_quickest_of_several_rows_counts(tmp_path):
    assert walks(city(tmp_path, HEADER + "S1,T2,2,240\nS2,T1,2,180\nS1,T1,0,\n")) == {"S>T": 180}


def test_a_transfer_without_a_time_takes_the_walk_and_at_least_a_minute(tmp_path):
    assert walks(city(tmp_path, HEADER + "S1,T2,,\nT,U,1,\n")) == {"S>T": 60}
    assert walks(city(tmp_path, HEADER + "U,T,1,\n")) == {"U>T": 179}


def test_a_transfer_where_vehicles_run_adds_nothing(tmp_path):
    network = city(tmp_path, HEADER + "S,U,2,30\n")
    assert walks(network) == {}
    assert network.seconds.tolist() == [1800, 1800]


def test_a_radius_links_all_that_is_near_in_both_directions(tmp_path):
    assert walks(city(tmp_path, walk_radius_metres=100)) == {"S>T": 60, "T>S": 60}
    assert walks(city(tmp_path, walk_radius_metres=100, walking_speed=0.5)) == {"S>T": 143, "T>S": 143}


def test_a_forbidden_transfer_is_not_walked_by_radius_either(tmp_path):
    assert walks(city(tmp_path, HEADER + "S,T,3,\n", walk_radius_metres=100)) == {"T>S": 60}


def test_a_pair_is_forbidden_only_if_no_row_allows_it(tmp_path):
    assert walks(city(tmp_path, HEADER + "S1,T1,3,\nS2,T2,2,90\n", walk_radius_metres=100)) == {
        "S>T": 90,
        "T>S": 60,
    }


def test_rules_for_single_trips_forbid_nothing_and_staying_seated_is_no_walk(tmp_path):
    header = "from_stop_id,to_stop_id,transfer_type,min_transfer_time,from_trip_id,to_trip_id\n"
    assert walks(city(tmp_path, header + "S,T,3,,t1,t2\n", walk_radius_metres=100)) == {"S>T": 60, "T>S": 60}
    assert walks(city(tmp_path, header + "S,T,4,,t1,t2\nS,T,5,,t1,t2\n")) == {}


def test_rows_about_unknown_stops_are_counted(tmp_path):
    network = city(tmp_path, HEADER + "S,??,0,\n,T,0,\nS,S,2,60\n")
    assert walks(network) == {}
    assert network.warnings == ["2 rows of transfers.txt named a stop that is not in stops.txt: left out."]


def test_a_transfer_between_stations_means_all_their_platforms(tmp_path):
    network = city(tmp_path, HEADER + "S,T,2,240\nS,S,2,100\n", stations=False)
    between = {f"S{i}>T{j}": 240 for i in (1, 2) for j in (1, 2)}
    assert walks(network) == between | {"S1>S2": 100, "S2>S1": 100, "T1>T2": 60, "T2>T1": 60}


def test_a_station_may_forbid_changing_inside_it(tmp_path):
    assert walks(city(tmp_path, HEADER + "S1,S2,3,\n", stations=False)) == {
        "S2>S1": 60,
        "T1>T2": 60,
        "T2>T1": 60,
    }


def test_walks_end_at_the_box(tmp_path):
    assert walks(city(tmp_path, walk_radius_metres=100, bbox=(49, 7, 51, 8.0005))) == {}


@pytest.mark.parametrize("radius", [100, 400])
def test_walking_edges_have_no_route_and_no_runs(tmp_path, radius):
    network = city(tmp_path, walk_radius_metres=radius)
    per_edge = network.route_indptr[1:] - network.route_indptr[:-1]
    assert (per_edge[network.walk] == 0).all()
    assert (network.runs[network.walk] == 0).all()
    assert (network.runs[~network.walk] > 0).all()
