"""Weights against drawn trips: how far boardings per stop are off, for riders with 1 to 30 trips.

    python -m bench.weights [--epsilon 1] [--tries 8] [--judge]

Every figure goes through the gate: plain histograms of stops and of hours, bounded by weights (what the number of all
trips costs is in it) or by trips that are drawn at random, which buy the same number for the same price, and the number
of those that were drawn. Riders have 1 to 30 trips, 5.6 on average. In worlds with a
`shift`, trips of riders with many of them go to other stops: the share `shift` of them has a demand of its own. The
default bound was set on the seeds 0 to 3 and confirmed on those of `--judge`.
"""

import argparse
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.all_rows import scale_to_all_rows
from wayveil.mechanisms.tap_counts import _Stops, _Times
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

ONE, BINS = Contribution(per_trip=1), TimeBins.hour_of_day()
SIZES = {"city A": (2_750, 785), "city B": (5_300, 2_839), "town": (600, 120)}
BOUNDS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Riders:
    """Simulated boardings: riders, stops, and how differently riders with many trips travel."""

    riders: int
    stops: int
    shift: float

    def draw(self, seed: int) -> Trips:
        """Draw boardings with times and riders."""
        rng = np.random.default_rng(seed)
        per_rider = np.minimum(1 + rng.geometric(0.35, self.riders) * rng.geometric(0.55, self.riders), 30)
        rider = np.repeat(np.arange(self.riders), per_rider)
        usual, other = (rng.permutation(1 / np.arange(1, self.stops + 1) ** 0.9) for _ in range(2))
        often = np.minimum(per_rider / 15, 1.0)[rider] * self.shift > rng.random(len(rider))
        home = rng.choice(self.stops, self.riders, p=usual / usual.sum())[rider]
        away = rng.choice(self.stops, len(rider), p=usual / usual.sum())
        stop = np.where(rng.random(len(rider)) < 0.5, home, away)
        stop = np.where(often, rng.choice(self.stops, len(rider), p=other / other.sum()), stop)
        hour = np.where(often, rng.integers(5, 9, len(rider)), rng.integers(6, 24, len(rider)))
        world = World.of_symbols([f"s{place:05}" for place in range(self.stops)])
        trips = Trips.of_lists([[int(place)] for place in stop], world, rider=rider)
        return replace(trips, time=hour * 3600)


def release_counts(trips: Trips, unit: Rider, epsilon: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Boardings per stop (nine tenths of what is left) and per hour, as they would be released."""
    weighing = Gate(replace(unit, bounding="weights"), Budget(epsilon))
    weighed = LocalCounter(weighing.bound(trips))
    scale_to_all_rows(weighed, weighing)
    gate, counter, factor = weighing, weighed, 1.0
    if not unit.weighs:
        gate = Gate(unit, Budget(weighing.budget.remaining))
        counter = LocalCounter(gate.bound(trips))
        # As many weights as drawn trips, at the same price.
        factor = float(weighing.factor)
    prices = gate.budget.split([9, 1])
    found = []
    for encoding, cells, price in zip((_Stops(), _Times(BINS)), (trips.world.size, 24), prices, strict=True):
        exact = counter.visits(encoding, cells, 1)
        found.append(gate.histogram("count", exact, ONE, price).counts * factor)
    return found[0], found[1]


def errors(trips: Trips, unit: Rider, epsilon: Fraction) -> list[float]:
    """L1 per stop, median of the true top 50, top 20 found, hours, total: all but the third the less the better."""
    stops, hours = release_counts(trips, unit, epsilon)
    true = np.bincount(trips.location, minlength=trips.world.size)
    by_hour = np.bincount(trips.time // 3600 % 24, minlength=24)
    top = np.argsort(-true)[:50]
    found = len(set(np.argsort(-stops)[:20]) & set(np.argsort(-true)[:20]))
    return [
        float(np.abs(np.maximum(stops, 0) - true).sum() / len(trips)),
        float(np.median(np.abs(stops[top] - true[top]) / true[top])),
        found,
        float(np.abs(hours - by_hour).sum() / len(trips)),
        abs(float(hours.sum()) / len(trips) - 1),
    ]


def main() -> None:
    """Print a row per world, shift, bound and bounding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--judge", action="store_true", help="worlds that the default was not chosen on")
    said = parser.parse_args()
    print("| world | shift | k | bounding | L1 stops | median of top 50 | of top 20 | hours | total |")
    print("|---|--:|--:|---|--:|--:|--:|--:|--:|")
    for name, (riders, stops) in SIZES.items():
        for shift in (0.0, 0.5):
            worlds = [Riders(riders, stops, shift).draw(seed + 100 * said.judge) for seed in range(4)]
            for most in BOUNDS:
                for bounding in ("draw", "weights"):
                    unit = Rider(max_trips=most, bounding=bounding)
                    tries = [
                        errors(worlds[each % 4], unit, Fraction(said.epsilon)) for each in range(said.tries)
                    ]
                    l1, median, top, hours, total = np.mean(tries, axis=0)
                    print(
                        f"| {name} | {shift:g} | {most} | {bounding} | {l1:.3f} | {median:.1%} | {top:.1f} | "
                        f"{hours:.1%} | {total:.1%} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
