"""Taps where none may be had: what the fare boxes of a city would have recorded, gaps included.

People and their habits come from `simulate_week`; here they board vehicles. Each route has a fleet, sized by how much
of the timetable it runs; each vehicle has a number, a fleet number and seats. Nobody's data is involved.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from wayveil.arrays import Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.simulate.week import MONDAY, simulate_week
from wayveil.taps.taps import Taps
from wayveil.trips.history import MADE_UP
from wayveil.trips.tables import write_table
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR

STUDY_TAPS: Final = 312_659
STUDY_FIRST_DAY: Final = date(2024, 12, 15)
STUDY_DAYS: Final = 6
SEATS: Final = (82, 38, 36, 23)  # double-deck, standard, medium, light duty
SEAT_SHARES: Final = (0.2, 0.45, 0.2, 0.15)
STUDY_CAMPUS: Final = 0.15  # ours: the study says that the university is the largest driver, not how large
_FIRST_BUS = 9001


class Gaps(BaseModel):
    """Shares of values that are missing or wrong; the defaults are the study's file.

    Of its 312,659 rows, 1,833 had neither route nor stop, and 1,010 of these no vehicle, bus number or seats either.
    Other gaps, which it does not tell of, can be asked for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    unplaced: float = Field(1_833 / 312_659, ge=0, lt=1)
    of_these_nameless: float = Field(1_010 / 1_833, ge=0, le=1)
    vehicle: float = Field(0.0, ge=0, lt=1)
    seats: float = Field(0.0, ge=0, lt=1)
    route: float = Field(0.0, ge=0, lt=1)
    stop: float = Field(0.0, ge=0, lt=1)
    time: float = Field(0.0, ge=0, lt=1)
    unknown_stop: float = Field(0.0, ge=0, lt=1)

    @classmethod
    def none(cls) -> "Gaps":
        """A file without any."""
        return cls(unplaced=0.0)


@dataclass(frozen=True, eq=False)
class SimulatedTaps:
    """Complete taps, the true rider of each in `taps.card`, and the vehicles' fleet numbers."""

    taps: Taps
    bus: Ints


def simulate_taps(
    network: Network,
    taps: int = STUDY_TAPS,
    *,
    seed: int,
    first_day: date = STUDY_FIRST_DAY,
    days: int = STUDY_DAYS,
    taps_per_rider: float = 4.5,
    campus: float = 0.0,
) -> SimulatedTaps:
    """Exactly `taps` boardings between `first_day` and the day `days` later; the same arguments give the same taps.

    Every week has its own riders, who tap `taps_per_rider` times in it on average (2 to 8). A share `campus` of them
    has the same place to go to, as the study's university.
    """
    if taps < 1 or days < 1:
        raise ParameterError(f"a simulation needs at least one tap and one day, not {taps} and {days}")
    rng = np.random.default_rng(seed)
    location, time, rider = _boardings(network, taps, first_day, days, taps_per_rider, campus, rng)
    with step("boarding vehicles"):
        route = board_routes(network, location, rng)
        vehicle = board_vehicles(network, route, time, rng)
    fleet = int(vehicle.max()) + 1
    seats = rng.choice(SEATS, fleet, p=SEAT_SHARES).astype(np.int32)
    made = Taps(
        location,
        time,
        network,
        route=route,
        vehicle=vehicle,
        seats=seats[vehicle],
        card=rider.astype(np.int64),
        history=MADE_UP,
    )
    return SimulatedTaps(made, _FIRST_BUS + vehicle.astype(np.int64))


def _boardings(
    network: Network,
    taps: int,
    first_day: date,
    days: int,
    mean: float,
    campus: float,
    rng: np.random.Generator,
) -> tuple[Int32s, Ints, Ints]:
    """Stop, time and rider of each tap, in order of time."""
    first = (first_day - date(1970, 1, 1)).days
    wanted = [(first + day, (first_day + timedelta(day)).weekday()) for day in range(days)]
    weeks = [wanted[at : at + 7] for at in range(0, days, 7)]
    parts = []
    for week in weeks:
        share = taps * len(week) / days
        # Weekends are quiet and part of a week is missing, so draw enough riders and take as many taps as wanted.
        people = max(int(share / mean * 1.15 * 7 / min(len(week) + 0.5, 7)) + 20, 1)
        trips = simulate_week(network, people, seed=int(rng.integers(2**31)), mean_visits=mean, campus=campus)
        assert trips.time is not None
        weekday, second = np.divmod(trips.time - MONDAY, DAY)
        date_of = np.full(7, -1)
        for number, of_week in week:
            date_of[of_week] = number
        day = np.where((weekday >= 0) & (weekday < 7), date_of[np.clip(weekday, 0, 6)], -1)
        kept = np.flatnonzero(day >= 0)
        parts.append((trips.location[kept], day[kept] * DAY + second[kept], trips.trip_of_visit()[kept]))
    riders = np.cumsum([0, *(int(part[2].max()) + 1 if len(part[2]) else 0 for part in parts)])
    location, time = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    rider = np.concatenate([part[2] + start for part, start in zip(parts, riders[:-1], strict=True)])
    if len(location) < taps:  # quiet periods: the same people come more often
        extra = rng.choice(len(location), taps - len(location))
        location, rider = np.append(location, location[extra]), np.append(rider, rider[extra])
        time = np.append(time, time[extra] + rng.integers(-600, 600, len(extra)))
        time = np.clip(time, first * DAY, (first + days) * DAY - 1)
    chosen = rng.choice(len(location), taps, replace=False)
    order = chosen[np.argsort(time[chosen], kind="stable")]
    return location[order], time[order], rider[order]


