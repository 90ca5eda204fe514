"""Keyed hashes of trips, sets of places and texts, and samples that show how much two datasets have in common."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError
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


SIZE = 2048
CERTAINTY = 0.999


@dataclass(frozen=True, eq=False)
class Sample:
    """The smallest keyed hashes of the distinct things in a dataset, ascending; all of them if fewer than `size`."""

    hashes: Hashes
    size: int = SIZE

    @classmethod
    def of(cls, hashes: Hashes, size: int = SIZE) -> Self:
        few = hashes
        if len(hashes) > 64 * size:  # no need to sort a million for two thousand, unless they repeat
            few = np.partition(hashes, 32 * size)[: 32 * size]
        distinct = _distinct(few)
        return cls((distinct if len(distinct) >= size else _distinct(hashes))[:size], size)

    @property
    def reach(self) -> int:
        """Up to here every hash of the dataset is in the sample."""
        return int(self.hashes[-1]) if len(self.hashes) == self.size else (1 << 64) - 1

    def merged(self, other: "Sample") -> "Sample":
        """The sample of both datasets together."""
        return Sample(np.union1d(self.hashes, other.hashes)[: self.size], self.size)

    def text(self) -> str:
        return base64.b64encode(self.hashes.astype("<u8").tobytes()).decode()

    @classmethod
    def parse(cls, text: Any, size: int = SIZE) -> Self:
        try:
            hashes = np.frombuffer(base64.b64decode(text, validate=True), "<u8").astype(np.uint64)
        except (TypeError, ValueError, binascii.Error) as error:
            raise ParameterError(f"a sample of hashes cannot be read ({error})") from error
        if len(hashes) > size or np.any(hashes[1:] <= hashes[:-1]):
            raise ParameterError("a sample of hashes is ascending and has no more than its size")
        return cls(hashes, size)


@dataclass(frozen=True)
class Overlap:
    """Number of sampled things that two datasets share."""

    common: int
    known: int
    new: int

    @property
    def share(self) -> float:
        """Of the smaller dataset, as far as the samples show."""
        return self.common / max(min(self.known, self.new), 1)

    @property
    def blind_spot(self) -> float:
        """The smallest share of the new dataset that would have been seen with probability `CERTAINTY`."""
        return 1.0 if self.new == 0 else 1 - float((1 - CERTAINTY) ** (1 / self.new))


def overlap(known: Sample, new: Sample) -> Overlap:
    """Compare where both samples are complete."""
    reach = np.uint64(min(known.reach, new.reach))
    left, right = known.hashes[known.hashes <= reach], new.hashes[new.hashes <= reach]
    return Overlap(len(np.intersect1d(left, right, assume_unique=True)), len(left), len(right))


def percent(share: float) -> str:
    return f"about {share:.0%}" if share >= 0.01 else "less than 1 %"


def _distinct(words: Hashes) -> Hashes:
    """Ascending, without repeats; quicker than a hash table for words that rarely repeat."""
    ordered = np.sort(words)
    return ordered[np.concatenate([ordered[1:] != ordered[:-1], [True]])] if len(ordered) else ordered
