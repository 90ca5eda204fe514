from fractions import Fraction
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_noise import measured, path_noise, random_worlds
from slow_timed_trees import ends, everything, slow_grow, slow_settle

from ring_networks import ring_of_stops
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.world import World

BINS = 3  # of eight hours
AXIS = "480"
EIGHT_HOURS = 8 * 3600


def timed(lists, world):
    """Trips from lists of (stop, bin), the bins in any order: some run backwards."""
    time = np.array([b * EIGHT_HOURS for trip in lists for _, b in trip], np.int64)
    return Trips.of_lists([[s for s, _ in trip] for trip in lists], world, time=time)


def trips_of(stops):
    visit = st.tuples(st.integers(0, stops - 1), st.integers(0, BINS - 1))
    return st.lists(st.lists(visit, max_size=4), max_size=15)


@pytest.mark.reference
@random_worlds(500)
@given(trips_of(3), st.integers(1, 3), st.booleans(), st.integers(0, 10**6))
def test_the_tree_is_that_of_a_slow_object_tree_with_the_same_noise(lists, height, network, salt):
    world = ring_of_stops(3) if network else World(["a", "b", "c"])
    noise = path_noise(salt)
    tree, by_path, gate = measured(
        SeqPT(
            height=height,
            time=AXIS,
            successors="network" if network else "all",
            false_children=0.5,
            smoothing=False,
            consistency="weighted",
            size_share=0,
        ),
        timed(lists, world),
        2,
        noise,
        name=lambda depth, symbol: divmod(symbol, BINS),
    )

    def children_of(path):
        if not path:
            return [(s, b) for s in range(3) for b in range(BINS)]
        stop, now = path[-1]
        to = [(stop + 1) % 3] if network else range(3)
        return [(s, b) for s in to for b in range(now, BINS)]

    def threshold(depth, nodes, candidates):
        return max(1, ceil(height / 2 * log(max(candidates / max(nodes, 1), 1.0))))

    slow, _ = slow_grow([tuple(trip) for trip in lists], [children_of] * height, noise, threshold)
    assert by_path([level.count for level in tree.levels]) == everything(slow, lambda node: node.noisy)
    slow_settle(slow)
    assert by_path(tree.consistent()) == pytest.approx(everything(slow, lambda node: node.settled))
    assert by_path(tree.ending()) == pytest.approx(ends(slow))
    assert gate.budget.spent == 2


@settings(max_examples=40)
@given(st.integers(1, 20), st.fractions(Fraction(1, 50), 8))
def test_the_spends_add_up_to_epsilon_exactly(height, epsilon):
    world = World(["a", "b"])
    trips = Trips.of_lists([[0, 1]], world, time=np.array([0, 9]), rider=np.array([1]))
    gate = Gate(Rider(max_trips=3), Budget(epsilon), SeededBits(0))
    tree = SeqPT(height=height, size_share=Fraction(1, 10)).measure(LocalCounter(trips), gate)
    assert gate.budget.spent == epsilon
    assert {level.scale for level in tree.levels} == {3 * height / (epsilon * 9 / 10)}


def test_released_trips_run_forward_in_time_and_keep_the_big_flows():
    raw = simulate_week(ring_of_stops(5, seconds=60), 30_000, seed=2)
    gate = Gate(Trip(), Budget(4), SeededBits(1))
    private = SeqPT(height=3, time="hour-of-week").measure(LocalCounter(raw), gate).generate(seed=0)
    inner = np.setdiff1d(np.arange(private.visits), private.offsets[:-1])
    assert (private.time[inner] >= private.time[inner - 1]).all()
    share = np.bincount(private.origins(), minlength=5) / len(private)
    np.testing.assert_allclose(share, np.bincount(raw.origins(), minlength=5) / len(raw), atol=0.02)


def test_an_explosion_is_foreseen_and_refused_before_anything_is_paid():
    trips = Trips.of_lists([[0, 1]], World([f"{i:03}" for i in range(300)]), time=np.array([0, 9]))
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    with pytest.raises(ParameterError, match="noise alone would make at least"):
        SeqPT.published(height=6, when_explosive="allow").measure(LocalCounter(trips), gate)
    with pytest.raises(ParameterError, match="false children"):
        SeqPT.published(height=6, when_explosive="refuse").measure(LocalCounter(trips), gate)
    assert gate.budget.spent == 0
    assert SeqPT.published(height=6).measure(LocalCounter(trips), gate).nodes < 300, "raised"


def test_the_published_threshold_works_where_noise_cannot_explode():
    trips = Trips.of_lists([[0, 1]] * 50, World(["a", "b"]), time=np.tile([0, 9], 50))
    tree = SeqPT.published(height=2).measure(LocalCounter(trips), Gate(Trip(), Budget(4), SeededBits(0)))
    assert {level.threshold for level in tree.levels} == {2}


def test_trips_without_times_are_refused():
    trips = Trips.of_lists([[0]], World(["a"]))
    with pytest.raises(ParameterError, match="time column"):
        SeqPT().measure(LocalCounter(trips), Gate(Trip(), Budget(1), SeededBits(0)))


@pytest.mark.parametrize("axis", ["minutes", "7", "0", "-60"])
def test_a_time_axis_that_does_not_divide_the_day_is_refused(axis):
    with pytest.raises(ParameterError, match="time"):
        SeqPT(time=axis)


def test_moves_of_a_network_need_one():
    trips = Trips.of_lists([[0, 1]], World(["a", "b"]), time=np.array([0, 60]))
    with pytest.raises(ParameterError, match="needs a world with a network"):
        SeqPT(successors="network", height=2).measure(LocalCounter(trips), Gate(Trip(), Budget(1)))
