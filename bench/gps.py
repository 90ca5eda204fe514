"""GPS: points to trips against reading the file, noise against a float generator, private steps against plain ones.

Ratios of processor time, each against a baseline of the same run; and the memory that reading points takes.

python -m bench gps
WAYVEIL_POINTS=20000000 python -m bench gps      (points of the file whose memory is measured)
"""

import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.privacy.bits import secure_bits
from wayveil.privacy.gradients import Outer, clipped_sum
from wayveil.privacy.rounded import rounded_gaussian
from wayveil.privacy.training import poisson
from wayveil.run import make_release as release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.synthesis.hops.hop_net import HopNet
from wayveil.synthesis.hops.published import StudyHopCosts, StudyHopNet
from wayveil.synthesis.hops.walking import cost_of, likeliest_ways
from wayveil.trips.points import read_points
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import MOVES, GridMoves

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
POINTS = int(os.environ.get("WAYVEIL_POINTS", "4000000"))
# Bytes of one point as numbers: degrees and seconds of 8 bytes, codes of rider and trip of 4.
COLUMN_BYTES = 32
SHENZHEN = "grid:22.44,113.75,22.87,114.65@30x30"


def _seconds(work, times=3):
    """Processor time, the best of some: others on the machine should not count."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


@njit
def _add_rows(index, values, total):
    for i in range(index.shape[0]):
        for j in range(values.shape[2]):
            total[index[i, 0], j] += values[i, 0, j]


def points_to_trips():
    """At most 6 times polars reading the file."""
    path = DATA / "shenzhen-taxi" / "TaxiData-Sample.csv.gz"
    if not path.exists():
        return [{"skipped": f"no {path}"}]
    grid, columns = Grid.parse(SHENZHEN), ["uid", "datetime", "lng", "lat", "flag", "-"]

    def read():
        return read_points(path, grid, columns=columns, header=False, repeated="first")

    read()
    plain = _seconds(lambda: pl.read_csv(path, has_header=False))
    return [{"work": "points to trips / polars reading", "ratio": _seconds(read) / plain, "goal": "<= 6"}]


def memory(points=POINTS):
    """Each point more takes at most 2.2 times its columns, of csv and Parquet: 20 million take 1.5 GB."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "parquet"):
            peaks = []
            for many in (points // 2, points):
                path = Path(folder) / f"points.{suffix}"
                table = _tracks(many)
                table.write_csv(path) if suffix == "csv" else table.write_parquet(path)
                del table
                command = [sys.executable, "-m", "bench.gps", str(path)]
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                peaks.append(float(said))
            ratio = (peaks[1] - peaks[0]) * 2**20 / (points - points // 2) / COLUMN_BYTES
            work = f"peak bytes of a point of {suffix} / bytes of its columns ({points:,}: {peaks[1]:,.0f} MB in all)"
            found.append({"work": work, "ratio": ratio, "goal": "<= 2.2"})
    return found


def _tracks(points):
    """Tracks of 100 points, one every 15 seconds, of five trips a rider."""
    rng, trips = np.random.default_rng(0), -(-points // 100)
    trip = np.repeat(np.arange(trips), 100)
    at = np.repeat(rng.integers(0, 86_400 * 28, trips), 100) + np.tile(np.arange(100) * 15, trips)
    walk = np.cumsum(rng.normal(0, 0.0003, (2, trips, 100)), axis=2).reshape(2, -1)
    start = np.repeat(rng.uniform(0, 0.3, (2, trips)), 100, axis=1)
    degrees = (start + walk + [[52.4], [13.2]]).round(6)
    table = pl.DataFrame({"trip": trip, "at": at, "lat": degrees[0], "lon": degrees[1]}).head(points)
    moment = pl.datetime(2026, 5, 1) + pl.duration(seconds="at")
    return table.select(
        pl.format("u{}", pl.col("trip") // 5).alias("rider_id"),
        pl.format("t{}", "trip").alias("trip_id"),
        moment.dt.strftime("%Y-%m-%d %H:%M:%S").alias("event_time"),
        "lat",
        "lon",
    )


def noise(size=4_000_000):
    """At least .4 of numpy's float32 normal."""
    deviation, rng = Fraction(13 << 20, 10), np.random.default_rng(0)
    rounded_gaussian(1, deviation)
    ours = _seconds(lambda: rounded_gaussian(size, deviation))
    floats = _seconds(lambda: rng.standard_normal(size, dtype=np.float32))
    return [{"work": "float32 normal / rounded Gaussian", "ratio": floats / ours, "goal": ">= .4"}]


def steps(batch=1000):
    """A clipped step at most 1.3 times, a whole private step at most 3 times a plain one."""
    moves = GridMoves(Grid.of_metres(STUDY_BOX, 250))
    rng = np.random.default_rng(0)
    shares = rng.normal(0, 1, (moves.grid.size, MOVES)).astype(np.float32)
    net = HopNet(moves, shares, 5, 32, 0.006, 1500)
    here = rng.integers(0, moves.grid.size, batch)
    then = moves.grid.successors.nth(here, np.zeros(batch, np.int64)).astype(np.int64)
    columns = (here, then, rng.integers(0, moves.grid.size, batch), rng.integers(0, 24, batch))
    size = sum(weight.size for weight in net.weights)

    def plain():
        made = []
        for part in net.parts(columns):
            if isinstance(part, Outer):
                made.append(part.inputs.T @ part.errors)
            else:
                total = np.zeros(part.shape, np.float32)
                _add_rows(part.index, part.errors, total)
                made.append(total)
        net.update(made)

    def clipped():
        net.update([total * 1e-9 for total in clipped_sum(net.parts(columns), 1.0)])

    def private():
        poisson(120_000, Fraction(batch, 120_000), secure_bits())
        flat = np.concatenate([total.ravel() for total in clipped_sum(net.parts(columns), 1.0)])
        flat += rounded_gaussian(size, Fraction(3 << 20))
        noisy = np.split(flat * 1e-9, np.cumsum([weight.size for weight in net.weights])[:-1])
        net.update([one.reshape(weight.shape) for one, weight in zip(noisy, net.weights, strict=True)])

    works = (plain, clipped, private)
    for work in works:
        work()
    # Steps take a millisecond: the best of many, in turns, so that a busy machine is busy for all of them.
    rounds = [[_seconds(work, 1) for work in works] for _ in range(300)]
    base, *others = (min(times) for times in zip(*rounds, strict=True))
    return [
        {"work": "clipped step / plain step", "ratio": others[0] / base, "goal": "<= 1.3"},
        {"work": "private step / plain step", "ratio": others[1] / base, "goal": "<= 3"},
    ]


def walks(trips=120_000):
    """Walks of as many trips as in the study's city take less than the training that they follow from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "taxis.parquet"
        simulate_taxis(6_000, seed=7).write(path)
        raw = read_points(path, Grid.of_metres(STUDY_BOX, 250))
    # Batches as large as those that so many trips have.
    kind = DpLoc(most_drawn="1/6")
    made = release(raw, kind, epsilon=1, seed=1)
    whole = _seconds(lambda: release(raw, kind, epsilon=1, seed=1), 1)
    own = _seconds(lambda: made.model.draw(len(raw), 1), 1)
    many = _seconds(lambda: made.model.draw(trips, 1), 1)
    return [{"work": f"{trips:,} trips by walks / training", "ratio": many / (whole - own), "goal": "<= 1"}]


def likeliest(graphs=30):
    """The study's graph of one destination and hour, and the likeliest way on it: scipy's shortest paths, and ours."""
    grid, rng = Grid.of_metres(STUDY_BOX, 250), np.random.default_rng(0)
    net = StudyHopNet(grid, 0.1)
    net.weights = [weight + rng.normal(0, 0.2, weight.shape).astype(np.float32) for weight in net.weights]
    costs, cells = StudyHopCosts(net), np.arange(grid.size)
    origin, to = rng.integers(0, grid.size, (2, graphs))
    hour = rng.integers(0, 24, graphs)

    def general():
        for one, when in zip(to.tolist(), hour.tolist(), strict=True):
            places, chance = net.hops(cells, np.full(grid.size, one), np.full(grid.size, when))
            source, hop = np.nonzero(places >= 0)
            back = (cost_of(chance[source, hop]), (places[source, hop], source))
            dijkstra(csr_array(back, shape=(grid.size, grid.size)), indices=one, return_predecessors=True)

    def ours():
        likeliest_ways(costs.places, costs, origin, to, hour)

    ours()
    ratio = _seconds(ours) / _seconds(general)
    return [{"work": "likeliest ways / scipy's Dijkstra over all hops", "ratio": ratio, "goal": "<= .5"}]


def run() -> list[dict]:
    """All ratios."""
    return [*points_to_trips(), *memory(), *noise(), *steps(), *walks(), *likeliest()]


if __name__ == "__main__":
    read_points(Path(sys.argv[1]), Grid.parse("grid:52.35,13.1,52.75,13.6@100x100"))
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    print(int(status.split()[0]) / 1024)
