import numpy as np

from wayveil.mechanisms.weave.estimates import group_alike, judge_counts, keep_likely_counts
from wayveil.mechanisms.weave.settings import Generation
from wayveil.synthesis.projection import onto_total

ALIKE, DOUBTFUL = Generation().alike, Generation().doubtful


def shrink_counts(*given):
    return judge_counts(*given)[0]


def noisy_counts(true, scale, seed=1):
    return true + np.random.default_rng(seed).laplace(0, scale, len(true))


def test_a_count_far_above_the_noise_is_believed_nearly_as_it_is():
    true = np.concatenate([np.zeros(500), np.linspace(1_000, 50_000, 20)])
    found = shrink_counts(noisy_counts(true, 3.0), 3.0)
    assert np.abs(found[500:] - true[500:]).max() < 40


def test_in_a_table_of_nothing_the_largest_noise_is_not_believed():
    found = shrink_counts(noisy_counts(np.zeros(20_000), 5.0), 5.0)
    assert found.sum() < 2_000
    assert found.min() >= 0


def test_beliefs_are_nearer_to_the_truth_than_an_even_cut():
    true = np.random.default_rng(2).pareto(1.0, 3_000) * (np.arange(3_000) < 600)
    noisy = noisy_counts(true, 4.0)
    even = onto_total(noisy, true.sum())
    assert np.abs(shrink_counts(noisy, 4.0) - true).sum() < 0.95 * np.abs(even - true).sum()


def test_a_count_is_judged_among_its_likes():
    true = np.concatenate([np.full(400, 50.0), np.zeros(4_000)])
    noisy = noisy_counts(true, 10.0)
    apart = shrink_counts(noisy, 10.0, group_alike(true, ALIKE))
    assert np.abs(apart - true).sum() < 0.5 * np.abs(shrink_counts(noisy, 10.0) - true).sum()


def test_cells_of_which_nothing_is_expected_are_in_one_group():
    groups = group_alike(np.concatenate([np.zeros(3_000), np.arange(1, 601)]), ALIKE)
    assert len(np.unique(groups[:3_000])) == 1
    assert len(np.unique(groups)) > 2


def test_sure_counts_add_up_and_leave_out_what_noise_suggests():
    true = np.concatenate([np.full(40, 400.0), np.zeros(400)])
    found = keep_likely_counts(noisy_counts(true, 20.0), 20.0, true.sum(), DOUBTFUL)
    assert abs(found.sum() - true.sum()) < 1e-6
    assert found[40:].sum() < 0.02 * true.sum()


def test_where_hardly_anything_is_sure_the_largest_share_what_is_missing():
    noisy = np.array([1.0, -2.0, 3.0, 0.5])
    found = keep_likely_counts(noisy, 100.0, 50.0, DOUBTFUL)
    assert abs(found.sum() - 50) < 1e-9
    assert found.min() >= 0


def test_without_noise_counts_are_what_they_are():
    assert shrink_counts(np.array([3.0, -1.0]), 0.0).tolist() == [3.0, 0.0]
