"""Load: tap-ins per seat that ran, by route and, if asked, by hour, day or weekday."""

from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.posterior import believe_estimate
from wayveil.answers.asked import Asked, Seats
from wayveil.answers.filters import TIMES
from wayveil.answers.seats import SEATS, find_service, seats_per_row
from wayveil.answers.visit_counts import Counted, ask_for, count_routes, network_of, sizes_of
from wayveil.arrays import Floats
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.network_lines import scheduled_runs

ALL_RUNS: Final = (
    "Divided by all runs in the feed, whatever their day: --timetable divides by those that ran."
)
RAN: Final = (
    "Divided by the seats that ran on these days and hours by the timetable; the seats of a run lie in the hours of "
    "its calls."
)


def count_load(release: JudgedRelease, asked: Asked) -> Counted:
    """Tap-ins per seat, with the columns that name the rows and the numbers that were divided."""
    filters, by = asked.filters, asked.by
    filters.refuse_others("load", (*TIMES, "route"), "seats are those of whole routes")
    service = find_service(release, asked.ran)
    if service is None and (filters.given or by):
        raise ParameterError(
            "load of some hours or days needs to know what ran then: give the feed with --timetable"
        )
    flow = count_routes(release, filters, by)
    if service is None:
        seats = all_seats(network_of(release.world), asked.ran.seats)
        return _per_seat(flow, seats, ALL_RUNS)
    question = ask_for(release, ("route",), filters, by)
    rows = service.by_route()
    columns = {key: rows[key].to_numpy() for key in question.keys}
    at, size = question.rows(columns, sizes_of(release))
    ran = seats_per_row(rows, at, size)
    boardings = np.maximum(np.rint(flow.found.values), 0)
    beside = {
        "boardings": pl.Series(boardings.astype(np.int64)),
        "seats": pl.Series(np.rint(ran)).fill_nan(None).cast(pl.Int64),
    }
    return replace(_per_seat(flow, ran, RAN), keys={**flow.keys, **beside})


def _per_seat(flow: Counted, seats: Floats, note: str) -> Counted:
    """Divide by the seats, in the release and wherever else the same rows are counted."""

    def again(trips: Trips) -> Floats | None:
        found = None if flow.again is None else flow.again(trips)
        return None if found is None else found / seats

    return replace(
        flow, found=believe_estimate(flow.found).over(seats), note=f"{flow.note} {note}".strip(), again=again
    )


def all_seats(network: Network, seats: Seats | None) -> Floats:
    """Seats of all runs of each route in the feed; at least one, so that a route without a run has a load."""
    seats = SEATS if seats is None else seats
    if not str(seats).strip().isdigit():
        raise ParameterError("seats by route or run belong to a timetable: give the feed with --timetable")
    return np.maximum(scheduled_runs(network) * int(str(seats)), 1)
