"""No neighbour of any unit's own kind moves bounded counts further than the unit says, and every broken bound does.

Neighbours are made by hypothesis. The words that decide which contributions are counted belong to trips and visits,
so that both datasets use the same words for what they share: keyed words stand aside for words that hypothesis chooses.
"""

import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.privacy import choosing
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution, Sensitivity
from wayveil.privacy.units import DAY, Event, Points, Rider, RiderDay, Trip, Window
from wayveil.privacy.weights import PARTS
from wayveil.trips.trips import Trips
from wayveil.world.world import World

WORLD = World.of_symbols(["a", "b", "c"])
HEIGHT = 3
WORDS = st.integers(0, 9)


@dataclass(frozen=True)
class Visit:
    time: int
    location: int
    word: int


@dataclass(frozen=True)
class Record:
    """A trip. What stands in both of two neighbours has the same number in both, as rows of a file keep their ids."""

    rider: int
    visits: tuple[Visit, ...]
    word: int
    number: int = field(default_factory=itertools.count().__next__, compare=False, repr=False)


def plain_trips(records):
    return Trips.of_lists(
        [[visit.location for visit in record.visits] for record in records],
        WORLD,
        time=np.array([visit.time for record in records for visit in record.visits], np.int64),
        rider=np.array([record.rider for record in records], np.int64),
    )


def bounded(unit, records):
    trips = plain_trips(records)
    by_visit = [visit.word for record in records for visit in record.visits]
    chosen = np.array(by_visit if isinstance(unit, Window) else [r.word for r in records], np.uint64)
    with patch.object(choosing, "keyed_words", lambda key, name, item=None: chosen):
        return unit.bound(trips, SeededBits(0))


# Kinds of counts: a name, the counts of one trip, and what the trip and a visit contribute at most.


def visits_of(trip):
    return Counter(trip[:HEIGHT])


def all_visits_of(trip):
    return Counter(trip)


def prefixes_of(trip):
    return Counter(tuple(trip[:k]) for k in range(1, min(len(trip), HEIGHT) + 1))


def length_of(trip):
    return Counter([len(trip)])


def parity_of(trip):
    return Counter({"score": 1 if len(trip) % 2 else -1})


COUNTS = {
    # A visit more can push another one over the cut.
    "visits": (visits_of, Contribution(per_trip=HEIGHT, per_visit=2)),
    "prefixes": (prefixes_of, Contribution(per_trip=HEIGHT, per_cell=1)),
    "lengths": (length_of, Contribution(per_trip=1)),
}
ALL_VISITS = (all_visits_of, Contribution(per_trip=10**6, per_visit=1))


def change(unit, pair, count):
    """L1 and L-infinity distance of the counts of two datasets."""
    difference: Counter = Counter()
    for records, sign in zip(pair, (1, -1), strict=True):
        trips = bounded(unit, records)
        weights = [1] * len(trips) if trips.weight is None else trips.weight.tolist()
        for trip, weight in zip(trips.to_lists(), weights, strict=True):
            for cell, amount in count(trip).items():
                difference[cell] += sign * amount * weight
    sizes = [abs(value) for value in difference.values()]
    return Sensitivity(sum(sizes), max(sizes, default=0))


def in_parts(unit, contribution):
    return contribution.times(PARTS) if unit.weighs else contribution


def exceeds(unit, pair, count, contribution):
    found, bound = change(unit, pair, count), unit.sensitivity(in_parts(unit, contribution))
    return found.l1 > bound.l1 or found.linf > bound.linf or found.l2_squared > bound.l2_squared


# Datasets and neighbours.

HOUR = 3600
times = st.integers(0, 71).map(lambda hour: hour * HOUR)
visits = st.builds(Visit, times, st.integers(0, 2), WORDS)


def trips_by(riders, most=5):
    def ordered(found):
        return tuple(sorted(found, key=lambda visit: visit.time))

    return st.builds(Record, riders, st.lists(visits, max_size=most).map(ordered), WORDS)


datasets = st.lists(trips_by(st.integers(-1, 2)), max_size=6)


def inserted(draw, base, extra):
    out = list(base)
    for record in extra:
        out.insert(draw(st.integers(0, len(out))), record)
    return out


@st.composite
def trip_more(draw):
    base = draw(datasets)
    return base, inserted(draw, base, [draw(trips_by(st.integers(-1, 2)))])


