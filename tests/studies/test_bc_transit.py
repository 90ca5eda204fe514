"""The BC Transit study at its smallest: every table and figure of the study is on the page, with its values."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.cli import _register, app
from wayveil.errors import InputError, ParameterError
from wayveil.lab.studies.bc_transit.bc_datasets import crowded
from wayveil.lab.studies.bc_transit.bc_questions import (
    BARE,
    HOURS,
    LEAST,
    MOST,
    NPT,
    NPT_EQUAL,
    PAIRS,
    PER_STOP,
    PER_STOP_TAPS,
    PPDP,
    PPDP_PRESET,
    QUERIES,
    ROLE_SHARES,
    SEEN,
    TABLE_6_1,
    TABLE_6_2,
    TABLE_6_3,
    TOTAL,
    TOTAL_OF_TRIPS,
    Examined,
    at_peaks,
)
from wayveil.lab.studies.bc_transit.bc_trials import STUDY_GAPS
from wayveil.lab.studies.bc_transit.links import RECONSTRUCTIONS, judge_links, same_day_links
from wayveil.lab.studies.docs import END, main, studies_page, written
from wayveil.lab.studies.figure_verdicts import number
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.run_study import find_study
from wayveil.lab.studies.study import STUDY
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.week import simulate_week
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.public_knowledge import empty
from wayveil.trips.trips import Trips

PUBLISHED = ["Section 5.3", "Section 4.2", "Figure 5.2", *(f"Figure 6.{at}" for at in range(1, 10))]
PUBLISHED += [f"Table 6.{at}" for at in (1, 2, 3)]
BESIDE = [
    "Section 6.4 (PPDP-ST-Binned)",
    "Section 5.5",
    "Reconstruction",
    "References",
    "Crowded stops",
    "Crowded stops, patterns",
    "Why trees find so little",
    "What a leak would explain",
    "What a leak would explain, patterns",
    "Ways",
    "Odd lengths",
]
CITY = ring_of_stops(40, seconds=120, skip=3, routes=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("bc-transit")
    _register()
    said = ["lab", "study", "bc-transit", "--tiny", "--out", str(out), "--workers", "1", "--quiet"]
    done = CliRunner().invoke(app, said)
    assert done.exit_code == 0, done.output
    return out


def test_every_table_and_figure_is_on_the_page_with_the_studys_values(folder):
    html = (folder / "index.html").read_text()
    for label in PUBLISHED + BESIDE:
        assert f"{label}: " in html
    shown = {"0.5", "1.25", "2"}
    tables = [*TABLE_6_1.values(), *TABLE_6_3.values(), *TABLE_6_2.values()]
    values = [value for row in tables for value in row.values()] + list(map(float, ROLE_SHARES.values()))
    for value in values + [value for both in PER_STOP.values() for value in both]:
        assert f">{number(value)}<" in html
    for figure, tree in (("1", NPT), ("2", PPDP)):
        chart = pl.read_csv(folder / "figures" / f"figure-6-{figure}-average-relative-error.csv")
        assert tuple(chart.filter(pl.col("series") == STUDY)["mean"]) == QUERIES[tree]
    for value in STUDY_GAPS.values():
        assert f">{number(value)}<" in html
    assert shown <= set(pl.read_csv(folder / "results.csv", infer_schema=False)["epsilon"].drop_nulls())


def test_every_published_figure_has_a_verdict_in_numbers(folder):
    record = json.loads((folder / "figures.json").read_text())
    assert {one["label"] for one in record["figures"]} == set(PUBLISHED)
    assert all(one["words"] and "nan" not in one["words"] for one in record["figures"])


def test_both_repairs_peaks_hours_and_all_questions_are_measured(folder):
    table = pl.read_csv(folder / "results.csv", infer_schema=False)
    assert set(table["status"]) == {"measured"}
    asked = table.filter(pl.col("part") == "queries")
    assert {NPT, PPDP} <= set(asked["mechanism"])
    bare = table.filter(pl.col("part") == "bare")
    assert set(bare["mechanism"]) == {*BARE.values(), NPT_EQUAL}, "both repairs of the tree alone"
    peaks = asked.filter(
        (pl.col("figure") == "patterns with peak periods, %") & pl.col("value").is_not_null()
    )
    assert set(peaks["mechanism"]) == {PPDP, PPDP_PRESET}, "the prefix tree has no times"
    assert {TOTAL, PER_STOP_TAPS, HOURS, MOST, LEAST, PAIRS} <= set(asked["figure"]), "the six queries"
    ways = set(table.filter(pl.col("part") == "ways")["way"])
    assert ways == {"cards, NPT", "cards, PPDP", "counts-first", "counts", "study, NPT", "study, PPDP"}


def test_the_reasons_say_which_bound_and_what_a_leak_would_explain(folder):
    record = json.loads((folder / "figures.json").read_text())
    words = {one["label"]: one["words"] for one in record["figures"] if one["status"] == "not reached"}
    for label in {"Figure 6.1", "Figure 6.2"} & set(words):
        assert "taken as taps, ours go from" in words[label]
        assert "(not private) would go from" in words[label]
    text = (folder / "results.csv").read_text()
    assert all(name in text for name in SEEN)


def test_pages_of_the_docs_are_made_of_the_record_alone(folder, tmp_path):
    mark = "<!-- study {}bc-transit-tiny: made by `python -m wayveil.lab.studies.docs` -->"
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "study-bc-transit-gone.svg").write_text("old")
    page, tables = tmp_path / "page.md", tmp_path / "tables.md"
    page.write_text(f"# By hand\n\n{mark.format('')}\nold\n{END}\nafter\n")
    tables.write_text(f"{mark.format('tables ')}{END}")
    main([str(tmp_path), str(folder)])
    text = page.read_text()
    assert text.startswith("# By hand")
    assert text.endswith("after\n")
    assert "\nold\n" not in text
    for label in PUBLISHED + BESIDE:
        assert f"### {label}: " in text
    assert "| 20 | the study | 85 | 95 |" in text
    pictures = re.findall(r"\(figures/([^)]+)\)", text)
    assert len(pictures) >= 9
    assert {file.name for file in (tmp_path / "figures").glob("*.svg")} == set(pictures)
    assert "### Table 6.1: " in tables.read_text()
    assert "![" not in tables.read_text()
    assert "## bc-transit" in (tmp_path / "studies.md").read_text()
    # A hand edit is undone, and the record is all that is needed.
    page.write_text(text.replace("| 20 | the study | 85 | 95 |", "| 20 | the study | 85 | 96 |"))
    assert written(tmp_path)[page] == text
    page.write_text(mark.format("").replace("tiny", "full") + END)
    with pytest.raises(InputError, match="is named by a page"):
        main([str(tmp_path)])


def test_links_are_counted_against_the_true_cards():
    taps = simulate_taps(CITY, 2_000, seed=1).taps
    before, after = same_day_links(taps, taps.card)
    assert (taps.card[before] == taps.card[after]).all()
    assert (taps.day[before] == taps.day[after]).all()
    assert (taps.time[before] <= taps.time[after]).all()
    days = {(int(card), int(day)) for card, day in zip(taps.card, taps.day, strict=True)}
    assert len(before) == len(taps) - len(days), "all but the last tap of everybody's day"
    for way in RECONSTRUCTIONS:
        found = judge_links(taps, way, 1)
        assert found["of the same rider"] <= found["same-day links"]
        assert 0 < found["same-day links"] <= len(taps)
        assert found["next taps that the rules allow"] > 1


def test_crowding_moves_taps_to_the_stops_with_most_departures():
    taps = simulate_taps(CITY, 2_000, seed=1).taps
    moved = crowded(taps, 0.5, hubs=3)
    assert 0.4 < (moved.location != taps.location).mean() < 0.55
    assert np.sort(np.bincount(moved.location, minlength=40))[-3:].sum() > 1_000


def test_peak_periods_are_part_of_the_symbol():
    hours = np.array([8, 17, 12, 23]) * 3600
    at = at_peaks(Trips.of_lists([[0, 1], [0, 1]], CITY, time=hours))
    assert at.location.tolist() == [0 * 5 + 1, 1 * 5 + 3, 0 * 5 + 2, 1 * 5 + 4]


def test_real_cards_are_asked_for_in_a_sentence_where_they_are_missing():
    study = find_study("bc-transit", Lab(scale="full"))
    part = study.part("cards")
    assert "Buenos Aires" in {exhibit.label for exhibit in study.exhibits}
    with pytest.raises(ParameterError, match="in the folder that --data names"):
        part.measure(part.settings[0], 0)


def test_trips_of_ones_own_have_no_place_in_it(tmp_path):
    with pytest.raises(ParameterError, match="starts from taps without riders"):
        find_study("bc-transit", Lab(scale="tiny", world=tmp_path, trips=tmp_path))


def test_the_total_is_the_number_that_was_bought(folder):
    table = pl.read_csv(folder / "results.csv", infer_schema=False).filter(
        (pl.col("part") == "bare")
        & (pl.col("epsilon") == "2")
        & pl.col("mechanism").is_in(list(BARE.values()))
    )
    found = {
        name: table.filter(pl.col("figure") == name)["value"].cast(pl.Float64).mean()
        for name in (TOTAL, TOTAL_OF_TRIPS)
    }
    # 1,500 taps are few: one rider has up to 30 of them, and a fiftieth of epsilon buys their number.
    assert found[TOTAL] < found[TOTAL_OF_TRIPS]
    exact = Examined.of(a_week(), 20)
    size = PaidSize(len(exact.raw), 1.01 * exact.raw.visits)
    assert exact.errors(empty(exact.raw.world, timed=True), 3, size)[TOTAL] == pytest.approx(1.0)
    assert exact.errors(empty(exact.raw.world, timed=True), 3)[TOTAL] == 100


def test_two_columns_say_what_privacy_costs_and_what_was_our_own_fault(folder):
    record = json.loads((folder / "figures.json").read_text())
    split = {one["label"]: (one["privacy"], one["own"]) for one in record["figures"]}
    for label in (
        "Figure 6.1",
        "Figure 6.2",
        "Figure 6.4",
        "Figure 6.7",
        "Figure 6.8",
        "Figure 6.9",
        "Table 6.3",
    ):
        privacy, own = split[label]
        assert "% without noise." in privacy, label
        assert "% before what thresholds take was filled up" in own, label
    page = studies_page([record])
    assert "| figure | our own fault, before and now | what privacy costs |" in page
    for part in split["Figure 6.9"]:
        assert page.count(part) == 1, "in the table of faults, and nowhere else"
    mended = {one["label"]: one["mended"] for one in record["figures"]}
    assert mended["Figure 6.3"] is None
    assert {mended[label] for label in split if split[label][1]} <= {True, False}


def a_week():
    return simulate_week(CITY, 300, seed=2)
