"""The MobiTrie study at its smallest: every table and figure of the study is on the page, with its values."""

import json

import pytest
from typer.testing import CliRunner

from wayveil.cli import _register, app
from wayveil.studies.mobitrie.printed import EPSILONS, ERRORS, FIGURES, METRICS
from wayveil.studies.verdicts import number


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("mobitrie")
    _register()
    done = CliRunner().invoke(
        app, ["study", "mobitrie", "--tiny", "--out", str(out), "--workers", "1", "--quiet"]
    )
    assert done.exit_code == 0, done.output
    return out


def test_every_table_and_figure_is_on_the_page_with_its_values(folder):
    html = (folder / "index.html").read_text()
    labels = ["Table 7.1", *(f"Table 7.{at}" for at in (5, 6, 7, 9, 10, 11))]
    labels += [f"Figure 7.{at}{letter}" for at in (2, 3, 4, 8) for letter in "abc"]
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


def test_every_published_figure_has_a_verdict(folder):
    record = json.loads((folder / "figures.json").read_text())
    assert {one["status"] for one in record["figures"]} <= {"reached", "not reached", "not reproducible"}
    assert all(one["words"] and "nan" not in one["words"] for one in record["figures"])


def test_errors_are_answered_by_the_trie_and_by_trips(folder):
    text = (folder / "results.csv").read_text()
    assert "mobitrie-lt by the trie" in text
    assert "mobitrie-lt by trips" in text
    assert "baseline (no privacy) by the trie" in text
