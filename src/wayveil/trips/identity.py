"""Names of trips as 64-bit words, and keyed words made of them: SipHash-2-4 (Aumasson and Bernstein 2012).

A trip read from a file is called by the ids of its rider and of itself, whatever its place in the file, so that every
engine that reads the file in pieces, in any order and any number of times, calls it the same. Trips that no file named
are called by their rider and by what they are. No name depends on other riders: when one rider comes or goes, the
choice among everybody else's trips stays as it was. Two trips with the same word by chance harm nobody: words only
decide which of a rider's trips are counted, not who the rider is.
"""

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]
# Names are no secret, so the key that makes them is none either.
PUBLIC_KEY = np.array([0x77617976, 0x65696C], np.uint64)


def name_trips(rider: pl.Series | None, trip: pl.Series) -> Words:
    """The word of each trip, from the ids of rider (missing: none) and trip as text."""
    frame = pl.DataFrame({"trip": trip.cast(pl.String).fill_null("")})
    whose = pl.lit("") if rider is None else rider.cast(pl.String).fill_null("").alias("rider")
    text = frame.select(pl.concat_str([whose, pl.col("trip")], separator="\0")).to_series()
    return _hash_texts(text)


def name_alike(
    rider: Words, location: NDArray[np.int32], time: NDArray[np.int64] | None, offsets: NDArray[np.int64]
) -> Words:
    """The word of each trip from its rider's word, its visits, and how many such trips stand before it.

    With one trip more there is one word more, and the words of all the others are the same.
    """
    times = np.empty(0, np.int64) if time is None else time
    alike = _hash_visits(PUBLIC_KEY, np.ascontiguousarray(rider, np.uint64), location, times, offsets)
    order = np.argsort(alike, kind="stable")
    ordered = alike[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]][: len(order)]
    place = np.arange(len(order))
    earlier = np.empty(len(order), np.int64)
    earlier[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return keyed_words(PUBLIC_KEY, alike, earlier)


def name_riders(rider: NDArray[np.int64] | None, ids: pl.Series | None, trips: int) -> Words:
    """The word of the rider of each trip: from the id, where a reader kept it, or from the code."""
    if rider is None:
        return np.zeros(trips, np.uint64)
    if ids is None:
        return rider.astype(np.uint64)
    # The last one belongs to the code -1: nobody.
    return np.append(_hash_texts(ids.cast(pl.String)), np.uint64(0))[rider]


def keyed_words(key: Words, name: Words, item: NDArray[np.int64] | None = None) -> Words:
    """A word for every name (and item of it) that nobody can tell from chance without the key of two words.

    The same key gives the same words wherever and however often they are made.
    """
    items = np.zeros(1, np.int64) if item is None else np.ascontiguousarray(item, np.int64)
    return _keyed(key, np.ascontiguousarray(name, np.uint64), items)


def _hash_texts(text: pl.Series) -> Words:
    ends = np.concatenate([[0], np.cumsum(text.str.len_bytes().to_numpy(), dtype=np.int64)])
    joined = np.frombuffer((text.str.join("").item() or "").encode() if len(text) else b"", np.uint8)
    return _hash_bytes(PUBLIC_KEY, joined, ends)


@njit(cache=True, nogil=True, inline="always")
def _turn(word, bits):  # type: ignore[no-untyped-def]
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _rounds(v0, v1, v2, v3, count):  # type: ignore[no-untyped-def]
    for _ in range(count):
        v0 += v1
        v1 = _turn(v1, 13) ^ v0
        v0 = _turn(v0, 32)
        v2 += v3
        v3 = _turn(v3, 16) ^ v2
        v0 += v3
        v3 = _turn(v3, 21) ^ v0
        v2 += v1
        v1 = _turn(v1, 17) ^ v2
        v2 = _turn(v2, 32)
    return v0, v1, v2, v3


@njit(cache=True, nogil=True)
def _start(key):  # type: ignore[no-untyped-def]
    return (
        key[0] ^ np.uint64(0x736F6D6570736575),
        key[1] ^ np.uint64(0x646F72616E646F6D),
        key[0] ^ np.uint64(0x6C7967656E657261),
        key[1] ^ np.uint64(0x7465646279746573),
    )


@njit(cache=True, nogil=True)
def _take_in(state, word):  # type: ignore[no-untyped-def]
    v0, v1, v2, v3 = state
    v0, v1, v2, v3 = _rounds(v0, v1, v2, v3 ^ word, 2)
    return v0 ^ word, v1, v2, v3


@njit(cache=True, nogil=True)
def _finish(state):  # type: ignore[no-untyped-def]
    v0, v1, v2, v3 = state
    v0, v1, v2, v3 = _rounds(v0, v1, v2 ^ np.uint64(0xFF), v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


@njit(cache=True, nogil=True)
def siphash_pair(key, first, second):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of the sixteen bytes of two words, least significant first."""
    state = _take_in(_take_in(_start(key), first), second)
    return _finish(_take_in(state, np.uint64(16 << 56)))


@njit(cache=True, nogil=True)
def hash_words(key, words):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of the eight bytes of each word."""
    out = np.empty(words.size, np.uint64)
    for i in range(words.size):
        out[i] = _finish(_take_in(_take_in(_start(key), words[i]), np.uint64(8 << 56)))
    return out


@njit(cache=True, nogil=True)
def _keyed(key, name, item):  # type: ignore[no-untyped-def]
    out = np.empty(name.size, np.uint64)
    for i in range(name.size):
        out[i] = siphash_pair(key, name[i], np.uint64(item[i if item.size > 1 else 0]))
    return out


@njit(cache=True, nogil=True)
def _hash_visits(key, rider, location, time, offsets):  # type: ignore[no-untyped-def]
    """A chain over the visits of each trip, begun with its rider."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        word = siphash_pair(key, rider[i], np.uint64(offsets[i + 1] - offsets[i]))
        for visit in range(offsets[i], offsets[i + 1]):
            word = siphash_pair(key, word, np.uint64(location[visit]))
            if time.size:
                word = siphash_pair(key, word, np.uint64(time[visit]))
        out[i] = word
    return out


@njit(cache=True, nogil=True)
def _hash_bytes(key, data, ends):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of each stretch of bytes."""
    out = np.empty(ends.size - 1, np.uint64)
    for i in range(out.size):
        state = _start(key)
        length = ends[i + 1] - ends[i]
        for block in range(length // 8 + 1):
            first = ends[i] + 8 * block
            word = np.uint64(0)
            if block == length // 8:
                word = np.uint64(length & 0xFF) << np.uint64(56)
            for j in range(min(8, ends[i + 1] - first)):
                word |= np.uint64(data[first + j]) << np.uint64(8 * j)
            state = _take_in(state, word)
        out[i] = _finish(state)
    return out
