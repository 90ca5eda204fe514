"""Riders from taps, against the study's loop that reviews every rider for every tap; and how the time grows."""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from bench.plain_riders import plain_riders
from wayveil.simulate.fare_boxes import STUDY_TAPS, simulate_taps
from wayveil.synthesis.riders.reconstruct import Riders, _arrays, reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.synthesis.riders.waiting import Surroundings, surroundings
from wayveil.taps.taps import Taps
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network
from wayveil.world.trees import travel_seconds

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
SLICE = 20_000
SIZES = (30_000, 100_000, 300_000, 1_000_000, 3_000_000)
STUDY_TAPS_A_WEEK = 4.5


def cpu_seconds(work) -> tuple[float, object]:
    """Seconds of processor time: the machine may be shared."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def impossible_moves(taps: Taps, rider: np.ndarray, ride: np.ndarray, walking: float) -> int:
    """Consecutive taps of a rider that are closer in time than the network and a walk allow."""
    order = np.lexsort((taps.time, rider))
    same = rider[order][1:] == rider[order][:-1]
    a, b = taps.location[order][:-1][same], taps.location[order][1:][same]
    from wayveil.world.geo import haversine

    world = taps.world
    walk = haversine(world.lat[a], world.lon[a], world.lat[b], world.lon[b]) / walking
    return int((np.diff(taps.time[order])[same] < np.floor(np.minimum(ride[a, b], 0.995 * walk))).sum())


def role_gap(role: np.ndarray, rules: RiderRules) -> float:
    """The largest difference between the riders' role shares and those of the study."""
    return float(np.abs(np.bincount(role, minlength=len(rules.roles)) / len(role) - rules.shares).max())


def quality(name: str, ours: float, theirs: float) -> dict:
    return {"figure": name, "value": ours, "baseline": "the study's loop", "baseline value": theirs}


def against_the_loop(network: Network, ground: Surroundings, ride: np.ndarray) -> list[dict]:
    rules = RiderRules()
    taps = simulate_taps(network, SLICE, seed=1).taps
    ours, made = cpu_seconds(lambda: reconstruct_riders(taps, rules, seed=1, ground=ground))
    order, arrays = _arrays(taps, rules, 1)
    theirs, (plain, _, _) = cpu_seconds(lambda: plain_riders(arrays, ground, rules))
    rider = np.empty(len(taps), np.int64)
    rider[order] = plain
    _, first = np.unique(plain, return_index=True)
    return [
        {
            "figure": f"taps/s, {SLICE:,} taps",
            "value": SLICE / ours,
            "baseline": "the study's loop in Python",
            "baseline value": SLICE / theirs,
            "ratio": theirs / ours,
        },
        quality("share of taps assigned", float((made.rider >= 0).mean()), float((rider >= 0).mean())),
        quality("share of taps with the same rider", float((made.rider == rider).mean()), 1.0),
        quality("taps per rider", SLICE / made.count, SLICE / len(first)),
        quality(
            "impossible moves",
            impossible_moves(taps, made.rider, ride, rules.walking),
            impossible_moves(taps, rider, ride, rules.walking),
        ),
        quality("largest gap of a role share", role_gap(made.role, rules), 0.0),
    ]


def growth(network: Network, ground: Surroundings, ride: np.ndarray) -> list[dict]:
    rules, seconds, rows = RiderRules(), [], []
    for size in SIZES:
        taps = simulate_taps(network, size, seed=2).taps
        spent, made = cpu_seconds(lambda taps=taps: reconstruct_riders(taps, rules, seed=2, ground=ground))
        assert isinstance(made, Riders)
        seconds.append(spent)
        rows.append({"figure": f"CPU seconds for {size:,} taps", "value": spent, "ratio": size / spent})
    slope = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
    rows.append(
        {
            "figure": "growth exponent, 30 k to 3 M taps",
            "value": slope,
            "baseline": "aim",
            "baseline value": 1.2,
        }
    )
    return rows


def measure() -> list[dict]:
    network = read_gtfs(DATA / "victoria" / "gtfs.zip", walk_radius_metres=300)
    rules = RiderRules()
    prepared, ground = cpu_seconds(lambda: surroundings(network, rules.reach_km * 1000, rules.walking))
    reconstruct_riders(simulate_taps(network, 500, seed=3).taps, rules, seed=1, ground=ground)  # compiles
    ride = travel_seconds(network, np.arange(network.size))
    taps = simulate_taps(network, STUDY_TAPS, seed=1).taps
    spent, made = cpu_seconds(lambda: reconstruct_riders(taps, rules, seed=1, ground=ground))
    facts = made.describe()
    return [
        *against_the_loop(network, ground, ride),
        {"figure": "CPU seconds for ways between stops, once per network", "value": prepared},
        {"figure": f"CPU seconds for {STUDY_TAPS:,} taps", "value": spent},
        {
            "figure": f"taps per rider of {STUDY_TAPS:,}",
            "value": facts["taps_per_rider"],
            "baseline": "the study, a week",
            "baseline value": STUDY_TAPS_A_WEEK,
        },
        {"figure": "impossible moves", "value": impossible_moves(taps, made.rider, ride, rules.walking)},
        {"figure": "largest gap of a role share", "value": role_gap(made.role, rules)},
        *growth(network, ground, ride),
    ]


def run() -> list[dict]:
    """Rows {figure, value, baseline, baseline value, ratio}."""
    if not (DATA / "victoria" / "gtfs.zip").exists():
        return [{"figure": "skipped", "value": f"no Victoria feed under {DATA}; set WAYVEIL_DATA"}]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure).result()


if __name__ == "__main__":
    from bench.__main__ import show

    show("taps", run())
