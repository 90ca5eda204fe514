"""What the `published` presets release on a real network: 20,000 riders of Victoria at epsilon 1, unit trip.

A row per preset: what came out, or the sentence of the refusal, beside the noise of its first question and the largest
true count that there is to be found by it. Where the second number is below the first, the paper's own shares are to
blame: docs/mechanisms says of each which.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wayveil.errors import WayveilError
from wayveil.lab.studies.lab import invented_city
from wayveil.mechanisms.presets import with_preset
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release
from wayveil.simulate.city import simulate_city
from wayveil.synthesis.tree import NoisyTree, TaxonomyTree
from wayveil.trips.trips import Trips
from wayveil.utility.stop_figures import hit_rate, stop_counts
from wayveil.world.grid import Grid
from wayveil.world.gtfs import read_gtfs

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
RIDERS, TRIES = 20_000, 3
CELL = 1_000  # metres: what is trained walks over cells, so its riders are where their stops are


def run() -> list[dict]:
    """Measure every preset a few times."""
    feed = DATA / "victoria" / "gtfs.zip"
    city = read_gtfs(feed, walk_radius_metres=300) if feed.exists() else invented_city(2_300, 66, 1)
    raw = simulate_city(city, RIDERS, seed=1).trips
    return [
        row
        for name in with_preset()
        for seed in range(1 if mechanism(name).trained else TRIES)
        for row in _row(name, on_cells(raw) if mechanism(name).trained else raw, seed)
    ]


def on_cells(raw: Trips) -> Trips:
    """The same trips over a grid; those that stay in one cell are left out."""
    city = raw.world
    box = f"{city.lat.min()},{city.lon.min()},{city.lat.max()},{city.lon.max()}"
    grid = Grid.of_metres(box, CELL)
    cells = Trips(grid.cell_of(city.lat, city.lon)[raw.location], raw.offsets, grid, raw.time).merged()
    return cells.take(cells.lengths > 1)


def _row(name: str, raw: Trips, seed: int) -> Iterator[dict]:
    row: dict = {"preset": name, "release": seed + 1, "riders": len(raw)}
    delta = {"delta": "1e-6"} if mechanism(name).trained else {}
    chosen, bits = mechanism(name).published(), SeededBits(seed)
    try:
        made = make_release(raw, chosen, epsilon="1", unit="trip", bits=bits, seed=seed, **delta)
    except WayveilError as error:
        yield {**row, "refused": str(error)[:60]}
        return
    row |= {
        "trips": len(made.trips),
        "visits per trip": round(made.trips.visits / max(len(made.trips), 1), 2),
    }
    row["20 busiest stops found"] = hit_rate(stop_counts(raw), stop_counts(made.trips), 20)
    if isinstance(made.model, NoisyTree):
        first = made.model.levels[0]
        row |= {"first noise scale": round(float(first.scale)), "first threshold": first.threshold}
        row["largest first count"] = _largest(raw, made.model)
    yield row


def _largest(raw: Trips, tree: NoisyTree) -> int:
    """The most riders that share a first node: a group of places (all riders share it), a stop, a stop at a time."""
    if isinstance(tree, TaxonomyTree):
        return len(raw)
    place, bins = raw.origins().astype(np.int64), tree.bins
    if bins is not None and raw.time is not None:
        place = place * bins.count + bins.bin_of(raw.time[raw.offsets[:-1]])
    return int(np.bincount(place).max())
