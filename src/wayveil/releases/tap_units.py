"""Who is protected when taps are released, and how many of a person's taps are counted.

Where taps are counted one by one (`counts`, `counts-first`), a unit bounds taps: of a rider, of a rider's day, of a
rider's window. Where cards are chained (`cards`), it bounds trips. How many taps a person has in the period decides
which unit protects people: with the unit `event`, somebody with k taps is protected k times less than epsilon says.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from wayveil.errors import ParameterError
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Unit, Window, WithoutId
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.timebins import HOUR

UNITS: Final = ("event", "rider", "rider-day", "window", "trip")
DEFAULT_TRIPS: Final = 2
COUNTING: Final = ("counts", "counts-first")
MOST_TAPS: Final = 0.9
BOUNDS: Final = (1, 2, 4, 8, 16, 32, 64)


def choose_tap_unit(
    way: str,
    name: str | None = None,
    *,
    max_trips: int | None = None,
    max_taps: int | None = None,
    window_hours: int | None = None,
    without_id: WithoutId = "refuse",
) -> Unit:
    """The unit of a way, by its name; what a unit has no use for is refused."""
    counting = way in COUNTING
    name = ("event" if counting else "rider") if name is None else name
    if name not in UNITS:
        raise ParameterError(f"there is no unit {name!r}; there are {', '.join(UNITS)}")
    if window_hours is not None and name != "window":
        raise ParameterError(f"--window-hours is for the unit window, not for {name!r}")
    if without_id != "refuse" and name in ("event", "trip"):
        raise ParameterError(f"--no-rider has no meaning for the unit {name!r}, which does not look at cards")
    if counting:
        if max_trips is not None:
            raise ParameterError(f"max_trips has no meaning for the way {way!r}: its bound is --max-taps")
        return _of_taps(name, max_taps, window_hours, without_id)
    if max_taps is not None:
        raise ParameterError(f"--max-taps has no meaning for the way {way!r}: its bound is --max-trips")
    if name in ("event", "window") or (way == "study" and name != "rider"):
        raise ParameterError(
            f"the way {way!r} chains the taps of a card, so that one tap can change a whole chain: the unit {name!r} "
            f"is for --way counts and counts-first"
        )
    if name == "trip":
        return Trip()
    if name == "rider-day":
        return RiderDay(max_trips=1 if max_trips is None else max_trips, without_id=without_id)
    return Rider(max_trips=DEFAULT_TRIPS if max_trips is None else max_trips, without_id=without_id)


def _of_taps(name: str, most: int | None, hours: int | None, without_id: WithoutId) -> Unit:
    if name == "trip":
        raise ParameterError("a trip is one tap here: that is the unit event")
    if name == "event":
        if most is not None:
            raise ParameterError("--max-taps bounds the taps of a rider; the unit event is one tap")
        return Event()
    if most is None:
        raise ParameterError(
            f"say with --max-taps how many taps count of each {name}: fewer lose taps, more add noise. `wayveil taps "
            f"units` shows what each bound keeps. Nothing was spent"
        )
    if name == "window":
        if hours is None:
            raise ParameterError("say with --window-hours how long a window is")
        return Window(seconds=hours * HOUR, max_visits=most, without_id=without_id)
    kind = Rider if name == "rider" else RiderDay
    return kind(max_trips=most, without_id=without_id)


def bounded_by(unit: Unit, singles: Trips, taps: Taps) -> Trips:
    """Single taps as the unit looks at them: with their cards, or for `event` without."""
    if isinstance(unit, Event):
        return replace(singles, rider=None, rider_ids=None)
    if taps.card is None:
        raise ParameterError(
            f"these taps have no cards, which the unit `{unit.name}` needs; the unit event does not"
        )
    return replace(singles, rider=taps.card, rider_ids=taps.card_ids)


@dataclass(frozen=True)
class UnitAdvice:
    """What a unit with a bound would mean: exact facts about raw taps, for the data holder's eyes only.

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
