"""Fingerprint of a dataset, told by keyed hashes: the same people are found again under any name of the file.

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
`Overlap.blind_spot`. What stays of a dataset in disguise are its `traits`; which disguises are seen through is tried by
`wayveil.lab.audits.disguises`, whose table stands in docs/ledger.md.

What it tells. Without the key nothing: hashes are SipHash-2-4 and BLAKE2b under a random key of 256 bits. Whoever has
the whole ledger has the key, and can test whether a rider that they can name is among the sampled ones. A ledger is
therefore as internal as the raw data, although it holds no row of them.
"""

from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Self

import numpy as np

from wayveil.errors import ParameterError
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.lines import LedgerError
from wayveil.privacy.ledger.samples import (
    Hashes,
    Overlap,
    Sample,
    hash_name,
    hash_texts,
    hash_trips,
    key_for,
    overlap,
    percent,
    sip_hash,
)
from wayveil.privacy.ledger.traits import Traits, traits_of
from wayveil.trips.trips import UNDATED, Trips
from wayveil.world.world import World

DAY, EPOCH = 86_400, date(1970, 1, 1)
KEY_BYTES = 32
# From which share of the smaller dataset on trips (not riders) are taken for the same. Two people on the same bus may
# have the same stops and times, and many people the same stops.
TIMED_SHARE, PLACES_SHARE = 0.05, 0.5
# What makes a dataset what it is, the best first.
_TELLING = ("points", "moves", "timed", "places")


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """One dataset: totals and samples, by what they are of (`places`, `timed`, `riders`), and traits.

    `days` are the first and the last day on which a trip begins; None where trips have no dates.
    """

    totals: dict[str, str]
    samples: dict[str, Sample]
    days: Days | None = None
    traits: Traits = field(default_factory=Traits)

    @cached_property
    def name(self) -> str:
        """Return what tells this content from any other."""
        return next(self.totals[of] for of in _TELLING if of in self.totals)

    def payload(self) -> dict[str, Any]:
        samples = {of: sample.text() for of, sample in self.samples.items()}
        dated = {} if self.days is None else {"days": str(self.days)}
        traits = {"traits": self.traits.payload()} if self.traits.samples else {}
        return {"totals": self.totals, "samples": samples, **dated, **traits}

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        try:
            totals = {str(of): str(total) for of, total in payload["totals"].items()}
            samples = {str(of): Sample.parse(text) for of, text in payload["samples"].items()}
            days = Days.parse(payload["days"]) if "days" in payload else None
            traits = Traits.from_payload(payload["traits"]) if "traits" in payload else Traits()
        except (TypeError, LookupError, AttributeError) as error:
            raise ParameterError(f"this is not a fingerprint: {error}") from error
        if "places" not in totals or "places" not in samples:
            raise ParameterError("a fingerprint has at least the places of the trips")
        return cls(totals, samples, days, traits)

    def joined(self, other: "Fingerprint") -> "Fingerprint":
        """Of two parts of one dataset that share no trip: totals add up."""
        totals = {of: add_totals(total, other.totals[of]) for of, total in self.totals.items()}
        samples = dict(self.samples)
        for of, sample in other.samples.items():
            samples[of] = samples[of].merged(sample) if of in samples else sample
        known = [each for each in (self.days, other.days) if each is not None]
        days = Days(min(each.first for each in known), max(each.last for each in known)) if known else None
        return Fingerprint(totals, samples, days, self.traits.joined(other.traits))

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
        """Say in words why the new dataset has people of this one; None if nothing shows it."""
        return self._in_common(new) or self.traits.likeness(new.traits)

    def _in_common(self, new: "Fingerprint") -> str | None:
        riders = self._compared(new, "riders")
        if riders is not None and riders.common:
            return f"{percent(riders.share)} of the riders of the smaller one are in both"
        points, moves = self._compared(new, "points"), self._compared(new, "moves")
        if points is not None and points.share >= TIMED_SHARE:
            return f"{percent(points.share)} of the points of the smaller one are in both"
        if moves is not None:
            if moves.share >= PLACES_SHARE:
                return f"{percent(moves.share)} of the moves of the smaller one are in both"
            return None
        trips = self._compared(new, "timed")
        if trips is not None:
            if trips.share >= TIMED_SHARE:
                return f"{percent(trips.share)} of the timed trips of the smaller one are in both"
            return None
        # Many people make the same trips: without times only a large share says something, and ids say it better.
        places = self._compared(new, "places") if riders is None else None
        if places is not None and places.share >= PLACES_SHARE:
            return f"{percent(places.share)} of the different trips of the smaller one are in both"
        return None

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
        self._names = np.array([hash_name(str(name), key) for name in world.ids.tolist()], np.uint64)

    def of(self, trips: Trips) -> Fingerprint:
        """The fingerprint of these trips."""
        totals, samples = {}, {}
        kinds = {"places": None} | ({} if trips.time is None else {"timed": trips.time})
        known = {
            of: hash_trips(trips.location, trips.offsets, self._names, time) for of, time in kinds.items()
        }
        riders = None
        if trips.rider is not None and trips.rider_ids is not None:
            riders = trips.rider_ids.gather(np.flatnonzero(np.bincount(trips.rider[trips.rider >= 0])))
        if trips.source is not None:
            known |= {"moves": trips.source.moves}
            known |= {} if trips.source.points is None else {"points": trips.source.points}
            riders = trips.source.owners
        for of, identity in known.items():
            words = sip_hash(identity, key_for(of, self._key))
            totals[of] = f"{sum_words(words):016x}{sum_words(words ^ (words >> np.uint64(29))):016x}"
            samples[of] = Sample.of(words)
        if riders is not None:
            samples["riders"] = Sample.of(hash_texts(riders, key_for("riders", self._key)))
        return Fingerprint(totals, samples, own_days(trips), traits_of(trips, self._names, riders, self._key))


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


def sum_words(words: Hashes) -> int:
    return int(words.sum(dtype=np.uint64))


def add_totals(one: str, other: str) -> str:
    """Two totals of two words each, word by word."""
    words = [int(one[i : i + 16], 16) + int(other[i : i + 16], 16) for i in (0, 16)]
    return "".join(f"{word % (1 << 64):016x}" for word in words)
