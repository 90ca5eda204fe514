from collections import Counter as Tally
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_noise import random_worlds

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import DEFAULT_PARTS
from wayveil.mechanisms.shared_fields import visit_contribution
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts
from wayveil.privacy.units import Event, Points, Rider, Trip, Window
from wayveil.synthesis.estimates import Visits
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.world import World

HOUR = 3600
WORLD = World(["a", "b", "c"])


class Silent(Gate):
    """A gate without noise, to look at what is counted."""

    def answer(self, question, exact):
        counts = np.zeros(exact.universe, np.int64)
        counts[exact.keys] = exact.counts
        kept = np.flatnonzero(counts >= (question.threshold or 0))
        return NoisyCounts(question, kept, counts[kept])


def taps(lists, world=WORLD):
    """Trips from lists of (stop, hour)."""
    time = np.array([h * HOUR for trip in lists for _, h in trip], np.int64)
    return Trips.of_lists([[s for s, _ in trip] for trip in lists], world, time=time)


def measure(mechanism, trips, gate):
    return mechanism.measure(LocalCounter(gate.bound(trips)), gate)


visits = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 23)), max_size=5).map(
        lambda trip: sorted(trip, key=lambda visit: visit[1])
    ),
    max_size=12,
)


@pytest.mark.reference
@random_worlds(300)
@given(visits, st.none() | st.integers(1, 4))
def test_the_three_histograms_are_tallies_of_the_first_visits(lists, cap):
    table = measure(TapCounts(max_visits=cap), taps(lists), Silent(Event(), Budget(1), SeededBits(0)))
    counted = [visit for trip in lists for visit in trip[:cap]]
    cells = Tally(stop * 24 + hour for stop, hour in counted)
    assert {int(k): int(c) for k, c in zip(table.keys, table.counts, strict=True) if c} == dict(cells)
    assert table.stops.tolist() == [sum(s == stop for s, _ in counted) for stop in range(3)]
    assert table.times.tolist() == [sum(h == hour for _, h in counted) for hour in range(24)]


@settings(max_examples=200)
@given(visits, visits, st.integers(1, 4), st.integers(0, 11), st.integers(0, 5))
def test_no_visit_moves_a_capped_histogram_by_more_than_the_contribution_says(lists, more, cap, which, where):
    trip = lists[which % len(lists)] if lists else []
    new = (1, trip[min(where, len(trip) - 1)][1] if trip else 8)
    at = min(where, len(trip))
    longer = [*trip[:at], new, *trip[at:]]
    contribution = visit_contribution("tap-counts", Event(), cap)

    def cells(trips):
        return Tally(visit for trip in trips for visit in trip[:cap])

    before, after = cells([trip, *more]), cells([longer, *more])
    changed = sum(abs(before[key] - after[key]) for key in before.keys() | after.keys())
    assert changed <= contribution.per_visit == 2
    assert sum(cells([trip]).values()) <= contribution.per_trip == cap


@pytest.mark.parametrize(
    ("unit", "cap", "sensitivity"),
    [
        (Event(), None, 1),
        (Points(length=3), None, 3),
        (Window(seconds=HOUR, max_visits=2), None, 8),
        (Event(), 5, 2),
        (Trip(), 5, 5),
        (Rider(max_trips=3), 5, 15),
    ],
)
def test_the_sensitivity_follows_from_unit_and_cap_and_the_spends_add_up(unit, cap, sensitivity):
    trips = taps([[(0, 8), (1, 9)], [(2, 10)]])
    trips = Trips(trips.location, trips.offsets, WORLD, trips.time, np.array([4, 4]), AS_READ)
    gate = Gate(unit, Budget(Fraction(3, 7)), SeededBits(1))
    table = measure(TapCounts(max_visits=cap), trips, gate)
    assert {spend.sensitivity for spend in gate.budget.spends} == {sensitivity}
    assert gate.budget.spent == Fraction(3, 7)
    assert table.scales[0] == sensitivity / (Fraction(3, 7) / 4)


