"""Pictures of raw trips beside a release: their numbers are those of the trips."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from report_world import grid_city, random_trips

from wayveil.errors import ParameterError
from wayveil.report.pictures import side_by_side, top_table, write_pictures, zone_matrix, zones
from wayveil.trips.trips import Trips
from wayveil.world.world import World

CITY = grid_city(6)
RAW, PRIVATE = random_trips(CITY, 100, seed=1), random_trips(CITY, 80, seed=2)


def timed(trips: Trips) -> Trips:
    start = np.repeat(np.arange(len(trips)) % 24 * 3600, trips.lengths)
    return Trips(trips.location, trips.offsets, trips.world, start)


def test_every_picture_is_written_with_its_data(tmp_path):
    written = write_pictures(tmp_path, timed(RAW), timed(PRIVATE))
    names = {path.name for path in written}
    assert {"od-matrices.svg", "od-matrices.csv", "lengths.svg", "lengths.csv"} <= names
    assert {"departures.svg", "departures.csv", "top-contiguous.csv", "top-gapped.csv"} <= names
    lengths = pl.read_csv(tmp_path / "lengths.csv").filter(pl.col("side") == "raw")
    counted = {row["stops per trip"]: row["trips"] for row in lengths.to_dicts() if row["trips"]}
    assert counted == Counter(RAW.lengths.tolist())


def test_departures_need_times_on_both_sides():
    assert [chart.name for chart in side_by_side(timed(RAW), PRIVATE)] == ["od-matrices", "lengths"]


def test_zones_are_cells_or_blocks_of_ids():
    zone, names = zones(CITY)
    assert (zone.tolist(), len(names)) == (list(range(36)), 36)
    plain = World.of_symbols([f"{i:03d}" for i in range(100)])
    zone, names = zones(plain)
    assert (len(names), zone.max(), names[1]) == (40, 39, "003 ...")
    assert np.all(np.diff(zone) >= 0)
    trips = Trips.of_lists([[0, 99], [1, 98, 0], []], plain)
    matrix = zone_matrix(trips, zone, 40)
    assert (matrix[0, 39], matrix[0, 0], matrix.sum()) == (1, 1, 2)


@pytest.mark.parametrize("gapped", [True, False])
def test_the_table_has_the_top_of_both_sides(gapped):
    table = top_table(RAW, PRIVATE, 5, gapped=gapped)
    assert sorted(table["raw_rank"].drop_nulls()) == [1, 2, 3, 4, 5]
    assert sorted(table["private_rank"].drop_nulls()) == [1, 2, 3, 4, 5]
    assert table["raw_support"][0] == table["raw_support"].max()
    assert " > " in table["stops"][0]


def test_trips_of_two_worlds_have_no_picture(tmp_path):
    with pytest.raises(ParameterError, match="different worlds"):
        write_pictures(tmp_path, RAW, random_trips(grid_city(5), 10, seed=1))
