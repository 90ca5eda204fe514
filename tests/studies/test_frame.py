"""The frame of studies: cells that are kept, verdicts that are counted, pages that show ours beside theirs."""

import json
from dataclasses import replace

import pytest

from wayveil.errors import ParameterError, WayveilError
from wayveil.files import write_whole
from wayveil.lab.studies import run_study as run
from wayveil.lab.studies import sources
from wayveil.lab.studies import study_page as page
from wayveil.lab.studies.docs import APART, study_markdown
from wayveil.lab.studies.exhibits import study_record
from wayveil.lab.studies.figure_verdicts import NOT_MEASURED, compare, falls, grows, judge
from wayveil.lab.studies.lab import Lab, StudySource
from wayveil.lab.studies.run_study import find_study, run_study, studies
from wayveil.lab.studies.sources import (
    changed,
    digest,
    digest_text,
    noted,
    page_sources,
    sources_of,
    unnamed_constants,
)
from wayveil.lab.studies.study import CellOutcome, Claim, Exhibit, Study, StudyPart, figures
from wayveil.lab.studies.study_page import study_page
from wayveil.lab.studies.study_results import Results, summarise

calls = []


def measure(setting, repetition):
    calls.append((setting["epsilon"], setting["mechanism"], repetition))
    if setting["mechanism"] == "refusing":
        raise WayveilError("these trips carry no times")
    if setting["mechanism"] == "broken":
        raise ZeroDivisionError("a defect")
    return CellOutcome(figures({"error": float(setting["epsilon"]) + repetition, "F1": 0.5}))


def toy(lab, mechanisms=("ours", "refusing")):
    settings = [{"epsilon": e, "mechanism": m} for e in ("1", "2") for m in mechanisms]
    shown = Exhibit(
        "Table 1",
        "errors",
        "runs",
        where={"mechanism": "ours"},
        printed={("1", "error"): 1.5, ("2", "error"): 0.25},
        spread={("1", "error"): 0.1},
        ours="ours",
        better="lower",
        why=lambda results: f"Because it is {results.mean('runs', 'F1', epsilon='1'):.1f}.",
    )
    lines = replace(shown, label="Figure 2", shape="lines", columns=("error",))
    claim = Claim("error grows", lambda r: (r.mean("runs", "error", epsilon="2") > 2, "2.5 at 2"))
    words = Exhibit("Figure 3", "a claim", "runs", where={"mechanism": "ours"}, claims=(claim,))
    gone = Exhibit("Figure 4", "their own data", missing="The data is not public.")
    every = Exhibit("Figure 5", "all of them", "runs", claims=(claim,))
    beside = replace(words, label="Beside", published=False)
    return Study(
        "toy",
        "A toy",
        "somebody, 2020",
        (StudyPart("runs", settings, measure, 2),),
        (shown, lines, words, gone, every, beside),
        "It is smaller.",
    )


@pytest.fixture
def lab(tmp_path, monkeypatch):
    calls.clear()
    monkeypatch.setattr(run, "find_study", lambda name, lab: toy(lab))
    return Lab(scale="tiny", out=tmp_path / "page")


def test_a_rerun_does_only_what_is_missing(lab):
    run_study("toy", lab, workers=1)
    assert len(calls) == 8
    calls.clear()
    run_study("toy", lab, workers=1)
    assert calls == []
    next((lab.out / "cells").glob("*.json")).unlink()
    run_study("toy", lab, workers=1)
    assert len(calls) == 1


def test_a_run_that_is_out_of_time_says_what_it_did_not_come_to(lab):
    study, results = run_study("toy", lab, workers=1, minutes=0)
    assert calls == []
    assert {one.words for one in judge(study, results) if not one.words.startswith("The data")} == {
        "Not measured, 2 of its settings: this run did not come to it.",
        "Not measured, 4 of its settings: this run did not come to it.",
    }
    assert results.extent(study) == "Run less often than planned: runs 0 of 2 times."
    study, results = run_study("toy", replace(lab, repetitions=1), workers=1)
    assert results.extent(study) == "Run less often than planned: runs 1 of 2 times."
    study, results = run_study("toy", lab, workers=1)
    assert results.extent(study) == ""
    assert set(results.times()) == {"runs"}


