"""Who is protected: the privacy unit, its neighbours, and the bound on what one unit can do to a count.

A unit is a frozen object. It says in words which two datasets are neighbours, cuts every unit's contribution
down to its bound before anything is counted (`bound`), and turns "how one trip or visit moves this count"
(`Contribution`) into the sensitivity that the noise must cover (`sensitivity`). No mechanism types a
sensitivity in by hand.

Choosing which contributions stay is a rule per unit that looks at keyed words of that unit's own trips (`identity`),
so bounding keeps the distance between neighbours: whatever the key, only the changed unit differs. The key comes from
the secure bits, lives for one run and is never stored. Work that is done again, in another piece of the data or on
another machine, chooses the same: a choice that is drawn again would count other trips of a unit the second time, and
what was counted of it would have no bound.

A rule per trip stands between the file and the counts (`LegalityRule`). Units of trips apply it first and bound what
it leaves. Units of visits bound first, because a rule can carry a change out of the window that is bounded; what the
rule then moves, its stability, multiplies what they pay (`counted`, `Contribution.after`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wayveil.disclosures import HALF_NAMED, MISSING_RIDER
from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.choosing import keep_at_most, pair_codes, words_of_trips, words_within
from wayveil.privacy.contributions import Contribution, Sensitivity
from wayveil.privacy.weights import MOST_ROWS, weigh
from wayveil.trips.history import UNMOVED, Stability
from wayveil.trips.identity import Words
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips

DAY = 86_400

# How the trips of a rider are bounded: some are drawn, or all of them weigh less.
Bounding = Literal["draw", "weights"]
# What becomes of trips without a rider id.
WithoutId = Literal["refuse", "drop", "own"]
_WITHOUT_ID = {
    "refuse": "",
    "drop": "; trips without a rider id are left out",
    "own": (
        "; a trip without a rider id counts as a rider of its own, so that whoever made several of them is protected "
        "for each one alone"
    ),
}


@dataclass(frozen=True)
class Unit(ABC):
    """Base of all privacy units. `stability` is that of the steps before counting; `after` sets it."""

    name: ClassVar[str]
    # Whether some of a unit's contributions are chosen, which takes a key.
    chooses: ClassVar[bool] = True
    stability: Stability = field(default=UNMOVED, kw_only=True, repr=False)

    @property
    def weighs(self) -> bool:
        """Tell whether each trip counts with a weight in whole parts, so that counts are in parts too."""
        return False

    @property
    @abstractmethod
    def neighbours(self) -> str:
        """Which two datasets the guarantee compares, in a sentence."""

    def choice_key(self, bits: Bits) -> Words:
        """The key of one run, for all its trips."""
        return bits.words(2).copy() if self.chooses else np.zeros(2, np.uint64)

    def bound(self, trips: Trips, bits: Bits) -> Trips:
        """Cut every unit's contribution to its bound. The output is as sensitive as the input: count it."""
        return self.cut(trips, self.choice_key(bits))

    @abstractmethod
    def cut(self, trips: Trips, key: Words) -> Trips:
        """Return it with the key of the run, for all trips of some units: a piece may hold any units, but whole
        ones.
        """

    @abstractmethod
    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        """Return how far one unit can move such a count after bounding and the steps before it."""

    @abstractmethod
    def counted(self, trips: Trips, rule: LegalityRule, key: Words) -> Trips:
        """The trips that are counted: bounded and as the rule leaves them, in the order that is sound. A piece may hold
        any units, but whole ones.
        """

    def check(self, trips: Trips) -> None:
        """Refuse trips that lack what the unit needs to know, before anything is spent."""
        self.after(trips.history.stability)

    def after(self, stability: Stability) -> "Unit":
        """Return the same unit, whose neighbours went through steps of this stability; refuses what has no bound."""
        if stability.trips is None:
            raise ParameterError(
                f"reading made any number of trips of one, so that the unit `{self.name}` has no bound: these points "
                "have names of trips ('trip_id') and are split further. Split or name them, not both, or protect the "
                "`rider`"
            )
        return replace(self, stability=stability)

    def utility_sensitivity(self, contribution: Contribution) -> int:
        """Return how far one unit can move any single score, where `per_cell` is how far one trip can.

        Scores, unlike counts, may rise with one trip and fall with another, so a replaced trip moves them
        twice: each score is a vector of one cell, for which the L1 distance is the change itself.
        """
        return self.sensitivity(replace(contribution, per_trip=contribution.per_cell or None)).l1

    def describe(self) -> dict[str, object]:
        """For the datasheet."""
        unsaid = {"stability"} if self.weighs else {"stability", "bounding", "most_rows"}
        bounds = {name: value for name, value in vars(self).items() if name not in unsaid}
        return {"unit": self.name, "neighbours": self.neighbours, "bounds": bounds}


