"""Promise of a release on the needs that it is for, and what it reached, as far as the law of its noise tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Final

import numpy as np

from wayveil.arrays import Floats
from wayveil.privacy.weights import Scaling
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import Key, Visits
from wayveil.synthesis.model import Model, OfTaps

# Half of all Laplace noise is within this many scales, and 95 % within log(20).
HALF: Final = log(2)
# Half of all normal noise is within this many deviations.
HALF_NORMAL: Final = 0.674
# Questions about taps, by what they count taps by.
_TAPS_BY: Final[dict[str, tuple[Key, ...]]] = {
    "total": (),
    "boardings": ("stop",),
    "hours": ("hour",),
    "stop-hours": ("stop", "hour"),
    "routes": ("route",),
    "route-hours": ("route", "hour"),
}
UNKNOWN: Final = "answered by whole trips: see the verdict"
PART: Final = "asks for a part of the cells: see the interval of the answer"


@dataclass(frozen=True)
class StatedNeed:
    """A need as a datasheet states it: its words, what it asks, how exact it must be, and what was promised.

    `part`: it asks for some hours or for one route of what is counted, which the noise of whole cells does not tell.
    """

    words: str
    question: str
    top: int | None
    within: float
    promised: float | None
    part: bool = False


def reached_needs(
    needs: Sequence[StatedNeed], model: Model, scaling: Scaling | None = None
) -> list[dict[str, Any]]:
    """Rows of a table: the typical error that was needed, promised and reached, of each need."""
    rows = []
    for need in needs:
        error = None if need.part else typical_error(need, model, scaling)
        rows.append(
            {
                "need": need.words,
                "needed": f"{need.within:.1%}",
                "promised": "not asked for" if need.promised is None else f"{need.promised:.1%}",
                "reached": PART if need.part else UNKNOWN if error is None else f"{error:.1%}",
                "met": None if error is None else error <= need.within,
            }
        )
    return rows


def typical_error(need: StatedNeed, model: Model, scaling: Scaling | None = None) -> float | None:
    """Median relative error of the busiest cells as released, by the law of their noise; None where none is known.

    Where numbers were scaled to all rows, `scaling` says how far off that alone makes them.
    """
    found = _of_taps(need, model) if isinstance(model, OfTaps) else _of_trips(need, model)
    if found is None:
        return None
    values, noise = found
    busy = np.argsort(-values, kind="stable")[: need.top or max(int((values > 0).sum()), 1)]
    if scaling is not None and (need.question != "total" or isinstance(model, OfTaps)):
        noise = np.hypot(noise, HALF_NORMAL * scaling.deviation(values))
    return float(np.median(np.minimum(noise[busy] / np.maximum(values[busy], 1.0), 1.0)))


def _of_trips(need: StatedNeed, model: Model) -> tuple[Floats, Floats] | None:
    kind = "departures" if need.question == "hours" else need.question
    known = model.counted(kind) if isinstance(model, CountsCells) else None
    if not isinstance(known, AllCounted):
        return None
    return known.values, np.full(len(known.values), HALF * sqrt(known.variance / 2))


def _of_taps(need: StatedNeed, model: OfTaps) -> tuple[Floats, Floats] | None:
    by = _TAPS_BY.get(need.question)
    known = None if by is None else model.estimate(Visits(by), None)  # type: ignore[attr-defined]
    if known is None or known.low is None or known.high is None:
        return None
    return known.values, (known.high - known.low) / 2 * HALF / log(20)
