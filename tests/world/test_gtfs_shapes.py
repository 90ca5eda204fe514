"""The bends of lines, from shapes.txt to the map."""

import pytest
from tiny_feed import feed_folder

from wayveil.report.svg_map import Canvas
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

TRIPS = "route_id,service_id,trip_id,shape_id\nR,W,t1,S\n"
POINTS = [(50.0, 8.0), (50.004, 8.0), (50.004, 8.01), (50.0, 8.01), (50.0, 8.02)]


def shape(points, name="S"):
    rows = [f"{name},{lat},{lon},{10 * at}" for at, (lat, lon) in enumerate(points)]
    return "\n".join(["shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence", *rows, ""])


def test_lines_are_drawn_along_the_shapes_of_the_feed(tmp_path):
    """Every line ran straight from stop to stop on maps, though the feed knew its bends."""
    network = read_gtfs(feed_folder(tmp_path / "with", trips=TRIPS, shapes=shape(POINTS)))
    network = Network.restored(network.stored())
    canvas = Canvas.of(network)
    x, y = canvas.between[0, 1]
    assert x.tolist() == [canvas.x[0], canvas.x[1]]
    assert (y < canvas.y[0] - 50).all(), "up, and down again"
    assert (1, 2) not in canvas.between, "straight as it is"
    straight = read_gtfs(feed_folder(tmp_path / "without"))
    assert not Canvas.of(straight).between
    assert network.fingerprint() == straight.fingerprint(), "nothing is counted on bends"


def test_a_line_back_is_drawn_where_it_goes_there(tmp_path):
    trips = TRIPS + "R,W,t2,B\nR,W,t3,B\n"
    rows = [
        f"t{trip},08:0{at}:00,08:0{at}:00,{stop},{at}" for trip in (2, 3) for at, stop in enumerate("CBA")
    ]
    calls = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n" + "\n".join(rows) + "\n"
    back = read_gtfs(feed_folder(tmp_path, trips=trips, stop_times=calls, shapes=shape(POINTS[::-1], "B")))
    canvas = Canvas.of(back)
    assert canvas.between[0, 1][0].tolist() == [canvas.x[0], canvas.x[1]]


@pytest.mark.parametrize(
    "text",
    [
        shape([(lat + 1, lon) for lat, lon in POINTS]),
        shape(POINTS, "another"),
        shape(POINTS[:1]),
        shape([("", ""), ("here", "there"), ("nan", "inf")]),
        "shape_id,shape_pt_lat\nS,50.0\n",
        "",
        shape([(50.0, 8.0), (50.3, 8.0), (50.3, 8.01), (50.0, 8.01), (50.0, 8.02)]),
    ],
)
def test_shapes_that_cannot_be_used_bend_nothing(tmp_path, text):
    """Far from its stops, of no trip, of one point or none, or a long way round."""
    assert not Canvas.of(read_gtfs(feed_folder(tmp_path, trips=TRIPS, shapes=text))).between


def test_trips_that_name_no_shape_have_straight_lines(tmp_path):
    assert not Canvas.of(read_gtfs(feed_folder(tmp_path, shapes=shape(POINTS)))).between
