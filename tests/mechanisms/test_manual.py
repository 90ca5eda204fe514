"""Parameters are described once; help texts and docs pages are made of that."""

from pathlib import Path

import pytest

from wayveil.errors import InputError
from wayveil.mechanisms.pages import BEGIN, END, manual, rewritten, write_pages
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.registry import homes, mechanism

PAGES = Path(__file__).parents[2] / "docs" / "mechanisms"
NAMES = [home.name for home in homes().values() if home.ours]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name):
    about = manual(mechanism(name))
    assert about.parameters
    assert [each.name for each in about.parameters if len(each.description) < 10] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_states_its_guarantee(name):
    about = manual(mechanism(name))
    pure = "epsilon-differential privacy for the unit that the release names"
    trained = "(epsilon, delta)-differential privacy for units that own whole trips"
    assert about.guarantee.startswith(trained if mechanism(name).trained else pure)
    assert "Reason:" in about.guarantee
    assert "Attacked by" in about.guarantee
    assert about.summary
    # What fields say is not said a second time.
    assert not any(f"\n{each.name} " in about.about for each in about.parameters) or name == "weave"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_table_of_today(name):
    page = PAGES / f"{name}.md"
    assert page.read_text(encoding="utf-8") == rewritten(page, mechanism(name)), (
        "run `python -m wayveil.mechanisms.pages docs/mechanisms`"
    )


def test_no_page_is_without_a_mechanism():
    assert {page.stem for page in PAGES.glob("*.md") if BEGIN in page.read_text()} == set(NAMES)


def test_a_page_that_drifted_is_rewritten_and_named(tmp_path):
    for name in NAMES:
        (tmp_path / f"{name}.md").write_text((PAGES / f"{name}.md").read_text())
    drifted = tmp_path / "ppdp.md"
    drifted.write_text(drifted.read_text().replace("| `12` |", "| `13` |"))
    assert write_pages(tmp_path) == [drifted]
    assert drifted.read_text() == (PAGES / "ppdp.md").read_text()
    drifted.write_text("no marks")
    with pytest.raises(InputError, match="must hold the marks"):
        rewritten(drifted, PPDP)
    assert BEGIN != END


def test_types_ranges_and_defaults_are_words():
    told = {each.name: each for each in manual(PPDP).parameters}
    assert (told["height"].values, told["height"].default) == ("whole number, 1 to 200", "12")
    assert (told["max_gap"].values, told["max_gap"].default) == ("whole number, at least 0, or none", "none")
    assert told["false_children"].values == "number, above 0 and at most 1"
    assert told["consistency"].values == "`weighted`, `equal` or `none`"
    assert manual(PPDP).published == {"threshold_k": "4", "threshold_b": "6", "size_share": "0"}
    choice = {each.name: each for each in manual(mechanism("private-choice")).parameters}
    assert (choice["candidates"].values, choice["candidates"].default) == ("list of mechanisms", None)
