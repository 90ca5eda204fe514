"""GPS points to trips: columns, splits, the rules in their order, and what bad files hear."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from wayveil.errors import InputError, ParameterError
from wayveil.trips.point_rules import PointRules
from wayveil.trips.points import Split, read_points, read_tracks
from wayveil.trips.read import check, read_trips
from wayveil.trips.times import read_times
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.gps_figures import GpsFigures
from wayveil.world.grid import Grid, Layout
from wayveil.world.world import World

# One degree of longitude at the equator is 111 km: cells of 0.01 degrees are 1.1 km wide.
GRID = Grid(Layout.of_counts("0,0,0.1,0.1", 10, 10))
EVERY = PointRules(window_seconds=None, fill=False, fewest_visits=1)


def cell(row, column):
    return row * 10 + column


def at(row, column):
    return f"{0.01 * row + 0.005:.4f}", f"{0.01 * column + 0.005:.4f}"


def write(tmp_path, rows, header="tid,datetime,lat,lng", name="points.csv"):
    path = tmp_path / name
    path.write_text(
        "\n".join(([header] if header else []) + [",".join(map(str, row)) for row in rows]) + "\n"
    )
    return path


def walk(trip, start, cells, every=60):
    return [
        (
            trip,
            f"2024-05-06 {(start + i * every) // 3600:02d}:{(start + i * every) // 60 % 60:02d}:"
            f"{(start + i * every) % 60:02d}",
            *at(*place),
        )
        for i, place in enumerate(cells)
    ]


def test_scikit_mobility_columns_are_read_without_options(tmp_path):
    path = write(tmp_path, walk("a", 0, [(1, 1), (1, 2), (2, 2)]) + walk("b", 900, [(5, 5), (5, 6)]))
    trips = read_trips(path, GRID)
    assert trips.to_lists() == [[11, 12, 22], [55, 56]]
    assert trips.rider is None
    assert (np.diff(trips.time[:3]) == 60).all()


def test_a_vehicle_is_split_where_it_is_occupied_and_is_not_a_rider(tmp_path):
    rows = [
        (7, f"08:{i:02d}:00", *reversed(at(1, i)), flag, 30)
        for i, flag in enumerate([0, 1, 1, 1, 0, 1, 1, 0])
    ]
    path = write(tmp_path, rows[::-1], header=None)  # unsorted, like the real files
    columns = ["uid", "datetime", "lng", "lat", "flag", "-"]
    trips = read_points(path, GRID, columns=columns, header=False)
    assert trips.to_lists() == [[11, 12, 13], [15, 16]]
    assert trips.rider is None
    assert trips.time[0] == 8 * 3600 + 60
    known = read_points(path, GRID, columns=columns, header=False, riders="uid")
    assert known.rider.tolist() == [0, 0]


def test_gaps_and_jumps_split_a_stream(tmp_path):
    rows = (
        walk("x", 0, [(0, 0), (0, 1)]) + walk("x", 3600, [(0, 2), (0, 3)]) + walk("x", 3780, [(9, 9), (9, 8)])
    )
    path = write(tmp_path, rows, header="uid,datetime,lat,lng")
    rules = PointRules(fastest_kmh=None)
    assert read_points(path, GRID, split=Split(gap_seconds=1200), rules=rules).to_lists()[0] == [0, 1]
    both = read_points(path, GRID, split=Split(gap_seconds=1200, metres=5000), rules=rules)
    assert both.to_lists() == [[0, 1], [2, 3], [99, 98]]
    assert both.rider.tolist() == [0, 0, 0]


def test_speed_and_box_drop_the_whole_trip(tmp_path):
    fast = walk("fast", 0, [(0, 0), (9, 9), (9, 8)], every=60)
    out = [*walk("out", 0, [(3, 3), (3, 4)]), ("out", "2024-05-06 00:02:00", "0.035", "0.11")]
    path = write(tmp_path, fast + out + walk("good", 0, [(4, 4), (4, 5)]))
    assert read_points(path, GRID).to_lists() == [[44, 45]]
    loose = PointRules(fastest_kmh=None, outside="skip", fill=False)
    assert read_points(path, GRID, rules=loose).to_lists() == [[0, 99, 98], [33, 34], [44, 45]]


def test_one_impossible_point_costs_one_point_by_a_rule_and_check_counts(tmp_path):
    """Two leaps within a minute: 12 km away and back; the way without them is kept."""
    way = [(1, 1), (1, 2), (9, 9), (8, 9), (1, 3)]
    path = write(tmp_path, walk("a", 0, way) + walk("b", 900, [(5, 5), (5, 6)]))
    assert read_points(path, GRID).to_lists() == [[55, 56]]
    skipping = PointRules(faster="skip", fill=False)
    assert read_points(path, GRID, rules=skipping).to_lists() == [[11, 12, 13], [55, 56]]
    notes = check(path, GRID).notes
    assert "1 of 2 trips have a move faster than 150 km/h (2 points) and are dropped" in notes[0]
    assert notes[0].endswith("--with rules.faster=skip")
    assert "such points are skipped" in check(path, GRID, rules=skipping).notes[0]


def test_points_off_the_globe_are_skipped_by_a_rule(tmp_path):
    rows = walk("a", 0, [(1, 1), (1, 2), (1, 3)])
    rows[1] = (*rows[1][:2], "91.5", "13.4")
    with pytest.raises(InputError, match=r"91\.5, 13\.4.* is no latitude and longitude.*no_fix=skip"):
        read_points(write(tmp_path, rows), GRID)
    kept = read_points(write(tmp_path, rows), GRID, no_fix="skip", rules=PointRules(fill=False))
    assert kept.to_lists() == [[11, 13]]


def test_each_minute_has_the_cell_with_most_points(tmp_path):
    cells = [(1, 1), (1, 2), (1, 2), (1, 2), (1, 3), (1, 3)]
    path = write(tmp_path, walk("a", 0, cells, every=15))
    # 0:00-0:45 are the first minute, 1:00 and 1:15 the second.
    trips = read_points(path, GRID, rules=PointRules(fastest_kmh=None))
    assert trips.to_lists() == [[12, 13]]
    assert (trips.time % 86_400).tolist() == [15, 60]


def test_a_tie_goes_to_the_earlier_cell(tmp_path):
    path = write(tmp_path, walk("a", 0, [(1, 2), (1, 1), (1, 1), (1, 2), (5, 5)], every=15))
    assert read_points(path, GRID, rules=PointRules(fastest_kmh=None)).to_lists() == [[12, 55]]


def test_short_gaps_are_filled_on_the_line_and_long_ones_cut_or_drop(tmp_path):
    rows = walk("a", 0, [(1, 1)]) + walk("a", 240, [(1, 5)]) + walk("a", 840, [(1, 6), (1, 7)])
    path = write(tmp_path, rows)
    cut = read_points(path, GRID)
    assert cut.to_lists() == [[11, 12, 13, 14, 15]]
    assert read_points(path, GRID, rules=PointRules(longer="keep")).to_lists() == [
        [11, 12, 13, 14, 15, 16, 17]
    ]
    assert read_points(path, GRID, rules=PointRules(fill=False)).to_lists() == [[11, 15]]
    with pytest.raises(InputError, match="no trip is left"):
        read_points(path, GRID, rules=PointRules(longer="drop"))


def test_repeats_merge_at_the_first_time_and_single_visits_go(tmp_path):
    path = write(tmp_path, walk("a", 0, [(1, 1), (1, 1), (1, 2), (1, 2)]) + walk("b", 0, [(2, 2), (2, 2)]))
    trips = read_points(path, GRID)
    assert trips.to_lists() == [[11, 12]]
    assert (trips.time % 86_400).tolist() == [0, 120]
    assert read_points(path, GRID, rules=PointRules(fewest_visits=1)).to_lists() == [[11, 12], [22]]
    assert read_points(path, GRID, rules=PointRules(merge=False)).to_lists() == [[11, 11, 12, 12], [22, 22]]


def test_the_hour_is_that_of_most_of_the_trip(tmp_path):
    late = walk("a", 17 * 3600 + 58 * 60, [(1, i % 10) for i in range(12)])
    early = walk("b", 17 * 3600 + 50 * 60, [(1, i % 10) for i in range(12)])
    path = write(tmp_path, late + early)
    trips = read_points(path, GRID, rules=PointRules(hour="majority", fastest_kmh=None))
    assert set((trips.time[: trips.offsets[1]] % 86_400).tolist()) == {18 * 3600}
    assert set((trips.time[trips.offsets[1] :] % 86_400).tolist()) == {17 * 3600}


def test_weekends_and_holidays_go_by_the_day_of_the_start(tmp_path):
    monday, sunday = walk("a", 0, [(1, 1), (1, 2)]), walk("b", 0, [(2, 1), (2, 2)])
    sunday = [(trip, moment.replace("05-06", "05-05"), *rest) for trip, moment, *rest in sunday]
    path = write(tmp_path, monday + sunday)
    assert read_points(path, GRID, rules=PointRules(weekends=False)).to_lists() == [[11, 12]]
    assert read_points(path, GRID, rules=PointRules(holidays=(date(2024, 5, 6),))).to_lists() == [[21, 22]]
    clock = write(tmp_path, [("a", "08:00", *at(1, 1)), ("a", "08:01", *at(1, 2))], name="clock.csv")
    with pytest.raises(InputError, match="without dates"):
        read_points(clock, GRID, rules=PointRules.study())


def test_what_becomes_of_a_trip_does_not_depend_on_others(tmp_path):
    rng = np.random.default_rng(1)
    ways = [rng.integers(0, 10, (rng.integers(2, 9), 2)).tolist() for _ in range(30)]
    rules = PointRules(fastest_kmh=250)
    rows = [walk(f"t{i}", int(rng.integers(0, 80_000)), way, every=90) for i, way in enumerate(ways)]
    together = read_points(write(tmp_path, [row for trip in rows for row in trip]), GRID, rules=rules)
    apart = []
    for trip in rows:
        try:
            apart += read_points(write(tmp_path, trip), GRID, rules=rules).to_lists()
        except InputError:
            continue
    assert together.to_lists() == apart


def test_points_snap_to_stops_within_a_radius(tmp_path):
    stops = GRID  # its cells' centres, taken as stops of a plain network
    from wayveil.world.network import Network

    network = Network(*stops._parts)
    rows = [("a", "08:00", 0.0051, 0.0049), ("a", "08:01", 0.0099, 0.0099), ("a", "08:02", 0.0052, 0.0148)]
    path = write(tmp_path, rows)
    assert read_points(path, network, radius=100).to_lists() == [[0, 1]]
    with pytest.raises(ParameterError, match="radius"):
        read_points(path, network)
    with pytest.raises(ParameterError, match="lie in their cell"):
        read_points(path, GRID, radius=100)


def test_our_own_words_are_read_like_those_of_scikit_mobility(tmp_path):
    rows = [("a", "2024-05-06 08:00:00", "0.005", "0.005"), ("a", "2024-05-06 08:01:00", "0.005", "0.015")]
    theirs = read_trips(write(tmp_path, rows), GRID)
    ours = read_trips(write(tmp_path, rows, header="trip_id,event_time,lat,lon"), GRID)
    assert ours.to_lists() == theirs.to_lists()
    assert ours.time.tolist() == theirs.time.tolist()


def test_parquet_and_mapped_columns(tmp_path):
    path = tmp_path / "p.parquet"
    pl.DataFrame(
        {
            "who": ["a", "a"],
            "when": pl.Series(["2024-05-06T08:00:00", "2024-05-06T08:01:00"]).str.to_datetime(),
            "y": [0.005, 0.005],
            "x": [0.005, 0.015],
        }
    ).write_parquet(path)
    columns = {"who": "tid", "when": "datetime", "y": "lat", "x": "lng"}
    assert read_points(path, GRID, columns=columns).to_lists() == [[0, 1]]


GOOD = ("a", "2024-05-06 08:00:00", "0.005", "0.005")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("a", "2024-05-06 08:01:00", "113.8", "22.6"), "row 2: .*swapped"),
        (("a", "2024-05-06 08:01:00", "22.6", "222.6"), "row 2: .*longitude"),
        (("a", "2024-05-06 08:01:00", "0", "0"), "row 2: is at .*fix"),
        (("a", "2024-05-06 08:01:00", "north", "0.1"), "row 2: lat 'north' is not a number"),
        (("a", "2024-05-06 08:01:00", "", "0.1"), "row 2: has no lat; .*remove the row"),
        (("a", "2024-05-06 08:01:00", "nan", "0.1"), "row 2: .*no latitude.*remove it"),
        (("a", "", "0.005", "0.006"), "row 2: has no datetime; .*remove the row"),
        (("", "2024-05-06 08:01:00", "0.005", "0.006"), "row 2: has no tid; .*remove the row"),
        (("a", "noon", "0.005", "0.006"), "row 2: datetime 'noon' cannot be read"),
        (("a", "08:01:00", "0.005", "0.006"), "row 2: .*one form throughout"),
        (("a", "2024-05-06 07:59:00", "0.005", "0.006"), "row 2: is earlier .*--with order=time"),
        (
            ("a", "2024-05-06 08:00:00", "0.005", "0.006"),
            "row 2: is in the same second .*--with repeated=first",
        ),
    ],
)
def test_a_bad_row_is_named_with_its_remedy(tmp_path, row, problem):
    with pytest.raises(InputError, match=problem):
        read_points(write(tmp_path, [GOOD, row]), GRID)


def test_a_swapped_file_is_known_even_where_both_are_latitudes(tmp_path):
    box = Grid(Layout.of_counts("48.8,2.2,48.9,2.4", 5, 5))
    path = write(tmp_path, [("a", "08:00", "2.25", "48.85"), ("a", "08:01", "2.26", "48.85")])
    with pytest.raises(InputError, match="swapped"):
        read_points(path, box)


def test_missing_world_split_flag_and_columns_are_said(tmp_path):
    path = write(tmp_path, [GOOD, GOOD], header="uid,datetime,lat,lng")
    with pytest.raises(ParameterError, match="never from the data"):
        read_points(path, None)
    with pytest.raises(ParameterError, match="never from the data"):
        read_points(path, World.of_symbols("ab"))
    with pytest.raises(InputError, match="say how points become trips"):
        read_points(path, GRID)
    with pytest.raises(InputError, match="no column 'flag'"):
        read_points(path, GRID, split=Split(flag=True))
    with pytest.raises(ParameterError, match="without a header needs"):
        read_points(path, GRID, header=False)
    with pytest.raises(InputError, match="has 4 columns, but 3 are named"):
        read_points(path, GRID, header=False, columns=["uid", "datetime", "lat"])
    with pytest.raises(InputError, match="no column for 'lon'"):
        read_points(write(tmp_path, [("a", 1, 2)], header="uid,datetime,lat"), GRID)
    with pytest.raises(ParameterError, match="fill"):
        PointRules(window_seconds=None, fill=True)


def test_h3_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h3", None)
    path = write(tmp_path, [("a", "08:00", "8928308280fffff")], header="tid,datetime,h3")
    with pytest.raises(ParameterError, match="pip install h3"):
        read_points(path, GRID)


def test_check_finds_everything_at_once(tmp_path):
    rows = [GOOD, ("a", "noon", "0.005", "0.006"), ("a", "2024-05-06 08:02:00", "0", "0")]
    findings = check(write(tmp_path, rows), GRID)
    assert findings.kind == "GPS points"
    assert len(findings.problems) >= 2
    assert not findings.ok


def test_tracks_are_the_points_that_the_trips_were_made_of(tmp_path):
    path = write(tmp_path, walk("a", 0, [(1, 1), (1, 1), (1, 2)]) + walk("b", 0, [(2, 2), (2, 2)]))
    trips, tracks = read_tracks(path, GRID)
    assert trips.to_lists() == [[11, 12]]
    assert tracks.lat == pytest.approx([0.015] * 3)
    assert tracks.lon == pytest.approx([0.015, 0.015, 0.025])
    spread = Tracks.spread(trips, seed=1)
    assert GRID.cell_of(spread.lat, spread.lon).tolist() == trips.location.tolist()
    same = {m.key: m.value for m in GpsFigures(tracks).measure(tracks)}
    assert same["gps/query"] == same["gps/length_jsd"] == same["gps/trip_jsd_nats"] == 0


def test_ends_are_uniform_across_their_way_and_ways_go_straight_where_trips_do():
    row = [[10 * 5 + column for column in range(10)]] * 4_000
    trips = Trips.of_lists([*row, []], GRID)
    made = Tracks.spread(trips, seed=3)
    assert GRID.cell_of(made.lat, made.lon).tolist() == trips.location.tolist()
    layout = GRID.layout
    within = ((made.lat - layout.box.south) / layout.lat_step % 1).reshape(4_000, 10)
    for visit in (0, 9):
        shares = np.histogram(within[:, visit], 10, (0, 1))[0] / 4_000
        assert np.abs(shares - 0.1).max() < 0.02
    # Drawn anew in every cell, neighbours would be a third of a cell apart.
    assert np.abs(np.diff(within, axis=1)).mean() < 0.28


def test_a_trip_is_no_faster_for_the_place_where_the_one_before_ended(tmp_path):
    rows = walk("x", 0, [(0, 0), (0, 1)]) + walk("x", 700, [(9, 9), (9, 8)])
    path = write(tmp_path, rows, header="uid,datetime,lat,lng")
    rules = PointRules(fastest_kmh=70)  # 14 km in eleven minutes, between two trips
    assert read_points(path, GRID, split=Split(gap_seconds=600), rules=rules).to_lists() == [[0, 1], [99, 98]]


def test_a_gap_of_exactly_the_limit_is_long(tmp_path):
    for seconds, found in ((299, [[11, 12, 13]]), (300, [[11, 12]])):
        rows = walk("a", 0, [(1, 1), (1, 2)]) + walk("a", 60 + seconds, [(1, 3)])
        rules = PointRules(fill=False, window_seconds=None)
        assert read_points(write(tmp_path, rows), GRID, rules=rules).to_lists() == found


@pytest.mark.parametrize("split", [None, Split(gap_seconds=200)])
def test_points_are_the_same_read_in_pieces_of_any_size(tmp_path, monkeypatch, split):
    rng = np.random.default_rng(1)
    rows = [row for trip in range(30) for row in walk(f"t{trip}", 60 * trip, rng.integers(0, 4, (9, 2)), 50)]
    rng.shuffle(rows)
    path = write(tmp_path, [(f"u{at % 7}", *row) for at, row in enumerate(rows)], "uid,tid,datetime,lat,lng")

    def read():
        return read_tracks(path, GRID, split=split, order="time", repeated="first")

    trips, tracks = read()
    for module in ("points", "point_tables", "source_points"):
        monkeypatch.setattr(f"wayveil.trips.{module}.BLOCK", 5)
    monkeypatch.setattr("wayveil.trips.point_tables.blocks.__defaults__", (5,))
    small, same = read()
    for one, other in (
        *((getattr(trips, name), getattr(small, name)) for name in ("location", "offsets", "time", "rider")),
        *((getattr(trips.source, name), getattr(small.source, name)) for name in ("points", "moves")),
        *((getattr(tracks, name), getattr(same, name)) for name in ("lat", "lon", "offsets")),
    ):
        assert (one == other).all()
    assert len(trips) > 20
    assert trips.rider_ids.to_list() == small.rider_ids.to_list()


def test_a_time_as_plain_text_is_the_same_as_by_its_distinct_texts():
    texts = [
        "2026-04-03 08:05:09",
        "2026-4-3 08:05:09",
        "2026-04-03T08:05",
        "2026-04-03t08:05",
        "2026-02-30 08:05",
    ]
    texts += [
        "2026-04-03 24:05",
        "2026-04-03 08:05:09.5",
        "2026-04-03 08:05Z",
        "08:05",
        "1775203509",
        "",
        None,
        "x",
    ]
    texts += ["1899-01-01 00:00:00", "2026/04/03 08:05", " 2026-04-03 08:05", "2026-04-03 08:05 PM"]
    plain, distinct = (read_times(pl.Series(texts, dtype=kind)) for kind in (pl.String, pl.Categorical))
    for name in ("wall", "offset", "form"):
        assert getattr(plain, name).tolist() == getattr(distinct, name).tolist()
