"""What earlier releases are worth: the error of every week with and without them, at the same epsilon per week.

    python -m bench prior                 the judged city and London, day by day
    python -m bench.prior tune [seeds]    other cities, on which constants are set

Twelve weeks of a city: regular and occasional riders of one population, demand that drifts from week to week, a
season that all share, and from the seventh week on a new line along which demand grows. London: the days of one real
week of Oyster journeys. Figures are errors, so less is better; `ratio` is with prior over without. `ceiling` is the
error of as many trips drawn anew from the raw ones, which no release of trips can be expected to beat by much.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Trip, Unit
from wayveil.simulate.feed import write_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.estimates import Key, Visits
from wayveil.synthesis.model import Estimates, Model
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.utility.figures import ceiling
from wayveil.utility.stop_figures import StopFigures
from wayveil.world.gtfs import read_gtfs
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.zones import Geography

WEEKS, CHANGE = 12, 6
SETTLED = range(4, WEEKS)  # weeks 5 to 12
JUDGED, TUNED = 77, (1, 2, 3)
ZONE_BITS = 4  # sixteen zones at either end, for origin-destination pairs
TAP_QUESTIONS: dict[str, tuple[Key, ...]] = {
    "taps by stop": ("stop",),
    "taps by hour": ("hour",),
    "taps by stop and hour": ("stop", "hour"),
}


def simulate_weeks(seed: int, trips: int, *, stops: int = 240, lines: int = 16) -> list[Trips]:
    """Twelve weeks of one city, of about so many trips each."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        city = read_gtfs(write_city(Path(folder) / "city.zip", seed, stops=stops, lines=lines))
    everybody = simulate_habit(city, 3 * trips, seed=seed)
    # Half of all riders are there most weeks, the others now and then.
    usual = np.where(rng.random(len(everybody)) < 0.3, 0.7, 0.15)
    drift = np.zeros((2, city.size))
    new_line = rng.random(city.size) < 0.08
    ends = everybody.origins(), everybody.destinations()
    weeks = []
    for week in range(WEEKS):
        drift += 0.02 * rng.standard_normal(drift.shape)
        season = np.exp(0.03 * rng.standard_normal())
        busy = np.exp(drift[0][ends[0]] + drift[1][ends[1]]) * season
        if week >= CHANGE:
            busy *= np.where(new_line[ends[0]] | new_line[ends[1]], 2.0, 0.95)
        weeks.append(everybody.take(np.flatnonzero(rng.random(len(everybody)) < usual * busy)))
    return weeks


def london_days() -> list[Trips]:
    """The days of one real week, Monday first."""
    from bench.worlds import oyster

    trips = oyster()
    day = trips.time[trips.offsets[:-1]] // DAY
    return [trips.take(np.flatnonzero(day == each)) for each in np.unique(day)[:7]]


@dataclass(frozen=True)
class Course:
    """A way to release week after week, and what is asked of every week."""

    mechanism: Mechanism
    unit: Unit
    epsilon: str
    examine: Callable[[Trips, Model, int], dict[str, float]]
    drawn: bool = False

    def errors(self, weeks: Sequence[Trips], seed: int, *, follow: bool) -> list[dict[str, float]]:
        """The figures of every week."""
        earlier: list[Model] = []
        found = []
        for number, trips in enumerate(weeks):
            mechanism = self.mechanism.following(earlier) if follow and earlier else self.mechanism
            gate = Gate(self.unit, Budget(self.epsilon), SeededBits(1_000 * seed + number))
            model = mechanism.measure(LocalCounter(gate.bound(trips)), gate)
            earlier.append(model)
            found.append(self.examine(trips, model, seed))
        return found

    def ceilings(self, weeks: Sequence[Trips]) -> list[dict[str, float]]:
        """The figures of as many trips drawn anew from the raw ones of each week: what sampling alone does."""
        return (
            [compare_trips(trips, ceiling(trips, 1), 1) for trips in weeks]
            if self.drawn
            else [{} for _ in weeks]
        )


def examine_trips(raw: Trips, model: Model, seed: int) -> dict[str, float]:
    """Errors of woven trips."""
    return compare_trips(raw, model.generate(seed), seed)


def compare_trips(raw: Trips, private: Trips, seed: int) -> dict[str, float]:
    """Errors of count queries, of visits per stop, and of origin-destination pairs of zones."""
    queries = CountQueryError(raw, queries=4_000, max_length=3, seed=seed).measure(private)
    stops = StopFigures(raw).measure(private)
    return {
        "count queries": next(each.value for each in queries if each.key == "count_query_error/non-empty"),
        "visits by stop": next(each.value for each in stops if each.key == "stop_error"),
        "origin-destination": _off(_zone_pairs(raw), _zone_pairs(private)),
    }


