"""Load: tap-ins per seat that ran, by route and, if asked, by hour, day or weekday."""

from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.filters import TIMES, Filters
from wayveil.answers.seats import Seats, Service, seats_per_row
from wayveil.answers.trip_periods import Period
from wayveil.answers.visit_counts import ask_for, count_routes, network_of, sizes_of
from wayveil.arrays import Floats
from wayveil.errors import ParameterError
from wayveil.synthesis.estimates import Estimate
from wayveil.world.network import Network
from wayveil.world.network_lines import scheduled_runs

ALL_RUNS: Final = (
    "Divided by all runs in the feed, whatever their day: --timetable divides by those that ran."
)
RAN: Final = (
    "Divided by the seats that ran on these days and hours by the timetable; the seats of a run lie in the hours of "
    "its calls."
)


def count_load(
    release: JudgedRelease, seats: Seats, filters: Filters, by: tuple[Period, ...], service: Service | None
) -> tuple[dict[str, Any], Estimate, str]:
    """Tap-ins per seat, with the columns that name the rows and the numbers that were divided."""
    filters.refuse_others("load", (*TIMES, "route"), "seats are those of whole routes")
    if service is None:
        if filters.given or by:
            raise ParameterError(
                "load of some hours or days needs to know what ran then: give the feed with --timetable"
            )
        keys, flow, note = count_routes(release, filters, by)
        return keys, flow.over(all_seats(network_of(release.world), seats)), f"{note} {ALL_RUNS}"
    keys, flow, note = count_routes(release, filters, by)
    asked = ask_for(release, ("route",), filters, by)
    rows = service.by_route()
    columns = {key: rows[key].to_numpy() for key in asked.keys}
    at, size = asked.rows(columns, sizes_of(release))
    ran = seats_per_row(rows, at, size)
    boardings = np.maximum(np.rint(flow.values), 0)
    beside = {
        "boardings": pl.Series(boardings.astype(np.int64)),
        "seats": pl.Series(np.rint(ran)).fill_nan(None).cast(pl.Int64),
    }
    return {**keys, **beside}, flow.over(ran), f"{note} {RAN}"


def all_seats(network: Network, seats: Seats) -> Floats:
    """Seats of all runs of each route in the feed; at least one, so that a route without a run has a load."""
    if not str(seats).strip().isdigit():
        raise ParameterError("seats by route or run belong to a timetable: give the feed with --timetable")
    return np.maximum(scheduled_runs(network) * int(str(seats)), 1)
