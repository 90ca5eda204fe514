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
    inputs = [_whole_inputs(part) for part in parts]
    factors = clip_factors(parts, inputs, clip)
    sums = []
    for part, whole in zip(parts, inputs, strict=True):
        if isinstance(part, Outer):
            sums.append(whole.T @ _whole_errors(part, factors, clip))
        else:
            errors = _whole_errors(part, factors, clip)
            total = np.zeros(part.shape)
            np.add.at(total, part.index, errors)
            sums.append(total)
    return sums


def clip_factors(
    parts: Sequence[Part], inputs: Sequence[NDArray[np.float64]], clip: float
) -> NDArray[np.float64]:
    """By how much the errors of each example are scaled so that its norm is at most the clip."""
    if not parts:
        return np.zeros(0)
    squares = np.zeros(len(parts[0].errors))
    for part, whole in zip(parts, inputs, strict=True):
        errors = np.nan_to_num(np.asarray(part.errors, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        if isinstance(part, Outer):
            squares += (
                np.einsum("ij,ij->i", whole, whole) / INPUT_UNIT**2 * np.einsum("ij,ij->i", errors, errors)
            )
        else:
            # Rows that come twice add up before they are squared; the triangle inequality bounds them.
            norms = np.sqrt(np.einsum("ikj,ikj->ik", errors, errors))
            squares += norms.sum(axis=1) ** 2
    # A hair below, so that rounding of these floating-point norms cannot lift one over the clip.
    return np.minimum(1.0, clip * (1 - 1e-9) / np.maximum(np.sqrt(squares), 1e-300))


def _whole_inputs(part: Part) -> NDArray[np.float64]:
    if isinstance(part, Rows):
        return np.zeros(0)
    inputs = np.nan_to_num(np.asarray(part.inputs, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(np.rint(inputs * INPUT_UNIT), -LARGEST_INPUT, LARGEST_INPUT)


def _whole_errors(part: Part, factors: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """Errors scaled and cut off towards zero, in the unit that makes products units of the grid."""
    unit = CLIP / clip / (INPUT_UNIT if isinstance(part, Outer) else 1)
    errors = np.nan_to_num(np.asarray(part.errors, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    shape = (-1,) + (1,) * (errors.ndim - 1)
    return np.trunc(errors * (factors * unit).reshape(shape))
