"""The study's loop written down plainly: for every tap, review all riders. The baseline of the bench, and an oracle."""

import math
from dataclasses import dataclass, field

import numpy as np

from wayveil.synthesis.riders.assignment import (
    ANOTHER_COIN,
    FIRST,
    NEW_RIDER,
    NEW_TRIP,
    RETURN,
    TRANSFER,
    TapArrays,
    next_role,
    travels,
)
from wayveil.synthesis.riders.roles import PURPOSES, RiderRules
from wayveil.synthesis.riders.waiting import Surroundings


@dataclass
class Passenger:
    role: int
    plan: int
    home: int
    last: int = -1
    last_time: int = 0
    purpose: str = ""
    primary: int = -1
    day: int = -1
    taps: int = 0
    taps_for: dict[str, int] = field(default_factory=dict)


def plain_riders(
    taps: TapArrays, ground: Surroundings, rules: RiderRules
) -> tuple[list[int], list[int], list[str]]:
    """Rider, scenario and purpose of each tap, with the same draws and rules as the compiled loop."""
    metres, seconds = [], []
    for stop in range(len(ground.first) - 1):
        part = slice(ground.first[stop], ground.first[stop + 1])
        near = ground.near[part].tolist()
        metres.append(dict(zip(near, ground.metres[part].tolist(), strict=True)))
        seconds.append(dict(zip(near, ground.seconds[part].tolist(), strict=True)))
    east, north = ground.east.tolist(), ground.north.tolist()
    passengers: list[Passenger] = []
    shares, rests = rules.shares / rules.shares.sum(), np.array([r.working_days_only for r in rules.roles])
    made = np.zeros(len(rules.roles), np.int64)
    rider, scenarios, purposes = [], [], []
    location, time, draws = taps.location.tolist(), taps.time.tolist(), taps.draw.tolist()
    for tap in range(len(location)):
        here, now = location[tap], time[tap]
        today, second = divmod(now, 86_400)
        weekday = (today + 3) % 7
        fresh = [infer_purpose(role, rules, weekday, second // 3600, draws[tap]) for role in rules.roles]
        best, best_score, best_scenario = -1, math.inf, NEW_RIDER
        for number, who in enumerate(passengers):
            role = rules.roles[who.role]
            if second >= role.latest_hour * 3600:
                continue
            if who.day != today:
                if not who.plan >> weekday & 1 or not travels(number, today, rules.regularity):
                    continue
                if role.taps_for.get(fresh[who.role], 127) < 1:
                    continue
                away = metres[here].get(who.home)
                if away is None or away > rules.first_km * 1000 or now - who.last_time < ground.longest:
                    continue
                score = away * (rules.km_weight / 1000) + rules.first_hours * rules.hour_weight
                if score < best_score:
                    best, best_score, best_scenario = number, score, FIRST
                continue
            if who.taps >= role.taps_a_day or travels(number, today + ANOTHER_COIN, rules.one_way):
                continue
            away = metres[here].get(who.last)
            gap = now - who.last_time
            if away is None or gap < seconds[here][who.last]:
                continue
            for scenario in (TRANSFER, RETURN, NEW_TRIP):
                limit, low, high = bounds(scenario, role, rules)
                if away > limit or not low <= gap <= high:
                    continue
                purpose = fresh[who.role] if scenario == NEW_TRIP else who.purpose
                if who.taps_for.get(purpose, 0) >= role.taps_for.get(purpose, 127):
                    continue
                score = away * (rules.km_weight / 1000) + gap * (rules.hour_weight / 3600)
                if who.primary >= 0:
                    to_primary = math.hypot(east[who.primary] - east[here], north[who.primary] - north[here])
                    if to_primary <= rules.primary_km * 1000:
                        score -= rules.primary_bonus
                if score < best_score:
                    best, best_score, best_scenario = number, score, scenario
        if best < 0:
            best = len(passengers)
            new = next_role(shares, made, rests, weekday)
            made[new] += 1
            passengers.append(Passenger(new, int(taps.plan[tap, new]), here))
        who = passengers[best]
        purpose = who.purpose if best_scenario in (TRANSFER, RETURN) else fresh[who.role]
        if who.day != today:
            who.day, who.taps, who.taps_for = today, 0, {}
        who.taps += 1
        who.taps_for[purpose] = who.taps_for.get(purpose, 0) + 1
        who.last, who.last_time, who.purpose = here, now, purpose
        if best_scenario == RETURN and purpose == rules.roles[who.role].purpose and who.primary < 0:
            who.primary = here
        rider.append(best)
        scenarios.append(best_scenario)
        purposes.append(purpose)
    return rider, scenarios, purposes


def bounds(scenario: int, role, rules: RiderRules) -> tuple[float, int, int]:
    """Metres, least and most seconds of a scenario."""
    if scenario == TRANSFER:
        return rules.transfer_km * 1000, role.transfer_minutes[0] * 60, role.transfer_minutes[1] * 60
    if scenario == RETURN:
        return rules.return_km * 1000, int(role.stay_hours[0] * 3600), int(role.stay_hours[1] * 3600)
    return rules.new_trip_km * 1000, role.new_trip_minutes * 60, 86_400


def infer_purpose(role, rules: RiderRules, weekday: int, hour: int, draw: list[float]) -> str:
    """Primary in the role's hours, else by chance the role's own or a general purpose."""
    hours = role.primary_hours
    if hours and weekday < 5 and hours[0] <= hour < hours[1] and draw[0] < rules.primary_share:
        return role.purpose
    if draw[1] >= rules.general_share:
        return role.purpose
    total, running = sum(rules.general.values()), 0.0
    for name in PURPOSES:
        running += rules.general.get(name, 0.0) / total
        if draw[2] < running:
            return name
    return PURPOSES[-1]
