"""A small network that knows the next hop: from the zone of a cell, the displacement to the destination, and the hour.

One hidden layer. Zones enter as rows that are added to the hidden layer and to the outputs; displacement as its
direction in four harmonics and its length; the hour as a point on a circle. The outputs are added to what public
knowledge says (rather towards the destination), so that learning begins from there. It learns from noisy sums of
gradients, by Adam, which is post-processing.
"""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.privacy.gradients import Outer, Part, Rows
from wayveil.synthesis.hops.tables import straight_on
from wayveil.world.grid_moves import MOVES, SECTORS, GridMoves

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
HARMONICS = 4
FEATURES = 2 * HARMONICS + 3 + 2 + 1
HOURS = 24


@dataclass(eq=False)
class HopNet:
    """Parameters of the network; `parts` and `update` are what a training asks for."""

    moves: GridMoves
    zone_bits: int
    hidden: int
    rate: float
    seed: int = 0
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    _adam: list[list[NDArray[np.float64]]] = field(default_factory=list)
    _steps: int = 0

    def __post_init__(self) -> None:
        if self.weights:
            return
        rng = np.random.default_rng(self.seed)  # public: it starts the same for everybody
        zones = 1 << self.zone_bits
        self.weights = [
            rng.normal(0, 1 / np.sqrt(FEATURES), (FEATURES, self.hidden)),
            np.zeros((zones, self.hidden)),
            np.zeros((self.hidden + 1, MOVES)),
            np.zeros((zones, MOVES)),
        ]

    def parts(self, columns: tuple[Ints, ...]) -> list[Part]:
        """Cross-entropy of the next hop; a hop that is no move, or from the destination itself, teaches nothing."""
        here, then, to, hour = columns
        move = self.moves.move(here, then)
        features, zone, inner, logits = self._forward(here, to, hour)
        chance = _softmax(logits)
        errors = chance.copy()
        errors[np.arange(len(move)), np.maximum(move, 0)] -= 1
        errors[(move < 0) | (here == to)] = 0
        back = (errors @ self.weights[2][:-1].T.astype(np.float32)) * (inner[:, :-1] > 0)
        return [
            Outer(features, back),
            Rows(len(self.weights[1]), zone[:, None], back[:, None, :]),
            Outer(inner, errors),
            Rows(len(self.weights[3]), zone[:, None], errors[:, None, :]),
        ]

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
        """A step of Adam."""
        if not self._adam:
            self._adam = [[np.zeros_like(one), np.zeros_like(one)] for one in self.weights]
        self._steps += 1
        for weight, gradient, (first, second) in zip(self.weights, gradients, self._adam, strict=True):
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            size = np.sqrt(second / (1 - 0.999**self._steps)) + 1e-8
            weight -= self.rate * first / (1 - 0.9**self._steps) / size

    def chances(self, here: Ints, to: Ints, hour: Ints) -> NDArray[np.float64]:
        """Probabilities of the eight moves."""
        return _softmax(self._forward(here, to, hour)[3]).astype(np.float64)

    def rows(self) -> list[pl.DataFrame]:
        """The noisy parameters, for the table of a model."""
        return [
            pl.DataFrame({"part": f"weights {number}", "cell": np.arange(one.size), "value": one.ravel()})
            for number, one in enumerate(self.weights)
        ]

    def _forward(self, here: Ints, to: Ints, hour: Ints) -> tuple[Floats, Ints, Floats, Floats]:
        features = self._features(here, to, hour)
        zone = self.moves.zones.zone(here, self.zone_bits)
        first, shift, out, bias = (one.astype(np.float32) for one in self.weights)
        inner = np.ones((len(here), self.hidden + 1), np.float32)
        np.maximum(features @ first + shift[zone], 0, out=inner[:, :-1])
        logits = inner @ out + bias[zone] + _STRAIGHT_ON[self.moves.sector(here, to)]
        return features, zone, inner, np.where(self.moves.neighbours[here] >= 0, logits, np.float32(-30))

    def _features(self, here: Ints, to: Ints, hour: Ints) -> Floats:
        north, east = self.moves.towards(here, to)
        angle, away = np.arctan2(north, east), np.hypot(north, east)
        turns = [wave(k * angle) for k in range(1, HARMONICS + 1) for wave in (np.cos, np.sin)]
        clock = 2 * np.pi * hour / HOURS
        columns = [
            *turns,
            np.log1p(away) / 3,
            1 / (1 + away),
            (np.maximum(np.abs(north), np.abs(east)) <= 1).astype(np.float64),
            np.cos(clock),
            np.sin(clock),
            np.ones(len(here)),
        ]
        return np.column_stack(columns).astype(np.float32)


_STRAIGHT_ON = np.log(straight_on(SECTORS)).astype(np.float32)


def _softmax(logits: Floats) -> Floats:
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