@st.composite
def rider_more(draw):
    base = draw(datasets)
    if draw(st.booleans()):
        return base, inserted(draw, base, [draw(trips_by(st.just(-1)))])
    return base, inserted(draw, base, draw(st.lists(trips_by(st.just(7)), max_size=6)))


def rider_day_more(most=5):
    def begins(record):
        return record.visits[0].time // DAY if record.visits else None

    @st.composite
    def pairs(draw):
        base, rider, day = (
            draw(st.lists(trips_by(st.integers(-1, 2), most), max_size=6)),
            0,
            draw(st.integers(0, 2)),
        )
        base = [record for record in base if not (record.rider == rider and begins(record) == day)]
        found = draw(st.lists(trips_by(st.just(rider), most), max_size=6))
        return base, inserted(draw, base, [record for record in found if begins(record) == day])

    return pairs()


def points_more(length):
    @st.composite
    def pairs(draw):
        base = draw(datasets.filter(bool))
        which = draw(st.integers(0, len(base) - 1))
        old = base[which].visits
        at = draw(st.integers(0, len(old)))
        extra = draw(st.lists(visits, max_size=length))
        changed = replace(base[which], visits=(*old[:at], *extra, *old[at:]))
        return base, [*base[:which], changed, *base[which + 1 :]]

    return pairs()


def window_more(seconds):
    @st.composite
    def pairs(draw):
        base, rider = list(draw(datasets)), draw(st.integers(0, 2))
        start = draw(times)
        within = st.builds(
            Visit, st.integers(0, seconds - 1).map(lambda s: start + s), st.integers(0, 2), WORDS
        )
        after = list(base)
        own = [i for i, record in enumerate(after) if record.rider == rider]
        for i in own:
            joined = (*after[i].visits, *draw(st.lists(within, max_size=3)))
            after[i] = replace(after[i], visits=tuple(sorted(joined, key=lambda visit: visit.time)))
        fresh = draw(st.lists(st.lists(within, min_size=1, max_size=2), max_size=6))
        new = [Record(rider, tuple(sorted(v, key=lambda visit: visit.time)), draw(WORDS)) for v in fresh]
        return base, inserted(draw, after, new)

    return pairs()


UNITS = {
    "trip": (Trip(), trip_more()),
    "rider": (Rider(max_trips=2, without_id="own"), rider_more()),
    "rider-weighed": (Rider(max_trips=2, without_id="own", bounding="weights"), rider_more()),
    "rider-drop": (Rider(max_trips=2, without_id="drop"), rider_more()),
    "rider-drop-weighed": (Rider(max_trips=2, without_id="drop", bounding="weights"), rider_more()),
    "rider-day": (RiderDay(max_trips=2, without_id="own"), rider_day_more()),
    "rider-day-weighed": (RiderDay(max_trips=2, without_id="own", bounding="weights"), rider_day_more()),
    "rider-day-short": (RiderDay(max_trips=1, without_id="own"), rider_day_more(most=1)),
    "event": (Event(), points_more(1)),
    "points": (Points(length=3), points_more(3)),
    "window": (Window(seconds=5 * HOUR, max_visits=1, without_id="own"), window_more(5 * HOUR)),
    "window-drop": (Window(seconds=5 * HOUR, max_visits=1, without_id="drop"), window_more(5 * HOUR)),
    "window-2": (Window(seconds=5 * HOUR, max_visits=2, without_id="own"), window_more(5 * HOUR)),
}


@pytest.mark.parametrize("name", UNITS)
def test_no_neighbour_moves_counts_or_scores_further_than_the_unit_says(name):
    unit, neighbours = UNITS[name]
    of_visits = isinstance(unit, Points | Window)

    @settings(max_examples=120)
    @given(neighbours)
    def holds(pair):
        for count, contribution in [*COUNTS.values(), *([ALL_VISITS] if of_visits else [])]:
            assert not exceeds(unit, pair, count, contribution)
        assert change(unit, pair, parity_of).linf <= unit.utility_sensitivity(
            in_parts(unit, Contribution(per_trip=1))
        )

    holds()


class Unbounded:
    """The bound is forgotten."""

    def bound(self, trips, bits):
        return trips


class UnboundedRider(Unbounded, Rider):
    pass


class UnboundedRiderDay(Unbounded, RiderDay):
    pass


class UnboundedWindow(Unbounded, Window):
    pass


