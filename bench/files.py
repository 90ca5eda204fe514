"""Reading files as they are, beside the least that their formats need; and tables of databases in constant memory.

python -m bench files
WAYVEIL_FILE_ROWS=10000000 python -m bench files      (rows of the csv and of databases; a workbook has 60,000)
WAYVEIL_POSTGRES=postgresql://host/city python -m bench files      (with a table `taps` that is made on a server)
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from wayveil.sources.opening import open_table
from wayveil.sources.reading import Reading

ROWS = int(os.environ.get("WAYVEIL_FILE_ROWS", "2000000"))
SHEET_ROWS = 60_000
AT_ONCE = 200_000
COLUMNS = {"rider_id": "Karte", "stop_id": "Haltestelle", "event_time": "Zeitpunkt"}


def taps(rows: int, first: int | None = None) -> pl.DataFrame:
    """Taps of a day as text, in German; all of them, or a piece of them from one on."""
    at = pl.int_range(rows) if first is None else pl.int_range(first, min(first + AT_ONCE, rows))
    moment = pl.datetime(2026, 11, 17) + pl.duration(seconds=at * 86_399 // rows)
    return pl.select(
        Karte=pl.format("c{}", at % (rows // 20 + 1)),
        Haltestelle=pl.format("s{}", at * 7_919 % 3_000),
        Zeitpunkt=moment.dt.strftime("%d.%m.%Y %H:%M:%S"),
    )


def fastest(work: Callable[[], object], times: int = 7) -> float:
    """CPU seconds of the fastest of a few runs."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def run() -> list[dict[str, object]]:
    """Ratios for csv (times written in several ways), a workbook, and the memory that databases take."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        return [*_text(folder), _workbook(folder), *_databases(folder)]


def _text(folder: Path) -> list[dict[str, object]]:
    table, path = taps(ROWS), folder / "taps.csv"
    moment = pl.col("Zeitpunkt").str.to_datetime("%d.%m.%Y %H:%M:%S").dt
    german, zone = Reading(columns=COLUMNS, times="day.month.year"), "Europe/Berlin"
    forms = {
        "names mapped": ("%d.%m.%Y %H:%M:%S", Reading(columns=COLUMNS)),
        "German dates": ("%d.%m.%Y %H:%M:%S", german),
        "two digits of the year": ("%d.%m.%y %H:%M:%S", german),
        "AM and PM": ("%m/%d/%Y %I:%M:%S %p", Reading(columns=COLUMNS, times="month/day/year")),
        "single digits": ("%-m/%-d/%Y %-H:%M", Reading(columns=COLUMNS, times="month/day/year")),
        "UTC": ("%Y-%m-%dT%H:%M:%SZ", Reading(columns=COLUMNS, zone=zone)),
        "date and clock apart": ("%H:%M:%S", replace(german, columns={**COLUMNS, "service_date": "Tag"})),
        "milliseconds": ("%s000", Reading(columns=COLUMNS, times="milliseconds", zone=zone)),
    }
    rows: list[dict[str, object]] = []
    kinds = dict.fromkeys(COLUMNS.values(), pl.Categorical)
    for name, (written, reading) in forms.items():
        day = [moment.strftime("%d.%m.%Y").alias("Tag")] if "service_date" in reading.columns else []
        table.with_columns(moment.strftime(written).alias("Zeitpunkt"), *day).write_csv(path)
        scans = {
            "polars' scan": fastest(lambda: pl.scan_csv(path).collect()),
            "polars' scan into categories": fastest(
                lambda: pl.scan_csv(path, schema_overrides=kinds).collect()
            ),
        }
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


def _databases(folder: Path) -> list[dict[str, object]]:
    """Peak memory of a process that reads a table in pieces, beside its peak after three of them."""
    path = folder / "taps.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE taps (Karte, Haltestelle, Zeitpunkt)")
        for first in range(0, ROWS, AT_ONCE):
            connection.executemany("INSERT INTO taps VALUES (?, ?, ?)", taps(ROWS, first).rows())
    addresses = {"SQLite": f"sqlite:///{path}?table=taps"}
    server = os.environ.get("WAYVEIL_POSTGRES")
    if server is not None:
        addresses["PostgreSQL"] = f"{server}{'&' if '?' in server else '?'}table=taps"
        _fill_server(server)
    return [_peaks(name, address) for name, address in addresses.items()]


def _fill_server(server: str) -> None:
    import psycopg

    with psycopg.connect(server) as connection:
        connection.execute("DROP TABLE IF EXISTS taps")
        connection.execute('CREATE TABLE taps ("Karte" TEXT, "Haltestelle" TEXT, "Zeitpunkt" TEXT)')
        with connection.cursor().copy("COPY taps FROM STDIN WITH (FORMAT csv)") as copy:
            for first in range(0, ROWS, AT_ONCE):
                copy.write(taps(ROWS, first).write_csv(include_header=False))


def _peaks(name: str, address: str) -> dict[str, object]:
    command = [sys.executable, "-m", "bench.files", address]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    rows, pieces, first, last = int(said[0]), int(said[1]), float(said[2]), float(said[3])
    if rows != ROWS:
        raise RuntimeError(f"{rows:,} rows were read of {ROWS:,}")
    return _row(f"{name}, {ROWS:,} rows in {pieces} pieces, peak MB (baseline: after 3)", last, first)


def read_in_pieces(address: str) -> str:
    """Read a table and say its rows, its pieces, and the peak of memory in MB after three of them and after all."""
    table = open_table([address], Reading(columns=COLUMNS, times="day.month.year"))
    peaks, rows = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        for _, piece in table.pieces(list(COLUMNS), Path(temporary)):
            peaks.append(_peak())
            rows += len(piece)
    return f"{rows} {len(peaks)} {peaks[min(2, len(peaks) - 1)]:.1f} {peaks[-1]:.1f}"


def _peak() -> float:
    """Peak of this process in MB; getrusage would tell that of the process that started it."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def _row(figure: str, value: float, baseline: float) -> dict[str, object]:
    return {"figure": figure, "value": value, "baseline": baseline, "ratio": value / baseline}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(read_in_pieces(sys.argv[1]))
    else:
        for row in run():
            print(row)
