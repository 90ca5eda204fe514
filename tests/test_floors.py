"""Two floors: the product without its lab, and contracts that name every module they are about."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "wayveil"


def contract(words: str) -> dict:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if words in one["name"])


def test_every_room_but_the_lab_is_held_to_stay_below_it():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {
        p.stem for p in PACKAGE.glob("*.py")
    }
    held = {name.removeprefix("wayveil.") for name in contract("Two floors")["source_modules"]}
    assert held == rooms - {"lab", "__init__", "__main__"}


def test_every_module_that_weaves_is_held_to_see_nothing_raw():
    measure = {"__init__", "weave", "shares", "resolution", "repeated_questions"}
    modules = {path.stem for path in (PACKAGE / "mechanisms" / "weave").glob("*.py")} - measure
    held = contract("modules that weave")["source_modules"]
    assert {name.removeprefix("wayveil.mechanisms.weave.") for name in held} == modules


@pytest.fixture(scope="module")
def without_lab(tmp_path_factory):
    """Run a command of a copy of the package from which the lab is gone; gives the finished process."""
    home = tmp_path_factory.mktemp("product")
    shutil.copytree(PACKAGE, home / "wayveil", ignore=shutil.ignore_patterns("lab", "__pycache__"))
    settings = {**os.environ, "PYTHONPATH": str(home), "WAYVEIL_HOME": str(home / "keys"), "COLUMNS": "200"}

    def run(*words):
        command = [sys.executable, "-m", "wayveil", *map(str, words)]
        return subprocess.run(command, cwd=home, env=settings, capture_output=True, text=True, check=False)

    return run


def test_the_product_works_where_the_lab_is_deleted(without_lab):
    listed = without_lab("--help")
    assert listed.returncode == 0, listed.stderr
    assert not re.search(r"^\W*lab\b", listed.stdout, re.MULTILINE)
    city, raw = ("--world", "demo/city.zip", "--walk-radius", 250), "demo/raw-trips.parquet"
    for words in (
        ("demo", "--riders", 2_000, "-q"),
        ("check", raw, *city, "-q"),
        (
            *("release", raw, *city, "-e", 2, "-m", "markov", "--max-trips", 2, "--rows", "calls"),
            *("--ledger", "none", "--out", "mine", "-q"),
        ),
        ("ask", "mine", "stops", "--anyway", "-q"),
        ("report", "mine", "-q"),
        ("export", "mine", "--format", "od", "--out", "od.csv", "--anyway"),
        ("verify", "mine"),
    ):
        done = without_lab(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
