"""Exports as others read them: public schemas hold, independent readers agree, and all totals are the same."""

import gzip
import json
import re
import sys
from datetime import date
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from bare_release import bare_release
from releases.export_schemas import GTFS_RIDE, TIDES, TIDES_PACKAGE, TIDES_RESOURCE, TIDES_SLUG
from tap_releases import release_taps
from wayveil.answers.trip_periods import put_on_date
from wayveil.errors import ParameterError
from wayveil.exports.menu import MENU, menu_text
from wayveil.exports.write import FORMATS, export
from wayveil.privacy.bits import SeededBits
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.feed import write_city
from wayveil.simulate.week import simulate_week
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ
from wayveil.world.gtfs import read_gtfs

MONDAY = date(2024, 12, 16)


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return write_city(tmp_path_factory.mktemp("feed") / "city.zip", seed=3, stops=40, lines=3)


@pytest.fixture(scope="module")
def city(feed):
    return read_gtfs(feed)


@pytest.fixture(scope="module")
def journeys(city):
    return bare_release(put_on_date(simulate_week(city, 600, seed=1), MONDAY))


@pytest.fixture(scope="module")
def taps(city):
    made = simulate_taps(city, 2_000, seed=2, first_day=MONDAY, days=3).taps
    anonymous = Taps(made.location, made.time, city, route=made.route, history=AS_READ)
    return release_taps(
        anonymous, "counts-first", epsilon=5, first_day=MONDAY, days=3, bits=SeededBits(1), seed=1
    )


def valid(schema, file):
    """What frictionless finds wrong with a file."""
    from frictionless import Resource, Schema

    described = Resource(path=file.name, basepath=str(file.parent), schema=Schema.from_descriptor(schema))
    return described.validate().flatten(["rowNumber", "fieldName", "type", "note"])


@pytest.mark.parametrize("kind", ["journeys", "taps"])
def test_a_tides_package_passes_the_schemas_of_tides(kind, request, tmp_path):
    made = request.getfixturevalue(kind)
    files = {file.stem: file for file in export(made, "tides", tmp_path / "package")}
    assert set(files) == {*TIDES, "datapackage"}
    for table, schema in TIDES.items():
        assert valid(schema, files[table]) == []
        columns = pl.read_csv(files[table], infer_schema=False).columns
        assert columns == [field["name"] for field in schema["fields"]]
    package = json.loads(files["datapackage"].read_text())
    assert package.keys() >= TIDES_PACKAGE
    assert re.match(TIDES_SLUG, package["name"])
    for resource in package["resources"]:
        assert resource.keys() >= TIDES_RESOURCE
        assert resource["profile"] == "tabular-data-resource"
        assert (tmp_path / "package" / resource["path"]).exists()
        assert resource["schema"].endswith(f"/{resource['tides-table']}.schema.json")


def test_the_schemas_of_the_tests_can_fail(journeys, tmp_path):
    files = {file.stem: file for file in export(journeys, "tides", tmp_path / "package")}
    broken = tmp_path / "broken.csv"
    for column, value in (("fare_action", "Boarded"), ("transaction_id", "one"), ("service_date", None)):
        pl.read_csv(files["fare_transactions"], infer_schema=False).with_columns(
            pl.lit(value, pl.String).alias(column)
        ).write_csv(broken)
        assert valid(TIDES["fare_transactions"], broken)


def test_nothing_links_two_synthetic_transactions(taps, tmp_path):
    files = {file.stem: file for file in export(taps, "tides", tmp_path / "package")}
    rows = pl.read_csv(files["fare_transactions"], infer_schema=False)
    assert rows["token_id"].null_count() == len(rows)
    assert rows["transaction_id"].str.starts_with("synthetic-").all()
    assert set(rows["fare_product"]) == {"synthetic"}
    assert rows["event_timestamp"].is_sorted()
    assert set(rows["device_id"]) <= set(pl.read_csv(files["devices"], infer_schema=False)["device_id"])
    # The taps of a released trip do not stand together: their order is that of the clock.
    assert max(taps.trips.lengths) > 1


