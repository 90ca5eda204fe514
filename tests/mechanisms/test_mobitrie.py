from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_ngrams import distinct_counts, small_list, small_network

from some_worlds import some_world
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.grey_box import grey_box
from wayveil.lab.audits.tiny_worlds import some_neighbour, some_trips
from wayveil.mechanisms import mobitrie
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch, _above, _estimated_trips, _uniform
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Rider, Trip
from wayveil.synthesis.trie_model import NothingAcceptedError
from wayveil.trips.trips import Trips

WORLDS = {"list": small_list(), "network": small_network()}


def measured(mechanism, trips, epsilon, seed=0):
    gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
    return mechanism.measure(LocalCounter(trips), gate), gate


@pytest.mark.parametrize(
    "mechanism", [MobiTrie(), MobiTrie(trips_share=0, n=4), MobiTrieSearch(), MobiTrieSearch(slack=0)]
)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_spends_add_up_to_epsilon_exactly(mechanism, world):
    _, gate = measured(mechanism, Trips.of_lists([[0, 1], [0], [1, 0, 1]], world), "1/7")
    assert gate.budget.spent == Fraction(1, 7)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_with_hardly_any_noise_the_trie_is_that_of_the_slow_reference(world, n):
    lists = [[0, 1, 0, 1], [0], [3, 3, 3, 1], [1, 3], [2]] * 4
    model, _ = measured(MobiTrie(n=n, trips_share=0), Trips.of_lists(lists, world), 10**5)
    released = {
        tuple(g): int(c) for g, c in zip(model.grams.symbols.tolist(), model.grams.noisy, strict=True)
    }
    assert released == distinct_counts(world, n, lists)
    assert model.trips == len(lists)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_trips_walk_from_private_starts_to_private_ends(n):
    world = small_network()
    lists = [[0, 1, 3, 4], [3, 1, 0, 2], [2], [4, 0]] * 500
    model, _ = measured(MobiTrie(n=n), Trips.of_lists(lists, world), 50)
    private = model.generate(seed=3)
    assert len(private) == pytest.approx(2000, abs=10)
    inside = np.setdiff1d(np.arange(private.visits), private.offsets[1:] - 1)
    assert world.successors.contains(private.location[inside], private.location[inside + 1]).all()
    assert np.bincount(private.origins(), minlength=5) == pytest.approx([500, 0, 500, 500, 500], abs=5)
    # With bigrams alone, a few walks find their steps used up by others and end at another of these places.
    assert np.bincount(private.destinations(), minlength=5)[[0, 2, 4]] == pytest.approx(
        [500, 1000, 500], abs=150
    )


def test_more_symbols_remember_more():
    world = small_list()
    trips = Trips.of_lists([[0, 1, 2], [3, 1, 0]] * 500, world)
    model, _ = measured(MobiTrie(n=3), trips, 50)
    generated = [tuple(trip) for trip in model.generate(seed=0).to_lists()]
    assert np.mean([trip in {(0, 1, 2), (3, 1, 0)} for trip in generated]) > 0.99


def test_the_threshold_lets_in_the_wanted_share_of_noise():
    world = small_list()
    empty = Trips.of_lists([[]], world)
    kept = [len(measured(MobiTrie(n=4, false_share=0.1), empty, 1, seed)[0].grams) for seed in range(40)]
    assert np.mean(kept) / 400 == pytest.approx(0.1, abs=0.02)
    few = [len(measured(MobiTrie(n=4, false_most=4), empty, 1, seed)[0].grams) for seed in range(40)]
    assert np.mean(few) == pytest.approx(4, abs=1.5)


def test_a_search_in_a_large_universe_does_not_drown_in_noise(monkeypatch):
    monkeypatch.setattr(mobitrie, "MOST_NOISE", 5)
    search = MobiTrieSearch(n=4, quality=Fraction(1, 100), count_share=Fraction(1, 2))
    models = [measured(search, Trips.of_lists([[]], small_list()), 4, seed)[0] for seed in range(20)]
    assert np.mean([len(model.grams) for model in models if model.accepted]) < 6


