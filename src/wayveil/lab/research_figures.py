"""Figures of merit that only studies and benches use.

How well does the autoencoder of the DP-Loc study know where trips begin and end, and when? Internal.

The figure comes from raw trips and is not published.

How well does a model know where a traveller goes next, given where they are, where to, and when? Internal.

For models that say so (`dp-loc`, `od-hops`): cross-entropy in nats, share of hops whose most likely place was right,
and how many metres it was off, over the hops of raw trips. These figures come from raw trips and are not published.
"""

from typing import Literal, Protocol

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.figures import Measure, check_comparable, check_not_empty
from wayveil.utility.origin_destination import MOST_PAIRS, OriginDestinationDistance, od_pairs
from wayveil.utility.stop_figures import jensen_shannon, length_histogram
from wayveil.world.geo import haversine
from wayveil.world.network import Network
from wayveil.world.timebins import HOUR, TimeBins

HourOf = Literal["start", "majority"]


def hours_of(trips: Trips, which: HourOf = "start") -> Ints:
    """The hour of day of each trip with a visit: in which it sets out, or in which most of it was."""
    if which not in ("start", "majority"):
        raise ParameterError(f"the hour of a trip is that of its 'start' or the 'majority', not {which!r}")
    if trips.time is None:
        raise ParameterError("these trips carry no times")
    filled = np.flatnonzero(trips.lengths > 0)
    start = trips.time[trips.offsets[filled]]
    if which == "start":
        return TimeBins.hour_of_day().bin_of(start).astype(np.int64)
    end = trips.time[trips.offsets[filled + 1] - 1]
    first, last = start // HOUR, end // HOUR
    before, after = (first + 1) * HOUR - start, end - last * HOUR
    hour = np.where((first == last) | ((last == first + 1) & (before >= after)), first, last)
    return np.where(last > first + 1, first + 1, hour) % 24


def hour_curves(
    raw: Trips,
    private: Trips,
    *,
    hour: HourOf = "start",
    most_pairs: int = MOST_PAIRS,
    seed: int = 0,
    ends: bool = True,
) -> pl.DataFrame:
    """One row per hour with raw trips: JSD of stops per trip (bits) and earth mover's distance of both ends (metres).

    An hour in which the release has no trip shares nothing with the raw one and is as far off as the world is wide.
    Releases without times have one curve for all hours, as the DP-Loc study drew them. Without `ends` there is no
    distance of ends, which needs an optional package.
    """
    check_not_empty(raw)
    check_comparable(raw, private)
    own = hours_of(raw, hour)
    timed = private.time is not None
    their = hours_of(private, hour) if timed else None
    distance = OriginDestinationDistance(raw, most_pairs=most_pairs, seed=seed)
    pairs, other = od_pairs(raw), od_pairs(private)
    filled, released = raw.take(raw.lengths > 0), private.take(private.lengths > 0)
    rows = []
    for one in np.unique(own).tolist():
        mine = own == one
        seen = np.ones(len(other), bool) if their is None else their == one
        lengths = length_histogram(released.take(seen)) if seen.any() else np.zeros(1, np.int64)
        rows.append(
            {
                "hour": one,
                "raw trips": int(mine.sum()),
                "length_jsd": jensen_shannon(length_histogram(filled.take(mine)), lengths),
                "od_emd": distance.distance(pairs[mine], other[seen])[0] if ends else None,
            }
        )
    return pl.DataFrame(rows)


TRIPS_AT_ONCE = 1_000


class EndsModel(Protocol):
    """A model that says what ends and an hour cost."""

    def ends_loss(self, origin: Ints, destination: Ints, hour: Ints) -> Floats:
        """In nats, of every trip."""


def ends_loss(raw: Trips, model: EndsModel, *, most: int = 20_000, seed: int = 0) -> Measure:
    """The mean over timed raw trips, or over a sample of `most` of them."""
    check_not_empty(raw)
    raw = raw.take(raw.lengths > 0)
    if len(raw) > most:
        raw = raw.take(np.sort(np.random.default_rng(seed).choice(len(raw), most, replace=False)))
    ends = (raw.origins().astype(np.int64), raw.destinations().astype(np.int64), hours_of(raw))
    pieces = [slice(start, start + TRIPS_AT_ONCE) for start in range(0, len(raw), TRIPS_AT_ONCE)]
    total = sum(float(model.ends_loss(*(one[piece] for one in ends)).sum()) for piece in pieces)
    return Measure("ends/loss", "loss of origin, destination and hour (nats)", total / len(raw))


# What a model is charged for a hop that it takes for impossible.
LEAST_PROBABILITY = 1e-9
HOPS_AT_ONCE = 1 << 15


class HopModel(Protocol):
    """A model of the next hop."""

    def hops(self, here: Ints, to: Ints, hour: Ints) -> tuple[Ints, Floats]:
        """For each question, candidates for the next place (-1: none) and their probabilities."""


def hops_of(trips: Trips) -> tuple[Ints, Ints, Ints, Ints]:
    """Every hop of every trip: here, next, the destination of the trip, and the hour of day of its start."""
    into = np.ones(trips.visits, bool)
    into[trips.offsets[:-1][trips.offsets[:-1] < trips.visits]] = False
    at = np.flatnonzero(into)
    trip = trips.trip_of_visit()[at]
    hour = np.zeros(len(trips), np.int64)
    if trips.time is not None and trips.visits:
        hour = trips.time[np.minimum(trips.offsets[:-1], trips.visits - 1)] // HOUR % 24
    place = trips.location.astype(np.int64)
    return place[at - 1], place[at], trips.destinations().astype(np.int64)[trip], hour[trip]


def next_hop_figures(raw: Trips, model: HopModel, *, most: int = 200_000, seed: int = 0) -> list[Measure]:
    """Loss, accuracy and metres over the hops of raw trips, or over a sample of `most` of them."""
    check_not_empty(raw)
    network = raw.world
    if not isinstance(network, Network):
        raise ParameterError("next hops are measured in metres; this world is a plain list")
    here, then, to, hour = hops_of(raw)
    if len(here) == 0:
        raise ParameterError("there is no hop in these trips")
    if len(here) > most:
        chosen = np.sort(np.random.default_rng(seed).choice(len(here), most, replace=False))
        here, then, to, hour = here[chosen], then[chosen], to[chosen], hour[chosen]
    loss, right, metres = 0.0, 0, 0.0
    for start in range(0, len(here), HOPS_AT_ONCE):
        part = slice(start, start + HOPS_AT_ONCE)
        places, chance = model.hops(here[part], to[part], hour[part])
        chance = np.where(places >= 0, chance, 0.0)
        true = np.where(places == then[part, None], chance, 0.0).sum(axis=1)
        loss -= float(np.log(np.maximum(true, LEAST_PROBABILITY)).sum())
        best = places[np.arange(len(places)), np.argmax(chance, axis=1)]
        right += int((best == then[part]).sum())
        goal = then[part]
        away = haversine(network.lat[best], network.lon[best], network.lat[goal], network.lon[goal])
        metres += float(away.sum())
    count = len(here)
    return [
        Measure("next_hop/loss", "cross-entropy of the next hop (nats)", loss / count),
        Measure("next_hop/accuracy", "next hop right", right / count, "higher"),
        Measure("next_hop/metres", "metres between the likeliest and the true next hop", metres / count),
    ]
