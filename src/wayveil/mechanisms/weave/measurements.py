"""The model of a Weave release: what was measured, and the trips that are woven from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from wayveil.errors import InputError
from wayveil.mechanisms.weave.expected_error import compare_weavings, weave_again
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlocks
from wayveil.mechanisms.weave.weaving import Woven, weave
from wayveil.synthesis.model import ExpectedError, Replica
from wayveil.trips.trips import Trips


@dataclass(frozen=True, eq=False)
class Measurements(NoisyBlocks):
    """Noisy counts that can be woven into trips, as often as one likes."""

    __hash__ = None

    def weave(self, seed: int | None = None) -> Woven:
        """Draw a support and fit it; the result can be sampled again and again, and knows how well it fits."""
        with _whole_model():
            return weave(self, np.random.default_rng(seed))

    def generate(self, seed: int | None = None, *, trips: int | None = None) -> Trips:
        """Private trips: as many as the noisy total says, or as many as asked for."""
        rng = np.random.default_rng(seed)
        with _whole_model():
            return weave(self, rng).sample(self.trips if trips is None else trips, rng)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many private trips, or as many as the noisy total says."""
        return self.generate(seed, trips=trips)

    def replicate(self, trips: Trips, seed: int) -> Replica:
        """Measured and woven once more, as if the released trips were the truth."""
        return weave_again(self, trips, seed)

    def expected_errors(self, trips: Trips, again: Replica) -> list[ExpectedError]:
        """Say how far off the released trips are expected to be, from those that were woven once more."""
        return compare_weavings(self, trips, again, seed=0)

    def pieces(self, seed: int | None = None, *, trips: int, at_once: int) -> Iterator[Trips]:
        """Return them, so many at a time: for numbers that do not fit in memory. Weaves once."""
        rng = np.random.default_rng(seed)
        with _whole_model():
            woven = weave(self, rng)
            for first in range(0, trips, at_once):
                yield woven.sample(min(at_once, trips - first), rng)


@contextmanager
def _whole_model() -> Iterator[None]:
    """Say of a table that others may have changed what is wrong with it."""
    try:
        yield
    except (KeyError, IndexError, ZeroDivisionError) as error:
        raise InputError(f"the model was changed, or is not whole: {error} is missing or wrong") from error
