"""Draws of an attacker, the same for every release that is compared.

What an attacker happens to know must not differ between two releases, or their difference is partly luck. So a draw is
a function of what it is about (a label, a seed, the number of the target) and of nothing else: no generator whose
state depends on how many draws came before.
"""

import hashlib

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Words = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@njit(cache=True)
def mixed(word: np.uint64) -> np.uint64:
    """One step of the SplitMix64 generator as a hash (Steele, Lea and Flood 2014)."""
    word = word + _GOLDEN
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@njit(cache=True)
def unit_of(word: np.uint64) -> float:
    """A hashed word as a number of [0, 1)."""
    return float(word >> _S11) * _UNIT


def key_of(label: str, seed: int) -> np.uint64:
    """The key of everything that is drawn under this label."""
    digest = hashlib.sha256(f"{label} {seed}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


def words(label: str, seed: int, *numbers: ArrayLike) -> Words:
    """One word for every combination of numbers (broadcast like numpy operands)."""
    with np.errstate(over="ignore"):
        word = np.asarray(key_of(label, seed))
        for number in numbers:
            word = word ^ np.asarray(number).astype(np.uint64)
            word = word + _GOLDEN
            word = (word ^ (word >> _S30)) * _FIRST
            word = (word ^ (word >> _S27)) * _SECOND
            word = word ^ (word >> _S31)
    return np.asarray(word, np.uint64)


def uniform(label: str, seed: int, *numbers: ArrayLike) -> NDArray[np.float64]:
    """A number of [0, 1) for every combination of numbers."""
    return (words(label, seed, *numbers) >> _S11).astype(np.float64) * _UNIT
