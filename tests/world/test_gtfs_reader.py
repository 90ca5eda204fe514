import zipfile

import numpy as np
import pytest
from tiny_feed import STOP_TIMES, STOPS, calls, feed_folder, feed_zip, trip_table

from wayveil.errors import InputError, ParameterError
from wayveil.world.geo import haversine
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network


def edges(network: Network) -> dict[tuple[str, str], int]:
    return {
        (str(network.ids[a]), str(network.ids[b])): int(s)
        for a, b, s in zip(network.sources, network.indices, network.seconds, strict=True)
    }


def walks(network: Network) -> set[tuple[str, str]]:
    return {pair for pair, walk in zip(edges(network), network.walk, strict=True) if walk}


def test_a_folder_and_a_zip_give_the_same_network(tmp_path):
    folder = read_gtfs(feed_folder(tmp_path / "feed"))
    zipped = read_gtfs(feed_zip(tmp_path / "feed.zip"))
    assert edges(folder) == {("A", "B"): 120, ("B", "C"): 120}
    assert folder.fingerprint() == zipped.fingerprint()
    assert folder.warnings == []


def test_travel_time_runs_from_departure_to_arrival(tmp_path):
    # B departs a minute after it arrives; that minute belongs to no edge.
    network = read_gtfs(feed_zip(tmp_path / "f.zip"))
    assert network.seconds.sum() == 5 * 60 - 60


def test_metres_are_the_great_circle(tmp_path):
    network = read_gtfs(feed_zip(tmp_path / "f.zip"))
    assert network.metres == pytest.approx(haversine(50, [8, 8.01], 50, [8.01, 8.02]))


def test_a_folder_inside_the_zip_is_found_and_the_mac_shadow_ignored(tmp_path):
    path = feed_zip(tmp_path / "f.zip", inside="export/google/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/export/stop_times.txt", b"\x00")
    assert read_gtfs(path).size == 3


def test_a_zip_with_two_feeds_is_refused(tmp_path):
    path = feed_zip(tmp_path / "f.zip", inside="one/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("two/stop_times.txt", "x")
    with pytest.raises(InputError, match=r"holds 2 feeds \(one, two\)"):
        read_gtfs(path)


def test_byte_order_mark_crlf_quotes_blanks_and_extra_columns_do_no_harm(tmp_path):
    stops = (
        b'\xef\xbb\xbfstop_desc, stop_id ,stop_name,"stop_lat",stop_lon,what\r\n'
        b'"a, b",A,"Alpha, ""the"" first",50.0,8.0,x\r\n'
        b",B ,Beta,50.0, 8.01,\r\n"
        b"\r\n"
        b",C,Gamma,50.0,8.02\r\n"
    )
    network = read_gtfs(feed_zip(tmp_path / "f.zip", raw={"stops": stops}))
    assert network.names.tolist() == ['Alpha, "the" first', "Beta", "Gamma"]
    assert len(edges(network)) == 2


@pytest.mark.parametrize(
    ("encoding", "word"), [("utf-8", None), ("cp1252", "Windows-1252"), ("utf-16", "UTF-16")]
)
def test_names_survive_their_encoding(tmp_path, encoding, word):
    text = STOPS.replace("Alpha", "Sauvé")
    network = read_gtfs(feed_zip(tmp_path / "f.zip", raw={"stops": text.encode(encoding)}))
    assert network.names[0] == "Sauvé"
    assert [word in sentence for sentence in network.warnings] == ([True] if word else [])


def test_stop_sequence_orders_the_calls_whatever_the_order_of_the_file(tmp_path):
    lines = STOP_TIMES.replace(",1\n", ",5\n").replace(",2\n", ",10\n").replace(",3\n", ",700\n").splitlines()
    shuffled = "\n".join([lines[0], lines[3], lines[1], lines[2]]) + "\n"
    assert edges(read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=shuffled))) == {
        ("A", "B"): 120,
        ("B", "C"): 120,
    }


