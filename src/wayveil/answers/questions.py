"""The questions that a release answers, each in one line. Light, so that the help of a command can show them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

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
# What one row says, after "About"; a question that is not here counts no people.
SENTENCES: Final = {
    "total": "{answer} {what} were made in all",
    "stops": "{answer} {visits} were made at {stop}",
    "most-used": "{answer} {visits} were made at {stop}",
    "routes": "{answer} {visits} were made on route {route}",
    "hours": "{answer} {starts} between {hour}:00 and {later}:00",
    "boardings": "{answer} trips begin at {stop}",
    "alightings": "{answer} trips end at {stop}",
    "through": "{answer} trips pass {stop}, begin or end there",
    "transfers": "{answer} trips change lines at {stop}",
    "journeys": "{answer} trips go from {from} to {to}",
    "districts": "{answer} trips go from {from} to {to}",
    "line-load": "{answer} trips use line {line} towards {towards} on its busiest stretch, {from} to {to}",
    "durations": "{answer} trips take {from_minutes} to {to_minutes} minutes",
    "distances": "{answer} trips are {from_km} to {to_km} km long",
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


def quote_row(question: str, row: Mapping[str, Any], *, visits: str = "visits", part: str = "") -> str:
    """Put one row of an answer, or of a `part` of it, in a sentence for a paper; nothing without an interval, or with
    one that is wider than the number.

    >>> quote_row("boardings", {"stop": "Main St", "answer": 1844, "low": 1830, "high": 1858})
    'About 1,844 trips begin at Main St; the true number lies between 1,830 and 1,858 in 95 of 100 cases.'
    """
    told = SENTENCES.get(question)
    if told is None or row.get("low") is None or row.get("high") is None:
        return ""
    if row["high"] - row["low"] > row["answer"]:
        return ""
    names = {
        "stop": row.get("stop_id"),
        "route": row.get("route_id"),
        "what": visits,
        "visits": visits,
        **row,
    }
    names["later"] = int(row.get("hour", 0)) + 1
    names["starts"] = "tap-ins were made" if visits == "tap-ins" else "trips begin"
    said = told.format(**{**names, **{name: f"{row[name]:,}" for name in ("answer", "low", "high")}})
    return (
        f"About {said}; the true number lies between {row['low']:,} and {row['high']:,} in 95 of 100 cases."
    )


def explain_questions() -> str:
    """List every question with what it counts, a line each, for the help of `ask`."""
    lines = [f"- {name}: {what}" for name, what in TRIP_QUESTIONS.items()]
    lines += [f"- {name}: {say_question(name, taps=False)}" for name in QUESTIONS]
    lines.append(f"- {ALL}: every question about visits, on one sheet")
    head = "What is asked. A visit is a tap-in where the release is of taps. To several releases: "
    return "\n".join([f"{head}{', '.join(TREND_QUESTIONS)}.", *lines])
