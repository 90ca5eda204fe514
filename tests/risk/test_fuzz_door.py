"""Damaged files of every kind of row at the door of a release: no traceback, and nothing is spent for what is refused.

`test_fuzz_readers` damages files and reads them; here `release` is called, as a user does, and the ledger is asked.
"""

import gzip
import io
import os
import random
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mutated_files import WORLD, damaged_file

from wayveil.errors import WayveilError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.ledger import Ledger, Policy, open_ledger
from wayveil.run import release
from wayveil.world.opening import open_world

INPUTS = int(os.environ.get("WAYVEIL_FUZZ", "20000"))
LEDGER_EVERY = 200  # inputs of one ledger: a long one is slow to read
GRID = open_world("grid:0,0,0.02,0.03@2x3")
TREE: dict[str, Any] = {"mechanism": NoisyPrefixTree(height=2)}


@dataclass(frozen=True)
class Rows:
    """A kind of row: sound rows, what somebody says of them, and the unit that is protected then."""

    table: pl.DataFrame
    said: dict[str, Any]
    unit: str = "trip"
    world: Any = WORLD


def _clock(minute: int) -> str:
    return f"2024-03-04T08:{minute:02d}:00"


def _of(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


ROWS = {
    "calls": Rows(
        _of(
            trip_id=[1, 1, 1, 2, 2, 3],
            seq=[1, 2, 3, 1, 2, 1],
            stop_id=list("abcdef"),
            event_time=[_clock(at) for at in range(6)],
            rider_id=list("xxxyyz"),
        ),
        {"rows": "calls", "max_trips": 2, **TREE},
        "rider",
    ),
    "legs": Rows(
        _of(trip_id=[1, 1, 2, 2, 3, 3], stop_id=list("abcdef"), event_time=[_clock(at) for at in range(6)]),
        {"rows": "legs", "unit": "trip", **TREE},
    ),
    "pairs": Rows(
        _of(
            origin=list("abcd"),
            destination=list("badc"),
            start=[_clock(at) for at in range(4)],
            end=[_clock(9 + at) for at in range(4)],
            rider_id=list("xxyz"),
        ),
        {"rows": "pairs", "max_trips": 2, **TREE},
        "rider",
    ),
    "taps": Rows(
        _of(card_id=list("xxyyzz"), stop_id=list("abcdef"), event_time=[_clock(at) for at in range(6)]),
        {"rows": "taps", "way": "cards", "max_trips": 2, "unit": "rider"},
        "rider",
    ),
    "counted taps": Rows(
        _of(stop_id=list("abcdef"), event_time=[_clock(at) + "+01:00" for at in range(6)]),
        {"rows": "taps", "way": "counts", "unit": "event"},
        "event",
    ),
    "points": Rows(
        _of(
            uid=["t1"] * 3 + ["t2"] * 3,
            tid=[1, 1, 1, 2, 2, 2],
            datetime=[f"2024-03-04 08:0{at}:00" for at in range(6)],
            lat=[0.005, 0.005, 0.015, 0.015, 0.005, 0.005],
            lng=[0.005, 0.015, 0.015, 0.025, 0.025, 0.015],
        ),
        {"rows": "points", "riders": "none", "unit": "trip", **TREE},
        world=GRID,
    ),
    "points that are split": Rows(
        _of(
            uid=["t1"] * 3 + ["t2"] * 3,
            datetime=[f"2024-03-04 08:0{at}:00" for at in range(6)],
            lat=[0.005, 0.005, 0.015, 0.015, 0.005, 0.005],
            lng=[0.005, 0.015, 0.015, 0.025, 0.025, 0.015],
        ),
        {
            "rows": "points",
            "split_gap": 600,
            "order": "time",
            "repeated": "first",
            "no_fix": "skip",
            "max_trips": 2,
            **TREE,
        },
        unit="rider",
        world=GRID,
    ),
}


@cache
def examples_of(name: str) -> dict[str, bytes]:
    """Return the rows of a kind in the formats that people use."""
    table = ROWS[name].table
    parquet, arrow, sheet = io.BytesIO(), io.BytesIO(), io.BytesIO()
    table.write_parquet(parquet)
    table.write_ipc(arrow)
    table.write_excel(sheet)
    text = table.write_csv().encode()
    return {
        "rows.csv": text,
        "rows.tsv": table.write_csv(separator="\t").encode(),
        "rows.csv.gz": gzip.compress(text),
        "rows.jsonl": table.write_ndjson().encode(),
        "rows.parquet": parquet.getvalue(),
        "rows.arrow": arrow.getvalue(),
        "rows.xlsx": sheet.getvalue(),
        "rows.sqlite": _database(table),
    }


def _database(table: pl.DataFrame) -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE rows ({', '.join(table.columns)})")
        marks = ", ".join("?" * table.width)
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", table.rows())
        connection.commit()
        return connection.serialize()


def whole_header(name: str, file: Path) -> bool:
    """Tell whether only rows of a text file are damaged: then whatever is refused hangs on rows."""
    return file.suffix in (".csv", ".tsv") and file.read_bytes().startswith(
        examples_of(name)[file.name].split(b"\n")[0] + b"\n"
    )


def knock(name: str, file: Path, ledger: Ledger) -> bool:
    """Release a file, and say whether it went: the ledger has one epsilon more then, and nothing more else."""
    rows = ROWS[name]
    before, waiting, refusal = ledger.spent("rows"), len(ledger.open_reservations()), None
    try:
        release(file, world=rows.world, epsilon=1, ledger=ledger, dataset="rows", **rows.said)
    except WayveilError as error:
        refusal = error
    went = refusal is None
    listed = refusal is None or refusal.tells is not None
    assert listed or not whole_header(name, file), f"not in the table of refusals: {refusal}"
    assert ledger.spent("rows") - before == Fraction(went), "spent without a release, or released for nothing"
    assert len(ledger.open_reservations()) - waiting == went  # open until it is saved
    return went


def new_ledger(place: Path, rows: Rows) -> Ledger:
    ledger = open_ledger(place)
    ledger.set_policy("rows", Policy(10**6, unit=rows.unit), actor="test")
    return ledger


def fuzz(name: str, inputs: int, seed: int, place: Path) -> tuple[int, int]:
    """Bring damaged files of one kind of row; how many were released, and how many refused."""
    rows, chance, went = ROWS[name], random.Random(seed), 0
    examples, desk = examples_of(name), place / "desk"
    desk.mkdir(parents=True)
    for example, content in examples.items():
        (desk / example).write_bytes(content)
        assert knock(name, desk / example, new_ledger(place / f"{example}.ledger", rows)), (
            f"{name}: {example}"
        )
    for turn in range(inputs):
        if turn % LEDGER_EVERY == 0:
            ledger = new_ledger(place / f"{turn}.ledger", rows)
        file = desk / chance.choice(sorted(examples))
        content = damaged_file(examples[file.name], chance)
        file.write_bytes(content)
        try:
            went += knock(name, file, ledger)
        except Exception as error:
            kept = place / f"{seed}-{turn}-{file.name}"
            kept.write_bytes(content)
            pytest.fail(f"{name}, input {turn} ({kept}): {type(error).__name__}: {error}")
        assert {path.name for path in desk.iterdir()} <= set(examples), f"{name}, input {turn}: wrote a file"
    return went, inputs - went


def test_damaged_rows_are_released_and_paid_for_or_refused_for_nothing(tmp_path):
    for number, name in enumerate(ROWS):
        went, refused = fuzz(name, 6, number, tmp_path / name)
        assert went + refused == 6


@pytest.mark.audit
@pytest.mark.parametrize("name", ROWS)
def test_many_damaged_rows_are_released_and_paid_for_or_refused_for_nothing(name, tmp_path, record_property):
    went, refused = fuzz(name, -(-INPUTS // len(ROWS)), 20_26, tmp_path)
    assert went > 0
    assert refused > 0
    record_property(
        "tally",
        f"{name}: {went:,} damaged files released and paid for, {refused:,} refused; no traceback, no other spend",
    )
