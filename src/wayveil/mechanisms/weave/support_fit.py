"""A support of plausible trips, and weights for it that explain the noisy blocks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlocks
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.weight_fit import Features, FittedWeights, fit_weights
from wayveil.world.walk_blocks import Block, WalkBlocks, Walks


@dataclass(frozen=True, eq=False)
class Support:
    """Walks, and the number of the way in which each was made: of choosing a route, or of walking over a list."""

    walks: Walks
    kind: Ints


# The variance that the misfit of each cell of a block may have, given its estimates and what even weights put there.
Allowance = Callable[[str, CellEstimates, Floats], Floats]


@dataclass(frozen=True)
class Diagnostics:
    """Measures of how well the support explains the measurements: computed from noisy numbers, so free to publish.

    unexplained  share of the flow on edges (or moves) that no trip of the support uses
    effective    trips of the support that carry the weight, (sum w)^2 / sum w^2
    support      trips of the support
    misfit       by block: root mean square of (fitted - noisy), in standard deviations of the noise; near 1 is right
    kinds        fitted share of each way to choose a route (`routed_support.ROUTE_CHOICES`) or to walk
    """

    unexplained: float
    effective: float
    support: int
    misfit: dict[str, float]
    kinds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FittedSupport:
    """A support with the weights that explain the target best, and the share of each kind of trip in it."""

    support: Support
    features: Features
    fit: FittedWeights
    kinds: Floats


@dataclass(frozen=True, eq=False)
class Target:
    """Estimates of the cells of blocks, in the order of the blocks, and how far the fit may stay from them."""

    blocks: dict[str, Block]
    noisy: dict[str, CellEstimates]
    total: float
    settings: Generation
    allow: Allowance

    def fit_support(
        self,
        support: Support,
        drawn: Floats,
        dual: Floats | None,
        *,
        sweeps: int,
        between: int,
        iterations: int,
    ) -> FittedSupport:
        """Weights, and the shares of kinds that go with them: alternately, as either depends on the other.

        All fits but the last take at most `between` steps.
        """
        features = Features(self.blocks, support.walks)
        wanted = np.concatenate([self.noisy[name].value for name in self.blocks])
        kinds = drawn
        for sweep in range(sweeps + 1):
            prior = (kinds / np.maximum(drawn, 1e-9))[support.kind]
            found = fit_weights(
                features,
                wanted,
                self._allow_all(features, features.put_even(self.total, prior)),
                self.total,
                solver=self.settings.solver,
                prior=prior,
                start=dual,
                iterations=iterations if sweep == sweeps else between,
            )
            dual = found.dual
            kinds = np.bincount(support.kind, found.weight, len(drawn)) / found.weight.sum()
        return FittedSupport(support, features, found, kinds)

    def _allow_all(self, features: Features, even: Floats) -> Floats:
        parts = [self.allow(name, self.noisy[name], even[features.place[name]]) for name in self.blocks]
        return np.concatenate(parts)

    def diagnose(self, found: FittedSupport) -> Diagnostics:
        """Return how well a fitted support explains the target."""
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


def count_support(total: float, settings: Generation) -> int:
    """Return how many trips a support should have."""
    return int(np.clip(settings.support * total, settings.least, settings.most))


def read_blocks(measured: NoisyBlocks) -> tuple[WalkBlocks, dict[str, Block], dict[str, CellEstimates]]:
    """The public blocks of measurements; those that were asked for, by name; and what is believed of their cells."""
    blocks = measured.blocks()
    asked = {name: block for name, block in blocks.all().items() if name in measured.noisy}
    return blocks, asked, {name: measured.believe(name) for name in asked}
