"""What tells a member from somebody else: scores that are higher for trips that look like the released ones."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.attacks.draws import words
from wayveil.synthesis.ngram_model import BEGIN, END
from wayveil.trips.trips import Trips
from wayveil.world.world import World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# What a move that the release does not have counts, beside moves that it has.
UNSEEN = 0.5


def moves_score(targets: Trips, released: Trips) -> Floats:
    """Mean log-likelihood of a trip's moves, begin and end included, under the moves of the released trips."""
    size = targets.world.size
    source, target = _moves(released)
    key, count = np.unique(source * (size + 2) + target, return_counts=True)
    leaving = np.bincount(source, minlength=size + 2)
    a, b = _moves(targets)
    found = _look_up(key, count.astype(np.float64), a * (size + 2) + b)
    logs = np.log((found + UNSEEN) / (leaving[a] + UNSEEN * size))
    return _mean_per_row(logs, targets.lengths + 1)


def table_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """The malicious receiver: looks a trip up in the released tree or n-grams. Nothing for other kinds of models."""
    if {"length", "ngram", "count"} <= set(table.columns):
        return _ngram_scores(targets, table)
    if {"node", "parent", "depth", "stop_id", "consistent_count"} <= set(table.columns):
        return _tree_scores(targets, table)
    return {}


def _ngram_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """Mean log of the counts of a trip's n-grams, and the log of the least of them, by the longest n there is."""
    n = int(table["length"].max() or 0)  # type: ignore[arg-type]
    if n < 2:
        return {}
    longest = table.filter(pl.col("length") == n)
    grams = longest["ngram"].explode().to_numpy().reshape(-1, n)
    symbol = _symbols(targets.world, grams.ravel()).reshape(-1, n)
    key = _hashed(symbol)
    order = np.argsort(key)
    begins = max(1, int((symbol == targets.world.size).sum(axis=1).max(initial=1)))
    windows, per_trip = _windows(targets, n, begins)
    found = _look_up(
        key[order], np.maximum(longest["count"].to_numpy(), 0)[order].astype(np.float64), _hashed(windows)
    )
    logs = np.log(found + UNSEEN)
    starts = np.concatenate([[0], np.cumsum(per_trip)])[:-1]
    return {
        "released n-grams, on average": _mean_per_row(logs, per_trip),
        "released n-grams, the rarest": np.minimum.reduceat(logs, starts),
    }


def _tree_scores(targets: Trips, table: pl.DataFrame) -> dict[str, Floats]:
    """How far down the released tree a trip can be followed, and how thin the branch is there."""
    world = targets.world
    stop = world.index_of(table["stop_id"].cast(pl.String)).astype(np.int64)
    key = table["parent"].to_numpy() * (world.size + 1) + stop
    # A tree of stops and times has several children at one stop: the thickest one is followed.
    count = table["consistent_count"].to_numpy()
    order = np.lexsort((-count, key))
    key, node, count = key[order], table["node"].to_numpy()[order], count[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    key, node, count = key[first], node[first], count[first]
    here = np.zeros(len(targets), np.int64)
    depth, width = np.zeros(len(targets)), np.full(len(targets), np.log(UNSEEN))
    alive = np.ones(len(targets), bool)
    deepest = int(table["depth"].to_numpy().max(initial=0))
    for step in range(min(int(targets.lengths.max(initial=0)), deepest)):
        alive &= targets.lengths > step
        rows = np.flatnonzero(alive)
        asked = here[rows] * (world.size + 1) + targets.location[targets.offsets[:-1][rows] + step]
        place = np.minimum(np.searchsorted(key, asked), len(key) - 1)
        hit = key[place] == asked
        here[rows[hit]] = node[place[hit]]
        depth[rows[hit]] = step + 1
        width[rows[hit]] = np.log(np.maximum(count[place[hit]], 0) + UNSEEN)
        alive[rows[~hit]] = False
    return {"released tree": depth / np.maximum(targets.lengths, 1) - 1e-3 * width}


def _symbols(world: World, names: NDArray[np.object_]) -> Ints:
    """Stops by index; the mark of the beginning is `size`, that of the end `size + 1`."""
    distinct, code = np.unique(names.astype(np.str_), return_inverse=True)
    index = world.index_of(distinct).astype(np.int64)
    index[distinct == BEGIN] = world.size
    index[distinct == END] = world.size + 1
    return index[code]


def _windows(trips: Trips, n: int, begins: int) -> tuple[Ints, Ints]:
    """All runs of n symbols of each trip between its marks, and how many each trip has (at least one)."""
    size = trips.world.size
    pad = np.maximum(n - (begins + trips.lengths + 1), 0)
    lengths = begins + trips.lengths + 1 + pad
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.full(offsets[-1], size + 1, np.int64)
    for mark in range(begins):
        flat[offsets[:-1] + mark] = size
    inner = np.arange(trips.visits) + np.repeat(offsets[:-1] + begins - trips.offsets[:-1], trips.lengths)
    flat[inner] = trips.location
    per_trip = lengths - n + 1
    first = np.concatenate([[0], np.cumsum(per_trip)])
    start = np.arange(first[-1]) + np.repeat(offsets[:-1] - first[:-1], per_trip)
    return flat[start[:, None] + np.arange(n)], per_trip


def _moves(trips: Trips) -> tuple[Ints, Ints]:
    """Every move with its ends; the beginning is place `size`, the end `size + 1`."""
    windows, _ = _windows(trips, 2, 1)
    return windows[:, 0], windows[:, 1]


def _hashed(rows: Ints) -> NDArray[np.uint64]:
    return words("symbols", 0, *rows.T) if len(rows) else np.zeros(0, np.uint64)


def _look_up(keys: NDArray[np.generic], values: Floats, asked: NDArray[np.generic]) -> Floats:
    """The value of each key that is asked for, 0 where it is not there; keys are ascending."""
    if len(keys) == 0:
        return np.zeros(len(asked))
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, values[place], 0.0)


def _mean_per_row(values: Floats, lengths: Ints) -> Floats:
    row = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(np.bincount(row, values, minlength=len(lengths)) / np.maximum(lengths, 1))
