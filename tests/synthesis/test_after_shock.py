"""After a week in which everything moved, the weeks before are believed less until levels are known again."""

import numpy as np

from wayveil.synthesis.following import Known, follow
from wayveil.synthesis.noise_sums import half_width

SCALE = 5.0


def coverage(*, shift, seed):
    """Share of cells held in the week of the shift and in the next, of stops with two peaks a day."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24)
    day = np.exp(-((hour - 8) ** 2) / 8) + 0.7 * np.exp(-((hour - 17) ** 2) / 10) + 0.05
    level = 5 * rng.lognormal(1.5, 1.2, 60)[:, None] * day
    weeks, held = [], []
    for week in range(7):
        true = rng.poisson(np.roll(level, shift if week >= 5 else 0, axis=1)).ravel()
        noisy = np.rint(true + rng.laplace(0, SCALE, len(true)))
        law = (np.full(len(true), 2 * SCALE**2), np.full(len(true), 12 * SCALE**4))
        weeks.append(Known(noisy, *law))
        if week >= 5:
            found = follow(weeks)
            held.append(np.abs(found.value - true) <= half_width(found.variance, found.fourth))
    return [each.mean() for each in held]


def test_numbers_hold_in_the_week_in_which_all_trips_begin_two_hours_later_and_in_the_next():
    """They held 87 and 91 % where 95 were said."""
    shocked = np.mean([coverage(shift=2, seed=seed) for seed in range(4)], axis=0)
    assert (shocked >= 0.94).all()
    usual = np.mean([coverage(shift=0, seed=seed) for seed in range(2)], axis=0)
    assert ((usual >= 0.94) & (usual <= 0.975)).all()