@dataclass(frozen=True)
class _TripsUnit(Unit):
    """A unit that owns at most `max_trips` whole trips after bounding."""

    max_trips: int = 1

    def __post_init__(self) -> None:
        if self.max_trips < 1:
            raise ParameterError(f"max_trips must be at least 1, not {self.max_trips}")

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return contribution.after(self.stability).of_trips(self.max_trips, cells=self.max_trips)

    def counted(self, trips: Trips, rule: LegalityRule, key: Words) -> Trips:
        return self.cut(rule.apply(trips), key)


@dataclass(frozen=True)
class Trip(_TripsUnit):
    """One trip. Somebody who made ten trips is protected ten times less than the stated epsilon.

    >>> wv.Trip().describe()["unit"]
    'trip'
    """

    name = "trip"
    chooses: ClassVar[bool] = False
    max_trips: int = 1

    def __post_init__(self) -> None:
        if self.max_trips != 1:
            raise ParameterError("the unit `trip` is one trip; use Rider(max_trips=...) to protect several")

    @property
    def neighbours(self) -> str:
        more = "two datasets of which one has one trip more"
        if self.stability.trips == 1:
            return more
        return (
            f"{more}: a stretch of points of one vehicle or person, by itself one trip, which can join or part the "
            f"trips around it, so that noise covers {self.stability.trips} trips"
        )

    def cut(self, trips: Trips, key: Words) -> Trips:
        return trips


@dataclass(frozen=True)
class Rider(_TripsUnit):
    """Everything that one rider did, which counts as at most `max_trips` trips.

    With `bounding="draw"`, max_trips of them are counted, chosen at random. With `"weights"` each of m trips counts as
    min(1, max_trips / m) of one (see `weights`); the number of all trips is then bought too, in which a rider is at
    most `most_rows`. Either way a rider moves a histogram by at most what max_trips whole trips do.

    Trips without a rider id are refused (`without_id="refuse"`), left out (`"drop"`), or each a rider of its own
    (`"own"`). A person behind several of the latter has no protection as a person, and the datasheet says so.

    >>> wv.Rider(max_trips=2).describe()["bounds"]["max_trips"]
    2
    """

    name = "rider"
    max_trips: int = 1
    without_id: WithoutId = "refuse"
    bounding: Bounding = "draw"
    most_rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_without_id(self.without_id)
        if self.bounding not in get_args(Bounding):
            raise ParameterError(f"bounding must be 'draw' or 'weights', not {self.bounding!r}")
        if self.most_rows < 1:
            raise ParameterError(f"most_rows must be at least 1, not {self.most_rows}")

    @property
    def weighs(self) -> bool:
        return self.bounding == "weights"

    @property
    def neighbours(self) -> str:
        more = "two datasets of which one has one rider more, with all of that rider's trips"
        return more + _WITHOUT_ID[self.without_id]

    def groups(self, trips: Trips) -> NDArray[np.int64]:
        """The unit that each trip belongs to; -1 = its own."""
        self.check(trips)
        assert trips.rider is not None
        return trips.rider

    def check(self, trips: Trips) -> None:
        if trips.rider is None:
            raise ParameterError(
                f"the unit `{self.name}` needs a rider id for each trip, and these trips have none; "
                "bring a rider column or use the unit `trip`"
            )
        _refuse_missing_ids(self.name, self.without_id, trips.rider)

    def after(self, stability: Stability) -> "Rider":
        # A rider is bounded behind the rule: however many trips it makes of one, max_trips of them are counted.
        return self

    def cut(self, trips: Trips, key: Words) -> Trips:
        return self._weighed(trips) if self.weighs else self._drawn(trips, key)

    def _weighed(self, trips: Trips) -> Trips:
        """Trips with their weights, the heaviest first, so that trips of one weight stand together."""
        groups = self.groups(trips)
        stay = trips.lengths > 0
        if self.without_id == "drop":
            stay &= groups >= 0
        if not stay.all():
            trips, groups = trips.take(stay), groups[stay]
        weight = weigh(groups, self.max_trips)
        order = np.argsort(-weight, kind="stable")
        trips = trips if np.all(order[1:] > order[:-1]) else trips.take(order)
        return replace(trips, weight=weight[order])

    def _drawn(self, trips: Trips, key: Words) -> Trips:
        groups = self.groups(trips)
        kept = keep_at_most(groups, self.max_trips, words_of_trips(trips, key))
        if self.without_id == "drop":
            kept &= groups >= 0
        return trips if kept.all() else trips.take(kept)


