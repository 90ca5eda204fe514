"""Traits that stay when a dataset is disguised: ids renamed, times moved or made coarse, trips turned round.

trait    what is hashed of each trip                       stays when
ids      the rider's id, without case, spaces and the       ids are padded
         zeros in front
bags     the places it visits, in any order, and how many   ids are renamed, times are dropped, trips are turned round
         trips of the dataset visit exactly these
minutes  bag, day and minute of its earliest visit          ids are renamed and times moved by seconds or made minutes
zones    bag, day and minute within the quarter of an hour  the same, and times moved to another time zone
clock    the second of its earliest visit                   ids and places are renamed

Two datasets of different people share traits too: many make the same trips, and every minute somebody boards
somewhere. So what is shared is held against what chance makes of it. For `minutes` and `zones`, the new dataset gives
its trips the minutes of others of them (`decoys`); for `clock` it is an hour late. What it shares beyond that, as a
share of what it could, is the evidence. For `bags`, equal numbers are the evidence: of two datasets in which each bag
has the same Poisson law, at most about a fifth of the bags have equal numbers.

Who travels with the timetable at the same stop in the same minute as somebody else, on the same day, looks the same.
Other people with the same days and places may therefore have to be confirmed.
"""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.samples import Hashes, Sample, hash_bags, hash_texts, key_for, overlap, percent
from wayveil.trips.identity import keyed_words
from wayveil.trips.trips import UNDATED, Trips

Ints = NDArray[np.int64]

TRAIT_SIZE = 1024
# Fewer than this in common reach tell nothing.
LEAST = 32
# Beyond chance, of what could be shared; and bags with equal numbers, of all bags.
BEYOND, EQUAL = 0.3, 0.5
DAY, HOUR, MINUTE, QUARTER = 86_400, 3600, 60, 15
SAID = {
    "minutes": "visit the same places on the same days in the same minutes",
    "zones": "visit the same places on the same days in the same minutes of some quarter of an hour",
    "clock": "begin in the same seconds",
}


@dataclass(frozen=True, eq=False)
class Traits:
    """Samples of the traits of one dataset.

    numbers  a keyed hash of how many trips have each sampled bag: the same for the same bag and number
    decoys, times, key   what chance makes of the traits, the numbers themselves, and the key; these are not kept
    """

    samples: dict[str, Sample] = field(default_factory=dict)
    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    decoys: dict[str, Sample] = field(default_factory=dict)
    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    key: bytes = b""

    @classmethod
    def counted(cls, samples: dict[str, Sample], decoys: dict[str, Sample], times: Ints, key: bytes) -> Self:
        """The traits of trips of which so many have each sampled bag."""
        words = _keyed("numbers", key, samples["bags"].hashes, times) | np.uint64(1)
        return cls(samples, (words & np.uint64(0xFFFFFFFF)).astype(np.int64), decoys, times, key)

    def payload(self) -> dict[str, Any]:
        samples = {of: sample.text() for of, sample in self.samples.items()}
        return {**samples, "numbers": base64.b64encode(self.numbers.astype("<u4").tobytes()).decode()}

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        try:
            texts = {str(of): text for of, text in payload.items()}
            numbers = np.frombuffer(base64.b64decode(texts.pop("numbers"), validate=True), "<u4")
        except (TypeError, LookupError, AttributeError, ValueError, binascii.Error) as error:
            raise ParameterError(f"these are no traits of a fingerprint: {error}") from error
        samples = {of: Sample.parse(text, TRAIT_SIZE) for of, text in texts.items()}
        found = cls(samples, numbers.astype(np.int64))
        if len(numbers) != len(found.samples["bags"].hashes if "bags" in found.samples else ()):
            raise ParameterError("traits of a fingerprint count each of their bags")
        return found

    def joined(self, other: "Traits") -> "Traits":
        """Of two parts of one dataset that share no trip."""
        if not self.samples or not other.samples:
            return self if self.samples else other
        bags = self.samples["bags"].merged(other.samples["bags"])
        samples = {**_merged(self.samples, other.samples), "bags": bags}
        times = self._at(bags.hashes, self.times) + other._at(bags.hashes, other.times)
        return Traits.counted(samples, _merged(self.decoys, other.decoys), times, self.key)

    def likeness(self, new: "Traits") -> str | None:
        """Say in words which traits of a known dataset a new one has; None if chance would do."""
        if "ids" in self.samples and "ids" in new.samples:
            ids = overlap(self.samples["ids"], new.samples["ids"])
            if ids.common:
                return f"{percent(ids.share)} of the riders of the smaller one are in both"
        for of, said in SAID.items():
            beyond = self._beyond_chance(new, of)
            if beyond is not None and beyond >= BEYOND:
                return f"{percent(beyond)} of the trips of the smaller one {said}, beyond chance"
        equal = self._equal_bags(new)
        if equal is not None and equal >= EQUAL:
            return f"{percent(equal)} of the sets of places are visited by equally many trips of both"
        return None

    def _beyond_chance(self, new: "Traits", of: str) -> float | None:
        if of not in self.samples or of not in new.decoys:
            return None
        known, found = self.samples[of], overlap(self.samples[of], new.samples[of])
        if min(found.known, found.new) < LEAST:
            return None
        chance = overlap(known, new.decoys[of]).share
        return (found.share - chance) / max(1 - chance, 0.05)

    def _equal_bags(self, new: "Traits") -> float | None:
        """Of the bags in either, the share that equally many trips have."""
        if "bags" not in self.samples or "bags" not in new.samples:
            return None
        reach = np.uint64(min(self.samples["bags"].reach, new.samples["bags"].reach))
        every = np.union1d(self.samples["bags"].hashes, new.samples["bags"].hashes)
        every = every[every <= reach]
        if len(every) < LEAST:
            return None
        return float(np.mean(self._at(every, self.numbers) == new._at(every, new.numbers)))

    def _at(self, hashes: Hashes, values: Ints) -> Ints:
        """The values of these bags; 0 where no trip has one."""
        known = self.samples["bags"].hashes
        if len(known) == 0:
            return np.zeros(len(hashes), np.int64)
        at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        return np.where(known[at] == hashes, values[at], 0)


