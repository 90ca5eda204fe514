"""The questions that a release answers, each in one line. Light, so that the help of a command can show them."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wayveil.released.released_trips import ReleasedTrips

# About visits; where every visit boards, they are tap-ins.
QUESTIONS: Final = {
    "total": "tap-ins in all",
    "stops": "tap-ins per stop",
    "hours": "tap-ins per hour of the day",
    "stop-hours": "tap-ins per stop and hour",
    "most-used": "the stops with the most tap-ins",
    "least-used": "the stops with the fewest tap-ins",
    "pairs": "trips with these two stops in a row",
    "triples": "trips with these three stops in a row",
    "routes": "tap-ins per route",
    "load": "tap-ins per seat that ran, of each route",
    "delay": "minutes that a passenger's vehicle was late, on average",
}
TRIP_QUESTIONS: Final = {
    "boardings": "trips that begin at each stop",
    "alightings": "trips that end at each stop",
    "through": "trips that pass each stop, begin or end there",
    "journeys": "trips from one stop to another",
    "districts": "trips from one district to another",
    "transfers": "trips that change lines at each stop",
    "line-load": "trips on the busiest stretch of each line in each direction",
    "lengths": "trips by their number of stops",
    "durations": "trips by their minutes on the public timetable",
    "distances": "trips by their kilometres along the public network",
}
ALL: Final = "all"
# Questions to several releases: their rows are the same in every release, or can be matched by their names.
TREND_QUESTIONS: Final = (
    *("total", "stops", "hours", "stop-hours", "routes"),
    *("boardings", "alightings", "journeys"),
)
# Widths of the classes in which durations (minutes) and distances (kilometres) are listed.
CLASS: Final = {"durations": 10, "distances": 2}
UNIT: Final = {"durations": "minutes", "distances": "km"}
WITH_SEATS: Final = ("load", "line-load")
# The kind of question (see `synthesis.tallies`) whose cells they compare, or of which these are made.
TREND_KINDS: Final = {
    "total": "visits",
    "stops": "stops",
    "hours": "hours",
    "stop-hours": "stop-hours",
    "routes": "stops",
}


def is_about_trips(question: str, *, taps: bool) -> bool:
    """Tell whether a question counts trips: hours are those in which trips begin, or in which people tap in."""
    return question in TRIP_QUESTIONS or (question == "hours" and not taps)


def say_question(question: str, *, taps: bool, visits: str = "visits") -> str:
    """Put a question about visits in words: they are tap-ins only where every visit boards."""
    if question == "total" and not taps:
        return f"trips and {visits} in all"
    if question == "hours" and not taps:
        return "trips that begin in each hour of the day"
    return QUESTIONS[question] if taps else QUESTIONS[question].replace("tap-ins", visits)


def say_visits(release: "ReleasedTrips") -> str:
    """Say what a visit of a release is: a tap-in, a stop that a route from origin to destination passes, or a call."""
    if release.visits_are_taps:
        return "tap-ins"
    rows = release.datasheet.get("rows") or {}
    return "stops passed" if rows.get("ways") == "routed" else "visits"


def say_trip_question(question: str, over: float | None) -> str:
    """Put a question about trips in words, with its limit."""
    if over is None or question not in CLASS:
        return TRIP_QUESTIONS[question]
    longer = "take longer" if question == "durations" else "are longer"
    return f"share of trips that {longer} than {over:g} {UNIT[question]}"


def explain_questions() -> str:
    """List every question with what it counts, a line each, for the help of `ask`."""
    lines = [f"- {name}: {what}" for name, what in TRIP_QUESTIONS.items()]
    lines += [f"- {name}: {say_question(name, taps=False)}" for name in QUESTIONS]
    lines.append(f"- {ALL}: every question about visits, on one sheet")
    head = "What is asked. A visit is a tap-in where the release is of taps. To several releases: "
    return "\n".join([f"{head}{', '.join(TREND_QUESTIONS)}.", *lines])
