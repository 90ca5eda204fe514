"""Were the riders of a reconstruction real? Of simulated taps the true ones are known, so links can be counted.

Returns by minimum-cost assignment: all taps of a day are linked at once, by the same public rules.

The study's loop gives each tap to whoever suits it best at that moment. Here every tap may be followed by one later
tap of the same day, and follow one, within the stays and the distance that the rules allow for a return; together the
links cost as little as possible. A link costs its kilometres, and an hour away from the middle of the roles' stays as
much as 300 metres; what would cost more than `TOO_FAR` stays alone. Used to see how much better links can get; riders
of a release are still made by the scores.
"""

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from wayveil.arrays import Floats, Ints
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.taps import Taps
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR

NEAREST = 12  # candidates of a tap that are looked at
KM_PER_HOUR = 0.3
TOO_FAR = 15.0


def assigned_returns(taps: Taps, rules: RiderRules) -> tuple[Ints, Ints]:
    """Taps and the taps that they are linked to. Nobody has more than two taps of a day: most roles have no more."""
    network = taps.world
    if not isinstance(network, Network):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    east, north = project(network.lat, network.lon)
    low = min(role.stay_hours[0] for role in rules.roles) * HOUR
    high = max(role.stay_hours[1] for role in rules.roles) * HOUR
    shares = rules.shares / rules.shares.sum()
    usual = float(sum(s * sum(r.stay_hours) / 2 for s, r in zip(shares, rules.roles, strict=True))) * HOUR
    before, after = [], []
    for day in np.unique(taps.day):
        rows = np.flatnonzero(taps.day == day)
        rows = rows[np.argsort(taps.time[rows], kind="stable")]
        place = taps.location[rows]
        near, cost = _cheapest(
            taps.time[rows],
            east[place] / 1000,
            north[place] / 1000,
            low,
            high,
            rules.return_km,
            usual,
            NEAREST,
        )
        first, second = _assign(near, cost)
        before.append(rows[first])
        after.append(rows[second])
    return np.concatenate(before), np.concatenate(after)


def _assign(near: Ints, cost: Floats) -> tuple[Ints, Ints]:
    """The cheapest links of one day; every tap can stay alone at a price."""
    taps = len(near)
    row, slot = np.nonzero((near >= 0) & (cost < TOO_FAR))
    alone = np.arange(taps)
    weights = np.concatenate([cost[row, slot] + 1e-6, np.full(taps, TOO_FAR)])
    columns = np.concatenate([near[row, slot], taps + alone])
    table = csr_matrix((weights, (np.concatenate([row, alone]), columns)), shape=(taps, 2 * taps))
    first, second = min_weight_full_bipartite_matching(table)
    linked = second < taps
    first, second = first[linked], second[linked]
    # Whoever came back does not set out again: of a chain a, b, c only the first link stays.
    follows = np.full(taps, -1, np.int64)
    follows[first] = second
    returned = np.zeros(taps, bool)
    kept = []
    for tap in first[np.argsort(first)]:  # in order of time
        if not returned[tap]:
            returned[follows[tap]] = True
            kept.append(tap)
    chosen = np.array(kept, np.int64)
    return chosen, follows[chosen]


@njit(cache=True)
def _cheapest(time, east, north, low, high, most_km, usual, count):  # type: ignore[no-untyped-def]
    """The `count` cheapest returns of every tap; -1 where there are fewer. Taps are in order of time."""
    taps = len(time)
    near = np.full((taps, count), -1, np.int64)
    cost = np.full((taps, count), np.inf)
    for tap in range(taps):
        for other in range(tap + 1, taps):
            gap = time[other] - time[tap]
            if gap > high:
                break
            if gap < low:
                continue
            km = np.hypot(east[other] - east[tap], north[other] - north[tap])
            price = km + KM_PER_HOUR * abs(gap - usual) / HOUR
            if km > most_km or price >= cost[tap, count - 1]:
                continue
            at = count - 1
            while at > 0 and cost[tap, at - 1] > price:
                cost[tap, at], near[tap, at] = cost[tap, at - 1], near[tap, at - 1]
                at -= 1
            cost[tap, at], near[tap, at] = price, other
    return near, cost


SCORES, ASSIGNMENT = "the study's scores, tap by tap", "minimum-cost assignment of returns, day by day"
RECONSTRUCTIONS = (SCORES, ASSIGNMENT)
_SAMPLE = 2_000


def judge_links(taps: Taps, reconstruction: str, seed: int) -> dict[str, float | None]:
    """Links between two taps of one rider and day, how many join taps of one card, and what chance would give.

    The assignment is judged on the first day alone: it takes minutes for a day of 50,000 taps.
    """
    if reconstruction == ASSIGNMENT:
        taps = taps.take(np.flatnonzero(taps.day == taps.day.min()))
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
    """Return how many later taps of the same day the rules' times and distances allow after a tap, on average."""
    network = taps.world
    if not isinstance(network, Network):
        return float("nan")
    east, north = project(network.lat, network.lon)
    place: Floats = np.stack([east, north], axis=1)[taps.location]
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
