"""An agency with cards on the command line: who is protected, sensitive stops, wishes, and filtered questions."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.cli import _register, app
from wayveil.errors import InputError, ParameterError
from wayveil.simulate.fare_boxes import simulate_taps

_register()
CITY = ring_of_stops(20, seconds=120, skip=3, routes=3)


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agency")
    CITY.save(folder / "city.npz")
    made = simulate_taps(CITY, 1_500, seed=4).taps
    table = made.to_polars().drop("wayveil_marks", strict=False)
    wish = pl.Series(["yes" if at % 10 == 0 else "" for at in range(table.height)])
    table.with_columns(no_thanks=wish).write_csv(folder / "taps.csv")
    (folder / "clinics.csv").write_text("stop_id\ns003\n")
    return folder


def release(place, out, *more):
    command = (
        "release",
        place / "taps.csv",
        "--epsilon",
        2,
        "-w",
        place / "city.npz",
        "-o",
        place / out,
    )
    return json.loads(
        invoke(
            *command,
            "--ledger",
            place / "ledger",
            "--dataset",
            out,
            "--policy-epsilon",
            9,
            "--new-people",
            "--json",
            *more,
        )
    )


def test_the_advice_names_every_unit(place):
    rows = json.loads(
        invoke("lab", "units", place / "taps.csv", "--epsilon", 1, "-w", place / "city.npz", "--json")
    )
    assert {row["unit"] for row in rows} == {"event", "rider-day", "rider"}


def test_counts_with_routes_protect_riders_and_answer_by_route_and_hour(place):
    common = ("--way", "counts-first", "--days", "2024-12-15/2024-12-20")
    release(place, "riders", *common, "--unit", "rider", "--max-taps", 4, "--with", "opt_out=no_thanks")
    sheet = json.loads((place / "riders" / "datasheet.json").read_text())
    assert sheet["guarantee"]["unit"] == "rider"
    asked = ("ask", place / "riders", "boardings", "--json", "--anyway")
    (row,) = json.loads(invoke(*asked, "--route", "r1", "--weekdays", "--between", "07:00", "09:00"))
    assert row["low"] <= row["answer"] <= row["high"]
    assert "at most 4 of a rider" in row["note"]
    with pytest.raises(ParameterError, match="whole hours"):
        invoke(*asked, "--between", "07:30", "09:00")
    with pytest.raises(ParameterError, match="--max-taps"):
        release(place, "never", *common, "--unit", "rider-day")
    with pytest.raises(InputError, match="no column"):
        release(place, "never", *common, "--with", "opt_out=wish")
    assert not (place / "never").exists()


def test_sensitive_stops_are_merged_or_have_their_own_epsilon(place):
    listed = ("--way", "counts", "--with", f"sensitive={place / 'clinics.csv'}")
    release(place, "merged", *listed)
    release(place, "coins", *listed, "--with", "sensitive_epsilon=0.1")
    sheets = {name: json.loads((place / name / "datasheet.json").read_text()) for name in ("merged", "coins")}
    assert sheets["merged"]["sensitive_stops"] == {"stops": 1, "merged": True, "chance": None}
    assert 0 < sheets["coins"]["sensitive_stops"]["chance"] < 0.02
    page = (place / "merged" / "datasheet.html").read_text()
    assert "merged into their surroundings" in page
