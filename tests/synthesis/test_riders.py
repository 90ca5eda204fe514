"""Riders from taps: whatever the taps, riders do only what the rules and the network allow."""

import numpy as np
import pytest
from bench.plain_riders import plain_riders
from hypothesis import given, settings
from hypothesis import strategies as st

from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.synthesis.riders.assignment import FIRST, NEW_RIDER, RETURN, TRANSFER
from wayveil.synthesis.riders.reconstruct import _arrays, reconstruct_riders
from wayveil.synthesis.riders.roles import PURPOSES, RiderRules, Role
from wayveil.synthesis.riders.waiting import surroundings
from wayveil.taps.chains import sequences
from wayveil.taps.taps import Taps
from wayveil.world.geo import haversine
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.trees import travel_seconds
from wayveil.world.world import World

CITY = ring_of_stops(12, seconds=240, skip=2)
MONDAY = 4 * DAY
SOCIABLE = RiderRules(first_km=3, patience=10_000)


def taps_of(rows):
    location, day, second = np.array(rows, np.int64).reshape(-1, 3).T
    return Taps(location.astype(np.int32), MONDAY + day * DAY + second, CITY)


def some_taps(count, days=6, seed=0):
    rng = np.random.default_rng(seed)
    second = np.clip(rng.normal(np.where(rng.random(count) < 0.5, 8, 17) * HOUR, 2 * HOUR), 0, DAY - 1)
    return taps_of(
        np.column_stack([rng.integers(0, 12, count), rng.integers(0, days, count), second.astype(int)])
    )


many_taps = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 7), st.integers(0, DAY // 60 - 1).map(lambda m: m * 60)),
    min_size=1,
    max_size=120,
).map(taps_of)
rule_sets = st.sampled_from(
    [
        SOCIABLE,
        RiderRules(),
        RiderRules(first_km=20, transfer_km=20, return_km=20, new_trip_km=20, km_weight=0, patience=3),
        RiderRules(hour_weight=0, primary_bonus=5, first_km=20),
        RiderRules(first_km=20, return_km=20, one_way=0.4),
    ]
)


@given(many_taps, rule_sets, st.integers(0, 5))
@settings(max_examples=60)
def test_no_tap_is_lost_or_used_twice(taps, rules, seed):
    riders = reconstruct_riders(taps, rules, seed=seed)
    assert riders.rider.min() >= 0
    assert np.array_equal(np.unique(riders.rider), np.arange(riders.count))
    for period in ("day", "week"):
        trips = riders.trips(period)
        assert trips.visits == len(taps)
        used = sorted(zip(trips.location.tolist(), trips.time.tolist(), strict=True))
        assert used == sorted(zip(taps.location.tolist(), taps.time.tolist(), strict=True))


@given(many_taps, rule_sets, st.integers(0, 5))
@settings(max_examples=60)
def test_no_rider_moves_faster_than_the_network_allows(taps, rules, seed):
    riders = reconstruct_riders(taps, rules, seed=seed)
    ride = travel_seconds(CITY, np.arange(CITY.size))
    order = np.lexsort((taps.time, riders.rider))
    who, place, time = riders.rider[order], taps.location[order], taps.time[order]
    same = who[1:] == who[:-1]
    a, b = place[:-1][same], place[1:][same]
    walk = haversine(CITY.lat[a], CITY.lon[a], CITY.lat[b], CITY.lon[b]) / rules.walking
    needed = np.minimum(ride[a, b], walk * 0.995)  # the plane and the globe differ by a few metres
    assert np.all(np.diff(time)[same] >= np.floor(needed))


@given(many_taps, rule_sets, st.integers(0, 5))
@settings(max_examples=60)
def test_no_rider_taps_more_often_than_the_role_allows(taps, rules, seed):
    riders = reconstruct_riders(taps, rules, seed=seed)
    day = taps.day
    for rider in range(riders.count):
        role = rules.roles[riders.role[rider]]
        for today in np.unique(day[riders.rider == rider]):
            mine = (riders.rider == rider) & (day == today)
            assert mine.sum() <= role.taps_a_day
            purposes = np.bincount(riders.purpose[mine], minlength=len(PURPOSES))
            for name, most in role.taps_for.items():
                assert purposes[PURPOSES.index(name)] <= max(most, 1)


