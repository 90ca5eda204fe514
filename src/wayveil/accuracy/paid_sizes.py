"""Numbers that a mechanism asked for by themselves: the law of their noise tells how far off they are."""

from collections.abc import Sequence
from math import hypot, log, sqrt

import numpy as np

from wayveil.accuracy.bands import Bands
from wayveil.accuracy.posterior import MEAN_IN_HALF
from wayveil.accuracy.sized import Sized
from wayveil.released.released_trips import ReleasedTrips
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import Estimate
from wayveil.synthesis.model import ExpectedError, KnowsSize
from wayveil.synthesis.noise_sums import NORMAL_95


def paid_size(release: ReleasedTrips) -> Sized | None:
    """The release beside its size, where that was paid for."""
    model, trips = release.model, release.trips
    if not isinstance(model, KnowsSize) or model.size is None:
        return None
    noise = {
        kind: _mean_in_half(release) * (_paid_half(release, f"number of {what}") or 0.0) / whole
        for kind, what, whole in (
            ("total", "trips", model.size.trips),
            ("visits", "visits", model.size.visits),
        )
    }
    continued = getattr(model, "continued", 0.0)
    return Sized(model.size, float(len(trips)), float(trips.visits), model.thinned, continued, noise)


def _paid_half(release: ReleasedTrips, label: str) -> float | None:
    """Half of the 95 % interval of a number that was asked for by itself; None if it was not."""
    size = release.datasheet.get("size")
    if size and label == "number of trips" and isinstance(release.model, CountsCells):
        counted = release.model.counted("total")
        if getattr(counted, "of_rows", False):
            return float(size["rows_95"])
    for spend in release.datasheet["spends"]:
        if spend["label"] == label and "error_95" in spend:
            return float(spend["error_95"]) + 1
    return None


def paid_numbers(release: ReleasedTrips) -> dict[str, Estimate]:
    """Numbers of trips (`total`) and of `visits` that were bought, each by itself, with the law of their noise."""
    found: dict[str, Estimate] = {}
    model = release.model
    if "rewritten_by" in release.datasheet:
        return found
    scaled = float((release.datasheet.get("size") or {}).get("relative_error", 0.0))
    size = model.size if isinstance(model, KnowsSize) else None
    if size is not None:
        for kind, what, value in (("total", "trips", size.trips), ("visits", "visits", size.visits)):
            half = _paid_half(release, f"number of {what}")
            if half is not None:
                # All counts were scaled by one factor, which has an error of its own.
                half = hypot(half, NORMAL_95 * scaled * value)
                found[kind] = Estimate.within(np.array([value]), np.array([half]))
    counted = model.counted("total") if isinstance(model, CountsCells) else None
    if isinstance(counted, AllCounted) and "total" not in found:
        low, high = counted.ends(np.zeros(1, np.int64))
        more = 0.0 if counted.of_rows else NORMAL_95 * scaled * float(counted.values[0])
        found["total"] = Estimate(
            np.maximum(counted.values[:1], 0.0), np.maximum(low - more, 0.0), high + more
        )
    return found


def paid_total(release: ReleasedTrips) -> Bands | None:
    """The interval of a number of trips that was asked for by itself: the law of its noise; None if it was not."""
    known, half = paid_size(release), _paid_half(release, "number of trips")
    if half is None:
        return None
    count = float(len(release.trips))
    # A tree shows fewer trips than were paid for, as it lost some: the interval is about all of them.
    beyond = 0.0 if known is None else known.size.trips - count
    low, high = (np.array([side / sqrt(count + 1)]) for side in (beyond - half, beyond + half))
    return Bands(np.array([count]), low, high, None)


def held_by_law(release: ReleasedTrips) -> frozenset[str]:
    """Kinds whose intervals hold by the law of the noise, whatever a replica lost."""
    return frozenset() if paid_size(release) is None else frozenset({"total"})


def paid_error(release: ReleasedTrips, expected: Sequence[ExpectedError] | None) -> float | None:
    """Mean error of a number of trips that was asked for by itself, as a share; None if it was not."""
    known = next((error.relative for error in expected or () if error.kind == "total"), None)
    if known is not None:
        return known
    paid = paid_total(release)
    return (
        None if paid is None else _mean_in_half(release) * float(paid.high[0]) / sqrt(len(release.trips) + 1)
    )


def _mean_in_half(release: ReleasedTrips) -> float:
    """Return the mean of the absolute noise of one number in halves of its 95 % interval: Laplace, or normal in rho."""
    return MEAN_IN_HALF if "rho" in release.datasheet["guarantee"] else 1 / log(20)
