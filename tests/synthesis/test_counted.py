"""Intervals by the law of the noise alone hold the truth as often as they say, whatever the truth is."""

import numpy as np
import pytest

from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.synthesis.counted import AllCounted, CountsCells, KeptCounted
from wayveil.synthesis.tallies import tally
from wayveil.trips.trips import Trips
from wayveil.world.world import World

MANY = 20_000
RNG = np.random.default_rng(5)
SCALE = 12.0


def laplace_counts(truth, rng):
    return np.rint(truth + rng.laplace(0, SCALE, MANY))


def covered(counted, truth):
    low, high = counted.ends(np.arange(MANY))
    return float(np.mean((np.floor(low) <= truth) & (truth <= np.ceil(high))))


@pytest.mark.parametrize("truth", [60, 300])
def test_counts_of_every_cell_hold_the_truth(truth):
    counted = AllCounted(laplace_counts(truth, RNG), 2 * SCALE**2, 12 * SCALE**4)
    assert covered(counted, truth) == pytest.approx(0.95, abs=0.008)


def test_nothing_is_known_of_cells_that_were_not_counted():
    low, high = AllCounted(np.array([np.nan, 7.0]), 2.0, 12.0).ends(np.array([-1, 0, 1, 2]))
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False, True]
    low, high = KeptCounted(np.array([4]), np.array([50.0]), 2.0, 10, every=False).ends(np.array([3, 4]))
    assert np.isnan(low).tolist() == [True, False]


@pytest.mark.parametrize("truth", [0, 20, 40, 60, 75, 100, 300])
def test_counts_that_were_kept_hold_the_truth_given_that_they_were(truth):
    """The plain law would hold a truth far below the threshold never: it is only seen when noise is high."""
    threshold = 60
    noisy = laplace_counts(truth, RNG)
    while (noisy < threshold).any():  # as often as needed, so that all of them were kept
        again = noisy < threshold
        noisy[again] = laplace_counts(truth, RNG)[again]
    kept = covered(KeptCounted(np.arange(MANY), noisy, SCALE, threshold), truth)
    assert 0.94 <= kept <= 0.985
    if truth == 0:
        assert covered(AllCounted(noisy, 2 * SCALE**2, 12 * SCALE**4), truth) == 0


@pytest.mark.parametrize("truth", [0, 30, 60, 90])
def test_of_cells_that_fell_below_the_threshold_too_much_is_rarely_true(truth):
    low, high = KeptCounted(np.empty(0, np.int64), np.empty(0), SCALE, 60).ends(np.array([3]))
    assert low[0] == 0
    fell = np.mean(laplace_counts(truth, RNG) < 60)
    assert truth <= high[0] or fell < 0.026


def crowd(count: int, *, timed: bool) -> Trips:
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 6, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    location = (rng.random(offsets[-1]) ** 2 * 12).astype(np.int32)
    time = np.repeat(rng.integers(5, 20, count) * 3_600, lengths) if timed else None
    return Trips(location, offsets, World(np.array([f"s{i:02}" for i in range(12)])), time)


@pytest.mark.parametrize(
    ("mechanism", "timed", "kinds"),
    [
        (Weave(), True, {"total", "boardings", "alightings", "lengths"}),
        (NoisyPrefixTree(height=3), False, {"boardings"}),
        (SafePath(height=2), True, {"boardings"}),
    ],
)
def test_what_a_mechanism_counted_is_held_by_its_release(mechanism, timed, kinds):
    raw = crowd(4_000, timed=timed)
    made = release(raw, mechanism, epsilon=2, unit=Trip(), bits=SeededBits(1), seed=1)
    assert isinstance(made.model, CountsCells)
    missed, tried = 0, 0
    for kind in ("total", "visits", "stops", "boardings", "alightings", "edges", "lengths"):
        assert (made.model.counted(kind) is not None) == (kind in kinds)
        if kind not in kinds:
            continue
        shown, true = tally(kind, made.trips), tally(kind, raw)
        low, high = made.interval(kind, shown.cells, shown.values)
        assert ((low <= shown.values) & (shown.values <= high))[~np.isnan(low)].all()
        truth = true.at(shown.cells)
        missed += int(((truth < np.floor(low)) | (truth > np.ceil(high))).sum())
        tried += int((~np.isnan(low)).sum())
    assert tried >= 6
    assert missed <= 3
