"""Files that nobody here made: other names, other shapes, taps without trips, columns that hide people."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.plan.guess import Guess
from wayveil.simulate.feed import write_city
from wayveil.trips.network_fit import fit_moves, without_way
from wayveil.trips.trips import Trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes

RING = ring_of_stops(6, seconds=60)
A, B, C, D = RING.ids[:4].tolist()
DAY = "2024-05-06"


def taps(rows=400, **columns):
    """Boardings of 100 cards on one day, under the names that are given."""
    at = range(rows)
    table = {
        "stop_id": [(A, B, C)[i % 3] for i in at],
        "event_time": [f"{DAY}T{7 + i % 12:02d}:{i // 12:02d}:00" for i in at],
        "card_id": [f"x{i % 100}" for i in at],
    }
    return pl.DataFrame(table).rename(columns)


# What a vendor's file of boardings looks like, and options that the command must have.
TAPS = {
    "taps.csv": (taps(), ["--unit", "rider"]),
    "other names.csv": (taps(stop_id="STATION", event_time="TIME", card_id="CARD_NUMBER"), ["--map"]),
    "anonymous.csv": (taps().drop("card_id"), []),
    "hidden cards.csv": (taps(card_id="Card No"), ["rider_id=Card No"]),
    "coordinates.parquet": (
        taps(event_time="datetime")
        .with_columns(
            pl.col("stop_id").replace_strict(RING.ids.tolist(), RING.lat).alias("latitude"),
            pl.col("stop_id").replace_strict(RING.ids.tolist(), RING.lon).alias("longitude"),
        )
        .drop("stop_id"),
        ["lat=latitude"],
    ),
    "routes.csv": (taps().with_columns(route_id=pl.lit("r0")), ["--way", "counts"]),
}


@pytest.mark.parametrize("name", TAPS)
def test_a_file_of_boardings_leads_to_the_command_that_releases_taps(wayveil, tmp_path, name):
    table, words = TAPS[name]
    table.write_csv(tmp_path / name) if name.endswith("csv") else table.write_parquet(tmp_path / name)
    code, out, _ = wayveil("check", name, "--world", "ring.npz", "--quiet")
    assert (code, "seems to be taps" in out) == (0, True)
    command = shlex.split(out.splitlines()[-1])
    assert command[:3] == ["wayveil", "release", name]
    assert command[command.index("--rows") + 1] == "taps"
    assert set(words) <= set(command)
    code, _, err = wayveil(*command[1:])
    assert code == 0
    assert "Next: wayveil verify" in " ".join(err.split())
    folder = command[command.index("--out") + 1]
    assert wayveil("verify", folder)[0] == 0
    code, out, _ = wayveil("ask", folder, "stops", "--json", "--anyway")
    assert (code, len(json.loads(out))) == (0, RING.size)
    assert wayveil("report", folder, "--quiet")[0] == 0
    assert wayveil("export", folder, "--format", "registry", "--out", "record.json")[0] == 2
    said = ("curator=A", "curator_type=Industry", "purpose=P", "region=R")
    words = [word for each in said for word in ("--with", each)]
    assert wayveil("export", folder, "--format", "registry", "--out", "record.json", *words)[0] == 0


def test_riders_under_any_usual_name_are_found_or_asked_for(wayveil, tmp_path):
    rows = [(f"t{i}", stop, f"c{i // 2}") for i in range(200) for stop in (A, B)]
    table = pl.DataFrame(rows, schema=["TRIP_ID", "STOP_ID", "CARD_NUMBER"], orient="row")
    table.write_csv(tmp_path / "trips.csv")
    told = wayveil("check", "trips.csv", "--world", "ring.npz", "--quiet")[1]
    assert "--map rider_id=CARD_NUMBER" in told.splitlines()[-1]
    words = (
        "release",
        "trips.csv",
        "--world",
        "ring.npz",
        "--epsilon",
        "1",
        "--visits",
        "calls",
        "--out",
        "out",
    )
    maps = ("--map", "trip_id=TRIP_ID", "--map", "stop_id=STOP_ID", "--policy-epsilon", "10")
    code, _, err = wayveil(*words, *maps)
    assert (code, "looks like riders" in " ".join(err.split())) == (2, True)


def test_columns_that_nobody_reads_are_named(wayveil, tmp_path):
    rows = [(i, stop, "weekly", "F") for i in range(30) for stop in (A, B)]
    pl.DataFrame(rows, schema=["trip_id", "stop_id", "ticket", "sex"], orient="row").write_csv(
        tmp_path / "t.csv"
    )
    told = wayveil("check", "t.csv", "--world", "ring.npz", "--quiet")[1]
    assert "columns that are not read: ticket, sex. If one of them says who somebody is" in told
    assert "each trip is protected by itself" in told


def test_of_two_columns_with_places_the_one_that_the_world_knows_counts(wayveil, tmp_path):
    """Bike-share files name a station twice: by its name and by its number."""
    rides = {"start_terminal": [9] * 300, "start_station": [A] * 300, "end_station": [B] * 300}
    pl.DataFrame(rides).write_csv(tmp_path / "bikes.csv")
    (tmp_path / "stations.csv").write_text("Station,Latitude,Longitude\n" + f"{A},45,-73\n{B},45.1,-73\n")
    told = wayveil("check", "bikes.csv", "--world", "stations.csv", "--quiet")[1]
    assert "seems to be pairs" in told
    command = told.splitlines()[-1]
    assert "--map origin=start_station --map destination=end_station" in command
    words = ("--mechanism", "noisy-prefix-tree", "--quiet")
    assert wayveil(*shlex.split(command)[1:], *words)[0] == 0
    shown = wayveil("ask", "release-bikes", "boardings", "--anyway")[1]
    assert "stop id" in shown
    assert shown.count(A) == 1  # the name is the id: told once


def test_names_in_place_of_ids_are_found(wayveil, tmp_path):
    (tmp_path / "trips.csv").write_text(f"trip_id,stop_id\n1,{A.upper()}\n1,{B.upper()}\n")
    told = wayveil("check", "trips.csv", "--world", "ring.npz")[1]
    assert "`stop_id` is stop_id (all are names of its places)" in told
    assert "--with places=name" in told.splitlines()[-1]
    words = ("--epsilon", "1", "--out", "out", "--ledger", "none")
    said = wayveil("release", "trips.csv", "--world", "ring.npz", *words)[2]
    assert "are names of places: give their ids" in " ".join(said.split())


def test_a_folder_of_parts_is_one_table_and_the_command_names_the_folder(wayveil, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(2):
        ids = [f"t{part}-{at // 3}" for at in range(30)]
        rows = pl.DataFrame({"trip_id": ids, "stop_id": [A, B, C] * 10, "seq": [0, 1, 2] * 10})
        rows.write_csv(folder / f"{part}.csv")
    code, out, _ = wayveil("check", "parts", "--world", "ring.npz", "--quiet")
    assert code == 0
    assert "(trips 20, visits 60" in out
    assert "2 files are one table" in out
    assert shlex.split(out.splitlines()[-1])[:3] == ["wayveil", "release", "parts"]


def test_a_list_of_places_is_checked_as_one(wayveil, tmp_path):
    (tmp_path / "places.csv").write_text("stop_id,stop_name\na,A\nb,B\n")
    assert wayveil("check", "places.csv")[:2] == (
        0,
        "places.csv: list of places (locations 2)\nno problem found\n",
    )


def test_a_file_without_header_is_called_so(wayveil, tmp_path):
    (tmp_path / "trips.csv").write_text(f"Sun,04:31,1,{A}\nSun,04:32,1,{B}\n")
    code, told, _ = wayveil("check", "trips.csv", "--world", "ring.npz", "--quiet")
    assert (code, "give the file a header" in told) == (2, True)


def test_facts_of_a_feed_have_few_digits(wayveil, tmp_path):
    write_city(tmp_path / "city.zip", seed=3, stops=40, lines=3)
    told = wayveil("check", "city.zip", "--quiet")[1]
    assert "largest component share" in told
    assert not re.search(r"0\.\d{5}", told)


def test_taps_with_coordinates_keep_to_the_cells_of_a_grid(wayveil, tmp_path):
    """Cells of two kilometres: a tap in the corner of one is far from its middle, and is not outside."""
    rng = np.random.default_rng(1)
    where = {"lat": rng.uniform(45.01, 45.19, 300), "lon": rng.uniform(-73.09, -72.91, 300)}
    table = (
        taps(300).drop("stop_id").with_columns(**{name: pl.Series(value) for name, value in where.items()})
    )
    table.write_csv(tmp_path / "taps.csv")
    told = wayveil("check", "taps.csv", "--world", "grid:45,-73.1,45.2,-72.9@2000", "--json")[1]
    assert json.loads(told)["taps"] == 300


def test_ids_with_a_point_and_zero_are_found_in_taps_too(wayveil, tmp_path):
    (tmp_path / "places.csv").write_text("stop_id\n7\n25\n")
    rows = {"stop_id": ["25.0", "7"], "event_time": [f"{DAY}T08:00:00"] * 2}
    pl.DataFrame(rows).write_csv(tmp_path / "taps.csv")
    assert json.loads(wayveil("check", "taps.csv", "--world", "places.csv", "--json")[1])["taps"] == 2


def test_many_rows_that_are_left_out_are_pointed_at(wayveil, tmp_path):
    taps().with_columns(stop_id=pl.lit("elsewhere")).vstack(taps()).write_csv(tmp_path / "taps.csv")
    assert "50% of the rows are left out" in wayveil("check", "taps.csv", "--world", "ring.npz", "--quiet")[1]


def test_numbers_that_will_be_noise_are_said_to_be_before_they_are_paid_for(wayveil, tmp_path):
    for rows, expected in ((3, True), (400, False)):
        taps(rows).write_csv(tmp_path / "taps.csv")
        told = wayveil("check", "taps.csv", "--world", "ring.npz", "--quiet")[1]
        (row,) = [line for line in told.splitlines() if "boardings per stop, top 50 |" in line]
        assert ("will be noise" in row) == expected


def one_way_line(stops=6):
    """A line that is served in one direction only: nobody comes back on it."""
    count = stops - 1
    ids = np.array([f"s{i}" for i in range(stops)])
    source = np.arange(count)
    edges = Edges(
        indptr=np.searchsorted(source, np.arange(stops + 1)).astype(np.int64),
        indices=(source + 1).astype(np.int32),
        seconds=np.full(count, 60, np.int32),
        metres=np.full(count, 1000.0),
        walk=np.zeros(count, bool),
        runs=np.ones(count, np.int64),
        route_indptr=np.arange(count + 1, dtype=np.int64),
        route=np.zeros(count, np.int32),
    )
    routes = Routes(np.array(["r"]), np.array(["R"]), np.array([3], np.int32))
    places = Places(ids, ids, 45 + 0.01 * np.arange(stops), np.full(stops, -73.0))
    return Network(places, edges, routes, Platforms(ids, np.arange(stops, dtype=np.int32)), name="line")


def test_legs_along_a_one_way_line_are_not_said_to_go_against_it():
    line = one_way_line()
    assert fit_moves(Trips.of_lists([[0, 4], [1, 3]], line)).lacking == {"skips": 2}
    assert fit_moves(Trips.of_lists([[4, 0]], line)).lacking == {"one_way": 1}
    assert without_way(Trips.of_lists([[0, 4], [4, 0], [0, 2, 1]], line)) == pytest.approx(2 / 3)


def test_legs_that_the_network_cannot_route_are_released_as_ends(tmp_path):
    one_way_line().save(tmp_path / "line.npz")
    rows = {"origin": ["s4"] * 300, "destination": ["s0"] * 300}
    pl.DataFrame(rows).write_csv(tmp_path / "pairs.csv")
    checked = Guess(tmp_path / "pairs.csv", str(tmp_path / "line.npz"), ledger="none").look()
    assert "--ways ends" in checked.command
    assert "no way for 100.0% of the trips" in "\n".join(checked.lines())


def test_a_sheet_of_all_answers_leaves_out_what_is_noise_unless_it_is_wanted(wayveil, tmp_path):
    taps(40).write_csv(tmp_path / "taps.csv")
    words = (
        "--world",
        "ring.npz",
        "--epsilon",
        "0.1",
        "--way",
        "counts",
        "--policy-epsilon",
        "10",
        "--out",
        "out",
    )
    assert wayveil("release", "taps.csv", *words, "--quiet")[0] == 0
    asked = ("ask", "out", "all")
    code, shown, said = wayveil(*asked)
    assert (code, "most-used" in shown) == (0, False)
    assert "noise; do not use" in " ".join(said.split())
    assert "most-used" in wayveil(*asked, "--anyway")[1]