def examine_taps(raw: Trips, model: Model, seed: int) -> dict[str, float]:
    """Errors of counted taps in shares of all taps, and how often intervals hold the truth."""
    assert isinstance(model, Estimates)
    found = {}
    for name, per in TAP_QUESTIONS.items():
        true, known = count_taps(raw, per), model.estimate(Visits(per), raw)
        if known is None or known.low is None or known.high is None:
            continue
        found[name] = _off(true, known.values)
        found[f"{name}, held"] = float(np.mean((known.low <= true) & (true <= known.high)))
    return found


def count_taps(raw: Trips, per: tuple[Key, ...]) -> np.ndarray:
    """The true numbers."""
    hour = raw.time % DAY // HOUR
    if per == ("hour",):
        return np.bincount(hour, minlength=24)
    if per == ("stop",):
        return np.bincount(raw.location, minlength=raw.world.size)
    return np.bincount(raw.location * 24 + hour, minlength=24 * raw.world.size)


def _zone_pairs(trips: Trips) -> np.ndarray:
    zones = Geography(trips.world).places
    origin, destination = (zones.zone(end, ZONE_BITS) for end in (trips.origins(), trips.destinations()))
    return np.bincount((origin << ZONE_BITS) + destination, minlength=1 << 2 * ZONE_BITS)


def _off(true: np.ndarray, shown: np.ndarray) -> float:
    return float(np.abs(shown - true).sum() / max(true.sum(), 1))


def compare(title: str, course: Course, weeks: Sequence[Trips], seeds: Sequence[int]) -> list[dict]:
    """Rows of one table: by figure, the mean error of the settled weeks, of the change, and of each week."""
    with_prior, without = (
        [course.errors(weeks, seed, follow=follow) for seed in seeds] for follow in (True, False)
    )
    settled = list(SETTLED) if len(weeks) == WEEKS else list(range(1, len(weeks)))
    rows = []
    for figure in with_prior[0][0]:
        after, alone = (
            np.array([[week[figure] for week in run] for run in runs]).mean(axis=0)
            for runs in (with_prior, without)
        )
        best = np.array([each.get(figure, np.nan) for each in course.ceilings(weeks)])
        row: dict[str, object] = {
            "table": title,
            "figure": figure,
            "without": float(alone[settled].mean()),
            "with prior": float(after[settled].mean()),
        }
        if course.drawn:
            row["ceiling"] = float(best[settled].mean())
        if not figure.endswith("held"):
            row["ratio"] = float(after[settled].mean() / alone[settled].mean())
            row["by week"] = " ".join(f"{ratio:.2f}" for ratio in after / alone)
        if len(weeks) > CHANGE + 1:
            row["change without"], row["change with"] = float(alone[CHANGE]), float(after[CHANGE])
        rows.append(row)
    return rows


def courses(epsilon: str) -> dict[str, Course]:
    """What is released every week."""
    return {
        "taps": Course(TapCounts(), Event(), epsilon, examine_taps),
        "weave": Course(Weave(), Trip(), epsilon, examine_trips, drawn=True),
    }


def first_stops(trips: Trips) -> Trips:
    """Taps: where trips begin, each by itself."""
    starts = trips.offsets[:-1]
    return Trips(trips.location[starts], np.arange(len(trips) + 1), trips.world, trips.time[starts])


def compare_city(
    seed: int, trips: int, epsilon: str, kinds: Sequence[str], seeds: Sequence[int]
) -> list[dict]:
    """All figures of one city."""
    weeks, found = simulate_weeks(seed, trips), []
    for kind in kinds:
        counted = [first_stops(week) for week in weeks] if kind == "taps" else weeks
        found += compare(
            f"{kind}, city {seed}, {trips:,} trips a week, epsilon {epsilon}",
            courses(epsilon)[kind],
            counted,
            seeds,
        )
    return found


def run() -> list[dict]:
    """The judged city, and London."""
    judge = partial(compare_city, JUDGED, 20_000, seeds=(1,))
    found = [*judge("0.1", ["taps"]), *judge("0.2", ["weave"]), *judge("0.5", ["taps", "weave"])]
    found += judge("1", ["weave"])
    days = london_days()
    for kind in ("taps", "weave"):
        counted = [first_stops(day) for day in days] if kind == "taps" else days
        found += compare(f"{kind}, London, day by day, epsilon 0.1", courses("0.1")[kind], counted, (1,))
    return found


def main() -> None:
    """Cities on which constants may be set."""
    from bench.__main__ import show_tables

    if sys.argv[1:2] != ["tune"]:
        raise SystemExit(
            "python -m bench prior; or python -m bench.prior tune [kind] [epsilon] [trips] [seeds]"
        )
    kind, epsilon, trips, seeds = (*sys.argv[2:], *("weave", "0.5", "20000", "1")[len(sys.argv) - 2 :])
    for seed in seeds.split(","):
        show_tables("prior", compare_city(int(seed), int(trips), epsilon, [kind], (1,)))


if __name__ == "__main__":
    main()