def test_trips_whose_rows_are_interleaved_are_told_apart(tmp_path):
    one = calls(
        ("t1", [("08:00:00", "A"), ("08:01:00", "B")]), ("t2", [("09:00:00", "C"), ("09:03:00", "A")])
    )
    rows = one.splitlines()
    mixed = "\n".join([rows[0], rows[3], rows[1], rows[4], rows[2]]) + "\n"
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=mixed, trips=trip_table("t1", "t2")))
    assert edges(network) == {("A", "B"): 60, ("C", "A"): 180}


def test_times_pass_midnight(tmp_path):
    table = calls(("t1", [("23:59:00", "A"), ("24:01:00", "B"), ("25:31:00", "C")]))
    assert edges(read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table))) == {
        ("A", "B"): 120,
        ("B", "C"): 5400,
    }


def test_single_digit_hours_are_times(tmp_path):
    table = calls(("t1", [("6:00:00", "A"), (" 6:05:00", "B")]))
    assert edges(read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table))) == {("A", "B"): 300}


def test_blank_times_are_interpolated_by_distance(tmp_path):
    stops = "stop_id,stop_lat,stop_lon\nA,50,8.00\nB,50,8.01\nC,50,8.04\n"
    table = calls(("t1", [("08:00:00", "A"), ("", "B"), ("08:04:00", "C")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table))
    assert edges(network) == {("A", "B"): 60, ("B", "C"): 180}
    assert network.warnings == ["1 call had no time and got one between the nearest timepoints."]


def test_one_of_the_two_times_stands_for_both(tmp_path):
    table = (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "t1,,08:00:00,A,1\nt1,08:02:00,,B,2\nt1,08:05:00,,C,3\n"
    )
    assert edges(read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table))) == {
        ("A", "B"): 120,
        ("B", "C"): 180,
    }


def test_calls_beyond_the_last_timepoint_get_the_speed_of_the_rest(tmp_path):
    table = calls(("t1", [("08:00:00", "A"), ("08:02:00", "B"), ("", "C")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table))
    assert edges(network) == {("A", "B"): 120, ("B", "C"): 120}
    assert network.warnings[0] == "1 call had no time and no timepoint on both sides."
    assert network.warnings[1].startswith("1 edge had no usable time: set to distance at")


def test_a_feed_without_any_time_still_has_edges(tmp_path):
    table = "trip_id,stop_id,stop_sequence\nt1,A,1\nt1,B,2\n"
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table))
    assert network.seconds.tolist() == [round(network.metres[0] / 5)]


def test_legs_that_go_back_in_time_are_counted_and_not_used(tmp_path):
    table = calls(
        ("t1", [("08:00:00", "A"), ("07:00:00", "B")]),
        ("t2", [("09:00:00", "A"), ("09:01:30", "B")]),
    )
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table, trips=trip_table("t1", "t2")))
    assert edges(network) == {("A", "B"): 90}
    assert "1 leg arrived before departing: time not used." in network.warnings
    assert network.runs.tolist() == [2]


def test_an_edge_of_no_time_gets_the_usual_speed_and_never_less_than_a_second(tmp_path):
    stops = STOPS + "D,Delta,50.0,8.02\n"
    table = calls(
        ("t1", [("08:00:00", "A"), ("08:02:00", "B"), ("08:02:00", "C"), ("08:02:00", "D")]),
    )
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table))
    assert edges(network) == {("A", "B"): 120, ("B", "C"): 120, ("C", "D"): 1}


def test_seconds_are_the_lower_median_over_trips(tmp_path):
    minutes = [1, 2, 2, 7, 9, 9]
    trips = [f"t{i}" for i in range(len(minutes))]
    table = calls(
        *((t, [("08:00:00", "A"), (f"08:0{m}:00", "B")]) for t, m in zip(trips, minutes, strict=True))
    )
    assert edges(read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table, trips=trip_table(*trips)))) == {
        ("A", "B"): 120
    }


