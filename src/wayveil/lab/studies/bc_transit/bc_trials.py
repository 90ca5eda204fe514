"""One trial of the study: a release of riders' weeks, or of taps by each way, and everything that is asked of it.

Noise follows from the setting and the repetition; releases never leave the process, and the riders are nobody.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.lab.studies.bc_transit import bc_questions as bc
from wayveil.lab.studies.bc_transit.bc_datasets import PERIOD, SEED, BcTransitDatasets, crowded
from wayveil.lab.studies.bc_transit.links import judge_links
from wayveil.lab.studies.observed_gate import ObservedOnlyGate
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.mechanisms import ppdp
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.shared_fields import buy_size
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider
from wayveil.run import make_release
from wayveil.synthesis.model import Model
from wayveil.synthesis.public_knowledge import empty
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.chains import sequences
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import relative_errors

UNPLACED, NAMELESS = "rows without route and stop, %", "rows without vehicle too, %"
NOTHING, LAPLACE = "nothing released", "plain Laplace per stop"
UNIT = Rider(max_trips=1)
# Set on another city and other riders: half of epsilon fills up what thresholds take, a fifth buys how much that is. No
# share of false roots is let in for the sake of true ones: what is missed is filled up.
FILLED: dict[str, Any] = {"size_share": Fraction(1, 5), "filling": Fraction(1, 2), "false_roots": 0}
TOTALS = 200
ONE_WAY, TRUE_RIDERS, ODD = 0.3, "the simulator's own riders", "trajectories of odd length, %"
LENGTHS = (
    *((str(length), length, length) for length in range(1, 10)),
    ("10-12", 10, 12),
    ("13-15", 13, 15),
    ("over 15", 16, 10**9),
)


def mechanism_of(name: str, height: int) -> Mechanism:
    """The study's two trees, filled up and not, with both ways to repair counts, and what it may have done instead."""
    made: dict[str, Mechanism] = {
        bc.NPT: NoisyPrefixTree(height=height, successors="all", consistency="weighted", **FILLED),
        bc.NPT_EQUAL: NoisyPrefixTree(height=height, successors="all", consistency="equal"),
        bc.NPT_BARE: NoisyPrefixTree(height=height, successors="all", consistency="weighted"),
        bc.PPDP: ppdp.PPDP(height=height, time="hour-of-week", consistency="weighted", **FILLED),
        bc.PPDP_BARE: ppdp.PPDP(height=height, time="hour-of-week", consistency="weighted"),
        bc.PPDP_PRESET: ppdp.PPDP.published(height=height, time="hour-of-week", consistency="weighted"),
        bc.NPT_SEEN: published_tree(height, 2 * 2**0.5),
        bc.NPT_SEEN_LOW: published_tree(height, 2 * 2**0.5 / height),
        bc.PPDP_SEEN: ppdp.PPDP(height=height, time="hour-of-week", consistency="weighted"),
    }
    return made[name]


def published_tree(height: int, scales: float) -> NoisyPrefixTree:
    """The tree with a fixed threshold, in noise scales of a level."""
    return NoisyPrefixTree.published(
        height=height, consistency="weighted", threshold_scales=scales, when_explosive="allow"
    )


