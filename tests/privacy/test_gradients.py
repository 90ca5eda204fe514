"""Clipped sums of gradients: exact, bounded, and the same in any order."""

from math import fsum, isfinite, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.privacy.gradients import CLIP, INPUT_UNIT, LARGEST_INPUT, EmbeddingRows, Outer, clipped_sum


def some_parts(seed, examples, scale):
    rng = np.random.default_rng(seed)
    return [
        Outer(
            np.maximum(rng.normal(0, 2, (examples, 7)), 0).astype(np.float32),
            (scale * rng.normal(0, 1, (examples, 5))).astype(np.float32),
        ),
        EmbeddingRows(
            11,
            rng.integers(0, 11, (examples, 2)),
            (scale * rng.normal(0, 1, (examples, 2, 3))).astype(np.float32),
        ),
        Outer(
            np.ones((examples, 1), np.float32), (scale * rng.normal(0, 1, (examples, 4))).astype(np.float32)
        ),
    ]


def take(parts, index):
    return [
        Outer(part.inputs[index], part.errors[index])
        if isinstance(part, Outer)
        else EmbeddingRows(part.size, part.index[index], part.errors[index])
        for part in parts
    ]


def number(value):
    """What is no number counts as zero."""
    return float(value) if isfinite(value) else 0.0


def whole_input(value):
    return min(max(round(number(value) * INPUT_UNIT), -LARGEST_INPUT), LARGEST_INPUT)


def one_by_one(parts, clip):
    """The reference: every example by itself, dense, in Python's whole numbers; shares no line with the fast one."""
    totals = [np.zeros(part.shape, object) for part in parts]
    for i in range(len(parts[0].errors)):
        squares = []
        for part in parts:
            rows = [[number(error) for error in row] for row in np.atleast_2d(part.errors[i])]
            if isinstance(part, Outer):
                inputs = fsum((whole_input(value) / INPUT_UNIT) ** 2 for value in part.inputs[i])
                squares.append(inputs * fsum(error**2 for error in rows[0]))
            else:
                squares.append(fsum(sqrt(fsum(error**2 for error in row)) for row in rows) ** 2)
        factor = min(1.0, clip * (1 - 1e-9) / max(sqrt(fsum(squares)), 1e-300))
        own = [np.zeros(part.shape, object) for part in parts]
        for part, gradient in zip(parts, own, strict=True):
            if isinstance(part, Outer):
                unit = factor * (CLIP / clip / INPUT_UNIT)
                errors = [int(number(error) * unit) for error in part.errors[i]]
                gradient += np.outer(
                    np.array([whole_input(value) for value in part.inputs[i]], object), errors
                )
            else:
                for row, errors in zip(part.index[i], part.errors[i], strict=True):
                    gradient[row] += np.array(
                        [int(number(e) * (factor * (CLIP / clip))) for e in errors], object
                    )
        assert sum(int((gradient * gradient).sum()) for gradient in own) <= CLIP**2
        totals = [total + gradient for total, gradient in zip(totals, own, strict=True)]
    return totals


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e4])
def test_sums_equal_the_sum_of_examples_to_the_last_integer(scale):
    parts = some_parts(1, 40, scale)
    for total, slow in zip(clipped_sum(parts, 1.5), one_by_one(parts, 1.5), strict=True):
        assert np.array_equal(total, slow.astype(np.float64))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([1e-3, 0.3, 50.0]))
def test_the_order_of_units_does_not_matter(seed, examples, scale):
    parts = some_parts(seed, examples, scale)
    order = np.random.default_rng(seed + 1).permutation(examples)
    for one, other in zip(clipped_sum(parts, 1.0), clipped_sum(take(parts, order), 1.0), strict=True):
        assert np.array_equal(one, other)


def test_small_gradients_pass_unclipped_up_to_the_grid():
    parts = some_parts(3, 1, 1e-3)
    dense = clipped_sum(parts, 1.0)[0] / CLIP
    wanted = parts[0].inputs[0][:, None] * parts[0].errors[0][None, :]
    assert np.abs(dense - wanted).max() < 2e-3


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e30])
def test_no_number_lifts_an_example_over_the_clip(wrong):
    parts = some_parts(4, 3, 1.0)
    parts[0].errors[1, 2] = wrong
    parts[0].inputs[0, 0] = wrong
    for total, slow in zip(clipped_sum(parts, 0.7), one_by_one(parts, 0.7), strict=True):
        assert np.array_equal(total, slow.astype(np.float64))


def test_a_row_that_comes_twice_is_clipped_as_the_sum_it_becomes():
    errors = np.full((1, 2, 3), 5.0, np.float32)
    (total,) = clipped_sum([EmbeddingRows(4, np.array([[2, 2]]), errors)], 1.0)
    assert np.sqrt((total**2).sum()) <= CLIP
    assert np.sqrt((total**2).sum()) > 0.999 * CLIP


def test_an_example_too_large_for_floating_point_counts_for_nothing():
    inputs, errors = np.array([[0.0], [1.0]]), np.array([[1e200], [0.5]])
    (alone,) = clipped_sum([Outer(inputs[1:], errors[1:])], 1.0)
    (both,) = clipped_sum([Outer(inputs, errors)], 1.0)
    assert both.tolist() == alone.tolist()


def test_a_batch_that_nobody_was_drawn_into_adds_nothing():
    """Poisson draws may find nobody; noise is added all the same."""
    parts = some_parts(3, 0, 1.0)
    assert [total.shape for total in clipped_sum(parts, 1.0)] == [part.shape for part in parts]
    assert not any(total.any() for total in clipped_sum(parts, 1.0))
