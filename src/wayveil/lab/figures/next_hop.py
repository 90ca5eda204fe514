"""How well does a model know where a traveller goes next, given where they are, where to, and when? Internal.

For models that say so (`dp-loc`, `od-hops`): cross-entropy in nats, share of hops whose most likely place was right,
and how many metres it was off, over the hops of raw trips. These figures come from raw trips and are not published.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.figures import Measure, check_not_empty
from wayveil.world.geo import haversine
from wayveil.world.network import Network
from wayveil.world.timebins import HOUR

# What a model is charged for a hop that it takes for impossible.
LEAST_PROBABILITY = 1e-9
PIECE = 1 << 15


class HopModel(Protocol):
    """A model of the next hop."""

    def hops(
        self, here: NDArray[np.int64], to: NDArray[np.int64], hour: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each question, candidates for the next place (-1: none) and their probabilities."""


def hops_of(
    trips: Trips,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
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
    for start in range(0, len(here), PIECE):
        part = slice(start, start + PIECE)
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
