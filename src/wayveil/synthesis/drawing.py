"""Private trips out of a model: all of them, some, or none. Post-processing: it costs nothing and sees no raw trip."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips

# More trips than this are drawn and written a piece at a time.
AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Drawing:
    """Private trips that are drawn while they are written, so that they never are in memory together."""

    model: Any
    seed: int | None
    count: int

    def pieces(self) -> Iterator[Trips]:
        """The trips, `AT_ONCE` at a time. The same seed draws the same."""
        if hasattr(self.model, "pieces"):  # what costs once for all of them is done once
            yield from self.model.pieces(self.seed, trips=self.count, at_once=AT_ONCE)
            return
        for number, first in enumerate(range(0, self.count, AT_ONCE)):
            seed = None if self.seed is None else [self.seed, number]
            yield self.model.generate(seed, trips=min(AT_ONCE, self.count - first))


def draw_later(model: Any, seed: int | None, count: int | None) -> Drawing | None:
    """A drawing in pieces where so many trips are wanted, and the model can; else None."""
    if "trips" not in inspect.signature(model.generate).parameters:
        return None
    stands_for = getattr(model, "total", getattr(model, "trips", 0)) if count is None else count
    return Drawing(model, seed, round(stands_for)) if stands_for > AT_ONCE else None


def trips_wanted(text: str) -> int | None:
    """What `--trips-out` says: none, a number, or all (which is None)."""
    if text == "all":
        return None
    if text == "none":
        return 0
    if not text.isdecimal():
        raise ParameterError(f"--trips-out is none, all or a number of trips, not {text!r}")
    return int(text)


def draw_trips(model: Any, seed: int | None, count: int | None) -> Trips:
    """As many private trips as asked for; None for as many as the model says there are.

    A model that can draw any number draws that many. Of another, trips are taken at random among those it stands for,
    and there cannot be more of them.
    """
    if count is None:
        return model.generate(seed)
    if count == 0:
        return Trips.of_lists([], model.world)
    if "trips" in inspect.signature(model.generate).parameters:
        return model.generate(seed, trips=count)
    drawn: Trips = model.generate(seed)
    if count >= len(drawn):
        return drawn
    return drawn.take(np.sort(np.random.default_rng(seed).choice(len(drawn), count, replace=False)))
