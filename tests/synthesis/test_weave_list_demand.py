"""Where people are, from several noisy views."""

import numpy as np

from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.moves import estimate_visits
from wayveil.mechanisms.weave.settings import Generation


def test_a_place_where_nobody_begins_or_ends_is_hardly_visited_whatever_noise_says_of_its_visits():
    rng = np.random.default_rng(2)
    true = np.concatenate([np.full(50, 1_000.0), np.zeros(20)])
    visits = CellEstimates(true + rng.laplace(0, 200, 70), 200 * 2**0.5)
    ends = [CellEstimates(true + rng.laplace(0, 20, 70), 20 * 2**0.5) for _ in range(2)]
    silent = [CellEstimates(np.full(70, 700.0), 1e9)] * 2
    clear, dim = (estimate_visits(visits, None, views, 70, Generation()) for views in (ends, silent))
    assert clear[50:].sum() < 0.01 < dim[50:].sum()
    np.testing.assert_allclose([clear.sum(), dim.sum()], 1.0)


def test_a_place_of_passage_is_seen_from_its_visits_not_from_its_ends():
    ends = [CellEstimates(np.array([500.0, 490.0, 10.0]), 5.0)] * 2
    share = estimate_visits(CellEstimates(np.array([300.0, 200.0, 500.0]), 5.0), None, ends, 3, Generation())
    np.testing.assert_allclose(share, [0.3, 0.2, 0.5], atol=0.02)


def test_moves_to_and_from_places_are_another_view_of_visits():
    flows = np.array([[0.0, 300.0], [300.0, 0.0]])
    move = CellEstimates(np.concatenate([flows.ravel(), [300.0, 100.0], [300.0, 100.0]]), 1.0)
    flat = [CellEstimates(np.array([500.0, 500.0]), 1e6)] * 2
    share = estimate_visits(CellEstimates(np.array([500.0, 500.0]), 1e4), move, flat, 2, Generation())
    np.testing.assert_allclose(share, [0.6, 0.4], atol=0.01)
