"""Answers that the plain Laplace mechanism would have for the same epsilon if it spent all of it on one question."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wayveil.accuracy.replicas import unit_of
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.noise import laplace_interval
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.released.released_trips import Datasheet

OF_VISITS = (Event.name, Points.name, Window.name)  # units that bound visits, whatever trips they are in
PLAIN_VISITS = 20  # visits of a trip that the plain mechanism counts where the unit is a trip or rider


def plain_half_width(datasheet: Datasheet) -> int | None:
    """95 % of the noise of the plain mechanism.

    Known from its law without any data, so it may be published; None where the price is not in epsilon.
    """
    epsilon = datasheet["guarantee"].get("epsilon")
    if epsilon is None:
        return None
    unit, cap = plain_unit(datasheet, with_riders=True)
    return laplace_interval(unit.sensitivity(_contribution(cap)).l1 / Fraction(epsilon), 0.95)


def plain_answer(
    datasheet: Datasheet, unit: Unit, cap: int | None, counts: NDArray[np.float64], bits: Bits | None
) -> NDArray[np.int64]:
    """Counts with the noise of all of epsilon on this one question."""
    gate = Gate(unit, Budget(Fraction(datasheet["guarantee"]["epsilon"])), bits)
    exact = SparseCounts.dense(counts.astype(np.int64))
    noisy = gate.histogram("plain", exact, _contribution(cap), gate.budget.remaining)
    return np.maximum(noisy.counts, 0)


def plain_unit(datasheet: Datasheet, *, with_riders: bool) -> tuple[Unit, int | None]:
    """The unit of the release, and the visits of a trip that the plain mechanism counts (None: all)."""
    guarantee = datasheet["guarantee"]
    if guarantee["unit"] in OF_VISITS:
        unit = unit_of(datasheet)
        return (
            replace(unit, without_id="own") if isinstance(unit, Window) and not with_riders else unit
        ), None
    settings = datasheet["mechanism"]["parameters"]
    cap = int(settings.get("height") or settings.get("max_visits") or PLAIN_VISITS)
    if guarantee["unit"] == "trip" or not with_riders:
        return Trip(), cap
    kind = RiderDay if guarantee["unit"] == "rider-day" else Rider
    bounds = guarantee["bounds"]
    return kind(max_trips=int(bounds["max_trips"]), without_id=bounds.get("without_id", "own")), cap


def _contribution(cap: int | None) -> Contribution:
    return Contribution(per_trip=cap, per_visit=1 if cap is None else None)
