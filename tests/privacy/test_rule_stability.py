"""From rows to counts: readers, rule and bound together never move counts further than the unit books, or refuse.

Before, the rule was applied first and cost nothing. With one visit more, a trip of forty could be cut to two.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_units import HOUR, UNITS, Record, Visit

from wayveil.errors import ParameterError
from wayveil.lab.audits.door_variants import RuleFirstGate, SplittingRule, UnchargedGate
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.private_choice import PrivateChoice
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Points, Rider, Trip, Window
from wayveil.run import make_release as release
from wayveil.trips.history import MERGED, PER_TRIP, UNMOVED, Stability
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

# a leads to b, b to c, c to a; `d` is a stop that this world does not have.
RING = World(["a", "b", "c"], successors=SparseSuccessors(np.arange(4), np.array([1, 2, 0])))
LIST = World(["a", "b", "c"])
RULES = [
    LegalityRule(repeats, impossible)
    for repeats in ("merge", "keep")
    for impossible in ("cut", "drop", "keep")
]
READINGS = [{}, {"repeats": "merge"}, {"on_unknown": "drop-trip"}]
KEEP = LegalityRule("keep", "keep")


class SameKey:
    """Bits that are all alike: both datasets choose with the same key."""

    private = False

    def words(self, count):
        return np.zeros(count, np.uint64)


def trip_ids(pair):
    """What the file calls a trip: the same in both datasets, whatever comes or goes before it."""
    ids: dict = {}
    for records in pair:
        for record in records:
            ids.setdefault(record.number, len(ids))
    return ids


def rows_of(records, ids, unknown):
    """One row per visit. With `unknown`, the stop c is called by a name that the world does not have."""
    rows = [
        (ids[record.number], ("abd" if unknown else "abc")[visit.location], visit.time, record.rider)
        for record in records
        for visit in sorted(record.visits, key=lambda visit: visit.time)
    ]
    columns = {"trip_id": pl.Int64, "stop_id": pl.String, "event_time": pl.Int64, "rider_id": pl.Int64}
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return table.with_columns(rider_id=pl.when(pl.col("rider_id") >= 0).then("rider_id"))


COUNTS = {
    "visits": (lambda trip: Counter(trip), Contribution(per_trip=None, per_visit=1)),
    "first two visits": (lambda trip: Counter(trip[:2]), Contribution(per_trip=2, per_visit=2)),
    "whole trips": (lambda trip: Counter([tuple(trip)]), Contribution(per_trip=1)),
}


def exceeded(kind_of_gate, unit, pair, rule, world=RING, reading=None):
    """The kinds of counts that move further than the gate books; those that it refuses are none of them."""
    reading, found, gates, ids = reading or {}, [], [], trip_ids(pair)
    for records in pair:
        gate = kind_of_gate(unit, Budget(1), SameKey())
        trips = []
        if any(record.visits for record in records):
            read = read_visits(rows_of(records, ids, "on_unknown" in reading), world, **reading)
            done = gate.bound(read, rule)
            pairs = list(zip(done.location.tolist(), done.time.tolist(), strict=True))
            trips = [pairs[a:b] for a, b in zip(done.offsets[:-1], done.offsets[1:], strict=True)]
        gates.append(gate)
        found.append(trips)
    return [kind for kind in COUNTS if _moved(kind, found) > min(_booked(gate, kind) for gate in gates)]


def _moved(kind, found):
    moved: Counter = Counter()
    for trips, sign in zip(found, (1, -1), strict=True):
        for trip in trips:
            for cell, amount in COUNTS[kind][0](trip).items():
                moved[cell] += sign * amount
    return sum(abs(value) for value in moved.values())


def _booked(gate, kind):
    try:
        return gate.unit.sensitivity(COUNTS[kind][1]).l1
    except ParameterError:
        return np.inf


UNITS_HERE = {name: UNITS[name] for name in ("trip", "rider", "rider-day", "event", "points", "window-2")}


@pytest.mark.parametrize("name", UNITS_HERE)
def test_no_neighbour_moves_counts_further_through_readers_rule_and_bound(name):
    unit, neighbours = UNITS_HERE[name]
    readings = READINGS if name != "window-2" else [{}]

    @settings(max_examples=50)
    @given(neighbours, st.sampled_from(RULES), st.sampled_from([RING, LIST]), st.sampled_from(readings))
    def holds(pair, rule, world, reading):
        assert exceeded(Gate, unit, pair, rule, world, reading) == []

    holds()


def one_more(places, at, new, every=60):
    """A trip of one rider, and the same with one visit more."""
    visits = [Visit(2 * k * every, place, 0) for k, place in enumerate(places)]
    extra = Visit((2 * at - 1) * every, new, 0)
    trip = Record(1, tuple(visits), 0)
    return [trip], [replace(trip, visits=(*visits[:at], extra, *visits[at:]))]


AROUND = [k % 3 for k in range(40)]
HOLES = {
    "cut": (Event(), one_more(AROUND, 2, 0), LegalityRule("keep", "cut"), {}),
    "drop": (Event(), one_more(AROUND, 2, 0), LegalityRule("keep", "drop"), {}),
    "merge": (Event(), one_more([0, 0], 1, 1), LegalityRule("merge", "keep"), {}),
    "points": (Points(length=2), one_more(AROUND, 2, 0), LegalityRule("keep", "cut"), {}),
    "window": (
        Window(seconds=HOUR, max_visits=2),
        one_more(AROUND, 2, 0, 900),
        LegalityRule("keep", "cut"),
        {},
    ),
    "read merged": (Event(), one_more([0, 0], 1, 1), KEEP, {"repeats": "merge"}),
    "read dropped": (Event(), one_more([0, 1] * 20, 2, 2), KEEP, {"on_unknown": "drop-trip"}),
}


@pytest.mark.parametrize("name", HOLES)
def test_a_rule_that_nobody_charges_is_seen_to_exceed_what_is_booked(name):
    unit, pair, rule, reading = HOLES[name]
    assert "visits" in exceeded(RuleFirstGate, unit, pair, rule, RING, reading)
    assert exceeded(Gate, unit, pair, rule, RING, reading) == []
    if not isinstance(unit, Window):
        assert "visits" in exceeded(UnchargedGate, unit, pair, rule, RING, reading)


def test_a_rule_that_makes_several_trips_of_one_is_seen_to_exceed_the_unit_of_a_trip():
    pair = [], [Record(1, tuple(Visit(60 * k, 0, 0) for k in range(9)), 0)]
    rule = SplittingRule("keep", "cut")
    assert "whole trips" in exceeded(Gate, Trip(), pair, rule)
    # A rider is bounded behind the rule.
    assert exceeded(Gate, Rider(max_trips=2), pair, rule) == []


def test_the_stability_of_a_rule_is_its_own_and_depends_on_the_world():
    assert KEEP.stability(RING) == UNMOVED
    assert LegalityRule("merge", "keep").stability(RING) == MERGED
    assert LegalityRule("merge", "cut").stability(LIST) == MERGED
    assert LegalityRule("keep", "cut").stability(LIST) == UNMOVED
    for impossible in ("cut", "drop"):
        assert LegalityRule("keep", impossible).stability(RING) == PER_TRIP
    assert MERGED.then(MERGED) == Stability(1, 4)
    assert MERGED.then(PER_TRIP) == PER_TRIP


def a_long_trip():
    """Forty legal visits; with one more after the second, they are cut to two."""
    around = [k % 3 for k in range(40)]
    time = np.arange(41) * 60
    return (
        Trips.of_lists([around], RING, time=time[:40]),
        Trips.of_lists([[*around[:2], 0, *around[2:]]], RING, time=time),
    )


@pytest.mark.parametrize("unit", [Event(), Points(length=2), Window(max_visits=50, without_id="own")])
def test_a_release_refuses_a_rule_that_it_cannot_charge_before_anything_is_spent(unit):
    for trips in a_long_trip():
        with pytest.raises(ParameterError, match="a whole trip can change"):
            release(trips, TapCounts(), epsilon=1, unit=unit, rule=LegalityRule())
        assert release(trips, TapCounts(), epsilon=1, unit=unit).datasheet["private"]


@pytest.mark.parametrize(
    ("rule", "price"), [(KEEP, 2), (LegalityRule("merge", "keep"), 4), (LegalityRule(), 10)]
)
def test_a_rule_multiplies_what_a_visit_costs_and_a_whole_trip_costs_its_cap_twice(rule, price):
    sheet = release(a_long_trip()[1], TapCounts(max_visits=5), epsilon=1, unit=Event(), rule=rule).datasheet
    assert {spend["sensitivity"] for spend in sheet["spends"]} == {price}


def test_a_window_takes_trips_only_as_they_are_in_the_file():
    rows = pl.DataFrame({"trip_id": [1, 1], "stop_id": ["a", "a"], "event_time": [0, 60], "rider_id": [1, 1]})
    unit = Window(max_visits=1)
    unit.check(read_visits(rows, LIST))
    for reading in ({"repeats": "merge"}, {"on_unknown": "drop-trip"}):
        with pytest.raises(ParameterError, match="as they are in the file"):
            unit.check(read_visits(rows, LIST, **reading))
    zoned = rows.with_columns(
        event_time=pl.Series(["2024-10-27T02:50:00+02:00", "2024-10-27T02:10:00+01:00"])
    )
    with pytest.raises(ParameterError, match="as they are in the file"):
        unit.check(read_visits(zoned, LIST))
    half = rows.with_columns(rider_id=pl.Series([1, None]))
    with pytest.raises(ParameterError, match="as they are in the file"):
        unit.check(read_visits(half, LIST))


def test_a_private_choice_takes_the_rule_that_its_candidates_share_or_refuses():
    taps, steps = TapCounts(), Weave()
    assert PrivateChoice(candidates=(taps,), tolerance=9).rule(RING) == taps.rule(RING) == KEEP
    assert PrivateChoice(candidates=(steps, NoisyPrefixTree()), tolerance=9).rule(RING) == LegalityRule()
    with pytest.raises(ParameterError, match="different rules"):
        PrivateChoice(candidates=(taps, steps), tolerance=9).rule(RING)
    with pytest.raises(ParameterError, match="different rules"):
        release(
            a_long_trip()[0], PrivateChoice(candidates=(taps, steps), tolerance=9), epsilon=1, unit=Event()
        )


def test_seeded_gates_keep_the_charge_for_what_they_hand_on():
    gate = Gate(Event(), Budget(1), SeededBits(1))
    gate.bound(a_long_trip()[0], LegalityRule("merge", "keep"))
    assert gate.inner(Budget(1)).unit.sensitivity(Contribution(per_trip=None, per_visit=1)).l1 == 2


def test_the_noise_does_not_hang_on_what_is_in_the_rows():
    rows = pl.DataFrame(
        {
            "trip_id": [1, 1, 2, 2],
            "stop_id": ["a", "b", "b", "c"],
            "event_time": [0, 60, 0, 60],
            "rider_id": ["x", "x", "y", "y"],
        }
    )
    blank = pl.DataFrame({"trip_id": [1], "stop_id": ["c"], "event_time": [90], "rider_id": [None]})
    nobodys = rows.with_columns(rider_id=pl.when(pl.col("trip_id") == 2).then("rider_id"))
    named = pl.DataFrame({"trip_id": [1], "stop_id": ["c"], "event_time": [90], "rider_id": ["x"]})
    for without, more in ((rows, blank), (nobodys, named)):
        scales = []
        for table in (without, pl.concat([without, more], how="vertical_relaxed")):
            made = release(
                read_visits(table, LIST),
                TapCounts(max_visits=5, time="60"),
                epsilon=1,
                unit=Event(),
                rule=KEEP,
                bits=SeededBits(1),
            )
            scales.append([(spend["sensitivity"], spend["scale"]) for spend in made.datasheet["spends"]])
        assert scales[0] == scales[1]
        assert {sensitivity for sensitivity, _ in scales[0]} == {2}
