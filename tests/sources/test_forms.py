"""Single promises of the one reader: what is asked, days of files, worlds of zones, frames, engines, databases."""

import json
import random
import shutil
import zipfile
from calendar import monthrange
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
import truth
from corpus import ENGLISH, _months

import wayveil as wv
from wayveil.counting.engines import open_source
from wayveil.counting.file_pieces import as_parquet
from wayveil.errors import InputError, ParameterError
from wayveil.plan.files import read_plan, write_plan
from wayveil.plan.guess import Guess
from wayveil.plan.reading import files_of, open_rows
from wayveil.privacy.ledger import open_ledger
from wayveil.sources.coverage import FileDays, say_coverage
from wayveil.sources.databases import database_address
from wayveil.sources.header_words import column_for
from wayveil.sources.moments import (
    beside_date,
    iso_text,
    moment_text,
    parse_moments,
    read_moments,
    read_numbers,
)
from wayveil.sources.quick_moments import read_quickly
from wayveil.trips.read import check
from wayveil.trips.visits import read_visits
from wayveil.world.locating import find_places
from wayveil.world.opening import open_world
from wayveil.world.world import World


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    folder = tmp_path_factory.mktemp("city")
    network = truth.make_city(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wayveil.plan.guess.open_world", lambda *_, **__: network)
        patch.setattr("wayveil.plan.reading.open_world", lambda *_, **__: network)
        patch.chdir(folder)
        yield folder, truth.make_rides(network)


def test_where_3_4_may_be_4_3_nothing_is_chosen(city):
    folder, rides = city
    early = rides.filter(pl.col("end").dt.day() <= 12)
    truth.named(early, "%m/%d/%Y %H:%M:%S", **ENGLISH).write_csv(folder / "early.csv")
    checked = Guess("early.csv", "city.zip", ledger="none").look()
    assert checked.plan is None
    problem = str(checked.findings.problems[0])
    assert "may be day/month or month/day" in problem
    assert "--with times=month/day/year" in problem
    again = Guess("early.csv", "city.zip", ledger="none", keys={"times": "month/day/year"}).look()
    assert again.findings.trips.time.min() == early["start"].dt.epoch("s").min()


def test_months_that_are_missing_shared_or_out_of_order_are_said():
    def month(number, name=None, last=None):
        first = date(2026, number, 1)
        return FileDays(
            name or f"{number:02}.csv", first, last or date(2026, number, monthrange(2026, number)[1]), 100
        )

    year = [month(number) for number in range(1, 13)]
    assert say_coverage(year) == []
    missing = say_coverage([each for each in year if each.name != "05.csv"])
    assert missing == ["no file has rows of 2026-05-01 to 2026-05-31 (between 04.csv and 06.csv)"]
    shared = say_coverage([*year[:2], month(3, last=date(2026, 4, 10)), *year[3:]])
    assert "03.csv and 04.csv both have rows of 2026-04-01 to 2026-04-10" in shared[0]
    assert (
        "07.csv comes after files of later days" in say_coverage([*year[:6], year[7], year[6], *year[8:]])[0]
    )


def test_a_folder_is_one_dataset_in_check_plan_and_ledger(city):
    folder, rides = city
    checked = Guess(_months(folder, rides), "city.zip", ledger="none").look()
    assert len(checked.findings.trips) == len(rides)
    assert checked.plan.dataset == "months"
    assert "4 files are one table" in checked.findings.notes
    (folder / "months" / "fahrten-2.csv").write_text("a;b\n1;2\n")
    with pytest.raises(InputError, match=r"fahrten-2\.csv: has no column"):
        Guess("months", "city.zip", ledger="none").look()
    shutil.rmtree(folder / "months")


def test_a_file_that_says_nothing_gets_the_nearest_readings(city):
    folder, _ = city
    (folder / "odd.csv").write_text("colour,size\nred,big\nblue,small\n")
    findings = Guess("odd.csv", "city.zip", ledger="none").look().findings
    assert "neither trips nor boardings nor positions" in str(findings.problems[0])
    assert len([note for note in findings.notes if note.startswith("to read it as")]) == 3


def test_bad_rows_are_counted_and_one_command_goes_on(city):
    folder, rides = city
    table = truth.clean(rides).with_row_index("at")
    late = pl.when(pl.col("at") < 3).then(pl.col("start")).otherwise(pl.col("end"))
    early = pl.when(pl.col("at") < 3).then(pl.col("end")).otherwise(pl.col("start"))
    bad = table.with_columns(start=early, end=late).drop("at")
    bad.write_csv(folder / "bad.csv")
    checked = Guess("bad.csv", "city.zip", ledger="none").look()
    assert checked.plan is None
    assert any("--with bad_rows.ends_long_before=swap" in note for note in checked.findings.notes)
    kinds = {"ends_long_before": "swap", "ends_early": "swap"}
    again = Guess("bad.csv", "city.zip", ledger="none", keys={"bad_rows": kinds}).look()
    assert sorted(again.findings.trips.time.tolist()) == sorted(
        [*rides["start"].dt.epoch("s"), *rides["end"].dt.epoch("s")]
    )
    assert again.plan.source.bad_rows == kinds


def _calls_in_files(form, folder, rides):
    """Calls as somebody else has them, in a form."""
    table = truth.visits(rides).select(
        pl.col("trip_id").alias("Fahrt"),
        pl.col("rider_id").alias("Karte"),
        pl.col("stop_id").alias("Haltestelle"),
        pl.col("event_time").dt.strftime("%d.%m.%Y %H:%M:%S").alias("Zeit"),
    )
    place = folder / f"calls-{form}"
    place.mkdir()
    if form == "text":
        truth.write_text(table, place / "calls.csv", "windows-1252", ";")
    elif form == "folder":
        for number in range(3):
            table[number * 110 : (number + 1) * 110].write_csv(place / f"{number}.csv")
    elif form == "workbook":
        table.write_excel(place / "calls.xlsx")
    elif form == "database":
        truth.write_sqlite({"calls": table}, place / "calls.db")
    elif form == "lines":
        table.write_ndjson(place / "calls.jsonl")
    elif form == "utc":
        utc = [truth.utc(at, "Europe/London") for at in truth.visits(rides)["event_time"]]
        table.with_columns(Zeit=pl.Series(utc)).write_csv(place / "calls.csv")
    elif form == "parts of parquet":
        table.write_parquet(place / "calls.parquet")
    return str(place if form == "folder" else next(place.iterdir()))


@pytest.mark.parametrize(
    "form", ["text", "folder", "workbook", "database", "lines", "utc", "parts of parquet"]
)
def test_files_read_in_pieces_have_the_same_rows_and_spark_says_what_it_does_not_read(city, form):
    folder, rides = city
    given = _calls_in_files(form, folder, rides)
    plan = Guess(given, "city.zip", ledger="none").look().plan
    world, reading = open_world("city.zip"), plan.source.reading
    whole = open_source([Path(given)], world, "memory", reading=reading)[0]
    files = open_source([Path(given)], world, "stream", reading=reading)[0]
    with TemporaryDirectory() as scratch:
        pieces = as_parquet(files, Path(scratch))
        read = read_visits(pl.concat(pl.read_parquet(path) for path in pieces.paths), world)
    for one, other in (
        (read.location, whole.location),
        (read.offsets, whole.offsets),
        (read.time, whole.time),
    ):
        assert (one == other).all()
    assert [read.rider_ids[int(at)] for at in read.rider] == [whole.rider_ids[int(at)] for at in whole.rider]
    with pytest.raises(ParameterError, match="this plan rewrites rows; use the engine `stream`"):
        open_source([Path(given)], world, "spark", reading=reading)


def test_zones_and_stations_are_worlds(tmp_path):
    def square(x, name):
        ring = [[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]
        return {
            "type": "Feature",
            "id": name,
            "properties": {},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        }

    zones = {"type": "FeatureCollection", "features": [square(at, name) for at, name in enumerate("abd")]}
    (tmp_path / "zones.geojson").write_text(json.dumps(zones))
    world = open_world(tmp_path / "zones.geojson")
    assert world.areas.containing(np.array([0.5, 0.5, 0.5]), np.array([0.5, 2.5, 9.0])).tolist() == [0, 2, -1]
    assert world.areas.neighbours() == [(0, 1), (1, 2)]
    stations = [{"station_id": "7", "name": "Pier", "short_name": "P1", "lat": 1.0, "lon": 2.0}]
    (tmp_path / "station_information.json").write_text(json.dumps({"data": {"stations": stations}}))
    world = open_world(tmp_path / "station_information.json")
    assert (world.ids.tolist(), world.names.tolist(), world.other_names) == (
        ["7"],
        ["Pier"],
        {"code": {"P1": "7"}},
    )


class Collection:
    """As movingpandas holds trajectories."""

    def __init__(self, frame):
        self.frame = frame

    def to_point_gdf(self):
        return self.frame


@pytest.mark.parametrize("tool", ["mapped", "trackintel", "movingpandas", "collection", "scikit-mobility"])
def test_frames_of_points_are_read_as_their_tools_make_them(tool):
    geopandas, pandas = pytest.importorskip("geopandas"), pytest.importorskip("pandas")
    at = pandas.date_range("2026-05-01 08:00", periods=4, freq="min", name="t")
    east, north = [2.31, 2.32, 2.33, 2.34], [54.7] * 4
    columns = {
        "mapped": {"who": ["u"] * 4},
        "trackintel": {"user_id": ["u"] * 4, "tracked_at": at.tz_localize("UTC")},
    }.get(tool, {"traj_id": [7] * 4})
    frame = geopandas.GeoDataFrame(
        columns, geometry=geopandas.points_from_xy(east, north), index=None if tool == "trackintel" else at
    )
    if tool == "scikit-mobility":
        frame = pandas.DataFrame({"uid": 1, "datetime": at, "lat": north, "lng": east})
    options = {"rows": "points", "unit": "trip", "epsilon": 1000, "ledger": None}
    if tool in ("mapped", "trackintel", "scikit-mobility"):
        options["split_gap"] = 600
    if tool == "mapped":
        options["columns"] = {"rider_id": "who"}
    given = Collection(frame) if tool == "collection" else frame
    grid = wv.open_world("grid:54.6,2.3,54.8,2.5@1000")
    made = wv.release(given, "noisy-prefix-tree", world=grid, **options)
    assert made.trips.lengths.tolist() == [3]  # cells, in which the points lie


def test_words_of_headers_speak_several_languages():
    said = {
        "Tap Off Transaction Time": "end",
        "PULocationID": "origin",
        "Haltestellen-Nr": "stop_id",
        "Nr. Karte": "rider_id",
        "Ora di arrivo": "end",
        "Fermata salita": "origin",
        "Остановка высадки": "destination",
        "乗車時刻": "start",
        "카드번호": "rider_id",
        "Smart Card Type": None,
        "trip_duration": None,
    }
    assert {name: column_for(name) for name in said} == said


def test_one_text_means_one_moment_under_one_order():
    texts = pl.Series(["3/4/2026 8:05 PM", "2026-04-03T20:05", "3. April 2026 20h05", "20260403 200500", "x"])
    read = iso_text(parse_moments(texts, "day.month.year"), None).to_list()
    assert read == ["2026-04-03T20:05:00"] * 4 + [None]


WRITINGS = (
    *(
        "3-Apr-26 08.05.09.000000000 PM",
        "Fri Apr  3 20:05:09 CEST 2026",
        "20:05:09 03.04.2026",
        "03042026200509",
    ),
    *("8:05:09 PM 03/04/2026", "2026-04-03-20.05.09.000000", "03APR2026:20:05:09", "2026-04-03_20-05-09"),
    *(
        "'2026-04-03 20:05:09",
        '="2026-04-03 20:05:09"',
        "3 kwietnia 2026 20:05:09",
        "2026/04/03(金) 20:05:09",
    ),
    *(
        "3 Απριλίου 2026 20:05:09",
        "3 апреля 2026 20:05:09",
        "3 de abril de 2026 20:05:09",
        "03/04/2026 08:05:09 PM EST",
    ),
)


@pytest.mark.parametrize("text", WRITINGS)
def test_one_moment_is_read_however_it_is_written(text):
    assert iso_text(parse_moments(pl.Series([text]), "day.month.year"), None).to_list() == [
        "2026-04-03T20:05:09"
    ]


@pytest.mark.parametrize("text", ["2026246 15:24", "12345:08:05", "-08:05", "08.05", "3 8:05"])
def test_a_clock_beside_what_is_no_date_is_no_moment(text):
    read = parse_moments(pl.Series([text]), "day.month.year")
    assert read.null_count().row(0) == (1, 1, 1)


def test_rides_whose_times_nobody_can_read_are_asked_for(city):
    folder, rides = city
    odd = rides.with_columns(pl.format("moment {}", pl.int_range(pl.len())).alias("start"))
    odd.select("rider_id", "origin", "destination", pl.col("start").alias("departure")).write_csv(
        folder / "odd.csv"
    )
    checked = Guess("odd.csv", "city.zip", ledger="none").look()
    assert checked.plan is None
    assert "`departure` seems to say when, and 'moment 0' is no date" in str(checked.findings.problems[0])
    assert "--with times=none" in str(checked.findings.problems[0])
    again = Guess("odd.csv", "city.zip", ledger="none", keys={"times": "none"}).look()
    assert again.findings.trips.time is None
    assert again.plan.source.times == "none"


def test_two_columns_of_places_without_a_word_for_their_ends_are_asked_about(city):
    folder, rides = city
    truth.named(rides, rider_id="card", origin="stop", start="time", destination="xyz", end="uvw").write_csv(
        folder / "two.csv"
    )
    checked = Guess("two.csv", "city.zip", ledger="none").look()
    assert checked.plan is None
    assert "`stop` and `xyz` both hold places" in str(checked.findings.problems[0])
    again = Guess("two.csv", "city.zip", ledger="none", keys={"rows": "pairs"}).look()
    assert again.findings.trips.time.min() == rides["start"].dt.epoch("s").min()
    assert again.plan.source.columns["end"] == "uvw"


def test_a_column_that_is_not_there_is_one_sentence(city):
    folder, rides = city
    truth.clean(rides).write_csv(folder / "rows.csv")
    with pytest.raises(InputError, match="has no column 'Typo' to use as 'start'"):
        Guess("rows.csv", "city.zip", ledger="none", columns={"start": "Typo"}).look()


@pytest.mark.parametrize(
    ("header", "row", "question", "answer"),
    [
        ("card,stop,time,status", "{who},{at},{when},{turn}", "by turns", ("boardings", ["1"])),
        ("origin,destination,trips", "{at},{to},{number}", "seems to count rides", ("rows", "pairs")),
        ("lat,lon,time,bus", "{north},{east},{when},7", "positions of vehicles", ("rows", "taps")),
        (
            "card,stop,day",
            "{who},{at},26-11-25 08:{number}",
            "may be year-month-day or day/month",
            ("times", "year-month-day"),
        ),
        (
            "card,from,to,date,time",
            "{who},{at},{to},2026246,{clock}",
            "is no date that is known",
            ("clock", "written"),
        ),
        (
            "card,stop,time",
            "{who},{at},2026-11-17 {half}",
            "AM and PM may have been lost",
            ("clock", "written"),
        ),
    ],
)
def test_what_nobody_can_tell_is_asked_and_the_answer_goes_on(city, header, row, question, answer):
    folder, _ = city
    world = open_world("city.zip")
    rows = [
        row.format(
            who=number // 10,
            at=world.ids[number % 7],
            to=world.ids[number % 5 + 7],
            when=f"2026-11-17T{6 + number // 6:02}:{number % 6}0:00",
            clock=f"{6 + number // 6:02}:{number % 6}0:00",
            half=f"{number % 12 + 1:02}:{number:02}",
            turn=(number + 1) % 2,
            number=number % 50 + 10,
            north=world.lat[number % 7],
            east=world.lon[number % 7],
        )
        for number in range(60)
    ]
    (folder / "asked.csv").write_text("\n".join([header, *rows]))
    checked = Guess("asked.csv", "city.zip", ledger="none").look()
    assert checked.plan is None
    assert question in str(checked.findings.problems[0])
    key, value = answer
    assert f"--with {key}=" in str(checked.findings.problems[0]).replace("'", "")
    again = Guess("asked.csv", "city.zip", ledger="none", keys={key: value}).look()
    assert again.findings.ok
    said = getattr(again.plan.source, key)
    assert (list(said) if isinstance(value, list) else said) == value
    assert len(again.findings.trips) == (30 if key == "boardings" else 60)


@pytest.mark.parametrize("theirs", ["booked_{} actual_{}", "{}_stop {}_station"])
def test_one_of_two_places_is_asked_for(city, theirs):
    folder, rides = city
    first, second = (name.format("origin") for name in theirs.split())
    table = truth.named(rides, rider_id="card", destination=first, start="start", end="end")
    table.with_columns(rides["origin"].alias(second), rides["destination"].alias("destination")).write_csv(
        folder / "places.csv"
    )
    problem = str(Guess("places.csv", "city.zip", ledger="none").look().findings.problems[0])
    assert f"--map origin={first}" in problem
    assert f"--map origin={second}" in problem
    said = Guess("places.csv", "city.zip", ledger="none", columns={"origin": second}).look()
    assert said.plan.source.columns["origin"] == second


def test_one_of_two_days_is_asked_for(city):
    folder, rides = city
    clock, day = (pl.col("start").dt.strftime(form) for form in ("%H:%M:%S", "%Y-%m-%d"))
    service = (pl.col("start") - timedelta(hours=4)).dt.strftime("%Y-%m-%d")
    names = {"service_date": service, "calendar_date": day, "time": clock}
    rides.select("rider_id", pl.col("origin").alias("stop"), **names).write_csv(folder / "days.csv")
    problem = str(Guess("days.csv", "city.zip", ledger="none").look().findings.problems[0])
    assert "--map service_date=calendar_date" in problem


def _track(ride):
    """Nine positions from the origin to the destination."""
    ends = [[ride[f"{end}_{axis}"] for axis in ("lon", "lat")] for end in ("origin", "destination")]
    return [[a + (b - a) * at / 8 for a, b in zip(*ends, strict=True)] for at in range(9)]


@pytest.mark.parametrize("form", ["line", "list"])
def test_a_track_in_one_cell_is_its_positions(city, form):
    folder, rides = city
    rows = rides.rows(named=True)
    points = [
        [ride["trip_id"], ride["rider_id"], (ride["start"] + timedelta(minutes=at)).isoformat(), lat, lon]
        for ride in rows
        for at, (lon, lat) in enumerate(_track(ride))
    ]
    header = ["trip_id", "rider_id", "event_time", "lat", "lon"]
    pl.DataFrame(points, schema=header, orient="row").write_csv(folder / "points.csv")
    lines = [", ".join(f"{lon} {lat} 5.5" for lon, lat in _track(ride)) for ride in rows]
    cells = (
        [f"LINESTRING Z ({line})" for line in lines] if form == "line" else list(map(str, map(_track, rows)))
    )
    table = truth.named(rides, "%d.%m.%Y %H:%M:%S", trip_id="TRIP_ID", rider_id="user", start="TIMESTAMP")
    empty = table[:1].with_columns(pl.lit("none").alias("TRIP_ID"), pl.lit("[]").alias("POLYLINE"))
    table = table.with_columns(pl.Series("POLYLINE", cells))
    (table if form == "line" else pl.concat([table, empty])).write_csv(folder / "tracks.csv")
    problem = str(Guess("tracks.csv", "city.zip", ledger="none").look().findings.problems[0])
    assert "--with step=15 --with radius=200" in problem
    keys = {"radius": 500, "rules": {"outside": "skip", "fastest_kmh": "none"}}
    found = [
        Guess(name, "city.zip", ledger="none", keys={**keys, **more}).look().findings.trips
        for name, more in (("points.csv", {}), ("tracks.csv", {"step": 60}))
    ]
    for name in ("location", "offsets", "time", "rider"):
        assert getattr(found[0], name).tolist() == getattr(found[1], name).tolist()
    assert len(found[0]) > 100


def test_an_archive_of_several_tables_says_how_to_read_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "months.zip", "w") as archive:
        for month in "12":
            archive.writestr(f"{month}.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"months.zip months && wayveil check months"):
        Guess(str(tmp_path / "months.zip")).look()


def test_one_of_two_times_is_asked_for(city):
    folder, _ = city
    stops = open_world("city.zip").ids
    rows = [f"{stops[n % 7]},2026-11-17T08:{n:02}:00,2026-11-17T09:{n:02}:00" for n in range(60)]
    (folder / "times.csv").write_text("\n".join(["stop,scheduled_time,actual_time", *rows]))
    problem = str(Guess("times.csv", "city.zip", ledger="none").look().findings.problems[0])
    assert "--map event_time=actual_time" in problem
    said = Guess("times.csv", "city.zip", ledger="none", columns={"event_time": "actual_time"}).look()
    assert said.findings.trips.time.min() == datetime(2026, 11, 17, 9).timestamp() - _off()


def _off():
    return datetime(1970, 1, 1).timestamp()


def test_ids_are_found_as_spreadsheets_write_them():
    of_one_length, others = World.of_symbols(["0007", "0025"]), World.of_symbols(["7", "025", "x 1"])
    texts = pl.Series(["25", "025", " 0025 ", "25.0", '="0025"', "0000", "250"])
    assert find_places(texts, of_one_length).tolist() == [1, 1, 1, 1, 1, -1, -1]
    found = find_places(pl.Series(["7", "007.0", "025 ", "x 1 ", "25"]), others).tolist()
    assert [others.ids[at] for at in found[:4]] == ["7", "7", "025", "x 1"]
    assert found[4] == -1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"\x1f\x8b" + bytes(300), r"is packed, whatever it is called: mv a.csv a.csv.gz"),
        ("b.csv", b'"card,stop,time"\n' * 9, "each line in quotes"),
        ("a.xls", b"<html><table><tr><td>1</td></tr></table></html>", "is a web page"),
        ("a.tar", b"x" * 257 + b"ustar" + b"x" * 250, "python -m tarfile -e"),
    ],
)
def test_what_is_no_table_says_what_to_do(city, name, content, said):
    folder, _ = city
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        Guess([name, name], "city.zip", ledger="none").look()


