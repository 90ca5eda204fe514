"""Every performance figure, each as a ratio to a named baseline that is measured in the same run.

    python -m bench                 all of them
    python -m bench noise gtfs      some of them

Rows also go to bench/results/<name>.json.
"""

import importlib
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
SUITES = (
    "noise",
    "gtfs",
    "files",
    "paths",
    "simulate",
    "city_laws",
    "prefix_tree",
    "presets",
    "pair_ngrams",
    "tree_family",
    "tree_growth",
    "ngrams",
    "count_queries",
    "utility",
    "taps",
    "front_door",
    "report_speed",
    "weave_speed",
    "gps",
    "scale",
    "risk",
    "risk_studies",
    "coverage",
    "prior",
    "trend",
)


def main() -> None:
    wanted = sys.argv[1:] or SUITES
    unknown = set(wanted) - set(SUITES)
    if unknown:
        raise SystemExit(f"there is no bench {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    (HERE / "results").mkdir(exist_ok=True)
    for name in wanted:
        rows = importlib.import_module(f"bench.{name}").run()
        (HERE / "results" / f"{name}.json").write_text(json.dumps(rows, indent=2, default=str))
        show_tables(name, rows)


def show_tables(name: str, rows: list[dict]) -> None:
    """Print rows as one table, or as several where they say which one each belongs to (`table`)."""
    titles = [row.get("table", name) for row in rows]
    for title in dict.fromkeys(titles):
        mine = [row for row, of in zip(rows, titles, strict=True) if of == title]
        show(title, [{key: value for key, value in row.items() if key != "table"} for row in mine])


def show(name: str, rows: list[dict]) -> None:
    """Print rows as a table."""
    table = Table(title=name, title_justify="left")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(text(row.get(column, "")) for column in columns))
    Console().print(table)


def text(value: object) -> str:
    """Four significant digits are enough."""
    return (
        f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )


if __name__ == "__main__":
    main()
