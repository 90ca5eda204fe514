from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privacy.reference_noise import ALPHA, fit, geometric_mass, goodness, laplace_mass
from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.noise import NoiseOverflowError, discrete_laplace
from wayveil.privacy.survivors import MAX_CELLS, survival_probability, survivors

F = Fraction


def cell_law(scale, threshold, values):
    """P(not kept), P(kept with value t), ..., P(kept with value >= t + values - 1) of one empty cell."""
    mass = laplace_mass(np.arange(threshold, threshold + 2000), scale)
    return np.array([1 - mass.sum(), *mass[: values - 1], mass[values - 1 :].sum()])


def outcomes(empty, scale, threshold, runs, seed, values=3):
    """How often each joint outcome of all cells came up: every cell is 0 (not kept), or 1.. for its value."""
    bits, code = SeededBits(seed), np.zeros(runs, np.int64)
    weight = (values + 1) ** np.arange(empty)
    for run in range(runs):
        position, value = survivors(empty, scale, threshold, bits)
        code[run] = (weight[position] * np.minimum(value - threshold + 1, values)).sum()
    return np.bincount(code, minlength=(values + 1) ** empty)


@pytest.mark.parametrize(("empty", "scale", "threshold"), [(2, F(2), 1), (3, F(3, 2), 2)])
def test_positions_and_values_of_few_cells_have_the_joint_law_of_noising_each(empty, scale, threshold):
    runs = 10_000
    counts = outcomes(empty, scale, threshold, runs, seed=1)

    def expected(threshold):
        one = cell_law(float(scale), threshold, 3)
        return np.array([np.prod([one[i] for i in cells[::-1]]) for cells in product(range(4), repeat=empty)])

    assert goodness(counts, expected(threshold) * runs) > ALPHA
    assert goodness(counts, expected(threshold + 1) * runs) < ALPHA


@pytest.mark.parametrize(
    ("empty", "scale", "threshold"),
    [
        (500_000, F(20), 1),
        (500_000, F(20), 60),
        (10**8, F(20), 200),
        (10**12, F(20), 350),
        (10**15, F(1, 2), 11),
    ],
)
def test_many_cells_survive_as_often_as_widely_and_as_high_as_they_should(empty, scale, threshold):
    position, value = survivors(empty, scale, threshold, SeededBits(2))
    p = survival_probability(scale, threshold)
    assert abs(len(position) - empty * p) < 5 * (empty * p * (1 - p)) ** 0.5
    assert len(position) > 1000
    assert position.min() >= 0
    assert position.max() < empty
    assert (np.diff(position) > 0).all()
    spread = np.bincount((position * 50.0 / empty).astype(int), minlength=50)
    assert goodness(spread, np.full(50, len(position) / 50)) > ALPHA
    gaps = np.diff(position) - 1
    width = max(1, int(0.05 / p))
    assert fit(gaps // width, geometric_mass, -1 / (width * np.log1p(-p))) > ALPHA
    assert value.min() >= threshold
    assert fit(value - threshold, geometric_mass, float(scale)) > ALPHA


@pytest.mark.parametrize("threshold", [1, 30, 150])
def test_skipping_and_noising_every_cell_cannot_be_told_apart(threshold):
    empty, runs = 400_000, 10
    bits = SeededBits(3)
    sparse = [survivors(empty, 20, threshold, bits) for _ in range(runs)]
    noise = [discrete_laplace(empty, 20, bits) for _ in range(runs)]
    dense = [(np.flatnonzero(x >= threshold), x[x >= threshold]) for x in noise]
    n_sparse, n_dense = (sum(len(position) for position, _ in answers) for answers in (sparse, dense))
    assert abs(n_sparse - n_dense) < 5 * (n_sparse + n_dense) ** 0.5
    for part in (0, 1):
        one, other = (np.concatenate([answer[part] for answer in answers]) for answers in (sparse, dense))
        bins = np.quantile(other, np.linspace(0, 1, 30)[1:-1])
        table = np.stack([np.bincount(np.searchsorted(bins, x), minlength=29) for x in (one, other)]).astype(
            float
        )
        table = table[:, table.sum(0) > 0]
        total = table.sum(0)
        assert goodness(table[0], total * n_sparse / (n_sparse + n_dense)) > ALPHA


def test_a_threshold_out_of_reach_lets_nobody_through_at_once():
    for threshold in (3000, 10**6, 10**15):
        position, value = survivors(10**12, 1, threshold)
        assert len(position) == len(value) == 0


def test_every_run_ends_with_the_last_cell_even_when_almost_all_survive():
    # Half of the cells survive, over many blocks.
    position, _ = survivors(3_000_000, 10**6, 1, SeededBits(4))
    assert abs(len(position) - 1_500_000) < 6 * 870
    assert position[-1] > 3_000_000 - 60


def test_no_cells_have_no_survivors():
    position, value = survivors(0, 20, 1)
    assert position.dtype == value.dtype == np.int64
    assert len(position) == len(value) == 0


def test_secure_bits_are_used_unless_others_are_given():
    first, second = (survivors(10**6, 20, 40)[0] for _ in range(2))
    assert len(first) != len(second) or (first != second).any()
    one, same = (survivors(10**6, 20, 40, SeededBits(5))[0] for _ in range(2))
    assert (one == same).all()


def test_the_predicted_share_is_the_tail_of_the_law():
    for scale, threshold in ((0.5, 1), (20, 1), (20, 77), (1000, 3000)):
        tail = laplace_mass(np.arange(threshold, threshold + 100_000), scale).sum()
        assert survival_probability(scale, threshold) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize(
    ("empty", "threshold", "word"), [(10, 0, "threshold"), (10, -3, "threshold"), (-1, 2, "empty")]
)
def test_questions_without_meaning_are_refused(empty, threshold, word):
    with pytest.raises(ParameterError, match=word):
        survivors(empty, 20, threshold)


def test_cells_or_thresholds_beyond_64_bits_are_refused():
    with pytest.raises(NoiseOverflowError, match="64-bit"):
        survivors(MAX_CELLS + 1, 20, 5)
    with pytest.raises(NoiseOverflowError, match="64-bit"):
        survivors(10, 20, 1 << 62)
