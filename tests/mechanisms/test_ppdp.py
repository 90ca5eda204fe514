from fractions import Fraction
from math import ceil, log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_noise import measured, path_noise, random_worlds
from slow_timed_trees import ends, everything, slow_grow, slow_settle

from ring_networks import ring_of_stops
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.ppdp import PPDP, level_weights
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.simulate.week import simulate_week
from wayveil.trips.trips import Trips
from wayveil.world.world import World

STOPS, BINS, AXIS, EIGHT_HOURS = 3, 3, "480", 8 * 3600
STEP = 5 * 3600  # seconds per stop: one step fits into any bin, two need a later one


def timed(lists, world):
    time = np.array([b * EIGHT_HOURS for trip in lists for _, b in trip], np.int64)
    return Trips.of_lists([[s for s, _ in trip] for trip in lists], world, time=time)


visit = st.tuples(st.integers(0, STOPS - 1), st.integers(0, BINS - 1))


@pytest.mark.reference
@random_worlds(500)
@given(
    st.lists(st.lists(visit, max_size=4), max_size=15),
    st.integers(1, 3),
    st.none() | st.integers(0, 2),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_the_tree_is_that_of_a_slow_object_tree_with_the_same_noise(lists, height, gap, prune, salt):
    world = ring_of_stops(STOPS, seconds=STEP)
    noise = path_noise(salt)
    tree, by_path, gate = measured(
        PPDP(
            height=height,
            time=AXIS,
            max_gap=gap,
            prune_early=prune,
            false_children=0.5,
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
            return [(s, b) for s in range(STOPS) for b in range(BINS)]
        stop, now = path[-1]

        def fits(s, b):
            seconds = STEP * ((s - stop) % STOPS)
            return (gap is None or b - now <= gap) and seconds <= (b - now + 1) * EIGHT_HOURS

        return [(s, b) for s in range(STOPS) for b in range(now, BINS) if fits(s, b)]

    weights = [Fraction(round(log2(level + 1) * 10**6), 10**6) for level in range(1, height + 1)]

    def threshold(depth, nodes, candidates):
        scale = float(sum(weights) / weights[depth] / 2)
        return max(1, ceil(scale * log(max(candidates / max(nodes, 1), 1.0))))

    slow, _ = slow_grow(
        [tuple(trip) for trip in lists], [children_of] * height, noise, threshold, prune_early=prune
    )
    assert by_path([level.count for level in tree.levels]) == everything(slow, lambda node: node.noisy)
    slow_settle(slow)
    assert by_path(tree.consistent()) == pytest.approx(everything(slow, lambda node: node.settled))
    assert by_path(tree.ending()) == pytest.approx(ends(slow))
    assert gate.budget.spent == 2


@settings(max_examples=40)
@given(st.integers(1, 20), st.fractions(Fraction(1, 50), 8), st.floats(1, 50))
def test_deeper_levels_get_more_and_all_together_epsilon(height, epsilon, sigma):
    trips = Trips.of_lists([[0, 1]], ring_of_stops(3), time=np.array([0, 700]), rider=np.array([1]))
    gate = Gate(Rider(max_trips=3), Budget(epsilon), SeededBits(0))
    PPDP(height=height, smoothing_factor=sigma, size_share=0).measure(LocalCounter(trips), gate)
    prices = [spend.price for spend in gate.budget.spends]
    assert sum(prices) == epsilon
    assert prices == sorted(prices)
    assert len(level_weights(height, sigma)) == height == len(prices)


def test_released_moves_are_possible_in_time():
    network = ring_of_stops(8, seconds=1200)
    raw = simulate_week(network, 30_000, seed=5)
    tree = PPDP(height=3, time="hour-of-week").measure(
        LocalCounter(raw), Gate(Trip(), Budget(4), SeededBits(1))
    )
    private = tree.generate(seed=0)
    inner = np.setdiff1d(np.arange(private.visits), private.offsets[:-1])
    steps = (private.location[inner] - private.location[inner - 1]) % 8
    bins = private.time // 3600
    assert len(inner) > 1000
    assert (1200 * steps <= (bins[inner] - bins[inner - 1] + 1) * 3600).all()


def test_a_trip_counts_up_to_its_first_impossible_move():
    network = ring_of_stops(STOPS, seconds=STEP)
    # Two steps back in the same bin cannot be: 10 hours of travel in 8.
    lists = [[(0, 0), (2, 0), (0, 2)]] * 200
    tree = PPDP(height=3, time=AXIS).measure(
        LocalCounter(timed(lists, network)), Gate(Trip(), Budget(6), SeededBits(1))
    )
    assert tree.levels[0].count.max() > 150
    assert len(tree.levels[1]) == 0 or tree.levels[1].count.max() < 50


def test_published_thresholds_fall_with_the_level():
    network = ring_of_stops(STOPS, seconds=STEP)
    mechanism = PPDP.published(height=3, time=AXIS, threshold_k=6.0, threshold_b=1.0)
    tree = mechanism.measure(
        LocalCounter(timed([[(0, 0), (1, 1), (2, 2)]] * 3000, network)),
        Gate(Trip(), Budget(3), SeededBits(1)),
    )
    in_scales = [level.threshold / float(level.scale) for level in tree.levels]
    np.testing.assert_allclose(in_scales, [7, 4, 3], atol=1.2)


def test_ppdp_needs_a_network():
    trips = Trips.of_lists([[0]], World(["a"]), time=np.zeros(1, np.int64))
    with pytest.raises(ParameterError, match="network"):
        PPDP().measure(LocalCounter(trips), Gate(Trip(), Budget(1), SeededBits(0)))


def few_taps(trips=500):
    """Few taps at many stops and hours: most of what a tree finds there may be noise."""
    rng = np.random.default_rng(1)
    time = rng.integers(6, 22, trips) * 3_600
    stops = rng.integers(0, 400, trips).astype(np.int32)
    return Trips(stops, np.arange(trips + 1), ring_of_stops(400, seconds=60), time)


def tree_of(few, epsilon=1, **parameters):
    return PPDP(**parameters).measure(LocalCounter(few), Gate(Trip(), Budget(epsilon), SeededBits(1)))


def test_trips_that_noise_alone_made_are_thinned_to_the_number_that_was_bought():
    few = few_taps()

    def shown(**parameters):
        # A threshold of one noise scale lets several times too many roots in.
        loose = SeqPT(height=1, threshold_scales=1, when_explosive="allow", **parameters)
        return loose.measure(LocalCounter(few), Gate(Trip(), Budget(1), SeededBits(1)))

    assert len(shown(size_share=0).generate(1)) > 4 * len(few)
    model = shown()
    assert len(model.generate(1)) == pytest.approx(len(few), abs=250)  # five times the scale of its noise
    assert model.thinned < 1 / 3


def test_false_roots_stand_for_a_tenth_of_the_trips_at_most_so_thresholds_fall_with_epsilon():
    few = few_taps(2_000)
    assert len(tree_of(few, size_share=0).generate(1)) > 4 * len(few), "a share of the candidates alone"
    scales = []
    for epsilon in (1, 10, 100):
        tree = tree_of(few, epsilon)
        assert tree.levels[0].count.sum() < (1.3 if epsilon > 10 else 0.3) * len(few)
        scales.append(tree.levels[0].threshold / float(tree.levels[0].scale))
    assert scales[0] > scales[1] > scales[2]
    assert tree_of(few, false_roots=0.5).levels[0].threshold >= tree_of(few).levels[0].threshold