@given(many_taps, st.integers(0, 5))
@settings(max_examples=40)
def test_scenarios_keep_their_windows_of_time_and_distance(taps, seed):
    riders = reconstruct_riders(taps, SOCIABLE, seed=seed)
    order = np.lexsort((taps.time, riders.rider))
    before = np.full(len(taps), -1)
    same = riders.rider[order][1:] == riders.rider[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    for tap in range(len(taps)):
        role, scenario = SOCIABLE.roles[riders.role[riders.rider[tap]]], riders.scenario[tap]
        assert (before[tap] < 0) == (scenario == NEW_RIDER)
        if scenario in (NEW_RIDER, FIRST):
            if scenario == FIRST:
                assert taps.day[tap] > taps.day[before[tap]]
            continue
        gap = taps.time[tap] - taps.time[before[tap]]
        assert taps.day[tap] == taps.day[before[tap]]
        if scenario == TRANSFER:
            assert role.transfer_minutes[0] * 60 <= gap <= role.transfer_minutes[1] * 60
        if scenario == RETURN:
            assert role.stay_hours[0] * HOUR <= gap <= role.stay_hours[1] * HOUR
        if scenario in (TRANSFER, RETURN):
            assert riders.purpose[tap] == riders.purpose[before[tap]]


@given(many_taps, st.integers(0, 5))
@settings(max_examples=40)
def test_the_index_finds_the_same_riders_as_reviewing_everybody(taps, seed):
    riders = reconstruct_riders(taps, SOCIABLE, seed=seed)
    order, arrays = _arrays(taps, SOCIABLE, seed)
    ground = surroundings(CITY, SOCIABLE.reach_km * 1000, SOCIABLE.walking)
    rider, scenario, purpose = plain_riders(arrays, ground, SOCIABLE)
    assert riders.rider[order].tolist() == rider
    assert riders.scenario[order].tolist() == scenario
    assert [PURPOSES[p] for p in riders.purpose[order]] == purpose


@pytest.mark.parametrize("rules", [SOCIABLE, SOCIABLE.model_copy(update={"one_way": 0.3})])
def test_the_index_agrees_with_the_plain_loop_on_a_busy_week(rules):
    taps = some_taps(3_000)
    riders = reconstruct_riders(taps, rules, seed=3)
    order, arrays = _arrays(taps, rules, 3)
    ground = surroundings(CITY, rules.reach_km * 1000, rules.walking)
    assert riders.rider[order].tolist() == plain_riders(arrays, ground, rules)[0]
    assert set(riders.scenario.tolist()) == set(range(5))


def test_riders_have_the_roles_of_the_distribution():
    taps = some_taps(40_000)
    week = taps.take(np.flatnonzero((taps.day + 3) % 7 < 5))
    riders = reconstruct_riders(week, RiderRules(), seed=1)
    assert riders.count > 4_000
    share = np.bincount(riders.role, minlength=5) / riders.count
    assert np.all(np.abs(share - riders.rules.shares) * riders.count <= 5), (
        "each role has its share of the riders"
    )
    # A Sunday makes riders too, none of them full-time; of the others each still has its share.
    others = np.bincount(reconstruct_riders(taps, RiderRules(), seed=1).role, minlength=5)[1:]
    wanted = RiderRules().shares[1:]
    assert np.allclose(others / others.sum(), wanted / wanted.sum(), atol=0.005)
    facts = riders.describe()
    assert facts["share_assigned"] == 1.0
    assert facts["riders"] == riders.count


def test_riders_travel_on_their_active_days_only():
    rules = RiderRules()
    riders = reconstruct_riders(some_taps(20_000, days=7), rules, seed=1)
    days = np.unique(np.stack([riders.rider.astype(np.int64), riders.taps.day]), axis=1)
    per_rider = np.bincount(days[0], minlength=riders.count)
    most = np.array([role.active_days[1] for role in rules.roles])[riders.role]
    assert np.all(per_rider <= most)
    weekend = (riders.taps.day + 3) % 7 >= 5
    assert weekend.any()
    assert not np.any(weekend & (riders.role[riders.rider] == 0)), "full-time riders rest at weekends"


def test_days_with_a_single_tap_even_out_the_lengths_of_weeks():
    taps = some_taps(3_000)
    odd = {}
    for share in (0.0, 0.4, 1.0):
        lengths = (
            reconstruct_riders(taps, SOCIABLE.model_copy(update={"one_way": share}), seed=1)
            .trips("week")
            .lengths
        )
        odd[share] = float((lengths % 2).mean())
        assert lengths.sum() == len(taps), "no tap is lost"
    assert odd[0.0] < odd[0.4]
    days = reconstruct_riders(taps, SOCIABLE.model_copy(update={"one_way": 1.0}), seed=1).trips("day").lengths
    assert set(days.tolist()) == {1}


def test_the_same_seed_gives_the_same_riders_and_another_gives_others():
    taps = some_taps(2_000)
    first, again, other = (reconstruct_riders(taps, seed=seed).rider for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_table_of_riders_names_role_purpose_and_scenario():
    table = reconstruct_riders(some_taps(50), seed=1).table()
    assert table.columns == ["rider_id", "role", "purpose", "scenario", "stop_id", "event_time"]
    assert table["role"].is_in([role.name for role in RiderRules().roles]).all()


def test_taps_without_a_card_are_trips_of_their_own():
    taps = taps_of([(0, 0, 100), (1, 0, 200), (2, 0, 300)])
    trips = sequences(taps, np.array([-1, 7, -1]), "day")
    assert sorted(trips.to_lists()) == [[0], [1], [2]]
    assert trips.rider.tolist() == [-1, -1, 7]
    with pytest.raises(ParameterError, match="day or a week"):
        sequences(taps, np.zeros(3, np.int64), "month")


def test_riders_need_a_network():
    plain = World.of_symbols("ab")
    with pytest.raises(ParameterError, match="network"):
        reconstruct_riders(Taps(np.zeros(1, np.int32), np.zeros(1, np.int64), plain), seed=1)


def test_no_taps_make_no_riders():
    assert reconstruct_riders(taps_of([]), seed=1).count == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"active_days": (3, 2)}, "range"),
        ({"active_days": (5, 8)}, "such days"),
        ({"purpose": "war"}, "unknown purpose"),
    ],
)
def test_roles_that_make_no_sense_are_refused(change, word):
    with pytest.raises(ValueError, match=word):
        Role(**({"name": "x", "share": 1.0, "active_days": (1, 2), "purpose": "work"} | change))


def test_rules_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="add up"):
        RiderRules(roles=RiderRules().roles[:2])
    with pytest.raises(ValueError, match="general"):
        RiderRules(general={"nothing": 1.0})
