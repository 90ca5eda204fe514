"""One trial of the study: a release of one dataset, the error of its count queries, its time and its size.

Noise and trips follow from the setting and the repetition; releases never leave the process.
"""

import time
from dataclasses import dataclass
from fractions import Fraction
from math import exp, prod, sqrt
from typing import Any

import numpy as np

from wayveil.arrays import Int32s
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.lab.studies.lab import Datasets
from wayveil.lab.studies.safepath import safepath_datasets as study
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.lab.syntactic.lk_anonymity import LKAnonymity
from wayveil.lab.syntactic.method import anonymise
from wayveil.mechanisms.growth import ONE_NODE_PER_LEVEL
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.synthesis.public_knowledge import empty
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import CountQueryError
from wayveil.world.timebins import TimeBins

_BLOCK = 1_000_000


def pairs(trips: Trips, bins: TimeBins, height: int) -> Int32s:
    """The first `height` (stop, bin) pairs of every trip, one row each, -1 after the end."""
    head = trips.cut(height)
    out = np.full((len(trips), height), -1, np.int32)
    row = np.repeat(np.arange(len(trips)), head.lengths)
    column = np.arange(head.visits) - np.repeat(head.offsets[:-1], head.lengths)
    assert head.time is not None
    out[row, column] = head.location * bins.count + bins.bin_of(head.time)
    return out


