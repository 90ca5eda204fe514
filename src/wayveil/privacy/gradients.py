"""Clipped sums of gradients in whole numbers: the same to the last digit for any order of the units.

A network hands over, for every example, the factors of its gradient: `Outer` for a dense layer, whose gradient is the
outer product of inputs and errors, and `EmbeddingRows` for an embedding, whose gradient is a few rows. Inputs are
rounded to multiples of 2^-8, then errors are scaled down until the norm of the example is at most the clip, and cut
off to whole numbers: products and sums of whole numbers are exact in double precision below 2^53. Cutting off only
shrinks, so the norm of every example stays at most the clip: a number of `CLIP` units, by construction and checked
again.

Norms come from the factors: the norm of an outer product is the product of the norms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

# The clip in units of the grid on which gradients live.
CLIP = 1 << 20
INPUT_UNIT = 1 << 8
# Inputs beyond this (128 in the units of a network) are cut, so that no sum can leave the exact range.
LARGEST_INPUT = 1 << 15

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outer:
    """A dense layer: example i has the gradient inputs[i] (x) errors[i]; a bias is an input of one."""

    inputs: Floats
    errors: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inputs.shape[1], self.errors.shape[1]


@dataclass(frozen=True, eq=False)
class EmbeddingRows:
    """An embedding of `size` rows: example i has errors[i, k] in row index[i, k]; a row may come twice."""

    size: int
    index: NDArray[np.int64]
    errors: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return self.size, self.errors.shape[2]


Part = Outer | EmbeddingRows


def clipped_sum(parts: Sequence[Part], clip: float) -> list[NDArray[np.float64]]:
    """The sum of all clipped gradients, one array of whole numbers per part, in units of clip / CLIP."""
    if not parts:
        return []
    squares, inputs = np.zeros(len(parts[0].errors)), []
    for part in parts:
        if isinstance(part, Outer):
            whole = np.empty(part.inputs.shape)
            _add_outer_squares(part.inputs, part.errors, whole, squares)
            inputs.append(whole)
        else:
            inputs.append(np.empty((0, 0)))
            _add_row_squares(part.errors, squares)
    factors = clip_factors(squares, clip)
    sums = []
    for part, whole in zip(parts, inputs, strict=True):
        if isinstance(part, Outer):
            # The unit that makes products with inputs units of the grid; cut off towards zero.
            scaled = np.empty(part.errors.shape)
            _cut_off(part.errors, factors * (CLIP / clip / INPUT_UNIT), scaled)
            sums.append(whole.T @ scaled)
        else:
            total = np.zeros(part.shape)
            _add_cut_rows(part.index, part.errors, factors * (CLIP / clip), total)
            sums.append(total)
    return sums


def clip_factors(squares: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """By how much the errors of each example are scaled so that its norm is at most the clip; one too large for
    floating point counts for nothing.
    """
    squares = np.where(np.isfinite(squares), squares, np.inf)
    # A hair below, so that rounding of these floating-point norms cannot lift one over the clip.
    return np.minimum(1.0, clip * (1 - 1e-9) / np.maximum(np.sqrt(squares), 1e-300))


@njit(cache=True, fastmath={"reassoc"})
def _add_outer_squares(inputs, errors, whole, squares):  # type: ignore[no-untyped-def]
    """Whole inputs, and the squared norm of each outer product. What is no number counts as zero, here and below.

    Rows are gone through without asking what is no number, as compilers like it, and once more where something is.
    """
    for i in range(len(squares)):
        own, odd = 0.0, 0.0
        for j in range(inputs.shape[1]):
            value = np.rint(np.float64(inputs[i, j]) * INPUT_UNIT)
            whole[i, j] = min(max(value, -LARGEST_INPUT), LARGEST_INPUT)
            odd += value - value  # 0 of a number
        for j in range(inputs.shape[1]):
            own += whole[i, j] * whole[i, j]
        if odd != 0.0:
            own = 0.0
            for j in range(inputs.shape[1]):
                if np.isfinite(inputs[i, j]):
                    own += whole[i, j] * whole[i, j]
                else:
                    whole[i, j] = 0.0
        squares[i] += own / INPUT_UNIT**2 * _square(errors, i)


@njit(cache=True, fastmath={"reassoc"})
def _add_row_squares(errors, squares):  # type: ignore[no-untyped-def]
    """Rows that come twice add up before they are squared; the triangle inequality bounds them."""
    if errors.shape[1] == 1:
        for i in range(len(squares)):
            squares[i] += _square(errors[i], 0)
        return
    for i in range(len(squares)):
        norms = 0.0
        for k in range(errors.shape[1]):
            norms += np.sqrt(_square(errors[i], k))
        squares[i] += norms * norms


@njit(cache=True, fastmath={"reassoc"})
def _square(values, i):  # type: ignore[no-untyped-def]
    """The squared norm of a row."""
    total = 0.0
    for j in range(values.shape[1]):
        total += np.float64(values[i, j]) * np.float64(values[i, j])
    if not np.isfinite(total):
        total = 0.0
        for j in range(values.shape[1]):
            if np.isfinite(values[i, j]):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
    return total


@njit(cache=True)
def _cut_off(errors, factors, out):  # type: ignore[no-untyped-def]
    for i in range(errors.shape[0]):
        for j in range(errors.shape[1]):
            value = np.float64(errors[i, j])
            out[i, j] = np.trunc((value if abs(value) < np.inf else 0.0) * factors[i])


@njit(cache=True)
def _add_cut_rows(index, errors, factors, total):  # type: ignore[no-untyped-def]
    """Add errors[i, k], scaled and cut off, to row index[i, k] of a total."""
    for i in range(index.shape[0]):
        for k in range(index.shape[1]):
            row = index[i, k]
            for j in range(errors.shape[2]):
                value = np.float64(errors[i, k, j])
                total[row, j] += np.trunc((value if abs(value) < np.inf else 0.0) * factors[i])
