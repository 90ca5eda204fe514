"""Sensitivities and scales by hand: what each unit pays for a count, a score and a tree, also after other steps."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest

from wayveil.counting.ngram_counts import _choose
from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.choosing import keep_at_most, pair_codes
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.ledger.conversion import BookedUnit, Stated, steps
from wayveil.privacy.selection import utility_contribution
from wayveil.privacy.units import DAY, Event, Points, Rider, RiderDay, Trip, Window
from wayveil.trips.history import AS_READ, MERGED, PER_TRIP, Stability
from wayveil.trips.point_rules import PointRules
from wayveil.trips.trips import Trips
from wayveil.world.world import World

F = Fraction
# A trip of up to four visits, each in a cell of its own; a visit more moves two cells.
SPREAD = Contribution(per_trip=4, per_visit=2, per_cell=1)
# The same where a visit can change the whole trip.
WHOLE = Contribution(per_trip=4, per_cell=1)


@pytest.mark.parametrize(
    ("unit", "contribution", "l1", "linf"),
    [
        (Trip(), SPREAD, 4, 1),
        (Rider(max_trips=3), SPREAD, 12, 3),
        (RiderDay(max_trips=2), SPREAD, 8, 2),
        (Event(), SPREAD, 2, 2),
        (Event(), WHOLE, 8, 1),
        (Points(length=3), SPREAD, 6, 6),
        (Window(max_visits=2), SPREAD, 16, 16),
        (Window(max_visits=2), WHOLE, 64, 8),
        (Trip().after(Stability(3, None)), SPREAD, 12, 3),
        (Rider(max_trips=3).after(Stability(3, None)), SPREAD, 12, 3),
        (Event().after(MERGED), SPREAD, 4, 4),
        (Event().after(PER_TRIP), SPREAD, 8, 1),
        (Event().after(Stability(3, None)), SPREAD, 24, 3),
    ],
)
def test_a_unit_moves_counts_by_this_much(unit, contribution, l1, linf):
    found = unit.sensitivity(contribution)
    assert (found.l1, found.linf, found.l2_squared) == (l1, linf, l1 * linf)


def test_scores_move_with_the_cells_of_each_trip():
    assert Trip().utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 3
    assert Rider(max_trips=2).utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 6
    assert Event().utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 6, (
        "a changed trip goes and comes"
    )
    # Three values of a trip can all lie on one side of a quantile.
    third = utility_contribution(Contribution(per_trip=3), F(1, 3))
    assert (third.per_trip, third.per_cell, Rider(max_trips=2).utility_sensitivity(third)) == (6, 6, 12)


def test_noise_scales_follow_from_price_and_sensitivity():
    gate, half = Gate(Rider(max_trips=3), Budget(1), SeededBits(1)), F(1, 2)
    assert gate.scale(SPREAD, half) == 24
    assert gate.selection_scale(SPREAD, half) == 12
    assert gate.tree_scale(SPREAD, half) == F(7, 3) * 24
    in_rho = Gate(Rider(max_trips=3), Budget(1, currency="rho"), SeededBits(1))
    assert in_rho.scale(SPREAD, half) == 36
    assert in_rho.selection_scale(SPREAD, half) == 6, "rho 1/2 is paid with epsilon 1"


def test_what_has_no_bound_is_refused():
    with pytest.raises(ParameterError, match="no bound"):
        Trip().after(Stability(None, None))
    with pytest.raises(ParameterError, match="move to another day"):
        RiderDay().after(Stability(3, None))
    with pytest.raises(ParameterError, match="not in epsilon"):
        _ = Trip().sensitivity(Contribution(per_trip=2, euclidean=True)).l1
    assert Trip().sensitivity(Contribution(per_trip=2, euclidean=True)).l2_squared == 4


STATED = Stated(days_per_rider=5, trips_per_rider=7, visits_per_rider=11, trips_per_day=2, visits_per_day=3)


@pytest.mark.parametrize(
    ("policy", "unit", "times"),
    [
        ("rider", Rider(max_trips=2), 1),
        ("rider", RiderDay(max_trips=2), 5),
        ("rider", Trip(), 7),
        ("rider", Event(), 11),
        ("rider-day", RiderDay(max_trips=1), 1),
        ("rider-day", Rider(max_trips=9), 2),
        ("rider-day", Trip(), 2),
        ("rider-day", Window(max_visits=1), 3),
        ("trip", Trip(), 1),
        ("trip", Rider(max_trips=1), 2),
        ("trip", Rider(max_trips=2), 1),
        ("trip", RiderDay(max_trips=1), 2),
        ("trip", Points(length=2), 11),
        ("event", Event(), 1),
        ("event", Trip(), 2),
        ("event", Rider(max_trips=1), 2),
        ("event", Rider(max_trips=2), 1),
        ("event", RiderDay(max_trips=1), 4),
        ("event", RiderDay(max_trips=2), 2),
        ("event", RiderDay(max_trips=4), 1),
    ],
)
def test_a_ledger_charges_other_units_this_often(policy, unit, times):
    """The table of docs/ledger.md."""
    assert steps(BookedUnit.of(unit), policy, STATED) == times
    if times == 1 and unit.name != policy:
        trained = steps(BookedUnit.of(unit), policy, STATED, trained=True)
        assert trained == {"rider-day": 4, "rider": 2}.get(unit.name, 1)


# --- which contributions of a unit are counted


def test_the_smallest_words_of_each_group_are_kept():
    groups, words = np.array([0, 0, 0, 1, -1, -1]), np.array([5, 1, 3, 9, 2, 8], np.uint64)
    assert keep_at_most(groups, 1, words).tolist() == [False, True, False, True, True, True]
    assert keep_at_most(groups, 2, words).tolist() == [False, True, True, True, True, True]
    assert len(set(pair_codes(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist())) == 4


def trips(visits, times, riders):
    world = World.of_symbols("abc")
    offsets = np.cumsum([0, *map(len, visits)])
    place, time = (np.concatenate([np.asarray(each, np.int64) for each in rows]) for rows in (visits, times))
    return Trips(place.astype(np.int32), offsets, world, time, np.array(riders), history=AS_READ)


def test_a_day_of_a_rider_is_that_on_which_a_trip_begins():
    late, early = [DAY - 60, DAY + 60], [DAY + 90, DAY + 99]
    made = trips([[0, 1], [1, 2], [0, 2]], [late, early, early], [0, 0, 0])
    assert RiderDay(max_trips=1).bound(made, SeededBits(1)).visits == 4
    assert len(np.unique(RiderDay(max_trips=1).groups(made)[:2])) == 2


def test_trips_without_an_id_are_left_out_or_alone_or_refused():
    made = trips([[0, 1], [1, 2], [2, 0]], [[10, 20]] * 3, [4, -1, -1])
    assert len(Rider(max_trips=1, without_id="drop").bound(made, SeededBits(1))) == 1
    assert len(Rider(max_trips=1, without_id="own").bound(made, SeededBits(1))) == 3
    with pytest.raises(ParameterError, match="some trips have none"):
        Rider(max_trips=1).bound(made, SeededBits(1))
    alone = Window(seconds=60, max_visits=1, without_id="own")
    assert alone.bound(made, SeededBits(1)).visits == 3, "each is a rider of its own"


def test_trips_that_lose_all_visits_are_not_counted():
    made = trips([[0], [1]], [[10], [20]], [0, 0])
    assert len(Window(seconds=60, max_visits=1).bound(made, SeededBits(1))) == 1


# --- small numbers that nothing else holds


def test_what_is_given_back_late_gives_nothing_back_in_the_period(tmp_path):
    """A reservation that lies before the period is in no sum of the period, whatever becomes of it."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    ledger = open_ledger(tmp_path / "ledger", clock=lambda: now[0])
    policy = Policy(100, per_period_epsilon=1, period_days=1, unit="trip")
    ledger.set_policy("taps", policy, actor="ana")
    old = ledger.reserve("taps", F(1, 2), actor="ana", mechanism="tree", unit=Trip())
    now[0] += timedelta(days=2)
    ledger.reserve("taps", F(9, 10), actor="ana", mechanism="tree", unit=Trip())
    old.cancel("late")
    assert ledger.remaining("taps") == F(1, 10)


def test_kilometres_per_hour_are_metres_per_second():
    rules, time = PointRules(fastest_kmh=36), np.array([0, 10])
    assert not rules.fast(time, np.array([0.0, 99.0])).any()
    assert rules.fast(time, np.array([0.0, 101.0])).tolist() == [False, True]


def test_of_one_more_than_may_count_each_is_left_out_as_often():
    keys, sizes = np.tile(np.arange(3), 3000), np.full(3000, 3)
    words = SeededBits(1).words(3000)
    times = np.bincount(_choose(keys, sizes, 2, words.copy()))
    assert times.sum() == 6000
    assert np.abs(times - 2000).max() < 150  # five standard deviations
