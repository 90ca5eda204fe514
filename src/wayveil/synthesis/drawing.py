"""Private trips out of a model: all of them, some, or none. Post-processing: it costs nothing and sees no raw trip."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from wayveil.errors import ParameterError
from wayveil.synthesis.model import DrawsMore, Model
from wayveil.trips.history import AS_READ, History
from wayveil.trips.trips import Trips

# More trips than this are drawn and written a piece at a time.
AT_ONCE = 1_000_000


@runtime_checkable
class DrawsPieces(Protocol):
    """Draws any number of trips a piece at a time, and does once what costs once for all of them."""

    def pieces(self, seed: int | None = None, *, trips: int, at_once: int) -> Iterator[Trips]:
        """So many trips, so many at a time."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """Private trips that are drawn while they are written, so that they never are in memory together."""

    model: DrawsMore
    seed: int | None
    count: int
    history: History = AS_READ

    def pieces(self) -> Iterator[Trips]:
        """The trips, `AT_ONCE` at a time. The same seed draws the same."""
        for piece in self._drawn():
            yield replace(piece, history=self.history)

    def _drawn(self) -> Iterator[Trips]:
        if isinstance(self.model, DrawsPieces):
            yield from self.model.pieces(self.seed, trips=self.count, at_once=AT_ONCE)
            return
        for number, first in enumerate(range(0, self.count, AT_ONCE)):
            yield self.model.draw(min(AT_ONCE, self.count - first), _seed_of(self.seed, number))


@dataclass(frozen=True)
class Wanted:
    """Number of private trips that are wanted (None: as many as the model stands for), and whether as many raw ones
    were in memory: then so can they be.
    """

    count: int | None = None
    in_memory: bool = True

    def piecewise(self, model: Model) -> int | None:
        """Return how many trips are drawn while they are written; None where all of them are drawn at once."""
        stands_for = 0 if self.in_memory else getattr(model, "trips", 0)
        count = round(stands_for if self.count is None else self.count)
        return count if count > AT_ONCE and isinstance(model, DrawsMore) else None

    def in_part(self, model: Model) -> int | None:
        """The number of trips where they are not the whole release in memory."""
        return self.count if self.count is not None else self.piecewise(model)


def draw(model: Model, seed: int | None, wanted: Wanted, history: History) -> tuple[Trips, Drawing | None]:
    """The private trips, or, of very many, how to draw them."""
    many = wanted.piecewise(model)
    if many is not None and isinstance(model, DrawsMore):
        return _none(model, history), Drawing(model, seed, many, history)
    return replace(_draw_now(model, seed, wanted.count, history), history=history), None


def trips_wanted(text: str) -> int | None:
    """Read what `--trips-out` says: none, a number, or all (which is None)."""
    if text == "all":
        return None
    if text == "none":
        return 0
    if not text.isdecimal():
        raise ParameterError(f"--trips-out is none, all or a number of trips, not {text!r}")
    return int(text)


def _draw_now(model: Model, seed: int | None, count: int | None, history: History) -> Trips:
    """A model that can draw any number draws that many. Of another, trips are taken at random among those it stands
    for, and there cannot be more of them.
    """
    if count is None:
        return model.generate(seed)
    if count == 0:
        return _none(model, history)
    if isinstance(model, DrawsMore):
        return model.draw(count, seed)
    drawn = model.generate(seed)
    if count >= len(drawn):
        return drawn
    return drawn.take(np.sort(np.random.default_rng(seed).choice(len(drawn), count, replace=False)))


def _none(model: Model | DrawsMore, history: History) -> Trips:
    return Trips.of_lists([], model.world, history=history)  # type: ignore[union-attr]


def _seed_of(seed: int | None, number: int) -> int | None:
    return (
        None if seed is None else int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
    )
