"""Names of an earlier version: each answers with the command that took its place."""

from wayveil.errors import ParameterError

MOVED = {
    "anonymise": "lab anonymise",
    "audit": "lab audit",
    "compare": "lab compare",
    "gps": "release --rows points",
    "gps release": "release --rows points",
    "gps simulate": "lab simulate gps",
    "gps trips": "lab trips",
    "map": "lab map",
    "mechanisms": "lab mechanisms",
    "recommend": "lab recommend",
    "resume": "release",
    "sample": "lab sample",
    "series": "plan --every week",
    "series init": "plan --every week",
    "series run": "release",
    "series status": "status",
    "series simulate": "lab simulate year",
    "simulate": "lab simulate riders",
    "study": "lab study",
    "taps": "release --rows taps",
    "taps clean": "lab clean",
    "taps release": "release --rows taps",
    "taps riders": "lab riders",
    "taps simulate": "lab simulate taps",
    "taps units": "lab units",
    "trend": "ask",
    "world": "lab world",
}


def refuse_moved(words: list[str]) -> None:
    """Say where a command has gone, before anything else is read."""
    for length in (2, 1):
        old = " ".join(words[:length])
        if len(words) >= length and old in MOVED:
            raise ParameterError(f"`wayveil {old}` is now `wayveil {MOVED[old]}`")
