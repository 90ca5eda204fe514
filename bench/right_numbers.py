"""Numbers that once were wrong without a word: walks that run to and fro, and releases that are worse than none.

    python -m bench.right_numbers                     both tables
    python -m bench.right_numbers walks 1000000       more riders
    python -m bench.right_numbers empty berlin        MobiTrie on Berlin (needs the public data); tall: SafePath

Walks: the share of moves that go straight back, and how far the law of lengths is from the raw one (share of trips that
would have to have another number of stops), of raw riders with habits, of the release, and of its replica, which shows
what the noisy model supports. Empty: the error of stops and of non-empty count queries beside that of an empty release;
where a release is worse, its verdict must say so.
"""

import sys
from itertools import product

import numpy as np

from bench.coverage import town
from bench.worlds import berlin_network
from wayveil.errors import RefusedError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release, release
from wayveil.releases.replicas import draw_replicas
from wayveil.simulate.city import simulate_city
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import score

QUERIES = 4_000
FIGURES = {"stops": "stop_error", "count queries": "count_query_error/non-empty"}
# Kinds of question whose verdict warns of each figure: queries ask for stops in order.
WARNED_BY = {"stops": ("stops",), "count queries": ("edges", "triples", "stops")}


def show_walks(sizes: list[int]) -> None:
    """Returns and lengths at several sizes."""
    network = town(240, 91)
    print(f"{'riders':<10}{'mechanism':<18}{'returns':>24}{'lengths off':>22}{'mean stops':>18}")
    print(f"{'':<28}{'raw':>8}{'made':>8}{'again':>8}{'made':>14}{'again':>8}{'raw':>10}{'made':>8}")
    for size in sizes:
        raw = simulate_habit(network, size, seed=92)
        for mechanism in (MobiTrie(), VariableNgrams()):
            made = release(raw, mechanism, epsilon=1, unit=Trip())
            (replica,) = draw_replicas(made, 1)
            trips, again = made.trips, replica.trips
            back = "".join(f"{returns(each):8.3f}" for each in (raw, trips, again))
            off = f"{lengths_off(raw, trips):14.3f}{lengths_off(trips, again):8.3f}"
            mean = f"{raw.visits / len(raw):10.1f}{trips.visits / max(len(trips), 1):8.1f}"
            print(f"{size:<10,}{mechanism.name:<18}{back}{off}{mean}", flush=True)


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


def show_worse_than_none(wanted: str) -> None:
    """Releases that once were worse than an empty one."""
    print("case                                   figure         release   empty   verdict")
    if wanted in ("tall", "all"):
        raw = simulate_habit(town(240, 93), 10_000, seed=94)
        for levels, height in product((6, 9), (2, 3, 4, 5)):
            tall = SafePath(height=height, location_height=levels, location_fan_out=2)
            _show(f"safepath {levels}/2, height {height}", raw, tall)
    if wanted in ("berlin", "all"):
        network = berlin_network()
        for size in (10_000, 100_000):
            _show(
                f"mobitrie, Berlin, {size:,} riders", simulate_city(network, size, seed=95).trips, MobiTrie()
            )


def _show(case: str, raw: Trips, mechanism: Mechanism) -> None:
    try:
        made = release(raw, mechanism, epsilon=1, unit=Trip())
    except RefusedError as error:
        print(f"{case:<38} refused: {error}")
        return
    card = score(raw, made, queries=QUERIES)
    for name, key in FIGURES.items():
        figure = card[key]
        words = "better" if figure.value < figure.empty else judgement(made, name)
        print(f"{case:<38} {name:<14} {figure.value:7.3f} {figure.empty:7.3f}   {words}", flush=True)


def judgement(made: Release, figure: str) -> str:
    """What the verdict says of a figure that is worse than an empty release."""
    found = [made.accuracy.of(kind) for kind in WARNED_BY[figure]]
    said = [verdict for verdict in found if verdict is not None and verdict.says_more]
    return f"WORSE, and the verdict praises {said[0].kind}" if said else "worse, and marked by the verdict"


if __name__ == "__main__":
    part, *more = sys.argv[1:] or ["all"]
    if part in ("walks", "all"):
        show_walks([int(size) for size in more] if part == "walks" and more else [10_000, 100_000])
    if part in ("empty", "all"):
        show_worse_than_none(more[0] if part == "empty" and more else "all")
