"""From GPS points to counts: one point or one trip more never moves counts further than the unit books, or is refused.

Before, points became trips without a word of what reading had done to them, so that every unit was charged as if a
point were a visit. One point too fast drops a whole trip, and one trip between two others makes one of three.
"""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.run import make_release as release
from wayveil.trips.history import AS_READ, PER_TRIP, UNMOVED, Stability
from wayveil.trips.point_rules import PointRules
from wayveil.trips.points import Split, read_points
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.world import World

GRID = Grid(Layout.of_counts("0,0,0.1,0.1", 10, 10))
GAP, JUMP = 600, 3000
SPLITS = {
    "pauses": Split(flag=False, gap_seconds=GAP),
    "jumps": Split(flag=False, metres=JUMP),
    "both": Split(flag=False, gap_seconds=GAP, metres=JUMP),
    "flag": Split(flag=True),
    "flag and pauses": Split(flag=True, gap_seconds=GAP),
}
# Everything is kept as it is; everything that looks at a whole trip is done.
KEEP = PointRules(
    fastest_kmh=None,
    outside="skip",
    window_seconds=None,
    fill=False,
    longer="keep",
    merge=False,
    fewest_visits=1,
)
RULES = {"kept": KEEP, "treated": PointRules(gap_seconds=400)}
COUNTS = {
    "first two visits": (lambda trip: Counter(trip[:2]), Contribution(per_trip=2, per_visit=2)),
    "whole trips": (lambda trip: Counter([tuple(trip)]), Contribution(per_trip=1)),
    "lengths": (lambda trip: Counter([len(trip)]), Contribution(per_trip=1)),
}


def rows_of(points, uid="v"):
    """(second, cell, occupied) as rows: uid, tid, datetime, lat, lng, flag."""
    return [
        f"{uid},t,2024-05-06 {8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},"
        f"{cell // 10 / 100 + 0.005:.3f},{cell % 10 / 100 + 0.005:.3f},{int(occupied)}"
        for second, cell, occupied in points
    ]


def read(folder, rows, split, rules=KEEP, *, tid=False):
    """The trips of these rows; None where no trip is left."""
    path = folder / "points.csv"
    columns = ["uid", "tid" if tid else "-", "datetime", "lat", "lng", "flag"]
    path.write_text("\n".join(rows) + "\n")
    options = {"columns": columns, "header": False, "order": "time", "repeated": "first", "riders": "none"}
    try:
        return read_points(path, GRID, split=split, rules=rules, **options)
    except InputError as error:
        if "no trip is left" not in str(error):
            raise
        return None


def moved_and_booked(unit, pair, kind):
    """How far two datasets are apart in one kind of count, and what the gate books for it."""
    moved, booked = Counter(), []
    for trips, sign in zip(pair, (1, -1), strict=True):
        if trips is None:
            continue
        gate = Gate(unit, Budget(1), SeededBits(1))
        for trip in gate.bound(trips).to_lists():
            for cell, amount in COUNTS[kind][0](trip).items():
                moved[cell] += sign * amount
        booked.append(gate.unit.sensitivity(COUNTS[kind][1]).l1)
    return sum(map(abs, moved.values())), min(booked, default=0)


def some_points(most):
    second = st.integers(0, 70).map(lambda slot: slot * 100)
    point = st.tuples(second, st.integers(0, 99), st.booleans())
    return st.lists(
        point,
        min_size=1,
        max_size=most,
        unique_by=lambda point: point[0],
    ).map(sorted)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", SPLITS)
def test_no_stretch_of_points_moves_counts_further_than_its_unit_books(tmp_path, name, rules):
    split = SPLITS[name]

    @settings(max_examples=60, deadline=None)
    @given(
        some_points(8), some_points(3), st.booleans(), st.sampled_from([Trip(), Event(), Points(length=3)])
    )
    def holds(others, new, first, unit):
        begin, end = new[0][0], new[-1][0]
        others = [point for point in others if not begin < point[0] < end]
        if isinstance(unit, Event):
            new = new[:1]
        if isinstance(unit, Trip):
            alone = read(tmp_path, rows_of(new), split)
            assume(alone is not None and len(alone) == 1)
        rows = [rows_of(new), rows_of(others)] if first else [rows_of(others), rows_of(new)]
        elsewhere = rows_of([(0, 3, True), (100, 4, True)], uid="w")
        pair = [
            read(tmp_path, each, split, RULES[rules])
            for each in ([*elsewhere, *rows_of(others)], [*elsewhere, *rows[0], *rows[1]])
        ]
        for kind in COUNTS:
            moved, booked = moved_and_booked(unit, pair, kind)
            assert moved <= booked, kind

    holds()


def line(first, cells, every=60):
    return [(first + every * i, cell, True) for i, cell in enumerate(cells)]


