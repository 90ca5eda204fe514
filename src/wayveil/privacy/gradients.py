"""Clipped sums of gradients in whole numbers: the same to the last digit for any order of the units.

A network hands over, for every example, the factors of its gradient: `Outer` for a dense layer, whose gradient is the
outer product of inputs and errors, and `Rows` for an embedding, whose gradient is a few rows. Inputs are rounded to
multiples of 2^-8, then errors are scaled down until the norm of the example is at most the clip, and cut off to whole
numbers: products and sums of whole numbers are exact in double precision below 2^53. Cutting off only shrinks, so the
norm of every example stays at most the clip: a number of `CLIP` units, by construction and checked again.

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
class Rows:
    """An embedding of `size` rows: example i has errors[i, k] in row index[i, k]; a row may come twice."""

    size: int
    index: NDArray[np.int64]
    errors: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return self.size, self.errors.shape[2]


Part = Outer | Rows


def clipped_sum(parts: Sequence[Part], clip: float) -> list[NDArray[np.float64]]:
    """The sum of all clipped gradients, one array of whole numbers per part, in units of clip / CLIP."""
    if not parts:
        return []
    inputs = [_whole_inputs(part) for part in parts]
    errors = [_finite(part.errors) for part in parts]
    factors = clip_factors(inputs, errors, clip)
    sums = []
    for part, whole, wrong in zip(parts, inputs, errors, strict=True):
        # The unit that makes products with inputs units of the grid; cut off towards zero.
        unit = CLIP / clip / (INPUT_UNIT if whole is not None else 1)
        scaled = wrong * (factors * unit).reshape((-1,) + (1,) * (wrong.ndim - 1))
        np.trunc(scaled, out=scaled)
        if isinstance(part, Outer) and whole is not None:
            sums.append(whole.T @ scaled)
        elif isinstance(part, Rows):
            total = np.zeros(part.shape)
            add_rows(part.index, scaled, total)
            sums.append(total)
    return sums


def clip_factors(
    inputs: Sequence[NDArray[np.float64] | None], errors: Sequence[NDArray[np.float64]], clip: float
) -> NDArray[np.float64]:
    """By how much the errors of each example are scaled so that its norm is at most the clip."""
    squares = np.zeros(len(errors[0]))
    for whole, wrong in zip(inputs, errors, strict=True):
        if whole is not None:
            squares += (
                np.einsum("ij,ij->i", whole, whole) / INPUT_UNIT**2 * np.einsum("ij,ij->i", wrong, wrong)
            )
        else:
            # Rows that come twice add up before they are squared; the triangle inequality bounds them.
            squares += np.sqrt(np.einsum("ikj,ikj->ik", wrong, wrong)).sum(axis=1) ** 2
    # A hair below, so that rounding of these floating-point norms cannot lift one over the clip.
    return np.minimum(1.0, clip * (1 - 1e-9) / np.maximum(np.sqrt(squares), 1e-300))


def _finite(values: Floats) -> NDArray[np.float64]:
    """In double precision; what is no number is zero."""
    made = np.asarray(values, np.float64)
    if not np.isfinite(made.sum()):
        made = np.nan_to_num(made, nan=0.0, posinf=0.0, neginf=0.0)
    return made


def _whole_inputs(part: Part) -> NDArray[np.float64] | None:
    if isinstance(part, Rows):
        return None
    made = np.rint(_finite(part.inputs) * INPUT_UNIT)
    return np.clip(made, -LARGEST_INPUT, LARGEST_INPUT, out=made)


@njit(cache=True)
def add_rows(index, values, total):  # type: ignore[no-untyped-def]
    """Add values[i, k] to row index[i, k] of a total."""
    for i in range(index.shape[0]):
        for k in range(index.shape[1]):
            row = index[i, k]
            for j in range(values.shape[2]):
                total[row, j] += values[i, k, j]
