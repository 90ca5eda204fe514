"""n-grams over pairs of stop and time: exact counts, implicit universes, and walks that keep to the order of time."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_ngrams import small_list

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.synthesis.ngram_model import NOT_ASKED
from wayveil.trips.trips import Trips
from wayveil.world.successors import CompleteSuccessors, MarkedMoves
from wayveil.world.timebins import TimeBins
from wayveil.world.timed import Later, TimedAlphabet
from wayveil.world.world import World

WORLD, BINS, HALF = small_list(), 2, 12 * 3600
PAIRS = WORLD.size * BINS
BEGIN, END = PAIRS, PAIRS + 1
visits = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=6)


def timed(lists):
    time = np.array([b * HALF + 60 for trip in lists for _, b in trip], np.int64)
    return Trips.of_lists([[s for s, _ in trip] for trip in lists], WORLD, time=time)


def measured(mechanism, trips, epsilon, seed=0):
    gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
    return mechanism.measure(LocalCounter(trips), gate), gate


def runs(lists, n, moves):
    """Runs of n marked pairs in which time does not run backwards, counted with lists and dictionaries."""
    counts = Counter()
    for trip in lists:
        symbols = [BEGIN, *(s * BINS + b for s, b in trip), END][: moves + 1] if trip else []
        for i in range(len(symbols) - n + 1):
            run = tuple(symbols[i : i + n])
            if all(x >= BEGIN or y >= BEGIN or y % BINS >= x % BINS for x, y in pairwise(run)):
                counts[run] += 1
    return counts


@settings(max_examples=60)
@given(st.lists(visits, max_size=8))
def test_moves_between_pairs_are_weighted_as_by_hand_and_ranks_lead_back(lists):
    moves = MarkedMoves(Later(CompleteSuccessors(WORLD.size), BINS))
    every = np.arange(moves.size)
    assert moves.rank(*moves.unrank(every).T).tolist() == every.tolist()
    counted = LocalCounter(timed(lists)).normalised_moves(
        moves, 1000, TimedAlphabet(WORLD, TimeBins.every(HALF))
    )
    expected = Counter()
    for trip in lists:
        for run, times in runs([trip], 2, 1 << 20).items():
            expected[run] += times * (1000 // (len(trip) + 1))
    found = {
        tuple(gram): int(count)
        for gram, count in zip(moves.unrank(counted.keys), counted.counts, strict=True)
    }
    assert found == expected
    assert sum(expected.values()) <= 1000 * len(lists)


@pytest.mark.parametrize("dense_cells", [20_000_000, 1], ids=["cell by cell", "implicit"])
def test_with_hardly_any_noise_asked_counts_are_exact(dense_cells):
    lists = [[(0, 0), (1, 0), (2, 1)], [(3, 1), (3, 1)], [(1, 1), (0, 0)], [(0, 0), (1, 0)]] * 40
    mechanism = VariableNgrams(n_max=4, moves=3, time="720", dense_cells=dense_cells, false_moves=0.01)
    model, gate = measured(mechanism, timed(lists), 10**6)
    assert gate.budget.remaining == 0
    for table in model.tables[1:]:
        truth = runs(lists, table.n, 3)
        asked = {
            tuple(gram): noisy
            for gram, noisy in zip(table.symbols.tolist(), table.noisy.tolist(), strict=True)
            if noisy != NOT_ASKED and noisy != 0
        }
        assert all(truth[gram] == noisy for gram, noisy in asked.items())
        assert set(asked) == set(truth) or table.n == 4
    assert {table.n for table in model.tables} >= {1, 2, 3}


@pytest.mark.parametrize(
    "mechanism",
    [
        VariableNgrams(n_max=3, moves=5, time="720"),
        VariableNgrams(n_max=4, moves=5, time="720", dense_cells=1),
        Markov(time="720"),
        Markov(time="720", dense_cells=1),
    ],
    ids=["tree", "implicit tree", "chain", "implicit chain"],
)
def test_walks_keep_to_the_order_of_time_and_to_what_was_frequent(mechanism):
    trips = timed([[(0, 0), (1, 0), (2, 1)], [(3, 0), (1, 1)]] * 2000)
    private = measured(mechanism, trips, 40)[0].generate(seed=1)
    hour = TimeBins.every(HALF).bin_of(private.time)
    inside = np.ones(private.visits, bool)
    inside[private.offsets[:-1][private.lengths > 0]] = False
    assert (np.diff(hour, prepend=0)[inside] >= 0).all()
    common = Counter(map(tuple, private.to_lists()))
    assert common[0, 1, 2] + common[3, 1] > 0.75 * len(trips)
    assert len(private) == pytest.approx(len(trips), rel=0.05)


def test_an_alphabet_of_tens_of_thousands_needs_no_table_and_survives_on_disk(tmp_path):
    world = World.of_symbols([f"{i:04d}" for i in range(300)])
    rng = np.random.default_rng(1)
    start = rng.integers(0, 40, 3000) * 3600
    location = np.stack([rng.integers(0, 5, 3000), rng.integers(290, 300, 3000)], axis=1).ravel()
    trips = Trips(
        location.astype(np.int32),
        np.arange(0, 6001, 2),
        world,
        np.stack([start, start + 7200], axis=1).ravel(),
    )
    mechanism = VariableNgrams(time="hour-of-week", n_max=3, moves=3, longest=5)
    made = release(
        trips, mechanism, epsilon=20, unit=Trip(), seed=1
    )  # 50,400 pairs, 1.3 thousand million 2-grams
    made.save(tmp_path / "r")
    again = Release.load(tmp_path / "r", world)
    assert again.model.bins == TimeBins.hour_of_week()
    assert again.model.generate(seed=3).to_lists() == made.model.generate(seed=3).to_lists()
    assert again.model.table()["ngram"].explode().str.contains(":00").any()
    assert not made.accuracy.bands, "no interval was measured over pairs, so none is promised"
    assert made.trips.lengths.max() <= 5
    assert np.isin(made.trips.location, np.unique(location)).mean() > 0.5


def test_times_are_needed_and_two_stops_cannot_decide_over_pairs():
    with pytest.raises(ParameterError, match="these trips have none"):
        measured(Markov(time="720"), Trips.of_lists([[0]], WORLD), 1)
    with pytest.raises(ParameterError, match="use variable-ngrams"):
        Markov(time="720", order=2)
    with pytest.raises(ParameterError, match="must be hour-of-day"):
        VariableNgrams(time="7")


@pytest.mark.parametrize("dense_cells", [20_000_000, 1])
def test_the_spends_add_up_to_epsilon_exactly(dense_cells):
    mechanism = VariableNgrams(time="720", dense_cells=dense_cells, private_moves=True)
    _, gate = measured(mechanism, timed([[(0, 0), (1, 1)]] * 50), "1/3")
    assert gate.budget.spent == Fraction(1, 3)
