"""Numbers of visits by stop, route, hour, day and weekday, of all of them or of those that are asked for.

A model that counted taps answers straight from its noisy counts: any sum of cells has a known law. What it did not
count together (a stop on one day, say) is counted in the released trips, without an interval.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.filters import Filters, days_of, require_dates, require_weekdays
from wayveil.answers.questions import say_visits
from wayveil.answers.trip_periods import WEEKDAYS, Period
from wayveil.errors import ParameterError
from wayveil.synthesis.estimates import HOURS, Estimate, Key, Visits, count_visits, weekday_of
from wayveil.synthesis.model import Estimates, OfTaps
from wayveil.synthesis.tallies import kind_of
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

TIMETABLE: Final = "Routes are not in this release: {visits} are shared out by the timetable."
THINNED: Final = (
    " At the sensitive stops taps were counted with a chance of {chance:.3g}: numbers there are of those."
)
BOUNDED: Final = "Counted are {bound}. Others are missing."
WEIGHED: Final = "Intervals hold where riders with many taps travel as others do."
CUT: Final = (
    "Counted are the first {visits} taps of a trip, and as many trips of a rider as the bound allows."
)


@dataclass(frozen=True, eq=False)
class Counted:
    """Numbers of visits before anybody judged them.

    keys   the columns that name the rows
    found  the numbers, with their intervals where a model counted them
    note   what to know of them beside that
    kind   the kind of question whose cells they are, or of which they are made; `exact`: all of its cells, in order
    again  counts the same rows in other trips; None where trips do not tell them
    """

    keys: dict[str, Any]
    found: Estimate
    note: str = ""
    kind: str | None = None
    exact: bool = False
    again: Callable[[Trips], NDArray[np.float64] | None] | None = None


def count_visits_of(
    release: JudgedRelease, per: tuple[Key, ...], filters: Filters, by: tuple[Period, ...]
) -> Counted:
    """Taps per these keys and periods."""
    asked = ask_for(release, per, filters, by)
    # A filter on stops picks rows where stops have rows: their intervals hold as they are.
    picks = asked.only.stop if "stop" in asked.per and asked.only.route is None else None
    whole = asked if picks is None else Visits(asked.per, replace(asked.only, stop=None))
    known = estimate_of(release, whole)
    if known is None:
        raise ParameterError(
            "this release does not tell routes: tap-margins counts them (wayveil release --way counts-first)"
        )
    straight = isinstance(release.model, OfTaps) and known.interval is not None
    if picks is not None:
        other = dict.fromkeys(asked.only.keys - set(asked.per))
        rows, size = Visits(asked.per, replace(asked.only, **other)).rows(
            _grid(release, whole), sizes_of(release)
        )
        known = known.take(np.flatnonzero(rows >= 0))
        assert len(known.values) == size
    kind = kind_of(whole)
    return Counted(
        name_rows(release, asked),
        known,
        counted_note(release) if straight else "",
        kind or ("stop-hours" if "hour" in asked.keys else "stops"),
        exact=kind is not None,
        again=partial(count_visits, asked),
    )


def count_routes(release: JudgedRelease, filters: Filters, by: tuple[Period, ...]) -> Counted:
    """Taps per route: counted, or shared out by the timetable where the release does not tell routes."""
    network = network_of(release.world)
    plain = not filters.given and not by
    known = estimate_of(release, Visits(("route",))) if plain else None
    if plain and known is None:
        flow = Estimate(route_boardings(release.trips, network) * release.each_stands_for)
        again = partial(route_boardings, network=network)
        note = TIMETABLE.format(visits=say_visits(release))
        return Counted(name_rows(release, Visits(("route",))), flow, note, "stops", again=again)
    return count_visits_of(release, ("route",), filters, by)


def ask_for(release: JudgedRelease, per: tuple[Key, ...], filters: Filters, by: tuple[Period, ...]) -> Visits:
    """The question to the model: what has rows, and what is left out."""
    only = filters.resolve(release)
    keys: tuple[Key, ...] = (*per, *(key for key in by if key not in per))
    if "day" in keys and only.day is None:
        only = replace(only, day=tuple(days_of(release)))
    if only.day is not None and only.weekday is not None:
        # Days that are asked for twice: by date, and by their weekday.
        kept = [day for day in only.day if weekday_of(np.array([day]))[0] in only.weekday]
        only = replace(only, day=tuple(kept), weekday=only.weekday if "weekday" in keys else None)
    if only.route is not None and "stop" in keys:
        # Of stops that a route does not serve there is nothing to say.
        served = _served(network_of(release.world), only.route)
        stops = served if only.stop is None else np.intersect1d(served, only.stop)
        only = replace(only, stop=tuple(stops.tolist()))
    return Visits(keys, only)


def _served(network: Network, routes: tuple[int, ...]) -> NDArray[np.int64]:
    """The stops that any of these routes calls at."""
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))[np.isin(network.route, routes)]
    return np.unique(np.concatenate([network.sources[edge], network.indices[edge]]).astype(np.int64))


def estimate_of(release: JudgedRelease, asked: Visits) -> Estimate | None:
    """Take what the model counted, or what the released trips tell; those without dates are not asked for days."""
    if isinstance(release.model, Estimates):
        found = release.model.estimate(asked, release.trips)
        if found is not None:
            return release.widened(found)
    if "weekday" in asked.keys:
        require_weekdays(release.trips)
    if "day" in asked.keys:
        require_dates(release.trips)
    return release.estimate(asked)


def sizes_of(release: JudgedRelease) -> dict[Key, int]:
    """Count stops, hours, weekdays and routes."""
    sizes: dict[Key, int] = {"stop": release.world.size, "hour": HOURS, "weekday": len(WEEKDAYS)}
    routes = getattr(release.world, "route_ids", None)
    return sizes if routes is None else {**sizes, "route": len(routes)}


def _grid(release: JudgedRelease, asked: Visits) -> dict[Key, NDArray[np.int64]]:
    """The value of every key in every row of an answer, the first key changing slowest."""
    axes = [asked.axis(key, sizes_of(release).get(key)) for key in asked.per]
    crossed = np.meshgrid(*axes, indexing="ij") if axes else []
    return dict(zip(asked.per, (axis.ravel() for axis in crossed), strict=True))


def name_rows(release: JudgedRelease, asked: Visits) -> dict[str, Any]:
    """The columns that name the rows of an answer."""
    world, columns = release.world, {}
    for key, value in _grid(release, asked).items():
        if key == "stop":
            columns["stop_id"] = world.ids[value].tolist()
            if world.names is not world.ids and len(asked.per) == 1:
                columns["stop"] = world.names[value].tolist()
        elif key == "route":
            network = network_of(world)
            columns["route_id"] = network.route_ids[value].tolist()
            columns["route"] = network.route_names[value].tolist()
        elif key == "day":
            columns["day"] = pl.Series(value).cast(pl.Int32).cast(pl.Date)
        else:
            columns[key] = value if key == "hour" else np.asarray(WEEKDAYS)[value].tolist()
    return columns


def counted_note(release: JudgedRelease) -> str:
    """Say which taps were counted."""
    visits = release.datasheet["mechanism"]["parameters"].get("max_visits")
    hidden = release.datasheet.get("sensitive_stops", {}).get("chance")
    thinned = "" if hidden is None else THINNED.format(chance=hidden)
    if release.datasheet.get("size"):
        return WEIGHED + thinned
    if visits in (None, 1):
        bound = taps_of_unit(release.datasheet.get("guarantee", {}))
        return ("" if bound is None else BOUNDED.format(bound=bound)) + thinned
    return CUT.format(visits=visits) + thinned


def taps_of_unit(guarantee: Mapping[str, Any]) -> str | None:
    """Say how many taps of whom were counted, where every tap is counted by itself; None for single taps."""
    bounds = guarantee.get("bounds", {})
    most = bounds.get("max_visits", bounds.get("max_trips"))
    whose = {"rider": "of a rider", "rider-day": "of a rider a day", "window": "of a rider in a window"}
    unit = whose.get(str(guarantee.get("unit")))
    return None if most is None or unit is None else f"at most {most} {unit}, chosen at random"


def route_boardings(trips: Trips, network: Network) -> NDArray[np.float64]:
    """Tap-ins per route where trips do not tell it: those of a stop, shared out by the runs that leave it."""
    per_stop = np.bincount(trips.location, minlength=network.size).astype(np.float64)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    weight = (network.runs / np.maximum(np.diff(network.route_indptr), 1))[edge]
    source = network.sources[edge]
    leaving = np.bincount(source, weight, network.size)
    share = weight * (per_stop / np.maximum(leaving, 1e-12))[source]
    return np.asarray(np.bincount(network.route, share, len(network.route_ids)), np.float64)


def network_of(world: World) -> Network:
    if not isinstance(world, Network) or len(world.route_ids) == 0:
        raise ParameterError("this world has no routes; open the release with its GTFS feed")
    return world
