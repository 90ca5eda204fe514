"""A small city on a grid and trips in it, for tests of the report."""

import numpy as np

from wayveil.trips.trips import Trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes

DATASHEET = {
    "wayveil": {"format": 1, "version": "0.1.0"},
    "private": True,
    "not_private_because": [],
    "guarantee": {
        "sentence": "This release satisfies differential privacy with epsilon = 1 for the unit `rider`.",
        "unit": "rider",
        "epsilon": "1",
        "delta": "0",
        "bounds": {"max_trips": 2},
    },
    "mechanism": {"name": "noisy-prefix-tree", "parameters": {"height": 12, "share": 0.25, "smooth": True}},
    "spends": [
        {"label": "level 1", "price": "1/4", "sensitivity": 2, "scale": "8", "error_95": 24, "group": None},
        {"label": "level 2", "price": "3/4", "sensitivity": 2, "scale": "8/3", "error_95": 8, "group": None},
    ],
    "public_inputs": [{"name": "world", "sha256": "ab" * 32}],
    "not_protected": ["the public world"],
    "limitations": ["Several releases add up."],
    "noise": {"source": "the operating system"},
    "ledger": None,
}


def grid_city(side: int) -> Network:
    """`side` x `side` stops, 500 m apart, with edges both ways between neighbours."""
    size = side * side
    stop = np.arange(size)
    pairs = []
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        x, y = stop % side + dx, stop // side + dy
        inside = (x >= 0) & (x < side) & (y >= 0) & (y < side)
        pairs.append(np.column_stack([stop[inside], (y * side + x)[inside]]))
    edges = np.concatenate(pairs)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    count = len(edges)
    ids = np.array([f"stop{i:05d}" for i in stop])
    return Network(
        Places(
            ids,
            np.array([f"Street {i % side} / Avenue {i // side}" for i in stop]),
            52.5 + 0.0045 * (stop // side),
            13.4 + 0.0074 * (stop % side),
        ),
        Edges(
            np.concatenate([[0], np.cumsum(np.bincount(edges[:, 0], minlength=size))]),
            edges[:, 1].astype(np.int32),
            np.full(count, 60, np.int32),
            np.full(count, 500.0),
            np.zeros(count, bool),
            np.ones(count, np.int64),
            np.zeros(count + 1, np.int64),
            np.empty(0, np.int32),
        ),
        Routes(np.empty(0, np.str_), np.empty(0, np.str_), np.empty(0, np.int32)),
        Platforms(ids, stop.astype(np.int32)),
        name="Gridville",
    )


def random_trips(city: Network, count: int, seed: int) -> Trips:
    """Walks that never leave the edges, 2 to 29 stops long, with a favourite corner."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 30, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    here = np.minimum(rng.geometric(4 / city.size, count), city.size) - 1
    location = np.empty(offsets[-1], np.int32)
    for step in range(30):
        on = lengths > step
        location[offsets[:-1][on] + step] = here[on]
        here = city.successors.nth(here, rng.integers(0, city.successors.degree(here)))
    return Trips(location, offsets, city)
