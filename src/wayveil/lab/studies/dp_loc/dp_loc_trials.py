"""Printed values of the DP-Loc study, its taxi city, and one trial: a release of one grid at one epsilon."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.counting.local import LocalCounter
from wayveil.lab.research_figures import ends_loss, hour_curves, hours_of, next_hop_figures
from wayveil.lab.studies.dp_loc.recurrent import LONGEST, HopLstm, Recited
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import CellOutcome, Place, Setting, figures
from wayveil.mechanisms.dp_loc import STUDY_BATCH, STUDY_RATES, DpLoc
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.od_hops import OdHops
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.gradients import CLIP, clipped_sum
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Trip
from wayveil.releases.hold import DEFAULT_DELTA
from wayveil.simulate.taxis import STUDY_BOX, TaxiPoints, simulate_taxis
from wayveil.synthesis.hops.ends import HOURS, leaf_boxes
from wayveil.synthesis.hops.hops_model import HopsModel
from wayveil.synthesis.hops.published import PublishedModel, SourceNet, StudyHopNet
from wayveil.synthesis.model import Model
from wayveil.trips.history import MADE_UP
from wayveil.trips.legality import LegalityRule
from wayveil.trips.point_rules import UNPLACED, PlacedPoints, PointRules, smoothed
from wayveil.trips.trips import Trips
from wayveil.utility.figures import reference_trips
from wayveil.utility.patterns import top_contiguous_patterns
from wayveil.world.grid import Grid
from wayveil.world.timebins import TimeBins

FINE, COARSE = "250 m", "500 m"
EPSILONS = ("1", "2")
TOPS = ("10", "20", "50", "100")
DATA_FACTS = ("trips", "cells visited", "longest", "mean length", "deviation of length")
TABLE_1 = {FINE: (121_622, 2_851, 69, 9.07, 5.15), COARSE: (120_561, 848, 55, 7.34, 4.53)}

# Tables 2 and 3: share of the top k that was found, of the study's model and of variable-length n-grams.
OWN, NGRAM = 0, 1
FOUND = {
    (FINE, "1"): ((0.50, 0.60, 0.71, 0.71), (0.80, 0.88, 1.00, 1.00)),
    (FINE, "2"): ((0.20, 0.60, 0.80, 0.80), (0.90, 0.90, 1.00, 1.00)),
    (COARSE, "1"): ((0.40, 0.25, 0.30, 0.22), (0.90, 0.95, 0.76, 1.00)),
    (COARSE, "2"): ((0.40, 0.30, 0.20, 0.15), (0.90, 0.95, 0.78, 0.79)),
}
# Table 4: loss of the network that draws origin, destination and hour.
ENDS = "loss of ends"
TABLE_4 = {(FINE, "1"): 4.22, (FINE, "2"): 3.43, (COARSE, "1"): 2.50, (COARSE, "2"): 1.00}
# Table 5: loss (nats), accuracy and metres of the next hop.
HOPS = ("loss", "accuracy", "metres off")
TABLE_5 = {
    (FINE, "1"): (3.10, 0.2419, 350.40),
    (FINE, "2"): (2.98, 0.2645, 333.19),
    (COARSE, "1"): (1.42, 0.7352, 237.71),
    (COARSE, "2"): (1.28, 0.7528, 220.26),
}


def found(grid: str, epsilon: str, whose: int = OWN) -> dict[Place, float]:
    """(k, figure) -> share of the top k."""
    values = FOUND[grid, epsilon][whose]
    return {(top, "share found"): value for top, value in zip(TOPS, values, strict=True)}


def ends(grid: str) -> dict[Place, float]:
    """(epsilon, figure) -> loss."""
    return {(epsilon, ENDS): TABLE_4[grid, epsilon] for epsilon in EPSILONS}


def hops(grid: str) -> dict[Place, float]:
    """(epsilon, figure) -> value."""
    return {
        (epsilon, figure): value
        for epsilon in EPSILONS
        for figure, value in zip(HOPS, TABLE_5[grid, epsilon], strict=True)
    }


SEED = 7


def taxi_trips(lab: Lab) -> dict[str, Callable[[], Trips]]:
    """Return one fleet of taxis on both grids; made when it is first asked for."""
    trips = lab.pick(tiny=300, quick=6_000, full=121_622)
    # The published networks have a weight for every cell: small runs have larger cells.
    cells = {
        FINE: lab.pick(tiny=4_000, quick=1_000, full=250),
        COARSE: lab.pick(tiny=8_000, quick=2_000, full=500),
    }

    def grid(name: str) -> Grid:
        return lab.once(f"grid {name}", lambda: Grid.of_metres(STUDY_BOX, cells[name]))

    def read(name: str) -> Trips:
        return visits_of(simulate_taxis(trips, drivers="study", seed=SEED), grid(name))

    made = {}
    for name, metres in cells.items():
        words = (
            f"{trips:,} simulated taxi trips in the study's box, cells of {metres:,} m, stood for as '{name}'"
        )
        key = f"taxis-{metres}-{trips}"
        made[name] = lab.simulated(key, words, lambda name=name: grid(name), lambda name=name: read(name))  # type: ignore[misc]
    return made


def visits_of(points: TaxiPoints, grid: Grid) -> Trips:
    """Return the trips that reading these points by the usual rules gives: none is too fast, or outside of the box."""
    place = grid.cell_of(points.lat, points.lon)
    placed = PlacedPoints(place, points.time, points.lat, points.lon)
    (found, time, lat, lon), offsets = smoothed(PointRules(), placed, points.offsets, grid.size)
    filled = np.flatnonzero(found == UNPLACED)
    found[filled] = grid.cell_of(lat[filled], lon[filled])
    trips = Trips(np.maximum(found, 0), offsets, grid, time, history=MADE_UP).keep_visits(found >= 0).merged()
    return trips.take(trips.lengths >= PointRules().fewest_visits)


PUBLISHED, OURS, NGRAMS = "dp-loc, published", "dp-loc", "variable-ngrams"
UNNOISED, HISTOGRAMS = "its networks, no noise (not private)", "three noisy histograms"
NO_DESTINATION, NO_HOUR = f"{UNNOISED}, no destination", f"{UNNOISED}, no hour"
RECURRENT, WEAVE = "an LSTM, no noise (not private)", "weave"
# What no model can be below, and what three histograms are without any noise.
LEAST, LEAST_HOUR, LEAST_APART = (
    "entropy of ends (nats)",
    "entropy of the hour alone (nats)",
    "entropies of origin, destination and hour (nats)",
)
JSD, EMD, SHARE = "JSD of lengths (bits)", "EMD of ends (metres)", "share found"
TRAINED = (PUBLISHED, OURS, "od-hops")
_MOST = max(map(int, TOPS))
# Trips that the published networks draw in a full run, and the steps that the study took to train each.
FEW, STUDY_STEPS = 5_000, 9_120


def subjects(lab: Lab) -> dict[str, Mechanism]:
    """Both presets, what else there is on grids, and the study's rival. Weave changes more often than they."""
    steps = lab.pick(tiny=2, quick=150, full=1_500)
    weakest = lab.pick(tiny=0.0, quick=500.0, full=500.0)
    few: dict[str, Any] = {
        "training_steps": steps,
        "weakest": weakest,
        "batch": lab.pick(tiny=50, quick=500, full=1_000),
    }
    return {
        PUBLISHED: DpLoc.published(**few),
        OURS: DpLoc(**few),
        "od-hops": OdHops(weakest=weakest),
        NGRAMS: VariableNgrams(),
        "markov": Markov(),
    }


