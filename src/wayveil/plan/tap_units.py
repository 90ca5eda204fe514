"""Who is protected when taps are released, and how many of a person's taps are counted.

Where taps are counted one by one (`counts`, `counts-first`), a unit bounds taps: of a rider, of a rider's day, of a
rider's window. Where cards are chained (`cards`), it bounds trips. How many taps a person has in the period decides
which unit protects people: with the unit `event`, somebody with k taps is protected k times less than epsilon says.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from wayveil.errors import ParameterError
from wayveil.taps.taps import Taps

MOST_TAPS: Final = 0.9
BOUNDS: Final = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class UnitAdvice:
    """Consequences of a unit with a bound: exact facts about raw taps, for the data holder's eyes only.

    kept    share of the taps that are counted
    noise   scale of the noise of a count that has all of epsilon
    person  epsilon for all that the person with the most taps (99 of 100 have no more) did in the file
    """

    unit: str
    max_taps: int | None
    kept: float
    noise: float
    person: float


def advise_units(taps: Taps, epsilon: float) -> list[UnitAdvice]:
    """Event, rider-day and rider by bound: what is kept, how much noise it costs, what a frequent person loses."""
    if taps.card is None:
        raise ParameterError(
            "these taps have no cards: how many taps a person has is not in them, and event is the only unit"
        )
    known = taps.card >= 0
    card = taps.card[known]
    per_card = np.bincount(card)
    pair, per_day = np.unique(np.stack([card, taps.day[known]]), axis=1, return_counts=True)
    days = np.bincount(pair[0])
    often = float(np.percentile(per_card[per_card > 0], 99))
    most_days = float(np.percentile(days[days > 0], 99))
    found = [UnitAdvice("event", None, 1.0, 1 / epsilon, often * epsilon)]
    for name, groups, times in (("rider-day", per_day, most_days), ("rider", per_card, 1.0)):
        for bound in BOUNDS:
            kept = float(np.minimum(groups, bound).sum() / max(len(card), 1))
            found.append(UnitAdvice(name, bound, kept, bound / epsilon, times * epsilon))
            if kept > 0.999:
                break
    return found


def enough_taps(advice: list[UnitAdvice]) -> UnitAdvice:
    """The smallest bound on the taps of a rider that keeps nine of ten taps."""
    return next((one for one in advice if one.unit == "rider" and one.kept >= MOST_TAPS), advice[-1])


def say_unit(advice: list[UnitAdvice], taps: Taps) -> list[str]:
    """The advice in sentences."""
    event = advice[0]
    often = event.person * event.noise  # epsilon cancels: taps of a frequent person
    enough = enough_taps(advice)
    days = len(np.unique(taps.day))
    return [
        f"99 of 100 cards have at most {often:,.0f} taps in the {days} day{'s' * (days != 1)} of this file.",
        f"Event: one tap is protected with epsilon; such a card's taps together with {often:,.0f} times that. It "
        f"hides that somebody tapped there then, not where somebody lives and works.",
        f"Rider: all that a card did is protected with epsilon. --max-taps {enough.max_taps} counts {enough.kept:.0%} "
        f"of the taps, with {enough.max_taps} times the noise of event.",
        "Few taps per person (a day, occasional riders): take rider. A long file of daily commuters: take rider with "
        "a bound, or rider-day, and say in days what a person loses. Event is for counts of a crowd where no other "
        "unit fits.",
    ]
