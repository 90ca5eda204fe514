"""Groups of trips that stand at the same node of a tree and go on alike: each is walked as one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def still_walking(
    position: NDArray[np.int64], end: NDArray[np.int64], group: NDArray[np.int32], node: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Position, end and node of the trips whose group has a node and that have visits to come."""
    positions, ends, nodes = np.empty_like(position), np.empty_like(end), np.empty_like(group)
    count = 0
    for i in range(len(group)):
        at = node[group[i]]
        positions[count], ends[count], nodes[count] = position[i], end[i], at
        count += (at >= 0) & (position[i] < end[i])
    return positions[:count].copy(), ends[:count].copy(), nodes[:count].copy()


@njit(cache=True, nogil=True)
def group_alike(
    node: NDArray[np.int32],
    symbols: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    ahead: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The group of each trip, and the first trip of each group.

    Trip i is at `node[i]` and its next symbols are `symbols[begin[i]:end[i]]`, of which `ahead` at most are compared.
    A hash table with open addressing, never more than half full. It grows with the groups, not with the trips, and
    so stays in the processor's cache.
    """
    bits = 12
    table = np.full(1 << bits, -1, np.int32)
    group = np.empty(len(node), np.int32)
    first = np.empty(1 << (bits - 1), np.int64)
    hashes = np.empty(1 << (bits - 1), np.uint64)
    # What the groups have in common, side by side: their first trips lie all over the memory.
    common = np.empty((1 << (bits - 1), ahead + 2), np.int32)
    count = 0
    for i in range(len(node)):
        width = min(ahead, end[i] - begin[i])
        value = np.uint64(node[i] + 1)
        for j in range(width):
            value = (value ^ np.uint64(symbols[begin[i] + j])) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(32)
        if count == len(first):
            bits += 1
            table = _table(hashes, bits)
            first = np.concatenate((first, np.empty_like(first)))
            hashes = np.concatenate((hashes, np.empty_like(hashes)))
            common = np.concatenate((common, np.empty_like(common)))
        mask = np.uint64((1 << bits) - 1)
        place = value & mask
        while table[place] >= 0:
            known = table[place]
            if hashes[known] == value and common[known, 0] == node[i] and common[known, 1] == width:
                same = True
                for j in range(width):
                    same &= common[known, j + 2] == symbols[begin[i] + j]
                if same:
                    break
            place = (place + np.uint64(1)) & mask
        if table[place] < 0:
            table[place], first[count], hashes[count] = count, i, value
            common[count, 0], common[count, 1] = node[i], width
            for j in range(width):
                common[count, j + 2] = symbols[begin[i] + j]
            count += 1
        group[i] = table[place]
    return group, first[:count].copy()


@njit(cache=True, nogil=True)
def _table(hashes: NDArray[np.uint64], bits: int) -> NDArray[np.int32]:
    """A larger table with all groups so far."""
    table = np.full(1 << bits, -1, np.int32)
    mask = np.uint64((1 << bits) - 1)
    for k in range(len(hashes)):
        place = hashes[k] & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table[place] = k
    return table
