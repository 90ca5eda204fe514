"""Riders from anonymous taps: role-based reconstruction after the BC Transit study.

Every tap goes to the rider it suits best, or to a new one. This is a *global* step: one tap more can re-route all later
ones. It is sound on simulated taps and on taps drawn from noisy counts, where it is post-processing. On real taps,
what is released from its riders protects no real passenger.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.synthesis.riders.assignment import TapArrays, assign
from wayveil.synthesis.riders.roles import PURPOSES, SCENARIOS, RiderRules, Role
from wayveil.synthesis.riders.waiting import People, Surroundings, Waiting, surroundings
from wayveil.taps.chains import Period, sequences
from wayveil.taps.taps import Taps
from wayveil.trips.history import PER_TRIP, RECONSTRUCTED, History
from wayveil.trips.trips import Trips
from wayveil.world.network import Network


@dataclass(frozen=True, eq=False)
class Riders:
    """Taps and who made them.

    rider     of each tap; riders are numbered from 0 in the order in which they appear
    purpose   of each tap, index into PURPOSES; `scenario` index into SCENARIOS
    role      of each rider, index into `rules.roles`
    home      of each rider: where the first tap was; `primary`: the main activity, -1 if never seen
    """

    taps: Taps
    rules: RiderRules
    rider: Int32s
    purpose: NDArray[np.int8]
    scenario: NDArray[np.int8]
    role: NDArray[np.int8]
    home: Int32s
    primary: Int32s

    @property
    def count(self) -> int:
        """Number of riders."""
        return len(self.role)

    def trips(self, period: Period = "day") -> Trips:
        """One trip per rider and day (or week, from Monday), each visit a boarding."""
        made = sequences(self.taps, self.rider.astype(np.int64), period)
        return replace(made, history=self.history)

    @property
    def history(self) -> History:
        """Return what the taps carry, and that their riders are not their own."""
        return self.taps.history.then(PER_TRIP).marked(RECONSTRUCTED)

    def table(self) -> pl.DataFrame:
        """One row per tap: rider, role, purpose, scenario, stop and time."""
        roles = [role.name for role in self.rules.roles]
        return pl.DataFrame(
            {
                "rider_id": self.rider,
                "role": pl.Series(roles).gather(self.role[self.rider].astype(np.int64)),
                "purpose": pl.Series(PURPOSES).gather(self.purpose.astype(np.int64)),
                "scenario": pl.Series(SCENARIOS).gather(self.scenario.astype(np.int64)),
                "stop_id": pl.Series(self.taps.world.ids.tolist()).gather(
                    self.taps.location.astype(np.int64)
                ),
                "event_time": pl.Series(self.taps.time * 1_000_000).cast(pl.Datetime("us")),
            }
        )

    def wide(self) -> pl.DataFrame:
        """One row per rider: rider, role, and every tap in a column of its own, as the study writes them."""
        taps = self.table().with_columns(
            tap=pl.format("tap_{}", pl.col("event_time").cum_count().over("rider_id")),
            what=pl.format("{} {}", "stop_id", pl.col("event_time").dt.strftime("%Y-%m-%d %H:%M:%S")),
        )
        return taps.pivot("tap", index=["rider_id", "role"], values="what").sort("rider_id")

    def describe(self) -> dict[str, object]:
        """Describe how the reconstruction went."""
        days = len(np.unique(self.taps.day))
        shares = np.bincount(self.role, minlength=len(self.rules.roles)) / max(self.count, 1)
        ways = np.bincount(self.scenario, minlength=len(SCENARIOS)) / max(len(self.taps), 1)
        return {
            "taps": len(self.taps),
            "share_assigned": float((self.rider >= 0).mean()) if len(self.taps) else 1.0,
            "riders": self.count,
            "days": days,
            "taps_per_rider": round(len(self.taps) / max(self.count, 1), 3),
            **{
                f"role_{role.name}": round(float(share), 4)
                for role, share in zip(self.rules.roles, shares, strict=True)
            },
            **{f"scenario_{name}": round(float(way), 4) for name, way in zip(SCENARIOS, ways, strict=True)},
        }


def reconstruct_riders(
    taps: Taps, rules: RiderRules | None = None, *, seed: int, ground: Surroundings | None = None
) -> Riders:
    """Give every tap to exactly one rider; the same arguments give the same riders.

    Taps are shuffled within each day, as in the study, and a rider only ever takes a later tap than the last one.
    `ground` saves the search for ways between stops where several sets of taps share a network and rules.
    """
    rules = RiderRules() if rules is None else rules
    if not isinstance(taps.world, Network):
        raise ParameterError("riders move on a network; read the taps over a GTFS feed or a grid of cells")
    with step("preparing taps"):
        order, arrays = _arrays(taps, rules, seed)
    if ground is None:
        ground = surroundings(taps.world, rules.reach_km * 1000, rules.walking)
    people = People.nobody_yet(len(taps), len(PURPOSES))
    with step("giving taps to riders"):
        count = assign(
            arrays,
            ground,
            rules.compiled(),
            people,
            Waiting.nobody_yet(len(taps), taps.world.size, int(ground.zone_of.max()) + 1, len(rules.roles)),
        )
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Riders(
        taps,
        rules,
        people.rider[back],
        people.purpose[back],
        people.scenario[back],
        people.role[:count].copy(),
        people.home[:count].copy(),
        people.primary[:count].copy(),
    )


def _arrays(taps: Taps, rules: RiderRules, seed: int) -> tuple[Ints, TapArrays]:
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(taps)), taps.day)).astype(np.int64)
    day = taps.day[order]
    days = np.append(np.flatnonzero(np.r_[True, day[1:] != day[:-1]]) if len(day) else [], len(day)).astype(
        np.int64
    )
    rank = rng.random((len(taps), 7))
    plan = np.stack([_plans(role, (day + 3) % 7, rank, rng) for role in rules.roles], axis=1)
    draw = rng.random((len(taps), 3))
    return order, TapArrays(taps.location[order], taps.time[order], days, plan, draw)


def _plans(role: Role, weekday: Ints, rank: Floats, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Active days as bits, Monday first: as many as the role draws, today among them where the role allows it."""
    least, most = role.active_days
    count = rng.integers(least, most + 1, len(weekday))
    rank = rank.copy()
    if role.working_days_only:
        rank[:, 5:] = 2.0
    allowed = np.flatnonzero((weekday < 5) | (not role.working_days_only))
    rank[allowed, weekday[allowed]] = -1.0
    chosen = rank.argsort(axis=1).argsort(axis=1) < count[:, None]
    return np.packbits(chosen, axis=1, bitorder="little")[:, 0]