def exhaustive(columns: Int32s, size: int, bins: int, height: int, rng: np.random.Generator) -> int:
    """Noise on every possible child of every kept node, with arrays. Returns how many nodes were kept.

    The published threshold at epsilon 1; later bins only.
    """
    scale = height
    threshold = 2 * 2**0.5 * scale
    rows, node = np.arange(len(columns)), np.zeros(len(columns), np.int64)
    earliest, kept = np.zeros(1, np.int64), 0
    pair_bin = np.arange(size) % bins
    for depth in range(height):
        symbol = columns[rows, depth]
        inside = (symbol >= 0) & (pair_bin[np.maximum(symbol, 0)] >= earliest[node])
        rows, node, symbol = rows[inside], node[inside], symbol[inside]
        cell = node * size + symbol
        survivors = []
        # A million candidates at a time, so that memory is not what it fails on.
        block = max(1, _BLOCK // size)
        for first in range(0, len(earliest), block):
            last = min(first + block, len(earliest))
            here = (node >= first) & (node < last)
            counts = np.bincount(cell[here] - first * size, minlength=(last - first) * size).astype(float)
            counts += rng.laplace(0, scale, len(counts))
            over = np.flatnonzero(counts >= threshold)
            at, what = np.divmod(over, size)
            survivors.append(first * size + over[pair_bin[what] >= earliest[first + at]])
        found = np.concatenate(survivors)
        place = np.searchsorted(found, cell)
        ok = (
            (place < len(found)) & (found[np.minimum(place, max(len(found) - 1, 0))] == cell)
            if len(found)
            else np.zeros(len(cell), bool)
        )
        rows, node = rows[ok], place[ok]
        earliest = pair_bin[found % size]
        kept += len(found)
        if len(found) == 0:
            break
    return kept


WEEK, HOURS = TimeBins.hour_of_week(), TimeBins.hour_of_day()
PUBLISHED, OURS, EMPTY = "SafePath as published", "SafePath", "empty release"
SEQPT, SEQPT_PUBLISHED, EVERY_CHILD = "SeqPT", "SeqPT as published", "SeqPT that visits every child"
CROWDS, NGRAM = f"LK-anonymity, L = {study.L}, K = {study.K}", "n-grams over pairs"
UNIFORM, NONEMPTY, SECONDS = "error, uniform queries", "error, non-empty queries", "seconds"
FIRST, BOTH = "riders at the commonest first visit", "riders with the commonest first two visits"
SCALE = "noise scale of a visit's last step, height 2, epsilon 1"
EACH = "visits per trip"
# Half of epsilon fills up what thresholds take, a fifth buys how much that is: no false roots are let in for true ones.
FILLED: dict[str, Any] = {"size_share": Fraction(1, 5), "filling": Fraction(1, 2), "false_roots": 0}
LONGEST_QUERY = 8
WARM = 200


@dataclass(frozen=True, eq=False)
class Arena:
    """Raw trips and the queries that every contender answers."""

    raw: Trips
    bins: TimeBins
    asked: CountQueryError

    @classmethod
    def of(cls, raw: Trips, bins: TimeBins, queries: int, longest: int) -> "Arena":
        """`queries` of every length up to the longest, or to that of the longest trip."""
        longest = min(longest, int(raw.lengths.max(initial=1)))
        return cls(raw, bins, CountQueryError(raw, queries=queries * longest, max_length=longest, bins=bins))

    def errors(self, private: Trips, length: int) -> dict[str, float | None]:
        """Mean relative errors of queries of one length; none where no trip is that long."""
        found = self.asked.errors_at(private, length)
        return {UNIFORM: found.get("uniform"), NONEMPTY: found.get("non-empty")}

    def silence(self) -> Trips:
        """No trips at all."""
        return empty(self.raw.world, timed=True)


def release_timed(mechanism: Mechanism, trips: Trips, epsilon: str, salt: str) -> tuple[Trips, float]:
    """Private trips, and the processor seconds that they took; what is compiled is compiled before."""
    few = trips.take(np.arange(min(WARM, len(trips))))
    mechanism.measure(LocalCounter(few), Gate(Trip(), Budget(epsilon), SeededBits(salt)))
    begin = time.process_time()
    model = mechanism.measure(LocalCounter(trips), Gate(Trip(), Budget(epsilon), SeededBits(salt)))
    private = model.generate(1)
    return private, time.process_time() - begin


class SafePathTrials:
    """Runs trials, and prepares each dataset once."""

    def __init__(self, data: Datasets, queries: int) -> None:
        self.data, self.queries = data, queries
        self._arenas: dict[str, Arena] = {}

    def arena(self, name: str) -> Arena:
        """A dataset ready for trials. One at a time: a million trips are large."""
        if name not in self._arenas:
            small = name == "shrunken"
            raw = self.data.trips[study.BUS if small else name]()
            if raw.time is None:
                raise ParameterError(
                    "this study is about times, and these trips have none: bring a time column"
                )
            raw = study.shrunken(raw) if small else raw
            bins, longest = (HOURS, 2) if small else (WEEK, LONGEST_QUERY)
            self._arenas = {name: Arena.of(raw, bins, self.queries, longest)}
        return self._arenas[name]

    def facts(self, setting: Setting, repetition: int) -> CellOutcome:
        """Tables 2 and 3: how large the dataset is, whole or up to a timestamp."""
        raw = self.data.trips[setting["data"]]()
        part = study.limited(raw, int(setting["timestamps"]), lambda trips: WEEK.bin_of(_times(trips)))
        values: dict[str, float | None] = {
            "records": float(len(part)),
            "locations": float(part.world.size),
            "timestamps": float(setting["timestamps"]),
            "longest": float(part.lengths.max(initial=0)),
            "mean length": float(part.lengths.mean()),
        }
        return CellOutcome(figures(values, mechanism="ours"))

    def thin(self, setting: Setting, repetition: int) -> CellOutcome:
        """Why so little is kept: riders who share the commonest first visits, beside the noise of their counts."""
        raw = self.data.trips[setting["data"]]()
        two, whole = pairs(raw, WEEK, 2).astype(np.int64), raw.world.size * WEEK.count
        keys = two[:, 0] * whole + two[:, 1]
        values: dict[str, float | None] = {
            "riders": float(len(raw)),
            FIRST: float(np.unique(two[:, 0], return_counts=True)[1].max()),
            BOTH: float(np.unique(keys[two[:, 1] >= 0], return_counts=True)[1].max()),
        }
        mechanism = SafePath(height=2, time="hour-of-week")
        gate = Gate(Trip(), Budget(1), SeededBits(0))
        steps = mechanism.plans(gate, mechanism.places(raw.world), mechanism.times(WEEK), raw.world)
        values[SCALE] = float(gate.scale(ONE_NODE_PER_LEVEL, steps[-1].price))
        return CellOutcome(figures(values, mechanism="ours"))

    def theorem(self, setting: Setting, repetition: int) -> CellOutcome:
        """Theorem 4.1: by what factor taxonomies lower the number of false visits below a false one, per level."""
        raw, tall = self.data.trips[setting["data"]](), int(setting["taxonomy height"])
        mechanism, gate = (
            _safepath(1, tall, study.CHILDREN, published=True),
            Gate(Trip(), Budget(1), SeededBits(0)),
        )
        steps = mechanism.plans(gate, mechanism.places(raw.world), mechanism.times(WEEK), raw.world)
        alone, group = exp(-2 * sqrt(2)) / 2, exp(-4 * sqrt(2)) / 2
        passed = prod(
            exp(-step.threshold.scales) / 2 for step in steps if step.threshold and step.threshold.scales
        )
        values: dict[str, float | None] = {
            "as printed": 1 / (study.CHILDREN ** (2 * tall) * group ** (2 * tall) * alone),
            "without F, which cancels": 1 / (group ** (2 * tall) * alone),
            "with the noise that each step has": alone / passed,
        }
        return CellOutcome(figures(values, mechanism="factor"))

    def taxonomy(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figures 3 and 4: trees of two visits, guided by taxonomies of some height and number of children."""
        shape = int(setting["taxonomy height"]), int(setting["children"])
        arena = self.arena(setting["data"])
        rows: list[dict[str, Any]] = []
        for name, mechanism in {
            PUBLISHED: _safepath(2, *shape, published=True),
            OURS: _safepath(2, *shape, **FILLED),
        }.items():
            private, seconds = release_timed(mechanism, arena.raw, "1", _salt(setting, name, repetition))
            place = {"line": f"{name}, {shape[1]} children", "time line": f"{name}, height {shape[0]}"}
            rows += figures(arena.errors(private, 2) | {SECONDS: seconds}, mechanism=name, **place)
        return CellOutcome(rows + figures(arena.errors(arena.silence(), 2), mechanism=EMPTY, line=EMPTY))

    def height(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figure 5: higher trees, with queries a third as long."""
        height, arena = int(setting["height"]), self.arena(setting["data"])
        length = max(height // 3, 1)
        rows: list[dict[str, Any]] = []
        for name, mechanism in {
            PUBLISHED: _safepath(height, study.TAXONOMY_HEIGHT, study.CHILDREN, published=True),
            OURS: SafePath(height=height, time="hour-of-week", **FILLED),
        }.items():
            private, seconds = release_timed(
                mechanism, arena.raw, setting["epsilon"], _salt(setting, name, repetition)
            )
            facts = {SECONDS: seconds, "released trips": float(len(private)), EACH: _visits_each(private)}
            line = f"{name}, epsilon {setting['epsilon']}"
            rows += figures(arena.errors(private, length) | facts, mechanism=name, line=line)
        return CellOutcome(rows + figures(arena.errors(arena.silence(), length), mechanism=EMPTY, line=EMPTY))

    def rivals(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figure 6: the methods on 20 stops and 24 hours, by their height."""
        height, name, arena = int(setting["height"]), setting["mechanism"], self.arena("shrunken")
        if name == EMPTY:
            return CellOutcome(figures(arena.errors(arena.silence(), 2)))
        if name == EVERY_CHILD:
            columns = pairs(arena.raw, HOURS, height)
            begin = time.process_time()
            exhaustive(columns, arena.raw.world.size * 24, 24, height, np.random.default_rng(repetition))
            return CellOutcome(figures({SECONDS: time.process_time() - begin}))
        if name == CROWDS:
            begin = time.process_time()
            private = anonymise(
                arena.raw, LKAnonymity(L=study.L, K=study.K), bits=SeededBits(repetition)
            ).trips
            seconds = time.process_time() - begin
        else:
            chosen = {
                PUBLISHED: SafePath.published(height=height, time="hour-of-day"),
                OURS: SafePath(height=height),
                SEQPT: SeqPT(height=height),
                SEQPT_PUBLISHED: SeqPT.published(
                    height=height, when_explosive="allow", max_false_nodes=10**9
                ),
            }[name]
            private, seconds = release_timed(chosen, arena.raw, "1", _salt(setting, name, repetition))
        return CellOutcome(figures(arena.errors(private, 2) | {SECONDS: seconds}))

    def ngrams(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figure 7: SafePath beside n-grams over pairs of place and time."""
        depth, name, arena = int(setting["h or n"]), setting["mechanism"], self.arena(setting["data"])
        chosen: Mechanism = {
            NGRAM: VariableNgrams(
                n_max=depth, moves=depth, time="hour-of-week", successors="all", longest=LONGEST_TRIP
            ),
            PUBLISHED: _safepath(depth, study.TAXONOMY_HEIGHT, study.CHILDREN, published=True),
            OURS: SafePath(height=depth, time="hour-of-week", **FILLED),
        }[name]
        private, seconds = release_timed(chosen, arena.raw, "1", _salt(setting, name, repetition))
        facts = {SECONDS: seconds, "longest released": float(private.lengths.max(initial=0))}
        facts[EACH] = _visits_each(private)
        return CellOutcome(figures(arena.errors(private, 2) | facts))

    def scale(self, setting: Setting, repetition: int) -> CellOutcome:
        """Figure 8: time by timestamps and records, height 12."""
        raw = self.data.trips[setting["data"]]()
        part = study.limited(raw, int(setting["timestamps"]), lambda trips: WEEK.bin_of(_times(trips)))
        rows: list[dict[str, Any]] = []
        for name, mechanism in {
            PUBLISHED: _safepath(12, study.TAXONOMY_HEIGHT, study.CHILDREN, published=True),
            OURS: SafePath(height=12, time="hour-of-week"),
        }.items():
            _, seconds = release_timed(mechanism, part, "1", _salt(setting, name, repetition))
            rows += figures({SECONDS: seconds, "records": float(len(part))}, mechanism=name)
        return CellOutcome(rows)


LONGEST_TRIP = 50


def _safepath(height: int, tall: int, children: int, *, published: bool = False, **more: Any) -> SafePath:
    """One taxonomy setting for places and times, as in the study."""
    make = SafePath.published if published else SafePath
    made: SafePath = make(
        height=height,
        time="hour-of-week",
        location_height=tall,
        location_fan_out=children,
        time_height=tall,
        time_fan_out=children,
        **more,
    )
    return made


def _visits_each(trips: Trips) -> float:
    return float(trips.lengths.mean()) if len(trips) else 0.0


def _times(trips: Trips) -> Any:
    if trips.time is None:
        raise ParameterError("this study is about times, and these trips have none: bring a time column")
    return trips.time


def _salt(setting: Setting, name: str, repetition: int) -> str:
    return f"{sorted(setting.items())} {name} {repetition}"