def test_a_trip_between_two_others_is_charged_as_the_three_that_it_makes_one_of(tmp_path):
    two = rows_of(line(0, range(5)) + line(1200, range(10, 17)))
    between = rows_of(line(700, range(20, 24)))
    pair = [read(tmp_path, rows, SPLITS["pauses"]) for rows in (two, two + between)]
    assert [len(trips) for trips in pair] == [2, 1]
    moved, booked = moved_and_booked(Trip(), pair, "lengths")
    assert moved == 3
    assert booked == 3


def test_a_jump_parts_a_trip_and_is_charged(tmp_path):
    one = line(0, [0, 1, 2]) + line(600, [2, 1, 0])
    far = line(300, [88, 89])
    pair = [read(tmp_path, rows_of(rows), SPLITS["jumps"]) for rows in (one, one + far)]
    assert [len(trips) for trips in pair] == [1, 3]
    moved, booked = moved_and_booked(Trip(), pair, "whole trips")
    assert moved == 4
    assert booked >= 4


def test_one_point_too_fast_is_charged_as_the_whole_trip_that_it_drops(tmp_path):
    way = line(0, [10 * row + (i if row % 2 else 9 - i) for row in range(4) for i in range(10)][:36])
    rows = rows_of(way)
    fast = rows_of([(1000, 99, True)])
    slow = PointRules(fastest_kmh=150, merge=False)
    elsewhere = rows_of(line(0, [50, 51]), uid="w")
    trips = [
        read(tmp_path, each, Split(flag=False), slow, tid=True)
        for each in (rows + elsewhere, rows + fast + elsewhere)
    ]
    dropped = trips[0].visits - trips[1].visits
    assert dropped > 30
    sheet = release(
        trips[0],
        TapCounts(max_visits=40, time="60"),
        epsilon=1,
        unit=Event(),
        bits=SeededBits(1),
        rows="calls",
    ).datasheet
    assert {spend["sensitivity"] for spend in sheet["spends"]} == {2 * 40}
    with pytest.raises(ParameterError, match="nothing bounds how many"):
        release(trips[0], TapCounts(time="60"), epsilon=1, unit=Event(), bits=SeededBits(1), rows="calls")


def test_a_window_takes_no_points(tmp_path):
    trips = read(tmp_path, rows_of(line(0, range(5))), Split(flag=False), tid=True)
    with pytest.raises(ParameterError, match="points made visits"):
        Window(max_visits=1, without_id="own").check(trips)


def test_named_trips_that_are_split_further_have_no_unit_trip_and_leave_the_ledger_as_it_was(tmp_path):
    rows = rows_of(line(0, range(5)) + line(2000, range(5)))
    trips = read(tmp_path, rows, Split(flag=False, gap_seconds=GAP), tid=True)
    assert trips.history.stability == Stability(None, None)
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("points", Policy(10, unit="trip"), actor="officer")
    before = len(list(ledger.entries()))
    for unit in (Trip(), Event()):
        with pytest.raises(ParameterError, match="Split or name them, not both"):
            release(trips, epsilon=1, unit=unit, ledger=ledger, dataset="points")
    assert len(list(ledger.entries())) == before
    assert Rider(max_trips=2).after(trips.history.stability) == Rider(max_trips=2)


def test_a_split_fits_neither_the_day_of_a_rider_nor_a_training(tmp_path):
    trips = read(tmp_path, rows_of(line(0, range(5))), SPLITS["pauses"])
    with pytest.raises(ParameterError, match="another day"):
        RiderDay().after(trips.history.stability)
    with pytest.raises(ParameterError, match="a training covers one trip"):
        release(trips, DpLoc(hidden=8), epsilon=1, unit=Trip(), bits=SeededBits(1))


def test_the_datasheet_says_what_a_trip_of_a_split_is(tmp_path):
    trips = read(tmp_path, rows_of(line(0, range(5)) * 1), SPLITS["pauses"])
    made = release(trips, TapCounts(max_visits=3, time="60"), epsilon=1, unit=Trip(), bits=SeededBits(1))
    assert "noise covers 3 trips" in made.datasheet["guarantee"]["neighbours"]
    named = read(tmp_path, rows_of(line(0, range(5))), Split(flag=False), tid=True)
    made = release(named, TapCounts(max_visits=3, time="60"), epsilon=1, unit=Trip(), bits=SeededBits(1))
    assert made.datasheet["guarantee"]["neighbours"] == "two datasets of which one has one trip more"


def test_trips_of_which_nobody_says_how_they_were_made_count_as_changed_as_a_whole():
    world = World.of_symbols("abc")
    by_hand = Trips.of_lists([[0, 1, 2]], world)
    assert by_hand.history == AS_READ
    assert by_hand.history.stability == UNMOVED
    assert Trips(by_hand.location, by_hand.offsets, world).history.stability == PER_TRIP
