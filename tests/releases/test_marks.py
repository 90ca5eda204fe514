"""Marks travel: what was filled, reconstructed or made up stays known as that, through memory and files, to the end."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from edge_holes import washed
from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.errors import ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.ledger import open_ledger
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.simulate.fare_boxes import simulate_taps, write_vendor_file
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.taps.read import read_taps
from wayveil.taps.taps import write_taps
from wayveil.trips.history import MARKS, History
from wayveil.trips.read import read_trips
from wayveil.trips.tables import write_table
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.visits import write_visits
from wayveil.world.grid import Grid, Layout

CITY = ring_of_stops(12, seconds=120, skip=3, routes=2)
MADE = simulate_taps(CITY, 600, seed=5)
TREE = NoisyPrefixTree(height=2)
SUFFIXES = pytest.mark.parametrize("suffix", ["csv", "parquet"])


@SUFFIXES
def test_reconstructed_riders_do_not_pass_as_honest_taps(tmp_path, suffix):
    """The output of `taps riders` was read back as a tap file and released, even as cards."""
    path = tmp_path / f"riders.{suffix}"
    riders = reconstruct_riders(MADE.taps, seed=1)
    write_table(riders.table(), path, riders.history)
    for columns, way in (
        (None, "counts"),
        ({"time": "event_time", "stop": "stop_id", "card": "rider_id"}, "cards"),
    ):
        taps = read_taps(path, CITY, columns).taps
        assert taps.history.words == ["reconstructed", "simulated"]
        with pytest.raises(ParameterError, match="marked `reconstructed`"):
            release_taps(taps, way, epsilon=1)
        assert release_taps(washed(taps), way, epsilon=1).datasheet["private"] is True


@SUFFIXES
def test_taps_filled_from_the_same_bus_stay_filled_whatever_the_column_map_leaves_out(tmp_path, suffix):
    vendor, path = tmp_path / "vendor.csv", tmp_path / f"clean.{suffix}"
    write_vendor_file(MADE, vendor, seed=1)
    write_taps(read_taps(vendor, CITY, fill="same-bus").taps, path)
    taps = read_taps(path, CITY, {"time": "event_time", "stop": "stop_id"}).taps
    assert not taps.sound
    assert not read_taps(pl.read_csv(path).drop("filled") if suffix == "csv" else path, CITY).taps.sound
    with pytest.raises(ParameterError, match="marked `filled`"):
        release_taps(taps, "counts", epsilon=1)
    with pytest.raises(ParameterError, match="marked `filled`"):
        release(taps.as_single_visits(), TREE, epsilon=1, unit=Trip())
    study = release_taps(taps, "study", epsilon=1, seed=1)
    assert study.datasheet["private"] is False
    assert study.trips.history.words == ["simulated", "not private"]


def test_the_choice_to_fill_marks_taps_even_where_there_was_no_gap():
    rows = pl.DataFrame({"event_time": ["2024-12-16T07:00:00"], "stop_id": ["s001"], "vehicle_id": ["v"]})
    assert read_taps(rows, CITY, fill="same-bus").taps.history.words == ["filled"]
    assert read_taps(rows, CITY).taps.sound


def test_metadata_alone_and_the_column_alone_carry_a_mark(tmp_path):
    trips = simulate_city(CITY, 20, seed=1).trips
    write_visits(trips, tmp_path / "trips.parquet")
    table = pl.read_parquet(tmp_path / "trips.parquet")
    assert table["wayveil_marks"].unique().to_list() == ["simulated"]
    assert pl.read_parquet_metadata(tmp_path / "trips.parquet")["wayveil_marks"] == "simulated"
    table.drop("wayveil_marks").write_parquet(
        tmp_path / "one.parquet", metadata={"wayveil_marks": "simulated"}
    )
    table.write_csv(tmp_path / "two.csv")
    for source in (tmp_path / "one.parquet", tmp_path / "two.csv", table):
        assert read_trips(source, CITY).history.words == ["simulated"]
    assert read_trips(table.drop("wayveil_marks"), CITY).history.words == []


@SUFFIXES
def test_one_simulated_row_among_others_makes_nobody_of_nobody(tmp_path, suffix):
    """One row of 12,000 made the signed datasheet say that it is about nobody."""
    table = simulate_city(CITY, 20, seed=1).trips.to_polars()
    honest = pl.when(pl.col("seq") == 1).then(None).otherwise("wayveil_marks")
    path = tmp_path / f"mixed.{suffix}"
    mixed = table.with_columns(wayveil_marks=honest)
    mixed.write_csv(path) if suffix == "csv" else mixed.write_parquet(
        path, metadata={"wayveil_marks": "simulated"}
    )
    trips = read_trips(path, CITY)
    assert trips.history.words == []
    assert TripFiles.at(path, CITY).history.words == []
    sheet = release(trips, TREE, epsilon=1, unit=Trip()).datasheet
    assert "about nobody" not in sheet["guarantee"]["sentence"]
    assert sheet["source"] == {}


def test_parts_are_simulated_only_together_and_unsound_one_by_one(tmp_path):
    table = simulate_city(CITY, 20, seed=1).trips.to_polars()
    table.write_parquet(tmp_path / "a.parquet")
    table.with_columns(wayveil_marks=pl.lit("simulated; filled")).write_parquet(tmp_path / "b.parquet")
    assert TripFiles.at(tmp_path, CITY).history.words == ["filled", "simulated"]
    table.with_columns(wayveil_marks=pl.lit("filled")).write_parquet(tmp_path / "c.parquet")
    assert TripFiles.at(tmp_path, CITY).history.words == ["filled"]


def test_a_line_without_any_value_is_no_row_that_lacks_a_mark(tmp_path):
    path = tmp_path / "trips.csv"
    write_visits(simulate_city(CITY, 20, seed=1).trips, path)
    columns = len(path.read_text().splitlines()[0].split(","))
    path.write_text(path.read_text() + "," * (columns - 1) + "\n")
    assert read_trips(path, CITY).history.words == ["simulated"]
    assert TripFiles.at(path, CITY).history.words == ["simulated"]


def test_points_carry_marks(tmp_path):
    grid = Grid(Layout.of_counts("0,0,0.1,0.1", 10, 10))
    table = pl.DataFrame({"tid": ["a", "a"], "lat": [0.005, 0.005], "lng": [0.005, 0.015]})
    for marks, words in (
        (["filled", None], ["filled"]),
        (["simulated", None], []),
        (["simulated"] * 2, ["simulated"]),
    ):
        table.with_columns(wayveil_marks=pl.Series(marks)).write_csv(tmp_path / "points.csv")
        assert read_trips(tmp_path / "points.csv", grid).history.words == words


@pytest.mark.parametrize("mark", [mark for mark in MARKS if mark != "simulated"])
def test_every_private_way_refuses_a_mark_before_anything_is_reserved(mark, tmp_path):
    ledger = open_ledger(tmp_path / "ledger.db")
    trips = replace(simulate_city(CITY, 20, seed=1).trips, history=History().marked(mark))
    with pytest.raises(ParameterError, match=f"marked `{mark}`"):
        release(trips, TREE, epsilon=1, unit=Trip(), ledger=ledger)
    taps = replace(MADE.taps, history=History().marked(mark))
    for way in ("cards", "counts", "counts-first"):
        with pytest.raises(ParameterError, match=f"marked `{mark}`"):
            release_taps(taps, way, epsilon=1)
    said = release(trips, TREE, epsilon=1, unit=Trip(), not_private="not private: a study").datasheet
    assert said["private"] is False
    assert said["not_private_because"] == ["not private: a study"]
    assert list(said["source"]) == [mark]


def test_simulated_trips_are_released_and_say_so_to_the_end(tmp_path):
    made = release(simulate_city(CITY, 200, seed=1).trips, TREE, epsilon=1, unit=Trip())
    assert made.datasheet["private"] is True
    assert "nobody behind it" in made.datasheet["source"]["simulated"]
    assert "simulated: it is about nobody" in made.datasheet["guarantee"]["sentence"]
    folder = made.save(tmp_path / "release")
    again = Release.load(folder, CITY)
    assert again.trips.history.words == ["simulated"]
    # Private trips may be released again.
    assert release(again.trips, TREE, epsilon=1, unit=Trip()).datasheet["private"] is True


def test_a_release_that_is_not_private_cannot_be_made_private_by_another(tmp_path):
    honest = replace(simulate_city(CITY, 200, seed=1).trips, history=History())
    seeded = release(honest, TREE, epsilon=1, unit=Trip(), bits=SeededBits(1))
    folder = seeded.save(tmp_path / "release")
    with pytest.raises(ParameterError, match="marked `not private`"):
        release(Release.load(folder, CITY).trips, TREE, epsilon=1, unit=Trip())
    private = release(honest, TREE, epsilon=1, unit=Trip())
    assert private.datasheet["source"] == {}
    assert private.trips.history.words == []


def test_marks_stay_with_every_part_of_the_data():
    trips = simulate_city(CITY, 20, seed=1).trips
    parts = (trips.take(np.arange(3)), trips.cut(2), trips.merged(), trips.without_times())
    assert all(part.history.words == ["simulated"] for part in parts)
    assert MADE.taps.take(np.arange(3)).as_single_visits().history.words == ["simulated"]
