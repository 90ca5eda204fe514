"""The way of an agency on the command line: simulate, clean, riders, release, ask."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.cli import _register, app
from wayveil.errors import InputError, ParameterError
from wayveil.privacy.ledger import LedgerError, open_ledger

_register()
run = CliRunner()
CITY = ring_of_stops(20, seconds=120, skip=3, routes=3)


def invoke(*arguments, code=0):
    done = run.invoke(app, [str(one) for one in arguments])
    if code == 0 and done.exception is not None:
        raise done.exception
    return done


def refused(error, word, *arguments):
    done = run.invoke(app, [str(one) for one in arguments])
    assert isinstance(done.exception, error)
    assert word in str(done.exception)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agency")
    CITY.save(folder / "city.npz")
    invoke(
        "lab",
        "simulate",
        "taps",
        folder / "city.npz",
        "-o",
        folder / "vendor.csv",
        "--taps",
        3000,
        "--seed",
        4,
        "-q",
    )
    invoke(
        "lab",
        "clean",
        folder / "vendor.csv",
        "-w",
        folder / "city.npz",
        "-o",
        folder / "clean.parquet",
        "-q",
    )
    return folder


@pytest.fixture(scope="module")
def released(place):
    invoke(
        *("release", place / "clean.parquet", "-w", place / "city.npz", "--way", "counts-first", "-e", 2),
        *("--days", "2024-12-15/2024-12-20", "-o", place / "counts-first", "--ledger", "none", "-q"),
    )
    invoke(
        *("release", place / "clean.parquet", "-w", place / "city.npz", "--way", "study", "-e", 4),
        *("--max-trips", 2, "-m", "ppdp", "--set", "height=3"),
        *("-o", place / "study", "--ledger", "none", "-q"),
    )
    return place


def test_cleaning_prints_every_rule(place):
    out = place / "again.csv"
    shown = invoke("lab", "clean", place / "vendor.csv", "-w", place / "city.npz", "-o", out, "-q").stdout
    assert "3,000 rows in" in shown
    assert "missing vehicle, bus, seats" in shown
    facts = json.loads(
        invoke(
            *("lab", "clean", place / "vendor.csv", "-w", place / "city.npz", "-o", out, "--json"),
            *("--fill", "same-bus", "--first-day", "2024-12-16", "--days", 2),
        ).stdout
    )
    assert facts["rows_out"] == pl.read_csv(out).height
    assert any(rule["other_rows"] for rule in facts["rules"])


def test_a_file_whose_layout_is_known_can_be_checked(place):
    """It has none of our column names, and looking for bad rows in no column ended in a traceback."""
    said = invoke("check", place / "vendor.csv", "-w", place / "city.npz").output
    assert "no problem found" in said
    assert "--rows taps" in said


def test_columns_can_be_mapped_by_hand(place, tmp_path):
    (tmp_path / "odd.csv").write_text("when,where\n2024-12-16T08:00:00,s003\n")
    shared = ("-w", place / "city.npz", "-o", tmp_path / "out.csv", "-q")
    invoke("lab", "clean", tmp_path / "odd.csv", "--map", "time=when", "--map", "stop=where", *shared)
    assert pl.read_csv(tmp_path / "out.csv")["stop_id"].to_list() == ["s003"]
    refused(InputError, "no known layout", "lab", "clean", tmp_path / "odd.csv", *shared)
    refused(ParameterError, "ours=theirs", "lab", "clean", tmp_path / "odd.csv", "--map", "when", *shared)
    both = ("--map", "time=when", "--columns", "tides")
    refused(ParameterError, "not both", "lab", "clean", tmp_path / "odd.csv", *both, *shared)


def test_riders_come_from_a_vendor_file_in_one_command(place):
    facts = json.loads(
        invoke(
            "lab",
            "riders",
            place / "vendor.csv",
            "-w",
            place / "city.npz",
            "-o",
            place / "riders.parquet",
            "--json",
        ).stdout
    )
    table = pl.read_parquet(place / "riders.parquet")
    assert facts["share_assigned"] == 1.0
    assert table.height == facts["taps"]
    assert table["rider_id"].n_unique() == facts["riders"]


def test_rules_of_the_reconstruction_can_be_changed_in_a_file(place, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("first_km = 0.0\nregularity = 0.1\n")
    shared = (
        "lab",
        "riders",
        place / "clean.parquet",
        "-w",
        place / "city.npz",
        "-o",
        tmp_path / "r.csv",
        "--json",
    )
    more = json.loads(invoke(*shared, "--rules", rules).stdout)["riders"]
    assert more > json.loads(invoke(*shared).stdout)["riders"]
    rules.write_text("speed = 3\n")
    refused(InputError, "no usable rules", *shared, "--rules", rules)
    refused(InputError, "cannot be read", *shared, "--rules", tmp_path / "none.toml")


@pytest.mark.parametrize(
    "question",
    [
        "total",
        "stops",
        "hours",
        "stop-hours",
        "most-used",
        "least-used",
        "pairs",
        "triples",
        "routes",
        "load",
    ],
)
def test_every_question_is_answered_from_a_release(released, question):
    for folder in ("counts-first", "study"):
        rows = json.loads(invoke("ask", released / folder, question, "--json", "--anyway").stdout)
        assert all(row["answer"] >= 0 for row in rows)
        assert folder == "study" or len(rows) > 0


def test_answers_near_the_truth_have_bars_that_reach_it(released):
    arguments = ("-w", released / "city.npz", "--raw", released / "clean.parquet", "--json")
    total = json.loads(invoke("ask", released / "counts-first", "total", *arguments).stdout)[0]
    assert total["low"] <= total["answer"] <= total["high"]
    assert total["answer"] == pytest.approx(total["raw"], rel=0.1)
    assert total["plain_laplace"] == pytest.approx(total["raw"], abs=40)
    stops = json.loads(invoke("ask", released / "counts-first", "stops", *arguments).stdout)
    assert sum(row["low"] <= row["raw"] <= row["high"] for row in stops) >= 0.5 * len(stops)


def test_raw_riders_are_read_as_riders(released, tmp_path):
    """A file of riders was once read as taps without cards: it then had no pair of boardings at all."""
    riders = tmp_path / "riders.parquet"
    wide = tmp_path / "wide.csv"
    known = ("-w", released / "city.npz", "-o", riders, "--wide", wide, "-q")
    invoke("lab", "riders", released / "clean.parquet", *known)
    table = pl.read_parquet(riders)
    rows = pl.read_csv(wide)
    assert rows["rider_id"].to_list() == sorted(table["rider_id"].unique())
    most = table.group_by("rider_id").len().sort("len")[-1]
    own = table.filter(pl.col("rider_id") == most["rider_id"][0])
    taps = [name for name in rows.columns if name.startswith("tap_")]
    assert taps == [f"tap_{at}" for at in range(1, most["len"][0] + 1)]
    said = rows.row(by_predicate=pl.col("rider_id") == own["rider_id"][0], named=True)
    stops = [
        f"{stop} {time:%Y-%m-%d %H:%M:%S}" for stop, time in own.select("stop_id", "event_time").iter_rows()
    ]
    assert [said[name] for name in taps] == stops
    assert rows.select(pl.sum_horizontal(pl.col(taps).is_not_null()))["tap_1"].sum() == table.height
    shared = ("-w", released / "city.npz", "--raw", riders, "--json", "--anyway")
    (total,) = json.loads(invoke("ask", released / "counts-first", "total", *shared).stdout)
    assert total["raw"] == table.height
    pairs = json.loads(invoke("ask", released / "counts-first", "pairs", "--top", 5, *shared).stdout)
    trips = table.height - table.n_unique(["rider_id"])
    assert 0 < sum(row["raw"] for row in pairs) <= trips


def test_people_see_the_notice_and_whether_the_release_is_private(released):
    shown = invoke("ask", released / "study", "most-used", "--top", 5)
    assert "no privacy guarantee" in shown.stderr.replace("\n", " ")
    out = released / "answer.csv"
    invoke("ask", released / "study", "stops", "-o", out, "-q")
    assert pl.read_csv(out).height == CITY.size


def test_a_question_that_nobody_knows_is_refused(released):
    sheet = released / "answers.csv"
    shown = invoke("ask", released / "counts-first", "all", "--top", 2, "-o", sheet)
    assert "lies between low and high" in " ".join(shown.output.split()), shown.output
    assert "comes from rules" in shown.output
    table = pl.read_csv(sheet)
    assert {"total", "hours", "most-used", "routes", "load"} <= set(table["question"])
    assert table["plain_laplace_noise"].drop_nulls().n_unique() == 1
    refused(ParameterError, "choose one of boardings", "ask", released / "study", "why")
    assert json.loads(invoke("ask", released / "study", "total", "--json", "--anyway").stdout)
    refused(
        InputError,
        "already exists",
        "release",
        released / "clean.parquet",
        "-e",
        1,
        "--way",
        "counts",
        "-w",
        released / "city.npz",
        "-o",
        released / "study",
    )
    refused(
        ParameterError,
        "not a date",
        "lab",
        "simulate",
        "taps",
        released / "city.npz",
        "-o",
        released / "x.csv",
        "--first-day",
        "tomorrow",
    )


def test_cards_with_coordinates_go_from_file_to_answers_on_a_grid(tmp_path):
    rows = ["id_tarjeta,lat,lon,id_linea,hora,fecha"]
    rows += [
        f"{card},{-34.6 - card % 3 * 0.02:.3f},-58.43,1,{hour},27/11/2019"
        for card in range(60)
        for hour in (8, 18)
    ]
    (tmp_path / "sube.csv").write_text("\n".join(rows) + "\n")
    box = ("-w", "grid:-34.70,-58.50,-34.55,-58.35@0.02deg")
    invoke(
        *("release", tmp_path / "sube.csv", *box, "--way", "cards", "-e", 8, "--set", "height=2"),
        *("--max-trips", 2, "-m", "noisy-prefix-tree", "-o", tmp_path / "out", "--ledger", "none", "-q"),
    )
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text())
    assert sheet["private"] is True
    assert sheet["guarantee"]["unit"] == "rider"
    rows = json.loads(
        invoke(
            "ask", tmp_path / "out", "most-used", *box, "--raw", tmp_path / "sube.csv", "--top", 3, "--json"
        ).stdout
    )
    assert sum(row["answer"] for row in rows) == pytest.approx(120, abs=40)
    assert {"raw", "plain_laplace"} <= set(rows[0])


def test_the_tap_commands_list_themselves():
    assert "riders" in run.invoke(app, ["lab", "--help"]).stdout


def test_taps_are_one_dataset_whatever_is_made_of_them(place, tmp_path, monkeypatch):
    """Ways, periods and names of a file change nothing about whose taps they are; a study protects nobody."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    given = ("-w", place / "city.npz", "-q")
    counts = ("--way", "counts", "-e", 1)
    taps = place / "clean.parquet"
    invoke("release", taps, *given, *counts, "-o", tmp_path / "a", "--policy-epsilon", 5)
    pl.read_parquet(taps).write_csv(tmp_path / "copy.csv")
    refused(
        LedgerError,
        "known as 'clean.parquet'",
        *("release", tmp_path / "copy.csv", *given, "--way", "counts-first", "-e", 1),
        *("--days", "2024-12-15/2024-12-20", "-o", tmp_path / "b", "--policy-epsilon", 5),
    )
    refused(
        LedgerError,
        "without a guarantee",
        *("release", taps, *given, "--way", "study", "-e", 1, "-m", "ppdp", "--set", "height=3"),
        *("--max-trips", 2, "-o", tmp_path / "c"),
    )
    invoke("ask", tmp_path / "a", "total", *given, "--raw", taps)
    ledger = open_ledger(tmp_path / "home" / "ledger")
    (state,) = [state for state in ledger.summary() if state.dataset == "clean.parquet"]
    assert (state.unit, state.spent, state.committed, state.looks) == ("event", 1, 1, 1)
