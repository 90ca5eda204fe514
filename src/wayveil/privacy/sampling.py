"""Uniform choices: whole numbers below a bound, and a few items out of every group.

Which trips of a rider are counted is part of the mechanism, so it uses the same secure bits as the noise.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits

_BLOCK = 1 << 16


def uniform_integers(size: int, bound: int, bits: Bits | None = None) -> NDArray[np.int64]:
    """Independent uniform integers in [0, bound): words modulo bound, the last incomplete round rejected."""
    if not 1 <= bound <= 1 << 63:
        raise ParameterError(f"A bound lies between 1 and 2^63, not at {bound}.")
    source = bits or secure_bits()
    last = np.uint64((1 << 64) - (1 << 64) % bound - 1)
    words = source.words(size)
    while (rejected := np.flatnonzero(words > last)).size:
        words[rejected] = source.words(len(rejected))
    return (words % np.uint64(bound)).astype(np.int64)


def sample_per_group(group_sizes: ArrayLike, most: int, bits: Bits | None = None) -> NDArray[np.bool_]:
    """Keep at most `most` items of every group, each subset of that size with the same probability.

    Items lie group after group; the mask says which are kept. Groups that are small enough are kept whole.
    Within a group items are visited in order and one is kept with probability (places left) / (items left),
    decided by an exact uniform integer. The choice in one group depends on nothing outside it.
    """
    sizes = np.asarray(group_sizes, np.int64)
    if sizes.min(initial=0) < 0 or most < 0:
        raise ParameterError("Group sizes and the number of items to keep cannot be negative.")
    source = bits or secure_bits()
    mask = np.ones(int(sizes.sum()), np.bool_)
    block = min(max(mask.size, 1), _BLOCK)
    # Group, its first item, items visited in it, and places left: where to go on when the words run out.
    state = np.array([0, 0, 0, most], np.int64)
    while not _select(sizes, most, source.words(block), mask, state):
        pass
    return mask


def choose(count: int, most: int, bits: Bits | None = None) -> NDArray[np.int64]:
    """At most `most` of the numbers 0..count-1 without replacement, in ascending order."""
    return np.flatnonzero(sample_per_group([count], most, bits))


@njit(cache=True, nogil=True)
def _select(sizes, most, words, mask, state):  # type: ignore[no-untyped-def]
    """Selection sampling from `state` on. Returns False, with the state saved, when words ran out."""
    group, first, visited, places = state
    used = 0
    while group < sizes.size:
        size = sizes[group]
        if size > most:
            while visited < size:
                left = size - visited
                if places == 0:
                    mask[first + visited : first + size] = False
                    break
                if places == left:
                    break
                if used == words.size:
                    state[:] = (group, first, visited, places)
                    return False
                word = words[used]
                used += 1
                draw = word % np.uint64(left)
                # The last round of residues is complete only if it ends within 64 bits.
                if word - draw > np.uint64(0xFFFFFFFFFFFFFFFF) - np.uint64(left - 1):
                    continue
                if draw < np.uint64(places):
                    places -= 1
                else:
                    mask[first + visited] = False
                visited += 1
        group, first, visited, places = group + 1, first + size, 0, most
    return True