def test_frequencies_weigh_the_median_and_count_the_runs(tmp_path):
    table = calls(
        ("slow", [("00:00:00", "A"), ("00:10:00", "B")]), ("fast", [("00:00:00", "A"), ("00:01:00", "B")])
    )
    frequencies = (
        "trip_id,start_time,end_time,headway_secs\n"
        "slow,06:00:00,07:00:01,1800\nslow,08:00:00,07:00:00,60\nslow,07:00:00,08:00:00,0\n"
    )
    network = read_gtfs(
        feed_zip(
            tmp_path / "f.zip", stop_times=table, trips=trip_table("slow", "fast"), frequencies=frequencies
        )
    )
    assert network.runs.tolist() == [4]
    assert edges(network) == {("A", "B"): 600}
    assert "2 rows of frequencies.txt had no positive span and headway: left out." in network.warnings


def test_platforms_collapse_to_their_station_and_keep_its_name(tmp_path):
    stops = (
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n"
        "S,Hauptbahnhof,50,8,1,\nP1,Gleis 1,50.0001,8,0,S\nP2,Gleis 2,50.0002,8,,S\nBA,Sektor A,50.0003,8,4,P2\n"
        "E,Eingang,50,8,2,S\nN,Treppe,,,3,S\nT,Ziel,50,8.02,0,\n"
    )
    table = calls(("t1", [("08:00:00", "BA"), ("08:05:00", "T"), ("08:09:00", "P1"), ("08:10:00", "P2")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table))
    assert network.ids.tolist() == ["S", "T"]
    assert network.names.tolist() == ["Hauptbahnhof", "Ziel"]
    assert (network.lat[0], network.lon[0]) == (50, 8)
    assert edges(network) == {("S", "T"): 300, ("T", "S"): 240}
    assert network.index_of(["P1", "BA", "S", "E", "?"]).tolist() == [0, 0, 0, -1, -1]
    assert network.stop_ids.tolist() == ["BA", "P1", "P2", "T"]


def test_without_stations_platforms_stay_and_are_linked_on_foot(tmp_path):
    stops = (
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n"
        "S,Hauptbahnhof,50,8,1,\nP1,Gleis 1,50.0001,8,0,S\nP2,Gleis 2,50.0101,8,0,S\nBA,Sektor,50.0003,8,4,P2\n"
        "T,Ziel,50,8.02,0,\n"
    )
    table = calls(("t1", [("08:00:00", "BA"), ("08:05:00", "T"), ("08:09:00", "P1")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table), stations=False)
    assert network.ids.tolist() == ["P1", "P2", "T"]
    assert walks(network) == {("P1", "P2"), ("P2", "P1")}
    assert edges(network)["P1", "P2"] == int(np.ceil(haversine(50.0001, 8, 50.0101, 8) / 1.2))


def test_a_parent_without_a_row_is_made_from_its_platforms(tmp_path):
    stops = (
        "stop_id,stop_name,stop_lat,stop_lon,parent_station\n"
        "P1,Markt,50,8,S\nP2,Markt Süd,50.002,8.004,S\nT,Ziel,50,8.02,\n"
    )
    table = calls(("t1", [("08:00:00", "P1"), ("08:01:00", "P2"), ("08:05:00", "T")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table))
    assert network.ids.tolist() == ["S", "T"]
    assert network.names.tolist() == ["Markt", "Ziel"]
    assert (network.lat[0], network.lon[0]) == (pytest.approx(50.001), pytest.approx(8.002))
    assert network.warnings == ["1 parent station had no row in stops.txt: made from platforms."]
    assert edges(network) == {("S", "T"): 240}


def test_parents_that_go_in_circles_do_not_hang(tmp_path):
    stops = "stop_id,stop_lat,stop_lon,parent_station\nA,50,8,B\nB,50,8.01,A\nC,50,8.02,C\n"
    assert 1 <= read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops)).size <= 3


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    stops = (
        STOPS + "A,Again,1,1\n,Nameless,50,8\nX,Nowhere,,\nZ,Null island,0,0\nY,Mars,123,8\nQ,Quiet,50,8\n"
    )
    table = STOP_TIMES + (
        't1,08:06:00,08:06:00,,4\nt1,08:07:00,08:07:00,"",5\nt1,08:07:00,08:07:00,X,6\nt1,08:08:00,08:08:00,??,7\n'
        "ghost,08:00:00,08:00:00,A,1\nt1,08:09:00,08:09:00,A,3\n"
    )
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table))
    assert network.ids.tolist() == ["A", "B", "C"]
    assert sorted(network.warnings) == [
        "1 row of stop_times.txt named a trip that is not in trips.txt: left out.",
        "1 row of stop_times.txt repeated a stop_sequence of its trip: the order of the file counts.",
        "1 row of stops.txt had no stop_id: left out.",
        "1 row of stops.txt repeated a stop_id: the first one counts.",
        "2 rows of stop_times.txt had no stop_id (flexible service): left out.",
        "2 rows of stop_times.txt named a stop that stops.txt does not have or does not place: left out.",
        "3 stops had no usable coordinates.",
        "4 places of stops.txt saw no call of the chosen trips: left out.",
    ]
    assert ("C", "A") in edges(network)