class CommonChoice(Rider):
    """Which trips stay depends on the trips of others."""

    def bound(self, trips, bits):
        order = np.argsort(choosing.keyed_words(None, trips.names()), kind="stable")
        kept = np.zeros(len(trips), bool)
        kept[order[: self.max_trips * 2]] = True
        return trips.take(kept)


class RoundedUp(Rider):
    """Weights are rounded up, so that three trips count a little more than two whole ones."""

    def bound(self, trips, bits):
        weighed = super().bound(trips, bits)
        return replace(weighed, weight=np.minimum(weighed.weight + 1, PARTS))


class SquareRootWeights(Rider):
    """Weights fall more slowly than a rider's trips grow."""

    def bound(self, trips, bits):
        weighed = super().bound(trips, bits)
        return replace(weighed, weight=np.sqrt(weighed.weight * PARTS).astype(np.int64))


class WeighedByOthers(Rider):
    """All trips weigh what the mean number of trips of a rider makes of them."""

    def bound(self, trips, bits):
        weighed = super().bound(trips, bits)
        return replace(
            weighed, weight=np.full(len(weighed), int(weighed.weight.mean()) if len(weighed) else 0)
        )


class BoundFromRows(Rider):
    """The bound is what the busiest rider of the file has."""

    def bound(self, trips, bits):
        known = trips.rider[trips.rider >= 0]
        busiest = int(np.bincount(known).max()) if len(known) else 1
        return Rider(max_trips=busiest, without_id=self.without_id, bounding="weights").bound(trips, bits)


class BorrowedDay(RiderDay):
    """An empty trip takes the day of whatever comes next in the file."""

    def groups(self, trips):
        first = np.minimum(trips.offsets[:-1], max(trips.visits - 1, 0))
        day = trips.time[first] // DAY if trips.visits else np.zeros(len(trips), np.int64)
        return np.where(trips.rider >= 0, trips.rider * 1000 + day, -1)


class EmptyTripsKept(Window):
    """Trips whose visits were all cut are still there to be counted."""

    def bound(self, trips, bits):
        kept = super().bound(trips, bits)
        empty = Trips.of_lists([[] for _ in range(len(trips) - len(kept))], WORLD)
        return Trips.of_lists(kept.to_lists() + empty.to_lists(), WORLD)


