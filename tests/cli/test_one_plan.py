"""One plan, one run: every kind of rows goes the same way, and a refused or stopped run costs what it says."""

import json
import sqlite3
import sys
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import wayveil as wv
from series.series_worlds import MONDAY, STOPS, week_file, write_plan
from wayveil.cli import main
from wayveil.privacy.ledger.data_time import Days
from wayveil.releases import paid
from wayveil.releases.release import Release
from wayveil.run import run

PLACES = "stop_id,stop_name,lat,lon\n" + "".join(
    f"s{at:02},Stop {at},{48.4 + at / 1000:.3f},-123.3\n" for at in range(STOPS)
)
BOX = "grid:37.60,-122.52,37.81,-122.35@8x8"


@pytest.fixture
def wayveil(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stops.csv").write_text(PLACES)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, " ".join(shown.err.split())

    return call


def taps_file(tmp_path):
    return week_file(tmp_path, 1)


def without_cards(tmp_path):
    path = tmp_path / "bare.csv"
    pl.read_csv(taps_file(tmp_path)).drop("card_id").write_csv(path)
    return path


def points_table(riders=40):
    rng = np.random.default_rng(1)
    rows = []
    for rider in range(riders):
        for trip in range(2):
            lat, lng = 37.61 + 0.15 * rng.random(), -122.5 + 0.1 * rng.random()
            for minute in range(4):
                at = f"2026-01-05 0{8 + trip}:0{minute}:00"
                rows.append((f"u{rider}", f"{rider}-{trip}", at, lat + 0.002 * minute, lng))
    return pl.DataFrame(rows, schema=["uid", "tid", "datetime", "lat", "lng"], orient="row")


def spent(tmp_path, dataset):
    return wv.open_ledger(tmp_path / "home" / "ledger").spent(dataset)


def test_mechanisms_are_listed_again_and_again_also_after_one_was_used():
    first = sorted(wv.mechanisms())
    assert wv.Weave().name in first
    assert sorted(wv.mechanisms()) == first


def test_a_release_of_taps_that_stops_after_paying_is_finished_by_the_same_command(
    wayveil, tmp_path, monkeypatch
):
    words = ["release", taps_file(tmp_path), "-w", "stops.csv", "--way", "cards", "--max-trips", 2, "-e", 1]
    words += ["--out", "made", "--policy-epsilon", 3, "-q"]

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(paid, "draw", stopped)
        code, _, err = wayveil(*words)
    assert code == 130
    assert "the same command finishes it without spending again" in err
    assert not (tmp_path / "made").exists()
    taps_file(tmp_path).unlink()  # what is paid for needs no raw row
    code, _, err = wayveil(*words)
    assert code == 0, err
    assert spent(tmp_path, "taps_2026-W01.csv") == 1
    assert Release.load(tmp_path / "made").visits_are_taps
    assert (tmp_path / "made" / "wayveil.toml").read_text().startswith("# A plan")


def test_another_plan_does_not_finish_what_was_paid_for(wayveil, tmp_path, monkeypatch):
    words = ["release", taps_file(tmp_path), "-w", "stops.csv", "--way", "counts", "--out", "made"]
    words += ["--ledger", "none", "-q"]

    def fails(*_, **__):
        raise wv.WayveilError("no")

    with monkeypatch.context() as patch:
        patch.setattr(paid, "draw", fails)
        assert wayveil(*words, "-e", 1)[0] == 2
    code, _, err = wayveil(*words, "-e", 2)
    assert code == 2
    assert "with another plan" in err
    assert wayveil(*words, "-e", 1)[0] == 0


def test_a_refused_way_leaves_the_ledger_as_it_was_and_the_advised_one_works(wayveil, tmp_path):
    common = ["release", without_cards(tmp_path), "-w", "stops.csv", "-e", 1, "-o", "made"]
    code, _, err = wayveil(*common, "--way", "cards", "--max-trips", 2, "--policy-epsilon", 3, "-q")
    assert code == 2
    assert "`counts`" in err
    assert wv.open_ledger(tmp_path / "home" / "ledger").entries() == []
    code, _, err = wayveil(*common, "--way", "counts", "--policy-epsilon", 3, "-q")
    assert code == 0, err
    assert spent(tmp_path, "bare.csv") == 1


def test_a_policy_that_would_not_allow_the_run_is_not_written(wayveil, tmp_path):
    common = ["release", taps_file(tmp_path), "-w", "stops.csv", "--way", "counts", "-e", 4, "-o", "made"]
    code, _, err = wayveil(*common, "--policy-epsilon", 3, "-q")
    assert code == 2
    assert "needs epsilon 4" in err
    assert wv.open_ledger(tmp_path / "home" / "ledger").entries() == []


def test_the_datasheet_of_points_calls_them_positions(wayveil, tmp_path):
    points_table().write_csv(tmp_path / "points.csv")
    common = ["release", "points.csv", "-w", BOX, "-m", "markov", "-e", 4, "--ledger", "none", "-q"]
    code, _, err = wayveil(*common, "-o", "all")
    assert code == 0, err
    sheet = json.loads((tmp_path / "all" / "datasheet.json").read_text())
    assert sheet["guarantee"]["bounds"]["bounding"] == "weights", "points with riders need no bound"
    code, _, err = wayveil(*common, "-o", "made", "--max-trips", 2)
    assert code == 0, err
    sheet = json.loads((tmp_path / "made" / "datasheet.json").read_text())
    assert sheet["rows"]["row"] == "points"
    assert "a position" in sheet["rows"]["sentence"]
    code, out, _ = wayveil("check", "points.csv", "-w", BOX, "--json", "--ledger", "none")
    assert (code, "--rows points" in json.loads(out)["command"]) == (0, True)


def test_taps_with_cards_need_no_bound(wayveil, tmp_path):
    words = ["release", taps_file(tmp_path), "-w", "stops.csv", "--way", "cards", "-e", 1, "-o", "made", "-q"]
    code, _, err = wayveil(*words, "--ledger", "none")
    assert code == 0, err
    sheet = json.loads((tmp_path / "made" / "datasheet.json").read_text())
    assert sheet["guarantee"]["bounds"] == {
        "max_trips": 2,
        "without_id": "refuse",
        "bounding": "weights",
        "most_rows": 32,
    }
    assert sheet["size"]["rows"] >= sheet["size"]["weights"]


def test_the_ledger_in_reach_is_named(wayveil, tmp_path):
    words = ["release", taps_file(tmp_path), "-w", "stops.csv", "--way", "counts", "-e", 1, "-o", "made"]
    _, _, err = wayveil(*words, "--policy-epsilon", 3)
    said = err.replace(" ", "")  # a terminal wraps long paths
    assert said.startswith(f"ledger:{tmp_path / 'home' / 'ledger'}(theoneinreach")


def test_a_plan_says_counts_first_for_riders_once_and_every_week(tmp_path):
    feed = wv.lab.write_city(tmp_path / "city.zip", 3, stops=40, lines=3)
    city = wv.read_gtfs(feed)
    assert len(city.route_ids)
    plan = wv.Plan.of(
        files="taps.csv",
        world=str(feed),
        rows="taps",
        way="counts-first",
        unit="rider",
        max_taps=4,
        epsilon=1,
    )
    assert (plan.method.way, plan.protection.unit, plan.protection.max_taps) == ("counts-first", "rider", 4)
    (tmp_path / "series").mkdir()
    weekly = write_plan(tmp_path / "series").changed(way="counts-first", max_trips=None, max_taps=4)
    assert (weekly.protected, weekly.series is not None) == ("rider", True)


def kinds_of_rows(tmp_path):
    taps = taps_file(tmp_path)
    visits = pl.DataFrame(
        {
            "trip_id": [f"t{i // 2}" for i in range(400)],
            "stop_id": [f"s{(i * 7) % STOPS:02}" for i in range(400)],
            "seq": [i % 2 for i in range(400)],
        }
    )
    visits.write_csv(tmp_path / "trips.csv")
    parts = tmp_path / "parts"
    parts.mkdir()
    visits[:200].write_parquet(parts / "1.parquet")
    visits[200:].write_parquet(parts / "2.parquet")
    points_table().write_csv(tmp_path / "points.csv")
    (tmp_path / "stops.csv").write_text(PLACES)
    world = wv.open_world(tmp_path / "stops.csv")
    on_stops, of_taps = {"world": world, "unit": "trip"}, {"world": world, "rows": "taps", "way": "counts"}
    of_points = {"world": BOX, "rows": "points", "unit": "trip"}
    read = wv.read_taps(taps, world).taps
    return {
        "trips": (wv.read_trips(visits, world), {"unit": "trip"}),
        "taps": (read, {"way": "counts"}),
        "points": (wv.read_points(tmp_path / "points.csv", wv.open_world(BOX)), {"unit": "trip"}),
        "a polars frame": (visits, on_stops),
        "a pandas frame": (visits.to_pandas(), on_stops),
        "a frame of taps": (pl.read_csv(taps), of_taps),
        "a path": (tmp_path / "trips.csv", on_stops),
        "a path of taps": (taps, of_taps),
        "a path of points": (tmp_path / "points.csv", of_points),
        "a folder": (parts, on_stops),
    }


def test_release_takes_every_kind_of_rows_and_books_it(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    for number, (kind, (rows, options)) in enumerate(kinds_of_rows(tmp_path).items()):
        mechanism = None if options.get("way") or kind == "taps" else "markov"
        given = {
            "epsilon": 2,
            "policy_epsilon": 5,
            "dataset": f"rows {number}",
            "new_people": True,
            **options,
        }
        made = wv.release(rows, mechanism, **given)
        assert isinstance(made, Release), kind
        made.save(tmp_path / f"made-{number}")
        assert spent(tmp_path, f"rows {number}") == 2, kind


def test_a_plan_in_python_goes_to_its_folder_and_an_unknown_option_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    (tmp_path / "stops.csv").write_text(PLACES)
    taps_file(tmp_path)
    plan = wv.Plan.of(
        files="taps_2026-W01.csv",
        world="stops.csv",
        rows="taps",
        way="counts",
        epsilon=1,
        days=Days(MONDAY, MONDAY + timedelta(days=6)),
        policy_epsilon=3,
        needs=[{"question": "boardings", "top": 50, "within": 0.1}],
        report=True,
        exports=["station-activities"],
        path=tmp_path / "wayveil.toml",
    )
    made = wv.release(plan)
    use = made.datasheet["deployment"]["basic"]["intended_use"]
    assert use == "for boardings per stop, top 50, within 10 %"
    assert (tmp_path / "release-report.html").is_file()
    assert (tmp_path / "release-exports" / "release_station-activities.csv").is_file()
    assert (tmp_path / "release" / "wayveil.toml").is_file()
    assert made.ask("total").table["answer"].item() > 0
    with pytest.raises(wv.WayveilError, match="no key 'colour'"):
        wv.release(plan, colour=3)
    with pytest.raises(wv.WayveilError, match="unknown option 'colour'"):
        wv.release(
            wv.read_taps(taps_file(tmp_path), wv.open_world(tmp_path / "stops.csv")).taps, epsilon=1, colour=3
        )
    with pytest.raises(wv.WayveilError, match="its days are"):
        wv.release(plan, days=Days(date(2026, 3, 2), date(2026, 3, 8)), folder="other")


def test_an_export_that_cannot_be_is_said_and_the_others_are_written_also_after_a_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    (tmp_path / "stops.csv").write_text(PLACES)
    taps_file(tmp_path)
    said = {"files": "taps_2026-W01.csv", "world": "stops.csv", "rows": "taps", "way": "counts", "epsilon": 1}
    asked = {"exports": ["od", "station-activities"], "report": True, "policy_epsilon": 1}
    days = Days(MONDAY, MONDAY + timedelta(days=6))
    plan = wv.Plan.of(**said, **asked, days=days, path=tmp_path / "wayveil.toml")
    remarks = []

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr("wayveil.run.write_report", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(plan, say=remarks.append)
    assert any("not exported as od" in remark and "where people got off" in remark for remark in remarks)
    assert [file.name for file in (tmp_path / "release-exports").iterdir()] == [
        "release_station-activities.csv"
    ]
    made = run(plan)  # the policy allows no second release
    assert (tmp_path / "release-report.html").is_file()
    assert made.ask("total").table["answer"].item() > 0
    assert not list(tmp_path.glob(".release.paid"))


def test_a_year_can_start_after_a_single_release_of_the_same_people(wayveil, tmp_path):
    plan = write_plan(tmp_path, exports="")
    words = ["release", week_file(tmp_path, 1), "-w", "stops.csv", "--way", "counts", "-e", 1, "-o", "one"]
    assert wayveil(*words, "--ledger", "ledger", "--policy-epsilon", 5, "-q")[0] == 0
    code, _, err = wayveil("release", plan.path, week_file(tmp_path, 2), "-q")
    assert (code, "--new-people" in err) == (2, True)
    code, _, err = wayveil("release", plan.path, week_file(tmp_path, 1), "--new-people", "-q")
    assert code == 0, err


def test_the_password_of_a_database_leaves_neither_in_the_folder_nor_in_a_message(wayveil, tmp_path):
    address = "sqlite://anna:hush@/taps.db?table={}&password=hush"
    rows = pl.read_csv(without_cards(tmp_path)).rows()
    with sqlite3.connect(tmp_path / "taps.db") as made:
        made.execute(f"CREATE TABLE taps ({', '.join(pl.read_csv(tmp_path / 'bare.csv').columns)})")
        made.executemany(f"INSERT INTO taps VALUES ({', '.join('?' * len(rows[0]))})", rows)
    words = ("--world", "stops.csv", "--rows", "taps", "-e", "1", "--ledger", "none", "-q", "-o", "made")
    assert wayveil("release", address.format("taps"), *words)[0] == 0
    assert "anna@" in (tmp_path / "made" / "wayveil.toml").read_text()
    for path in (tmp_path / "made").iterdir():
        assert b"hush" not in path.read_bytes()
    code, out, said = wayveil("release", address.format("nowhere"), *words[:-1], "other")
    assert code != 0
    assert "hush" not in out + said
