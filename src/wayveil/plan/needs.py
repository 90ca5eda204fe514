"""`Need`: a question that a release is for and how exact its answer must be, as a sentence or as fields.

    boardings per stop, top 50, within 10 %
    trips between districts of districts.geojson, within 20 %
    change against last week of boardings per stop, at least 20 %

Needs are public, and so is what follows from them: the part of epsilon that each question gets (`parts_of`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import DEFAULT_PARTS, typical_cells
from wayveil.plan.parts import Part

Counted = Literal["trips", "taps"]
ENDS = (
    "taps say where people board, not where they go: release trips with both ends (--rows legs or pairs), or chain "
    "cards (--way cards --with alightings=true)"
)
LINES = (
    "trips say stops, not which line they board: release taps with a route column (--way counts-first), or ask for "
    "load per line"
)


@dataclass(frozen=True)
class Asked:
    """A question that a need may name: its words, other words for it, and why some kinds of rows cannot answer it."""

    words: str
    also: tuple[str, ...] = ()
    not_of: Mapping[str, str] | None = None


ASKED: Mapping[str, Asked] = {
    "total": Asked(
        "total", ("trips in all", "taps in all", "number of trips", "ridership", "total ridership")
    ),
    "boardings": Asked("boardings per stop", ("boardings", "taps per stop", "stops", "trips per stop")),
    "stop-hours": Asked(
        "boardings per stop and hour",
        ("taps per stop and hour", "boardings per hour and stop", "boardings per stop per hour"),
    ),
    "hours": Asked("boardings per hour", ("hours", "trips per hour", "taps per hour", "hourly trips")),
    "routes": Asked("boardings per route", ("taps per route",), {"trips": LINES}),
    "route-hours": Asked("boardings per route and hour", ("taps per route and hour",), {"trips": LINES}),
    "alightings": Asked("alightings per stop", ("alightings",), {"taps": ENDS}),
    "districts": Asked("trips between districts", ("od between districts",), {"taps": ENDS}),
    "journeys": Asked("trips between stops", ("od between stops", "od matrix", "od"), {"taps": ENDS}),
    "edges": Asked(
        "load per line", ("line-load", "line load", "load", "loads", "load of lines"), {"taps": ENDS}
    ),
}
_CHANGE = re.compile(
    r"change (?:against|since|from|vs\.?) (?:last \w+|the \w+ before) (?:of|in) (?P<rest>.+)", re.IGNORECASE
)
_DISTRICTS = re.compile(
    r"(?:trips|rides|flows|od) between (?:districts|zones) of (?P<districts>.+)", re.IGNORECASE
)
_ROUTE = re.compile(r"load (?:of|on) (?:route|line) (?P<route>.+)", re.IGNORECASE)
_NUMBER = {"five": 5, "ten": 10, "twenty": 20, "fifty": 50, "hundred": 100}
_MANY = rf"(?:\d+|{'|'.join(_NUMBER)})\b"
_PEAKS = {"morning": (7, 9), "afternoon": (16, 18), "evening": (16, 18)}
# What may be added to a question, wherever it stands.
_CLAUSES = {
    "within": re.compile(
        r"[,;]? *(?:(?:to )?within|at least|[+]/?-|±|error (?:below|under|of))? *"
        r"(?P<within>\d[\d.]*) ?(?:%|per ?cent)",
        re.IGNORECASE,
    ),
    "top": re.compile(
        rf"[,;]? *\b(?:the )?(?:(?:top|busiest|largest) (?P<top>{_MANY})|(?P<also>{_MANY}) (?:busiest|largest|top)\b)",
        re.IGNORECASE,
    ),
    "hours": re.compile(
        r"(?:[,;]| from| between) *(?P<first>\d{1,2})(?::00)? ?(?:am)? ?(?:to|-|–|and) ?"
        r"(?P<last>\d{1,2})(?::00)?(?: ?(?P<half>am|pm|h))?(?= *(?:[,;]|$))",
        re.IGNORECASE,
    ),
    "peak": re.compile(
        rf"[,;]?(?: *in)?(?: *the)? *\b(?P<peak>{'|'.join(_PEAKS)})(?: peak| rush hour)\b", re.IGNORECASE
    ),
}
# Other words for the same; a question is looked up by what they become.
_SAME = {
    r"\b(?:by|(?:for|of|at|on|in) (?:each|every))\b": "per",
    r"\b(?:stations?|stops)\b": "stop",
    r"\b(?:lines?|routes)\b": "route",
    r"\b(?:zones?|district)\b": "districts",
    r"\brides\b": "trips",
    r"\b(boarding|alighting)\b": r"\1s",
    r"\b(?:origin-destination|o-d|flows)\b": "od",
    r"^the | +$": "",
}
# Parts of epsilon: of the needed questions together, and the least of one. What is left makes whole trips of them.
NEEDED = Fraction(95, 100)
LEAST = Fraction(3, 100)
# Always bought, as they cost next to nothing: nobody believes a release whose total is wrong.
CHEAP = {"total": Fraction(1, 100), "hours": Fraction(3, 100)}
BUSY_HOURS = 12
# Words as close to a question as this are taken for a slip.
NEAR = 0.75
# The middle one of the 24 hours of a day has about this part of the rides, one over it.
USUAL_HOUR = 45
USUAL_DISTRICTS = 8
STOPS_OF_A_TRIP = 8
# A change is a difference of two releases, and must stand clear of the noise of both.
OF_TWO = 2.8


class Need(Part):
    """A question that the release is for, the cells it is about, and how exact the answer must be.

    An answer is exact enough if the typical one (the median) of the cells asked for is off by at most `within`.

    >>> Need.parse("boardings per stop, top 50, within 10 %")
    Need(question='boardings', top=50, within=0.1, districts=None, route=None, hours=None, change=False, promised=None)
    """

    question: str = Field(description=f"What is asked: {', '.join(ASKED)}.")
    top: int | None = Field(None, ge=1, description="The so many busiest cells; all if left out.")
    within: float = Field(
        0.1, gt=0, lt=1, description="How far off an answer may be, as a share: 0.1 is 10 %."
    )
    districts: str | None = Field(None, description="File with the district of each stop, for `districts`.")
    route: str | None = Field(None, description="One route only, for `edges` (load).")
    hours: tuple[int, int] | None = Field(None, description="Hours of the day that are asked for: [7, 9].")
    change: bool = Field(
        False,
        description="Ask for the change since the release before; `within` is the smallest that must show.",
    )

    promised: float | None = Field(
        None,
        description="Typical error that `wayveil plan` promised; the datasheet sets what is reached beside it.",
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.question not in ASKED:
            raise ValueError(f"question: unknown question {self.question!r}; {say_understood()}")
        if self.districts is not None and self.question != "districts":
            raise ValueError(
                f"districts: a file of districts is for the question districts, not {self.question}"
            )
        if self.hours is not None and not 0 <= self.hours[0] < self.hours[1] <= 24:
            raise ValueError(f"hours: from an hour to a later one of the same day, not {self.hours}")
        return self

    @classmethod
    def parse(cls, sentence: str) -> "Need":
        """Read a need from a sentence; what is not understood is refused with what is."""
        head, fields = sentence.strip().rstrip("."), dict[str, Any]()
        for name, pattern in _CLAUSES.items():
            found = pattern.search(head)
            if found is not None:
                fields |= _clause(name, found)
                head = head[: found.start()] + head[found.end() :]
        changed = _CHANGE.fullmatch(head.strip())
        if changed is not None:
            fields["change"], head = True, changed["rest"]
        fields |= _question(head.strip(), sentence)
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            said = first["msg"].removeprefix("Value error, ")
            raise ParameterError(f"the need {sentence!r}: {f'{place}: ' if place else ''}{said}") from None

    def __str__(self) -> str:
        said = ASKED[self.question].words
        said = said if self.districts is None else f"{said} of {self.districts}"
        said = said if self.route is None else f"load of route {self.route}"
        parts = [f"change since the release before of {said}" if self.change else said]
        parts += [] if self.top is None else [f"top {self.top}"]
        parts += [] if self.hours is None else [f"{self.hours[0]} to {self.hours[1]}"]
        return ", ".join([*parts, f"{'at least' if self.change else 'within'} {100 * self.within:g} %"])

    @property
    def scope(self) -> tuple[Any, ...]:
        """Return what it is about, however exact."""
        return self.question, self.top, self.districts, self.route, self.hours, self.change


def say_understood() -> str:
    """List the questions that are understood, and what can be added to one."""
    words = "; ".join(asked.words for asked in ASKED.values())
    return (
        f"understood are: {words}; also 'trips between districts of FILE', 'load of route 14', 'change against last "
        "week of ...'; after a comma: top 50, within 10 %, 7 to 9"
    )


def _question(head: str, sentence: str) -> dict[str, Any]:
    for name, pattern in (("districts", _DISTRICTS), ("edges", _ROUTE)):
        known = pattern.fullmatch(head)
        if known is not None and "," not in head:
            return {"question": name, **known.groupdict()}
    said = _in_our_words(head)
    words = {
        _in_our_words(each): name for name, asked in ASKED.items() for each in (asked.words, *asked.also)
    }
    if said not in words and head not in ASKED:
        near = get_close_matches(said, words, 1, NEAR)
        meant = f" (did you mean {ASKED[words[near[0]]].words!r}?)" if near else ""
        raise ParameterError(f"the need {sentence!r} is not understood{meant}; {say_understood()}")
    return {"question": words.get(said, head)}


def _in_our_words(head: str) -> str:
    said = head.lower()
    for pattern, word in _SAME.items():
        said = re.sub(pattern, word, said)
    return said


def _clause(name: str, found: re.Match[str]) -> dict[str, Any]:
    if name == "top":
        many = (found["top"] or found["also"]).lower()
        return {"top": _NUMBER.get(many) or int(many)}
    if name == "within":
        return {"within": float(found["within"].rstrip(".")) / 100}
    if name == "peak":
        return {"hours": _PEAKS[found["peak"].lower()]}
    first, last = int(found["first"]), int(found["last"])
    later = 12 * ((found["half"] or "").lower() == "pm" and last < 12)
    return {"hours": (first + later * (first < last), last + later)}


def read_needs(said: str | Sequence[str | Need], *, taps: bool) -> list[Need]:
    """Read needs as sentences or as they are; refuses those that contradict each other or that have no answer."""
    several = [said] if isinstance(said, str) else said
    needs = [Need.parse(each) if isinstance(each, str) else each for each in several]
    refuse_contradictory(needs)
    refuse_unanswerable(needs, "taps" if taps else "trips")
    return needs


def refuse_contradictory(needs: Sequence[Need]) -> None:
    """Refuse needs that say different things about the same numbers."""
    seen: dict[tuple[Any, ...], Need] = {}
    for need in needs:
        other = seen.setdefault(need.scope, need)
        if other.within != need.within:
            raise ParameterError(
                f"two needs contradict each other: {str(other)!r} and {str(need)!r}; keep the stricter one"
            )
    files = sorted({need.districts for need in needs if need.districts is not None})
    if len(files) > 1:
        raise ParameterError(
            f"needs name different districts ({', '.join(files)}): a release counts trips between those of one file"
        )


def named_districts(needs: Sequence[Need]) -> str | None:
    """Return the file of districts that needs are about; None: they name none."""
    return next((need.districts for need in needs if need.districts is not None), None)


def refuse_unanswerable(needs: Sequence[Need], counted: Counted) -> None:
    """Refuse needs that no release of such rows can answer, with what could."""
    for need in needs:
        why = (ASKED[need.question].not_of or {}).get(counted)
        if why is not None:
            raise ParameterError(f"the need {str(need)!r} has no answer in {counted}: {why}")


@dataclass(frozen=True)
class WorldSize:
    """Public numbers of cells: places, routes and edges of a world, and districts of a need."""

    places: int
    routes: int = 1
    edges: int = 1

    def cells(self, need: Need) -> int:
        """Cells of the question of a need."""
        hours = BUSY_HOURS if need.hours is None else need.hours[1] - need.hours[0]
        return {
            "total": 1,
            "hours": hours,
            "boardings": self.places,
            "alightings": self.places,
            "stop-hours": self.places * hours,
            "routes": self.routes,
            "route-hours": self.routes * hours,
            "districts": USUAL_DISTRICTS**2,
            "journeys": self.places * STOPS_OF_A_TRIP,
            "edges": max(self.edges // STOPS_OF_A_TRIP, 1),
        }[need.question]


def effort(need: Need, size: WorldSize) -> float:
    """Return how much epsilon a need takes, up to a factor that all needs have in common.

    Noise is the same for all cells of all questions; so it goes with one over the count that must be told, and one over
    how exactly. The typical cell among the busiest is the one in their middle, by the law of sizes.
    """
    cells = size.cells(need)
    if need.question in ("total", "hours"):
        share = 1 / (cells if cells < BUSY_HOURS else USUAL_HOUR)
    else:
        share = 1 / typical_cells(cells, cells if need.top is None else need.top)
    return (OF_TWO if need.change else 1.0) / (share * need.within)


def parts_of(needs: Sequence[Need], size: WorldSize) -> Mapping[str, Fraction]:
    """The part of epsilon of every question: what the needs take, in proportion; without needs the default set."""
    if not needs:
        return DEFAULT_PARTS
    wanted: dict[str, float] = {}
    for need in needs:
        wanted[need.question] = max(wanted.get(need.question, 0.0), effort(need, size))
    cheap = {name: part for name, part in CHEAP.items() if name not in wanted}
    left = NEEDED - sum(cheap.values())
    found = {
        name: Fraction(each / sum(wanted.values())).limit_denominator(1000) for name, each in wanted.items()
    }
    found = {name: max(part, LEAST) for name, part in found.items()}
    whole = sum(found.values())
    return {**cheap, **{name: part / whole * left for name, part in found.items()}}