@dataclass(frozen=True)
class RiderDay(Rider):
    """Unit of what one rider did on one day: trips belong to the day on which they begin.

    >>> wv.RiderDay(max_trips=2).name
    'rider-day'
    """

    name = "rider-day"

    @property
    def neighbours(self) -> str:
        more = "two datasets of which one has one day of one rider more, with all trips that begin on it"
        return more + _WITHOUT_ID[self.without_id]

    def check(self, trips: Trips) -> None:
        super().check(trips)
        if trips.time is None:
            raise ParameterError(
                "the unit `rider-day` needs times; bring a time column or use the unit `rider`"
            )
        self.after(trips.history.stability)

    def after(self, stability: Stability) -> "RiderDay":
        if stability.trips != 1:
            raise ParameterError(
                "trips that are made by a split, or that a rule makes several of, can move to another day; use the "
                "unit `rider` for them"
            )
        return self

    def groups(self, trips: Trips) -> NDArray[np.int64]:
        riders = super().groups(trips)
        assert trips.time is not None
        # A trip without visits has no day. It must not borrow that of the next trip, maybe of another rider.
        day = np.full(len(trips), np.iinfo(np.int64).min)
        begun = trips.lengths > 0
        day[begun] = trips.time[trips.offsets[:-1][begun]] // DAY
        return np.where(riders >= 0, pair_codes(riders, day), -1)


@dataclass(frozen=True)
class Points(Unit):
    """Any `length` consecutive visits of one trip; `length=1` protects single events only.

    >>> wv.Points(length=3).length
    3
    """

    name = "points"
    chooses: ClassVar[bool] = False
    length: int = 1

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ParameterError(f"the number of consecutive points must be at least 1, not {self.length}")

    @property
    def neighbours(self) -> str:
        return f"two datasets of which one has up to {self.length} consecutive visits more in one trip"

    def cut(self, trips: Trips, key: Words) -> Trips:
        return _with_visits(trips)

    def counted(self, trips: Trips, rule: LegalityRule, key: Words) -> Trips:
        return _with_visits(rule.apply(self.cut(trips, key)))

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        contribution = contribution.after(self.stability)
        # Without a bound per visit, the changed trip counts as one trip removed and one added.
        if contribution.per_visit is None:
            return contribution.of_trips(2, cells=1)
        distance = self.length * contribution.per_visit
        return Sensitivity(distance, distance, contribution.euclidean)


@dataclass(frozen=True)
class Event(Points):
    """One visit: one tap, one stop of one trip. Hides a single event, not a journey and not a person.

    >>> wv.Event().name
    'event'
    """

    name = "event"
    length: int = 1

    def __post_init__(self) -> None:
        if self.length != 1:
            raise ParameterError("the unit `event` is one visit; use Points(length=...) to protect several")

    @property
    def neighbours(self) -> str:
        return "two datasets of which one has one visit more"


