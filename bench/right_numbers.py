"""Numbers that once were wrong without a word: walks that run to and fro, and releases that are worse than none.

    python -m bench.right_numbers walks 10000 100000  returns and lengths of walks, of so many riders
    python -m bench.right_numbers tall 6 9            SafePath under taxonomies of so many levels
    python -m bench.right_numbers berlin 10000        MobiTrie on Berlin (needs the public data), of so many riders

Walks: the share of moves that go straight back, and how far the law of lengths is from the raw one (share of trips that
would have to have another number of stops), of raw riders with habits, of the release, and of its replica, which shows
what the noisy model supports. Tall and Berlin: the error of stops and of non-empty count queries beside that of an
empty release; where a release is worse, its verdict must say so. What is measured is kept with the docs, and
docs/accuracy.md shows it.
"""

import sys

import numpy as np

from bench.coverage import town
from bench.right_words import keep
from bench.worlds import berlin_network
from wayveil.accuracy.replicas import draw_replicas
from wayveil.errors import RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.public_knowledge import empty
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.utility.stop_figures import StopFigures

QUERIES = 4_000
FIGURES = {"stops": "stop_error", "count queries": "count_query_error/non-empty"}
# Kinds of question whose verdict warns of each figure: queries ask for stops in order.
WARNED_BY = {"stops": ("stops",), "count queries": ("edges", "triples", "stops")}


def measure_walks(size: int) -> list[dict]:
    """Returns and lengths of so many riders."""
    raw = simulate_habit(town(240, 91), size, seed=92)
    rows = []
    for mechanism in (MobiTrie(), VariableNgrams()):
        made = release(raw, mechanism, epsilon=1, unit=Trip())
        (replica,) = draw_replicas(made, 1)
        trips, again = made.trips, replica.trips
        rows.append(
            {
                "table": "walks",
                "case": f"{mechanism.name}, {size:,} riders",
                "order": [mechanism.name, size],
                "returns": [returns(each) for each in (raw, trips, again)],
                "lengths_off": [lengths_off(raw, trips), lengths_off(trips, again)],
                "mean_stops": [raw.visits / len(raw), trips.visits / max(len(trips), 1)],
            }
        )
    return rows


def returns(trips: Trips) -> float:
    """The share of moves that go straight back to the stop before."""
    inner = np.ones(trips.visits, bool)
    inner[trips.offsets[:-1][trips.lengths > 0]] = False
    second = inner & np.roll(inner, 1)
    at = np.flatnonzero(second)
    return float(np.mean(trips.location[at] == trips.location[at - 2])) if len(at) else 0.0


def lengths_off(left: Trips, right: Trips) -> float:
    """Half the sum of differences between the shares of trips with so many stops."""
    size = int(max(left.lengths.max(initial=0), right.lengths.max(initial=0))) + 1
    one, other = (np.bincount(side.lengths, minlength=size) / max(len(side), 1) for side in (left, right))
    return float(np.abs(one - other).sum() / 2)


def measure_tall(levels: int) -> list[dict]:
    """SafePath with a taxonomy of so many levels, each halving the one above."""
    raw = simulate_habit(town(240, 93), 10_000, seed=94)
    rows = []
    for height in (2, 3, 4, 5):
        tall = SafePath(height=height, location_height=levels, location_fan_out=2)
        rows += beside_silence(f"safepath {levels}/2, height {height}", [levels, height], raw, tall)
    return rows


def measure_berlin(size: int) -> list[dict]:
    """MobiTrie on Berlin, of so many riders."""
    raw = simulate_city(berlin_network(), size, seed=95).trips
    return beside_silence(f"mobitrie, Berlin, {size:,} riders", [0, size], raw, MobiTrie())


def beside_silence(case: str, order: list[int], raw: Trips, mechanism: Mechanism) -> list[dict]:
    """Both figures of a release and of an empty one, and what the verdict says where the release is worse."""
    common = {"table": "silence", "case": case, "order": order}
    try:
        made = release(raw, mechanism, epsilon=1, unit=Trip())
    except RefusedError as error:
        return [common | {"refused": str(error)}]
    asked = (StopFigures(raw), CountQueryError(raw, queries=QUERIES))
    nothing = empty(raw.world, timed=raw.time is not None)
    ours, silent = (
        {measure.key: measure.value for figures in asked for measure in figures.measure(trips)}
        for trips in (made.trips, nothing)
    )
    rows = []
    for name, key in FIGURES.items():
        value, against = float(ours[key]), float(silent[key])
        words = "better" if value < against else judgement(made, name)
        rows.append(common | {"figure": name, "release": value, "empty": against, "verdict": words})
    return rows


def judgement(made: Release, figure: str) -> str:
    """What the verdict says of a figure that is worse than an empty release."""
    found = [made.accuracy.of(kind) for kind in WARNED_BY[figure]]
    said = [verdict for verdict in found if verdict is not None and verdict.says_more]
    return f"WORSE, and the verdict praises {said[0].kind}" if said else "worse, and marked by the verdict"


PARTS = {"walks": measure_walks, "tall": measure_tall, "berlin": measure_berlin}


if __name__ == "__main__":
    part, *sizes = sys.argv[1:]
    for each in sizes:
        found = PARTS[part](int(each))
        keep(found)
        for one in found:
            print({key: value for key, value in one.items() if key != "order"}, flush=True)
