"""Riders have homes. Who lives where decides how many rows the weights of a stop stand for, and intervals know it."""

import numpy as np

from ring_networks import ring_of_stops
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider
from wayveil.privacy.weights import PARTS, Scaling, Size, size_steps, split_weight, weigh
from wayveil.run import make_release
from wayveil.trips.trips import Trips

STOPS, K = 40, 2
CITY = ring_of_stops(STOPS, seconds=300, skip=2, routes=2)


def habits(riders, seed):
    """Stop and rider of every boarding: half at home, a quarter at work, the rest anywhere; 1 to 30 each."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(1 + rng.negative_binomial(0.8, 0.16, riders), 30)
    rider = np.repeat(np.arange(riders), rows)
    home, work = rng.integers(0, STOPS, (2, riders))
    where = rng.choice(3, len(rider), p=[0.5, 0.25, 0.25])
    stop = np.select([where == 0, where == 1], [home[rider], work[rider]], rng.integers(0, STOPS, len(rider)))
    return stop, rider


def test_the_unevenness_is_what_riders_with_homes_make_of_a_cell():
    true, said = [], []
    for seed in range(40):
        stop, rider = habits(600, seed)
        weight = weigh(rider, K) / PARTS
        steps = size_steps(K, 32)
        there, often = np.unique(weigh(rider, K), return_counts=True)
        at_steps = often @ np.array([split_weight(int(each), steps) for each in there]) / PARTS
        size = Size(tuple(at_steps), steps, 0.0)
        rows = np.bincount(stop, minlength=STOPS)
        shown = float(size.factor) * np.bincount(stop, weight, minlength=STOPS)
        true.append(np.mean((shown - rows) ** 2))
        said.append(size.unevenness * rows.mean())
    assert 0.75 < np.mean(said) / np.mean(true) < 1.35


def test_intervals_of_a_weighed_release_hold_where_riders_have_homes():
    held = []
    for seed in range(6):
        stop, rider = habits(2_000, seed)
        trips = Trips.of_lists([[int(each)] for each in stop], CITY, time=np.arange(len(stop)), rider=rider)
        unit = Rider(max_trips=K, bounding="weights")
        release = make_release(
            trips, TapCounts(max_visits=1), epsilon=4, unit=unit, rows="calls", bits=SeededBits(seed), seed=1
        )
        shown = release.ask("stops").table
        true = np.bincount(stop, minlength=STOPS)[[list(CITY.ids).index(each) for each in shown["stop_id"]]]
        held.append((shown["low"].to_numpy() <= true) & (true <= shown["high"].to_numpy()))
    assert np.mean(held) > 0.91


def test_a_number_that_was_not_scaled_is_not_widened():
    assert Scaling.of({}) is None
    low, high = Scaling(0.0, 0.0).widen(np.array([5.0]), (np.array([3.0]), np.array([9.0])))
    assert (low[0], high[0]) == (3.0, 9.0)