@pytest.mark.parametrize(
    ("text", "said"),
    [("card,stop,time\n", "has no row below its header"), ("{0},{1},{2}\n1,2,3\n", "as in a matrix")],
)
def test_what_holds_no_rides_says_so(city, text, said):
    folder, _ = city
    (folder / "none.csv").write_text(text.format(*open_world("city.zip").ids))
    assert said in str(Guess("none.csv", "city.zip", ledger="none").look().findings.problems[0])


def test_addresses_of_databases():
    made = database_address("postgresql://me@host/city?table=a.taps&sslmode=require")
    assert (made.place, made.table) == ("postgresql://me@host/city?sslmode=require", "a.taps")
    assert database_address("sqlite:////data/city.db?table=x").place == "/data/city.db"
    assert database_address("sqlite:///city.db?table=x").place == "city.db"


@pytest.mark.parametrize(("named", "said"), [("Einstiegszeit", "both visits"), ("Ausstiegszeit", "NO TIMES")])
def test_pairs_with_a_start_alone_keep_it(city, named, said):
    folder, _ = city
    stops = open_world("city.zip").ids[:2]
    rows = [f"K{i};{stops[i % 2]};{stops[1 - i % 2]};17.11.2026 08:{i:02d}" for i in range(30)]
    (folder / "fahrten.csv").write_text("\n".join([f"Karte;Einstieg;Ausstieg;{named}", *rows]))
    checked = Guess("fahrten.csv", "city.zip", ledger="none").look()
    assert any(f"`{named}` is the" in note and said in note for note in map(str, checked.lines()))
    time = checked.findings.trips.time
    if said == "NO TIMES":
        assert time is None
    else:
        assert (time[::2] == time[1::2]).all()
        assert set(time // 3600 % 24) == {8}


SHAPES = (
    *(
        "03.04.2026 08:05:09",
        "3.4.2026 8:05",
        "03.04.26 08:05:09",
        "03/04/2026 8:05 PM",
        "2026-04-03T08:05:09",
    ),
    *("2026-04-03 08:05:09.25", "2026-04-03T08:05:09Z", "2026-04-03T08:05:09+02:00", "03.04.2026 08: 5:09"),
    *("03.04.2026 08:05:60", "3. April 2026 20h05", "03.04.0026 08:05:09", "n/a", " ", "1775203509", "25:61"),
    *("03.04.+2026 08:05:09", "2026/04/03 08:05", "04-03-2026 08:05:09 am", "20260403080509"),
    *("03.04.69 08:05", "03.04.2026 08.05.09", "03.04.26 08.05", "03/04/26 12:05 AM", "03/04/2026 12:05 PM"),
    *("03/04/2026 13:05 PM", "03/04/2026 0:05 AM", "03/04/2026 8:05PM", "2026-04-03 08:05Z", "1775203509.5"),
    *("2026-04-03T08:05:09.25Z", "2026-04-03T08:05:09ZZ", "2026-04-03T08:05+0200", "03/04/2026 08:05 pm "),
)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("order", ["year-month-day", "day.month.year", "month/day/year", "seconds"])
def test_a_time_is_read_the_same_in_any_company(order, zone):
    def read(texts):
        column = pl.Series(texts, dtype=pl.String)
        made = (read_numbers if order == "seconds" else read_moments)(column, order, zone)
        return moment_text(made).to_list()

    alone = {text: read([text]) for text in SHAPES}
    together = [*SHAPES, None]
    assert read(together) == [*(alone[text][0] for text in SHAPES), None]
    for text in SHAPES:
        assert read([SHAPES[0], text]) == [*alone[SHAPES[0]], *alone[text]]


@pytest.mark.parametrize("order", ["year-month-day", "day.month.year", "month/day/year"])
def test_what_is_read_quickly_is_what_the_patterns_read(order):
    pick = random.Random(order).choice
    parts = [("3", "31", "04", "0"), "./-", ("2", "12", "13"), ("2026", "26", "1899")]
    dates = [f"{day}{mark}{month}{mark}{year}" for day, mark, month, year in product(*parts)]
    dates += ["2026-11-17", "2024-02-29", "2026-2-29", "2026/1/5", "02026-01-05", "26-11-17"]
    clocks = [
        "8:05",
        "08:05:09",
        "12:05",
        "0:05:60",
        "24:05",
        "08.05",
        "08.05.09",
        "8:05:9",
        "08:05:09.25",
        "8:5",
        "008:05",
    ]
    tails = [
        "",
        " ",
        " AM",
        " pm",
        "PM",
        " p.m.",
        "Z",
        "+02:00",
        "-05:30",
        "+0200",
        " Uhr",
        "+20:00",
        "\x00",
        "é",
    ]
    texts = pl.Series([f"{pick(dates)}{pick(' Tt,')}{pick(clocks)}{pick(tails)}" for _ in range(20_000)])
    moments, kind = read_quickly(texts, order=order, zoned=True)
    said = parse_moments(texts, order)
    utc = (said["day"] * 86_400 + said["second"] - said["offset"].fill_null(0)) * 10**6
    read = pl.DataFrame({"text": texts, "quick": moments, "kind": kind, "utc": utc, "zone": said["offset"]})
    read = read.filter(pl.col("kind") > 0)
    assert read.filter(pl.col("quick").ne_missing(pl.col("utc"))).is_empty()
    assert read.filter((pl.col("kind") == 2) != pl.col("zone").is_not_null()).is_empty()
    assert set(read["kind"]) == {1, 2}
    assert len(read) > 100


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_date_and_a_clock_are_read_the_same_in_any_company(zone):
    rows = [
        ("3.4.2026", "8:05"),
        ("03.04.2026 08:05", "PM"),
        ("3.4.2026", "25:10"),
        ("3.4.2026", "08:05Z"),
        ("3.4.2026", "0805"),
        (None, "8:05"),
        ("3.4.2026", None),
        ("3. April 2026", "8 pm"),
        ("n/a", "n/a"),
    ]

    def read(some):
        date, clock = (pl.Series(each, dtype=pl.String) for each in zip(*some, strict=True))
        return moment_text(beside_date(date, clock, "day.month.year", zone)).to_list()

    alone = [read([row])[0] for row in rows]
    assert alone[:3] == ["2026-04-03T08:05:00", "03.04.2026 08:05 PM", "2026-04-04T01:10:00"]
    assert read(rows) == alone
    for row, text in zip(rows, alone, strict=True):
        assert read([rows[0], row]) == [alone[0], text]


def test_a_feed_among_the_rows_is_sent_to_world(city):
    folder, rides = city
    truth.clean(rides).write_csv(folder / "rows.csv")
    with pytest.raises(InputError, match=r"is a feed, and no rows: give it as --world city\.zip"):
        Guess(["rows.csv", "city.zip"], "city.zip", ledger="none").look()


@pytest.mark.parametrize("broken", ["start", "end"])
@pytest.mark.parametrize("form", ["%d.%m.%Y %H:%M:%S", None])
def test_one_time_that_is_none_is_one_sentence(city, broken, form):
    folder, rides = city
    moment = pl.col(broken) if form is None else pl.col(broken).dt.strftime(form)
    other = "end" if broken == "start" else "start"
    texts = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("soon")).otherwise(moment.cast(pl.String))
    written = pl.col(other) if form is None else pl.col(other).dt.strftime(form)
    rides.select("trip_id", "origin", "destination", texts.alias(broken), written.alias(other)).write_parquet(
        folder / "soon.parquet"
    )
    findings = Guess("soon.parquet", "city.zip", ledger="none").look().findings
    assert "soon" in " ".join(map(str, findings.problems))


