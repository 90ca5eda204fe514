"""Were the riders of a reconstruction real? Of simulated taps the true ones are known, so links can be counted."""

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.lab.studies.bc_transit.return_matching import assigned_returns
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.taps import Taps
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR

SCORES, ASSIGNMENT = "the study's scores, tap by tap", "minimum-cost assignment of returns, day by day"
RECONSTRUCTIONS = (SCORES, ASSIGNMENT)
_SAMPLE = 2_000


def judge_links(taps: Taps, reconstruction: str, seed: int) -> dict[str, float | None]:
    """Links between two taps of one rider and day, how many join taps of one card, and what chance would give."""
    anonymous = Taps(taps.location, taps.time, taps.world, route=taps.route, history=taps.history)
    rules = RiderRules()
    if reconstruction == ASSIGNMENT:
        before, after = assigned_returns(anonymous, rules)
    else:
        rider = reconstruct_riders(anonymous, rules, seed=seed).rider
        before, after = same_day_links(taps, rider.astype(np.int64))
    right = 0 if taps.card is None else int((taps.card[before] == taps.card[after]).sum())
    allowed = allowed_next(taps, rules, seed)
    return {
        "same-day links": float(len(before)),
        "of the same rider": float(right),
        "right, %": 100 * right / max(len(before), 1),
        "next taps that the rules allow": allowed,
        "right by chance, %": 100 / max(allowed, 1.0),
    }


def same_day_links(taps: Taps, rider: Ints) -> tuple[Ints, Ints]:
    """Each tap that is followed by another of the same rider on the same day, and that other one."""
    order = np.lexsort((taps.time, rider))
    same = (rider[order][1:] == rider[order][:-1]) & (taps.day[order][1:] == taps.day[order][:-1])
    return order[:-1][same], order[1:][same]


def allowed_next(taps: Taps, rules: RiderRules, seed: int) -> float:
    """How many later taps of the same day the rules' times and distances allow after a tap, on average."""
    network = taps.world
    if not isinstance(network, Network):
        return float("nan")
    east, north = project(network.lat, network.lon)
    place: NDArray[np.float64] = np.stack([east, north], axis=1)[taps.location]
    low = min(role.transfer_minutes[0] for role in rules.roles) * 60
    rng, found = np.random.default_rng(seed), []
    for tap in rng.choice(len(taps), min(_SAMPLE, len(taps)), replace=False):
        until = (taps.time[tap] // DAY + 1) * DAY
        first, last = np.searchsorted(taps.time, [taps.time[tap] + low, until])
        far = np.hypot(*(place[first:last] - place[tap]).T) / 1000
        gap = (taps.time[first:last] - taps.time[tap]) / HOUR
        stays = (gap >= min(r.stay_hours[0] for r in rules.roles)) & (
            gap <= max(r.stay_hours[1] for r in rules.roles)
        )
        found.append(((far <= rules.transfer_km) | (stays & (far <= rules.return_km))).sum())
    return float(np.mean(found))
