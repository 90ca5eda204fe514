"""Weights against drawn trips: how far boardings per stop are off, for riders with 1 to 30 trips.

    python -m bench.weights [--epsilon 1] [--tries 200] [--judge] [--at-hand]

Plain histograms of stops (0.81 of epsilon) and of hours (0.09), bounded by weights or by trips drawn at random; the
rest buys the number of all trips, for both: drawn trips are scaled to it likewise, which no release does. Both have the
same noise in every try, so that what is left of the difference is the bounding. Riders have 1 to 30 trips, 5.6 on
average. In worlds with a `shift`, trips of riders with many of them go to other stops: the share `shift` of them has a
demand of its own. The default bound was set on the seeds 0 to 3 and confirmed on those of `--judge`. `--at-hand`: cards
of Buenos Aires, and the cities of `bench.needs` instead.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from bench.promise import WORLDS
from wayveil.privacy.weights import MOST_ROWS, PARTS, Size, size_steps, split_weight
from wayveil.trips.trips import Trips

HOURS = 24
SIZES = {"city A": (2_750, 785), "city B": (5_300, 2_839), "town": (600, 120)}
BOUNDS = (1, 2, 4, 8)
WITH_RIDERS = ("buenos-aires", "cairns", "victoria", "invented")


@dataclass(frozen=True)
class Boardings:
    """Simulated boardings: the rider, stop and hour of each; `stops` there are."""

    rider: np.ndarray
    stop: np.ndarray
    hour: np.ndarray
    stops: int

    @classmethod
    def draw(cls, riders: int, stops: int, shift: float, seed: int) -> "Boardings":
        """Draw them; `shift` says how differently riders with many trips travel."""
        rng = np.random.default_rng(seed)
        per_rider = np.minimum(1 + rng.geometric(0.35, riders) * rng.geometric(0.55, riders), 30)
        rider = np.repeat(np.arange(riders), per_rider)
        usual, other = (rng.permutation(1 / np.arange(1, stops + 1) ** 0.9) for _ in range(2))
        often = np.minimum(per_rider / 15, 1.0)[rider] * shift > rng.random(len(rider))
        home = rng.choice(stops, riders, p=usual / usual.sum())[rider]
        away = rng.choice(stops, len(rider), p=usual / usual.sum())
        stop = np.where(rng.random(len(rider)) < 0.5, home, away)
        stop = np.where(often, rng.choice(stops, len(rider), p=other / other.sum()), stop)
        hour = np.where(often, rng.integers(5, 9, len(rider)), rng.integers(6, 24, len(rider)))
        return cls(rider, stop, hour, stops)

    @classmethod
    def of(cls, trips: Trips) -> "Boardings":
        """Take those of trips that have riders; of a sequence of taps, all that it has."""
        board = trips.offsets[:-1] if len(np.unique(trips.rider)) < len(trips) else np.arange(trips.visits)
        rider = np.unique(trips.rider[trips.trip_of_visit()[board]], return_inverse=True)[1]
        return cls(rider, trips.location[board], trips.time[board] // 3600 % HOURS, trips.world.size)

    def weigh(self, most: int) -> np.ndarray:
        """Weights of all trips."""
        return np.minimum(1.0, most / np.bincount(self.rider)[self.rider])

    def pick(self, most: int, rng: np.random.Generator) -> np.ndarray:
        """One for each trip that is drawn, nothing for the others."""
        order = np.lexsort((rng.random(len(self.rider)), self.rider))
        first = np.searchsorted(self.rider, self.rider)
        drawn = np.zeros(len(order))
        drawn[order[np.arange(len(order)) - first < most]] = 1.0
        return drawn

    def count(self, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Boardings per stop and per hour."""
        return np.bincount(self.stop, weight, self.stops), np.bincount(self.hour, weight, HOURS)


def errors(world: Boardings, stops: np.ndarray, hours: np.ndarray) -> list[float]:
    """L1 per stop, median of the true top 50, top 20 found, hours, total: all but the third the less the better."""
    true, by_hour = world.count()
    rides, top = len(world.rider), np.argsort(-true)[:50]
    found = len(set(np.argsort(-stops)[:20]) & set(np.argsort(-true)[:20]))
    return [
        float(np.abs(np.maximum(stops, 0) - true).sum() / rides),
        float(np.median(np.abs(stops[top] - true[top]) / true[top])),
        found,
        float(np.abs(hours - by_hour).sum() / rides),
        abs(float(hours.sum()) / rides - 1),
    ]


def compare(world: Boardings, most: int, epsilon: float, rng: np.random.Generator) -> list[list[float]]:
    """Errors of drawn trips and of weights, with the same noise."""
    weight = world.weigh(most)
    steps = size_steps(most, MOST_ROWS)
    each, many = np.unique(weight, return_counts=True)
    there = many @ np.array([split_weight(int(PARTS * part), steps) for part in each]) / PARTS
    scale = 10 * most / epsilon
    noisy = there + rng.laplace(0, scale, len(steps))
    factor = float(Size(tuple(noisy), steps, scale * 2**0.5).factor)
    noise = [
        rng.laplace(0, most / (part * epsilon), cells) for part, cells in ((0.81, world.stops), (0.09, HOURS))
    ]
    counted = (world.count(world.pick(most, rng)), world.count(weight))
    return [
        errors(world, *(factor * (count + drawn) for count, drawn in zip(each, noise, strict=True)))
        for each in counted
    ]


def main() -> None:
    """Print a row per world, shift, bound and bounding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--judge", action="store_true", help="worlds that the default was not chosen on")
    parser.add_argument("--at-hand", action="store_true", help="worlds with riders that nobody drew for this")
    said = parser.parse_args()
    print("| world | shift | k | bounding | L1 stops | median of top 50 | of top 20 | hours | total |")
    print("|---|--:|--:|---|--:|--:|--:|--:|--:|")
    if said.at_hand:
        for name in WITH_RIDERS:
            show(name, "", [Boardings.of(WORLDS[name]())], said.epsilon, said.tries)
        return
    for name, (riders, stops) in SIZES.items():
        for shift in (0.0, 0.5):
            worlds = [Boardings.draw(riders, stops, shift, seed + 100 * said.judge) for seed in range(4)]
            show(name, f"{shift:g}", worlds, said.epsilon, said.tries)


def show(name: str, shift: str, worlds: list[Boardings], epsilon: float, tries: int) -> None:
    """Print the rows of one world, of which there are several draws."""
    for most in BOUNDS:
        rng = np.random.default_rng(7)
        found = [compare(worlds[each % len(worlds)], most, epsilon, rng) for each in range(tries)]
        for bounding, each in zip(("draw", "weights"), np.mean(found, axis=0), strict=True):
            l1, median, top, hours, total = each
            print(
                f"| {name} | {shift} | {most} | {bounding} | {l1:.3f} | {median:.1%} | {top:.1f} | {hours:.1%} | "
                f"{total:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
