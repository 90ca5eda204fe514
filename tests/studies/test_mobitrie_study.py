"""The MobiTrie study at its smallest: every table and figure of the study is on the page, with its values."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from wayveil.cli import _register, app
from wayveil.lab.studies.figure_verdicts import STATUSES, number
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.mobitrie.mobitrie_datasets import EPSILONS, ERRORS, FIGURES, METRICS
from wayveil.lab.studies.mobitrie.mobitrie_trials import AS_CODED, DRAWN, LEAK, Bench
from wayveil.lab.studies.mobitrie.tries import StaticCounter, example_trips, static_grams
from wayveil.lab.studies.run_study import Store, examine, find_study, plan
from wayveil.lab.studies.study import STUDY
from wayveil.privacy.bits import SeededBits
from wayveil.trips.windows import gram_counts
from wayveil.world.marked_ngrams import MarkedNgrams


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("mobitrie")
    _register()
    done = CliRunner().invoke(
        app, ["lab", "study", "mobitrie", "--tiny", "--out", str(out), "--workers", "1", "--quiet"]
    )
    assert done.exit_code == 0, done.output
    return out


def test_every_table_and_figure_is_on_the_page_with_its_values(folder):
    html = (folder / "index.html").read_text()
    labels = ["Table 7.1", *(f"Table 7.{at}" for at in (5, 6, 7, 9, 10, 11))]
    labels += [f"Figure 7.{at}{letter}" for at in (2, 3, 4, 8) for letter in "abc"]
    labels += [f"Figure 3.3{letter}" for letter in "abc"] + [f"Figure A.{at}" for at in range(5, 10)]
    labels += ["Figure 6.1", "Figures 6.2, B.1", "Figure B.2", "Figures 6.3, B.3", "Figures 6.4, B.4"]
    labels += ["Figures 4.1, 5.1, 5.3, A.1 to A.4", "Figure 3.2", "Figure 3.4", "Figure 5.2"]
    for label in labels:
        assert f"{label}: " in html
    for rows in METRICS.values():
        for epsilon in EPSILONS:
            assert len(rows[epsilon]) == len(FIGURES)
            for value in rows[epsilon]:
                assert f">{number(value)}<" in html
    for rows in ERRORS.values():
        for means, spreads in rows.values():
            for mean, spread in zip(means, spreads, strict=True):
                assert f"{number(mean)} ± {number(spread)}" in html


def test_charts_hold_the_studys_values_beside_ours(folder):
    f1 = FIGURES.index("F1")
    for letter, rows in zip("abc", METRICS.values(), strict=True):
        chart = pl.read_csv(folder / "figures" / f"figure-7-2{letter}-f1.csv")
        theirs = chart.filter(pl.col("series") == STUDY)["mean"].to_list()
        assert theirs == [rows[epsilon][f1] for epsilon in EPSILONS]
    for letter, rows in zip("abc", ERRORS.values(), strict=True):
        chart = pl.read_csv(folder / "figures" / f"figure-7-8{letter}-epsilon-1.csv")
        assert tuple(chart.filter(pl.col("series") == STUDY)["mean"]) == rows["1"][0]


def test_every_published_figure_has_a_verdict(folder):
    record = json.loads((folder / "figures.json").read_text())
    assert {one["status"] for one in record["figures"]} <= set(STATUSES)
    assert all(one["words"] and "nan" not in one["words"] for one in record["figures"])


def test_figures_do_not_depend_on_which_trial_runs_first(folder):
    lab = Lab(scale="tiny", out=folder)
    study = find_study("mobitrie", lab)
    kept = Store(folder, study, lab)
    cells = [cell for cell in plan(study) if cell.part == "trials"]
    for cell in reversed(cells[-12:]):
        assert json.dumps(examine(study, cell)["rows"]) == json.dumps(kept.load(cell)["rows"])


def test_later_repetitions_ask_the_trie_alone(folder):
    study = find_study("mobitrie", Lab(scale="tiny", out=folder))
    trial = study.part("trials")
    early, late = (trial.measure(trial.settings[0], repetition).rows for repetition in (0, DRAWN))
    answered = [{row["answered"] for row in rows if "answered" in row} for rows in (early, late)]
    assert answered[1] < answered[0]
    assert {row["figure"] for row in late} == {row["figure"] for row in early}
    assert not any("by trips" in one for one in answered[1])


def test_errors_are_answered_by_the_trie_and_by_trips(folder):
    text = (folder / "results.csv").read_text()
    assert "mobitrie-lt by the trie" in text
    assert "mobitrie-lt by trips" in text
    assert "baseline (no privacy) by the trie" in text
    for name in ("mobitrie-lt", LEAK):
        assert f"{name} {AS_CODED}" in text


def test_a_leak_is_marked_and_says_what_it_explains(folder):
    assert "not private" in LEAK
    record = json.loads((folder / "figures.json").read_text())
    words = {one["label"]: one["words"] for one in record["figures"]}
    for label in ("Table 7.5", "Table 7.6", "Table 7.7"):
        assert "With noise on observed 3-grams only, which is not private" in words[label]
    assert "Asked as in public states of the study's code" in words["Table 7.9"]


def test_queries_count_how_often_they_occur():
    # The study's example: the trip 1 3 4 5 7 1 has stop 1 twice.
    bench = Bench(example_trips(), queries=200)
    (_, work), true = bench.errors.works[1], bench.errors.true[1]
    alone = (work.lengths == 1) & (work.items[:, 0] == 0)
    assert set(true[alone].tolist()) == {6}


def test_pictures_are_drawn_once_each_with_stars_at_hotspots(folder):
    html = (folder / "index.html").read_text()
    names = {file.stem for file in (folder / "figures").glob("*.svg")}
    assert {"map-with-hotspots", "map-without-hotspots", "example-rolling-3", "trie-baseline--"} <= names
    assert "<polygon" in (folder / "figures" / "map-with-hotspots.svg").read_text()
    assert "<polygon" not in (folder / "figures" / "map-without-hotspots.svg").read_text()
    ids = re.findall(r' id="([^"]+)"', html)
    assert sorted(name for name in set(ids) if ids.count(name) > 1 and "title" in name) == []
    assert html.count("baseline (no privacy) of MSNBC</text>") == 4, "alone, and beside each private trie"


def test_static_n_grams_are_the_first_stops_and_count_once_per_trip():
    trips = example_trips()
    static = static_grams(trips)
    assert static.count.sum() == 9
    # The study's figure 6.1: rolling 3-grams add branches that begin with 4 and 7.
    assert set(static.grams[:, 0].tolist()) == {0, 1, 2, 4}
    assert set(gram_counts(trips, 3).grams[:, 0].tolist()) == {0, 1, 2, 3, 4, 6}
    exact = StaticCounter(trips).capped_ngrams(MarkedNgrams(trips.world.successors, 3), 1, SeededBits(0))
    assert exact.counts.sum() == 9
    assert np.all(np.diff(exact.keys) > 0)


def test_the_variants_stand_beside(folder):
    text = (folder / "results.csv").read_text()
    for name in ("mobitrie-lt, base count 1", "mobitrie, static 3-grams", "markov", "variable-ngrams"):
        assert name in text