@dataclass(frozen=True)
class Window(Unit):
    """All visits of one rider inside any window of `seconds`.

    At most `max_visits` of a rider are counted in each window that is aligned to the clock.

    Any window meets at most two aligned ones. In each of them the added visits can take the place of counted
    ones: at most max_visits come in and at most max_visits go out, so 4 x max_visits counted visits can
    change in all. Trips without a rider id are refused (`without_id="refuse"`), left out (`"drop"`), or each treated
    as a rider's only trip (`"own"`).

    A rule per trip comes after the bound. Before it, visits inside the window could cut any number of trips that go on
    outside: for the same reason trips are refused that were changed while reading.

    >>> wv.Window(seconds=3600, max_visits=2).seconds
    3600
    """

    name = "window"
    seconds: int = DAY
    max_visits: int = 1
    without_id: WithoutId = "refuse"

    def __post_init__(self) -> None:
        if self.seconds < 1 or self.max_visits < 1:
            raise ParameterError("a window needs at least one second and at least one visit")
        _check_without_id(self.without_id)

    @property
    def neighbours(self) -> str:
        return (
            f"two datasets of which one has more visits of one rider, "
            f"all inside some window of {self.seconds} seconds{_WITHOUT_ID[self.without_id]}"
        )

    def check(self, trips: Trips) -> None:
        if trips.time is None:
            raise ParameterError("the unit `window` needs times; bring a time column")
        if trips.rider is None and self.without_id != "own":
            raise ParameterError(
                "the unit `window` needs a rider id for each trip, and these trips have none; bring a rider column, or "
                "take every trip for a rider of its own (without_id='own')"
            )
        if trips.rider is not None:
            _refuse_missing_ids(self.name, self.without_id, trips.rider)
        if trips.history.stability != UNMOVED:
            raise ParameterError(
                "the unit `window` needs trips as they are in the file: reading changed these (repeated stops merged, "
                "trips with unknown stops dropped, points made visits, or times with zones put on one clock), or "
                "nobody says how they were made, so that a visit inside a window can move others outside. Read them "
                "with repeats='keep', on_unknown='error' and local times"
            )
        if trips.history.half_named:
            raise ParameterError(
                "the unit `window` needs trips as they are in the file: some have rows with their rider id and rows "
                "without it, and one row with an id would move all others of its trip into that rider's windows",
                tells=HALF_NAMED,
            )

    def cut(self, trips: Trips, key: Words) -> Trips:
        self.check(trips)
        assert trips.time is not None
        owner = np.full(len(trips), -1) if trips.rider is None else trips.rider
        # A trip without id is its own rider: give it a code that no rider has.
        code = np.where(owner >= 0, owner, -2 - np.arange(len(trips)))
        clock = trips.time // self.seconds
        window = pair_codes(np.repeat(code, trips.lengths), clock)
        kept = keep_at_most(window, self.max_visits, words_within(trips, clock, key))
        if self.without_id == "drop":
            kept &= np.repeat(owner >= 0, trips.lengths)
        return _with_visits(trips.keep_visits(kept))

    def counted(self, trips: Trips, rule: LegalityRule, key: Words) -> Trips:
        return _with_visits(rule.apply(self.cut(trips, key)))

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        visits, contribution = 4 * self.max_visits, contribution.after(self.stability)
        if contribution.per_visit is None:
            # Each visit may sit in a trip of its own, which is then removed and added.
            return contribution.of_trips(2 * visits, cells=visits)
        distance = visits * contribution.per_visit
        return Sensitivity(distance, distance, contribution.euclidean)


def _check_without_id(word: str) -> None:
    if word not in get_args(WithoutId):
        raise ParameterError(f"without_id must be 'refuse', 'drop' or 'own', not {word!r}")


def _refuse_missing_ids(unit: str, without_id: WithoutId, rider: NDArray[np.int64]) -> None:
    if without_id == "refuse" and bool((rider < 0).any()):
        raise ParameterError(
            f"the unit `{unit}` needs a rider id for each trip, and some trips have none. Leave them out "
            "(without_id='drop', --no-rider drop), or take each for a rider of its own (without_id='own', --no-rider "
            "own), which protects nobody behind several of them; the datasheet will say which",
            tells=MISSING_RIDER,
        )


def _with_visits(trips: Trips) -> Trips:
    """Without empty trips: a unit of visits can leave any number of them behind, each of which may count."""
    full = trips.lengths > 0
    return trips if full.all() else trips.take(full)