class BcTransitTrials:
    """Runs trials, and prepares the weeks once."""

    def __init__(self, data: BcTransitDatasets, queries: int) -> None:
        self.data, self.queries = data, queries
        self._examined: dict[str, bc.Examined] = {}

    def examined(self, moved: str = "0") -> bc.Examined:
        """The riders' weeks and the questions; with a share of the taps moved to the busiest stops."""
        if moved not in self._examined:
            raw = self.data.weeks()
            if moved != "0":
                raw = reconstruct_riders(crowded(self.data.anonymous(), float(moved)), seed=SEED).trips(
                    "week"
                )
            self._examined = {moved: bc.Examined.of(raw, self.queries)}
        return self._examined[moved]

    def facts(self, setting: Setting, repetition: int) -> CellOutcome:
        """The data: how many, how the roles came out, how often values are missing, how long trajectories are."""
        riders, taps = self.data.riders(), self.data.taps()
        busy = np.sort(np.bincount(taps.location, minlength=taps.world.size))[::-1] / len(taps)
        file = self.data.vendor_file()
        unplaced = file["stopId"].is_null() & (file["routeName"] == "Default")
        shares = np.bincount(riders.role, minlength=len(riders.rules.roles)) / riders.count
        working = np.array([role.working_days_only for role in riders.rules.roles])
        weekend = (riders.taps.day + 3) % 7 >= 5
        values: dict[str, float | None] = {
            "taps": float(len(taps)),
            UNPLACED: 100 * float(unplaced.mean() or 0),  # type: ignore[arg-type]
            NAMELESS: 100 * float((unplaced & file["vehicle"].is_null()).mean() or 0),  # type: ignore[arg-type]
            "taps per rider": len(taps) / riders.count,
            "taps at the busiest stop, %": 100 * float(busy[0]),
            "taps at the second busiest, %": 100 * float(busy[1]),
            "full-time taps at weekends": float((weekend & working[riders.role[riders.rider]]).sum()),
        }
        rows = figures(values, mechanism="ours", file="tap file")
        for role, part in zip(riders.rules.roles, shares, strict=True):
            rows += figures({"share of riders, %": 100 * float(part)}, mechanism="ours", role=role.name)
        weeks = {
            "ours": self.data.weeks(),
            f"with {ONE_WAY:.0%} of the days one way": reconstruct_riders(
                self.data.anonymous(), RiderRules(one_way=ONE_WAY), seed=SEED
            ).trips("week"),
            TRUE_RIDERS: sequences(taps, taps.card, "week"),  # type: ignore[arg-type]
        }
        for name, trips in weeks.items():
            for words, low, high in LENGTHS:
                share = 100 * float(((trips.lengths >= low) & (trips.lengths <= high)).mean())
                rows += figures({"trajectories, %": share}, mechanism=name, length=words)
            rows += figures({ODD: 100 * float((trips.lengths % 2).mean())}, mechanism=name, file="weeks")
        return CellOutcome(rows)

    def links(self, setting: Setting, repetition: int) -> CellOutcome:
        """Return how many of the links between taps of one day join two taps of the same true rider."""
        return CellOutcome(
            figures(
                judge_links(self.data.taps(), setting["reconstruction"], SEED + repetition),
                judged="by the true cards",
            )
        )

    def queries_of(self, setting: Setting, repetition: int) -> CellOutcome:
        """Errors of one release; at the study's height also what is found of the most frequent."""
        moved = setting.get("moved", "0")
        examined, height = self.examined(moved), int(setting["height"])
        model = self._release(setting, examined.raw, repetition)
        made = model.generate(repetition)
        rows = figures(examined.errors(made, height, getattr(model, "size", None)), line=f"height {height}")
        if setting["height"] == bc.STUDY_HEIGHT:
            rows += figures(examined.operations(made), line=f"height {height}")
            for k, found in examined.rankings(made).items():
                rows += figures(found, k=k)
        return CellOutcome(rows)

    def total(self, setting: Setting, repetition: int) -> CellOutcome:
        """Query 1: the number of taps that trees buy, whatever they keep; the mean error of many draws of its noise."""
        raw, errors = self.data.weeks(), []
        for draw in range(TOTALS):
            gate = Gate(UNIT, Budget(setting["epsilon"]), SeededBits(f"{setting['epsilon']} {draw}"))
            size = buy_size(LocalCounter(raw), gate, FILLED["size_share"], int(bc.STUDY_HEIGHT))
            assert size is not None
            errors.append(100 * abs(size.visits - raw.visits) / raw.visits)
        return CellOutcome(figures({bc.TOTAL: float(np.mean(errors))}, tree="NPT and PPDP"))

    def references(self, setting: Setting, repetition: int) -> CellOutcome:
        """Score an empty release, and plain Laplace answers per stop with all of epsilon for the same unit."""
        examined, height = self.examined(), int(bc.STUDY_HEIGHT)
        raw = examined.raw
        if setting["mechanism"] == NOTHING:
            return CellOutcome(figures(examined.errors(empty(raw.world, timed=True), height)))
        rng = np.random.default_rng(repetition)
        exact = np.bincount(raw.cut(height).location, minlength=raw.world.size)
        noisy = np.maximum(exact + rng.laplace(0, height / float(setting["epsilon"]), len(exact)), 0)
        sizes = {"trips": len(raw), "taps": raw.visits}
        return CellOutcome(
            figures(
                {
                    f"per stop, bound 0.1 % of {name}, %": 100
                    * float(relative_errors(examined.stops, noisy, 0.001 * size).mean())
                    for name, size in sizes.items()
                }
            )
        )

    def ways(self, setting: Setting, repetition: int) -> CellOutcome:
        """Operational questions on daily trips, by each way to release taps; and how often bars hold the truth."""
        taps = self.data.taps()
        way, _, tree = setting["way"].partition(", ")
        chosen = {"NPT": NoisyPrefixTree(height=2), "PPDP": ppdp.PPDP(height=2)}.get(tree)
        bits = SeededBits(f"{sorted(setting.items())} {repetition}")
        made = make_release(
            taps if way == "cards" else self.data.anonymous(),
            chosen,
            way=way,
            epsilon=setting["epsilon"],
            max_trips=5 if way in ("cards", "study") else None,
            days=PERIOD if way == "counts-first" else None,
            seed=repetition + 1,
            bits=bits,
        )
        raw = sequences(taps, taps.card, "day")  # type: ignore[arg-type]
        values: dict[str, float | None] = {}
        for question in ("total", "stops", "hours", "stop-hours"):
            if not question.endswith("hours") or made.trips.time is not None:
                values |= bc.answer_errors(question, raw, made, question, bits)
        return CellOutcome(figures(values, protects=str(made.datasheet["guarantee"]["unit"])))

    def thin(self, setting: Setting, repetition: int) -> CellOutcome:
        """Why trees find so little: how many riders share a beginning, beside the noise of a level."""
        trips, height = self.data.weeks(), int(bc.STUDY_HEIGHT)
        size = trips.world.size
        two = trips.take(trips.lengths >= 2)
        pair = two.origins().astype(np.int64) * size + two.location[two.offsets[:-1] + 1]
        weights = np.log2(np.arange(1, height + 1) + 1)
        values: dict[str, float | None] = {
            "riders at the busiest first stop": float(np.bincount(trips.origins()).max()),
            "riders at the busiest first two stops": float(np.unique(pair, return_counts=True)[1].max()),
            "noise scale of a level, NPT, height 9, epsilon 1": float(height),
            "noise scale of level 1, PPDP, height 9, epsilon 1": float(weights.sum() / weights[0]),
            "false children of a node at 2.83 scales": float(size * np.exp(-2 * 2**0.5) / 2),
        }
        return CellOutcome(figures(values, mechanism="ours", file="weeks"))

    def _release(self, setting: Setting, raw: Trips, repetition: int) -> Model:
        mechanism = mechanism_of(setting["mechanism"], int(setting["height"]))
        bits = SeededBits(f"{sorted(setting.items())} {repetition}")
        kind = ObservedOnlyGate if setting["mechanism"] in bc.SEEN else Gate
        gate = kind(UNIT, Budget(setting["epsilon"]), bits)
        return mechanism.measure(LocalCounter(gate.bound(raw)), gate)


STUDY_GAPS = {UNPLACED: 100 * bc.GAP_ROWS / bc.TAPS, NAMELESS: 100 * bc.NAMELESS_ROWS / bc.TAPS}
