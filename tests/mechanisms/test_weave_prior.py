"""Weave after earlier releases: the same cells again, nothing bought twice, and answers that add up."""

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import Measurements, count_trips
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.world import World
from weave_city import QUICK, measured, small_town, town_trips

WEAVE = Weave(generation=QUICK)


def week(number):
    """Most trips of the town, others every week."""
    trips = town_trips()
    return trips.take(np.flatnonzero(np.random.default_rng(number).random(len(trips)) < 0.7))


@pytest.fixture(scope="module")
def weeks():
    found = []
    for number in range(5):
        mechanism = WEAVE.following(found) if found else WEAVE
        found.append(measured(mechanism, week(number), seed=number)[0])
    return found


def test_the_same_cells_are_asked_again_and_the_partition_is_not_bought(weeks):
    after, gate = measured(WEAVE.following(weeks[:1]), week(7), seed=7)
    assert after.resolution == weeks[0].resolution
    assert np.array_equal(after.leaves, weeks[0].leaves)
    assert not any("partition" in spend.label for spend in gate.budget.spends)
    assert gate.budget.spent == gate.budget.total
    assert {name: block.variance for name, block in after.noisy.items()} == pytest.approx(
        {name: block.variance for name, block in weeks[1].noisy.items()}
    )


def test_what_is_believed_after_five_weeks_is_nearer_to_the_truth_than_noise_allows(weeks):
    after, _ = measured(WEAVE.following(weeks), week(8), epsilon=1, seed=8)
    true = count_trips(after, week(8))
    for name in ("edge", "pair"):
        alone, now = after.noisy[name].in_trips(), after.believe(name)
        off = [np.abs(view.value - true[name].value).mean() for view in (alone, now)]
        assert off[1] < 0.75 * off[0], name
        assert now.deviation < 0.8 * alone.deviation


def test_a_release_that_follows_others_is_saved_replicated_and_woven(weeks, tmp_path):
    after = weeks[-1]
    after.save(tmp_path)
    back = Measurements.load(tmp_path, small_town())
    assert back == after
    assert back != weeks[0]
    trips = after.generate(1)
    assert len(trips) == after.trips
    again = after.replicate(trips, 1).model
    assert len(again.earlier) == len(after.earlier)
    assert again.believe("edge").deviation < 0.8 * again.noisy["edge"].in_trips().deviation


def test_only_releases_with_the_same_cells_are_followed(weeks):
    trips = week(0)
    plain = Trips(trips.location, trips.offsets, small_town())
    with pytest.raises(ParameterError, match="time bins"):
        measured(WEAVE.following(weeks), plain)
    with pytest.raises(ParameterError, match="currency"):
        measured(WEAVE.following(weeks), trips, currency="rho")
    elsewhere = Trips(trips.location, trips.offsets, World(small_town().ids), trips.time)
    with pytest.raises(ParameterError, match="another world"):
        measured(WEAVE.following(weeks), elsewhere)


def test_of_releases_that_look_otherwise_only_the_same_cells_are_used(weeks):
    coarse, _ = measured(WEAVE, week(9), epsilon="0.4", seed=9)
    after, _ = measured(WEAVE.following([coarse, weeks[0]]), week(8), seed=8)
    assert after.resolution == weeks[0].resolution != coarse.resolution
    assert {"origin", "edge"} & coarse.noisy.keys() <= after.earlier[0].keys() < coarse.noisy.keys()
    assert after.earlier[1].keys() == weeks[0].noisy.keys()


def test_a_release_with_prior_gives_no_interval_that_was_measured_without():
    first = release(week(0), WEAVE, epsilon=4, bits=SeededBits(1), seed=1)
    after = release(week(1), WEAVE, epsilon=4, bits=SeededBits(2), seed=1, prior=[first])
    assert not after.accuracy.bands
    ends = after.interval("boardings", np.arange(3), np.zeros(3))
    assert (ends is None) == ("origin" not in after.model.noisy)
