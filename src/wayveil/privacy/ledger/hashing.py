"""Keyed hashes of trips, of sets of places and of texts: SipHash-2-4 and BLAKE2b. Without the key they tell nothing."""

import hashlib

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.trips.identity import hash_words

Hashes = NDArray[np.uint64]


def sip_hash(values: Hashes, key: bytes) -> Hashes:
    """SipHash-2-4 of each 64-bit value under a key of 16 bytes."""
    return hash_words(np.frombuffer(key, "<u8").astype(np.uint64), np.ascontiguousarray(values, np.uint64))


def hash_texts(texts: pl.Series, key: bytes) -> Hashes:
    """A keyed hash of each text, from their bytes side by side: millions in a second."""
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    letters = np.frombuffer("".join(texts.to_list()).encode(), np.uint8)
    ends = np.cumsum(lengths)
    salt = np.uint64(int.from_bytes(key[:8], "little"))
    return sip_hash(_letters(letters, ends - lengths, ends, salt), key)


def key_for(of: str, key: bytes) -> bytes:
    """A key of its own for every kind of thing."""
    return hashlib.blake2b(of.encode(), key=key, digest_size=16).digest()


def hash_name(text: str, key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), key=key, digest_size=8).digest(), "little")


def hash_trips(
    location: NDArray[np.int32],
    offsets: NDArray[np.int64],
    names: Hashes,
    time: NDArray[np.int64] | None,
) -> Hashes:
    """A number for every trip that visits anything: equal for equal visits in equal order."""
    moments = np.zeros(0, np.int64) if time is None else time
    return _chain(
        location, offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0], names, moments
    )


@njit(cache=True, nogil=True)
def _chain(location, begins, ends, names, time):  # type: ignore[no-untyped-def]
    out = np.empty(len(begins), np.uint64)
    for i in range(len(begins)):
        state = np.uint64(ends[i] - begins[i])
        for j in range(begins[i], ends[i]):
            state ^= names[location[j]]
            state = _mixed(state)
            if len(time):
                state = _mixed(state ^ np.uint64(time[j]))
        out[i] = state
    return out


def hash_bags(location: NDArray[np.int32], offsets: NDArray[np.int64], names: Hashes) -> Hashes:
    """A number for every trip that visits anything: equal for equal places in any order, as often each."""
    full = np.diff(offsets) > 0
    return _bags(location, offsets[:-1][full], offsets[1:][full], names)


@njit(cache=True, nogil=True)
def _bags(location, begins, ends, names):  # type: ignore[no-untyped-def]
    out = np.empty(len(begins), np.uint64)
    for i in range(len(begins)):
        total = np.uint64(ends[i] - begins[i])
        for j in range(begins[i], ends[i]):
            total += _mixed(names[location[j]])
        out[i] = _mixed(total)
    return out


@njit(cache=True, nogil=True)
def _letters(letters, begins, ends, salt):  # type: ignore[no-untyped-def]
    out = np.empty(len(begins), np.uint64)
    for i in range(len(begins)):
        state = salt ^ np.uint64(ends[i] - begins[i])
        for j in range(begins[i], ends[i]):
            state = _mixed((state << np.uint64(8)) ^ (state >> np.uint64(56)) ^ np.uint64(letters[j]))
        out[i] = state
    return out


@njit(cache=True, nogil=True)
def _mixed(word):  # type: ignore[no-untyped-def]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