@dataclass(frozen=True)
class _Blinded:
    """The network of hops, asked without what it was not shown."""

    net: StudyHopNet
    destination: bool
    hour: bool

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, Floats]:
        return self.net.hops(here, to * self.destination, hour * self.hour)


class DpLocTrials:
    """Runs trials, and prepares each grid once."""

    def __init__(self, lab: Lab, trips: dict[str, Callable[[], Trips]]) -> None:
        self.trips, self.subjects, self.weakest = (
            trips,
            subjects(lab),
            lab.pick(tiny=0.0, quick=500.0, full=500.0),
        )
        # Of an hour and release; with 2,000 the distances of ends took more than half of a full run, and 3 % less.
        self.most_asked = lab.pick(tiny=50, quick=2_000, full=2_000)
        self.most_pairs = lab.pick(tiny=20, quick=150, full=500)
        # One graph per destination and hour: all trips of a full run would take longer than the training.
        self.drawn = {PUBLISHED: lab.pick(tiny=None, quick=None, full=FEW)}
        self.steps = lab.pick(tiny=2, quick=1_500, full=STUDY_STEPS)
        self._raw: dict[tuple[str, bool], Trips] = {}
        self._tops: dict[tuple[str, bool], list[Any]] = {}

    def facts(self, setting: Setting, repetition: int) -> CellOutcome:
        """Table 1: how large the dataset is."""
        raw = self.trips[setting["grid"]]()
        values = {
            "trips": float(len(raw)),
            "cells visited": float(len(np.unique(raw.location))),
            "longest": float(raw.lengths.max()),
            "mean length": float(raw.lengths.mean()),
            "deviation of length": float(raw.lengths.std()),
        }
        ends = raw.origins().astype(np.int64), raw.destinations().astype(np.int64), hours_of(raw)
        values[LEAST], values[LEAST_HOUR] = entropy(*ends), entropy(ends[2])
        values[LEAST_APART] = sum(map(entropy, ends))
        return CellOutcome(figures(values, mechanism="ours"))

    def line(self, setting: Setting, repetition: int) -> CellOutcome:
        """A resample, public knowledge, and nothing."""
        grid = setting["grid"]
        made = reference_trips(setting["mechanism"], self.raw(grid), 1, TimeBins.hour_of_day())
        rows = self.judge(grid, made)
        return CellOutcome([{**row, "epsilon": epsilon} for row in rows for epsilon in ("1", "2")])

    def trial(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release."""
        grid, name = setting["grid"], setting["mechanism"]
        rows, model = self._released(setting, self.subjects[name], repetition)
        if name in TRAINED:
            raw = self.raw(grid, filled=name != PUBLISHED)
            hops = [one.value for one in next_hop_figures(raw, model, most=20_000)]  # type: ignore[arg-type]
            rows += figures(dict(zip(HOPS, hops, strict=True)))
        if name == PUBLISHED:
            rows += figures({ENDS: ends_loss(self.trips[grid](), model).value})  # type: ignore[arg-type]
        if name == OURS and isinstance(model, HopsModel):
            rows += figures({ENDS: partition_loss(self.trips[grid](), model)})
        return CellOutcome(rows)

    def weave(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release of Weave, which the study does not know."""
        return CellOutcome(self._released(setting, Weave(weakest=self.weakest), repetition)[0])

    def _released(
        self, setting: Setting, kind: Mechanism, repetition: int
    ) -> tuple[list[dict[str, Any]], Model]:
        grid, name, epsilon = setting["grid"], setting["mechanism"], setting["epsilon"]
        # Held against trips that are like its own: the published preset keeps jumps over cells.
        filled = kind.rule(self.trips[grid]().world).impossible != "keep"
        budget = Budget(epsilon, delta=DEFAULT_DELTA if kind.trained else None)
        gate = Gate(Trip(), budget, SeededBits(f"{grid} {name} {epsilon} {repetition}"))
        model = kind.measure(LocalCounter(self.raw(grid, filled=filled)), gate)
        few = self.drawn.get(name)
        made = model.generate(repetition) if few is None else model.draw(few, repetition)  # type: ignore[attr-defined]
        return self.judge(grid, made, filled=filled), model

    def unnoised(self, setting: Setting, repetition: int) -> CellOutcome:
        """The study's networks with its own batches, clips and rates, without any noise; and without some inputs."""
        grid, name, epsilon = setting["grid"], setting["mechanism"], setting["epsilon"]
        if name == RECURRENT:
            return self._recurrent(grid, STUDY_RATES[epsilon == "2"][1])
        trips, counter = self.raw(grid, filled=False), LocalCounter(self.raw(grid, filled=False))
        ends_rate, hops_rate = STUDY_RATES[epsilon == "2"]
        source, hops = SourceNet(trips.world, ends_rate), StudyHopNet(trips.world, hops_rate)  # type: ignore[arg-type]
        seen = name != NO_DESTINATION, name != NO_HOUR
        if name == UNNOISED:
            self._train(source, counter.end_examples(Trip()), 1.0, (True, True, True))
        self._train(hops, counter.hop_examples(Trip()), 3.0, (True, True, *seen))
        model = PublishedModel(trips.world, len(trips), tuple(source.weights), tuple(hops.weights), True)  # type: ignore[arg-type]
        told = [one.value for one in next_hop_figures(trips, _Blinded(hops, *seen), most=20_000)]
        rows = figures(dict(zip(HOPS, told, strict=True)))
        if name == UNNOISED:
            rows += figures({ENDS: ends_loss(trips, model).value})
            rows += self.judge(grid, model.draw(self.drawn[PUBLISHED], repetition), filled=False)
        return CellOutcome(rows)

    def _recurrent(self, grid: str, rate: float) -> CellOutcome:
        """Take as many steps over about as many hops as the study's network, which learns from one hop of a trip."""
        trips, rng = self.raw(grid, filled=False), np.random.default_rng(0)
        net, hour = HopLstm(trips.world), hours_of(trips)  # type: ignore[arg-type]
        together = max(round(STUDY_BATCH / float((trips.lengths - 1).mean())), 1)
        for _ in range(self.steps):
            drawn = rng.integers(0, len(trips), together)
            net.learn(net.ways(trips.take(drawn), hour[drawn], LONGEST), rate)
        some = np.sort(rng.permutation(len(trips))[: self.most_asked])
        asked = trips.take(some)
        told = next_hop_figures(asked, Recited(net, asked, hour[some]))
        return CellOutcome(figures(dict(zip(HOPS, (one.value for one in told), strict=True))))

    def _train(
        self, net: SourceNet | StudyHopNet, examples: Examples, clip: float, seen: tuple[bool, ...]
    ) -> None:
        rng, bits = np.random.default_rng(0), SeededBits(0)
        for _ in range(self.steps):
            drawn = examples.one_each(rng.integers(0, examples.units, STUDY_BATCH), bits.words(2))
            shown = tuple(one * see for one, see in zip(examples.take(drawn), seen, strict=True))
            net.update([total * (clip / CLIP / STUDY_BATCH) for total in clipped_sum(net.parts(shown), clip)])

    def histograms(self, setting: Setting, repetition: int) -> CellOutcome:
        """Origin, destination and hour by themselves, a third of epsilon each: what networks should beat."""
        trips, rng = self.raw(setting["grid"], filled=False), np.random.default_rng(repetition)
        loss = 0.0
        for values, size in (
            (trips.origins(), trips.world.size),
            (trips.destinations(), trips.world.size),
            (hours_of(trips), 24),
        ):
            noisy = np.bincount(values, minlength=size) + rng.laplace(0, 3 / float(setting["epsilon"]), size)
            # A count of one for what noise has put below nothing.
            share = np.maximum(noisy, 1.0) / np.maximum(noisy, 1.0).sum()
            loss -= float(np.log(share[values]).mean())
        return CellOutcome(figures({ENDS: loss}))

    def raw(self, grid: str, *, filled: bool = True) -> Trips:
        """Raw trips with the cells that they jump over filled in, or as they are."""
        if (grid, filled) not in self._raw:
            rule = LegalityRule(impossible="route" if filled else "keep")
            self._raw[grid, filled] = rule.apply(self.trips[grid]())
        return self._raw[grid, filled]

    def judge(self, grid: str, made: Trips, *, filled: bool = True) -> list[dict[str, Any]]:
        """Top-k patterns, and lengths and ends hour by hour."""
        raw = self.raw(grid, filled=filled)
        if (grid, filled) not in self._tops:
            self._tops[grid, filled] = [pattern for pattern, _ in top_contiguous_patterns(raw, _MOST)]
        theirs = [pattern for pattern, _ in top_contiguous_patterns(made, _MOST)] if made.visits else []
        rows: list[dict[str, Any]] = []
        for top in TOPS:
            k = int(top)
            shared = set(self._tops[grid, filled][:k]) & set(theirs[:k])
            rows += figures({SHARE: len(shared) / k}, top=top)
        # The earth mover's distance needs an optional package; everything else does not.
        ends = find_spec("ot") is not None
        curves = hour_curves(raw, made, hour="majority", most_pairs=self.most_pairs, ends=ends)
        for hour, _, lengths, ends in curves.iter_rows():
            rows += figures({JSD: lengths, EMD: ends}, hour=str(hour))
        return rows


def partition_loss(trips: Trips, model: HopsModel) -> float:
    """Return what origin, destination and hour cost by a partition of pairs and the hours of zones, in nats.

    A count of one for what noise has put below it, as for histograms.
    """
    ends, zones = model.ends, model.moves.zones
    begin, end, hour = (
        trips.origins().astype(np.int64),
        trips.destinations().astype(np.int64),
        hours_of(trips),
    )
    first, size = leaf_boxes(
        ends.starts, np.append(ends.starts[1:], np.int64(1) << 2 * zones.depth), zones.depth
    )
    slots = [zones.slots(first[side], first[side] + size) for side in (0, 1)]
    pairs = np.prod([after - before for before, after in slots], axis=0)
    trips_in = np.where(pairs > 0, np.maximum(ends.leaves, 1.0), 0.0)
    leaf = np.searchsorted(ends.starts, zones.pair(begin, end), side="right") - 1
    chance = trips_in[leaf] / trips_in.sum() / pairs[leaf]
    assert ends.hours is not None  # these trips have times
    table = np.maximum(ends.hours.reshape(-1, HOURS), 1.0)
    chance *= (table / table.sum(axis=1, keepdims=True))[zones.zone(begin, ends.zone_bits), hour]
    return float(-np.log(chance).mean())


def entropy(*columns: Ints) -> float:
    """In nats, of how often the combinations occur: no model whatever costs less per row, on average."""
    counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())
