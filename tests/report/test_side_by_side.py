"""Pictures of a release, with and without raw trips beside: their numbers are those of the trips."""

import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import polars as pl
import pytest
from report_world import grid_city, random_trips

from wayveil.errors import ParameterError
from wayveil.report.contents import write_pictures
from wayveil.report.pictures import hour_chart, length_chart, od_matrices, top_table, zone_matrix, zones
from wayveil.trips.trips import Trips
from wayveil.world.world import World

CITY = grid_city(6)
RAW, PRIVATE = random_trips(CITY, 100, seed=1), random_trips(CITY, 80, seed=2)


def timed(trips: Trips) -> Trips:
    start = np.repeat(np.arange(len(trips)) % 24 * 3600, trips.lengths)
    return Trips(trips.location, trips.offsets, trips.world, start)


def test_every_picture_is_written_with_its_data(tmp_path):
    written = write_pictures(tmp_path, timed(PRIVATE), timed(RAW))
    names = {path.name for path in written}
    sides = [f"{kind}-{side}" for kind in ("map", "od") for side in ("raw", "private", "difference")]
    for name in (*sides, "lengths", "hours"):
        assert {f"{name}.svg", f"{name}.csv"} <= names
    assert {"top-contiguous.csv", "top-gapped.csv", "stops.csv", "moves.csv", "journeys.csv"} <= names
    lengths = pl.read_csv(tmp_path / "lengths.csv").filter(pl.col("side") == "raw")
    counted = {row["stops_per_trip"]: row["trips"] for row in lengths.to_dicts() if row["trips"]}
    assert counted == Counter(RAW.lengths.tolist())
    flows = pl.read_csv(tmp_path / "map-difference.csv")
    assert flows["raw"].sum() == RAW.visits - len(RAW)
    assert (flows["private"] - flows["raw"] == flows["difference"]).all()


def test_without_raw_trips_nothing_names_them(tmp_path):
    for path in write_pictures(tmp_path, timed(PRIVATE)):
        assert "raw" not in path.name
        assert "raw" not in path.read_text().replace("--rawbar", "").replace("drawn", "")


def test_a_saved_picture_stands_alone(tmp_path):
    for path in write_pictures(tmp_path, PRIVATE):
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_text())
            ids = {node.get("id") for node in root.iter()}
            used = {
                node.get("href", "#").removeprefix("#") for node in root.iter() if node.tag.endswith("use")
            }
            assert used <= ids
            assert any(node.tag.endswith("style") for node in root.iter())


def test_hours_need_times_in_the_release():
    assert hour_chart(PRIVATE, timed(RAW)) is None
    alone = hour_chart(timed(PRIVATE), RAW)
    assert set(alone.data["side"]) == {"private"}
    both = hour_chart(timed(PRIVATE), timed(RAW)).data.filter(pl.col("side") == "raw")
    by_hour = Counter()
    for trip, length in enumerate(RAW.lengths.tolist()):
        by_hour[trip % 24] += length > 0
    assert dict(zip(both["hour"], both["trips"], strict=True)) == {h: by_hour[h] for h in range(24)}


def test_lengths_are_shares_of_each_side():
    data = length_chart(PRIVATE, RAW).data
    sums = data.group_by("side").agg(pl.col("share").sum())
    assert sums["share"].to_list() == pytest.approx([1, 1])


def test_matrices_show_both_sides_and_their_difference():
    world = World.of_symbols(list("ab"))
    raw = Trips.of_lists([[0, 0]] * 3 + [[0, 1]], world)
    private = Trips.of_lists([[0, 0]] * 2 + [[1, 0]] * 2, world)
    made = od_matrices(private, raw)
    assert [caption for caption, _ in made.pictures] == ["Raw trips", "Private release", "Private less raw"]
    difference = made.pictures[-1][1].data.sort("origin", "destination")
    assert difference["share"].to_list() == [-0.25, -0.25, 0.5]
    assert [caption for caption, _ in od_matrices(private).pictures] == ["Private release"]


def test_zones_are_squares_from_the_north_west_or_blocks_of_ids():
    zone, names = zones(CITY)
    assert (len(names), names[0], names[-1]) == (36, "A1", "F6")
    north_west = int(np.lexsort((CITY.lon, -CITY.lat))[0])
    assert names[zone[north_west]] == "A1"
    assert names[zone[int(np.lexsort((CITY.lon, CITY.lat))[0])]] == "F1"
    plain = World.of_symbols([f"{i:03d}" for i in range(100)])
    zone, names = zones(plain)
    assert (len(names), zone.max(), names[1]) == (40, 39, "003 ...")
    assert np.all(np.diff(zone) >= 0)
    trips = Trips.of_lists([[0, 99], [1, 98, 0], []], plain)
    matrix = zone_matrix(trips, zone, 40)
    assert (matrix[0, 39], matrix[0, 0], matrix.sum()) == (1, 1, 2)


@pytest.mark.parametrize("gapped", [True, False])
def test_the_table_has_the_top_of_both_sides(gapped):
    table = top_table(PRIVATE, RAW, 5, gapped=gapped)
    assert sorted(table["raw_rank"].drop_nulls()) == [1, 2, 3, 4, 5]
    assert sorted(table["private_rank"].drop_nulls()) == [1, 2, 3, 4, 5]
    assert table["raw_support"][0] == table["raw_support"].max()
    assert " > " in table["stops"][0]
    assert top_table(PRIVATE, None, 5, gapped=gapped).columns == ["stops", "private_rank", "private_support"]


def test_trips_of_two_worlds_have_no_picture(tmp_path):
    with pytest.raises(ParameterError, match="different worlds"):
        write_pictures(tmp_path, random_trips(grid_city(5), 10, seed=1), RAW)
