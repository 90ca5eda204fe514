"""Reading a feed into a network, beside DuckDB merely scanning the same stop_times and counting its edges."""

import os
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb

from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
FEEDS = ("berlin", "montreal-bus")
ROUNDS = 3

COUNT_EDGES = """
    with calls as (
        select trip_id, stop_id, stop_sequence::int as place
        from read_csv(?, all_varchar = true, header = true)
    ),
    steps as (
        select stop_id, lead(stop_id) over (partition by trip_id order by place) as next_stop_id from calls
    )
    select count(*)
    from (select stop_id, next_stop_id, count(*) from steps where next_stop_id is not null group by all)
"""


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the best of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def count_edges(feed: Path) -> int:
    """Unpack stop_times and count its distinct steps: the least that any reader has to do."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(feed) as archive:
        table = archive.extract("stop_times.txt", folder)
        return int(duckdb.connect().execute(COUNT_EDGES, [table]).fetchall()[0][0])


def compare(name: str, feed: Path) -> dict[str, object]:
    baseline = fastest(lambda: count_edges(feed))
    ours = fastest(lambda: read_gtfs(feed))
    return {
        "figure": f"read_gtfs {name}, seconds (baseline: DuckDB counts the edges only)",
        "value": ours,
        "baseline": baseline,
        "ratio": ours / baseline,
    }


def run() -> list[dict[str, object]]:
    """One row per big feed, or the invented city where there is none."""
    feeds = {name: DATA / name / "gtfs.zip" for name in FEEDS if (DATA / name / "gtfs.zip").exists()}
    if feeds:
        return [compare(name, path) for name, path in feeds.items()]
    with tempfile.TemporaryDirectory() as folder:
        city = write_city(Path(folder) / "city.zip", stops=1_500, lines=100)
        return [compare(f"invented city (no feeds under {DATA})", city)]


if __name__ == "__main__":
    for row in run():
        print(row)
