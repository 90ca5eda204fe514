from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_ngrams import may_follow, small_list, small_network

from ring_networks import straight_rides, two_way_line
from some_worlds import some_world
from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Frontier
from wayveil.errors import ParameterError
from wayveil.lab.audits.grey_box import grey_box
from wayveil.lab.audits.tiny_worlds import some_neighbour, some_trips
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.synthesis.ngram_model import NOT_ASKED
from wayveil.trips.trips import Trips
from wayveil.trips.windows import window_starts
from wayveil.world.successors import MarkedSuccessors

WORLDS = {"list": small_list(), "network": small_network()}
trip_lists = st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=10)


def measured(mechanism, trips, epsilon, seed=0):
    gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
    return mechanism.measure(LocalCounter(trips), gate), gate


def slow_runs(world, lists, n, moves):
    """Occurrences of legal runs of n symbols in trips that are cut after so many moves."""
    counts = Counter()
    for trip in lists:
        if not trip:
            continue
        symbols = [world.size, *trip, world.size + 1][: moves + 1]
        for i in range(len(symbols) - n + 1):
            run = tuple(symbols[i : i + n])
            if all(may_follow(world, 1, x, y) for x, y in pairwise(run)):
                counts[run] += 1
    return counts


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize(
    "mechanism", [VariableNgrams(), VariableNgrams(n_max=2), VariableNgrams(private_moves=True)]
)
def test_the_spends_add_up_to_epsilon_exactly(mechanism, world):
    _, gate = measured(mechanism, Trips.of_lists([[0, 1, 0], [3], [1, 3, 4 % world.size]] * 50, world), "1/3")
    assert gate.budget.spent == Fraction(1, 3)


@settings(max_examples=50)
@given(trip_lists, st.sampled_from(list(WORLDS.values())), st.integers(1, 7))
def test_runs_are_those_of_the_slow_reference(lists, world, moves):
    successors = MarkedSuccessors(world.successors)
    runs = LocalCounter(Trips.of_lists(lists, world)).runs(moves)
    contexts = [(state,) for state in range(successors.end)]
    for n in (2, 3, 4):
        frontier = Frontier(np.array([context[-1] for context in contexts]), successors)
        counted = runs.count(frontier)
        parent, symbol, _ = frontier.children(counted.keys)
        grams = ((*contexts[p], int(s)) for p, s in zip(parent, symbol, strict=True))
        found = Counter(dict(zip(grams, counted.counts.tolist(), strict=True)))
        assert found == slow_runs(world, lists, n, moves)
        everything = np.arange(frontier.universe)
        parent, symbol, _ = frontier.children(everything)
        goes_on = symbol != successors.end
        contexts = [(*contexts[p], int(s)) for p, s in zip(parent[goes_on], symbol[goes_on], strict=True)]
        runs.descend(everything[goes_on])


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_marked_moves_have_ranks_that_lead_back(world):
    marked = MarkedSuccessors(world.successors)
    states = np.arange(marked.size)
    degree = marked.degree(states)
    for state in states:
        targets = marked.nth(np.full(degree[state], state), np.arange(degree[state]))
        assert targets.tolist() == [y for y in states if may_follow(world, 1, state, y)]
        np.testing.assert_array_equal(
            marked.rank(np.full(len(targets), state), targets), np.arange(len(targets))
        )
    everything = np.array([(x, y) for x in states for y in states])
    legal = marked.rank(everything[:, 0], everything[:, 1]) >= 0
    assert legal.tolist() == [may_follow(world, 1, x, y) for x, y in everything]
    assert marked.mean_degree == pytest.approx(degree.mean())


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_with_hardly_any_noise_asked_counts_are_exact(world):
    lists = [[0, 1, 0, 1, 3], [3, 1, 0], [1], [0, 1, 3, 3]] * 30
    model, _ = measured(VariableNgrams(n_max=4, moves=4), Trips.of_lists(lists, world), 10**6)
    for table in model.tables[1:]:
        truth = slow_runs(world, lists, table.n, 4)
        for gram, noisy in zip(table.symbols.tolist(), table.noisy.tolist(), strict=True):
            assert noisy == NOT_ASKED or noisy == truth[tuple(gram)]
    assert {table.n for table in model.tables} == {1, 2, 3, 4}


def test_long_contexts_are_learnt_where_trips_are_many():
    world = small_list()
    trips = Trips.of_lists(
        [[0, 1, 1, 2], [3, 1, 1, 0]] * 2000, world
    )  # what follows b b depends on what was before
    model, _ = measured(VariableNgrams(n_max=4, moves=6), trips, 20)
    private = Counter(map(tuple, model.generate(seed=0).to_lists()))
    right = private[0, 1, 1, 2] + private[3, 1, 1, 0]
    assert right > 0.8 * len(trips)
    assert sum(private.values()) == pytest.approx(4000, abs=20)


def share_of_returns(trips):
    """The share of moves that go straight back to the stop before."""
    at = window_starts(trips, 3)
    return float(np.mean(trips.location[at] == trips.location[at + 2]))


