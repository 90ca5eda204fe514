"""Releases that follow earlier ones: declared, free, and refused where their numbers mean something else."""

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.errors import ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Rider
from wayveil.released.released_trips import followed_by
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.synthesis.estimates import Visits
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

KEEP = LegalityRule(repeats="keep", impossible="keep")
CITY = World([f"s{at:02}" for at in range(60)])
RING = ring_of_stops(20, seconds=120, skip=3, routes=3)


def taps_of(week, city=CITY, many=6_000):
    """Taps of one week: the same busy stops every week."""
    rng = np.random.default_rng(100 + week)
    share = 1 / (1 + np.arange(city.size))
    stop = rng.choice(city.size, many, p=share / share.sum())
    time = np.clip(rng.normal(13, 4, many), 0, 23).astype(np.int64) * HOUR + DAY * (4 + 7 * week)
    return Trips(stop.astype(np.int32), np.arange(many + 1), city, time, history=AS_READ)


def counted(week, prior=(), *, epsilon="0.1", city=CITY, **options):
    bits = SeededBits(10 * week + len(prior))
    options = {"unit": Event(), "mechanism": TapCounts(), "bits": bits, **options}
    mechanism = options.pop("mechanism")
    return release(taps_of(week, city), mechanism, epsilon=epsilon, rule=KEEP, prior=prior, seed=1, **options)


WEEKS = [counted(week) for week in range(6)]


