"""The loop of Weave: draw plausible trips, weight them to explain the measurements, learn costs, and again."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayveil.progress import step
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.synthesis.weave.belief import believed, strata, surely
from wayveil.synthesis.weave.demand import Demand, Noisy
from wayveil.synthesis.weave.fit import Features, Fit, fit
from wayveil.synthesis.weave.moves import Moves, cleaned, unknown
from wayveil.synthesis.weave.remember import LEARNERS, Memory
from wayveil.synthesis.weave.routes import Costs
from wayveil.synthesis.weave.support import Support, first_shares, routed
from wayveil.synthesis.weave.times import with_times
from wayveil.synthesis.weave.walking import FIRST_KINDS, Lengths, planned, walked
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.walk_blocks import WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography

if TYPE_CHECKING:
    from wayveil.synthesis.weave.measurements import Measurements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Blocks that trips of the support were drawn from cell by cell.
DRAWN_FROM = ("origin", "destination")


@dataclass(frozen=True)
class Diagnostics:
    """How well the support explains the measurements: computed from noisy numbers, so free to publish.

    unexplained  share of the flow on edges (or moves) that no trip of the support uses
    effective    trips of the support that carry the weight, (sum w)^2 / sum w^2
    support      trips of the support
    misfit       by block: root mean square of (fitted - noisy), in standard deviations of the noise; near 1 is right
    kinds        fitted share of each way to choose a route (see `support.KINDS`)
    """

    unexplained: float
    effective: float
    support: int
    misfit: dict[str, float]
    kinds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Woven:
    """A weighted support, ready to be sampled as often as one likes."""

    world: World
    support: Support
    weight: Floats
    times: int
    diagnostics: Diagnostics

    @cached_property
    def order(self) -> Ints:
        """The trips of the support sorted by origin, destination and time: whole trips are drawn at equal steps along
        this order, so that likes stand in for each other and their numbers come out as the weights say.
        """
        walks, code = self.support.walks, Geography(self.world).places.code
        bins = np.zeros(len(walks)) if walks.bins is None else walks.bins
        return np.lexsort((walks.lengths, bins, code[walks.destination], code[walks.origin]))

    def sample(self, trips: int, rng: np.random.Generator) -> Trips:
        """Exactly so many trips, each of the support as often as its weight says, up to one, in random order."""
        share = self.weight / self.weight.sum()
        copies = round_keeping_total(share[self.order] * trips, rng)
        chosen = np.repeat(self.order, copies)
        missing = max(0, trips - len(chosen))  # rounding may be off by one
        chosen = rng.permutation(np.append(chosen, rng.choice(len(copies), missing, p=share)))[:trips]
        walks = self.support.walks
        plain = Trips(walks.location, walks.offsets, self.world).take(chosen)
        return plain if walks.bins is None else with_times(plain, walks.bins[chosen], self.times, rng)


def weave(measured: "Measurements", rng: np.random.Generator) -> Woven:
    """Fit a support to measurements. Reads nothing but noisy numbers and public facts."""
    loom = _Loom(measured)
    network = loom.demand.geography.network
    fitted = loom.on_network(network, rng) if network is not None else loom.on_moves(rng)
    return Woven(
        measured.world, fitted.support, fitted.fit.weight, measured.resolution.times, loom.diagnose(fitted)
    )


@dataclass(frozen=True, eq=False)
class _Fitted:
    support: Support
    features: Features
    fit: Fit
    kinds: Floats


class _Loom:
    """Measurements made ready for fitting."""

    def __init__(self, measured: "Measurements") -> None:
        blocks = measured.blocks()
        self.settings, self.signal = measured.settings, measured.signal
        self.total = float(max(measured.total, 10))
        self.noisy = {name: answer.in_trips() for name, answer in measured.answers.items()}
        self.cells = {name: block for name, block in blocks.all().items() if name in self.noisy}
        self.demand = Demand(blocks.geography, blocks, self.noisy, self.total)
        self.plain = blocks.geography.network is None
        if self.plain:
            self._clean(blocks)
        self.wanted = np.concatenate([self.noisy[name].value for name in self.cells])
        settings = self.settings
        self.count = int(np.clip(settings.support * self.total, settings.least, settings.most))

    def _clean(self, blocks: WalkBlocks) -> None:
        """Without a network walks can only be fitted to what is left of the answers when noise is taken out."""
        noisy, total, share = self.noisy, self.total, self.demand.share
        self.lengths = Lengths(blocks.length_edges, blocks.resolution.distances, noisy["length"], total)
        ends = self.lengths.ends()
        if "move" in noisy:
            self.table = cleaned(noisy["move"], share, total, ends)
        else:
            self.table = unknown(share, total, ends, self.demand.origin, self.demand.destination)

        def scale(name: str) -> float:
            return noisy[name].deviation / sqrt(2)

        busy = strata(np.tile(share, 1 << blocks.resolution.visits))
        values = {
            "length": self.lengths.mass.ravel(),
            "origin": self.demand.origin,
            "destination": self.demand.destination,
            "visit": surely(noisy["visit"].value, scale("visit"), total, busy),
            "memory": believed(noisy["memory"].value, scale("memory")),
            "pair": believed(noisy["pair"].value, scale("pair")),
        }
        for name, value in values.items():
            noisy[name] = Noisy(value, noisy[name].deviation)
        if "move" in noisy:
            self.cells["move"], noisy["move"] = self.table.block(self.cells["move"])

    def _allowed(self, features: Features, even: Floats) -> Floats:
        """The variance that the misfit of each cell may have, given what the support adds to it with even weights."""
        return np.concatenate([self._allowed_in(name, even[features.place[name]]) for name in self.cells])

    def _allowed_in(self, name: str, guess: Floats) -> Floats:
        """How far the cells of a block may stay from their noisy values.

        Staying near even weights is as good a guess as if the cell were Poisson: of variance g. But the support may be
        off by a share r, and by more where the answer stands out of the noise, so that its real variance is
        g + (r g)^2 + what stands out. To weigh guess and answer rightly, the noise counts as much less.
        """
        noisy, settings = self.noisy[name], self.settings
        if self.plain:
            # All answers were used to draw the support: a guess that is off by a share r of m trips deserves
            # 1 / (r^2 m) of the noise's variance.
            drawn = min(1.0, max(settings.trust[name], len(guess) / self.total / settings.ends_off**2))
            beyond = settings.trust[name] * settings.model_error * np.maximum(noisy.value, 0)
            return drawn * noisy.deviation**2 + beyond
        off = settings.ends_off if name in DRAWN_FROM else settings.off
        apart = np.maximum((noisy.value - guess) ** 2 - noisy.highest**2, 0.0)
        real = guess + (off * guess) ** 2 + apart
        trust = np.maximum(guess / np.maximum(real, 1e-12), settings.least_trust)
        return trust * (noisy.deviation**2 + settings.model_error * np.maximum(noisy.value, 0))

    def on_moves(self, rng: np.random.Generator) -> _Fitted:
        """Without a network: walks over the noisy moves."""
        with step("weaving"):
            look = self.demand.blocks.resolution
            moves = Moves.of_table(self.demand.geography.world, self.table)
            rows = moves.rows()
            plan = planned(self.demand, self.lengths, LEARNERS, rng)
            memory = Memory.learnt(
                self.noisy["memory"], look.memory, look.memories, rows, moves.end, plan, rng
            )
            kinds = np.array(FIRST_KINDS)
            support = walked(self.demand, moves, rows, memory, self.lengths, self.count, kinds, rng)
            return self._fit(support, kinds, None, self.settings.sweeps, self.settings.iterations)

    def on_network(self, network: Network, rng: np.random.Generator) -> _Fitted:
        """Routes, in rounds: each learns from the fit how riders choose, and what edges really cost."""
        settings = self.settings
        strong = self.signal >= 2 * network.edges
        rounds = settings.rounds if strong else max(1, settings.rounds - 1)
        costs, learnt = Costs(network, settings), np.ones(network.edges)
        kinds = first_shares(settings.detours)
        dual: Floats | None = None
        for turn in range(rounds - 1):
            with step(f"weaving, round {turn + 1} of {rounds}"):
                size = min(self.count, settings.early)
                support = routed(self.demand, costs, size, kinds, learnt, settings, rng)
                found = self._fit(support, kinds, dual, settings.sweeps, settings.iterations // 4)
                dual, kinds = found.fit.dual, np.maximum(found.kinds, settings.least_share)
                kinds = kinds / kinds.sum()
                if "edge" in self.noisy:
                    learnt *= self._cheaper(found) ** -(
                        settings.feedback if strong else settings.feedback_weak
                    )
                    learnt = np.clip(learnt, 0.5, 2.0)
        with step(f"weaving, round {rounds} of {rounds}"):
            kinds = _without_rare(kinds, settings.rare)
            support = routed(self.demand, costs, self.count, kinds, learnt, settings, rng)
            return self._fit(support, kinds, dual, min(settings.sweeps, 1), settings.iterations)

    def _fit(
        self, support: Support, drawn: Floats, dual: Floats | None, sweeps: int, iterations: int
    ) -> _Fitted:
        """Weights, and the shares of kinds that go with them: alternately, as either depends on the other."""
        features = Features(self.cells, support.walks)
        kinds = drawn
        for sweep in range(sweeps + 1):
            prior = (kinds / np.maximum(drawn, 1e-9))[support.kind]
            found = fit(
                features,
                self.wanted,
                self._allowed(features, features.even(self.total, prior)),
                self.total,
                prior=prior,
                start=dual,
                iterations=iterations if sweep == sweeps else self.settings.iterations // 4,
            )
            dual = found.dual
            kinds = np.bincount(support.kind, found.weight, len(drawn)) / found.weight.sum()
        return _Fitted(support, features, found, kinds)

    def _cheaper(self, found: _Fitted) -> Floats:
        """By which factor edges carry more than was drawn: they must be cheaper than was thought."""
        floor, edge = self.noisy["edge"].deviation / 2, found.features.place["edge"]
        return (found.fit.fitted[edge] + floor) / (found.fit.even[edge] + floor)

    def diagnose(self, found: _Fitted) -> Diagnostics:
        place, fitted = found.features.place, found.fit.fitted
        flow = next(name for name in ("edge", "edge zone", "move", "pair") if name in place)
        unseen = found.fit.even[place[flow]] <= 0
        # Noise is as often below zero as above, so it cancels in the sum.
        whole = self.total if flow == "move" else float(fitted[place[flow]].sum())
        unexplained = max(0.0, float(self.noisy[flow].value[unseen].sum()) / max(whole, 1.0))
        misfit = {
            name: float(
                np.sqrt(np.mean((fitted[at] - self.noisy[name].value) ** 2)) / self.noisy[name].deviation
            )
            for name, at in place.items()
        }
        kinds = tuple(found.kinds.tolist())
        return Diagnostics(unexplained, found.fit.effective, found.features.size, misfit, kinds)


def _without_rare(shares: Floats, rare: float) -> Floats:
    """Kinds that hardly explain anything are given up."""
    kept = np.where(shares >= min(rare, float(shares.max())), shares, 0.0)
    return kept / kept.sum()