@pytest.mark.parametrize("stations", [True, False])
def test_a_platform_without_coordinates_is_where_its_station_is(tmp_path, stations):
    stops = (
        "stop_id,stop_lat,stop_lon,location_type,parent_station\nS,50,8,1,\nP,,,0,S\nB,50,8.01,0,\nN,,,3,S\n"
    )
    table = calls(("t1", [("08:00:00", "P"), ("08:02:00", "B")]))
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table), stations=stations)
    assert edges(network) == {("S" if stations else "P", "B"): 120}
    assert network.lon.tolist() == [8.01, 8.0]
    assert network.warnings == ["1 stop had no usable coordinates."]


def test_routes_are_listed_per_edge(tmp_path):
    routes = "route_id,route_short_name,route_long_name,route_type\nR2,,Zoo Line,1\nR1,7,,3\nR9,9,,3\n"
    trips = "route_id,service_id,trip_id\nR1,W,t1\nR2,W,t2\nR1,W,t3\n"
    table = calls(
        ("t1", [("08:00:00", "A"), ("08:02:00", "B"), ("08:04:00", "C")]),
        ("t2", [("08:00:00", "B"), ("08:02:00", "C")]),
        ("t3", [("09:00:00", "B"), ("09:02:00", "C")]),
    )
    network = read_gtfs(feed_zip(tmp_path / "f.zip", stop_times=table, trips=trips, routes=routes))
    assert network.route_ids.tolist() == ["R1", "R2"]
    assert network.route_names.tolist() == ["7", "Zoo Line"]
    assert network.route_types.tolist() == [3, 1]
    assert [network.routes_of(e).tolist() for e in range(network.edges)] == [[0], [0, 1]]
    assert network.runs.tolist() == [1, 3]


def test_a_box_keeps_the_stops_inside_and_makes_no_edge_across_the_outside(tmp_path):
    stops = STOPS + "D,Delta,50.0,8.03\nO,Outside,51.0,8.02\n"
    table = calls(
        (
            "t1",
            [("08:00:00", "A"), ("08:02:00", "B"), ("09:00:00", "O"), ("10:05:00", "C"), ("10:07:00", "D")],
        ),
    )
    path = feed_zip(tmp_path / "f.zip", stops=stops, stop_times=table)
    network = read_gtfs(path, bbox="49.9,7.9,50.1,8.1")
    assert edges(network) == {("A", "B"): 120, ("C", "D"): 120}
    assert network.components()[0] == 2
    assert read_gtfs(path, bbox=(49.9, 7.9, 50.1, 8.015)).ids.tolist() == ["A", "B"]


def test_a_network_is_named_after_its_file_or_the_folder_of_a_plain_gtfs_zip(tmp_path):
    assert read_gtfs(feed_zip(tmp_path / "springfield.zip")).name == "springfield"
    assert read_gtfs(feed_zip(tmp_path / "gtfs.zip")).name == tmp_path.name
    assert read_gtfs(feed_zip(tmp_path / "gtfs.zip"), name="mine").name == "mine"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"walk_radius_metres": 0}, "walk radius of 0 metres"),
        ({"walking_speed": -1}, "walking speed of -1"),
        ({"bbox": "1,2,3"}, "is not south,west,north,east"),
        ({"service_date": "tomorrow"}, "'tomorrow' is not a date"),
    ],
)
def test_impossible_options_are_refused_before_the_file_is_opened(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        read_gtfs("/nowhere/at/all.zip", **options)
