from itertools import pairwise

import numpy as np
import pytest

from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.weave.demand import Noisy
from wayveil.synthesis.weave.moves import Moves, cleaned
from wayveil.world.world import World

A, B, C, D = range(4)


def table(size: int, moves: dict[tuple[int, int], float], begin: list[float], end: list[float]) -> np.ndarray:
    inner = np.zeros((size, size))
    for (source, target), weight in moves.items():
        inner[source, target] = weight
    return np.concatenate([inner.ravel(), begin, end])


@pytest.fixture
def ring() -> Moves:
    """a -> b -> c -> a, and from b back to a; walks begin at a and end at c or a. Nobody goes to d."""
    world = World.of_symbols(["a", "b", "c", "d"])
    cells = table(
        4, {(A, B): 30.0, (B, C): 20.0, (B, A): 10.0, (C, A): 10.0}, [30.0, 0, 0, 0], [10.0, 0, 10.0, 0]
    )
    return Moves.of_table(world, Noisy(cells, 0.0))


def walks(location, offsets):
    return [location[a:b].tolist() for a, b in pairwise(offsets)]


def test_a_bridge_has_the_ends_and_the_length_that_were_asked_for(ring):
    origin, destination = np.array([A, A, B, A] * 50), np.array([C, A, A, -1] * 50)
    lengths = np.array([3, 4, 2, 6] * 50)
    found = walks(*ring.bridges(origin, destination, lengths, np.random.default_rng(1)))
    assert len(found) == 200
    wanted = sorted(zip(lengths, origin, destination, strict=True))
    assert sorted((len(w), w[0]) for w in found) == [(length, start) for length, start, _ in wanted]
    assert all(w in ([A, B, C], [A, B, C, A], [B, A]) for w in found if len(w) < 6)
    legal = {(A, B), (B, C), (B, A), (C, A)}
    assert all(move in legal for w in found for move in pairwise(w))
    assert {w[-1] for w in found if len(w) == 6} <= {A, C}


def test_where_no_walk_fits_there_is_none(ring):
    location, offsets = ring.bridges(
        np.array([D, A]), np.array([A, D]), np.array([3, 3]), np.random.default_rng(1)
    )
    assert len(location) == 0
    assert offsets.tolist() == [0]


def test_bridges_are_as_likely_as_the_free_walks_that_they_are_among(ring):
    rng = np.random.default_rng(2)
    size = 40_000
    free = [w for w in walks(*ring.free(size, rng)) if len(w) == 6 and w[-1] == C]
    drawn = walks(*ring.bridges(np.full(size, A), np.full(size, C), np.full(size, 6), rng))
    shares = [np.mean([w[2] == A for w in part]) for part in (free, drawn)]
    assert len(free) > 500
    assert abs(shares[0] - shares[1]) < 0.1


def test_a_place_that_is_hardly_known_does_not_hold_walks():
    world = World.of_symbols(["a", "b"])
    cells = table(2, {(A, B): 50.0, (B, B): 5.0}, [100.0, 0.0], [50.0, 0.0])
    sure, unsure = (Moves.of_table(world, Noisy(cells, deviation)) for deviation in (0.0, 5.0))
    assert sure.end[B] == 0.0
    assert unsure.end[B] > 0.4
    assert abs(unsure.end[A] - sure.end[A]) < 0.1


def test_a_cleaned_table_keeps_the_total_and_less_noise_than_an_even_cut_leaves():
    rng = np.random.default_rng(3)
    size, total = 60, 20_000.0
    busy = 1 / np.arange(1.0, size + 1) ** 1.5
    true = np.concatenate([np.outer(busy, busy).ravel(), busy, busy])
    true *= total / true.sum()
    noisy = Noisy(true + rng.laplace(0, 20, len(true)), 20 * 2**0.5)
    found, even = cleaned(noisy, size, total).value, onto_total(noisy.value, total)
    assert found.min() >= 0
    assert abs(found.sum() - total) < 1e-6 * total
    assert np.abs(found - true).sum() < 0.95 * np.abs(even - true).sum()


def test_a_table_of_nothing_but_noise_below_zero_stays_a_table():
    found = cleaned(Noisy(np.full(8, -3.0), 1.0), 2, 10.0).value
    assert abs(found.sum() - 10.0) < 1e-9
    assert found.min() >= 0
