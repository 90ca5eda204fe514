import numpy as np

from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.moves import MoveTable, chain_moves, clean_moves, guess_moves
from wayveil.mechanisms.weave.settings import Generation
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


def test_walks_that_go_on_follow_known_moves_and_the_mass_that_is_left_over():
    """a -> b, and anywhere with what is left; nobody goes on from d."""
    world = World.of_symbols(["a", "b", "c", "d"])
    known = {(A, B): 10.0, (B, C): 20.0, (B, A): 10.0}
    rows = chain_moves(world, table(4, known, [0.0, 5.0, 5.0, 10.0], left=40.0), 3.0)
    assert rows.target.tolist() == [B, A, C]
    np.testing.assert_allclose(rows.chance, [0.5, 0.25, 0.5])
    np.testing.assert_allclose(rows.loose, [0.5, 0.25, 1.0, 1.0])
    np.testing.assert_allclose(rows.end, [0.0, 5 / 45, 5 / 15, 0.5])


def test_a_place_that_is_hardly_known_does_not_hold_walks():
    world = World.of_symbols(["a", "b"])
    sure, unsure = (
        chain_moves(world, table(2, {(A, B): 50.0, (B, B): 5.0}, [50.0, 0.0], deviation), 3.0)
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
    moves = chain_moves(world, table, 3.0)
    assert len(moves.target) == 0
    assert moves.end[A] < moves.end[B]
    np.testing.assert_allclose(moves.loose, 1.0)


def test_in_a_large_table_moves_that_are_not_known_are_one_cell_of_the_fit():
    small = table(2, {(A, B): 8.0}, [1.0, 3.0], left=2.0)
    block = Block("move", 8, lambda walks: np.arange(8), lambda walks: walks.lengths + 1)
    joined, wanted = small.join_unknown(block, 3)
    assert joined.cells == len(wanted.value) == 1 + 1 + 4
    assert joined.of(None).tolist() == [0, 1, 0, 0, 2, 3, 4, 5]
    assert wanted.value.tolist() == [2.0, 8.0, 1.0, 3.0, 1.0, 3.0]
