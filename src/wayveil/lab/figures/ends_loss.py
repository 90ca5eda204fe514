"""How well does the autoencoder of the DP-Loc study know where trips begin and end, and when? Internal.

The figure comes from raw trips and is not published.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.lab.figures.hour_curves import hours_of
from wayveil.trips.trips import Trips
from wayveil.utility.figures import Measure, check_not_empty

Ints = NDArray[np.int64]
PIECE = 1_000


class EndsModel(Protocol):
    """A model that says what ends and an hour cost."""

    def ends_loss(self, origin: Ints, destination: Ints, hour: Ints) -> NDArray[np.float64]:
        """In nats, of every trip."""


def ends_loss(raw: Trips, model: EndsModel, *, most: int = 20_000, seed: int = 0) -> Measure:
    """The mean over timed raw trips, or over a sample of `most` of them."""
    check_not_empty(raw)
    raw = raw.take(raw.lengths > 0)
    if len(raw) > most:
        raw = raw.take(np.sort(np.random.default_rng(seed).choice(len(raw), most, replace=False)))
    ends = (raw.origins().astype(np.int64), raw.destinations().astype(np.int64), hours_of(raw))
    pieces = [slice(start, start + PIECE) for start in range(0, len(raw), PIECE)]
    total = sum(float(model.ends_loss(*(one[piece] for one in ends)).sum()) for piece in pieces)
    return Measure("ends/loss", "loss of origin, destination and hour (nats)", total / len(raw))
