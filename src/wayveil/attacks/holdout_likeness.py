"""Are members and controls alike? Where they are not, what looks like risk is partly the difference between them."""

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.trips.trips import Trips

Values = NDArray[np.integer]
FEWEST_EXPECTED = 5  # below, a cell is put together with the others that are as rare
FALSE_ALARMS = 0.001  # chance that two samples of the same people are called unlike, over all tests
HOUR = 3_600


def differences(members: Trips, controls: Trips) -> tuple[str, ...]:
    """In what the two differ beyond chance: first stops, last stops, lengths, hours of departure."""
    questions: dict[str, tuple[Values, Values]] = {
        "first stops": (members.origins(), controls.origins()),
        "last stops": (members.destinations(), controls.destinations()),
        "numbers of stops": (members.lengths, controls.lengths),
    }
    if members.time is not None and controls.time is not None:
        questions["hours of departure"] = (_departures(members), _departures(controls))
    return tuple(
        name
        for name, sides in questions.items()
        if chance_of_difference(*sides) < FALSE_ALARMS / len(questions)
    )


def chance_of_difference(one: Values, other: Values) -> float:
    """The p value of a chi-squared test that two samples of values come from the same source."""
    values, found = np.unique(np.concatenate([one, other]), return_inverse=True)
    table = np.stack([np.bincount(part, minlength=len(values)) for part in np.split(found, [len(one)])])
    smaller = min(len(one), len(other)) / (len(one) + len(other))
    rare = table.sum(axis=0) * smaller < FEWEST_EXPECTED
    cells = [table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)]
    kept = np.hstack([part for part in cells if part.size and part.sum()])
    return 1.0 if kept.shape[1] < 2 else float(scipy.stats.chi2_contingency(kept).pvalue)


def _departures(trips: Trips) -> NDArray[np.int64]:
    assert trips.time is not None
    return np.asarray(trips.time[trips.offsets[:-1]] // HOUR % 24)
