"""Groups of trips that stand at the same node of a tree and go on alike: each is walked as one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Trips that are looked up together.
_AT_ONCE = 32


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
def setting_out(
    offsets: NDArray[np.int64], location: NDArray[np.int32], share: int, shares: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First visit and end of the trips of one of several shares, by the place where they begin."""
    begin, end = np.empty(len(offsets), np.int64), np.empty(len(offsets), np.int64)
    count = 0
    for i in range(len(offsets) - 1):
        if offsets[i] < offsets[i + 1] and location[offsets[i]] % shares == share:
            begin[count], end[count] = offsets[i], offsets[i + 1]
            count += 1
    return begin[:count].copy(), end[:count].copy()


@njit(cache=True, nogil=True)
def group_alike(
    node: NDArray[np.int32],
    symbols: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    ahead: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The group of each trip, the first trip of each group, and the symbols of each group, -1 after its end.

    Trip i is at `node[i]` and its next symbols are `symbols[begin[i]:end[i]]`, of which `ahead` at most are compared.
    A hash table with open addressing, never more than half full. It grows with the groups, not with the trips. An entry
    holds half of the hash beside the group, so that a look elsewhere is nearly always a look at the right group. Trips
    are taken a few at a time, one step for all of them before the next: memory then answers several of them at once.
    """
    bits = 12
    table = np.zeros(1 << bits, np.uint64)
    group = np.empty(len(node), np.int32)
    first = np.empty(1 << (bits - 1), np.int64)
    hashes = np.empty(1 << (bits - 1), np.uint64)
    # What the groups have in common, side by side: their first trips lie all over the memory.
    common = np.full((1 << (bits - 1), ahead + 2), -1, np.int32)
    count = 0
    values, guesses = np.empty(_AT_ONCE, np.uint64), np.empty(_AT_ONCE, np.int64)
    for some in range(0, len(node), _AT_ONCE):
        several = min(_AT_ONCE, len(node) - some)
        for t in range(several):
            values[t] = _hash(node[some + t], symbols, begin[some + t], end[some + t], ahead)
        _guess_groups(table, common, node[some : some + several], values, guesses)
        for t in range(several):
            i, value = some + t, values[t]
            start, width = begin[i], min(ahead, end[i] - begin[i])
            if guesses[t] >= 0 and _same(common, guesses[t], node[i], symbols, start, width):
                group[i] = guesses[t]
                continue
            if count == len(first):
                bits += 1
                table = _larger(hashes, bits)
                first = np.concatenate((first, np.empty_like(first)))
                hashes = np.concatenate((hashes, np.empty_like(hashes)))
                common = np.concatenate((common, np.full_like(common, -1)))
            mask = np.uint64((1 << bits) - 1)
            place, tag = value & mask, value >> np.uint64(32)
            known = np.int64(-1)
            while table[place] != 0:
                if table[place] >> np.uint64(32) == tag:
                    known = np.int64(table[place] & np.uint64(0xFFFFFFFF)) - 1
                    if _same(common, known, node[i], symbols, start, width):
                        break
                    known = np.int64(-1)
                place = (place + np.uint64(1)) & mask
            if known < 0:
                known = np.int64(count)
                table[place] = tag << np.uint64(32) | np.uint64(count + 1)
                first[count], hashes[count] = i, value
                common[count, 0], common[count, 1] = node[i], width
                common[count, 2 : width + 2] = symbols[start : start + width]
                count += 1
            group[i] = known
    return group, first[:count].copy(), common[:count, 2:]


@njit(cache=True, nogil=True)
def _guess_groups(table, common, node, values, guesses):  # type: ignore[no-untyped-def]
    """Where each of a few trips with these hashes most likely belongs, -1 where that cannot be."""
    mask = np.uint64(len(table) - 1)
    for t in range(len(node)):
        entry = table[values[t] & mask]
        guesses[t] = -1
        if entry != 0 and entry >> np.uint64(32) == values[t] >> np.uint64(32):
            guesses[t] = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
    for t in range(len(node)):
        if guesses[t] >= 0 and common[guesses[t], 0] != node[t]:
            guesses[t] = -1


@njit(cache=True, nogil=True, inline="always")
def _hash(node, symbols, start, end, ahead):  # type: ignore[no-untyped-def]
    width = min(ahead, end - start)
    value = np.uint64(node + 1) * _FACTOR
    j = 0
    while j + 1 < width:
        pair = np.uint64(np.uint32(symbols[start + j])) | np.uint64(
            np.uint32(symbols[start + j + 1])
        ) << np.uint64(32)
        value = (value ^ pair) * _FACTOR
        value ^= value >> np.uint64(32)
        j += 2
    if j < width:
        value = (value ^ np.uint64(np.uint32(symbols[start + j]))) * _FACTOR
        value ^= value >> np.uint64(29)
    return value


@njit(cache=True, nogil=True, inline="always")
def _same(common, known, node, symbols, start, width):  # type: ignore[no-untyped-def]
    """Tell whether a trip is at the node of a group and has its symbols."""
    same = common[known, 0] == node and common[known, 1] == width
    if same:
        for k in range(width):
            same &= common[known, k + 2] == symbols[start + k]
    return same


@njit(cache=True, nogil=True)
def _larger(hashes: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """A larger table with all groups so far."""
    table = np.zeros(1 << bits, np.uint64)
    mask = np.uint64((1 << bits) - 1)
    for k in range(len(hashes)):
        place = hashes[k] & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = hashes[k] >> np.uint64(32) << np.uint64(32) | np.uint64(k + 1)
    return table