def test_some_settings_alone_are_run_and_all_that_is_kept_is_shown(lab):
    run_study("toy", replace(lab, only={"mechanism": "ours"}), workers=1)
    assert {name for _, name, _ in calls} == {"ours"}
    study, results = run_study("toy", replace(lab, only={"mechanism": "refusing"}, repetitions=1), workers=1)
    assert len(results.cells) == 6
    assert results.extent(study) == "Run less often than planned: runs 1 to 2 of 2 times."
    with pytest.raises(ParameterError, match="toy has no colour; it has epsilon, mechanism"):
        run_study("toy", replace(lab, only={"colour": "red"}), workers=1)


def test_a_curve_ascends_and_tells_whether_it_falls(lab):
    _, results = run_study("toy", lab, workers=1)
    curve = results.curve("runs", "error", "epsilon", mechanism="ours")
    assert curve == {1.0: 1.5, 2.0: 2.5}
    assert falls(curve) == (False, "1.5 at 1, 2.5 at 2")
    assert grows(curve) == (True, "1.5 at 1, 2.5 at 2")
    assert falls(results.curve("runs", "error", "epsilon", mechanism="nobody")) == NOT_MEASURED


def test_a_failure_is_told_and_tried_again(lab, monkeypatch):
    monkeypatch.setattr(run, "find_study", lambda name, lab: toy(lab, ("ours", "broken")))
    _, results = run_study("toy", lab, workers=1)
    assert ("runs: epsilon 1, mechanism broken", "failed: ZeroDivisionError: a defect") in results.gaps()
    calls.clear()
    run_study("toy", lab, workers=1)
    assert len(calls) == 4


def test_another_setting_in_the_same_folder_is_refused(lab):
    run_study("toy", lab, workers=1)
    with pytest.raises(ParameterError, match=r"another scale \(tiny, not full\); choose another folder"):
        run_study("toy", replace(lab, scale="full"), workers=1)
    lab.sources["trips"] = StudySource("trips", "own", "trips of x.csv", "abc")
    with pytest.raises(ParameterError, match="another sources"):
        run_study("toy", lab, workers=1)


def test_verdicts_are_counted_and_give_their_reason(lab):
    study, results = run_study("toy", lab, workers=1)
    table, lines, claim, gone, refused = judge(study, results)
    # Two runs have an interval that holds anything: nothing can be told from them.
    assert (table.status, table.reached, table.judged, table.unsure) == ("cannot tell", 0, 2, 2)
    assert (claim.status, claim.words) == ("reached", "Holds: error grows (2.5 at 2).")
    assert (gone.status, gone.words) == ("not reproducible", "The data is not public.")
    assert lines.status == "cannot tell"
    assert (refused.status, refused.judged) == ("not reproducible", 0)
    assert refused.words == "Not measured, 2 of its settings: these trips carry no times."
    exact = replace(study, exhibits=(replace(study.exhibits[0], exact=True),))
    one_run = Results.of([cell for cell in results.cells if cell["repetition"] == 0])
    (table,) = judge(exact, one_run)
    assert (table.status, table.reached, table.unsure) == ("not reached", 1, 0)
    assert "1 of 2 printed values reached, 1 of them better, 1 worse." in table.words
    assert "error at epsilon 2 is 2 here, 0.25 in the study (+700 %). Because it is 0.5." in table.words


def test_spread_never_helps_a_verdict():
    assert summarise([0.94] * 5).deviation == 0, "not what rounding of the mean leaves"
    steady, wide = summarise([0.3, 0.31, 0.29, 0.3, 0.3]), summarise([0.1, 0.5, 0.3, 0.0, 0.6])
    assert compare(steady, 0.4, "higher") == "worse"
    assert compare(wide, 0.4, "higher") == "cannot tell"
    assert compare(steady, 0.4, "lower") == "better"
    assert compare(wide, 0.4, "lower") == "cannot tell"
    assert compare(steady, 0.31, "same") == "same"
    assert compare(steady, 0.4, "same") == "worse"
    assert compare(steady, 0.2, "same") == "worse"
    assert compare(summarise([0.3]), 0.4, "lower") == "cannot tell"
    assert compare(summarise([0.3]), 0.4, "lower", exact=True) == "better"


