"""What thresholds take from a tree is filled up by visits per stop and per time bin, where those were bought."""

from fractions import Fraction

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.simulate.week import simulate_week
from wayveil.synthesis.completing import order_by
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins

CITY = ring_of_stops(60, seconds=300, skip=2, routes=3)
# Thin: sixty stops, the hours of a week, and weeks of about four taps.
WEEKS = simulate_week(CITY, 2_000, seed=3)
HALF = Fraction(1, 2)
TREES = {
    "noisy-prefix-tree": lambda filling: NoisyPrefixTree(height=6, successors="all", filling=filling),
    "ppdp": lambda filling: PPDP(height=6, time="hour-of-week", filling=filling),
    "seqpt": lambda filling: SeqPT(height=6, time="hour-of-week", successors="all", filling=filling),
    "safepath": lambda filling: SafePath(height=6, time="hour-of-week", filling=filling),
}


def measured(mechanism, epsilon=2, salt=0):
    gate = Gate(Trip(), Budget(epsilon), SeededBits(salt))
    return mechanism.measure(LocalCounter(WEEKS), gate), gate


def stops_off(trips):
    true, mine = (np.bincount(each.location, minlength=CITY.size) for each in (WEEKS, trips))
    return np.abs(true - mine).sum() / true.sum()


def hours_off(trips):
    hours = TimeBins.hour_of_day()
    true, mine = (np.bincount(hours.bin_of(each.time), minlength=24) for each in (WEEKS, trips))
    return np.abs(true - mine).sum() / true.sum()


@pytest.mark.parametrize("name", TREES)
def test_a_filled_tree_has_the_trips_visits_stops_and_hours_that_it_lost(name):
    bare, filled = (measured(TREES[name](share))[0].generate(1) for share in (Fraction(0), HALF))
    assert bare.visits < 0.8 * WEEKS.visits, "thin data: the tree alone loses visits"
    assert len(filled) == pytest.approx(len(WEEKS), rel=0.05)
    assert filled.visits == pytest.approx(WEEKS.visits, rel=0.1)
    assert stops_off(filled) < 0.7 * stops_off(bare)
    if bare.time is not None:
        assert hours_off(filled) < 0.7 * hours_off(bare)
        starts = np.repeat(filled.offsets[:-1], filled.lengths)
        inside = np.arange(filled.visits) > starts
        assert (np.diff(filled.time)[inside[1:]] >= 0).all(), "time never runs backwards in a trip"


@pytest.mark.parametrize("name", TREES)
def test_as_many_visits_as_in_the_data_go_where_their_trip_has_been(name):
    """Riders come back to the same stops; trips filled with a new stop each time would show too many riders there."""
    counted = WEEKS.cut(8)
    share = counted.repeats() / counted.visits
    filled = measured(TREES[name](HALF), epsilon=4)[0].generate(1)
    assert share > 0.2
    assert filled.repeats() / filled.visits == pytest.approx(share, abs=0.05)


def test_repeats_are_counted_among_the_first_visits_of_a_trip():
    weeks = Trips(np.array([1, 2, 1, 2, 2, 3, 3], np.int32), np.array([0, 4, 4, 7]), CITY)
    assert weeks.repeats() == 3
    assert [LocalCounter(weeks).repeats(most).counts.tolist() for most in (1, 2, 3, 4)] == [
        [0],
        [0],
        [2],
        [3],
    ]


@pytest.mark.parametrize("name", TREES)
def test_all_of_epsilon_is_booked_and_none_of_it_twice(name):
    _, gate = measured(TREES[name](HALF))
    booked = {spend.label: spend.price for spend in gate.budget.spends}
    assert sum(booked.values()) == gate.budget.total
    asked = ("visits to a stop again", "visits per stop", "visits per time bin")
    margins = sum(booked.get(label, 0) for label in asked)
    assert margins == HALF * gate.budget.total


def test_what_the_tree_kept_of_a_trip_comes_first():
    """Filled visits lengthen kept trips at their ends: first stops are those of the tree, then of new trips."""
    model, _ = measured(TREES["noisy-prefix-tree"](HALF), epsilon=40)
    kept = model.levels[0].count.sum()
    filled = model.generate(1)
    counted = np.zeros(CITY.size)
    counted[model.levels[0].symbol] = model.levels[0].count
    off = np.abs(np.bincount(filled.origins(), minlength=CITY.size) - counted).sum() / kept
    assert off < 0.1


@pytest.mark.parametrize("name", TREES)
def test_as_many_trips_are_drawn_as_are_asked_for(name):
    model, _ = measured(TREES[name](HALF))
    assert len(model.draw(500, seed=2)) == pytest.approx(500, abs=1)


def test_a_filled_tree_comes_back_from_its_folder(tmp_path):
    model, _ = measured(TREES["ppdp"](HALF))
    model.save(tmp_path)
    again = type(model).load(tmp_path, CITY)
    assert again.fingerprint() == model.fingerprint()
    assert (again.generate(5).location == model.generate(5).location).all()


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyPrefixTree(height=3, filling=HALF),
        NoisyPrefixTree(height=3, filling=HALF, private_height=True),
        SafePath(height=2, successors="network", filling=HALF),
    ],
)
def test_moves_of_a_network_are_not_filled_up_and_nothing_is_spent(mechanism):
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    with pytest.raises(ParameterError, match="set successors=all"):
        mechanism.measure(LocalCounter(WEEKS), gate)
    assert not gate.budget.spends


@pytest.mark.parametrize("shares", [{"size_share": 0}, {"size_share": "3/5"}])
def test_filling_needs_the_number_of_trips_and_leaves_something_for_the_tree(shares):
    with pytest.raises(ParameterError, match="filling needs a size_share above 0"):
        measured(PPDP(height=2, filling=HALF, **shares))


@pytest.mark.parametrize("largest", [5, 1 << 61])
def test_an_order_is_that_of_a_sort_by_both(largest):
    rng = np.random.default_rng(3)
    keys, turn = rng.integers(0, largest, 300), rng.permutation(300)
    assert order_by(keys, turn).tolist() == np.lexsort((turn, keys)).tolist()
    assert order_by(keys[:0], turn[:0]).tolist() == []
