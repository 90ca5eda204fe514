"""Which part of a release a question is about: hours, days, weekdays, routes, stops, districts. All of it is public.

A filter is used or refused, never ignored: a question says which filters it knows (`refuse_others`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.trip_periods import WEEKDAYS, has_weekdays_only, is_dated
from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.synthesis.estimates import HOURS, Only, weekday_of
from wayveil.synthesis.model import OfDays
from wayveil.trips.trips import Trips
from wayveil.world.districts import read_districts
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

EPOCH: Final = date(1970, 1, 1)
WORKDAYS: Final = (0, 1, 2, 3, 4)
TIMES: Final = ("between", "weekdays", "on")
PLACES: Final = ("stops", "district")


@dataclass(frozen=True)
class Filters:
    """Filters as the caller gives them.

    between   two times of the clock, `07:00` and `09:00`; the second is not in it, and may lie after midnight
    weekdays  Monday to Friday only
    on        dates (2024-12-16) or names of weekdays (Monday)
    route     ids or names of routes
    stops     ids of stops, such as a hub
    district  names of districts; `districts` says which stop lies in which
    """

    between: tuple[str, str] | None = None
    weekdays: bool = False
    on: tuple[str, ...] = ()
    route: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    district: tuple[str, ...] = ()
    districts: Any = None

    @classmethod
    def of(cls, **words: Any) -> "Filters":
        """Filters from single words or several of them; what is None was not said."""
        given = {name: value for name, value in words.items() if value is not None}
        for name in ("on", "route", "stops", "district"):
            if name in given:
                value = given[name]
                given[name] = (str(value),) if isinstance(value, str | int | date) else tuple(map(str, value))
        if "between" in given:
            given["between"] = tuple(map(str, given["between"])) or None
        return cls(**given)

    @property
    def given(self) -> list[str]:
        """The names of the filters that were said."""
        return [
            each.name
            for each in fields(self)
            if each.name != "districts" and getattr(self, each.name) not in (None, False, ())
        ]

    def refuse_others(self, question: str, known: Sequence[str], because: str) -> None:
        """Refuse every filter that the question does not know."""
        for name in self.given:
            if name not in known:
                raise ParameterError(f"--{name} cannot be used with {question!r}: {because}")

    def say(self) -> str:
        """In words, for a title; empty without filters."""
        said = []
        if self.route:
            said.append(f"route {', '.join(self.route)}")
        if self.stops:
            said.append(f"at {', '.join(self.stops)}")
        if self.district:
            said.append(f"in {', '.join(self.district)}")
        if self.weekdays:
            said.append("Monday to Friday")
        if self.on:
            said.append(f"on {', '.join(self.on)}")
        if self.between is not None:
            said.append(f"between {self.between[0]} and {self.between[1]}")
        return "; ".join(said)

    def seconds(self) -> tuple[int, int]:
        """Both times as seconds of the day; the second may be the smaller one, after midnight."""
        assert self.between is not None
        start, end = (_second(text) for text in self.between)
        if start == end:
            raise ParameterError(f"between {self.between[0]} and {self.between[1]} there is no time")
        return start, end

    def hours(self) -> tuple[int, ...]:
        """The hours of the day that are asked for; refused where the times are not whole hours."""
        start, end = self.seconds()
        if start % HOUR or end % HOUR:
            raise ParameterError(
                f"taps were counted by the hour: --between takes whole hours such as 07:00 09:00, not "
                f"{' '.join(self.between or ())}"
            )
        first, last = start // HOUR, end // HOUR
        return tuple(sorted(hour % HOURS for hour in range(first, last if last > first else last + HOURS)))

    def resolve(self, release: JudgedRelease) -> Only:
        """Put the filters in the numbers of a release."""
        return Only(
            stop=_some(self.resolve_stops(release.world)),
            route=_some(self.resolve_routes(release.world)),
            hour=None if self.between is None else self.hours(),
            day=self._days(release),
            weekday=self._weekdays(),
        )

    def visits_of(self, trips: Trips, visit: Ints) -> NDArray[np.bool_]:
        """Which of these visits are asked for: by their time, and by the stop at which they happen."""
        kept = np.ones(len(visit), bool)
        places = self.resolve_stops(trips.world)
        if places is not None:
            kept &= np.isin(trips.location[visit], places)
        if not (set(self.given) & set(TIMES)):
            return kept
        if trips.time is None:
            raise ParameterError("these trips have no times, so nothing is known of hours and days")
        time = trips.time[visit]
        if self.between is not None:
            start, end = self.seconds()
            second = time % DAY
            inside = (second >= start) & (second < end)
            kept &= inside if start < end else (second >= start) | (second < end)
        weekdays = self._weekdays()
        if weekdays is not None:
            require_weekdays(trips)
            kept &= np.isin(weekday_of(time // DAY), weekdays)
        days = self._dates()
        if days:
            require_dates(trips)
            kept &= np.isin(time // DAY, days)
        return kept

    def resolve_days(self) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """The days since 1970 and the weekdays that are named; None: all of them."""
        return self._dates() or None, self._weekdays()

    def _weekdays(self) -> tuple[int, ...] | None:
        named = {WEEKDAYS.index(word.capitalize()) for word in self.on if word.capitalize() in WEEKDAYS}
        found = named | (set(WORKDAYS) if self.weekdays else set())
        return tuple(sorted(found)) if found else None

    def _dates(self) -> tuple[int, ...]:
        words = [word for word in self.on if word.capitalize() not in WEEKDAYS]
        try:
            return tuple(sorted({(date.fromisoformat(word) - EPOCH).days for word in words}))
        except ValueError as error:
            raise ParameterError(
                f"--on takes dates such as 2024-12-16 and names of weekdays, not {words}"
            ) from error

    def _days(self, release: JudgedRelease) -> tuple[int, ...] | None:
        asked = self._dates()
        if not asked:
            return None
        counted = days_of(release)
        missing = [day for day in asked if day not in counted]
        if missing:
            raise ParameterError(
                f"{_say(missing[0])} is not among the days of this release, {_say(counted[0])} to {_say(counted[-1])}"
            )
        return asked

    def resolve_routes(self, world: World) -> Ints | None:
        """The routes that are named, ascending; None: all of them."""
        if not self.route:
            return None
        if not isinstance(world, Network) or len(world.route_ids) == 0:
            raise ParameterError("this world has no routes; open the release with its GTFS feed")
        found: list[int] = []
        for word in self.route:
            at = np.flatnonzero((world.route_ids == word) | (world.route_names == word))
            if len(at) == 0:
                some = ", ".join(world.route_names[:8].tolist())
                raise ParameterError(f"unknown route {word!r}; choose one of {some}, ...")
            found += at.tolist()
        return np.unique(found)

    def resolve_stops(self, world: World) -> Ints | None:
        """The stops that are named or lie in the districts, ascending; None: all of them."""
        found = None
        if self.stops:
            at = world.index_of(list(self.stops))
            if np.any(at < 0):
                raise ParameterError(f"there is no stop {self.stops[int(np.argmax(at < 0))]!r} in this world")
            found = np.unique(at.astype(np.int64))
        if self.district:
            if self.districts is None:
                raise ParameterError(
                    "say with --districts which stop lies in which district: a csv with stop_id and district, or a "
                    "GeoJSON"
                )
            areas = read_districts(self.districts, world)
            names = areas.names.tolist()
            for word in self.district:
                if word not in names:
                    raise ParameterError(f"unknown district {word!r}; choose one of {', '.join(names)}")
            inside = np.flatnonzero(np.isin(areas.of_place, [names.index(word) for word in self.district]))
            found = inside if found is None else np.intersect1d(found, inside)
        return found


NO_FILTERS: Final = Filters()


def days_of(release: JudgedRelease) -> list[int]:
    """The days of a release, since 1970: those that were counted, or those on which it has trips."""
    if isinstance(release.model, OfDays):
        return [int(day) for day in release.model.days()]
    require_dates(release.trips)
    assert release.trips.time is not None
    return [int(day) for day in np.unique(release.trips.time // DAY)]


def require_dates(trips: Trips) -> None:
    """Refuse trips that have no dates."""
    if not is_dated(trips):
        raise ParameterError("these trips have no dates: what was released are hours, of a day or of a week")


def require_weekdays(trips: Trips) -> None:
    """Refuse trips that have hours and no weekdays."""
    if not (is_dated(trips) or has_weekdays_only(trips)):
        raise ParameterError(
            "these trips have hours and no weekdays; weave keeps weekdays with --set period=week, tap-counts with "
            "--set time=hour-of-week"
        )


def _some(found: Ints | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found.tolist())


def _second(text: str) -> int:
    found = re.fullmatch(r"(\d{1,2}):([0-5]\d)", text.strip())
    if found is None or int(found[1]) > HOURS or (int(found[1]) == HOURS and found[2] != "00"):
        raise ParameterError(f"{text!r} is not a time of the day; write 07:00, and 24:00 for midnight")
    return int(found[1]) * HOUR + int(found[2]) * 60


def _say(day: int) -> str:
    return str(date.fromordinal(EPOCH.toordinal() + day))
