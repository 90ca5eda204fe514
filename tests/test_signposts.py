"""What the signposts say is so: the table of rooms, the index of the docs, links, and lists of mechanisms."""

import re
import tomllib
from pathlib import Path

import pytest

from wayveil.mechanisms.registry import homes, mechanisms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def layers() -> list[set[str]]:
    """The rooms as the import contract orders them, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [set(re.findall(r"wayveil\.(\w+)", layer)) for layer in contracts[0]["layers"]]


def test_the_table_of_rooms_is_the_import_contract():
    rows = re.findall(r"^\| (`\w+/?`(?:, `\w+/?`)*) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert [set(re.findall(r"\w+", row)) for row in rows] == layers()[:-1]


def test_every_room_stands_in_the_contract():
    package = ROOT / "src" / "wayveil"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    alone = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    assert set().union(*layers()) == rooms | alone


def test_every_mechanism_is_in_the_readme_and_the_index():
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    ours = {name: kind for name, kind in mechanisms().items() if homes()[name].ours}
    assert set(re.findall(r"`([\w-]+)`", "".join(rows))) == set(ours)
    index = (DOCS / "README.md").read_text()
    for name, kind in ours.items():
        assert f"| [{name}](mechanisms/{name}.md) | `wv.{kind.__name__}` | {kind.summary} |" in index


def test_every_page_is_in_the_index():
    linked = set(re.findall(r"\]\(([\w./-]+\.md)\)", (DOCS / "README.md").read_text()))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
