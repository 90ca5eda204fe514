"""Lengths of trips: the noisy table of lengths by distance without most of its noise, and lengths drawn from it."""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import join_lengths


def read_lengths(
    noisy: Mapping[str, CellEstimates],
    edges: Ints,
    total: float,
    settings: Generation,
    *,
    on_list: bool = False,
) -> dict[str, CellEstimates]:
    """Return the tables of lengths without most of their noise: as smooth a law as the noisy counts allow.

    The logarithm of the law of all trips, over the logarithm of length, bends up little and down as it likes, and falls
    at last no less steeply than a power of length: a few false trips of 500 visits would fill a release. Each distance
    departs from that law in the same way. How many trips there are at each distance was asked once more (`distance`),
    and on a grid how many of each length at all distances together, in wide bins (`length in all`).
    """
    length, distance, in_all = (noisy.get(name) for name in ("length", "distance", "length in all"))
    assert length is not None  # asked of every kind of world
    rows = length.value.reshape(-1, len(edges))
    trips, precise = rows.sum(axis=1), 1 / (len(edges) * max(length.deviation, 1e-9) ** 2)
    if distance is not None:
        other = 1 / max(distance.deviation, 1e-9) ** 2
        trips = (precise * trips + other * distance.value) / (precise + other)
    trips = onto_total(trips, total)
    width = np.append(np.diff(edges), max(edges[-1] - edges[-2], 1) if len(edges) > 1 else 1)
    base, at = np.log(width) - settings.steepness * np.log(edges), np.log(edges)
    if in_all is None:
        # Distances that hold next to no trips would add nothing but noise.
        weight = trips / trips.max()
        noise = length.deviation * float(np.sqrt((weight**2).sum()))
        law = _smooth(weight @ rows, noise, base, at, settings)[0]
    else:
        joined = join_lengths(edges)
        known = _InAll(in_all.value, joined, max(in_all.scale, 1e-9))
        law = _smooth(rows.sum(axis=0), length.deviation * sqrt(len(rows)), base, at, settings, known)[0]
    base = np.log(np.maximum(law, 1e-12) / law.sum())
    found = [_smooth(row, length.deviation, base, at, settings) for row in rows]
    table, variance = (np.array(part) for part in zip(*found, strict=True))
    if on_list:
        # Ways to and fro have lengths that no smooth law has: where many trips are, what stands out far is believed; a
        # few false trips of 200 visits would fill a release.
        far = np.abs(rows - table) > 2 * length.reach().reshape(rows.shape)
        table = np.where(far & (np.maximum(rows, table) > total / 100), np.maximum(rows, 0.0), table)
        # A trip that does not end where it began has two visits at least.
        table[1:, 0] = 0.0
    table *= (trips / np.maximum(table.sum(axis=1), 1e-12))[:, None]
    clean = {}
    if in_all is not None:
        law *= total / law.sum()
        for _ in range(3):
            table *= law / np.maximum(table.sum(axis=0), 1e-12)
            table *= (trips / np.maximum(table.sum(axis=1), 1e-12))[:, None]
        value = np.bincount(joined, law).astype(np.float64)
        each = np.minimum(in_all.deviation, settings.sure * value) + 1e-6
        clean["length in all"] = CellEstimates(value, in_all.deviation, each)
    # Errors of neighbouring bins go together, and the law as a whole is much surer than its bins.
    each = np.minimum(np.sqrt(np.minimum(variance, length.deviation**2)), settings.sure * table) + 1e-6
    return clean | {"length": CellEstimates(table.ravel(), length.deviation, each.ravel())}


class _InAll(NamedTuple):
    """Noisy sums of joined bins: their values, the sum that each bin is part of, and the scale of the noise.

    Laplace noise is far off more often than normal noise: how far a sum is off counts in proportion, rounded near zero.
    """

    value: Floats
    joined: Ints
    scale: float

    def loss(self, mass: Floats) -> float:
        return float(np.hypot(self._off(mass), self.scale).sum()) / self.scale

    def slope(self, mass: Floats) -> Floats:
        off = self._off(mass)
        return np.asarray(mass * (off / (self.scale * np.hypot(off, self.scale)))[self.joined])

    def curve(self, mass: Floats) -> Floats:
        alike = self.joined[:, None] == self.joined
        return np.asarray(
            np.outer(mass, mass) * alike / (self.scale * np.hypot(self._off(mass), self.scale))[self.joined]
        )

    def _off(self, mass: Floats) -> Floats:
        return np.asarray(np.bincount(self.joined, mass) - self.value)