def test_files_of_clocks_without_a_date_are_said_to_be_of_one_day(city):
    folder, rides = city
    (folder / "clocks").mkdir()
    clocks = (
        truth.visits(rides).with_columns(pl.col("event_time").dt.strftime("%H:%M")).sort("trip_id", "seq")
    )
    for number in range(2):
        clocks.filter(pl.col("trip_id").str.slice(-1).cast(pl.Int64) % 2 == number).write_csv(
            folder / "clocks" / f"{number}.csv"
        )
    notes = Guess("clocks", "city.zip", ledger="none").look().findings.notes
    assert "2 files are one table" in notes
    assert any("`event_time` has no date: rows are taken as those of one day" in note for note in notes)


@pytest.mark.parametrize("packed", [False, True])
def test_zones_of_a_shapefile_are_a_world(tmp_path, packed):
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    squares = [shapely.box(at, 0, at + 1, 1) for at in range(3)]
    frame = geopandas.GeoDataFrame({"LocationID": ["7", "8", "9"]}, geometry=squares, crs=4326).to_crs(3857)
    frame.to_file(tmp_path / "zones.shp")
    place = tmp_path / "zones.shp"
    if packed:
        place = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path)
    world = open_world(place)
    assert world.ids.tolist() == ["7", "8", "9"]
    assert world.areas.containing(np.array([0.5, 0.5]), np.array([0.5, 2.5])).tolist() == [0, 2]
    assert world.areas.neighbours() == [(0, 1), (1, 2)]


