"""A year of taps of the same people, one file per week: what a series is tried with.

People keep their cards, homes and favourite places; what they do differs from week to week. One route opens in the
middle of the year (before that, nobody boards it, and nobody at stops that only it serves), and in one week there is a
strike. Nobody's data is involved.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.simulate.fare_boxes import board_routes, board_vehicles
from wayveil.simulate.week import MONDAY, simulate_week
from wayveil.taps.taps import Taps, write_taps
from wayveil.trips.history import MADE_UP
from wayveil.world.network import Network
from wayveil.world.timebins import DAY

FIRST_MONDAY: Final = date(2025, 12, 29)  # of the first ISO week of 2026
RUNS_IN_A_STRIKE: Final = 0.3  # of the taps of a week, those that still happen


@dataclass(frozen=True)
class YearEvents:
    """Events of a year: a route that opens, and a strike, by the number of the week (1 is the first)."""

    new_route: str | None = None
    opens: int = 20
    strike: int | None = 30


def simulate_year_week(
    network: Network,
    week: int,
    *,
    riders: int,
    seed: int,
    events: YearEvents | None = None,
) -> Taps:
    """The taps of one week of the year; the same arguments give the same taps. Cards are the same people all year."""
    events = YearEvents() if events is None else events
    trips = simulate_week(network, riders, seed=seed, mean_visits=4.5, week=week)
    assert trips.time is not None
    rng = np.random.default_rng([seed, 3, week])
    monday = (FIRST_MONDAY - date(1970, 1, 1)).days * DAY + 7 * DAY * (week - 1)
    closed = _route(network, events.new_route) if week < events.opens else -1
    route = board_routes(network, trips.location, rng, closed=closed)
    kept = route >= 0
    if week == events.strike:
        kept &= rng.random(len(kept)) < RUNS_IN_A_STRIKE
    time = trips.time - MONDAY + monday
    order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
    return Taps(
        trips.location[order],
        time[order],
        network,
        route=route[order],
        vehicle=board_vehicles(network, route[order], time[order], rng),
        card=trips.trip_of_visit()[order].astype(np.int64),
        history=MADE_UP,
    )


def write_year(
    network: Network,
    folder: str | Path,
    *,
    weeks: int = 52,
    riders: int = 20_000,
    seed: int = 0,
    events: YearEvents | None = None,
    ending: str = "parquet",
) -> list[Path]:
    """Write a year as `taps_2026-W01.parquet` and so on."""
    if weeks < 1:
        raise ParameterError(f"a year has at least one week, not {weeks}")
    folder, files = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    for week in range(1, weeks + 1):
        iso = (FIRST_MONDAY + timedelta(days=7 * (week - 1))).isocalendar()
        path = folder / f"taps_{iso.year}-W{iso.week:02}.{ending}"
        with step(f"simulating {path.name}"):
            taps = simulate_year_week(network, week, riders=riders, seed=seed, events=events)
            write_taps(taps, path)
        files.append(path)
    return files


def _route(network: Network, named: str | None) -> int:
    """The index of a route by its id, or by the name that riders know."""
    if named is None:
        return -1
    for names in (network.route_ids, network.route_names):
        found = np.flatnonzero(np.asarray(names) == named)
        if len(found):
            return int(found[0])
    raise ParameterError(f"the feed has no route {named!r}")
