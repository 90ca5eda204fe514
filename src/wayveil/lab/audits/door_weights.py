"""Releases whose riders are bounded by weights, at the front door, and the mistakes that weights invite."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting import counter, tally
from wayveil.counting.counter import Counter
from wayveil.counting.tally import Count
from wayveil.lab.audits.door import FilePair, nothing_broken
from wayveil.lab.audits.door_files import PairWriter, card_more, rider_with_blanks
from wayveil.lab.audits.door_variants import VISITS, DoorVariant
from wayveil.mechanisms import all_rows
from wayveil.privacy import units
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, RiderDay
from wayveil.privacy.weights import PARTS, Size, size_steps, split_weight, weigh
from wayveil.trips.trips import Trips

WEIGHED = Rider(max_trips=2, bounding="weights")


def many_trips(writer: PairWriter) -> FilePair:
    """Write a rider with twenty trips, whom weights bound."""
    return writer.trips("a rider with twenty trips", WEIGHED, [[0, 1, 2]] * 20)


def many_of_a_day(writer: PairWriter) -> FilePair:
    """Write another day of the last rider, with twenty trips."""
    last = len(writer.others) - 1
    unit = RiderDay(max_trips=2, bounding="weights", most_rows=8)
    return writer.trips("a day of twenty trips", unit, [[0, 1, 2]] * 20, rider=last, day=4)


def weighed_card(writer: PairWriter) -> FilePair:
    """Write a card with thirty taps, each of which weighs a fifteenth."""
    return replace(card_more(writer), unit=WEIGHED, said={"rows": "taps", "way": "counts"})


def weighed_in_pieces(writer: PairWriter) -> FilePair:
    """Write a rider whose id is a blank in some rows, for an engine that never holds them all."""
    return replace(rider_with_blanks(writer, engine="stream"), unit=WEIGHED)


def _weighing(weights: Any) -> Any:
    """Patch what trips weigh."""
    return lambda: patch.object(units, "weigh", weights)


def _root_weights(groups: Ints, most: int) -> Ints:
    """Weights that do not add up to the bound: they fall with the root of a rider's trips."""
    return np.sqrt(weigh(groups, most) * PARTS).astype(np.int64)


def _rounded_up(groups: Ints, most: int) -> Ints:
    """Weights of which each is a part too high."""
    return np.minimum(weigh(groups, most) + 1, PARTS)


def _mean_of_all(groups: Ints, most: int) -> Ints:
    """Let a trip weigh what riders have on average, so that one with many changes what others count."""
    own = weigh(groups, most)
    return np.full(len(own), int(own.mean()) if len(own) else 0)


def _bound_from_rows() -> AbstractContextManager[Any]:
    """Weigh by the bound that the busiest rider needs, under noise for the public one."""
    honest = Rider._weighed

    def weighed(self: Rider, trips: Trips) -> Trips:
        busiest = int(np.bincount(self.groups(trips) + 1)[1:].max(initial=1))
        return honest(replace(self, max_trips=busiest), trips)

    return patch.object(Rider, "_weighed", weighed)


def _factor_from_rows() -> AbstractContextManager[Any]:
    """Multiply answers by how many rows the weights really stand for."""
    honest = all_rows.scale_to_all_rows

    def scaled(counter: Counter, gate: Gate, *given: Any) -> None:
        honest(counter, gate, *given)
        assert isinstance(gate.unit, Rider)
        steps = size_steps(gate.unit.max_trips, gate.unit.most_rows)
        exact = counter.weight_steps(steps)
        gate.size = Size(tuple(np.bincount(exact.keys, exact.counts / PARTS, len(steps))), steps, 1.0)

    return patch.object(all_rows, "scale_to_all_rows", scaled)


def _whole_rows_in_steps() -> AbstractContextManager[Any]:
    """Count every trip whole in the number of all of them, whatever its weight."""

    def whole(steps: Sequence[int]) -> Count:
        cells = len(steps)
        return Count(cells, lambda trips: (np.arange(cells), np.full(cells, len(trips) * PARTS)))

    return patch.object(counter, "count_weight_steps", whole)


def _weights_at_both_steps() -> AbstractContextManager[Any]:
    """Put the whole weight of a trip at both steps that its unit is between."""

    def both(weight: int, steps: Sequence[int]) -> list[int]:
        return [weight if part else 0 for part in split_weight(weight, steps)]

    return patch.object(tally, "split_weight", both)


SOUND_WEIGHTS = (
    DoorVariant("weights", nothing_broken, many_trips),
    DoorVariant("weights of a day", nothing_broken, many_of_a_day),
    DoorVariant("weights of taps", nothing_broken, weighed_card, VISITS),
    DoorVariant("weights in pieces", nothing_broken, weighed_in_pieces),
)
WEIGHT_VARIANTS = (
    DoorVariant("weights that do not add up", _weighing(_root_weights), many_trips),
    DoorVariant("weights that are rounded up", _weighing(_rounded_up), many_trips),
    DoorVariant("weights from the rows of others", _weighing(_mean_of_all), many_trips),
    DoorVariant("weights by the busiest rider's bound", _bound_from_rows, many_trips),
    DoorVariant("numbers scaled by true totals", _factor_from_rows, many_trips),
    DoorVariant("whole rows in the number of all rows", _whole_rows_in_steps, many_trips),
    DoorVariant("weights at both steps", _weights_at_both_steps, many_trips),
)