@pytest.mark.parametrize("unit", [Trip(), Rider(max_trips=2)])
def test_units_of_trips_need_a_cap_and_nothing_is_paid_without(unit):
    gate = Gate(unit, Budget(1), SeededBits(0))
    with pytest.raises(ParameterError, match="max_visits"):
        TapCounts().measure(LocalCounter(taps([[(0, 1)]])), gate)
    assert gate.budget.spent == 0


def busy_day(rng, count=60_000):
    stop = rng.choice(3, count, p=[0.6, 0.3, 0.1])
    hour = rng.choice(24, count, p=np.arange(1, 25) / 300)
    order = [[(int(s), int(h))] for s, h in zip(stop, hour, strict=True)]
    return taps(order)


def test_released_taps_have_the_raw_numbers_within_the_noise():
    raw = busy_day(np.random.default_rng(3))
    table = measure(TapCounts(), raw, Gate(Event(), Budget(1), SeededBits(2)))
    private = table.generate(seed=5)
    assert set(private.lengths.tolist()) == {1}
    assert abs(len(private) - len(raw)) < 60

    def cells(trips):
        return np.bincount(trips.location * 24 + trips.time // HOUR % 24, minlength=72)

    np.testing.assert_allclose(cells(private), cells(raw), atol=25)


@settings(max_examples=300)
@given(visits, st.integers(0, 10**6))
def test_the_consistent_table_is_non_negative_and_adds_up(lists, seed):
    table = measure(TapCounts(), taps(lists), Gate(Event(), Budget(2), SeededBits(seed)))
    cells = table.consistent()
    assert (cells >= 0).all()
    assert cells.sum() == pytest.approx(table.total)
    for margin in table.margins():
        assert (margin >= 0).all()
        assert margin.sum() == pytest.approx(table.total)


def test_large_tables_are_thresholded():
    raw = busy_day(np.random.default_rng(3), 5_000)
    table = measure(TapCounts(dense_cells=10), raw, Gate(Event(), Budget(1), SeededBits(0)))
    assert table.threshold is not None
    assert table.counts.min() >= table.threshold
    assert 20 < len(table.keys) < 72
    assert abs(len(table.generate(seed=1)) - 5_000) < 60


def test_shares_are_no_more_than_the_whole():
    with pytest.raises(ParameterError, match="more than the whole"):
        measure(
            TapCounts(stops_share=Fraction(2, 3), times_share=Fraction(1, 2)),
            taps([[(0, 1)]]),
            Gate(Event(), Budget(1), SeededBits(0)),
        )


def test_what_needs_are_not_about_is_not_bought_and_taps_are_drawn_from_the_rest():
    asked = {"total": Fraction(1, 100), "hours": Fraction(3, 100), "boardings": Fraction(91, 100)}
    raw, gate = busy_day(np.random.default_rng(3)), Gate(Event(), Budget(1), SeededBits(2))
    table = measure(TapCounts().serving(asked), raw, gate)
    assert [spend.label for spend in gate.budget.spends] == ["visits per stop", "visits per time bin"]
    assert gate.budget.spent == 1
    private = table.generate(seed=5)
    assert len(private) == table.total
    for of, margin in ((private.location, table.stops), (private.time // HOUR % 24, table.times)):
        np.testing.assert_allclose(np.bincount(of, minlength=len(margin)), margin, atol=60)
    assert table.estimate(Visits(("stop",)), private).low is not None
    assert table.estimate(Visits(("stop", "hour")), private) is None
    both = TapCounts().serving({**asked, "stop-hours": Fraction(1, 10)})
    assert both.stops_share + both.times_share < 1
    default = TapCounts().serving(DEFAULT_PARTS)
    assert default.stops_share + default.times_share < 1


def test_the_table_lists_stops_times_and_pairs():
    table = measure(TapCounts(), taps([[(0, 8)]]), Gate(Event(), Budget(1), SeededBits(0))).table()
    assert len(table) == 3 + 24 + 72
    assert table.filter(table["time_bin"].is_null())["stop_id"].to_list() == ["a", "b", "c"]