def traits_of(trips: Trips, names: Hashes, riders: pl.Series | None, key: bytes) -> Traits:
    """The traits of trips, whose places have these names, and whose riders have these ids."""
    samples, decoys = {}, {}

    def sample(of: str, words: Hashes, values: Ints) -> Sample:
        return Sample.of(_keyed(of, key, words, values), TRAIT_SIZE)

    bag = hash_bags(trips.location, trips.offsets, names)
    words = _keyed("bags", key, bag, np.zeros(1, np.int64))
    samples["bags"] = Sample.of(words, TRAIT_SIZE)
    times = np.bincount(_places(samples["bags"].hashes, words), minlength=len(samples["bags"].hashes))
    if trips.time is not None and len(bag) and int(trips.time.max()) >= UNDATED:
        earliest = np.minimum.reduceat(trips.time, trips.offsets[:-1][trips.lengths > 0])
        day, minute = earliest // DAY, earliest // MINUTE
        other = _of_others(minute, words)
        for of, parts in (("minutes", DAY // MINUTE), ("zones", QUARTER)):
            samples[of] = sample(of, bag, parts * day + minute % parts)
            decoys[of] = sample(of, bag, parts * day + other % parts)
        nowhere = np.zeros_like(bag)
        samples["clock"], decoys["clock"] = (sample("clock", nowhere, earliest + late) for late in (0, HOUR))
    if riders is not None:
        plain = riders.str.strip_chars().str.to_lowercase().str.strip_chars_start("0")
        samples["ids"] = Sample.of(hash_texts(plain, key_for("ids", key)), TRAIT_SIZE)
    return Traits.counted(samples, decoys, times, key)


def _keyed(of: str, key: bytes, words: Hashes, values: Ints) -> Hashes:
    return keyed_words(np.frombuffer(key_for(of, key), "<u8").astype(np.uint64), words, values)


def _of_others(minute: Ints, words: Hashes) -> Ints:
    """Give every minute to a trip that has nothing to do with it."""
    other = np.empty_like(minute)
    order = np.argsort(words, kind="stable")
    other[order] = np.roll(minute[order], len(order) // 2 + 1)
    return other


def _places(sampled: Hashes, words: Hashes) -> Ints:
    """Where each word stands among the sampled ones; words that are not sampled are left out."""
    if len(sampled) == 0:
        return np.zeros(0, np.int64)
    inside = words[words <= sampled[-1]]
    return np.searchsorted(sampled, inside)


def _merged(one: dict[str, Sample], other: dict[str, Sample]) -> dict[str, Sample]:
    both = {of: one[of].merged(other[of]) for of in one.keys() & other.keys()}
    return {**one, **other, **both}