def off(made, trips):
    true = np.bincount(trips.location * 24 + trips.time % DAY // HOUR, minlength=CITY.size * 24)
    shown = made.estimate(Visits(("stop", "hour")))
    return np.abs(shown.values - true).mean(), np.mean((shown.low <= true) & (true <= shown.high))


def test_a_release_that_follows_others_is_nearer_to_the_truth_and_its_bars_hold():
    alone, after = counted(6), counted(6, WEEKS)
    without, _ = off(alone, taps_of(6))
    with_prior, held = off(after, taps_of(6))
    assert with_prior < 2 / 3 * without
    assert held > 0.92
    raw = taps_of(6)
    drawn = [np.bincount(each.trips.location, minlength=CITY.size) for each in (alone, after)]
    true = np.bincount(raw.location, minlength=CITY.size)
    assert np.abs(drawn[1] - true).sum() < np.abs(drawn[0] - true).sum()


def test_earlier_releases_cost_nothing_and_are_named_on_the_datasheet():
    alone, after = counted(6), counted(6, WEEKS[:2])
    spent = [made.datasheet["guarantee"]["epsilon"] for made in (alone, after)]
    assert Fraction(spent[0]) == Fraction(spent[1]) == Fraction(1, 10)
    assert followed_by(alone.datasheet) == set()
    assert followed_by(after.datasheet) == {each.model.fingerprint() for each in WEEKS[:2]}
    assert "2 earlier releases" in " ".join(after.datasheet["limitations"])


def test_only_its_own_answers_of_an_earlier_release_are_used():
    """A release that followed others itself says no more than it measured, so that nothing is counted twice."""
    follower = counted(2, WEEKS[:2])
    plain = replace(follower, model=replace(follower.model, earlier=()))
    bits = [counted(3, [each], bits=SeededBits(5)) for each in (follower, plain)]
    first, second = (made.estimate(Visits(("stop",))).values for made in bits)
    assert np.array_equal(first, second)


def test_a_saved_release_that_follows_others_comes_back_whole(tmp_path):
    folders = [each.save(tmp_path / f"week{at}") for at, each in enumerate(WEEKS[:2])]
    made = counted(2, folders)
    assert followed_by(made.datasheet) == {each.model.fingerprint() for each in WEEKS[:2]}
    back = Release.load(made.save(tmp_path / "week2"), CITY)
    assert back.model.fingerprint() == made.model.fingerprint()
    question = Visits(("hour",))
    assert np.array_equal(back.estimate(question).values, made.estimate(question).values)


def test_a_model_saved_before_there_were_priors_still_loads(tmp_path):
    folder = WEEKS[0].save(tmp_path / "old")
    with np.load(folder / "model.npz") as file:
        arrays = dict(file)
    arrays["facts"] = np.array(str(arrays["facts"]).replace(', "earlier": []', ""))
    assert "earlier" not in str(arrays["facts"])
    np.savez(folder / "model.npz", **arrays)
    assert type(WEEKS[0].model).load(folder, CITY).earlier == ()


def test_a_prior_that_counted_something_else_is_refused_before_anything_is_spent():
    riders = replace(taps_of(0), rider=np.arange(6_000))
    for prior, said in (
        (release(riders, TapCounts(max_visits=1), epsilon=1, unit=Rider(max_trips=1), rule=KEEP), "unit"),
        (counted(0, mechanism=TapCounts(max_visits=3)), "max_visits"),
        (counted(0, mechanism=TapCounts(time="hour-of-week")), "time bins"),
        (counted(0, mechanism=Markov(), unit="trip"), "unit"),
    ):
        with pytest.raises(ParameterError, match=said):
            counted(1, [prior])
    with pytest.raises(ParameterError, match="given twice"):
        counted(1, [WEEKS[0], WEEKS[0]])


def test_a_mechanism_that_does_not_follow_releases_says_so():
    earlier = counted(0, mechanism=Markov(), unit="trip")
    with pytest.raises(ParameterError, match="does not use earlier releases"):
        counted(1, [earlier], mechanism=Markov(), unit="trip")


def test_a_prior_without_a_guarantee_takes_the_guarantee_away():
    seeded = counted(0, bits=SeededBits(1))
    made = counted(1, [seeded], bits=None)
    assert made.datasheet["private"] is False
    assert "prior" in made.datasheet["guarantee"]["sentence"]


def test_another_version_of_the_feed_is_matched_by_stop_id():
    """Stops that are gone are left out; stops that are new have no week before."""
    ids = [f"s{at:02}" for at in range(10, 60)] + ["t_new", "u_new"]
    other = World(ids)
    trips = taps_of(6)
    kept = trips.location >= 10
    moved = Trips(
        trips.location[kept] - 10, np.arange(kept.sum() + 1), other, trips.time[kept], history=AS_READ
    )
    after = release(moved, TapCounts(), epsilon="0.1", unit=Event(), rule=KEEP, prior=WEEKS)
    alone = replace(after.model, earlier=())
    stops = Visits(("stop",))
    found, own = after.estimate(stops), alone.estimate(stops, after.trips)
    assert np.array_equal(found.values[-2:], own.values[-2:])
    true = np.bincount(moved.location, minlength=other.size)
    assert np.abs(found.values - true).mean() < np.abs(own.values - true).mean()


def margins(week, prior=(), first=None):
    rng = np.random.default_rng(week)
    many = 3_000
    day = date(2024, 3, 4) + timedelta(days=7 * week)
    start = (day - date(1970, 1, 1)).days * DAY
    stop = rng.choice(RING.size, many, p=np.arange(1, RING.size + 1) / np.arange(1, RING.size + 1).sum())
    time = start + rng.integers(0, 7, many) * DAY + rng.integers(6, 22, many) * HOUR
    taps = Taps(stop.astype(np.int32), np.sort(time), RING, history=AS_READ)
    made = release_taps(
        taps,
        "counts-first",
        epsilon="0.3",
        first_day=day if first is None else first,
        days=7,
        prior=prior,
        seed=1,
        bits=SeededBits(week),
    )
    return made, taps


def test_margins_by_route_follow_the_weeks_before():
    weeks = [margins(week)[0] for week in range(5)]
    ratios = []
    for week in (5, 6, 7):
        made, taps = margins(week, weeks)
        true = np.bincount(taps.location, minlength=RING.size)
        own = made.model.alone().estimate(Visits(("stop",)), made.trips)
        ratios.append(
            np.abs(made.estimate(Visits(("stop",))).values - true).mean() / np.abs(own.values - true).mean()
        )
        assert abs(made.released_trips - len(taps)) < len(taps)
    assert np.mean(ratios) < 0.95
    with pytest.raises(ParameterError, match="another day of the week"):
        margins(5, weeks, first=date(2024, 4, 9))


def test_gaussian_noise_has_its_own_intervals_and_is_followed_too():
    """Under a budget in rho a scale is a variance, not the width of a Laplace law."""
    options = {"currency": "rho", "epsilon": "0.3"}
    weeks = [counted(week, **options) for week in range(4)]
    after = counted(4, weeks, **options)
    true = np.bincount(taps_of(4).location, minlength=CITY.size)
    own, found = (
        after.model.alone().estimate(Visits(("stop",)), after.trips),
        after.estimate(Visits(("stop",))),
    )
    deviation = float(after.model.scales[0]) ** 0.5
    assert np.all(own.high - own.values < 2.1 * deviation)
    assert np.mean((own.low <= true) & (true <= own.high)) > 0.85
    assert np.abs(found.values - true).mean() < np.abs(own.values - true).mean()
