"""Order of a release: rows, what happens to each of them, the mechanism that counts them, and for whom.

Everything here is decided before anything is counted, by the caller's words and by public facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from wayveil.counting.steps import Steps
from wayveil.disclosures import EMPTY, SEVERAL_TRIPS
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import DEFAULT_PARTS, Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.units import (
    Bounding,
    Event,
    Points,
    Rider,
    RiderDay,
    Trip,
    Unit,
    Window,
    WithoutId,
)
from wayveil.privacy.weights import MOST_ROWS
from wayveil.releases.hidden_stops import Hidden
from wayveil.trips.legality import LegalityRule
from wayveil.trips.legs import VisitKind, Ways, counted_world, default_ways, require_words
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.timebins import HOUR
from wayveil.world.world import World

# There and back: only where nobody has more than one trip, so that the bound decides nothing but the noise, or where
# all trips of a rider count by weights.
DEFAULT_TRIPS_PER_RIDER = 2
UNITS = ("rider", "rider-day", "trip", "event", "points")
TAP_UNITS = ("event", "rider", "rider-day", "window", "trip")
COUNTING = ("counts", "counts-first")
SAY_TRIPS = (
    "say with --max-trips how many {of} of each rider count (in Python, max_trips=...): fewer lose trips, more add "
    "noise; `wayveil check` shows what each bound keeps. Nothing was spent"
)


_OPTIONS = {
    "max_trips": "--max-trips",
    "max_taps": "--max-taps",
    "window_hours": "--with window_hours",
    "consecutive": "--with consecutive",
}


@dataclass(frozen=True)
class UnitChoice:
    """Who is protected, by name or as a unit, and the bounds that go with the name; None: not said.

    max_trips     trips of one rider (or of a rider's day) that are counted
    max_taps      taps of one rider, rider-day or window that are counted, where taps are counted one by one
    window_hours  length of the unit `window`
    consecutive   visits of a trip, one after the other, that the unit `points` protects together
    no_rider      rows without a rider: refused, left out (`drop`), or each a rider of its own (`own`)
    bounding      `draw`: some trips of a rider count, chosen at random; `weights`: all, each less than whole. Where
                  nobody says it and no bound either, `weights`
    most_rows     rows of one rider that are in the number of all rows, where they count by weights
    """

    unit: Unit | str | None = None
    max_trips: int | None = None
    max_taps: int | None = None
    window_hours: int | None = None
    no_rider: WithoutId = "refuse"
    bounding: Bounding | None = None
    most_rows: int | None = None
    consecutive: int | None = None

    @property
    def weighs(self) -> bool:
        """Tell whether all trips of a rider count by weights."""
        return self.bounding == "weights"

    def settled(self, name: str, *, weighs: bool) -> "UnitChoice":
        """Return it with weights for riders of whom nobody says a bound, where the mechanism can weigh."""
        said = (self.bounding, self.max_trips, self.max_taps) != (None, None, None)
        return replace(self, bounding="weights") if weighs and name == "rider" and not said else self

    def refuse_unused(self, name: str, *used: str) -> None:
        """Refuse bounds that the unit has no use for."""
        for bound in _OPTIONS:
            if bound not in used and getattr(self, bound) is not None:
                raise ParameterError(
                    f"{_OPTIONS[bound]} has no meaning for the unit {name!r}"
                    + (f"; its bound is {_OPTIONS[used[0]]}" if used else "")
                )
        if not used and self.no_rider != "refuse":
            raise ParameterError(
                f"--no-rider has no meaning for the unit {name!r}, which does not look at riders"
            )
        said = {"bounding": self.bounding, "most_rows": self.most_rows}
        for key in (key for key, value in said.items() if value is not None):
            if name not in ("rider", "rider-day"):
                raise ParameterError(f"{key} has no meaning for the unit {name!r}; omit it")
            if key == "most_rows" and not self.weighs:
                raise ParameterError(
                    "most_rows has no meaning where trips are drawn; say bounding=weights or omit it"
                )

    def of_riders(self, name: str, most: int) -> Rider:
        """Make the unit rider or rider-day, whose trips count as at most so many."""
        bounds: dict[str, Any] = {"max_trips": most, "without_id": self.no_rider}
        if self.weighs:
            bounds |= {"bounding": "weights", "most_rows": self.most_rows or MOST_ROWS}
        return Rider(**bounds) if name == "rider" else RiderDay(**bounds)


def default_mechanism(
    world: World, parts: Mapping[str, Fraction] | None = None, districts: str | None = None
) -> Mechanism:
    """Choose Weave, which docs/results.md shows ahead; for lists too long for it, the noisy prefix tree.

    It serves the questions that have these parts of the budget, about the districts of this file; where none are
    said, on a network the stated default set. Cells of a grid and symbols of a list are no stops.
    """
    weave = Weave()
    if not weave.fits(world):
        return NoisyPrefixTree()
    if parts is None:
        parts = DEFAULT_PARTS if isinstance(world, Network) and not isinstance(world, Grid) else {}
    return weave.serving(parts, districts) if parts else weave


def choose_mechanism(given: Mechanism | str | None, world: World) -> Mechanism:
    """Find the mechanism by its name where that is given, or take the default one."""
    if given is None:
        return default_mechanism(world)
    return find_mechanism(given)() if isinstance(given, str) else given


def choose_unit(choice: UnitChoice, trips: Trips | TripFiles, *, weighs: bool = False) -> Unit:
    """Choose the unit of trips: by default a rider where the data knows riders, else a trip.

    All trips of a rider count by weights unless a bound is said. How many are drawn has no default where a rider has
    several: every choice loses trips or adds noise.
    """
    if choice.unit is not None and not isinstance(choice.unit, str):
        return choice.unit
    riders_known = trips.has_riders if isinstance(trips, TripFiles) else trips.rider is not None
    name = choice.unit or ("rider" if riders_known else "trip")
    if name not in UNITS:
        raise ParameterError(f"unknown unit {name!r}; choose one of {', '.join(UNITS)}")
    if name in ("trip", "event"):
        choice.refuse_unused(name)
        return Trip() if name == "trip" else Event()
    if name == "points":
        choice.refuse_unused(name, "consecutive")
        if choice.consecutive is None:
            raise ParameterError(
                "say with --with consecutive=3 how many visits of a trip, one after the other, are protected together"
            )
        return Points(length=choice.consecutive)
    choice = choice.settled(name, weighs=weighs)
    choice.refuse_unused(name, "max_trips")
    bound = choice.max_trips
    if bound is None:
        _refuse_several(name, choice, trips)
        bound = DEFAULT_TRIPS_PER_RIDER
    return choice.of_riders(name, bound)


def _refuse_several(name: str, choice: UnitChoice, trips: Trips | TripFiles) -> None:
    """Refuse a rider without a bound, where riders have several trips or nobody knows yet."""
    if name != "rider" or choice.weighs:
        return
    if isinstance(trips, TripFiles):
        raise ParameterError(f"in files that are counted in pieces, {SAY_TRIPS.format(of='trips')}")
    if _have_several(trips):
        # Trips without a rider come first: leaving them out may leave one trip each.
        Rider(max_trips=DEFAULT_TRIPS_PER_RIDER, without_id=choice.no_rider).check(trips)
        raise ParameterError(
            f"riders have several trips here: {SAY_TRIPS.format(of='trips')}", tells=SEVERAL_TRIPS
        )


def _have_several(trips: Trips) -> bool:
    if trips.rider is None:
        return False
    known = trips.rider[trips.rider >= 0]
    return len(known) > 0 and int(np.bincount(known).max()) > 1


def choose_tap_unit(way: str, choice: UnitChoice, *, weighs: bool = False) -> Unit:
    """Choose the unit of taps: where they are counted one by one it bounds taps, where cards are chained trips."""
    if choice.unit is not None and not isinstance(choice.unit, str):
        return choice.unit
    counting = way in COUNTING
    name = choice.unit or ("event" if counting else "rider")
    if name not in TAP_UNITS:
        raise ParameterError(f"unknown unit {name!r}; choose one of {', '.join(TAP_UNITS)}")
    choice = choice.settled(name, weighs=weighs)
    if counting:
        return _unit_of_single_taps(name, choice)
    if name in ("event", "window") or (way == "study" and name != "rider"):
        raise ParameterError(
            f"the way {way!r} chains the taps of a card, so that one tap can change a whole chain: the unit {name!r} "
            f"is for --way counts and counts-first"
        )
    if name == "trip":
        choice.refuse_unused(name)
        return Trip()
    choice.refuse_unused(name, "max_trips")
    if name == "rider-day":
        most = 1 if choice.max_trips is None else choice.max_trips
        return choice.of_riders(name, most)
    if choice.max_trips is None and not choice.weighs:
        raise ParameterError(SAY_TRIPS.format(of="days or weeks of taps"))
    return choice.of_riders(name, choice.max_trips or DEFAULT_TRIPS_PER_RIDER)


def _unit_of_single_taps(name: str, choice: UnitChoice) -> Unit:
    if name == "trip":
        raise ParameterError("a trip is one tap here: that is the unit event")
    if name == "event":
        choice.refuse_unused(name)
        return Event()
    if name == "window":
        choice.refuse_unused(name, "max_taps", "window_hours")
        if choice.window_hours is None:
            raise ParameterError("say with --with window_hours=24 how long a window is")
    else:
        choice.refuse_unused(name, "max_taps")
    most = DEFAULT_TRIPS_PER_RIDER if choice.weighs and choice.max_taps is None else choice.max_taps
    if most is None:
        raise ParameterError(
            f"say with --max-taps how many taps count of each {name}: fewer lose taps, more add noise. `wayveil lab "
            f"units` shows what each bound keeps. Nothing was spent"
        )
    if name == "window":
        return Window(seconds=(choice.window_hours or 0) * HOUR, max_visits=most, without_id=choice.no_rider)
    return choice.of_riders(name, most)


@dataclass(frozen=True, eq=False)
class Order:
    """One release before it is counted.

    rows         the trips, as they are counted after `steps`
    known_by     the rows by which a ledger knows the people, where these are others than `rows`
    said         what the caller said a row is; None: nobody said it
    hidden       sensitive stops that were merged or thinned out before
    rewritten    a mechanism that the private trips go through once more; buys nothing
    not_private  why the release protects nobody, where it does not
    """

    rows: Trips | TripFiles
    steps: Steps
    mechanism: Mechanism
    unit: Unit
    said: VisitKind | None = None
    known_by: Trips | None = None
    hidden: Hidden | None = None
    rewritten: Mechanism | None = None
    not_private: str | None = None

    @property
    def world(self) -> World:
        """The public world that trips are counted over."""
        return self.steps.world(self.rows.world)

    @property
    def ways(self) -> Ways:
        """Return what stands between two rows of a trip."""
        return self.steps.ways or "as-read"

    def check(self) -> None:
        """Refuse rows that no guarantee covers, or that the unit cannot bound."""
        if isinstance(self.rows, Trips):
            if len(self.rows) == 0:
                raise ParameterError("there are no trips to release", tells=EMPTY)
            self.unit.check(self.rows)
        if self.not_private is None:
            self.rows.history.refuse_unsound()


@dataclass(frozen=True)
class RowKind:
    """Meaning of a row and of the gap between two of them (see `trips.legs`), or a rule in place of all that."""

    rows: VisitKind | None = None
    ways: Ways | None = None
    rule: LegalityRule | None = None

    def __post_init__(self) -> None:
        require_words(self.rows, self.ways)

    def steps(self, world: World, mechanism: Mechanism | str | None) -> tuple[Steps, Mechanism]:
        """Return what trips go through before they are counted, and the mechanism that counts them then.

        A rule that the caller gives stands for everything that is done to trips; ways are then not looked for.
        """
        if self.rule is not None:
            return Steps(self.rule), choose_mechanism(mechanism, world)
        if self.rows is None:
            chosen = choose_mechanism(mechanism, world)
            own = chosen.rule(world)
            return Steps(own, must_fit=own.impossible not in ("keep", "route")), chosen
        ways = default_ways(self.rows, world) if self.ways is None else self.ways
        counted_over = counted_world(world, self.rows, ways)
        chosen = choose_mechanism(mechanism, counted_over)
        return Steps(chosen.rule(counted_over), self.rows, ways), chosen


def order_trips(
    trips: Trips | TripFiles, mechanism: Mechanism | str | None, unit: UnitChoice, kind: RowKind
) -> Order:
    """Order a release of trips; those that were read from points say so themselves."""
    if kind.rows is None and kind.rule is None and isinstance(trips, Trips) and trips.source is not None:
        kind = replace(kind, rows="points")
    steps, chosen = kind.steps(trips.world, mechanism)
    return Order(trips, steps, chosen, choose_unit(unit, trips, weighs=chosen.weighs), said=kind.rows)