@pytest.mark.parametrize("kind", ["journeys", "taps"])
def test_gtfs_ride_has_the_required_fields_and_names_runs_of_the_feed(kind, request, feed, tmp_path):
    made = request.getfixturevalue(kind)
    files = {file.stem: file for file in export(made, "gtfs-ride", tmp_path / "ride", feed=feed)}
    assert set(files) == set(GTFS_RIDE)
    for table, fields in GTFS_RIDE.items():
        assert valid({"fields": fields}, files[table]) == []
    runs = _stop_times(feed)
    called = pl.read_csv(files["board_alight"], infer_schema=False)
    keys = ["trip_id", "stop_id", "stop_sequence"]
    assert called.join(runs, on=keys, how="anti").is_empty()
    assert called.select(*keys, "service_date", "schedule_relationship").is_unique().all()
    totals = pl.read_csv(files["ridership"])
    system = totals.filter(pl.col("stop_id").is_null())
    assert len(system) == 1
    assert system["total_boardings"][0] == system["total_alightings"][0]
    at_stops = totals.filter(pl.col("stop_id").is_not_null())
    assert at_stops["total_boardings"].sum() == system["total_boardings"][0]
    assert (at_stops["total_alightings"].null_count() == len(at_stops)) == made.visits_are_taps


def test_on_days_without_service_nobody_is_lost(journeys, feed, tmp_path):
    """The feed has no runs on Sundays: whoever is put there boards a run that is said to be added."""
    sunday = bare_release(put_on_date(simulate_week(journeys.world, 80, seed=2), date(2026, 1, 11)))
    files = {file.stem: file for file in export(sunday, "gtfs-ride", tmp_path / "ride", feed=feed)}
    called = pl.read_csv(files["board_alight"])
    assert called["boardings"].sum() == called["alightings"].sum() == len(sunday.trips)
    assert 5 in set(called["schedule_relationship"])
    assert valid({"fields": GTFS_RIDE["board_alight"]}, files["board_alight"]) == []


def test_people_board_the_next_run_of_their_day(journeys, feed, tmp_path):
    """By a plain search for some of them."""
    files = {file.stem: file for file in export(journeys, "gtfs-ride", tmp_path / "ride", feed=feed)}
    called = pl.read_csv(files["board_alight"], infer_schema=False)
    boardings = {
        (row["trip_id"], row["stop_id"], row["service_date"]): int(row["boardings"])
        for row in called.to_dicts()
    }
    runs = _stop_times(feed).with_columns(
        last=pl.col("stop_sequence").cast(pl.Int64).max().over("trip_id")
        == pl.col("stop_sequence").cast(pl.Int64)
    )
    world, trips = journeys.world, journeys.trips
    for trip in range(0, len(trips), 97):
        at = trips.offsets[trip]
        second = int(trips.time[at] % 86_400)
        here = runs.filter(
            ~pl.col("last") & (pl.Series(world.index_of(runs["stop_id"])) == trips.location[at])
        )
        when = [int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in here["departure_time"].str.split(":")]
        later = [
            (t % 86_400, run) for t, run in zip(when, here.to_dicts(), strict=True) if t % 86_400 >= second
        ]
        soonest = min(t for t, _ in later) if later else max(t % 86_400 for t in when)
        runs_then = [run for t, run in zip(when, here.to_dicts(), strict=True) if t % 86_400 == soonest]
        day = str(np.datetime64(int(trips.time[at]), "s"))[:10].replace("-", "")
        assert any(boardings.get((run["trip_id"], run["stop_id"], day), 0) for run in runs_then)


def _stop_times(feed):
    import io
    import zipfile

    with zipfile.ZipFile(feed) as archive:
        raw = archive.read("stop_times.txt")
    columns = ["trip_id", "stop_id", "stop_sequence", "departure_time"]
    return pl.read_csv(io.BytesIO(raw), infer_schema=False).select(columns)