@pytest.mark.parametrize("seed", range(3))
def test_nobody_turns_back_who_did_not_though_single_counts_are_noise(seed):
    """Pairs of stops say that half of all trips turn at every stop, and walks did so: in half of all moves."""
    raw = straight_rides(two_way_line(40), 10_000, 12, seed=1)
    assert share_of_returns(raw) == 0
    model, _ = measured(VariableNgrams(), raw, 1, seed)
    trips = model.generate(seed)
    assert share_of_returns(trips) < 0.12
    assert trips.lengths.mean() == pytest.approx(raw.lengths.mean(), rel=0.1)


def test_walks_of_noise_do_not_run_to_and_fro_where_contexts_are_too_rare_to_ask():
    """On a long line most pairs of stops are too rare to ask what follows: half of all moves went straight back."""
    raw = straight_rides(two_way_line(240), 10_000, 12, seed=1)
    found = [measured(VariableNgrams(), raw, 1, seed)[0].generate(seed) for seed in range(3)]
    assert np.mean([share_of_returns(trips) for trips in found]) < 0.2
    assert np.mean([trips.lengths.mean() for trips in found]) == pytest.approx(raw.lengths.mean(), rel=0.3)


def test_who_turns_back_is_seen_turning():
    line, rng = two_way_line(12), np.random.default_rng(2)
    there = straight_rides(line, 4_000, 5, seed=3).to_lists()
    back = [[*trip, trip[-2]] if len(trip) > 1 and rng.random() < 0.5 else trip for trip in there]
    raw = Trips.of_lists(back, line)
    assert share_of_returns(raw) > 0.15
    model, _ = measured(VariableNgrams(), raw, 4)
    assert share_of_returns(model.generate(1)) == pytest.approx(share_of_returns(raw), abs=0.15)


def test_trips_that_were_cut_do_not_end_at_the_cut():
    world = small_list()
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 4, 1 + rng.geometric(0.1)).tolist() for _ in range(3000)]
    model, _ = measured(VariableNgrams(n_max=3, moves=8), Trips.of_lists(lists, world), 20)
    raw = np.mean([len(trip) for trip in lists])
    assert model.generate(seed=0).lengths.mean() == pytest.approx(raw, rel=0.15)


def test_single_symbols_come_as_often_as_was_measured():
    world = small_network()
    lists = [[0, 1, 3, 4], [3, 1, 0], [2], [4, 0, 1]] * 1000
    model, _ = measured(VariableNgrams(), Trips.of_lists(lists, world), 10)
    raw = np.bincount(np.concatenate([np.array(trip) for trip in lists]), minlength=5)
    private = np.bincount(model.generate(seed=0).location, minlength=5)
    np.testing.assert_allclose(private, raw, rtol=0.05)
    assert model.table().filter(length=1)["ngram"].to_list()[-1] == ["$"]


def test_trips_are_as_long_as_was_measured_beyond_the_moves_that_count_too():
    world = small_list()
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random(6000) < 0.3, 3, rng.integers(12, 16, 6000))
    lists = [rng.integers(0, 4, length).tolist() for length in lengths]
    model, _ = measured(VariableNgrams(n_max=3, moves=6), Trips.of_lists(lists, world), 20)
    private = np.bincount(model.generate(seed=0).lengths, minlength=17)
    raw = np.bincount(lengths, minlength=17)
    assert private[3] == pytest.approx(raw[3], rel=0.05)
    assert private[12:16].sum() == pytest.approx(raw[12:16].sum(), rel=0.05)
    assert private[[1, 2, 4, 5, 6, 7, 8, 9, 10]].sum() < 60


def test_an_option_that_plays_no_part_is_refused_before_anything_is_spent():
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    with pytest.raises(ParameterError, match="spread plays no part"):
        VariableNgrams(spread=1, dense_cells=10).measure(
            LocalCounter(Trips.of_lists([[0]], small_list())), gate
        )
    assert gate.budget.spent == 0


def test_shares_that_leave_nothing_are_refused():
    with pytest.raises(ParameterError, match="leave nothing"):
        VariableNgrams(single_share=Fraction(1, 2), double_share=Fraction(1, 2))


def test_the_parts_of_the_tree_together_cost_what_one_of_them_would():
    trips = Trips.of_lists([[0, 1, 2, 3, 0, 1]] * 400, small_list())
    _, gate = measured(VariableNgrams(), trips, 1)
    parts = [spend for spend in gate.budget.spends if spend.group == "n-grams"]
    assert len(parts) > 3
    assert len({spend.label for spend in parts}) == len(parts)
    assert {spend.price for spend in parts} == {Fraction(9, 10)}


@settings(max_examples=60)
@given(
    st.data(),
    st.sampled_from(
        [
            VariableNgrams(n_max=4, moves=3, expected_scales=0.01),
            VariableNgrams(n_max=5, moves=5, expected_scales=0.1, private_moves=True),
            VariableNgrams(n_max=2, moves=2),
        ]
    ),
    st.sampled_from([Trip(), Rider(max_trips=2, without_id="own")]),
)
def test_no_pair_of_neighbours_is_told_apart_for_less_than_was_paid(data, mechanism, unit):
    def choose(low, high):
        return data.draw(st.integers(low, high))

    trips = some_trips(choose, some_world(choose))
    findings = grey_box(mechanism, trips, some_neighbour(choose, trips, unit), unit, 4)
    assert findings.ok, str(findings)
