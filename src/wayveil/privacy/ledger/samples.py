"""Samples of hashes that show how much two datasets have in common (bottom-k sketches)."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.hashing import Hashes

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
    """How many of the sampled things of two datasets are the same."""

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
