"""From the unit of a release to the unit of a policy: how many times its epsilon a policy is charged.

A release with epsilon e holds for pairs of datasets that are one step of *its* unit apart. A policy limits what one of
*its* units may lose. If the two datasets of the policy can always be joined by k steps of the release's unit, the
release costs the policy k e (group privacy: each step changes any probability by a factor of at most exp(e)). Where no
such k is known the release is refused: no number would be true.

Which k, and why. `m` is the release's `max_trips`.

policy   release             k                 because
rider    rider               1                 the same pairs; how many trips are counted changes nothing about them
rider    rider-day           days_per_rider    a rider is taken out day by day
rider    trip                trips_per_rider   a rider is taken out trip by trip
rider    event points window visits_per_rider  a rider is taken out visit by visit; one visit is a step of all three
rider-day rider-day          1
rider-day rider              2                 take the rider out, put the rider with the other day in
rider-day trip               trips_per_rider   no day has more trips than all days
rider-day event points window visits_per_rider
trip     trip                1
trip     rider, rider-day    1 if m >= 2 else 2   see below; 2 where trips count by weights
trip     event points window visits_per_rider  a trip is taken out visit by visit
event    event points window 1                 one visit is a step of each of them
event    trip                2                 take the trip out, put the changed trip in
event    rider               1 if m >= 2 else 2   see below
event    rider-day           1 if m >= 4, 2 if m >= 2, else 4
element  rider               2                 take the rider out, put the rider without these visits in
element  rider-day           2 days_per_rider  the same, day by day: a trip may begin on another day without its first
element  trip                2 trips_per_rider the same, trip by trip
element  event points window visits_per_rider  these visits are taken out one by one

An element is all visits of one rider to one group of places, such as the hospitals, whichever group that is. No release
protects it by itself.

One trip more of a rider who has others. Every trip has a random word, and the m smallest words of a rider are counted.
Give the common trips the same words in both datasets: then the counted trips differ by at most one that came and one
that had to go. Counts move by at most 2 trips, and the noise covers m. The gate's answers cost their price whenever
counts move by no more than what is booked, so with m >= 2 the release costs e, not 2e. A changed visit changes one
trip: again one goes and one comes. With rider-days the changed trip may begin on another day; then this happens on
two days, each of which is a step of 2 trips.

Weights (`bounding`). One trip more changes the weights of all trips of its rider. That moves a histogram by no more
than m, but it can move the rider to another class of the histogram that buys the number of all trips, which loses m
there and gains about m / 2. So the rider is taken out and put in again: k = 2 for a trip and a visit, 4 for a visit
where units are rider-days, whatever m is.

Trained releases (`trained`; see `privacy.training`). In a step the rider is drawn with probability q and adds one
gradient of norm at most the clip C, whatever m is, and the noise covers C, not m C. One trip more, or one visit
changed, can turn that gradient from g into -g: 2 C. The step then compares (1-q) N(0) + q N(C) with (1-q) N(0) + q
N(-C), which is no pair of the release's own unit, and costs more than it (with q = 1/20, 1,500 steps and epsilon 1 at
delta 1e-6, delta is 4e-3 at the same epsilon). Taking the rider out and putting the changed rider in are two pairs
of that unit. So k = 2 for a trip and a visit, whatever m is, and k = 4 for a visit where units are rider-days, of
which it may change two. tests/privacy/test_ledger_trained.py holds this against the exact privacy loss.

The `..._per_rider` are stated by the data holder in the policy and stand in its line. The sum then holds for riders who
have at most so many. A trip without a rider id counts as a rider of its own. Where a release says that its rows are of
d days, no rider has more than d days in it, nor more than d `trips_per_day` trips or d `visits_per_day` visits, if
those are stated: the smallest number that is known counts.

Deltas are not multiplied: a group of k loses more than k delta. A release with a delta (or in rho) is charged where
k = 1 and refused elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, cast

from wayveil.errors import ParameterError, plain
from wayveil.privacy.ledger.lines import Line, canonical
from wayveil.privacy.units import Unit

POLICY_UNITS = ("rider", "rider-day", "trip", "event", "element")
_OF_VISITS = ("event", "points", "window")
_KNOWN = ("rider", "rider-day", "trip", *_OF_VISITS)


@dataclass(frozen=True)
class Stated:
    """Bounds that the data holder states: at most so many days, trips and visits of one rider, or in one day; and
    the unit of lines that an earlier version wrote without one.
    """

    days_per_rider: int | None = None
    trips_per_rider: int | None = None
    visits_per_rider: int | None = None
    trips_per_day: int | None = None
    visits_per_day: int | None = None
    earlier_unit: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "earlier_unit":
                check_policy_unit(name, value)
                if value == "element":
                    raise ParameterError(
                        "earlier_unit is the unit of a release, and none protects an `element`"
                    )
            elif value is not None and (type(value) is not int or not 1 <= value <= 10**9):
                raise ParameterError(f"{name} must be a whole number of 1 or more, not {value!r}")

    def within(self, days: int | None) -> tuple[int | None, int | None, int | None]:
        """Days, trips and visits that a rider has at most in the rows of so many days; None is any number of days."""
        by_day = (1, self.trips_per_day, self.visits_per_day)
        in_all = (self.days_per_rider, self.trips_per_rider, self.visits_per_rider)
        found = []
        for daily, total in zip(by_day, in_all, strict=True):
            known = [total] if days is None or daily is None else [total, days * daily]
            found.append(min((number for number in known if number is not None), default=None))
        return found[0], found[1], found[2]


def check_policy_unit(name: str, unit: str | None) -> None:
    """Refuse a unit that no policy can have."""
    if unit is not None and unit not in POLICY_UNITS:
        raise ParameterError(f"{name} must be one of {', '.join(POLICY_UNITS)}, not {unit!r}")


@dataclass(frozen=True)
class BookedUnit:
    """The unit of a release as it stands on its line: the name, and the bounds that decide how it converts."""

    name: str
    bounds: Mapping[str, Any]

    @classmethod
    def of(cls, unit: "Unit | BookedUnit") -> "BookedUnit":
        """The unit of a release as it is booked."""
        if isinstance(unit, BookedUnit):
            return unit
        return BookedUnit(unit.name, cast("Mapping[str, Any]", unit.describe()["bounds"]))

    def payload(self) -> dict[str, Any]:
        """Return it as it stands on a line."""
        return {"name": self.name, "bounds": dict(self.bounds)}

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        """Read from a line; a unit that this version does not know is refused, never guessed."""
        if not isinstance(payload, dict) or payload.keys() != {"name", "bounds"}:
            raise ParameterError(f"a unit on a line has a name and bounds, not {payload!r}")
        unit = cls(payload["name"], payload["bounds"])
        if unit.name not in _KNOWN or not isinstance(unit.bounds, dict):
            raise ParameterError(f"unknown unit {unit.name!r}; choose one of {', '.join(_KNOWN)}")
        if unit.name in ("rider", "rider-day") and type(unit.bounds.get("max_trips")) is not int:
            raise ParameterError(f"the unit {unit.name} needs its bound max_trips")
        return unit

    def __str__(self) -> str:
        return self.name


def steps(
    release: BookedUnit, policy_unit: str, stated: Stated, days: int | None = None, *, trained: bool = False
) -> int | None:
    """Return how many steps of the release's unit join two neighbours of the policy's unit; None where nobody knows.

    `days` is how many days the rows of the release are of, where that is said; `trained` whether it was trained.
    """
    most_days, most_trips, most_visits = stated.within(days)
    _, trips_a_day, visits_a_day = stated.within(1)
    source = "visits" if release.name in _OF_VISITS else release.name
    drawn = not trained and release.bounds.get("bounding", "draw") == "draw"
    # Of so many trips the noise covers a change.
    most = int(release.bounds.get("max_trips", 1)) if drawn else 1
    swap = 1 if most >= 2 else 2
    known: dict[tuple[str, str], int | None] = {
        ("rider", "rider"): 1,
        ("rider-day", "rider"): most_days,
        ("trip", "rider"): most_trips,
        ("visits", "rider"): most_visits,
        ("rider-day", "rider-day"): 1,
        ("rider", "rider-day"): 2,
        ("trip", "rider-day"): trips_a_day,
        ("visits", "rider-day"): visits_a_day,
        ("trip", "trip"): 1,
        ("rider", "trip"): swap,
        ("rider-day", "trip"): swap,
        ("visits", "trip"): stated.visits_per_rider,
        ("visits", "event"): 1,
        ("trip", "event"): 2,
        ("rider", "event"): swap,
        ("rider-day", "event"): 1 if most >= 4 else 2 * swap,
        ("rider", "element"): 2,
        ("rider-day", "element"): None if most_days is None else 2 * most_days,
        ("trip", "element"): None if most_trips is None else 2 * most_trips,
        ("visits", "element"): most_visits,
    }
    return known[source, policy_unit]


def missing(release: BookedUnit, policy_unit: str) -> str:
    """The fact that would make the conversion sound, as an option of `ledger policy`."""
    if release.name == "rider-day":
        return "--days-per-rider"
    return "--trips-per-rider" if release.name == "trip" else "--visits-per-rider"


@dataclass(frozen=True)
class Terms:
    """The terms of one release, as a datasheet states them. `asked` is what was asked: the parameters and the world.

    Lines of earlier versions do not say what was asked, and some say no unit: what a line does not say is not compared.
    """

    epsilon: Fraction
    delta: Fraction
    unit: BookedUnit
    mechanism: str
    private: bool
    asked: Mapping[str, Any]

    @classmethod
    def of_datasheet(cls, datasheet: Mapping[str, Any]) -> Self:
        """Read the terms off a datasheet."""
        try:
            stated, described = datasheet["guarantee"], datasheet["mechanism"]
            worlds = {each["name"]: each["sha256"] for each in datasheet["public_inputs"]}
            return cls(
                Fraction(stated["epsilon"]),
                Fraction(stated["delta"]),
                BookedUnit(stated["unit"], stated["bounds"]),
                str(described["name"]),
                bool(datasheet["private"]),
                asked(described["parameters"], worlds.get("counted in", worlds["world"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError(
                f"the datasheet does not state the terms of its release ({error})"
            ) from error

    def differing(self, line: Line) -> str | None:
        """In words, the first thing in which a reservation's line says something else; None if they agree."""
        booked = line.payload.get("asked") if isinstance(line.payload, dict) else None
        pairs: list[tuple[str, Any, Any]] = [
            ("epsilon", self.epsilon, line.epsilon),
            ("delta", self.delta, line.delta),
            ("mechanism", self.mechanism, line.mechanism),
            ("private", self.private, line.private),
        ]
        if line.unit is not None:
            mine = self.unit.payload()
            pairs += [(f"unit {name}", mine[name], line.unit[name]) for name in ("name", "bounds")]
        if isinstance(booked, dict):
            pairs += [(name, self.asked.get(name), value) for name, value in sorted(booked.items())]
        for name, stated, held in pairs:
            if canonical(_said(stated)) != canonical(_said(held)):
                return f"{name} {_short(stated)}, where the ledger has {_short(held)}"
        return None


def asked(parameters: Any, world: str) -> dict[str, Any]:
    """Return what a release asks of the rows, as it stands on the line of its reservation."""
    return {"parameters": parameters, "world": world}


def _said(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _short(value: Any) -> str:
    text = plain(value) if isinstance(value, Fraction) else canonical(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
