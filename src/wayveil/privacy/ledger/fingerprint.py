"""What is in a dataset, told by keyed hashes: the same people are found again under any name of the file.

A fingerprint has totals and samples, all made with a secret key that stays with the ledger.

totals   the sum of the hashes of all trips: the same whatever the order of rows and the format of the file. One is over
         the places of trips alone, one over places and times.
         Where trips were made of GPS points, one is over the points, and one over their moves (`SourcePoints`), so that
         they are the same on any grid.
samples  the `SIZE` smallest hashes of all distinct trips (points, moves), and of all distinct rider ids where the
         reader kept them; for points these are all `uid`s, whether or not they are protected. Whether a hash is small
         has nothing to do with the trip or rider behind it, so of two datasets the same trips and riders are sampled,
         and the samples show how much the datasets overlap (a bottom-k sketch).

How sure it is. Below the smaller of the two largest sampled hashes both samples are complete; say that n hashes of one
dataset lie there. If a share s of its riders is also in the other dataset, none of them shows with probability
(1 - s)^n: with n = 2048 an overlap of 0.4 % is seen with probability 0.999, with n = 20 one of 30 %. That number is
`Overlap.blind_spot`. What it cannot see: riders whose ids *and* times *and* places were all changed.

What it tells. Without the key nothing: hashes are SipHash-2-4 and BLAKE2b under a random key of 256 bits. Whoever has
the whole ledger has the key, and can test whether a rider that they can name is among the sampled ones. A ledger is
therefore as internal as the raw data, although it holds no row of them.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.lines import LedgerError
from wayveil.trips.trips import UNDATED, Trips
from wayveil.world.world import World

Hashes = NDArray[np.uint64]

DAY, EPOCH = 86_400, date(1970, 1, 1)
SIZE = 2048
KEY_BYTES = 32
# From which share of the smaller dataset on trips (not riders) are taken for the same. Two people on the same bus may
# have the same stops and times, and many people the same stops.
TIMED_SHARE, PLACES_SHARE = 0.05, 0.5
# What makes a dataset what it is, the best first.
_TELLING = ("points", "moves", "timed", "places")
CERTAINTY = 0.999


@dataclass(frozen=True, eq=False)
class Sample:
    """The smallest keyed hashes of the distinct things in a dataset, ascending; all of them if fewer than `SIZE`."""

    hashes: Hashes

    @classmethod
    def of(cls, hashes: Hashes) -> Self:
        few = hashes
        if len(hashes) > 64 * SIZE:  # no need to sort a million for two thousand, unless they repeat
            few = np.partition(hashes, 32 * SIZE)[: 32 * SIZE]
        distinct = _distinct(few)
        return cls((distinct if len(distinct) >= SIZE else _distinct(hashes))[:SIZE])

    @property
    def reach(self) -> int:
        """Up to here every hash of the dataset is in the sample."""
        return int(self.hashes[-1]) if len(self.hashes) == SIZE else (1 << 64) - 1

    def merged(self, other: "Sample") -> "Sample":
        """The sample of both datasets together."""
        return Sample(np.union1d(self.hashes, other.hashes)[:SIZE])

    def text(self) -> str:
        return base64.b64encode(self.hashes.astype("<u8").tobytes()).decode()

    @classmethod
    def parse(cls, text: Any) -> Self:
        try:
            hashes = np.frombuffer(base64.b64decode(text, validate=True), "<u8").astype(np.uint64)
        except (TypeError, ValueError, binascii.Error) as error:
            raise ParameterError(f"a sample of hashes cannot be read ({error})") from error
        if len(hashes) > SIZE or np.any(hashes[1:] <= hashes[:-1]):
            raise ParameterError("a sample of hashes is ascending and has no more than its size")
        return cls(hashes)


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


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """One dataset: totals and samples, by what they are of (`places`, `timed`, `riders`).

    `days` are the first and the last day on which a trip begins; None where trips have no dates.
    """

    totals: dict[str, str]
    samples: dict[str, Sample]
    days: Days | None = None

    @cached_property
    def name(self) -> str:
        """What tells this content from any other."""
        return next(self.totals[of] for of in _TELLING if of in self.totals)

    def payload(self) -> dict[str, Any]:
        samples = {of: sample.text() for of, sample in self.samples.items()}
        dated = {} if self.days is None else {"days": str(self.days)}
        return {"totals": self.totals, "samples": samples, **dated}

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        try:
            totals = {str(of): str(total) for of, total in payload["totals"].items()}
            samples = {str(of): Sample.parse(text) for of, text in payload["samples"].items()}
            days = Days.parse(payload["days"]) if "days" in payload else None
        except (TypeError, LookupError, AttributeError) as error:
            raise ParameterError(f"this is not a fingerprint: {error}") from error
        if "places" not in totals or "places" not in samples:
            raise ParameterError("a fingerprint has at least the places of the trips")
        return cls(totals, samples, days)

    def merged(self, other: "Fingerprint") -> "Fingerprint":
        """Samples of both together. The totals stay those of the first: they are kept apart, one for each content."""
        samples = dict(self.samples)
        for of, sample in other.samples.items():
            samples[of] = samples[of].merged(sample) if of in samples else sample
        known = [each for each in (self.days, other.days) if each is not None]
        days = Days(min(each.first for each in known), max(each.last for each in known)) if known else None
        return Fingerprint(self.totals, samples, days)

    def joined(self, other: "Fingerprint") -> "Fingerprint":
        """Of two parts of one dataset that share no trip: totals add up."""
        totals = {of: _added(total, other.totals[of]) for of, total in self.totals.items()}
        return replace(self.merged(other), totals=totals)

    def require_days(self, days: Days) -> None:
        """Refuse to take these rows for rows of some days: their own times must say so."""
        if self.days is None:
            raise LedgerError(
                f"these rows have no dates, so that nobody can hold them against {days}. Nothing was spent"
            )
        if not days.covers(self.days):
            raise LedgerError(
                f"these rows are said to be of {days}, and their own times of {self.days}: state their days, or leave "
                "rows of other days out by a rule per row. Nothing was spent"
            )

    def likeness(self, new: "Fingerprint") -> str | None:
        """In words, why the new dataset has people of this one; None if nothing shows it."""
        riders = self._compared(new, "riders")
        if riders is not None and riders.common:
            return f"{_percent(riders.share)} of the riders of the smaller one are in both"
        points, moves = self._compared(new, "points"), self._compared(new, "moves")
        if points is not None and points.share >= TIMED_SHARE:
            return f"{_percent(points.share)} of the points of the smaller one are in both"
        if moves is not None:
            if moves.share >= PLACES_SHARE:
                return f"{_percent(moves.share)} of the moves of the smaller one are in both"
            return None
        trips = self._compared(new, "timed")
        if trips is not None:
            if trips.share >= TIMED_SHARE:
                return f"{_percent(trips.share)} of the timed trips of the smaller one are in both"
            return None
        # Many people make the same trips: without times only a large share says something, and ids say it better.
        places = self._compared(new, "places") if riders is None else None
        if places is not None and places.share >= PLACES_SHARE:
            return f"{_percent(places.share)} of the different trips of the smaller one are in both"
        return None

    def blind_spot(self, new: "Fingerprint") -> float:
        """The largest share of the new dataset that could be in this one unseen (with probability 0.999)."""
        each = (self._compared(new, of) for of in ("riders", "points", "timed"))
        compared = next((found for found in each if found is not None), None)
        return 1.0 if compared is None else compared.blind_spot

    def _compared(self, new: "Fingerprint", of: str) -> Overlap | None:
        if of not in self.samples or of not in new.samples:
            return None
        return overlap(self.samples[of], new.samples[of])


def fingerprint(trips: Trips, key: bytes) -> Fingerprint:
    """The fingerprint of trips under this key; about a second for a million trips with as many riders."""
    return Fingerprinter(trips.world, key).of(trips)


class Fingerprinter:
    """Makes fingerprints of trips over one world under one key; also of a dataset in parts (`Fingerprint.joined`)."""

    def __init__(self, world: World, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ParameterError(f"the key of fingerprints has {KEY_BYTES} bytes")
        self._key = key
        self._names = np.array([_word(str(name), key) for name in world.ids.tolist()], np.uint64)

    def of(self, trips: Trips) -> Fingerprint:
        """The fingerprint of these trips."""
        totals, samples = {}, {}
        kinds = {"places": None} | ({} if trips.time is None else {"timed": trips.time})
        known = {
            of: _identities(trips.location, trips.offsets, self._names, time) for of, time in kinds.items()
        }
        riders = None
        if trips.rider is not None and trips.rider_ids is not None:
            riders = trips.rider_ids.gather(np.flatnonzero(np.bincount(trips.rider[trips.rider >= 0])))
        if trips.source is not None:
            known |= {"moves": trips.source.moves}
            known |= {} if trips.source.points is None else {"points": trips.source.points}
            riders = trips.source.owners
        for of, identity in known.items():
            words = sip_hash(identity, _key_for(of, self._key))
            totals[of] = f"{_sum(words):016x}{_sum(words ^ (words >> np.uint64(29))):016x}"
            samples[of] = Sample.of(words)
        if riders is not None:
            samples["riders"] = Sample.of(_texts(riders, _key_for("riders", self._key)))
        return Fingerprint(totals, samples, own_days(trips))


def own_days(trips: Trips) -> Days | None:
    """The first and the last day on which a trip begins, by its own clock; None where trips have no dates."""
    begun = trips.offsets[:-1][trips.lengths > 0]
    if trips.time is None or len(begun) == 0 or int(trips.time[begun].max()) < UNDATED:
        return None
    first, last = (int(moment) // DAY for moment in (trips.time[begun].min(), trips.time[begun].max()))
    try:
        return Days(EPOCH + timedelta(days=first), EPOCH + timedelta(days=last))
    except OverflowError:
        return None


def sip_hash(values: Hashes, key: bytes) -> Hashes:
    """SipHash-2-4 of each 64-bit value under a key of 16 bytes."""
    k0, k1 = (np.uint64(int.from_bytes(part, "little")) for part in (key[:8], key[8:]))
    start = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    v = [np.full(len(values), np.uint64(c) ^ k) for c, k in zip(start, (k0, k1, k0, k1), strict=True)]
    for block in (values, np.full(1, np.uint64(8 << 56))):
        v[3] ^= block
        _rounds(v, 2)
        v[0] ^= block
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _rounds(v: list[Hashes], times: int) -> None:
    for _ in range(times):
        for a, b, turn in ((0, 1, 13), (2, 3, 16)):
            v[a] += v[b]
            v[b] = _turned(v[b], turn) ^ v[a]
        v[0] = _turned(v[0], 32)
        for a, b, turn in ((2, 1, 17), (0, 3, 21)):
            v[a] += v[b]
            v[b] = _turned(v[b], turn) ^ v[a]
        v[2] = _turned(v[2], 32)


def _turned(words: Hashes, by: int) -> Hashes:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _texts(texts: pl.Series, key: bytes) -> Hashes:
    """A keyed hash of each text, from their bytes side by side: millions in a second."""
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    letters = np.frombuffer("".join(texts.to_list()).encode(), np.uint8)
    ends = np.cumsum(lengths)
    salt = np.uint64(int.from_bytes(key[:8], "little"))
    return sip_hash(_letters(letters, ends - lengths, ends, salt), key)


def _key_for(of: str, key: bytes) -> bytes:
    """A key of its own for every kind of thing."""
    return hashlib.blake2b(of.encode(), key=key, digest_size=16).digest()


def _word(text: str, key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), key=key, digest_size=8).digest(), "little")


def _distinct(words: Hashes) -> Hashes:
    """Ascending, without repeats; quicker than a hash table for words that rarely repeat."""
    ordered = np.sort(words)
    return ordered[np.concatenate([ordered[1:] != ordered[:-1], [True]])] if len(ordered) else ordered


def _sum(words: Hashes) -> int:
    return int(words.sum(dtype=np.uint64))


def _added(one: str, other: str) -> str:
    """Two totals of two words each, word by word."""
    words = [int(one[i : i + 16], 16) + int(other[i : i + 16], 16) for i in (0, 16)]
    return "".join(f"{word % (1 << 64):016x}" for word in words)


def _percent(share: float) -> str:
    return f"about {share:.0%}" if share >= 0.01 else "less than 1 %"


def _identities(
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