def test_the_page_has_everything(lab, monkeypatch):
    path, _, _ = study_page("toy", lab, workers=1)
    html = path.read_text()
    for words in (
        "Table 1: errors",
        "Figure 2",
        "1.5 ± 0.1",
        "The data is not public.",
        "these trips carry no times",
    ):
        assert words in html
    assert "1.5 ± 0.71" in html  # ours
    assert "INTERNAL" not in html
    assert {file.name for file in (lab.out / "figures").iterdir()} == {
        "figure-2-error.csv",
        "figure-2-error.svg",
    }
    record = json.loads((lab.out / "figures.json").read_text())
    labels = ["Table 1", *(f"Figure {number}" for number in range(2, 6))]
    assert [one["label"] for one in record["figures"]] == labels
    assert record["extent"] == ""
    assert html.count("Holds: error grows (2.5 at 2).") == 3, (
        "twice for a published figure, once for one beside"
    )
    assert (
        (lab.out / "results.csv").read_text().startswith("part,epsilon,mechanism,repetition,status,message")
    )


def test_a_page_about_somebodys_trips_is_internal(lab, monkeypatch):
    lab.sources["trips"] = StudySource("trips", "own", "trips of x.csv", "abc")
    path, _, _ = study_page("toy", lab, workers=1)
    assert "INTERNAL – NOT FOR PUBLICATION" in path.read_text()


def test_studies_are_found_by_their_folders():
    assert "mobitrie" in studies()
    with pytest.raises(ParameterError, match="unknown study 'nothing'; choose one of "):
        find_study("nothing", Lab())
    assert page.SCALES.keys() == {"tiny", "quick", "full"}


def test_an_exhibit_without_its_part_is_refused():
    with pytest.raises(ParameterError, match="shows parts that are not there"):
        Study("toy", "A toy", "x", (), (Exhibit("Table 1", "errors", "runs"),))


MODULE = """import os
LIMIT = 3

class Tree:
    height: int = 2

    def grow(self):
        return LIMIT

def unused():
    return 1
"""


def test_a_digest_changes_with_what_changes_figures_and_with_nothing_else():
    before = digest_text(MODULE, ("Tree.grow",))
    words = MODULE.replace("import os", "import sys  # why").replace(
        "class Tree:", 'class Tree:\n    """A tree."""'
    )
    assert digest_text(words.replace("return 1", "return 2"), ("Tree.grow",)) == before
    for old, new in (("LIMIT = 3", "LIMIT = 4"), ("int = 2", "int = 3"), ("return LIMIT", "return 3")):
        assert digest_text(MODULE.replace(old, new), ("Tree.grow",)) != before
    assert digest_text(MODULE.replace("return 1", "return 2"), ("*",)) != digest_text(MODULE, ("*",))
    field = "x = Field({}, description={}, ge=0)\n"
    one, long, other = (
        digest_text(field.format(*parts), ())
        for parts in (("1", "'é'"), ("1", "'longer'\n # why\n 'words'"), ("2", "'é'"))
    )
    assert one == long != other


def test_constants_that_no_code_of_a_study_names_count_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    one = "A = 1\nB: int = A\nC = 2\nD = 3\nE = 4\nF = 5\n\ndef used():\n    return B\n\ndef unused():\n    return D\n"
    two = "from one import E as e\nimport one\nclass Any:\n    name = 'F'\n\n    def f(self):\n        return one.C\n"
    for name, text in (("one.py", one), ("two.py", two)):
        (tmp_path / name).write_text(text)
    assert unnamed_constants({"one.py": ["used"], "two.py": []}) == {"one.py": ["C", "D"], "two.py": []}
    assert unnamed_constants({"one.py": ["*"], "two.py": ["Any.f"]}) == {"one.py": [], "two.py": []}
    before = digest_text(one, ("used",), ("C", "D"))
    assert digest_text(one.replace("D = 3", "D = (\n    4\n)"), ("used",), ("C", "D")) == before
    for old, new in (
        ("A = 1", "A = 2"),
        ("B: int", "B: float"),
        ("E = 4", "E = 5"),
        ("F = 5\n", "F = 5\nG = 1\n"),
    ):
        assert digest_text(one.replace(old, new), ("used",), ("C", "D")) != before


