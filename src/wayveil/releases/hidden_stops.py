"""Sensitive stops in a release: merged into their surroundings, or protected with an epsilon of their own."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.thinning import keep_chance, thin
from wayveil.privacy.units import Event, Rider, RiderDay, Unit
from wayveil.releases.hold import Price
from wayveil.taps.sensitive import SensitiveStops
from wayveil.taps.taps import Taps

MERGED: Final = (
    "{count} sensitive stops of a public list were merged into their surroundings before anything was counted: whether "
    "somebody tapped at one of them or at the stop it was merged into changes nothing in this release."
)
THINNED: Final = (
    "What one {unit} did at {count} sensitive stops of a public list is protected with epsilon {epsilon} instead of "
    "that of the release: all of it was counted with a chance of {chance:.4g}, or none. Numbers at these stops are of "
    "what was counted; divided by the chance they are right on average."
)


@dataclass(frozen=True, eq=False)
class Hidden:
    """Record of hidden stops, for the datasheet."""

    stops: SensitiveStops
    sentence: str
    chance: float | None = None


def hide_stops(
    taps: Taps,
    stops: SensitiveStops,
    stronger: Rational | None,
    unit: Unit,
    price: Price,
    bits: Bits | None,
) -> tuple[Taps, Hidden]:
    """The taps as they may be counted, and what to say of it."""
    if stronger is None:
        return stops.merged(taps), Hidden(stops, MERGED.format(count=len(stops.stop)))
    if price.currency != "epsilon" or price.delta is not None:
        raise ParameterError("a stronger epsilon for some stops is known for pure epsilon only")
    units, distance = _coins(taps, unit)
    chance = keep_chance(float(exact(stronger, "sensitive epsilon")), distance * float(price.epsilon))
    there = stops.at(taps)
    kept = ~there | thin(units, chance, bits)
    said = THINNED.format(unit=unit.name, count=len(stops.stop), epsilon=stronger, chance=chance)
    return taps.take(kept), Hidden(stops, said, chance)


def _coins(taps: Taps, unit: Unit) -> tuple[Any, int]:
    """Whose coin decides on each tap, and how many epsilon apart the two sides of the coin are."""
    if isinstance(unit, Event):
        return np.full(len(taps), -1), 1
    if not isinstance(unit, Rider) or taps.card is None:
        raise ParameterError(
            "a stronger epsilon for some stops is known for the units event, rider and rider-day"
        )
    if isinstance(unit, RiderDay):
        _, pair = np.unique(np.stack([taps.card, taps.day]), axis=1, return_inverse=True)
        return np.where(taps.card < 0, -1, pair.ravel()), 2
    return taps.card, 2
