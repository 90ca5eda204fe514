"""The support: many plausible trips, from which the fit chooses by weight."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.world.walk_blocks import Walks


@dataclass(frozen=True, eq=False)
class Support:
    """Walks, and the number of the way in which each was made: of choosing a route, or of walking over a list."""

    walks: Walks
    kind: Ints


def select_walks(location: NDArray[np.int32], offsets: Ints, chosen: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Some of the walks that lie end to end."""
    lengths = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return location[np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths)], ends