def test_omx_is_read_by_openmatrix(journeys, tmp_path):
    openmatrix = pytest.importorskip("openmatrix")
    export(journeys, "omx", tmp_path / "flows.omx")
    trips, world = journeys.trips, journeys.world
    with openmatrix.open_file(str(tmp_path / "flows.omx")) as file:
        assert file.shape() == (world.size, world.size)
        assert set(file.list_mappings()) == {"zone", "stop_id"}
        assert file.mapping("zone")[1] == 0
        ids = [key.decode() for key in file.mapping("stop_id")]
        assert ids == world.ids.tolist()
        whole = np.array(file["trips"])
        one = np.zeros_like(whole)
        np.add.at(one, (trips.origins(), trips.destinations()), 1)
        assert np.array_equal(whole, one)
        hours = [name for name in file.list_matrices() if re.fullmatch(r"trips_\d\d", name)]
        assert sum(np.array(file[name]).sum() for name in hours) == len(trips)


def test_geoparquet_is_read_by_geopandas(journeys, tmp_path):
    geopandas = pytest.importorskip("geopandas")
    export(journeys, "geoparquet", tmp_path / "flows.parquet")
    read = geopandas.read_parquet(tmp_path / "flows.parquet")
    assert read.crs.to_epsg() == 4326 or str(read.crs).endswith("CRS84")
    assert read["trips"].sum() == len(journeys.trips)
    world = journeys.world
    for row in read.head(20).itertuples():
        a, b = world.index_of([row.origin_stop_id, row.destination_stop_id])
        assert list(row.geometry.coords) == [(world.lon[a], world.lat[a]), (world.lon[b], world.lat[b])]


def test_a_matsim_population_has_one_person_per_trip(journeys, tmp_path):
    export(journeys, "matsim", tmp_path / "plans.xml.gz")
    root = ElementTree.fromstring(gzip.decompress((tmp_path / "plans.xml.gz").read_bytes()))
    people = root.findall("person")
    assert len(people) == len({person.get("id") for person in people}) == len(journeys.trips)
    first = people[0].find("plan")
    assert [part.tag for part in first] == ["activity", "leg", "activity"]
    world, trips = journeys.world, journeys.trips
    assert float(first[0].get("x")) == round(float(world.lon[trips.location[0]]), 6)
    assert re.fullmatch(r"[0-2]\d:[0-5]\d:[0-5]\d", first[0].get("end_time"))


def test_the_table_of_new_york_has_every_trip_once(journeys, tmp_path):
    (file,) = export(journeys, "od-month", tmp_path / "od.csv")
    table = pl.read_csv(file)
    keys = ["year", "month", "day_of_week", "hour_of_day", "origin_stop_id", "destination_stop_id"]
    assert table.columns[: len(keys)][:4] == keys[:4]
    assert table.select(keys).is_unique().all()
    assert table["trips"].sum() == len(journeys.trips)
    assert set(table["day_of_week"]) <= {
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    }
    trips = journeys.trips
    moment = np.datetime64(int(trips.time[0]), "s")
    row = table.filter(
        (pl.col("origin_stop_id") == trips.world.ids[trips.location[0]])
        & (pl.col("hour_of_day") == int(str(moment)[11:13]))
        & (pl.col("month") == int(str(moment)[5:7]))
    )
    assert len(row)


def totals(release, kinds, folder, feed):
    """The total that each format has, read from its files."""
    found = {}
    for kind in kinds:
        files = export(release, kind, folder / kind, feed=feed if MENU[kind].feed else None)
        if kind == "tides":
            found["fare_transactions"] = pl.read_csv(files[0]).height
            found["tides activities"] = pl.read_csv(files[1])["total_entries"].sum()
        elif kind == "gtfs-ride":
            found["board_alight"] = pl.read_csv(files[0], infer_schema=False)["boardings"].cast(int).sum()
            found["ridership"] = pl.read_csv(files[1])["total_boardings"][0]
            found["rider_trip"] = pl.read_csv(files[2]).height
        elif kind == "omx":
            import h5py

            with h5py.File(files[0]) as file:
                found[kind] = int(file["data/trips"][:].sum())
        elif kind == "geoparquet":
            found[kind] = pl.read_parquet(files[0])["trips"].sum()
        elif kind == "matsim":
            found[kind] = gzip.decompress(files[0].read_bytes()).count(b"<person ")
        elif kind == "flowmap":
            found[kind] = pl.read_csv(files[1])["count"].sum()
        elif kind == "stop-flows":
            name = "visits" if release.visits_are_taps else "entries"
            features = json.loads(files[0].read_text())["features"]
            found[kind] = sum(each["properties"][name] for each in features)
        else:
            column = "total_entries" if kind == "station-activities" else "trips"
            found[kind] = pl.read_csv(files[0])[column].sum()
    return found


