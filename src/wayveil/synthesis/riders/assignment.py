"""The compiled loop that gives every anonymous tap to a rider.

For each tap the study's loop reviews all riders. Here riders with a tap today wait in lists by (stop, role, quarter of
an hour of the last tap), those still at home in lists by (home, role). Zones and their stops are tried from the nearest
outwards, and one is left out if even the last who tapped there would lose. The result is that of reviewing everybody
(lowest score; among equals the first rider), except that at most `patience` riders of one stop, role and scenario are
looked at.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.synthesis.riders.roles import RuleArrays
from wayveil.synthesis.riders.waiting import (
    NOBODY,
    QUARTER,
    SLOTS,
    WAITING_KINDS,
    People,
    Surroundings,
    Waiting,
    empty,
    latest_slot,
    pull,
    put,
)
from wayveil.world.timebins import DAY, HOUR

TRANSFER, RETURN, NEW_TRIP, FIRST, NEW_RIDER = range(5)
WORKING_DAYS = 5
ANOTHER_COIN = 1 << 20  # days from now


class TapArrays(NamedTuple):
    """Taps in the order in which they are assigned, and the random draws that belong to them.

    `plan` (bit per weekday, Monday first) has, by role, the active days of the rider whom the tap makes if nobody fits.
    """

    location: Int32s
    time: Ints
    days: Ints  # first tap of each day, and the number of taps
    plan: NDArray[np.uint8]
    draw: Floats  # three per tap, for purposes


class Queues(NamedTuple):
    """Riders who travel today by (home, role): those of row r are `queue[starts[r]:starts[r + 1]]`.

    All before `ahead[r]` have tapped today.
    """

    starts: Ints
    queue: Int32s
    ahead: Ints


class TapInQuestion(NamedTuple):
    """Where and when somebody tapped, and for what a rider of each role would, if the tap continued nothing."""

    here: int
    time: int
    fresh: Ints


class Best(NamedTuple):
    """The rider with the lowest score so far, and in which scenario; NOBODY if none fits."""

    rider: np.int64
    score: float
    scenario: int


@njit(cache=True)
def fresh_purpose(rules: RuleArrays, role: int, weekday: int, second: int, draw: Floats) -> int:
    """Return what a trip that continues nothing is for."""
    hour, hours = second // HOUR, rules.primary_hours[role]
    if weekday < WORKING_DAYS and hours[0] <= hour < hours[1] and draw[0] < rules.shares[2]:
        return rules.purpose[role]
    if draw[1] >= rules.shares[1]:
        return rules.purpose[role]
    return min(np.searchsorted(rules.general, draw[2], side="right"), len(rules.general) - 1)


@njit(cache=True)
def next_role(shares: Floats, made: Ints, rests: Mask, weekday: int) -> int:
    """The role that a new rider has: as seats go to parties by their votes (Sainte-Laguë), of those that travel today.

    Where no role travels on a weekend, somebody who taps then still has one.
    """
    best, most = -1, -1.0
    for resting in range(2):
        for role in range(len(shares)):
            if (rests[role] and weekday >= WORKING_DAYS) != bool(resting):
                continue
            claim = shares[role] / (2 * made[role] + 1)
            if claim > most:
                best, most = role, claim
        if best >= 0:
            break
    return best


@njit(cache=True)
def travels(rider: int, today: int, regularity: float) -> bool:
    """Tell whether a rider keeps to the plan today: a coin from their two numbers, whatever the order of work."""
    mixed = np.uint64(rider) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(today) * np.uint64(
        0xD1B54A32D192ED03
    )
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return bool((mixed >> np.uint64(11)) < np.uint64(regularity * 2.0**53))


@njit(cache=True)
def line_up(people: People, riders: int, today: int, regularity: float, stops: int, roles: int) -> Queues:
    """Queue the riders who travel today, in order."""
    weekday = (today + 3) % 7
    starts = np.zeros(stops * roles + 1, np.int64)
    for rider in range(riders):
        if (people.plan[rider] >> weekday) & 1 and travels(rider, today, regularity):
            starts[people.home[rider] * roles + people.role[rider] + 1] += 1
    starts = np.cumsum(starts)
    at, queue = starts[:-1].copy(), np.empty(starts[-1], np.int32)
    for rider in range(riders):
        if (people.plan[rider] >> weekday) & 1 and travels(rider, today, regularity):
            row = people.home[rider] * roles + people.role[rider]
            queue[at[row]] = rider
            at[row] += 1
    return Queues(starts, queue, starts[:-1].copy())


@njit(cache=True)
def assign(taps: TapArrays, ground: Surroundings, rules: RuleArrays, people: People, lists: Waiting) -> int:
    """Give all taps to riders, day by day; returns how many riders there are."""
    riders, stops, roles = 0, len(ground.first) - 1, len(rules.taps_a_day)
    made = np.zeros(roles, np.int64)
    for block in range(len(taps.days) - 1):
        if taps.days[block] == taps.days[block + 1]:
            continue
        today = taps.time[taps.days[block]] // DAY
        weekday = (today + 3) % 7  # 1970-01-01 was a Thursday
        queues = line_up(people, riders, today, rules.shares[3], stops, roles)
        empty(lists)
        for tap in range(taps.days[block], taps.days[block + 1]):
            rider, scenario = best_rider(tap, weekday, taps, ground, rules, people, lists, queues)
            if rider == NOBODY:
                rider = riders
                riders += 1
                role = next_role(rules.role_shares, made, rules.rests, weekday)
                made[role] += 1
                people.role[rider], people.plan[rider] = role, taps.plan[tap, role]
                people.home[rider] = taps.location[tap]
            elif people.today[rider] == today:
                pull(lists, people, rules, ground.zone_of, rider)
            give(tap, rider, scenario, today, weekday, taps, rules, people)
            one_way = travels(rider, today + ANOTHER_COIN, rules.shares[4])
            if people.taps_today[rider] < rules.taps_a_day[people.role[rider]] and not one_way:
                put(lists, people, rules, ground.zone_of, rider)
    return riders


@njit(cache=True)
def give(
    tap: int,
    rider: int,
    scenario: int,
    today: int,
    weekday: int,
    taps: TapArrays,
    rules: RuleArrays,
    people: People,
) -> None:
    """Write a tap to its rider."""
    role = people.role[rider]
    if scenario in (TRANSFER, RETURN):
        purpose = int(people.last_purpose[rider])
    else:
        purpose = int(fresh_purpose(rules, role, weekday, taps.time[tap] % DAY, taps.draw[tap]))
    if people.today[rider] != today:
        people.today[rider], people.taps_today[rider] = today, 0
        people.taps_for[rider, :] = 0
    people.taps_today[rider] += 1
    people.taps_for[rider, purpose] += 1
    people.last[rider], people.last_time[rider] = taps.location[tap], taps.time[tap]
    people.last_purpose[rider] = purpose
    # Where people set out for the way back from their main activity is where that activity is.
    if scenario == RETURN and purpose == rules.purpose[role] and people.primary[rider] == NOBODY:
        people.primary[rider] = taps.location[tap]
    people.rider[tap], people.purpose[tap], people.scenario[tap] = rider, purpose, scenario


@njit(cache=True)
def best_rider(
    tap: int,
    weekday: int,
    taps: TapArrays,
    ground: Surroundings,
    rules: RuleArrays,
    people: People,
    lists: Waiting,
    queues: Queues,
) -> tuple[int, int]:
    """Find the rider with the lowest score for a tap, and in which scenario; NOBODY if none fits."""
    fresh = np.empty(len(rules.taps_a_day), np.int64)
    for role in range(len(fresh)):
        fresh[role] = fresh_purpose(rules, role, weekday, taps.time[tap] % DAY, taps.draw[tap])
    asked = TapInQuestion(taps.location[tap], taps.time[tap], fresh)
    # Who has not tapped today has the same score everywhere but for the distance, and sets the mark for all others.
    mark = best_at_home(asked, ground, rules, people, queues)
    best = best_waiting(asked, ground, rules, people, lists, mark)
    return int(best.rider), best.scenario


@njit(cache=True)
def best_at_home(
    asked: TapInQuestion, ground: Surroundings, rules: RuleArrays, people: People, queues: Queues
) -> Best:
    """Find the nearest rider without a tap today."""
    here, time, fresh = asked
    best, best_score, best_scenario = NOBODY, np.inf, NEW_RIDER
    for group in range(ground.around[here], ground.around[here + 1]):
        if ground.metres[ground.begin[group]] > rules.metres[FIRST]:
            break
        for at in range(ground.begin[group], ground.begin[group + 1]):
            score = ground.metres[at] * rules.score[1] + rules.shares[0]
            if ground.metres[at] > rules.metres[FIRST] or score > best_score:
                break
            for role in range(len(fresh)):
                if time % DAY >= rules.latest[role] or rules.most[role, fresh[role]] < 1:
                    continue
                row = ground.near[at] * len(fresh) + role
                rider = next_in_line(row, time, ground.longest, rules.patience, people, queues)
                if rider != NOBODY and (score < best_score or (score == best_score and rider < best)):
                    best, best_score, best_scenario = rider, score, FIRST
    return Best(np.int64(best), best_score, best_scenario)


@njit(cache=True)
def shortest_gap(second: int, slot: int, least: int) -> int:
    """Seconds since the last tap of a slot, at least."""
    return max(second - (slot + 1) * QUARTER + 1, least)


@njit(cache=True)
def best_waiting(
    asked: TapInQuestion,
    ground: Surroundings,
    rules: RuleArrays,
    people: People,
    lists: Waiting,
    mark: Best,
) -> Best:
    """Find the rider with a tap today who beats the mark, if there is one.

    One deep loop: a function of its own would count references to all these arrays at every call.
    """
    here, time, fresh = asked
    best, best_score, best_scenario = mark
    second, roles = time % DAY, len(fresh)
    # Of riders who may go on, and of those who may not.
    soonest = (rules.low.min(), rules.low[:, NEW_TRIP].min())
    for group in range(ground.around[here], ground.around[here + 1]):
        nearest = ground.metres[ground.begin[group]] * rules.score[1]
        if nearest + soonest[0] * rules.score[0] - rules.score[2] > best_score:
            break
        for kind in range(WAITING_KINDS):
            known, shut = kind >> 1, kind & 1
            bonus, zone = rules.score[2] * known, ground.zone[group] * WAITING_KINDS + kind
            if second < soonest[shut]:
                continue
            slot = latest_slot(lists.by_zone, zone, (second - soonest[shut]) // QUARTER)
            shortest = shortest_gap(second, slot, soonest[shut])
            if slot < 0 or nearest + shortest * rules.score[0] - bonus > best_score:
                continue
            for at in range(ground.begin[group], ground.begin[group + 1]):
                metres = ground.metres[at]
                base, site = metres * rules.score[1], ground.near[at] * WAITING_KINDS + kind
                gap = max(soonest[shut], ground.seconds[at])
                if base + gap * rules.score[0] - bonus > best_score or second < gap:
                    continue
                slot = latest_slot(lists.by_stop, site, (second - gap) // QUARTER)
                if slot < 0 or base + shortest_gap(second, slot, gap) * rules.score[0] - bonus > best_score:
                    continue
                for role in range(roles):
                    row = site * roles + role
                    if second >= rules.latest[role]:
                        continue
                    for scenario in range(NEW_TRIP if shut else TRANSFER, NEW_TRIP + 1):
                        least = max(rules.low[role, scenario], ground.seconds[at])
                        most = rules.high[role, scenario]
                        too_far = metres > rules.metres[scenario] or second < least
                        if too_far or base + least * rules.score[0] - bonus > best_score:
                            continue
                        looked, oldest = 0, max(second - most, 0) // QUARTER
                        slot = latest_slot(lists.by_role, row, (second - least) // QUARTER)
                        while slot >= oldest and looked < rules.patience:
                            shortest = shortest_gap(second, slot, least)
                            if base + shortest * rules.score[0] - bonus > best_score:
                                break
                            rider = lists.head[row * SLOTS + slot]
                            while rider != NOBODY and looked < rules.patience:
                                looked += 1
                                gap = time - people.last_time[rider]
                                if least <= gap <= most:
                                    going_on = scenario < NEW_TRIP
                                    purpose = people.last_purpose[rider] if going_on else fresh[role]
                                    score, place = base + gap * rules.score[0], people.primary[rider]
                                    if known:
                                        east = ground.east[place] - ground.east[here]
                                        north = ground.north[place] - ground.north[here]
                                        if np.hypot(east, north) <= rules.score[3]:
                                            score -= rules.score[2]
                                    better = score < best_score or (score == best_score and rider < best)
                                    if better and people.taps_for[rider, purpose] < rules.most[role, purpose]:
                                        best, best_score, best_scenario = rider, score, scenario
                                rider = lists.after[rider]
                            slot = latest_slot(lists.by_role, row, slot - 1) if slot > 0 else -1
    return Best(np.int64(best), best_score, best_scenario)


@njit(cache=True)
def next_in_line(row: int, time: int, rest: int, patience: int, people: People, queues: Queues) -> int:
    """Find the first rider of a row who has no tap today and could be here from wherever the last tap was."""
    starts, queue, ahead = queues
    today = time // DAY
    while ahead[row] < starts[row + 1] and people.today[queue[ahead[row]]] == today:
        ahead[row] += 1
    for at in range(ahead[row], min(starts[row + 1], ahead[row] + patience)):
        rider = queue[at]
        if people.today[rider] != today and time - people.last_time[rider] >= rest:
            return rider
    return NOBODY
