"""How often trend intervals hold the true change, week after week of a simulated year's beginning.

    python -m bench trend

The judged city of `bench prior`, with its drift, its season and its new line from week 7 on; every release follows
those before it. Trends from each week to the next and to the one four weeks later. `held`: share of cells whose
interval holds the true change (95 % are promised); `named`: share of cells whose change is called one; `wrong`: of
those, the share whose true change is none or the other way; `ranks held`: share of stops whose true rank is in its
range.
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from bench.prior import JUDGED, count_taps, first_stops, simulate_weeks
from wayveil.answers.trends import LESS, MORE, find_trend
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips

KEEP = LegalityRule(repeats="keep", impossible="keep")
TRIPS = 20_000
LATER = (1, 4)


def release_taps(weeks: Sequence[Trips], epsilon: str) -> list[Release]:
    """Counted taps, each week after those before it."""
    made: list[Release] = []
    for number, week in enumerate(weeks):
        bits = SeededBits(number)
        made.append(
            release(
                week, TapCounts(), epsilon=epsilon, unit=Event(), rule=KEEP, prior=made, bits=bits, seed=1
            )
        )
    return made


def release_trips(weeks: Sequence[Trips], epsilon: str) -> list[Release]:
    """Woven trips, each week after those before it."""
    made: list[Release] = []
    for number, week in enumerate(weeks):
        bits = SeededBits(number)
        made.append(release(week, Weave(), epsilon=epsilon, unit=Trip(), prior=made, bits=bits, seed=1))
    return made


def judge(
    title: str,
    weeks: Sequence[Trips],
    made: Sequence[Release],
    truths: dict[str, Callable[[Trips], np.ndarray]],
) -> list[dict]:
    """One row per question."""
    rows = []
    for question, true in truths.items():
        held, named, wrong, ranks = [], [], [], []
        for first in range(len(weeks)):
            for last in (first + later for later in LATER if first + later < len(weeks)):
                table = find_trend([made[first], made[last]], question, anyway=True).table
                place = _places(question, weeks[first], table)
                before, after = true(weeks[first])[place], true(weeks[last])[place]
                low, high = table["low"].to_numpy(), table["high"].to_numpy()
                known = ~np.isnan(low.astype(np.float64))
                change = after - before
                held += ((low <= change) & (change <= high))[known].tolist()
                said = table["verdict"].to_numpy()
                named += np.isin(said, [MORE, LESS])[known].tolist()
                wrong += (change[said == MORE] <= 0).tolist() + (change[said == LESS] >= 0).tolist()
                if "rank_before" in table.columns:
                    rank = 1 + (before[None, :] > before[:, None]).sum(axis=1)
                    best, worst = (table[name].to_numpy() for name in ("rank_before", "rank_before_worst"))
                    ranks += ((best <= rank) & (rank <= worst)).tolist()
        row = {"table": title, "question": question, "cells": len(held)}
        row |= {"held": float(np.mean(held)) if held else float("nan"), "named": float(np.mean(named or [0]))}
        row |= {"wrong": float(np.mean(wrong or [0])), "ranks held": float(np.mean(ranks)) if ranks else ""}
        rows.append(row)
    return rows


def _places(question: str, trips: Trips, table: pl.DataFrame) -> np.ndarray:
    if question == "hours":
        return table["hour"].to_numpy()
    stop = np.searchsorted(trips.world.ids, table["stop_id"].to_numpy().astype(trips.world.ids.dtype))
    return stop * 24 + table["hour"].to_numpy() if question == "stop-hours" else stop


def run() -> list[dict]:
    """Counted taps over twelve weeks, woven trips over the three weeks before and after the change."""
    weeks = simulate_weeks(JUDGED, TRIPS)
    taps = [first_stops(week) for week in weeks]
    counted: dict[str, Callable[[Trips], np.ndarray]] = {
        "stops": lambda trips: count_taps(trips, ("stop",)),
        "hours": lambda trips: count_taps(trips, ("hour",)),
        "stop-hours": lambda trips: count_taps(trips, ("stop", "hour")),
    }
    ends: dict[str, Callable[[Trips], np.ndarray]] = {
        "boardings": lambda trips: np.bincount(trips.origins(), minlength=trips.world.size),
        "alightings": lambda trips: np.bincount(trips.destinations(), minlength=trips.world.size),
    }
    found = []
    for epsilon in ("0.1", "0.5"):
        found += judge(f"taps, epsilon {epsilon}", taps, release_taps(taps, epsilon), counted)
    some = weeks[4:9]
    return found + judge("weave, epsilon 0.5, weeks 5 to 9", some, release_trips(some, "0.5"), ends)