def _smooth(
    noisy: Floats,
    deviation: float,
    base: Floats,
    at: Floats,
    settings: Generation,
    in_all: _InAll | None = None,
) -> tuple[Floats, Floats]:
    """Return the most likely masses exp(base + z), and their variance; z is a line over `at` that bends a little.

    Newton's method on half the squared misfit over the noise's variance plus half the squared bends over theirs.
    """
    if len(noisy) < 3 or deviation <= 0:
        return np.maximum(noisy, 1e-9), np.full(len(noisy), deviation**2)
    space = np.diff(at)
    slopes = (np.eye(len(at), k=1)[:-1] - np.eye(len(at))[:-1]) / space[:, None]
    bends = np.diff(slopes, axis=0)
    wide = (space[1:] + space[:-1]) / 2

    def stiffness(z: Floats) -> Floats:
        bend = np.where(bends @ z > 0, settings.bend_up, 8)
        # The last slope may be flatter than the steepness of long trips by little, and steeper by much.
        slope = 1 if slopes[-1] @ z > 0 else 10
        return bends.T @ (bends / (bend**2 * wide)[:, None]) + np.outer(slopes[-1], slopes[-1]) / slope**2

    def loss(z: Floats) -> float:
        mass = np.exp(np.clip(base + z, -700, 50))
        misfit, more = noisy - mass, 0.0 if in_all is None else in_all.loss(mass)
        return float(misfit @ misfit) / (2 * deviation**2) + 0.5 * float(z @ stiffness(z) @ z) + more

    z = np.full(len(at), np.log(max(float(noisy.sum()), deviation) / np.exp(base).sum()))
    value, damp = loss(z), 1e-6
    for _ in range(100):
        mass, stiff = np.exp(np.clip(base + z, -700, 50)), stiffness(z)
        slope = mass * (mass - noisy) / deviation**2 + stiff @ z
        curve = stiff + np.diag(np.maximum(mass * (2 * mass - noisy), mass**2 / 10) / deviation**2 + damp)
        if in_all is not None:
            slope += in_all.slope(mass)
            curve += in_all.curve(mass)
        move = np.linalg.solve(curve, -slope)
        move *= min(1.0, 2 / float(np.abs(move).max()))
        there = loss(z + move)
        if there > value:
            damp *= 10
            continue
        z, gain, value, damp = z + move, value - there, there, max(damp / 10, 1e-9)
        if gain < 1e-6:
            break
    mass = np.exp(np.clip(base + z, -700, 50))
    spread = np.linalg.inv(stiffness(z) + np.diag(mass**2 / deviation**2 + 1e-6))
    return mass, mass**2 * np.diag(spread)


class LengthLaw:
    """Draws how many visits trips have, from a table of trips by distance and bin of lengths.

    Lengths of a wide bin are not alike: their logarithm is a line between the middles of bins, and they add up to
    what the bin has.
    """

    def __init__(self, edges: Ints, table: Floats) -> None:
        # The last bin has no end: it is as wide as the one before, and one length stands for all of its own.
        width = np.diff(edges, append=2 * edges[-1] - edges[-2])
        self.length, mass = (
            np.arange(edges[0], edges[-1] + 1),
            np.maximum(table.reshape(-1, len(edges)), 1e-9),
        )
        bin_ = np.searchsorted(edges, self.length, side="right") - 1
        rows = np.log(mass / width)
        dense = [np.exp(np.interp(self.length, edges + (width - 1) / 2, row)) for row in rows]
        self.mass = np.stack(
            [row * (trips / np.bincount(bin_, row))[bin_] for row, trips in zip(dense, mass, strict=True)]
        )
        self.running = np.cumsum(self.mass, axis=1)

    @property
    def visits(self) -> float:
        """The visits of all trips."""
        return float(self.mass.sum(axis=0) @ self.length)

    def weigh_ends(self) -> float:
        """Return the weight of all beginnings together when every trip spreads one over its moves and marks."""
        return float((self.mass.sum(axis=0) / (self.length + 1)).sum())

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return distances and lengths."""
        rows = self.mass.sum(axis=1)
        far = rng.choice(len(rows), count, p=rows / rows.sum())
        return far, self.draw_given(far, np.ones(count, np.int64), rng)

    def draw_given(self, far: Ints, fewest: Ints, rng: np.random.Generator) -> Ints:
        """Return lengths of trips over these distances, each of at least `fewest` visits."""
        return np.asarray(_draw(self.running, far, fewest, rng.random(len(far))))


@njit(cache=True, nogil=True)
def _draw(running, distance, fewest, random):  # type: ignore[no-untyped-def]
    out = fewest.copy()
    for i in range(len(out)):
        row = running[distance[i]]
        shorter = min(fewest[i], len(row)) - 1
        before = row[shorter - 1] if shorter > 0 else 0.0
        passed = np.searchsorted(row, before + random[i] * (row[-1] - before), side="right")
        out[i] = max(min(passed, len(row) - 1) + 1, fewest[i])
    return out