def test_a_search_returns_a_trie_of_the_wanted_quality_or_says_that_there_is_none():
    trips = Trips.of_lists([[0, 1, 2, 3]] * 3000, small_list())
    good, gate = measured(MobiTrieSearch(quality=Fraction(1, 2), count_share=Fraction(1, 2)), trips, 40)
    assert good.accepted
    assert [spend.kind for spend in gate.budget.spends] == ["counts", "search"]
    # The price of a search does not tell how noisy its counts are; the label does.
    assert gate.budget.spends[-1].label.endswith(f"noise of scale {float(good.grams.scale):.4g}")
    assert len(good.generate(seed=0)) == pytest.approx(3000, abs=10)

    nothing = Trips.of_lists([[]], small_list())
    search = MobiTrieSearch(quality=1, gamma=Fraction(99, 100), count_share=Fraction(1, 2))
    none = [model for seed in range(9) if not (model := measured(search, nothing, 1, seed)[0]).accepted]
    assert none
    with pytest.raises(NothingAcceptedError, match="epsilon is spent"):
        none[0].generate()


def test_a_base_count_stands_under_n_grams_that_nobody_has():
    lists = [[0, 1, 0, 1], [0], [3, 3, 3, 1], [1, 3], [2]] * 4
    trips = Trips.of_lists(lists, small_list())
    plain, _ = measured(MobiTrieSearch(quality="1/100"), trips, 10**5)
    based, gate = measured(MobiTrieSearch.published(quality="1/100"), trips, 10**5)
    seen = {tuple(g): int(c) for g, c in zip(plain.grams.symbols.tolist(), plain.grams.noisy, strict=True)}
    assert seen == distinct_counts(small_list(), 3, lists)
    whole = {tuple(g): int(c) for g, c in zip(based.grams.symbols.tolist(), based.grams.noisy, strict=True)}
    assert whole == seen
    assert (plain.grams.threshold, based.grams.threshold) == (1, 2)
    assert gate.budget.spent == 10**5
    exact = SparseCounts(9, np.array([2, 5]), np.array([1, 4]))
    above = _above(exact, 1)
    assert (above.keys.tolist(), above.counts.tolist()) == ([5], [3])
    assert _above(exact, 0).counts.tolist() == [1, 4]


def test_a_search_that_cannot_pay_for_its_cap_is_refused_before_anything_is_spent():
    gate = Gate(Trip(), Budget("1/200"), SeededBits(0))
    with pytest.raises(Exception, match="leaves nothing"):
        MobiTrieSearch().measure(LocalCounter(Trips.of_lists([[0]], small_list())), gate)
    assert gate.budget.spent == 0


def test_the_number_of_trips_follows_from_starts_and_total():
    starts = np.array([True, False])
    assert (
        _estimated_trips(starts, np.array([100.0, 400.0]), most=20) == 100
    )  # five n-grams each, all counted
    assert _estimated_trips(starts, np.array([50.0, 1950.0]), most=20) == 100  # forty each, twenty counted
    assert _estimated_trips(starts, np.array([0.0, 10.0]), most=20) == 0


def test_thresholds_are_uniform():
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    drawn = np.bincount([_uniform(5, gate) for _ in range(5000)])
    assert len(drawn) == 5
    assert drawn.min() > 850
    assert _uniform(1, gate) == 0


@settings(max_examples=40)
@given(
    st.data(),
    st.sampled_from(
        [
            MobiTrie(most=2, false_share=0.3),
            MobiTrie(n=2, most=1, trips_share=0),
            MobiTrieSearch(most=2, gamma=Fraction(1, 4), slack=0, quality=Fraction(1, 3)),
            MobiTrieSearch.published(most=2, gamma=Fraction(1, 4), slack=0, quality=Fraction(1, 3)),
        ]
    ),
    st.sampled_from([Trip(), Rider(max_trips=2, without_id="own")]),
)
def test_no_pair_of_neighbours_is_told_apart_for_less_than_was_paid(data, mechanism, unit):
    def choose(low, high):
        return data.draw(st.integers(low, high))

    trips = some_trips(choose, some_world(choose))
    findings = grey_box(mechanism, trips, some_neighbour(choose, trips, unit), unit, 1)
    assert findings.ok, str(findings)


@pytest.mark.parametrize("kind", [MobiTrie, MobiTrieSearch])
def test_n_grams_that_turn_back_at_once_can_be_left_out(kind):
    world = small_network()
    trips = Trips.of_lists([[0, 1, 0, 1], [0, 1, 3, 4], [3, 1, 0, 2]] * 400, world)
    kept = {}
    for returns in (True, False):
        model, gate = measured(
            kind(returns=returns, **({"quality": "1/5"} if kind is MobiTrieSearch else {})), trips, 20
        )
        symbols = model.grams.symbols
        kept[returns] = int((symbols[:, 2] == symbols[:, 0]).sum())
        assert gate.budget.spent == 20
    assert kept[True] > 0
    assert kept[False] == 0
