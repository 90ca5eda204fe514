"""What the signposts say is so: the table of rooms, the index of the docs, links, and lists of mechanisms."""

import re
import tomllib
from pathlib import Path

import pytest

from wayveil.mechanisms.registry import homes, mechanisms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
]


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


def test_every_mechanism_is_in_the_index():
    ours = {name: kind for name, kind in mechanisms().items() if homes()[name].ours}
    index = (DOCS / "mechanisms" / "index.md").read_text()
    assert set(re.findall(r"^\| \[([\w-]+)\]", index, re.MULTILINE)) == set(ours)
    for name, kind in ours.items():
        assert f"| [{name}]({name}.md) | `wv.{kind.__name__}` | {kind.summary} |" in index


def test_every_page_is_in_the_tables_of_contents():
    listed = set(re.findall(r"^([\w/-]+)$", (DOCS / "index.md").read_text(), re.MULTILINE))
    pages = {
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    }
    hidden = {page for page in pages if page.startswith(("mechanisms/", "_build/")) and page not in listed}
    assert pages - hidden - {"index"} == listed - {"reference/api", "reference/commands"} | pages & {
        "reference/api",
        "reference/commands",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text())
    made = {"reference/api.md", "reference/commands.md"}  # from the code, by `make docs`
    assert [each for each in targets if each not in made and not (page.parent / each).exists()] == []
