"""Advice of `check`: what a row seems to be, what each bound would give, and keys of a plan.

All of it comes from exact facts about the raw rows: for the data holder's eyes only, and a choice made from it is a
look at the data, which the plan that it recommends declares.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayveil.mechanisms.mechanism import DEFAULT_PARTS
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.plan.outlook import Forecast
from wayveil.plan.tap_units import advise_units, say_unit
from wayveil.plan.telling import (
    BUSY,
    HEADER,
    NOT_SO,
    Bound,
    Told,
    plan_riders,
    say_bounds,
    say_help,
    say_question,
    say_remedies,
    tell_answers,
)
from wayveil.privacy.units import Event, Trip
from wayveil.releases.order import default_mechanism
from wayveil.simulate.crowd import Crowd
from wayveil.taps.taps import Taps
from wayveil.trips.legs import VisitKind, Ways, counted_world
from wayveil.trips.network_fit import MOST_BROKEN, NetworkFit, fit_moves, without_way
from wayveil.trips.trips import Trips
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.gtfs.service import covered_dates
from wayveil.world.network import Network
from wayveil.world.timebins import DAY

# Most trips have both ends, or rows are boardings.
BOTH_ENDS = 0.9
# Trips of calls have moves; where at most this share has any, rows are boardings.
MOSTLY_SINGLE = 0.05
# A time of day without a date is read as one of the first of January 1970.
UNDATED = 2 * DAY
# Keys of a plan that were chosen by looking at rows.
TUNED = {"max_trips", "max_taps", "mechanism", "ways"}


@dataclass
class Advice:
    """Guess at what a file is and why, and the keys of a plan that suit it."""

    rows: VisitKind
    why: str
    fit: NetworkFit | None = None
    bounds: list[Bound] = field(default_factory=list)
    most: int | None = None
    notes: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)

    @property
    def thing(self) -> str:
        """Name what is counted of a rider; trips that look like taps were read as trips."""
        return "taps" if self.rows == "taps" and self.fit is None else "trips"

    def lines(self) -> list[str]:
        """Say it in sentences and a small table."""
        found = [f"seems to be {self.rows}: {self.why}"]
        found += self.fit.lines() if self.fit is not None and self.fit.moves else []
        found += say_bounds(self.bounds, self.most)
        found += [HEADER, *(each.words for each in self.told)] if self.told else []
        return [*found, *(f"note: {note}" for note in self.notes)]

    def facts(self) -> dict[str, Any]:
        """Give it to machines."""
        lacking = None if self.fit is None else {"share": self.fit.share, **self.fit.lacking}
        bounds = [vars(row) for row in self.bounds]
        said = {"seems": self.rows, "moves_that_the_network_lacks": lacking}
        told = [vars(each) for each in self.told]
        return {**said, "bounds": bounds, f"max_{self.thing}": self.most, "answers": told}

    def protect_riders(self, rows: Trips, told: Forecast, epsilon: float) -> Forecast:
        """Choose what the rows of a rider count as; gives the forecast with it."""
        assert rows.rider is not None
        known = rows.rider >= 0
        if not known.all():
            self.values["no_rider"] = "drop"
            self.notes.append(
                f"{(~known).sum():,} {self.thing} have no rider id; the command leaves them out"
            )
        crowd = Crowd(rows if known.all() else rows.take(known), int(known.sum()))
        told, self.bounds, most = plan_riders(told, crowd, epsilon)
        self.most = told.bound
        if most is not None:
            self.values[f"max_{self.thing}"] = most
            self.values |= {"bounding": "weights"} if self.bounds else {}
        if not self.bounds:
            one = f"every rider has one {self.thing[:-1]}"
            self.notes.append(
                one if most == 1 else f"few riders: all {self.thing} count; nobody has more than {most}"
            )
        return told

    def conclude(self, told: Forecast | None, epsilon: float) -> None:
        """Tell what the plan would give, if that is known, and that it was tuned on the data where it was."""
        if told is not None:
            self.told = tell_answers(told, epsilon)
            self.notes += say_remedies(told, epsilon)
        if TUNED & self.values.keys():
            self.values["tuned_on_data"] = True
            self.notes.append(
                f"this command's bound, ways or mechanism were chosen from the raw {self.thing}; --tuned-on-data says "
                "so on the datasheet. Omit it if you had chosen them before looking"
            )


def advise_trips(trips: Trips, *, pairs: bool, epsilon: float = 1.0, feed: Path | None = None) -> Advice:
    """Look at trips as they were read, and advise how to release them."""
    network = trips.world if isinstance(trips.world, Network) else None
    fit = None if network is None or pairs else fit_moves(trips)
    visits, why = _seems(trips, fit, pairs)
    advice = Advice(visits, why, fit)
    ways = _plan_ways(advice, trips)
    world = counted_world(trips.world, visits, ways)
    told = Forecast(
        world,
        Crowd(trips, len(trips)),
        default_mechanism(world),
        Trip(),
        timed=trips.time is not None,
    )
    if trips.rider is not None:
        told = advice.protect_riders(trips, told, epsilon)
    else:
        advice.notes.append(
            "no column has riders: each trip is protected by itself, not a person with several trips"
        )
    refused = told.refuses(epsilon)
    if refused:
        advice.values["mechanism"] = NoisyPrefixTree.name
        advice.notes.append(
            f"{NOT_SO}: too few trips for epsilon {epsilon:g}, the default mechanism would refuse them. "
            f"{NoisyPrefixTree.name} accepts them, but most of its numbers will be noise. "
            f"{say_help(told, epsilon, say_question(BUSY))}"
        )
    advice.conclude(None if refused or visits == "taps" else told, epsilon)
    if trips.time is not None and feed is not None:
        advice.notes += _say_dates(trips.time, feed)
    return advice


def _seems(trips: Trips, fit: NetworkFit | None, pairs: bool) -> tuple[VisitKind, str]:
    if pairs:
        return "pairs", "every row has an origin and a destination"
    if fit is None:
        return (
            "calls",
            "the world lists no moves to compare with, so every row is taken as a place of its own",
        )
    both = float(np.mean(trips.lengths >= 2)) if len(trips) else 0.0
    if len(trips) and both <= MOSTLY_SINGLE:
        return "taps", f"{1 - both:.0%} of the trips have only one stop, as boardings do"
    if fit.fits:
        return "calls", "nearly all moves are from a stop to one next to it"
    if both >= BOTH_ENDS:
        return "legs", f"{both:.0%} of the trips have two stops or more, and most are not next to each other"
    return (
        "taps",
        f"only {both:.0%} of the trips have more than one stop, and those are not next to each other",
    )


def _plan_ways(advice: Advice, trips: Trips) -> Ways | None:
    """Return what is to stand between the ends of legs, where it is not the default."""
    if not isinstance(trips.world, Network) or advice.rows not in ("legs", "pairs"):
        return None
    lost = without_way(trips)
    advice.notes.append(
        "the way between boarding and alighting is not recorded: the fastest way of the network is used instead; "
        "--ways ends releases only the two ends"
    )
    if lost == 0:
        return None
    said = f"the network has no way for {lost:.1%} of the trips, which are cut there"
    if lost <= MOST_BROKEN:
        advice.notes.append(said)
        return None
    advice.notes[-1] = f"{said}, so the command releases only the two ends"
    advice.values["ways"] = "ends"
    return "ends"


def advise_taps(taps: Taps, epsilon: float) -> Advice:
    """Look at clean taps, and advise how to release them: for people where there are cards, else for single taps."""
    advice = Advice("taps", "every row has a time and a place, but no trip")
    advice.values["way"] = "counts"
    routes = taps.route is not None and isinstance(taps.world, Network) and bool((taps.route >= 0).any())
    if routes and len(taps) > 0 and int(taps.time.min()) >= UNDATED:
        advice.notes.append(
            "taps have routes: if boardings per route are needed, add --way counts-first, --days and --need "
            '"boardings per route and hour, within 15 %"; they cost epsilon that stops and hours would have'
        )
    singles = taps.as_single_visits()
    crowd = Crowd(replace(singles, rider=None, rider_ids=None), len(taps))
    told = Forecast(taps.world, crowd, TapCounts(max_visits=1).serving(DEFAULT_PARTS), Event())
    if taps.card is None or not bool((taps.card >= 0).any()):
        advice.notes.append("no column has cards: single taps are protected, not the people who made them")
    else:
        advice.values["unit"] = "rider"
        told = advice.protect_riders(singles, told, epsilon)
        advice.notes += say_unit(advise_units(taps, epsilon), taps)[:2]
    advice.conclude(told, epsilon)
    return advice


def _say_dates(time: NDArray[np.int64], feed: Path) -> list[str]:
    """Tell whether the feed serves the days of the trips."""
    covered = covered_dates(Feed(feed))
    if covered is None or len(time) == 0 or int(time.max()) < UNDATED:
        return []
    first, last = (str(np.datetime64(int(at), "s"))[:10] for at in (time.min(), time.max()))
    said = f"the feed serves {covered[0]} to {covered[1]}, the trips are from {first} to {last}"
    outside = last < covered[0] or first > covered[1]
    return [f"{said}: this is another version of the feed" if outside else said]
