"""The random bits behind every draw that protects people.

`SecureBits` runs AES-256 in counter mode under a key from the operating system. It cannot be seeded. Three
things that have broken buffered generators elsewhere are shut out by construction:

- threads: every thread has a key and a buffer of its own, so there is nothing to share or to lock;
- forks: a child notices that it is a child and takes a new key, so workers never repeat their parent's noise;
- missing entropy: the failure is raised. There is no weaker generator to fall back to.

`KeptBits` is for a run that may be killed and must go on as the same run: its key comes from the operating system too,
and lies in a file until the answers are kept.

`SeededBits` is for tests and experiments. It has to be made and passed on by name, and says that it is not
private, which a release writes on its datasheet.
"""

import hashlib
import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from wayveil.errors import WayveilError

# A key makes at most 1 GiB. Counter mode never repeats one of its 2^26 blocks, which a truly random source
# would do with probability 2^-77: that is the distance from ideal bits, as far as AES itself is a random
# permutation.
BYTES_PER_KEY = 1 << 30
_BUFFER_WORDS = 4096
KEPT_KEY_BYTES = 32
_ZEROS = bytes(1 << 20)


class EntropyError(WayveilError):
    """The operating system gives no random bits, so no noise can be drawn."""


class Bits(Protocol):
    """A source of independent uniform 64-bit words."""

    @property
    def private(self) -> bool:
        """Tell whether noise from these bits protects anybody."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words. No word is ever handed out twice."""


class _Keystream:
    """AES-256-CTR under one key, read from the start."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        self.read = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        size = 8 * count
        # Some versions of the library insist on room for one more block.
        out = np.empty(count + 2, "<u8")
        target = out.view(np.uint8).data
        for start in range(0, size, len(_ZEROS)):
            zeros = _ZEROS[: size - start]
            self._encryptor.update_into(zeros, target[start : start + len(zeros) + 16])
        self.read += size
        return out[:count].astype(np.uint64, copy=False)


_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class SecureBits(threading.local):
    """Words from AES-256-CTR, keyed by `os.urandom`, with a state of its own in every thread."""

    private = True

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._stream: _Keystream | None = None
        self._buffer = np.empty(0, np.uint64)
        self._next = 0
        self._owner = (_forks, os.getpid())

    def words(self, count: int) -> NDArray[np.uint64]:
        # The process id also catches forks made by foreign code, which run no Python hook.
        if self._owner != (_forks, os.getpid()):
            self._start()
        if count > _BUFFER_WORDS:
            return self._generate(count)
        if self._next + count > len(self._buffer):
            # A new array each time: the words already handed out are views of the old one.
            self._buffer, self._next = self._generate(_BUFFER_WORDS), 0
        self._next += count
        return self._buffer[self._next - count : self._next]

    def _generate(self, count: int) -> NDArray[np.uint64]:
        if 8 * count > BYTES_PER_KEY:
            half = count // 2
            return np.concatenate([self._generate(half), self._generate(count - half)])
        if self._stream is None or self._stream.read + 8 * count > BYTES_PER_KEY:
            self._stream = _Keystream(_entropy(32), _entropy(16))
        return self._stream.words(count)


class SeededBits:
    """Random words that are equal in every run with the same seed: for tests and experiments, never for a release."""

    private = False

    def __init__(self, seed: int | str) -> None:
        digest = hashlib.sha256(f"wayveil seeded bits {seed!r}".encode()).digest()
        self._stream = _Keystream(digest, bytes(16))
        self._lock = threading.Lock()

    def words(self, count: int) -> NDArray[np.uint64]:
        with self._lock:
            return self._stream.words(count)


class KeptBits:
    """Words under a key that outlives the process, so that a run that was killed draws the same noise once more.

    Why this is one draw and not two: noise that is a function of the key makes the second try give the first one's
    answers, whatever stopped it. Drawn afresh, a run that is stopped *because* of its noise (too large for the memory,
    say) and tried again until it ends would be another mechanism, with a worse guarantee. Whoever keeps a key sees to
    it that answers under it leave once. It cannot be chosen: `new_key` is the only way to one.
    """

    private = True

    def __init__(self, key: bytes) -> None:
        if len(key) != KEPT_KEY_BYTES:
            raise EntropyError(f"a kept key has {KEPT_KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._streams = 0
        self._stream = self._next_stream()

    @staticmethod
    def new_key() -> bytes:
        """A key from the operating system."""
        return _entropy(KEPT_KEY_BYTES)

    def words(self, count: int) -> NDArray[np.uint64]:
        if os.getpid() != self._process:
            raise EntropyError("noise that is kept belongs to one process; a fork of it would repeat it")
        if 8 * count > BYTES_PER_KEY:
            half = count // 2
            return np.concatenate([self.words(half), self.words(count - half)])
        with self._lock:
            if self._stream.read + 8 * count > BYTES_PER_KEY:
                self._stream = self._next_stream()
            return self._stream.words(count)

    def _next_stream(self) -> _Keystream:
        self._streams += 1
        word = b"wayveil kept bits %d" % self._streams
        return _Keystream(hashlib.blake2b(word, key=self._key, digest_size=32).digest(), bytes(16))


_SYSTEM = SecureBits()


def secure_bits() -> SecureBits:
    """The secure source of this process."""
    return _SYSTEM


def _entropy(count: int) -> bytes:
    try:
        entropy = os.urandom(count)
    except (OSError, NotImplementedError) as error:
        raise EntropyError("The operating system gives no random bits, so no noise can be drawn.") from error
    return entropy