def board_routes(network: Network, location: Int32s, rng: np.random.Generator, *, closed: int = -1) -> Int32s:
    """A route that leaves the stop, by how often vehicles do; at a terminus, one that arrives; else none (-1).

    Nobody boards a route that is `closed`; at stops that only it serves nobody boards.
    """
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    weight = (network.runs / np.maximum(np.diff(network.route_indptr), 1))[edge]
    ends = np.concatenate([network.sources[edge], network.indices[edge]])
    weights = np.concatenate([weight, weight * 1e-6])
    routes = np.concatenate([network.route, network.route])
    running_ones = routes != closed
    ends, weights, routes = ends[running_ones], weights[running_ones], routes[running_ones]
    order = np.argsort(ends, kind="stable")
    ends, routes, running = ends[order], routes[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    low, high = (np.searchsorted(ends, location, side=side) for side in ("left", "right"))
    served = high > low
    if not served.any():
        return np.full(len(location), -1, np.int32)
    goal = running[low] + rng.random(len(location)) * (running[high] - running[low])
    found = np.clip(np.searchsorted(running, goal, side="right") - 1, low, np.maximum(high - 1, low))
    return np.where(served, routes[np.minimum(found, len(routes) - 1)], -1).astype(np.int32)


def board_vehicles(network: Network, route: Int32s, time: Ints, rng: np.random.Generator) -> Int32s:
    """A vehicle of the route's fleet; each runs a route for two hours at a time."""
    size = max(len(network.route_ids), 1)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    work = np.bincount(network.route, (network.runs * network.seconds)[edge], size)
    fleet = np.maximum(np.ceil(5 * work / max(work.mean(), 1.0)).astype(np.int64), 1)
    first = np.concatenate([[0], np.cumsum(fleet)[:-1]])
    at = np.maximum(route, 0)
    turn = time // (2 * HOUR) + rng.integers(0, np.maximum(fleet[at] // 2, 1))
    return (first[at] + turn % fleet[at]).astype(np.int32)


def write_vendor_file(made: SimulatedTaps, path: str | Path, *, seed: int, gaps: Gaps | None = None) -> None:
    """Write the taps as the study's agency gave them: routeName, stopId, ts, vehicle, bus_number, seats; with gaps.

    Cards are not written: the study's file had none.
    """
    path, gaps, taps = Path(path), Gaps() if gaps is None else gaps, made.taps
    network = taps.world
    if not isinstance(network, Network) or taps.route is None or taps.vehicle is None:
        raise ParameterError("only simulated taps with routes and vehicles can be written like this")
    rng = np.random.default_rng(seed)

    def blank(share: float) -> pl.Series:
        return pl.Series(rng.random(len(taps)) < share)

    stop = pl.Series(network.ids.tolist()).gather(taps.location.astype(np.int64))
    names = pl.Series([*network.route_names.tolist(), "Default"])
    route = names.gather(np.where(taps.route < 0, len(network.route_names), taps.route).astype(np.int64))
    moment = pl.Series(taps.time * 1_000_000).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S")
    nothing = pl.lit(None, pl.String)
    unplaced = blank(gaps.unplaced)
    nameless = unplaced & blank(gaps.of_these_nameless)
    table = pl.select(
        routeName=pl.when(unplaced | blank(gaps.route)).then(pl.lit("Default")).otherwise(route),
        stopId=pl.when(blank(gaps.unknown_stop))
        .then(pl.lit("999999"))
        .when(unplaced | blank(gaps.stop))
        .then(nothing)
        .otherwise(stop),
        ts=pl.when(blank(gaps.time)).then(pl.lit("0000-00-00 00:00:00")).otherwise(moment),
        vehicle=pl.when(nameless | blank(gaps.vehicle))
        .then(nothing)
        .otherwise(pl.Series(taps.vehicle).cast(pl.String)),
        bus_number=pl.when(nameless).then(None).otherwise(pl.Series(made.bus)),
        seats=pl.when(nameless | blank(gaps.seats)).then(None).otherwise(pl.Series(taps.seats)),
    )
    write_table(table, path, taps.history)
