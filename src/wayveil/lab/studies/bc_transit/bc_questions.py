"""Printed values of the BC Transit study, and what it asks of a release of weekly trips."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.asked import Asked
from wayveil.arrays import Ints
from wayveil.mechanisms.time_axis import time_bins
from wayveil.privacy.bits import Bits
from wayveil.synthesis.model import PaidSize
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError, relative_errors, sanity_bound
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.raw_answers import RawAnswers
from wayveil.utility.stop_figures import hit_rate, stop_counts
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

NPT, NPT_EQUAL, PPDP = "NPT", "NPT, equal repair", "PPDP"
NPT_BARE, PPDP_BARE = "NPT, not filled up", "PPDP, not filled up"
BARE: Final = {NPT: NPT_BARE, PPDP: PPDP_BARE}
NOISELESS = "10000"  # an epsilon at which noise moves nothing
PPDP_PRESET = "PPDP, preset published"  # decreasing thresholds; the study names no values
# What the study may have done instead of what it says: noise on prefixes that occur, and none on the others. Its text
# has a threshold of 2.83 noise scales of a level, its table 5.1 one of 2.83 / epsilon.
NPT_SEEN = "NPT, observed prefixes only (not private)"
NPT_SEEN_LOW = "NPT, observed prefixes only, threshold 2.83 / epsilon (not private)"
PPDP_SEEN = "PPDP, observed prefixes only (not private)"
SEEN: Final = (NPT_SEEN, NPT_SEEN_LOW, PPDP_SEEN)
EPSILONS: Final = ("0.5", "0.75", "1", "1.25", "1.5", "1.75", "2")
HEIGHTS: Final = ("3", "6", "9", "12", "15")
STUDY_HEIGHT = "9"
TAPS, GAP_ROWS, NAMELESS_ROWS = 312_659, 1_833, 1_010
ROLE_SHARES: Final = {"full-time": 20, "part-time": 8, "student": 6, "self-employed": 17, "other": 49}
# Average relative error in %, up to 9 stops, at epsilon 0.5 and 2.
QUERIES: Final = {NPT: (4.94, 4.15), PPDP: (2.61, 1.66)}
PER_STOP: Final = {NPT: (3.71, 3.11), PPDP: (2.09, 1.25)}
TOTAL_BELOW = 1.0
STRICTEST: Final = {NPT: 6.0, PPDP: 3.0}  # below, at epsilon 0.5 with up to 3 stops
BEST_HEIGHT: Final = {NPT: 9, PPDP: 12}
# Share of the true top k found, in %.
TABLE_6_1: Final = {
    "20": {NPT: 85.0, PPDP: 95.0},
    "30": {NPT: 83.33, PPDP: 86.66},
    "40": {NPT: 80.0, PPDP: 85.0},
    "50": {NPT: 72.0, PPDP: 72.0},
}
TABLE_6_2: Final = {
    "0.5": {NPT: 75.0, PPDP: 80.0},
    "0.75": {NPT: 77.5, PPDP: 80.0},
    "1": {NPT: 77.5, PPDP: 82.5},
    "1.25": {NPT: 80.0, PPDP: 85.0},
    "1.5": {NPT: 82.5, PPDP: 85.0},
}
TABLE_6_3: Final = {
    "30": {NPT: 83.33, PPDP: 86.66},
    "40": {NPT: 80.0, PPDP: 85.0},
    "50": {NPT: 74.0, PPDP: 76.0},
}
TOPS: Final = (20, 30, 40, 50)
PEAKS = "07:00,09:00,15:00,18:00"  # morning peak, midday, evening peak, and the night before and after


GROUPS = tuple(map(int, HEIGHTS))  # the study's groups of queries: 1 to 3 stops, 1 to 6, ...
ARE = "average relative error, %"
ARE_TAPS = "average relative error, bound 0.1 % of taps, %"
PER_STOP_TRIPS, PER_STOP_TAPS = "per stop, bound 0.1 % of trips, %", "per stop, bound 0.1 % of taps, %"
TOTAL, TOTAL_OF_TRIPS = "total, %", "total of the trips alone, %"
HOURS, PAIRS = "per hour, %", "20 busiest pairs found, %"
MOST, LEAST = "most used 20 found, %", "least used 20 found, %"
RANKED = 20


@dataclass(frozen=True, eq=False)
class Examined:
    """Weekly trips and the true answers to everything that is asked about them."""

    raw: Trips
    asked: CountQueryError
    stops: Ints
    patterns: list[tuple[int, ...]]
    peak_patterns: list[tuple[int, ...]]
    pairs: list[tuple[int, ...]]

    @classmethod
    def of(cls, raw: Trips, queries: int) -> "Examined":
        """`queries` of every length up to the longest group."""
        return cls(
            raw,
            CountQueryError(raw, queries=queries * max(GROUPS), max_length=max(GROUPS), seed=1),
            stop_counts(raw),
            top_patterns(raw, max(TOPS)),
            top_patterns(at_peaks(raw), max(TOPS)),
            top_patterns(raw, RANKED, least=2, most=2),
        )

    def errors(self, made: Trips, height: int, bought: PaidSize | None = None) -> dict[str, float | None]:
        """Errors in %. `ARE` is over queries of up to as many stops as the tree is high, as in the study.

        The total is what `ask` answers: the number of taps that was bought, where one was.
        """
        answers = self.asked.answers(made)
        by_length = self._by_length(answers, self.asked.sanity)
        gentle = self._by_length(answers, 0.001 * self.raw.visits)
        row: dict[str, float | None] = {
            ARE: 100 * float(np.mean(by_length["uniform"][:height])),
            ARE_TAPS: 100 * float(np.mean(gentle["uniform"][:height])),
        }
        for most in GROUPS:
            row[f"uniform, up to {most}, %"] = 100 * float(np.mean(by_length["uniform"][:most]))
        row["non-empty, up to 9, %"] = 100 * float(np.mean(by_length["non-empty"][:9]))
        mine = stop_counts(made)
        for name, size in ((PER_STOP_TRIPS, len(self.raw)), (PER_STOP_TAPS, self.raw.visits)):
            row[name] = 100 * float(relative_errors(self.stops, mine, 0.001 * size).mean())
        taps = made.visits if bought is None else bought.visits
        row[TOTAL] = 100 * abs(taps - self.raw.visits) / self.raw.visits
        row[TOTAL_OF_TRIPS] = 100 * abs(made.visits - self.raw.visits) / self.raw.visits
        row[HOURS] = self._hours(made)
        return row

    def _by_length(self, answers: list[Ints], bound: float) -> dict[str, list[float]]:
        """Mean errors of the queries of every length, by workload; 0 where no trip is that long."""
        found: dict[str, list[float]] = {}
        for work, true, answer in zip(self.asked.workloads, self.asked.true, answers, strict=True):
            errors = relative_errors(true, answer, bound)
            of_length = [errors[work.lengths == n] for n in range(1, max(GROUPS) + 1)]
            found[work.name] = [float(some.mean()) if len(some) else 0.0 for some in of_length]
        return found

    def rankings(self, made: Trips) -> dict[str, dict[str, float | None]]:
        """By k: the share of the true top k found, of patterns, of patterns with peak periods, and of stops, in %."""
        found = top_patterns(made, max(TOPS))
        timed = None if made.time is None else top_patterns(at_peaks(made), max(TOPS))
        mine = stop_counts(made)
        return {
            str(k): {
                "patterns, %": 100 * len(set(self.patterns[:k]) & set(found[:k])) / k,
                "patterns with peak periods, %": None
                if timed is None
                else 100 * len(set(self.peak_patterns[:k]) & set(timed[:k])) / k,
                "stops, %": 100 * hit_rate(self.stops, mine, k),
            }
            for k in TOPS
        }

    def operations(self, made: Trips) -> dict[str, float | None]:
        """Queries 4 to 6: the most used stops, the least used of those used at all, and frequent pairs of stops."""
        mine = stop_counts(made)
        used = np.flatnonzero(self.stops > 0)
        least = set(used[np.argsort(self.stops[used], kind="stable")[:RANKED]].tolist())
        theirs = set(used[np.argsort(mine[used], kind="stable")[:RANKED]].tolist())
        pairs = top_patterns(made, RANKED, least=2, most=2)
        return {
            MOST: 100 * hit_rate(self.stops, mine, RANKED),
            LEAST: 100 * len(least & theirs) / max(len(least), 1),
            PAIRS: 100 * len(set(self.pairs) & set(pairs)) / max(len(self.pairs), 1),
        }

    def _hours(self, made: Trips) -> float | None:
        """Query 3: tap-ins by hour of the day; none without times."""
        if self.raw.time is None or (made.time is None and made.visits):
            return None
        hours = TimeBins.hour_of_day()
        times = np.zeros(0, np.int64) if made.time is None else made.time
        true, mine = (np.bincount(hours.bin_of(t), minlength=24) for t in (self.raw.time, times))
        return 100 * float(relative_errors(true, mine, 0.001 * self.raw.visits).mean())


def answer_errors(
    name: str, raw: Trips, made: JudgedRelease, question: str, bits: Bits
) -> dict[str, float | None]:
    """Mean relative error of a question in %, of plain Laplace noise beside it, and the share of bars that hold.

    Numbers that were printed without bars are not judged by them; without any there is no share.
    """
    table, bound = RawAnswers(raw, bits=bits)(made, Asked(question), anyway=True).table, sanity_bound(raw)
    true, low, high = (table[column].to_numpy() for column in ("raw", "low", "high"))
    barred = np.isfinite(low) & np.isfinite(high)
    held = (low <= true) & (true <= high)
    answers = {f"{name}, %": table["answer"], f"{name}, plain Laplace, %": table["plain_laplace"]}
    errors = {
        key: 100 * float(relative_errors(true, answer.to_numpy(), bound).mean())
        for key, answer in answers.items()
    }
    return {
        **errors,
        f"{name}, bars that hold, %": 100 * float(held[barred].mean()) if barred.any() else None,
    }


def top_patterns(trips: Trips, count: int, least: int = 1, most: int = 4) -> list[tuple[int, ...]]:
    """PrefixSpan's most frequent subsequences; single stops are patterns too, as in the study."""
    return [pattern for pattern, _ in top_gapped_patterns(trips, count, min_length=least, max_length=most)]


def at_peaks(trips: Trips) -> Trips:
    """Trips over stops within peak periods: the study's time binning, after the release."""
    bins = time_bins(PEAKS)
    world = World.of_symbols([f"{i:06d}" for i in range(trips.world.size * bins.count)])
    assert trips.time is not None
    location = trips.location.astype(np.int64) * bins.count + bins.bin_of(trips.time)
    return Trips(location.astype(np.int32), trips.offsets, world)
