"""The paid choice among mechanisms: sound under the grey-box audit, useful, and caught when it cheats."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.comparison import private_search
from wayveil.comparison.private_search import PARTS, NothingFoundError, PrivateChoice, move_distance
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.releases.release import release
from wayveil.risk.grey_box import grey_box
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.world import World

WORLD = World.of_symbols(list("abcd"))
CHOICE = PrivateChoice(candidates=(NoisyPrefixTree(height=2), Markov()), tolerance=300)


def random_trips(count: int, seed: int) -> Trips:
    rng = np.random.default_rng(seed)
    return Trips.of_lists([rng.integers(0, 4, rng.integers(1, 5)).tolist() for _ in range(count)], WORLD)


def test_distances_move_by_at_most_one_trip():
    universe = MarkedNgrams(WORLD.successors, 2)
    released = random_trips(20, 0)
    for seed in range(50):
        trips = random_trips(15, seed)
        distances = [
            move_distance(LocalCounter(side).normalised_ngrams(universe, PARTS), released, universe)
            for side in (trips, trips.take(np.arange(14)))
        ]
        assert abs(distances[0] - distances[1]) <= PARTS
    own = LocalCounter(released).normalised_ngrams(universe, PARTS)
    assert move_distance(own, released, universe) == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_audit_finds_nothing_on_neighbours(seed):
    trips = random_trips(15, seed)
    neighbour = trips.take(np.arange(14))
    found = grey_box(CHOICE, trips, neighbour, Trip(), 2, seed=seed)
    assert found.ok, str(found)
    assert found.loss <= 2


def test_the_audit_catches_a_score_that_is_not_bounded(monkeypatch):
    honest = private_search.move_distance
    monkeypatch.setattr(private_search, "move_distance", lambda *sides: 3 * honest(*sides))
    caught = [
        not grey_box(
            CHOICE, random_trips(15, s), random_trips(15, s).take(np.arange(14)), Trip(), 2, seed=s
        ).ok
        for s in range(6)
    ]
    assert any(caught)


def test_a_tolerant_search_finds_a_release_and_books_exactly_its_epsilon():
    made = release(
        random_trips(400, 1), CHOICE.model_copy(update={"tolerance": 800}), epsilon=4, bits=SeededBits(3)
    )
    assert len(made.trips) > 100
    assert sum(Fraction(spend["price"]) for spend in made.datasheet["spends"]) == 4


def test_an_impossible_tolerance_ends_with_nothing_and_says_that_the_budget_is_spent():
    strict = PrivateChoice(candidates=(Markov(),), tolerance=0, gamma=Fraction(9, 10))
    with pytest.raises(NothingFoundError, match="spent"):
        release(random_trips(400, 1), strict, epsilon=Fraction(1, 10), bits=SeededBits(1))


def test_a_choice_among_nothing_is_refused():
    with pytest.raises(ParameterError, match="candidates"):
        PrivateChoice(candidates=(), tolerance=1)
