"""`score` and `report` on the command line: the short list and all of it, comparisons, taps, and csv beside pages."""

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.cli import _register, app
from wayveil.errors import InputError, ParameterError
from wayveil.simulate.city import simulate_city
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.taps.taps import write_taps
from wayveil.trips.visits import write_visits
from wayveil.utility.scorecard import score

_register()
run = CliRunner()
CITY = ring_of_stops(20, seconds=120, skip=3, routes=3)


def invoke(*arguments):
    done = run.invoke(app, [str(one) for one in arguments])
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A city, trips on it, and a release of them."""
    folder = tmp_path_factory.mktemp("place")
    CITY.save(folder / "city.npz")
    write_visits(simulate_city(CITY, 300, seed=1).trips, folder / "trips.parquet", riders=True)
    given = (folder / "trips.parquet", "-w", folder / "city.npz", "--epsilon", 4, "--ledger", "none")
    invoke("release", *given, "-m", "noisy-prefix-tree", "--set", "height=3", "-o", folder / "release", "-q")
    return folder


def scored(place, *more):
    files = (place / "trips.parquet", place / "release")
    return json.loads(invoke("score", *files, "--queries", 100, "--json", *more))


def test_the_short_list_has_a_few_questions_and_full_has_all(place):
    short = {figure["question"] for figure in scored(place)["figures"]}
    assert short == {"Count queries", "Timed count queries", "Trip lengths", "Stops", "Edges"}
    every = {figure["question"] for figure in scored(place, "--full")["figures"]}
    assert short < every
    assert {"N-grams", "Operations", "GPS standard set", "Feasibility", "Origins and destinations"} <= every


def test_every_visit_boards_where_the_release_is_one_of_taps(place, tmp_path, monkeypatch):
    asked = []

    def short(trips, release, **_):
        asked.append((release.visits_are_taps, len(trips)))
        return score(trips, release, queries=10)

    monkeypatch.setattr("wayveil.utility.scorecard.score", short)
    trips, taps, city = place / "trips.parquet", tmp_path / "taps.parquet", ("-w", place / "city.npz", "-q")
    counted = ("-m", "tap-counts", "--set", "max_visits=4", "--epsilon", 4, "--ledger", "none")
    invoke("release", trips, *city, *counted, "-o", tmp_path / "counts")
    write_taps(simulate_taps(CITY, 200, seed=1).taps, taps)
    invoke("score", trips, place / "release", "-q")
    invoke("score", trips, tmp_path / "counts", "-q")
    invoke("score", taps, tmp_path / "counts", "-q")
    page = ("-o", tmp_path / "internal.html")
    invoke("report", tmp_path / "counts", "-q", *page, "--raw", taps)
    invoke("report", tmp_path / "counts", "-q", *page, "--raw", trips)
    assert [each[0] for each in asked] == [False, True, True, True, True]
    assert [each[1] == asked[0][1] for each in asked] == [True, True, False, False, True]


def test_the_help_teaches_how_to_read_the_figures():
    text = re.sub(r"\s+", " ", run.invoke(app, ["score", "--help"], env={"COLUMNS": "200"}).output)
    for word in ("ceiling", "floor", "empty", "--full", "non-empty"):
        assert word in text


def test_a_published_report_has_its_pictures_beside_it_and_nothing_raw(place, tmp_path):
    page, trips = tmp_path / "report.html", tmp_path / "trips.parquet"
    write_visits(simulate_city(CITY, 1_000, seed=1).trips, trips, riders=True)
    # Little noise: whatever is drawn, no picture is withheld.
    given = ("-w", place / "city.npz", "--epsilon", 20, "--ledger", "none", "-q")
    invoke("release", trips, *given, "-o", tmp_path / "release")
    facts = json.loads(invoke("report", tmp_path / "release", "-o", page, "--json"))
    assert facts["for"] == "publication"
    links = re.findall(r'href="([^"#][^"]*)"', page.read_text())
    assert {"report-figures/map-private.csv", "report-figures/lengths.csv"} <= set(links)
    assert all((tmp_path / link).exists() for link in links)
    assert not list((tmp_path / "report-figures").glob("*raw*"))
    assert {"private", "low", "high"} <= set(pl.read_csv(tmp_path / "report-figures" / "stops.csv").columns)


def test_the_internal_report_takes_all_figures_and_a_comparison(place, tmp_path):
    files = (place / "trips.parquet", "-w", place / "city.npz", "-o", tmp_path / "compared")
    invoke(
        "lab",
        "compare",
        *files,
        "-m",
        "markov",
        "-e",
        "1,4",
        "--repetitions",
        1,
        "--queries",
        50,
        "--workers",
        1,
        "-q",
    )
    page = tmp_path / "inside.html"
    invoke(
        *(
            "lab",
            "report",
            place / "release",
            "--raw",
            place / "trips.parquet",
            "--full",
        ),
        *("--comparison", tmp_path / "compared", "--queries", 50, "-o", page, "-q"),
    )
    text = page.read_text()
    assert "INTERNAL" in text
    assert "Other mechanisms and budgets" in text
    assert "GPS standard set" in text
    assert (tmp_path / "inside-figures" / "map-difference.csv").exists()
    assert (tmp_path / "inside-figures" / "privacy-utility.csv").exists()


def test_a_comparison_without_raw_trips_is_refused(place, tmp_path):
    with pytest.raises(ParameterError, match="internal report"):
        invoke("lab", "report", place / "release", "--comparison", tmp_path)
    with pytest.raises(InputError, match="results of a comparison"):
        invoke(
            *("lab", "report", place / "release", "--raw", place / "trips.parquet"),
            *("--comparison", tmp_path, "--queries", 50, "-o", tmp_path / "r.html", "-q"),
        )


def test_taps_have_their_answers_in_both_reports(place, tmp_path):
    world = ("-w", place / "city.npz")
    invoke("lab", "simulate", "taps", place / "city.npz", "-o", tmp_path / "vendor.csv", "--taps", 2000, "-q")
    invoke("lab", "clean", tmp_path / "vendor.csv", *world, "-o", tmp_path / "taps.parquet", "-q")
    invoke(
        *("release", tmp_path / "taps.parquet", *world, "--epsilon", 4, "--way", "counts"),
        *("--ledger", "none", "-o", tmp_path / "release", "-q"),
    )
    public, inside = tmp_path / "public.html", tmp_path / "inside.html"
    invoke("report", tmp_path / "release", *world, "-o", public, "-q")
    assert "Plain Laplace noise" in public.read_text()
    invoke(
        *("report", tmp_path / "release", *world, "--raw", tmp_path / "taps.parquet"),
        *("--queries", 50, "-o", inside, "-q"),
    )
    answers = pl.read_csv(tmp_path / "inside-figures" / "answer-total.csv")
    assert {"answer", "raw", "plain_laplace"} <= set(answers.columns)
