"""What the coverage bench measured, cell by cell, kept with the docs: pages and choices are made of all of it.

Cells of a world, a mechanism and an epsilon are measured together and replaced together, so that a run may measure what
it has time for. One line of a file is one kind of question, or the sentence with which the release was refused.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scipy.stats import binom

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
# Worlds that releases are judged by, and simulated ones that every choice is made on.
JUDGED, SET = FIGURES / "coverage.json", FIGURES / "coverage-setting.json"
DIGITS = 4
# What coverage is asked for, and how seldom luck alone may look like a miss.
LOW, HIGH = 0.92, 0.995
UNSURE = 0.05
# How intervals and verdicts are found now; rows of an earlier state say so on the page. Raise it when that changes.
STATE = 5

Row = dict[str, Any]
Key = tuple[str, str, str]


def read_cells(file: Path, worlds: Iterable[str] | None = None) -> list[Row]:
    """All rows, or those of some worlds."""
    if not file.exists():
        return []
    wanted = None if worlds is None else set(worlds)
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [row for row in rows if wanted is None or row["world"] in wanted]


def keep_cells(file: Path, rows: list[Row]) -> None:
    """Put these rows in the place of those of the same world, mechanism and epsilon."""
    new = {key_of(row) for row in rows}
    rows = [{**_rounded(row), "state": STATE} for row in rows]
    rows += [row for row in read_cells(file) if key_of(row) not in new]
    rows.sort(key=lambda row: (row["world"], row["mechanism"], float(row["epsilon"]), row.get("kind", "")))
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    draft = file.with_name(f".{file.name}")
    draft.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    draft.replace(file)


def is_earlier(row: Row) -> bool:
    """Whether it was measured before intervals and verdicts were found as they are now."""
    return bool(row.get("state", 0) < STATE)


def mark_of(row: dict) -> str:
    """Whether coverage is outside what is asked for, and whether so few intervals can tell."""
    if LOW <= row["coverage"] <= HIGH:
        return ""
    return " *" if is_outside(row) else " ·"


def is_outside(row: dict) -> bool:
    """Whether coverage is outside 92 to 99.5 % by more than luck would show once in twenty."""
    tries = row["intervals"]
    inside = round(row["coverage"] * tries)
    if LOW <= row["coverage"] <= HIGH:
        return False
    chance = binom.cdf(inside, tries, LOW) if row["coverage"] < LOW else binom.sf(inside - 1, tries, HIGH)
    return bool(chance <= UNSURE)


def key_of(row: Row) -> Key:
    """What is measured together."""
    return row["world"], row["mechanism"], row["epsilon"]


def _rounded(value: Any) -> Any:
    """Numbers with as many digits as anybody reads."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
