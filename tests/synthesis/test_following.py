"""Numbers that follow earlier ones: nearer to the truth, with intervals that hold, and changes come through."""

import numpy as np
import pytest

from wayveil.synthesis.following import Known, follow
from wayveil.synthesis.noise_sums import half_width

CELLS, WEEKS, CHANGE, SCALE = 600, 9, 6, 12.0


def town(seed, change="none", cells=CELLS):
    """True counts and noisy ones, week by week; at CHANGE something happens."""
    rng = np.random.default_rng(seed)
    level = rng.lognormal(3, 1.5, cells)
    hit = rng.random(cells) < 0.05
    true, noisy = [], []
    for week in range(WEEKS):
        level = level * np.exp(0.02 * rng.standard_normal(cells))
        if change == "strike" and week in (CHANGE, CHANGE + 1):
            level = level / 5 if week == CHANGE else level * 5
        if change == "line" and week == CHANGE:
            level = np.where(hit, 4 * level + 80, level)
        true.append(rng.poisson(level).astype(np.float64))
        noisy.append(known(true[-1] + rng.laplace(0, SCALE, cells)))
    return true, noisy, hit


def known(values, scale=SCALE):
    return Known(values, np.full(len(values), 2 * scale**2), np.full(len(values), 12 * scale**4))


def off(true, found):
    return np.abs(found.value - true).mean()


def test_one_week_alone_stays_as_it_is():
    _, noisy, _ = town(1)
    alone = follow(noisy[:1])
    assert np.array_equal(alone.value, noisy[0].value)
    assert np.array_equal(alone.variance, noisy[0].variance)
    assert (alone.own == 1).all()


def test_calm_weeks_take_off_more_than_a_third_of_the_error():
    ratios = []
    for seed in range(4):
        true, noisy, _ = town(seed)
        ratios.append(off(true[-1], follow(noisy)) / off(true[-1], noisy[-1]))
    assert np.mean(ratios) < 2 / 3


@pytest.mark.parametrize("change", ["none", "strike", "line"])
@pytest.mark.parametrize("week", [3, CHANGE, WEEKS - 1])
def test_intervals_hold_the_truth_in_calm_weeks_and_in_those_of_a_change(change, week):
    held = []
    for seed in range(10, 14):
        true, noisy, _ = town(seed, change)
        found = follow(noisy[: week + 1])
        held.append(np.abs(found.value - true[week]) <= half_width(found.variance, found.fourth))
    assert 0.92 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("change", ["strike", "line"])
def test_a_change_comes_through_and_no_week_is_worse_than_alone(change):
    for seed in range(20, 23):
        true, noisy, hit = town(seed, change)
        found = follow(noisy[: CHANGE + 1])
        assert off(true[CHANGE], found) < off(true[CHANGE], noisy[CHANGE])
        if change == "line":
            # Of the stops of the new line, almost all of what came new is seen at once.
            gained = true[CHANGE][hit] - true[CHANGE - 1][hit]
            seen = found.value[hit] - true[CHANGE - 1][hit]
            assert seen.sum() > 0.85 * gained.sum()


def test_cells_that_no_earlier_week_has_are_this_weeks_own():
    _, noisy, _ = town(2)
    new = np.arange(CELLS) < 50
    weeks = [Known(w.value, np.where(new, np.inf, w.variance), w.fourth) for w in noisy[:-1]]
    found = follow([*weeks, noisy[-1]])
    assert np.array_equal(found.value[new], noisy[-1].value[new])
    assert np.array_equal(found.variance[new], noisy[-1].variance[new])
    assert np.isfinite(found.value).all()
    assert found.own[~new].mean() < 0.9


def test_where_noise_is_nothing_the_week_speaks_for_itself():
    true, _, _ = town(3)
    found = follow([known(week, 0.01) for week in true])
    assert np.allclose(found.value, true[-1], atol=0.1)
