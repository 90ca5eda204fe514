"""STRAP and DP-Loc at their smallest: every table and figure is on the page, with what the study prints or says."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wayveil.lab.studies import sources
from wayveil.lab.studies.docs import faults_table, records, studies_page, written
from wayveil.lab.studies.dp_loc.dp_loc_trials import (
    ENDS,
    FOUND,
    NO_DESTINATION,
    NO_HOUR,
    RECURRENT,
    TABLE_1,
    TABLE_4,
    TABLE_5,
    UNNOISED,
)
from wayveil.lab.studies.figure_verdicts import STATUSES, number
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.run_study import examine, find_study, plan, studies
from wayveil.lab.studies.sources import digest
from wayveil.lab.studies.strap.strap_exhibits import monotone
from wayveil.lab.studies.strap.strap_trials import BEGIN, DENSE, KNOWN, SECONDS, STRAP, VISITS, cities
from wayveil.lab.studies.study_page import study_page
from wayveil.lab.studies.study_results import Results

WITHOUT = {"Section 4.2", "Figures 6.4, B.4"}  # exact by construction, or counted from the study's own table
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def strap(tmp_path_factory):
    lab = Lab(scale="tiny", out=tmp_path_factory.mktemp("strap"))
    return study_page("strap", lab, workers=1)


@pytest.fixture(scope="module")
def dp_loc(tmp_path_factory):
    lab = Lab(scale="tiny", out=tmp_path_factory.mktemp("dp-loc"))
    return study_page("dp-loc", lab, workers=1)


def test_every_figure_of_strap_is_on_the_page(strap):
    page, verdicts, results = strap
    assert results.gaps() == []
    labels = [f"Figure {at}{letter}" for at in (8, 9, 10, 11) for letter in "ab"]
    assert [one.label for one in verdicts] == ["Figures 1 to 7", *labels]
    html = page.read_text()
    for label in labels:
        assert f"{label}: " in html
    curves = [one for one in verdicts if one.label[7:-1] in ("8", "9", "10")]
    assert all("Spearman" in one.words or "settings release anything" in one.words for one in curves)
    assert all("at p = .2, .3, .4" in one.words for one in curves)


def test_every_method_of_strap_releases_one_database_and_nothing_is_not_private(strap):
    page, _, results = strap
    plane = pl.read_csv(page.parent / "figures" / "figure-11a-plane.csv")
    assert {"dpt", "glove", "raw", "hold-out"} <= set(plane["series"].to_list())
    silent = [
        cell
        for cell in results.cells
        if any(row["figure"] == VISITS and row["value"] == 0 for row in cell["rows"])
    ]
    assert silent, "at the smallest scale plausible deniability finds nobody"
    assert not any(row["figure"] == STRAP for cell in silent for row in cell["rows"])


def test_ties_are_no_step_the_wrong_way():
    def said(*values):
        setting = {"city": DENSE, "mechanism": "glove"}
        rows = [{"known": f"p = {p:g}", "figure": STRAP, "value": 0.0} for p in KNOWN]
        cells = [
            {
                "part": "releases",
                "setting": {**setting, "parameter": str(at)},
                "repetition": 0,
                "status": "measured",
                "message": "",
                "rows": [{**row, "value": value} for row in rows],
            }
            for at, value in enumerate(values, 2)
        ]
        return monotone(Results.of(cells), DENSE, "glove")

    assert said(1.0, 2.0, 3.0, 3.0, 3.0)[0]
    assert "no step the wrong way" in said(1.0, 2.0, 3.0, 3.0, 3.0)[1]
    assert not said(1.0, 3.0, 2.0, 2.0, 2.0)[0]
    assert not said(2.0, 2.0, 2.0, 2.0, 2.0)[0]


def test_every_table_of_dp_loc_is_on_the_page_with_its_values(dp_loc):
    page, verdicts, results = dp_loc
    assert results.gaps() == []
    labels = [
        "Table 1",
        "Figures 1, 2",
        "Figure 3a",
        "Figure 3b",
        "Figure 4a",
        "Figure 4b",
    ]
    labels += [f"Table {at}{more}" for at in (2, 3) for more in ("a", "b", "a, n-grams", "b, n-grams")]
    labels += ["Table 4a", "Table 4b", "Table 5a", "Table 5b", "Section 7.3.2", "Section 8.3.2"]
    assert [one.label for one in verdicts] == labels
    html = page.read_text()
    values = [
        *TABLE_1.values(),
        *TABLE_5.values(),
        tuple(TABLE_4.values()),
        *(row for both in FOUND.values() for row in both),
    ]
    for value in (value for row in values for value in row):
        assert f">{number(value)}<" in html


def test_networks_stand_beside_histograms_and_beside_themselves_without_noise(dp_loc):
    _, verdicts, results = dp_loc
    words = {one.label: one.words for one in verdicts}
    assert "the network knows ends better than three histograms" in words["Table 4a"]
    split = next(one for one in verdicts if one.label == "Table 4a")
    assert "At epsilon 1" in split.privacy
    assert "nats" in split.privacy
    assert "the network without noise, with the study's batches and rates, has" in split.own
    assert "three noisy histograms" in split.own
    assert "cost at least" in words["Table 4a"]
    assert "destination and hour raise accuracy" in words["Section 7.3.2"]
    assert "an LSTM is hardly more accurate" in words["Section 8.3.2"]
    for name in (UNNOISED, NO_DESTINATION, NO_HOUR, RECURRENT):
        assert results.mean("unnoised", "accuracy", mechanism=name) >= 0
    assert results.mean("histograms", ENDS) > 0


@pytest.mark.parametrize("name", ["strap", "dp-loc"])
def test_figures_do_not_depend_on_the_order_or_the_process_of_cells(name, request):
    """Each cell alone, the last first, in a lab of its own gives what the run from first to last gave."""
    page, _, results = request.getfixturevalue(name.replace("-", "_"))
    study = find_study(name, Lab(scale="tiny", out=page.parent))
    kept = {(one["part"], *sorted(one["setting"].items())): one["rows"] for one in results.cells}
    for cell in list(reversed(plan(study)))[::5]:
        rows = examine(study, cell)["rows"]
        before = kept[cell.part, *cell.setting]
        timeless = [[row for row in found if row["figure"] != SECONDS] for found in (rows, before)]
        assert json.dumps(timeless[0]) == json.dumps(timeless[1])


def test_the_page_about_studies_tells_every_figure(dp_loc, strap):
    both = [json.loads((made[0].parent / "figures.json").read_text()) for made in (strap, dp_loc)]
    text = studies_page(both)
    assert text.index("## dp-loc") < text.index("## strap")
    for record in both:
        for one in record["figures"]:
            # A tiny run does not keep its code.
            judged = f", {one['reached']} of {one['judged']}, tiny (older code)" if one["judged"] else ""
            assert f"| **{one['label']}**: {one['title']}: *{one['status']}*{judged} | " in text


@pytest.mark.parametrize("name", studies())
def test_what_has_values_to_miss_has_a_reason(name):
    study = find_study(name, Lab(scale="quick"))
    bare = {one.label for one in study.exhibits if one.published and not one.missing and one.why is None}
    # Those without hold or fall by a count that their claim says.
    assert not any(one.printed for one in study.exhibits if one.label in bare - WITHOUT)


TODAY = {"files.py": {"functions": ["*"], "digest": digest("files.py", ("*",))}}
OLD = {"files.py": {"functions": ["*"], "digest": "0"}}


def toy_run(scale, code, *figures):
    keys = "label", "title", "status", "reached", "judged", "unsure", "words"
    made = [dict(zip(keys, (one[0], "what", *one[1:]), strict=True)) for one in figures]
    about = {"study": "toy", "title": "A toy", "source": "x", "scale": scale, "data": ["y"], "extent": ""}
    return {**about, "stand_in": "", "seconds": 7, "figures": made, "code": code}


def test_a_figure_is_that_of_the_largest_run_that_measured_it():
    large = (("T 1", "reached", 1, 1, 0, "Large."), ("T 2", "not reproducible", 0, 0, 0, "Not measured."))
    small = (("T 1", "not reached", 0, 1, 0, "Small."), ("T 2", "cannot tell", 0, 1, 1, "Also small."))
    text = studies_page([toy_run("quick", TODAY, *small), toy_run("full", TODAY, *large)])
    assert "| [toy](#toy) | full, quick | 1 | 0 | 1 | 0 |" in text
    assert "| **T 1**: what: *reached*, 1 of 1, full | Large. |" in text
    assert "| **T 2**: what: *cannot tell*, 0 of 1, quick | Also small. |" in text
    assert "| Small." not in text
    assert "Its cells took 7 processor seconds." in text


def test_a_run_with_older_code_is_marked_and_stands_beside_that_of_today():
    old = toy_run("full", OLD, ("T 1", "reached", 1, 1, 0, "Large."))
    text = studies_page([toy_run("quick", TODAY, ("T 1", "not reached", 0, 1, 0, "Small.")), old])
    assert "| [toy](#toy) | full (older code), quick | 0 | 1 | 0 | 0 |" in text
    assert "| **T 1**: what: *not reached*, 0 of 1, quick; full (older code): reached | Small. |" in text
    assert text.count("**Made with older code.**") == 1
    unknown = studies_page(
        [toy_run("quick", OLD, ("T 1", "not reached", 0, 1, 0, "Small.")), {**old, "code": {}}]
    )
    assert "what: *not reached*, 0 of 1, quick (older code); full (older code): reached | Small. |" in unknown
    alone = studies_page([old])
    assert "| **T 1**: what: *reached*, 1 of 1, full (older code) | Large. |" in alone


def test_a_planted_change_makes_a_page_without_the_mark_fail(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    record = toy_run("quick", TODAY, ("T 1", "reached", 1, 1, 0, "Small."))
    (tmp_path / "figures" / "study-toy-quick.json").write_text(json.dumps(record))
    page = written(tmp_path)[tmp_path / "studies.md"]
    assert "**Made with older code.**" not in page
    monkeypatch.setattr(sources, "digest", lambda file, *names: "planted")
    marked = written(tmp_path)[tmp_path / "studies.md"]
    assert marked != page, "the test of the pages below compares these two"
    assert "**Made with older code.**" in marked


def test_the_pages_in_the_docs_are_made_of_their_records():
    kept = records(DOCS)
    assert sorted({record["study"] for record in kept}) == studies()
    made = written(DOCS)
    named = {path.relative_to(DOCS).as_posix() for path in made}
    assert {"studies.md", "mechanisms/mobitrie.md", "tree-studies.md", "taps-measured.md"} <= named
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path}: run python -m wayveil.lab.studies.docs docs/"
        )
        for picture in re.findall(r"\(figures/(study-[^)]+)\)", text):
            assert (path.parent / "figures" / picture).exists()
    for record in kept:
        assert {one["status"] for one in record["figures"]} <= set(STATUSES)
        assert not any(re.search(r"\bnan\b", one["words"]) for one in record["figures"])


def test_riders_of_eight_hours_are_looked_at_every_five_minutes():
    both = cities(Lab(scale="tiny"))
    day, plain = both["dense, eight hours"], both[DENSE]
    raw, trips = plain.halves[0], day.halves[0]
    assert len(trips) == len(raw) == plain.riders
    begin, end = trips.time[trips.offsets[:-1]], trips.time[trips.offsets[1:] - 1]
    assert set(begin.tolist()) == {BEGIN}
    assert end.max() < BEGIN + 8 * 3_600
    assert not (trips.time % 300).any()
    assert not (trips.location[1:] == trips.location[:-1])[np.diff(trips.trip_of_visit()) == 0].any()
    # Who sets out after the day began is at the origin first, and all places are of the rider's own way.
    late = np.flatnonzero(raw.time[raw.offsets[:-1]] > BEGIN)
    assert np.array_equal(trips.origins()[late], raw.origins()[late])
    for one in range(len(raw)):
        own = slice(*trips.offsets[one : one + 2])
        assert set(trips.location[own]) <= set(raw.location[slice(*raw.offsets[one : one + 2])])


def test_faults_are_counted_by_the_figures_that_a_first_reading_named():
    keys = "status", "own", "privacy", "mended", "words"
    one = {
        "Figure 8b": ("reached", "", "", None, "Falls."),
        "Figure 10a": ("not reached", "1 of 5.", "0.6.", False, "Does not rise."),
        "Figure 10b": ("not reached", "5 of 5.", "0.9.", True, "Does not rise."),
        "Figure 11a": ("cannot tell", "5 of 5.", "0.9.", True, "Few."),
        "Figure 11b": ("reached", "5 of 5.", "0.9.", False, "Less."),
    }
    made = [{"label": label, "judged": 1, **dict(zip(keys, row, strict=True))} for label, row in one.items()]
    record = {"study": "strap", "scale": "quick", "figures": made, "code": TODAY}
    text = faults_table([[record]])
    assert "2 of the 3 figures that a first reading found so are mended" in text
    assert "with a number why not: strap 10a." in text
    assert "5 rows" in text
    assert "4 of them are mended" in text
    assert "| strap, Figure 8b: *reached*, quick; mended | Falls. |  |" in text
    made[4]["status"] = "not reached"
    assert "1 of the 3 figures" in faults_table(
        [[{**record, "figures": [*made[:4], {**made[4], "mended": False}]}]]
    )
