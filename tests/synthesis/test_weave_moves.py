from itertools import pairwise

import numpy as np
import pytest

from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.moves import MoveChain, MoveTable, clean_moves, guess_moves
from wayveil.mechanisms.weave.settings import Generation, ListSettings
from wayveil.synthesis.projection import onto_total
from wayveil.world.walk_blocks import Block
from wayveil.world.world import World

A, B, C, D = range(4)


def table(
    size: int, moves: dict[tuple[int, int], float], end: list[float], deviation=0.0, left=0.0
) -> MoveTable:
    known = np.zeros((size, size))
    for (source, target), weight in moves.items():
        known[source, target] = weight
    ends = np.array(end)
    return MoveTable(known, left, 1.0, ends, ends, np.full(size, 1 / size), deviation)


@pytest.fixture
def ring() -> MoveChain:
    """a -> b -> c -> a, and from b back to a; walks end at c or a. Nobody goes to d."""
    world = World.of_symbols(["a", "b", "c", "d"])
    moves = {(A, B): 30.0, (B, C): 20.0, (B, A): 10.0, (C, A): 10.0}
    return MoveChain.of_table(world, table(4, moves, [10.0, 0, 10.0, 0]), ListSettings())


def walks(location, offsets):
    return [location[a:b].tolist() for a, b in pairwise(offsets)]


def test_a_bridge_has_the_ends_and_the_length_that_were_asked_for(ring):
    origin, destination = np.array([A, A, B, A] * 50), np.array([C, A, A, -1] * 50)
    lengths = np.array([3, 4, 2, 6] * 50)
    found = walks(*ring.draw_bridges(origin, destination, lengths, np.random.default_rng(1)))
    assert len(found) == 200
    wanted = sorted(zip(lengths, origin, destination, strict=True))
    assert sorted((len(w), w[0]) for w in found) == [(length, start) for length, start, _ in wanted]
    assert all(w in ([A, B, C], [A, B, C, A], [B, A]) for w in found if len(w) < 6)
    legal = {(A, B), (B, C), (B, A), (C, A)}
    assert all(move in legal for w in found for move in pairwise(w))
    assert {w[-1] for w in found if len(w) == 6} <= {A, C}


def test_where_no_walk_fits_there_is_none(ring):
    location, offsets = ring.draw_bridges(
        np.array([D, A]), np.array([A, D]), np.array([3, 3]), np.random.default_rng(1)
    )
    assert len(location) == 0
    assert offsets.tolist() == [0]


def test_bridges_are_as_likely_as_the_chain_makes_them(ring):
    size = 40_000
    drawn = walks(
        *ring.draw_bridges(np.full(size, A), np.full(size, C), np.full(size, 5), np.random.default_rng(2))
    )
    assert {tuple(w) for w in drawn} == {(A, B, A, B, C)}
    drawn = walks(
        *ring.draw_bridges(np.full(size, A), np.full(size, -1), np.full(size, 4), np.random.default_rng(2))
    )
    assert {tuple(w) for w in drawn} == {(A, B, C, A)}


def test_a_bridge_goes_anywhere_with_the_mass_that_is_left_over():
    world = World.of_symbols(["a", "b", "c"])
    moves = MoveChain.of_table(world, table(3, {(A, B): 10.0}, [0.0, 5.0, 5.0], left=30.0), ListSettings())
    size = 30_000
    drawn = walks(
        *moves.draw_bridges(np.full(size, A), np.full(size, -1), np.full(size, 2), np.random.default_rng(1))
    )
    to_b, to_c = (np.mean([w[1] == place for w in drawn]) for place in (B, C))
    # From a: ten trips to b and ten anywhere, a third each; b and c end alike.
    assert abs(to_b / to_c - (10 + 10 / 3) / (10 / 3)) < 0.4
    assert len(drawn) == size


def test_a_place_that_is_hardly_known_does_not_hold_walks():
    world = World.of_symbols(["a", "b"])
    sure, unsure = (
        MoveChain.of_table(
            world, table(2, {(A, B): 50.0, (B, B): 5.0}, [50.0, 0.0], deviation), ListSettings()
        ).rows
        for deviation in (0.0, 5.0)
    )
    assert sure.end[B] == 0.0
    assert unsure.end[B] > 0.3
    assert abs(unsure.end[A] - sure.end[A]) < 0.1


def test_a_cleaned_table_keeps_the_total_and_less_noise_than_an_even_cut_leaves():
    rng = np.random.default_rng(3)
    size, total = 60, 20_000.0
    busy = 1 / np.arange(1.0, size + 1) ** 1.5
    busy /= busy.sum()
    inner = 0.5 * total * np.outer(busy, busy).ravel()
    true = np.concatenate([inner, 0.25 * total * busy, 0.25 * total * busy])
    noisy = CellEstimates(true + rng.laplace(0, 20, len(true)), 20 * 2**0.5)
    found = clean_moves(noisy, busy, total, 0.25 * total, Generation())
    every = np.concatenate(
        [(found.known + found.left * np.outer(busy, busy)).ravel(), found.begin, found.end]
    )
    assert every.min() >= 0
    assert abs(every.sum() - total) < 1e-6 * total
    assert np.abs(every - true).sum() < 0.7 * np.abs(onto_total(noisy.value, total) - true).sum()


def noisy_table(inner, ends, scale, seed=4):
    true = np.concatenate([inner.ravel(), ends, ends])
    return CellEstimates(true + np.random.default_rng(seed).laplace(0, scale, len(true)), scale * 2**0.5)


def test_what_is_left_goes_to_known_moves_where_people_make_few_of_the_possible_ones():
    size, busy = 60, np.full(60, 1 / 60)
    ring = np.zeros((size, size))
    ring[np.arange(size), (np.arange(size) + 1) % size] = 200.0
    anywhere = np.full((size, size), 12_000 / size**2)
    few, many = (
        clean_moves(noisy_table(inner, 6_000 * busy, 10.0), busy, 24_000.0, 6_000.0, Generation())
        for inner in (ring, anywhere)
    )
    assert few.left < 0.02 * 12_000
    assert few.known[ring > 0].sum() > 0.97 * 12_000
    assert few.filled < 0.1 < 0.6 < many.filled
    assert many.left > 0.3 * 12_000
    for found in (few, many):
        assert abs(found.known.sum() + found.left - 12_000) < 1e-6


def test_moves_that_were_not_asked_for_go_anywhere_by_how_busy_places_are():
    world = World.of_symbols(["a", "b"])
    share = np.array([0.9, 0.1])
    table = guess_moves(share, 100.0, 25.0, np.array([60.0, 40.0]), np.array([10.0, 90.0]))
    assert (table.known.sum(), table.left, table.end.tolist()) == (0.0, 50.0, [2.5, 22.5])
    moves = MoveChain.of_table(world, table, ListSettings()).rows
    assert len(moves.target) == 0
    assert moves.end[A] < moves.end[B]
    np.testing.assert_allclose(moves.loose + moves.end, 1.0)


def test_in_a_large_table_moves_that_are_not_known_are_one_cell_of_the_fit():
    small = table(2, {(A, B): 8.0}, [1.0, 3.0], left=2.0)
    block = Block("move", 8, lambda walks: np.arange(8), lambda walks: walks.lengths + 1)
    joined, wanted = small.join_unknown(block, 3)
    assert joined.cells == len(wanted.value) == 1 + 1 + 4
    assert joined.of(None).tolist() == [0, 1, 0, 0, 2, 3, 4, 5]
    assert wanted.value.tolist() == [2.0, 8.0, 1.0, 3.0, 1.0, 3.0]
