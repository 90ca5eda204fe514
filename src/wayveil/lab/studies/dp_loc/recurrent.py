"""A recurrent network for the next hop, which the study holds against its own: one LSTM layer, no noise, not private.

Its inputs are those of `StudyHopNet` (the cell and the destination embedded, the hour as a number), and what it
remembers of the cells before. It learns from whole trips, by plain steps along clipped means of gradients.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.synthesis.hops.published import AROUND, EMBEDDED, HOURS, REACH, StudyHopNet
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid

Floats = NDArray[np.float32]
UNITS = 100
LONGEST = 40  # hops of a trip that it learns from
CLIP = 3.0
INPUTS = 2 * EMBEDDED + 1


class Ways(NamedTuple):
    """Hops of some trips: cells by trip and step (the last one repeated), whether they are any, and labels of hops."""

    here: Ints
    to: Ints
    hour: Ints
    real: NDArray[np.bool_]
    label: Ints


class _Seen(NamedTuple):
    """Values that a forward pass leaves of every step: gates (entry, forget, cell, exit), cell states and outputs."""

    inputs: Floats
    gates: Floats
    cell: Floats
    out: Floats
    logits: Floats


class HopLstm:
    """The network; weights are the table of cells, those of inputs and of memory to the gates, and those out of it."""

    def __init__(self, grid: Grid, seed: int = 2) -> None:
        self.around = StudyHopNet(grid, 0.0)
        rng = np.random.default_rng(seed)

        def dense(rows: int, columns: int) -> Floats:
            return rng.normal(0, np.sqrt(1 / rows), (rows, columns)).astype(np.float32)

        bias = np.zeros((1, 4 * UNITS), np.float32)
        bias[:, UNITS : 2 * UNITS] = 1.0  # at first it forgets little
        table = rng.normal(0, 0.05, (grid.size, EMBEDDED)).astype(np.float32)
        self.weights = [table, np.concatenate([dense(INPUTS, 4 * UNITS), bias]), dense(UNITS, 4 * UNITS)]
        self.weights.append(np.concatenate([dense(UNITS, AROUND), np.zeros((1, AROUND), np.float32)]))

    def ways(self, trips: Trips, hour: Ints, longest: int | None = None) -> Ways:
        """Lay trips side by side; hops beyond the longest are left out."""
        hops = trips.lengths - 1
        steps = int(hops.max()) if longest is None else min(longest, int(hops.max()))
        at = np.arange(steps)
        first = trips.offsets[:-1, None]
        last = trips.offsets[1:, None] - 1
        here, then = (trips.location[np.minimum(first + at + more, last)].astype(np.int64) for more in (0, 1))
        north, east = self.around.moves.towards(here.ravel(), then.ravel())
        near = (np.abs(north) <= REACH) & (np.abs(east) <= REACH)
        label = np.where(near, (north + REACH) * (2 * REACH + 1) + east + REACH, -1).reshape(here.shape)
        return Ways(here, trips.destinations().astype(np.int64), hour, at < hops[:, None], label)

    def learn(self, ways: Ways, rate: float) -> None:
        """Take one step along the mean over the hops of these trips."""
        seen = self._forward(ways)
        errors = softmax(seen.logits)
        np.put_along_axis(
            errors, np.maximum(ways.label, 0)[..., None], _at(errors, np.maximum(ways.label, 0)) - 1, axis=2
        )
        errors[~ways.real | (ways.label < 0)] = 0
        errors /= max(int(ways.real.sum()), 1)
        gradients = self._backward(ways, seen, errors)
        norm = np.sqrt(sum(float((one**2).sum()) for one in gradients))
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight -= np.float32(rate * min(1.0, CLIP / max(norm, 1e-30))) * gradient

    def chances(self, ways: Ways) -> Floats:
        """Return the probabilities of the cells around, for every hop that is one."""
        return softmax(self._forward(ways).logits)[ways.real]

    def _forward(self, ways: Ways) -> _Seen:
        table, entry, memory, last = self.weights
        trips, steps = ways.here.shape
        inputs = np.ones((trips, steps, INPUTS + 1), np.float32)
        inputs[..., :EMBEDDED] = table[ways.here]
        inputs[..., EMBEDDED : 2 * EMBEDDED] = table[ways.to][:, None]
        inputs[..., 2 * EMBEDDED] = (ways.hour / HOURS)[:, None]
        gates = (inputs.reshape(-1, INPUTS + 1) @ entry).reshape(trips, steps, 4 * UNITS)
        cell = np.zeros((trips, steps + 1, UNITS), np.float32)
        out = np.zeros((trips, steps + 1, UNITS), np.float32)
        for at in range(steps):
            gate = gates[:, at]
            gate += out[:, at] @ memory
            entered, kept, new, shown = np.split(gate, 4, axis=1)
            for one in (entered, kept, shown):
                one[:] = 1 / (1 + np.exp(-one))
            np.tanh(new, out=new)
            cell[:, at + 1] = kept * cell[:, at] + entered * new
            out[:, at + 1] = shown * np.tanh(cell[:, at + 1])
        return _Seen(inputs, gates, cell, out, out[:, 1:] @ last[:-1] + last[-1])

    def _backward(self, ways: Ways, seen: _Seen, errors: Floats) -> list[Floats]:
        table, entry, memory, last = self.weights
        trips, steps = ways.here.shape
        from_out = errors @ last[:-1].T
        back = np.empty_like(seen.gates)
        to_out, to_cell = np.zeros((2, trips, UNITS), np.float32)
        for at in reversed(range(steps)):
            entered, kept, new, shown = np.split(seen.gates[:, at], 4, axis=1)
            bent = np.tanh(seen.cell[:, at + 1])
            to_out = to_out + from_out[:, at]
            to_cell = to_cell + to_out * shown * (1 - bent**2)
            parts = (
                to_cell * new * entered * (1 - entered),
                to_cell * seen.cell[:, at] * kept * (1 - kept),
                to_cell * entered * (1 - new**2),
                to_out * bent * shown * (1 - shown),
            )
            back[:, at] = np.concatenate(parts, axis=1)
            to_out, to_cell = back[:, at] @ memory.T, to_cell * kept
        flat = back.reshape(-1, 4 * UNITS)
        embedded = (flat @ entry[: 2 * EMBEDDED].T).reshape(trips, steps, 2, EMBEDDED)
        cells = np.zeros_like(table)
        np.add.at(cells, ways.here.ravel(), embedded[:, :, 0].reshape(-1, EMBEDDED))
        np.add.at(cells, ways.to, embedded[:, :, 1].sum(axis=1))
        return [
            cells,
            seen.inputs.reshape(-1, INPUTS + 1).T @ flat,
            seen.out[:, :-1].reshape(-1, UNITS).T @ flat,
            np.concatenate(
                [
                    seen.out[:, 1:].reshape(-1, UNITS).T @ errors.reshape(-1, AROUND),
                    errors.sum(axis=(0, 1))[None],
                ]
            ),
        ]


class Recited:
    """Answers of a network about hops that are asked for one after the other, as `next_hop_figures` does."""

    def __init__(self, net: HopLstm, trips: Trips, hour: Ints) -> None:
        self.around, self.answered = net.around, 0
        pieces = [np.arange(first, min(first + 500, len(trips))) for first in range(0, len(trips), 500)]
        self.told = np.concatenate(
            [net.chances(net.ways(trips.take(piece), hour[piece])) for piece in pieces]
        )

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, NDArray[np.float64]]:
        """The cells around, and what the network said of the next so many hops."""
        told = self.told[self.answered : self.answered + len(here)]
        self.answered += len(here)
        places = self.around.places(here)
        chance = np.where(places >= 0, told, 0.0)
        return places, chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)


def softmax(logits: Floats) -> Floats:
    """Probabilities along the last axis."""
    weight: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def _at(values: Floats, label: Ints) -> Floats:
    found: Floats = np.take_along_axis(values, label[..., None], axis=2)
    return found
