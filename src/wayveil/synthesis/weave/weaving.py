"""The loop of Weave: draw plausible trips, weight them to explain the measurements, learn costs, and again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayveil.progress import step
from wayveil.synthesis.projection import onto_total
from wayveil.synthesis.rounding import round_keeping_total
from wayveil.synthesis.weave.demand import Demand, Noisy
from wayveil.synthesis.weave.fit import Features, Fit, fit
from wayveil.synthesis.weave.routes import Costs
from wayveil.synthesis.weave.support import KINDS, Support, first_shares, routed, walked
from wayveil.synthesis.weave.times import with_times
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.synthesis.weave.measurements import Measurements

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Diagnostics:
    """How well the support explains the measurements: computed from noisy numbers, so free to publish.

    unexplained  share of the flow on edges (or moves) that no trip of the support uses
    effective    trips of the support that carry the weight, (sum w)^2 / sum w^2
    support      trips of the support
    misfit       by block: root mean square of (fitted - noisy), in standard deviations of the noise; near 1 is right
    kinds        fitted share of each way to choose a route
    """

    unexplained: float
    effective: float
    support: int
    misfit: dict[str, float]
    kinds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Woven:
    """A weighted support, ready to be sampled."""

    world: World
    support: Support
    weight: Floats
    times: int
    diagnostics: Diagnostics

    def sample(self, trips: int, rng: np.random.Generator) -> Trips:
        """Exactly so many trips, each of the support as often as its weight says, up to one."""
        copies = round_keeping_total(self.weight * (trips / self.weight.sum()), rng)
        chosen = np.repeat(np.arange(len(copies)), copies)
        while len(chosen) != trips:  # rounding may be off by one
            extra = rng.choice(len(copies), 1, p=self.weight / self.weight.sum())
            chosen = chosen[:trips] if len(chosen) > trips else np.append(chosen, extra)
        walks = self.support.walks
        plain = Trips(walks.location, walks.offsets, self.world).take(rng.permutation(chosen))
        return plain if self.times == 0 else self._timed(chosen, rng)

    def _timed(self, chosen: NDArray[np.int64], rng: np.random.Generator) -> Trips:
        walks = self.support.walks
        chosen = rng.permutation(chosen)
        plain = Trips(walks.location, walks.offsets, self.world).take(chosen)
        bins = walks.bins[chosen] if walks.bins is not None else np.zeros(len(chosen), np.int64)
        return with_times(plain, bins, self.times, rng)


def weave(measured: "Measurements", rng: np.random.Generator) -> Woven:
    """Fit a support to measurements. Reads nothing but noisy numbers and public facts."""
    blocks = measured.blocks()
    geography, settings = blocks.geography, measured.settings
    total = float(max(measured.total, 10))
    noisy = {name: answer.in_trips() for name, answer in measured.answers.items()}
    cells = {name: block for name, block in blocks.all().items() if name in noisy}
    wanted = np.concatenate([noisy[name].value for name in cells])
    variance = np.concatenate(
        [
            settings.trust[name]
            * (noisy[name].deviation ** 2 + settings.model_error * np.maximum(noisy[name].value, 0))
            for name in cells
        ]
    )
    demand = Demand(geography, blocks, noisy, total)
    count = int(np.clip(settings.support * total, settings.least, settings.most))
    network = geography.network
    costs = None if network is None else Costs(network, settings)
    strong = network is not None and measured.signal >= 2 * network.edges
    rounds = 1 if network is None else settings.rounds if strong else max(1, settings.rounds - 1)
    learnt = np.ones(0 if network is None else network.edges)
    kinds = first_shares(settings.detours)
    found: Fit | None = None
    for turn in range(rounds):
        last = turn + 1 == rounds
        with step(f"weaving, round {turn + 1} of {rounds}"):
            size = count if last else min(count, settings.early)
            if last:
                kinds = _without_rare(kinds, settings.rare)
            if costs is None:
                support = walked(demand, onto_total(noisy["move"].value, total), size, rng)
            else:
                support = routed(demand, costs, size, kinds, learnt, settings, rng)
            features = Features(cells, support.walks)
            drawn = np.maximum(kinds, 1e-9)
            for sweep in range(settings.sweeps + 1):
                found = fit(
                    features,
                    wanted,
                    variance,
                    total,
                    prior=(kinds / drawn)[support.kind],
                    start=None if found is None else found.dual,
                    iterations=settings.iterations
                    if last and sweep == settings.sweeps
                    else settings.iterations // 4,
                    clip=settings.clip,
                )
                kinds = _shares(support.kind, found.weight, 0.0 if last else settings.least_share)
            if costs is not None and not last:
                floor = noisy["edge"].deviation / 2
                fitted, even = (flow[features.place["edge"]] + floor for flow in (found.fitted, found.even))
                learnt *= (fitted / even) ** -(settings.feedback if strong else settings.feedback_weak)
                learnt = np.clip(learnt, 0.5, 2.0)
    if found is None:
        raise ValueError("there was no round")
    report = _diagnose(features, found, noisy, total, kinds)
    return Woven(measured.world, support, found.weight, measured.resolution.times, report)


def _shares(kind: NDArray[np.int64], weight: Floats, least: float) -> Floats:
    """How much fitted weight each kind of route choice carries, and at least a little."""
    shares = np.maximum(np.bincount(kind, weight, len(KINDS)) / weight.sum(), least)
    return shares / shares.sum()


def _without_rare(shares: Floats, rare: float) -> Floats:
    """Kinds that hardly explain anything are given up."""
    kept = np.where(shares >= min(rare, float(shares.max())), shares, 0.0)
    return kept / kept.sum()


def _diagnose(
    features: Features, found: Fit, noisy: dict[str, Noisy], total: float, kinds: Floats
) -> Diagnostics:
    flow = "edge" if "edge" in features.place else "move"
    unseen = found.even[features.place[flow]] <= 0
    # Noise is as often below zero as above, so it cancels in the sum.
    unexplained = max(0.0, float(noisy[flow].value[unseen].sum()) / total)
    misfit = {
        name: float(np.sqrt(np.mean((found.fitted[place] - noisy[name].value) ** 2)) / noisy[name].deviation)
        for name, place in features.place.items()
    }
    return Diagnostics(unexplained, found.effective, features.size, misfit, tuple(kinds.tolist()))
