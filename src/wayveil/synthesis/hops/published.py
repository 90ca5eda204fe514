"""The two networks of the DP-Loc study, over the full public grid, and its likeliest ways.

`SourceNet` is the variational autoencoder of (origin, destination, hour): one-hot inputs, 100 hidden units with ReLU,
100 linear ones, a latent code of 50, 100 hidden units with ReLU, three softmax heads. `StudyHopNet` embeds the current
cell and the destination into the same 50 dimensions, adds the hour as a number, has 200 hidden units with ReLU and
chooses among the 11 x 11 cells around. Both learn by plain gradient steps from noisy sums.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.privacy.gradients import EmbeddingRows, Outer, Part
from wayveil.synthesis.hops.walking import LEAST_COST, MOST_COST, likeliest_ways, timed
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import GridMoves

Floats = NDArray[np.float32]
HOURS = 24
REACH = 5
AROUND = (2 * REACH + 1) ** 2
WIDTH, LATENT, EMBEDDED, HIDDEN = 100, 50, 50, 200
# A logit of cells that do not exist: finite, so that a cell without neighbours has a softmax too.
NEVER = -1e30


class _Net:
    """Weights and plain gradient steps."""

    weights: list[NDArray[np.float32]]
    rate: float

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight -= (self.rate * gradient).astype(np.float32)

    def rows(self, name: str) -> list[pl.DataFrame]:
        return [
            pl.DataFrame({"part": f"{name} {number}", "cell": np.arange(one.size), "value": one.ravel()})
            for number, one in enumerate(self.weights)
        ]


_Network = TypeVar("_Network", bound=_Net)


class _Seen(NamedTuple):
    """Values that a forward pass of the autoencoder leaves, layer by layer; layers with inputs of one for the bias."""

    rows: Ints
    first: Floats
    second: Floats
    mean: Floats
    spread: Floats
    noise: Floats
    latent: Floats
    third: Floats
    heads: Floats


class SourceNet(_Net):
    """The autoencoder. Its latent noise is drawn from a public generator: it protects nobody and need not."""

    def __init__(self, grid: Grid, rate: float, seed: int = 0) -> None:
        self.size, self.rate = grid.size, rate
        rng = np.random.default_rng(seed)
        self.seed, self.taken = seed, 0
        self.inputs, self.outputs = 2 * grid.size + HOURS, 2 * grid.size + HOURS

        def dense(rows: int, columns: int) -> Floats:
            return rng.normal(0, np.sqrt(2 / rows), (rows + 1, columns)).astype(np.float32)

        entry = rng.normal(0, np.sqrt(2 / 3), (self.inputs, WIDTH)).astype(np.float32)
        self.weights = [entry, dense(WIDTH, WIDTH), dense(WIDTH, 2 * LATENT), dense(LATENT, WIDTH)]
        self.weights.append(dense(WIDTH, self.outputs) * np.float32(0.1))

    def parts(self, columns: tuple[Ints, ...]) -> list[Part]:
        """Reconstruction of the three variables and divergence of the code from a standard normal."""
        origin, destination, hour = columns
        seen = self._forward(origin, destination, hour)
        errors = np.empty_like(seen.heads)
        for start, stop, true in self._heads(origin, destination, hour):
            errors[:, start:stop] = _softmax(seen.heads[:, start:stop])
            errors[np.arange(len(origin)), start + true] -= 1
        back3 = (errors @ self.weights[4][:-1].T) * (seen.third[:, :-1] > 0)
        to_latent = back3 @ self.weights[3][:-1].T
        to_spread = to_latent * seen.noise * np.exp(seen.spread / 2) / 2 + (np.exp(seen.spread) - 1) / 2
        to_code = np.concatenate([to_latent + seen.mean, to_spread], axis=1)
        back2 = to_code @ self.weights[2][:-1].T
        back1 = (back2 @ self.weights[1][:-1].T) * (seen.first[:, :-1] > 0)
        return [
            EmbeddingRows(self.inputs, seen.rows, np.repeat(back1[:, None, :], 3, axis=1)),
            Outer(seen.first, back2),
            Outer(seen.second, to_code),
            Outer(seen.latent, back3),
            Outer(seen.third, errors),
        ]

    def loss(self, origin: Ints, destination: Ints, hour: Ints) -> NDArray[np.float64]:
        """Return what every example costs, in nats: all three cross-entropies and the divergence of the code."""
        seen = self._forward(origin, destination, hour)
        cost = (seen.mean**2 + np.exp(seen.spread) - 1 - seen.spread).sum(axis=1, dtype=np.float64) / 2
        for start, stop, true in self._heads(origin, destination, hour):
            chance = _softmax(seen.heads[:, start:stop])[np.arange(len(origin)), true]
            cost -= np.log(np.maximum(chance, 1e-30))
        return cost

    def _forward(self, origin: Ints, destination: Ints, hour: Ints) -> "_Seen":
        rows = np.column_stack([origin, self.size + destination, 2 * self.size + hour])
        first = _with_one(np.maximum(self.weights[0][rows].sum(axis=1), 0))
        second = _with_one(first @ self.weights[1])
        code = second @ self.weights[2]
        mean, spread = code[:, :LATENT], np.clip(code[:, LATENT:], -8, 8)
        # Anew in every step: a generator that runs on would remember how many units were drawn.
        rng = np.random.default_rng([self.seed, self.taken])
        noise = rng.normal(0, 1, (len(origin), LATENT)).astype(np.float32)
        latent = _with_one(mean + np.exp(spread / 2) * noise)
        third = _with_one(np.maximum(latent @ self.weights[3], 0))
        return _Seen(rows, first, second, mean, spread, noise, latent, third, third @ self.weights[4])

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
        super().update(gradients)
        self.taken += 1

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """Origins, destinations and hours from the decoder, a piece at a time."""
        found: list[list[Ints]] = [[], [], []]
        for start in range(0, count, 2_000):
            size = min(2_000, count - start)
            latent = _with_one(rng.normal(0, 1, (size, LATENT)).astype(np.float32))
            heads = _with_one(np.maximum(latent @ self.weights[3], 0)) @ self.weights[4]
            for place, (first, stop, _) in enumerate(self._heads(*[np.zeros(0, np.int64)] * 3)):
                steps = np.cumsum(_softmax(heads[:, first:stop]), axis=1)
                pick = (rng.random(size)[:, None] * steps[:, -1:] >= steps).sum(axis=1)
                found[place].append(np.minimum(pick, stop - first - 1))
        return tuple(np.concatenate(one) for one in found)  # type: ignore[return-value]

    def _heads(self, origin: Ints, destination: Ints, hour: Ints) -> list[tuple[int, int, Ints]]:
        n = self.size
        return [(0, n, origin), (n, 2 * n, destination), (2 * n, 2 * n + HOURS, hour)]


class StudyHopNet(_Net):
    """The next hop among the 121 cells around."""

    def __init__(self, grid: Grid, rate: float, seed: int = 1) -> None:
        self.grid, self.rate = grid, rate
        self.moves = GridMoves(grid)
        rng = np.random.default_rng(seed)
        self.weights = [
            rng.normal(0, 0.05, (grid.size, EMBEDDED)).astype(np.float32),
            rng.normal(0, np.sqrt(2 / (2 * EMBEDDED + 1)), (2 * EMBEDDED + 2, HIDDEN)).astype(np.float32),
            rng.normal(0, 0.01, (HIDDEN + 1, AROUND)).astype(np.float32),
        ]

    def parts(self, columns: tuple[Ints, ...]) -> list[Part]:
        """Cross-entropy; a hop of more than five cells cannot be represented and teaches nothing."""
        here, then, to, hour = columns
        north, east = self.moves.towards(here, then)
        near = (np.abs(north) <= REACH) & (np.abs(east) <= REACH)
        label = np.where(near, (north + REACH) * (2 * REACH + 1) + east + REACH, 0)
        inputs, inner, logits = self._forward(here, to, hour)
        errors = _softmax(logits)
        errors[np.arange(len(here)), label] -= 1
        errors[~near] = 0
        back = (errors @ self.weights[2][:-1].T) * (inner[:, :-1] > 0)
        embedded = back @ self.weights[1][: 2 * EMBEDDED].T
        index = np.column_stack([here, to])
        return [
            EmbeddingRows(self.grid.size, index, embedded.reshape(-1, 2, EMBEDDED)),
            Outer(inputs, back),
            Outer(inner, errors),
        ]

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, NDArray[np.float64]]:
        """All cells around that exist, without the cell itself, and their probabilities."""
        places = self.places(here)
        chance = np.where(places >= 0, _softmax(self._forward(here, to, hour)[2]), 0.0)
        return places, chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)

    def places(self, here: Ints) -> Ints:
        """The cells around, -1 where there is none or the cell itself."""
        step = np.arange(-REACH, REACH + 1)
        north, east = (side.ravel() for side in np.meshgrid(step, step, indexing="ij"))
        row, column = self.moves.row[here][:, None] + north, self.moves.column[here][:, None] + east
        layout = self.grid.layout
        inside = (row >= 0) & (row < layout.rows) & (column >= 0) & (column < layout.columns)
        flat = np.where(inside, row * layout.columns + column, 0)
        return np.where(inside & ((north != 0) | (east != 0)), self.grid.numbers[flat], -1).astype(np.int64)

    def _forward(self, here: Ints, to: Ints, hour: Ints) -> tuple[Floats, Floats, Floats]:
        table = self.weights[0]
        when = (hour / HOURS).astype(np.float32)[:, None]
        inputs = _with_one(np.concatenate([table[here], table[to], when], axis=1))
        inner = _with_one(np.maximum(inputs @ self.weights[1], 0))
        return inputs, inner, inner @ self.weights[2]


class StudyHopCosts:
    """Cost of every hop of every cell towards a destination at an hour.

    Only the destination and the hour change from graph to graph: what the cells themselves bring is worked out once.
    """

    def __init__(self, net: StudyHopNet) -> None:
        table, (inner, self.outer) = net.weights[0], net.weights[1:]
        self.places = net.places(np.arange(net.grid.size)).astype(np.int32)
        self.missing = np.where(self.places >= 0, 0, NEVER).astype(np.float32)
        self.here = table @ inner[:EMBEDDED] + inner[-1]
        self.there, self.hour = table @ inner[EMBEDDED:-2], inner[-2]

    def __call__(self, to: int, when: int) -> Floats:
        middle = np.maximum(self.here + (self.there[to] + self.hour * np.float32(when / HOURS)), 0)
        logits = middle @ self.outer[:-1] + self.outer[-1] + self.missing
        top = logits.max(axis=1, keepdims=True)
        total = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        return np.clip(total - logits, LEAST_COST, MOST_COST)


@dataclass(frozen=True, eq=False)
class PublishedModel(Model):
    """Both networks, and the likeliest way from origin to destination at an hour."""

    world: Grid
    trips: float
    source_weights: tuple[NDArray[np.float32], ...]
    hop_weights: tuple[NDArray[np.float32], ...]
    timed: bool

    @cached_property
    def source(self) -> SourceNet:
        return _with_weights(SourceNet(self.world, 0.0), self.source_weights)

    @cached_property
    def knows(self) -> StudyHopNet:
        return _with_weights(StudyHopNet(self.world, 0.0), self.hop_weights)

    def generate(self, seed: int | None = None) -> Trips:
        """Draw as many trips as the noisy number says."""
        return self.draw(None, seed)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many trips: one graph per destination and hour takes its time."""
        rng = np.random.default_rng(seed)
        origin, destination, hour = self.source.draw(
            max(round(self.trips), 1) if trips is None else trips, rng
        )
        costs = StudyHopCosts(self.knows)
        location, offsets = likeliest_ways(costs.places, costs, origin, destination, hour)
        if not self.timed:
            return Trips(location, offsets, self.world)
        return timed(GridMoves(self.world), location, offsets, hour, rng)

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, NDArray[np.float64]]:
        return self.knows.hops(here, to, hour)

    def ends_loss(self, origin: Ints, destination: Ints, hour: Ints) -> NDArray[np.float64]:
        return self.source.loss(origin, destination, hour)

    def table(self) -> pl.DataFrame:
        """Every noisy number: its part, its cell, its value."""
        number = pl.DataFrame({"part": ["trips"], "cell": [0], "value": [float(self.trips)]})
        parts = [number, *self.source.rows("ends"), *self.knows.rows("hops")]
        return pl.concat([part.cast({"cell": pl.Int64, "value": pl.Float64}) for part in parts])


def _with_weights(net: _Network, weights: tuple[NDArray[np.float32], ...]) -> _Network:
    net.weights = [weight.copy() for weight in weights]
    return net


def _with_one(values: Floats) -> Floats:
    return np.concatenate([values, np.ones((len(values), 1), np.float32)], axis=1, dtype=np.float32)


def _softmax(logits: Floats) -> Floats:
    weight = logits - logits.max(axis=1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight
