"""One trial of the study: a release of one grid at one epsilon, and the study's figures of it."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from wayveil.lab.figures.ends_loss import ends_loss
from wayveil.lab.figures.hour_curves import hour_curves
from wayveil.lab.figures.next_hop import next_hop_figures
from wayveil.lab.studies.dp_loc.dp_loc_printed import ENDS, HOPS, TOPS
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.od_hops import OdHops
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release as release
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.utility.patterns import top_contiguous_patterns
from wayveil.utility.reference import reference_trips
from wayveil.world.timebins import TimeBins

PUBLISHED, OURS, NGRAMS = "dp-loc, published", "dp-loc", "variable-ngrams"
JSD, EMD, SHARE = "JSD of lengths (bits)", "EMD of ends (metres)", "share found"
TRAINED = (PUBLISHED, OURS, "od-hops")
_MOST = max(map(int, TOPS))
# Trips that the published networks draw in a full run.
FEW = 10_000


def subjects(lab: Lab) -> dict[str, Mechanism]:
    """Both presets, what else there is on grids, and the study's rival."""
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
        "weave": Weave(weakest=weakest),
        NGRAMS: VariableNgrams(),
        "markov": Markov(),
    }


class DpLocTrials:
    """Runs trials, and prepares each grid once."""

    def __init__(self, lab: Lab, trips: dict[str, Callable[[], Trips]]) -> None:
        self.trips, self.subjects = trips, subjects(lab)
        self.most_pairs = lab.pick(tiny=20, quick=150, full=2_000)
        # One graph per destination and hour: all trips of a full run would take longer than the training.
        self.drawn = {PUBLISHED: lab.pick(tiny=None, quick=None, full=FEW)}
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
        return CellOutcome(figures(values, mechanism="ours"))

    def line(self, setting: Setting, repetition: int) -> CellOutcome:
        """A resample, public knowledge, and nothing."""
        grid = setting["grid"]
        made = reference_trips(setting["mechanism"], self.raw(grid), 1, TimeBins.hour_of_day())
        rows = self.judge(grid, made)
        return CellOutcome([{**row, "epsilon": epsilon} for row in rows for epsilon in ("1", "2")])

    def trial(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release."""
        grid, name, epsilon = setting["grid"], setting["mechanism"], setting["epsilon"]
        trips, kind = self.trips[grid](), self.subjects[name]
        bits = SeededBits(f"{grid} {name} {epsilon} {repetition}")
        drawn = self.drawn.get(name)
        made = release(trips, kind, epsilon=epsilon, bits=bits, seed=repetition, trips_out=drawn)
        # Held against trips that are like its own: the published preset keeps jumps over cells.
        filled = kind.rule(trips.world).impossible != "keep"
        rows = self.judge(grid, made.trips, filled=filled)
        if name in TRAINED:
            raw = self.raw(grid, filled=filled)
            hops = [one.value for one in next_hop_figures(raw, made.model, most=20_000)]  # type: ignore[arg-type]
            rows += figures(dict(zip(HOPS, hops, strict=True)))
        if name == PUBLISHED:
            rows += figures({ENDS: ends_loss(trips, made.model).value})  # type: ignore[arg-type]
        return CellOutcome(rows)

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
