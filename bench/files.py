"""Reading files as they are, beside the least that their formats need; and tables of databases in constant memory.

python -m bench files
WAYVEIL_FILE_ROWS=1000000 python -m bench files      (rows of the csv and of the database; a workbook has 60,000)
"""

import os
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from wayveil.sources.opening import open_table
from wayveil.sources.reading import Reading

ROWS = int(os.environ.get("WAYVEIL_FILE_ROWS", "2000000"))
SHEET_ROWS = 60_000
COLUMNS = {"rider_id": "Karte", "stop_id": "Haltestelle", "event_time": "Zeitpunkt"}


def taps(rows: int) -> pl.DataFrame:
    """Taps of a day as text, in German."""
    at = pl.int_range(rows)
    moment = pl.datetime(2026, 11, 17) + pl.duration(seconds=at * 86_399 // rows)
    return pl.select(
        Karte=pl.format("c{}", at % (rows // 20 + 1)),
        Haltestelle=pl.format("s{}", at * 7_919 % 3_000),
        Zeitpunkt=moment.dt.strftime("%d.%m.%Y %H:%M:%S"),
    )


def fastest(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the fastest of a few runs."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def run() -> list[dict[str, object]]:
    """Ratios for csv (as ours, and with German dates), a workbook, and the memory that SQLite takes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        return [*_text(folder), _workbook(folder), _database(folder)]


def _text(folder: Path) -> list[dict[str, object]]:
    path = folder / "taps.csv"
    taps(ROWS).write_csv(path)
    kinds = dict.fromkeys(COLUMNS.values(), pl.Categorical)
    scans = {
        "polars' scan": fastest(lambda: pl.scan_csv(path).collect()),
        "polars' scan into categories": fastest(lambda: pl.scan_csv(path, schema_overrides=kinds).collect()),
    }
    forms = {
        "names mapped": Reading(columns=COLUMNS),
        "German dates": Reading(columns=COLUMNS, times="day.month.year"),
    }
    rows: list[dict[str, object]] = []
    for name, reading in forms.items():
        ours = fastest(lambda reading=reading: open_table([path], reading).read(list(COLUMNS)))  # type: ignore[misc]
        figure = f"csv of {ROWS:,} rows, {name}, CPU seconds"
        rows += [_row(f"{figure} (baseline: {scan})", ours, least) for scan, least in scans.items()]
    return rows


def _workbook(folder: Path) -> dict[str, object]:
    import fastexcel

    path = folder / "taps.xlsx"
    taps(SHEET_ROWS).write_excel(path)
    plain = fastest(lambda: pl.DataFrame(fastexcel.read_excel(str(path)).load_sheet(0)))
    reading = Reading(columns=COLUMNS, times="day.month.year")
    ours = fastest(lambda: open_table([path], reading).read(list(COLUMNS)))
    return _row(f"workbook of {SHEET_ROWS:,} rows, CPU seconds (baseline: calamine)", ours, plain)


def _database(folder: Path) -> dict[str, object]:
    path = folder / "taps.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE taps (Karte, Haltestelle, Zeitpunkt)")
        for piece in taps(ROWS).iter_slices(200_000):
            connection.executemany("INSERT INTO taps VALUES (?, ?, ?)", piece.rows())
    table = open_table([f"sqlite:///{path}?table=taps"], Reading(columns=COLUMNS, times="day.month.year"))
    peaks = []
    for piece in table.pieces(list(COLUMNS), folder):
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        del piece
    first = peaks[min(2, len(peaks) - 1)]
    return _row(
        f"SQLite, {ROWS:,} rows in {len(peaks)} pieces, peak MB (baseline: after 3)", peaks[-1], first
    )


def _row(figure: str, value: float, baseline: float) -> dict[str, object]:
    return {"figure": figure, "value": value, "baseline": baseline, "ratio": value / baseline}


if __name__ == "__main__":
    for row in run():
        print(row)