def test_the_totals_of_all_formats_are_equal(journeys, taps, feed, tmp_path):
    boardings = journeys.ask("boardings").table["answer"].sum()
    kinds = [kind for kind, entry in MENU.items() if entry.about in ("journeys", "boardings", "stops")]
    assert set(totals(journeys, kinds, tmp_path, feed).values()) == {boardings} == {len(journeys.trips)}
    of_taps = [kind for kind in kinds if MENU[kind].about != "journeys"]
    asked = taps.ask("total").table["answer"][0]
    (tmp_path / "taps").mkdir()
    assert set(totals(taps, of_taps, tmp_path / "taps", feed).values()) == {asked}


def test_taps_have_no_origins_and_destinations(taps, tmp_path):
    for kind in (kind for kind, entry in MENU.items() if entry.about == "journeys"):
        with pytest.raises(ParameterError, match="where people got off"):
            export(taps, kind, tmp_path / "out")


def test_options_that_a_format_has_no_use_for_are_refused(journeys, feed, tmp_path):
    undated = bare_release(simulate_week(journeys.world, 20, seed=1))
    for kind in ("tides", "gtfs-ride", "od-month"):
        with pytest.raises(ParameterError, match="--put-on"):
            export(undated, kind, tmp_path / "out", feed=feed if kind == "gtfs-ride" else None)
    assert export(undated, "od-month", tmp_path / "od.csv", put_on="2024-12-16")
    with pytest.raises(ParameterError, match="dates of their own"):
        export(journeys, "tides", tmp_path / "out", put_on=MONDAY)
    with pytest.raises(ParameterError, match="formats with dates"):
        export(undated, "omx", tmp_path / "out", put_on=MONDAY)
    with pytest.raises(ParameterError, match="--feed is for"):
        export(journeys, "tides", tmp_path / "out", feed=feed)
    with pytest.raises(ParameterError, match="give the feed"):
        export(journeys, "gtfs-ride", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_h5py_a_sentence_says_what_to_install(journeys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ParameterError, match="install h5py"):
        export(journeys, "omx", tmp_path / "flows.omx")


def test_the_menu_is_what_can_be_written():
    assert list(MENU) == list(FORMATS)
    assert all(name in menu_text() for name in FORMATS)


@pytest.mark.parametrize("kind", ["journeys", "taps"])
def test_passengers_have_a_row_each_with_all_their_stops_and_times(kind, request, tmp_path):
    made = request.getfixturevalue(kind)
    (file,) = export(made, "passengers", tmp_path / "passengers.csv")
    table = pl.read_csv(file, infer_schema=False)
    trips = made.trips.take(made.trips.lengths > 0)
    longest = int(trips.lengths.max())
    assert table.columns == [
        "passenger",
        *(f"{what}_{at}" for at in range(1, longest + 1) for what in ("stop", "time")),
    ]
    stops = [[one for one in row if one is not None] for row in table.select(pl.col("^stop_.*$")).iter_rows()]
    assert stops == [[str(trips.world.ids[stop]) for stop in trip] for trip in trips.to_lists()]
    late = int(np.argmax(trips.lengths))
    assert table[f"time_{longest}"][late] == str(
        np.datetime64(int(trips.time[trips.offsets[late + 1] - 1]), "s")
    )