def _a_year(folder, rides, months):
    """A folder of monthly files: the number in each name, and the month that its rows are of."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, month in months:
        days = monthrange(2026, month)[1]
        start = [datetime(2026, month, 1 + at % days, 8, at % 60) for at in range(len(rides))]
        table = rides.with_columns(
            pl.format("{}-{}", pl.lit(number), "trip_id").alias("trip_id"),
            start=pl.Series(start),
            end=pl.Series(start) + timedelta(minutes=9),
        )
        truth.named(table, "%d.%m.%Y %H:%M", **truth.GERMAN).write_csv(
            folder / f"{number:02}.csv", separator=";"
        )


YEAR = [(number, number) for number in range(1, 13)]


@pytest.mark.parametrize(
    ("months", "said"),
    [
        (YEAR, None),
        ([each for each in YEAR if each[0] != 5], "no file has rows of 2026-05-01 to 2026-05-31"),
        ([*YEAR[:4], (5, 4), *YEAR[5:]], "04.csv and 05.csv both have rows of 2026-04-01 to 2026-04-30"),
        ([*YEAR[:6], (7, 8), (8, 7), *YEAR[8:]], "08.csv comes after files of later days"),
    ],
)
def test_a_folder_of_a_year_is_one_dataset_with_its_oddities_said(city, months, said, tmp_path):
    folder, rides = city
    _a_year(folder / "year", rides[:62], months)
    ledger = tmp_path / "year.ledger"
    checked = Guess("year", "city.zip", ledger=str(ledger), epsilon="8").look()
    odd = [note for note in checked.findings.notes if "rows of 2026" in note or "later days" in note]
    odd = [note for note in odd if ".csv: " not in note]  # the days of each file, which are no oddity
    assert len(checked.findings.trips) == 62 * len(months)
    assert any(said in note for note in odd) if said else not odd
    if said is None:
        write_plan(checked.plan, folder / "year.toml")
        assert wv.release(read_plan(folder / "year.toml")) is not None
        assert open_ledger(ledger).datasets() == ["year"]


def test_columns_that_count_people_name_nobody(city):
    folder, rides = city
    rides.group_by("origin", "destination").len().rename({"len": "passengers"}).write_csv(folder / "od.csv")
    asked = Guess("od.csv", "city.zip", ledger="none").look()
    assert asked.plan is None
    assert "`passengers` seems to count rides or people" in str(asked.findings.problems[0])
    checked = Guess("od.csv", "city.zip", ledger="none", keys={"rows": "pairs"}).look()
    assert checked.findings.trips.rider is None
    assert any("`passengers` seems to count" in note for note in checked.findings.notes)


def test_a_comment_is_no_header_however_many_commas_it_has(city):
    folder, rides = city
    lines = "# made by AFC\n# card, stop, time, card, stop, time\n"
    truth.write_text(truth.clean(rides), folder / "comments.csv", before=lines)
    checked = Guess("comments.csv", "city.zip", ledger="none").look()
    assert (checked.plan.source.skip, len(checked.findings.trips)) == (2, len(rides))


def test_a_zip_with_a_damaged_list_of_files_is_one_sentence(tmp_path):
    with zipfile.ZipFile(tmp_path / "rides.zip", "w") as archive:
        archive.writestr("rides.csv", "origin,destination\na,b\n")
    content = bytearray((tmp_path / "rides.zip").read_bytes())
    content[-6:-2] = (2**31).to_bytes(4, "little")  # where the list begins
    (tmp_path / "rides.zip").write_bytes(content)
    assert zipfile.is_zipfile(tmp_path / "rides.zip")
    findings = check(tmp_path / "rides.zip")
    assert "damaged" in str(findings.problems[0])
    with pytest.raises(InputError):
        open_world(tmp_path / "rides.zip")


def test_rides_past_midnight_without_a_date_end_on_the_next_day_by_the_command_that_is_told(
    city, monkeypatch
):
    folder, rides = city
    monkeypatch.chdir(folder)
    clock = {name: pl.col(name).dt.strftime("%H:%M") for name in ("start", "end")}
    count = {name: pl.col(name).dt.hour().cast(pl.Int64) * 60 + pl.col(name).dt.minute() for name in clock}
    journeys = rides.select(
        StartStn="origin",
        EndStation="destination",
        EntTime=count["start"],
        EntTimeHHMM=clock["start"],
        ExTime=count["end"],
        EXTimeHHMM=clock["end"],
    )
    journeys.write_csv("oyster.csv")
    told = Guess("oyster.csv", "city.zip", ledger="none").look()
    assert told.plan is None
    assert any("bad_rows.ends_long_before=next_day --save" in note for note in told.findings.notes)
    rule = {"bad_rows": {"ends_long_before": "next_day"}}
    plan = Guess("oyster.csv", "city.zip", ledger="none", keys=rule).look().plan
    assert plan.source.columns["start"] == "EntTimeHHMM"
    assert plan.source.clock == "written"
    read = open_rows(plan, open_world("city.zip"), files_of(plan)).rows
    spent = (rides["end"] - rides["start"]).dt.total_minutes()
    assert sorted(read.time[1::2] - read.time[::2]) == sorted(spent * 60)
