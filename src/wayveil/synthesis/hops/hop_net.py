"""A small network that knows the next hop: from the streets and the zone of a cell, the destination, and the hour.

The chance of a move is a product of what public knowledge says (rather towards the destination), of how often the move
is made at this cell (a noisy table, bought before; see `Flows.shares`), and of what is learnt: one hidden layer over
direction and distance of the destination and the hour on a circle; for every zone, a correction by direction; and how
far the streets are followed near to and far from the destination. So learning begins from a traveller who follows the
streets towards the destination. It learns from noisy sums of gradients, by Adam with a step that shrinks to nothing,
which is post-processing.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Int32s, Ints
from wayveil.privacy.gradients import EmbeddingRows, Outer, Part
from wayveil.synthesis.hops.hop_tables import straight_on
from wayveil.world.grid_moves import MOVES, SECTORS, GridMoves

Floats = NDArray[np.float32]
HARMONICS = 4
# One, direction in harmonics, distance three times, the hour; zones see the first few, streets are weighted by three.
FEATURES = 1 + 2 * HARMONICS + 3 + 2
BY_ZONE = 1 + 2 * 2
BY_STREET = 3
HOURS = 24
_CLOCK = 2 * np.pi * np.arange(HOURS) / HOURS
_HANDS = np.column_stack([np.cos(_CLOCK), np.sin(_CLOCK)]).astype(np.float32)


@dataclass(eq=False)
class HopNet:
    """Parameters of the network; `parts` and `update` are what a training asks for.

    `shares` has one row per cell, see `Flows.shares`. A training of `steps` steps begins with steps of size `rate`.
    """

    moves: GridMoves
    shares: Floats
    zone_bits: int
    hidden: int
    rate: float = 0.0
    steps: int = 1
    seed: int = 0
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    _adam: list[list[NDArray[np.float64]]] = field(default_factory=list)
    _taken: int = 0

    def __post_init__(self) -> None:
        if self.weights:
            return
        rng = np.random.default_rng(self.seed)  # public: it starts the same for everybody
        streets = np.zeros((BY_STREET, 1))
        streets[0] = 1.0
        self.weights = [
            rng.normal(0, 1 / np.sqrt(FEATURES), (FEATURES, self.hidden)),
            np.zeros((self.hidden + 1, MOVES)),
            np.zeros((1 << self.zone_bits, BY_ZONE * MOVES)),
            streets,
        ]

    def parts(self, columns: tuple[Ints, ...]) -> list[Part]:
        """Cross-entropy of the next hop; a hop that is no move, or from the destination itself, teaches nothing."""
        here, then, to, hour = columns
        move = self.moves.move(here, then)
        features, inner, zone, chance = self._forward(here, to, hour)
        errors = chance.copy()
        errors[np.arange(len(move)), np.maximum(move, 0)] -= 1
        errors[(move < 0) | (here == to)] = 0
        back = (errors @ self.weights[1][:-1].T.astype(np.float32)) * (inner[:, :-1] > 0)
        by_zone = features[:, :BY_ZONE, None] * errors[:, None, :]
        followed = np.einsum("nm,nm->n", errors, self.shares[here])
        return [
            Outer(features, back),
            Outer(inner, errors),
            EmbeddingRows(
                len(self.weights[2]), zone[:, None], by_zone.reshape(len(zone), 1, BY_ZONE * MOVES)
            ),
            Outer(_nearness(features), followed[:, None]),
        ]

    def update(self, gradients: list[NDArray[np.float64]]) -> None:
        """A step of Adam."""
        if not self._adam:
            self._adam = [[np.zeros_like(one), np.zeros_like(one)] for one in self.weights]
        rate = self.rate * max(1 - self._taken / self.steps, 0.0)
        self._taken += 1
        for weight, gradient, (first, second) in zip(self.weights, gradients, self._adam, strict=True):
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            size = np.sqrt(second / (1 - 0.999**self._taken)) + 1e-8
            weight -= rate * first / (1 - 0.9**self._taken) / size

    def chances(self, here: Ints, to: Ints, hour: Ints) -> NDArray[np.float64]:
        """Probabilities of the eight moves."""
        return self._forward(here, to, hour)[3].astype(np.float64)

    def rows(self) -> list[pl.DataFrame]:
        """The noisy parameters, for the table of a model."""
        return [
            pl.DataFrame({"part": f"weights {number}", "cell": np.arange(one.size), "value": one.ravel()})
            for number, one in enumerate(self.weights)
        ]

    def _forward(self, here: Ints, to: Ints, hour: Ints) -> tuple[Floats, Floats, Ints, Floats]:
        features = self._features(here, to, hour)
        zone = self.moves.zones.zone(here, self.zone_bits)
        first, out, by_zone, streets = (one.astype(np.float32) for one in self.weights)
        inner = np.ones((len(here), self.hidden + 1), np.float32)
        np.maximum(features @ first, 0, out=inner[:, :-1])
        chance = inner @ out
        straight = _STRAIGHT_ON[self.moves.sector(here, to)]
        known = _Known(by_zone, streets, self.shares, self.moves.neighbours)
        _finish(chance, straight, features, zone, here, known)
        return features, inner, zone, chance

    def _features(self, here: Ints, to: Ints, hour: Ints) -> Floats:
        made = np.ones((len(here), FEATURES), np.float32)
        north, east = (side.astype(np.float32) for side in self.moves.towards(here, to))
        away = np.hypot(north, east)
        turn = (east + 1j * north) / np.maximum(away, 1)
        turned = np.ones(len(here), np.complex64)
        for harmonic in range(HARMONICS):
            turned = turned * turn
            made[:, 1 + 2 * harmonic], made[:, 2 + 2 * harmonic] = turned.real, turned.imag
        made[:, -5] = np.log1p(away) / 3
        made[:, -4] = 1 / (1 + away)
        made[:, -3] = np.maximum(np.abs(north), np.abs(east)) <= 1
        made[:, -2:] = _HANDS[hour]
        return made


_STRAIGHT_ON = np.log(straight_on(SECTORS)).astype(np.float32)


def _nearness(features: Floats) -> Floats:
    """Return what decides how far streets are followed: one, next to the destination, and distance."""
    made = np.ones((len(features), BY_STREET), np.float32)
    made[:, 1], made[:, 2] = features[:, -3], features[:, -5] - 0.5
    return made


class _Known(NamedTuple):
    """Corrections by zone, how far streets are followed, how often moves are made, and which moves there are."""

    by_zone: Floats
    streets: Floats
    shares: Floats
    neighbours: Int32s


@njit(cache=True, fastmath={"reassoc", "contract"})
def _finish(chance, straight, features, zone, here, known):  # type: ignore[no-untyped-def]
    """Turn what the hidden layer says of each move into probabilities, in one pass: walks ask for millions."""
    by_zone, streets, shares, neighbours = known
    for i in range(len(chance)):
        near, far = features[i, FEATURES - 3], features[i, FEATURES - 5] - np.float32(0.5)
        follow = streets[0, 0] + near * streets[1, 0] + far * streets[2, 0]
        most = np.float32(-1e30)
        for m in range(MOVES):
            logit = chance[i, m] + straight[i, m] + follow * shares[here[i], m]
            for j in range(BY_ZONE):
                logit += features[i, j] * by_zone[zone[i], j * MOVES + m]
            chance[i, m] = logit if neighbours[here[i], m] >= 0 else np.float32(-30)
            most = max(most, chance[i, m])
        total = np.float32(0)
        for m in range(MOVES):
            chance[i, m] = np.exp(chance[i, m] - most)
            total += chance[i, m]
        for m in range(MOVES):
            chance[i, m] /= total