class NothingGoesOut(Window):
    """Counts the visits that come in and forgets those that they displace."""

    def sensitivity(self, contribution):
        whole = super().sensitivity(contribution)
        return Sensitivity(whole.l1 // 2, whole.linf)


class OnlyAdded(Points):
    """Forgets that the trip as it was is gone."""

    def sensitivity(self, contribution):
        return Sensitivity(contribution.per_trip, contribution.per_cell)


class OneVisit(Points):
    """Forgets that there are several points."""

    def sensitivity(self, contribution):
        return Event().sensitivity(contribution)


BROKEN = {
    "rider not bounded": (
        UnboundedRider(max_trips=2, without_id="own"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "rider-day not bounded": (
        UnboundedRiderDay(max_trips=2, without_id="own"),
        rider_day_more(),
        COUNTS["lengths"],
    ),
    "window not bounded": (UnboundedWindow(seconds=5 * HOUR), window_more(5 * HOUR), ALL_VISITS),
    "choice among all": (
        CommonChoice(max_trips=1, without_id="own"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "weights rounded up": (
        RoundedUp(max_trips=2, without_id="own", bounding="weights"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "weights that do not add up": (
        SquareRootWeights(max_trips=2, without_id="own", bounding="weights"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "weights from others": (
        WeighedByOthers(max_trips=2, without_id="own", bounding="weights"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "bound from the rows": (
        BoundFromRows(max_trips=2, without_id="own", bounding="weights"),
        rider_more(),
        COUNTS["lengths"],
    ),
    "day borrowed": (
        BorrowedDay(max_trips=1, without_id="own"),
        rider_day_more(most=1),
        COUNTS["lengths"],
    ),
    "empty trips kept": (
        EmptyTripsKept(seconds=5 * HOUR, without_id="own"),
        window_more(5 * HOUR),
        COUNTS["lengths"],
    ),
    "displaced visits forgotten": (
        NothingGoesOut(seconds=5 * HOUR, without_id="own"),
        window_more(5 * HOUR),
        ALL_VISITS,
    ),
    "old trip forgotten": (OnlyAdded(length=1), points_more(1), COUNTS["lengths"]),
    "one point of three": (OneVisit(length=3), points_more(3), ALL_VISITS),
    "cut forgotten": (
        Event(),
        points_more(1),
        (visits_of, replace(COUNTS["visits"][1], per_visit=1)),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_bound_is_seen_to_be_exceeded(name):
    unit, neighbours, (count, contribution) = BROKEN[name]
    pair = find(
        neighbours,
        lambda pair: exceeds(unit, pair, count, contribution),
        settings=settings(max_examples=5000, phases=[Phase.generate]),
    )
    assert exceeds(unit, pair, count, contribution)


def test_the_bound_of_a_window_is_reached():
    # Two visits displace one each, in two windows that an unaligned one meets.
    unit = Window(seconds=10, max_visits=1)
    old = Record(0, (Visit(0, 0, 5), Visit(19, 0, 5)), 0)
    new = Record(0, (Visit(9, 1, 1), Visit(10, 2, 1)), 0)
    assert change(unit, ([old], [old, new]), all_visits_of).l1 == unit.sensitivity(ALL_VISITS[1]).l1 == 4


def test_a_replaced_trip_moves_a_score_twice_as_far_as_a_count():
    one, two = [Record(0, (Visit(0, 0, 0),), 0)], [Record(0, (Visit(0, 0, 0), Visit(0, 1, 0)), 0)]
    assert change(Event(), (one, two), parity_of).linf == 2
    assert Event().sensitivity(Contribution(per_trip=1)).linf == 1
    assert Event().utility_sensitivity(Contribution(per_trip=1)) == 2


# What is kept, and by chance.


def rider_trips(count, rider=4):
    lists = [[k % 3] for k in range(count)]
    return Trips.of_lists(lists, WORLD, rider=np.full(count, rider), time=np.arange(count, dtype=np.int64))


def test_every_trip_of_a_rider_is_as_likely_to_be_counted():
    trips, bits = rider_trips(5), SeededBits(1)
    kept = Counter(int(t) for _ in range(3000) for t in Rider(max_trips=2).bound(trips, bits).time)
    assert sum(kept.values()) == 6000
    assert all(abs(kept[k] - 1200) < 150 for k in range(5))


def test_a_rider_below_the_bound_keeps_everything():
    trips = rider_trips(3)
    assert Rider(max_trips=3).bound(trips, SeededBits(1)) is trips


def test_trips_without_an_id_are_refused_unless_the_choice_is_made():
    trips = rider_trips(6, rider=-1)
    for unit in (Rider(), RiderDay(), Window()):
        with pytest.raises(ParameterError, match=r"rider id.*--no-rider"):
            unit.bound(trips, SeededBits(1))
        assert len(replace(unit, without_id="own").bound(trips, SeededBits(1))) == 6
        assert len(replace(unit, without_id="drop").bound(trips, SeededBits(1))) == 0


@pytest.mark.parametrize("kind", [Rider, RiderDay, Window])
def test_the_sentence_says_what_became_of_trips_without_an_id(kind):
    assert "without a rider id" not in kind().neighbours
    assert "left out" in kind(without_id="drop").neighbours
    assert "a rider of its own" in kind(without_id="own").neighbours
    assert kind(without_id="own").describe()["bounds"]["without_id"] == "own"


def test_a_window_without_riders_is_refused_unless_every_trip_is_taken_for_a_rider():
    trips = replace(rider_trips(6), rider=None)
    for word in ("refuse", "drop"):
        with pytest.raises(ParameterError, match="rider column"):
            Window(without_id=word).bound(trips, SeededBits(1))
    assert len(Window(max_visits=1, without_id="own").bound(trips, SeededBits(1))) == 6


@settings(max_examples=60)
@given(datasets, st.integers(0, 2**32), st.sampled_from(sorted(UNITS)), st.randoms())
def test_the_same_key_chooses_the_same_in_any_order_and_any_pieces(records, seed, name, random):
    unit, trips = UNITS[name][0], plain_trips(records)
    # As trips of a file, which brings their names.
    trips = replace(trips, name=trips.names())
    key = unit.choice_key(SeededBits(seed))
    whole = unit.cut(trips, key)
    order = list(range(len(trips)))
    random.shuffle(order)
    shuffled = unit.cut(trips.take(np.array(order, np.int64)), key)
    assert sorted(zip(shuffled.names(), shuffled.to_lists(), strict=True)) == sorted(
        zip(whole.names(), whole.to_lists(), strict=True)
    )
    # Pieces of whole riders; trips without an id are riders of their own.
    pieces = [trips.take(trips.rider == rider) for rider in np.unique(trips.rider)]
    cut = [unit.cut(piece, key) for piece in pieces]
    assert sorted(
        (n, t) for part in cut for n, t in zip(part.names(), part.to_lists(), strict=True)
    ) == sorted(zip(whole.names(), whole.to_lists(), strict=True))


def test_a_choice_drawn_again_on_retry_counts_more_than_the_bound():
    # Two tasks of a count; the second is lost and done again, and its results are added to those of the first.
    trips, unit = rider_trips(40), Rider(max_trips=2)
    named = replace(trips, name=trips.names())
    key = unit.choice_key(SeededBits(1))
    again = {name for draw in range(2) for name in unit.cut(named, key).names().tolist()}
    assert len(again) == 2
    drawn = {name for draw in range(2) for name in unit.bound(named, SeededBits(draw)).names().tolist()}
    assert len(drawn) > 2


def test_no_trips_stay_no_trips():
    nothing = Trips.of_lists([], WORLD, rider=np.array([], np.int64), time=np.array([], np.int64))
    for unit, _ in UNITS.values():
        assert len(unit.bound(nothing, SeededBits(1))) == 0


@pytest.mark.parametrize(
    ("unit", "missing"),
    [(Rider(), "rider"), (RiderDay(), "rider"), (RiderDay(), "time"), (Window(), "time")],
)
def test_a_unit_says_which_column_it_needs(unit, missing):
    with pytest.raises(ParameterError, match="bring a" if missing == "time" else "rider column"):
        unit.bound(replace(rider_trips(2), **{missing: None}), SeededBits(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Trip(max_trips=2),
        lambda: Rider(max_trips=0),
        lambda: Rider(without_id="keep"),
        lambda: RiderDay(max_trips=0),
        lambda: Points(length=0),
        lambda: Event(length=2),
        lambda: Window(seconds=0),
        lambda: Window(max_visits=0),
        lambda: Contribution(per_trip=0),
        lambda: Contribution(per_trip=1, per_visit=0),
        lambda: Contribution(per_trip=1, per_cell=-1),
    ],
)
def test_a_unit_or_contribution_without_a_bound_cannot_be_made(make):
    with pytest.raises(ParameterError):
        make()


def test_a_contribution_that_does_not_say_how_it_spreads_may_lie_in_one_cell():
    assert Trip().sensitivity(Contribution(per_trip=5)).l2_squared == 25
    assert Trip().sensitivity(Contribution(per_trip=5, per_cell=1)).l2_squared == 5


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_says_who_the_neighbours_are(name):
    unit, _ = UNITS[name]
    described = unit.describe()
    assert described["neighbours"].startswith("two datasets of which one has")
    assert name.startswith(described["unit"])
    assert type(unit)(**described["bounds"]) == unit


@pytest.mark.parametrize("named", [True, False], ids=["named in the file", "named by its visits"])
def test_visits_more_in_one_window_change_no_word_in_another(named):
    """Else a visit more in one hour would choose other visits in every later one, which no bound covers."""
    name = np.array([77], np.uint64) if named else None
    less = [(0, 10), (1, 20), (2, 3700), (3, 3800), (4, 7300), (5, 7400)]
    more = [(0, 10), (1, 20), (6, 30), (6, 40), *less[2:]]  # two more in the first hour
    before = [(6, -3000), *less]  # or an hour in front of all
    words = []
    for visits in (less, more, before):
        place, time = (np.array(column, np.int64) for column in zip(*visits, strict=True))
        trips = Trips(
            place.astype(np.int32),
            np.array([0, len(visits)]),
            World.of_symbols("abcdefg"),
            time,
            np.array([3]),
            name=name,
        )
        found = choosing.words_within(trips, time // 3600, np.array([5, 6], np.uint64))
        words.append(dict(zip(time.tolist(), found.tolist(), strict=True)))
    for changed, same in ((words[1], (3700, 3800, 7300, 7400)), (words[2], [time for _, time in less])):
        assert [changed[time] for time in same] == [words[0][time] for time in same]
    assert len(set(words[0].values())) == len(less), "and every visit has a word of its own"
