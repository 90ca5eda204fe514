"""The questions that a release answers, one line each. Light, so that the help of a command can show them."""

from typing import Final

TRIP_QUESTIONS: Final = {
    "boardings": "trips that begin at each stop",
    "alightings": "trips that end at each stop",
    "through": "trips that pass each stop, begin or end there",
    "journeys": "trips from one stop to another",
    "districts": "trips from one district to another",
    "transfers": "trips that change lines at each stop",
    "line-load": "trips on the busiest stretch of each line in each direction",
    "durations": "trips by their minutes on the public timetable",
    "distances": "trips by their kilometres along the public network",
}
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
ALL: Final = "all"


def say_question(question: str, *, taps: bool) -> str:
    """Say what is counted: a visit is a tap-in where the release is of taps."""
    return QUESTIONS[question] if taps else QUESTIONS[question].replace("tap-ins", "visits")


def explain_questions() -> str:
    """List every question with what it counts, a line each, for the help of `ask`."""
    lines = [f"- {name}: {what}" for name, what in TRIP_QUESTIONS.items()]
    lines += [f"- {name}: {say_question(name, taps=False)}" for name in QUESTIONS]
    lines.append(f"- {ALL}: every question about visits, on one sheet")
    return "\n".join(["What is asked. A visit is a tap-in where the release is of taps.", *lines])
