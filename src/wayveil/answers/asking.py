"""`ask`: one question with all that may be added to it, for Python and for the command.

Whatever is added is used or refused: nothing is silently ignored.
"""

from datetime import date
from pathlib import Path
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answer_sheet import Answering
from wayveil.answers.answers import KIND_OF, Answer, answer_question
from wayveil.answers.delay import read_delays
from wayveil.answers.filters import Filters
from wayveil.answers.questions import QUESTIONS, TRIP_QUESTIONS, say_question
from wayveil.answers.seats import SEATS, Seats, find_service
from wayveil.answers.trip_periods import Period, require_periods
from wayveil.answers.trip_questions import (
    answer_trips,
    refuse_additions,
    say_trip_question,
    trip_kind,
)
from wayveil.errors import ParameterError
from wayveil.synthesis.model import OfTaps
from wayveil.trips.trips import Trips

WITH_SEATS = ("load", "line-load")


def refusing_noise(answering: Answering) -> Answering:
    """The same way to answer, with a refusal in place of what the verdict of the release calls noise."""

    def answer(release: JudgedRelease, question: str, *, top: int, seats: Seats) -> Answer:
        release.accuracy.refuse_noise(kind_of_question(release, question), anyway=False)
        return answering(release, question, top=top, seats=seats)

    return answer


def ask_release(
    release: JudgedRelease,
    question: str,
    *,
    top: int = 20,
    over: float | None = None,
    by: str | None = None,
    between: tuple[str, str] | None = None,
    weekdays: bool = False,
    on: Any = None,
    route: Any = None,
    stops: Any = None,
    district: Any = None,
    districts: Any = None,
    seats: Seats | None = None,
    timetable: str | Path | None = None,
    timetable_date: str | date | None = None,
    days: int | None = None,
    delays: str | Path | None = None,
    anyway: bool = False,
    raw: Trips | None = None,
    beside: Answering | None = None,
) -> Answer:
    """Answer a question about trips (`trip_questions`) or visits (`answers`).

    `raw` trips, and a way to set raw answers `beside` those about visits, make the answer internal. Numbers that the
    verdict of the release calls noise are refused, unless they are wanted `anyway`.
    """
    if question not in (*TRIP_QUESTIONS, *QUESTIONS):
        raise ParameterError(
            f"unknown question {question!r}; choose one of {', '.join((*TRIP_QUESTIONS, *QUESTIONS))}"
        )
    release = release.whole
    periods = require_periods(by)
    refuse_additions(question, over=over)
    if districts is not None and question != "districts" and district is None:
        raise ParameterError(
            "--districts is for the question districts, or say with --district which of them is meant"
        )
    filters = Filters.of(
        between=between,
        weekdays=weekdays,
        on=on,
        route=route,
        stops=stops,
        district=district,
        districts=districts,
    )
    for name, value in (("timetable", timetable), ("timetable-date", timetable_date), ("days", days)):
        if value is not None and question not in WITH_SEATS:
            raise ParameterError(f"--{name} is for {' and '.join(WITH_SEATS)}, not for {question!r}")
        if value is not None and timetable is None:
            raise ParameterError(f"--{name} is about a timetable: give the feed with --timetable")
    if seats is not None and question not in WITH_SEATS:
        raise ParameterError(f"--seats is for {' and '.join(WITH_SEATS)}, not for {question!r}")
    if delays is not None and question != "delay":
        raise ParameterError(f"--delays is for delay, not for {question!r}")
    if not anyway:
        release.accuracy.refuse_noise(kind_of_question(release, question, periods), anyway=False)
    full = SEATS if seats is None else seats
    service = None
    if timetable is not None:
        service = find_service(release, timetable, seats=full, timetable_date=timetable_date, days=days)
    late = None if delays is None else read_delays(delays, release.world)
    counted = question == "boardings" and isinstance(release.model, OfTaps) and raw is None
    if counted:
        # A tap is a boarding, and the noisy counts tell it with their intervals.
        asked = "routes" if filters.route else "stops"
        answer = answer_question(release, asked, top=top, filters=filters, by=periods)
        title = _by(say_question(asked, taps=True), periods)
        return Answer(question, answer.table, answer.note, title=_title(title, filters))
    if question in TRIP_QUESTIONS:
        answer = answer_trips(
            release,
            question,
            top=top,
            districts=districts if question == "districts" else None,
            over=over,
            by=_one(question, periods),
            filters=filters,
            service=service,
            raw=raw,
            anyway=anyway,
        )
        title = say_trip_question(question, over, periods)
    elif beside is not None:
        if filters.given or periods or service is not None or late is not None:
            raise ParameterError("raw answers stand beside whole answers only: leave filters or --raw away")
        answer = beside(release, question, top=top, seats=full)
        title = say_question(question, taps=release.visits_are_taps)
    else:
        answer = answer_question(
            release,
            question,
            top=top,
            seats=full,
            filters=filters,
            by=periods,
            service=service,
            delays=late,
        )
        title = _by(say_question(question, taps=release.visits_are_taps), periods)
    return Answer(question, answer.table, answer.note, answer.internal, _title(title, filters))


def kind_of_question(release: JudgedRelease, question: str, by: tuple[Period, ...] = ()) -> str | None:
    """The kind on which the release has a verdict; None if it has none."""
    return KIND_OF.get(question) or trip_kind(release, question, by[0] if by else None)


def _one(question: str, by: tuple[Period, ...]) -> Period | None:
    if len(by) > 1:
        raise ParameterError(f"{question!r} of trips is counted by one of hour, day and weekday at a time")
    return by[0] if by else None


def _by(said: str, periods: tuple[Period, ...]) -> str:
    return f"{said}, by {' and '.join(periods)}" if periods else said


def _title(said: str, filters: Filters) -> str:
    return f"{said} ({filters.say()})" if filters.given else said