def test_sources_are_what_was_called(tmp_path):
    with noted() as codes:
        summarise([1.0, 2.0])
    code = sources_of(codes, tmp_path)
    own = code["lab/studies/study_results.py"]
    assert {"summarise", "_deviation"} <= set(own["functions"])
    assert "Results.of" not in own["functions"]
    assert changed(code) == []
    assert changed({**code, "gone.py": {"functions": ["f"], "digest": "0"}}) == ["gone.py"]
    assert changed(None) == ["all"]


def test_what_a_page_says_of_cells_makes_no_cell_older():
    own = run.own_folder("strap")
    cells, page = sources_of([], own), page_sources(own)
    assert set(page) == {"lab/studies/strap/strap_exhibits.py"}
    assert {"lab/studies/strap/strap_trials.py", "lab/studies/strap/__init__.py"} == set(cells)
    assert changed({**cells, **page}) == []


def test_code_of_parts_apart_is_kept_apart(lab, monkeypatch):
    def whole(setting, repetition):
        write_whole(lab.out.parent / "sheet", "a datasheet")
        return measure(setting, repetition)

    def with_releases(lab):
        study = toy(lab, ("ours",))
        apart = StudyPart("releases", study.parts[0].settings, whole, apart=True)
        shown = Exhibit("Releases", "whole ones", "releases", published=False)
        return replace(study, parts=(*study.parts, apart), exhibits=(*study.exhibits, shown))

    lab.out.mkdir(parents=True)
    monkeypatch.setattr(run, "find_study", lambda name, lab: with_releases(lab))
    code, apart = run.code_of("toy")
    assert "files.py" in apart
    assert "files.py" not in code
    study, results = run_study("toy", lab, workers=1)
    record = {"study": "toy", "code": {}, "apart": {"files.py": {"functions": ["*"], "digest": "0"}}}
    charts = {one.label: () for one in study.exhibits}
    text = study_markdown(study_record(study, results, judge(study, results), charts, "tiny", []) | record)
    assert text.index("### Releases: whole ones") < text.rindex(APART)
    assert text.count(APART) == 1


def test_cells_of_older_code_are_not_mixed_with_new_ones(lab, monkeypatch):
    monkeypatch.setattr(run, "code_of", lambda name: ({"files.py": {"functions": ["*"], "digest": "0"}}, {}))
    quick = replace(lab, scale="quick")
    run_study("toy", quick, workers=1)
    with pytest.raises(ParameterError, match=r"made with older code \(since then changed: files.py\)"):
        run_study("toy", quick, workers=1)


def test_cells_of_parts_apart_alone_are_made_anew_where_their_code_changed(lab, monkeypatch):
    stale, today = (
        {"files.py": {"functions": ["*"], "digest": one}} for one in ("0", digest("files.py", ("*",)))
    )
    made = []

    def whole(setting, repetition):
        made.append("apart")
        return measure(setting, repetition)

    def counted(setting, repetition):
        made.append("other")
        return measure(setting, repetition)

    def with_releases(lab):
        study = toy(lab, ("ours",))
        parts = [replace(part, measure=counted) for part in study.parts]
        apart = StudyPart("releases", study.parts[0].settings[:1], whole, apart=True)
        return replace(study, parts=(*parts, apart))

    monkeypatch.setattr(run, "find_study", lambda name, lab: with_releases(lab))
    monkeypatch.setattr(run, "code_of", lambda name: (today, stale))
    quick = replace(lab, scale="quick")
    run_study("toy", quick, workers=1)
    made.clear()
    monkeypatch.setattr(run, "code_of", lambda name: (today, today))
    _, results = run_study("toy", quick, workers=1)
    assert made == ["apart"]
    assert results.apart == today
    run_study("toy", quick, workers=1)
    assert made == ["apart"]
