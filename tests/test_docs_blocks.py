"""Code on the pages is true: commands and Python are run as they stand, or shown only (```text, or no mark).

On every page each `wayveil` command, run or shown, must have options that exist. Blocks marked `sh` or
`python` are run, page by page, in a folder with the files that the pages speak of; only the README and the pages under
Start and How to have such blocks.
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import typer

import wayveil as wv
from wayveil.cli import _register, app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in [ROOT / "README.md", *DOCS.rglob("*.md")] if "_build" not in path.parts)
# Pages whose blocks are run here. The first hour has a test of its own, which also looks at the answers.
RUN = [ROOT / "README.md", DOCS / "start.md", *sorted((DOCS / "howto").glob("*.md"))]
KINDS = {"", "sh", "python", "text", "toml", "console", "pycon", "{toctree}", "{include}"}
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Kind and text of each block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text):
    """The `wayveil` commands of a block as words, comments and variables aside."""
    joined = text.replace("\\\n", " ")
    lines = [line.strip().removeprefix("$ ") for line in joined.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("wayveil ")]


def unknown_options(words):
    """Options of a command line that its command does not have; the command itself if there is none."""
    command, rest = typer.main.get_command(app), words[1:]
    while getattr(command, "commands", None) and rest:
        if rest[0] not in command.commands:
            return rest[:1] if not rest[0].startswith("-") else []
        command, rest = command.commands[rest[0]], rest[1:]
    known = {
        "--help",
        *(word for option in command.params for word in [*option.opts, *option.secondary_opts]),
    }
    return [word for word in rest if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is_and_every_command_exists(page):
    _register()
    for kind, text in blocks(page):
        assert kind in KINDS, f"a block of {page.name} is marked {kind!r}: {text[:60]}"
        for words in commands(text):
            assert unknown_options(words) == [], " ".join(words)


def test_blocks_that_are_marked_as_run_are_run():
    marked = {page for page in PAGES for kind, _ in blocks(page) if kind in ("sh", "python", "console")}
    assert marked <= {*RUN, DOCS / "first-hour.md"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A small folder like the one that `wayveil demo` leaves, with its keys; tests/cli/test_commands.py runs it."""
    home = tmp_path_factory.mktemp("pages")
    with contextlib.chdir(home), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYVEIL_HOME", str(home / "keys"))
        Path("demo").mkdir()
        city = wv.read_gtfs(wv.lab.write_city("demo/city.zip", 3, stops=40, lines=3))
        trips = wv.lab.simulate_city(city, 6_000, seed=3).trips
        wv.write_visits(trips, "demo/raw-trips.parquet", riders=True)
        ledger = wv.open_ledger("demo/ledger")
        ledger.set_policy("demo", wv.Policy(10, unit="rider"), actor="a test")
        made = wv.release(
            trips, epsilon=2, unit=wv.Rider(max_trips=1), rows="calls", ledger=ledger, dataset="demo"
        )
        made.save("demo/release")
    return home


def run_command(words, monkeypatch):
    """Run a command as the shell would, output into a file where the page says so."""
    words, _, into = (list(part) for part in _at_arrow(words))
    monkeypatch.setattr(sys, "argv", words)
    said = io.StringIO()
    with pytest.raises(SystemExit) as stopped, contextlib.redirect_stdout(said):
        main()
    assert not stopped.value.code, " ".join(words)
    for file in into:
        Path(file).write_text(said.getvalue(), encoding="utf-8")


def _at_arrow(words):
    at = words.index(">") if ">" in words else len(words)
    return words[:at], words[at : at + 1], words[at + 1 :]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_in_an_empty_folder_in_its_order(page, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(shutil.copytree(demo / "keys", tmp_path / "keys")))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for kind, text in blocks(page):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, f"{page.name}", "exec"), names)
        for words in commands(text) if kind == "sh" else ():
            if words[1] == "demo":
                shutil.copytree(demo / "demo", "demo")
            else:
                run_command(words, monkeypatch)
