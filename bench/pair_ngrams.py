"""Pairs of place and time by the tens of thousands: time, and the resident set of a process that does nothing else.

MSNBC has no times, so every page gets a simulated minute of the day: a session starts at a random minute and goes on by
one to three minutes a page; 17 categories x 1,440 minutes are 24,480 pairs. Montreal's metro week has 72 stations x 168
hours = 12,096 pairs. Every row is a process of its own; the baseline is the one that holds the same trips and
releases nothing.
"""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from bench.weeks import week
from bench.worlds import MissingDataError, msnbc
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.world import World

AIM_GB = 4.0
HEIGHT = 12


def msnbc_at_minutes() -> Trips:
    """MSNBC's sessions with simulated minutes of the day."""
    trips = msnbc()
    rng = np.random.default_rng(1)
    start = np.repeat(rng.integers(0, 1440, len(trips)), trips.lengths)
    step = np.cumsum(rng.integers(1, 4, trips.visits))
    within = step - np.repeat(step[trips.offsets[:-1]], trips.lengths)
    return Trips(trips.location, trips.offsets, trips.world, np.minimum(start + within, 1439) * 60)


def metro_week() -> Trips:
    """The metro's week as a list of stations: whoever taps again is anywhere by then."""
    taps = week("metro")
    return Trips(taps.location, taps.offsets, World.of_symbols(taps.world.ids.tolist()), taps.time)


CASES: dict[str, tuple[str, Mechanism | None]] = {
    "MSNBC, 24,480 pairs: nothing": ("msnbc", None),
    "MSNBC, 24,480 pairs: variable-ngrams, n <= 5": ("msnbc", VariableNgrams(time="1", n_max=5, longest=50)),
    "MSNBC, 24,480 pairs: markov": ("msnbc", Markov(time="1", longest=50)),
    "metro week, 12,096 pairs: nothing": ("metro", None),
    "metro week, 12,096 pairs: variable-ngrams, n <= 5": (
        "metro",
        VariableNgrams(time="hour-of-week", n_max=5, longest=50),
    ),
    "metro week, 12,096 pairs: markov": ("metro", Markov(time="hour-of-week", longest=50)),
    "metro week, 12,096 pairs: safepath": ("metro", SafePath(height=HEIGHT, time="hour-of-week")),
    "metro week, 12,096 pairs: safepath, published": (
        "metro",
        SafePath.published(height=HEIGHT, time="hour-of-week", location_height=6, location_fan_out=2),
    ),
}


def measure(case: str) -> dict[str, object]:
    """One case, in this process."""
    world, mechanism = CASES[case]
    trips = msnbc_at_minutes() if world == "msnbc" else metro_week()
    made, seconds = None, 0.0
    if mechanism is not None:
        start = time.perf_counter()
        made = release(trips, mechanism, epsilon=1, unit=Trip(), bits=SeededBits(1), seed=1).trips
        seconds = time.perf_counter() - start
    return {
        "figure": case,
        "value": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "unit": "GB resident at most",
        "seconds": seconds,
        "trips": len(trips),
        "released": 0 if made is None else len(made),
        "longest": 0 if made is None else int(made.lengths.max(initial=0)),
    }


def run() -> list[dict[str, object]]:
    """Rows {figure, value, baseline, ratio}; the aim is 4 GB."""
    rows: list[dict[str, object]] = []
    for case in CASES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                row = pool.submit(measure, case).result()
            except MissingDataError as error:
                row = {"figure": case, "value": f"skipped: {error}"}
        if isinstance(row["value"], float):
            alone = next((one for one in rows if str(one["figure"]).startswith(case.split(":")[0])), row)
            row |= {"baseline": "nothing", "ratio": row["value"] / float(str(alone["value"]))}
            row |= {"aim": AIM_GB}
        rows.append(row)
        print(row, flush=True)
    return rows


if __name__ == "__main__":
    run()
