"""STRAP: both readings against plain Python, and what the repaired one must not depend on."""

import numpy as np
import pytest

from risk.attack_city import small_city, thirds
from risk.slow_strap import SlowStrap
from utility.utility_worlds import square_city, walks
from wayveil.attacks.targets import people_of
from wayveil.errors import ParameterError
from wayveil.lab.strap.strap_study import StrapSettings, StrapStudy, in_canonical_order, strap
from wayveil.trips.trips import Trips
from wayveil.utility.figures import empty, floor
from wayveil.world.world import World

ABC = World.of_symbols(list("abc"))


def random_world(seed):
    """A small city, raw and released trips, and settings that reach every branch."""
    rng = np.random.default_rng(seed)
    city = square_city(int(rng.integers(2, 6)), jitter=seed)
    raw = walks(city, int(rng.integers(1, 12)), seed, longest=int(rng.integers(2, 9)))
    if rng.random() < 0.7:
        raw = Trips(raw.location, raw.offsets, city, raw.time, rng.integers(0, 1 + len(raw) // 2, len(raw)))
    released = (
        walks(city, int(rng.integers(1, 12)), seed + 1, longest=7) if rng.random() < 0.9 else empty(city)
    )
    settings = {
        "cell": float(rng.choice([400.0, 900.0, 2500.0, 90_000.0])),
        "p": float(rng.choice([0.0, 0.3, 0.7, 1.0])),
        "near": float(rng.choice([300.0, 1500.0])),
        "seed": seed,
    }
    return city, raw, released, settings


def slow(city, raw, settings):
    ordered = in_canonical_order(raw.take(raw.lengths > 0))
    return SlowStrap(city, ordered.to_lists(), people_of(ordered).tolist(), **settings)


@pytest.mark.parametrize("block", range(10))
def test_both_readings_equal_plain_python_on_random_worlds(block):
    for seed in range(20 * block, 20 * block + 20):
        city, raw, released, settings = random_world(seed)
        plain = slow(city, raw, settings)
        lists = [trip for trip in released.to_lists() if trip]
        literal = strap(released, raw, StrapSettings(mode="literal", **settings))
        expected = plain.literal(lists)
        assert literal.riders == pytest.approx([expected[r] for r in sorted(expected)], abs=1e-9), seed
        repaired = strap(released, raw, StrapSettings(**settings))
        expected = plain.repaired(lists)
        assert repaired.riders == pytest.approx([expected[r] for r in sorted(expected)], abs=1e-9), seed
        assert (repaired.widened, repaired.weightless) == (plain.widened, plain.weightless), seed


def test_the_order_of_trips_and_a_doubled_release_change_nothing():
    members, _, fresh = thirds()
    study = StrapStudy(members)
    once = study.measure(fresh)
    twice = study.measure(fresh.take(np.tile(np.arange(len(fresh)), 2)))
    assert np.array_equal(once.riders, twice.riders)
    backwards = study.measure(fresh.take(np.arange(len(fresh))[::-1]))
    assert np.array_equal(once.riders, backwards.riders)
    turned = StrapStudy(members.take(np.arange(len(members))[::-1])).measure(fresh)
    assert turned.riders == pytest.approx(once.riders, rel=1e-12)


def test_a_doubled_release_doubles_the_literal_reading_and_an_empty_one_is_zero():
    city, raw, released, _ = random_world(4)
    study = StrapStudy(raw, StrapSettings(mode="literal", cell=900, near=1500))
    twice = released.take(np.tile(np.arange(len(released)), 2))
    assert study.measure(twice).total == pytest.approx(2 * study.measure(released).total) != 0
    assert study.measure(empty(city)).total == 0


def test_released_trips_that_stand_still_say_nothing_about_ways():
    members, _, fresh = thirds()
    study = StrapStudy(members)
    standing = fresh.cut(1)
    found = study.measure(standing)
    assert found.standing == len(standing)
    assert found.total == study.measure(empty(members.world)).total
    both = Trips(
        np.concatenate([fresh.location, standing.location]),
        np.concatenate([fresh.offsets, fresh.offsets[-1] + standing.offsets[1:]]),
        fresh.world,
    )
    assert np.array_equal(study.measure(both).riders, study.measure(fresh).riders)


def test_adversaries_may_share_what_was_looked_at():
    members, _, fresh = thirds()
    first = StrapStudy(members, StrapSettings(p=0.2))
    looked = first.look_at(fresh)
    for p in (0.2, 0.4):
        alone = StrapStudy(members, StrapSettings(p=p)).measure(fresh)
        assert np.array_equal(first.knowing(p).measure(looked).riders, alone.riders)


def test_the_lines_stand_in_order():
    members, _, fresh = thirds()
    study = StrapStudy(members)
    raw, others, nothing = (study.measure(t).total for t in (members, fresh, empty(members.world)))
    ground = study.measure(floor(members.world, len(members), 1)).total
    assert raw < others < ground < nothing


def test_who_knows_more_comes_closer():
    members, _, fresh = thirds()
    values = [StrapStudy(members, StrapSettings(p=p)).measure(fresh).total for p in (0.2, 0.3, 0.4)]
    assert values == sorted(values, reverse=True)


def test_the_most_vulnerable_are_those_with_the_lowest_values():
    members, _, fresh = thirds()
    found = StrapStudy(members).measure(fresh)
    assert 0 <= found.most_vulnerable(0.05) <= found.most_vulnerable(0.1) <= found.total
    assert found.most_vulnerable(1.0) == pytest.approx(found.total)
    assert found.describe()["cell"] == 500


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_a_chance_outside_of_zero_to_one_is_refused(p):
    with pytest.raises(ParameterError, match=r"0\.\.1"):
        StrapSettings(p=p)


def test_a_world_without_coordinates_is_refused():
    raw = Trips.of_lists([[0, 1]], ABC)
    with pytest.raises(ParameterError, match="no coordinates"):
        strap(raw, raw)


def test_another_world_is_refused():
    members, _, _ = thirds()
    with pytest.raises(ParameterError, match="different worlds"):
        StrapStudy(members).measure(empty(square_city()))
    assert small_city() is members.world


def test_riders_at_other_hours_are_no_neighbours_where_times_count():
    city = square_city(3)
    lists, riders = [[0, 1], [0, 1], [0, 1]], np.arange(3)
    time = np.array([0, 60, 30, 90, 7200, 7260])
    raw = Trips.of_lists(lists, city, time=time, rider=riders)
    counts = [StrapStudy(raw, StrapSettings(timed=timed)).neighbours.tolist() for timed in (False, True)]
    assert counts == [[3, 3, 3], [2, 2, 1]], "half a minute is near, two hours are not"
    with pytest.raises(ParameterError, match="these trips have none"):
        StrapStudy(raw.without_times(), StrapSettings(timed=True))
