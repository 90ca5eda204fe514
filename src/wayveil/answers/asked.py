"""`Asked`: one question with all that is added to it. Whatever is added is used or refused, never ignored."""

from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.answers.filters import NO_FILTERS, Filters
from wayveil.answers.questions import (
    CLASS,
    QUESTIONS,
    TRIP_QUESTIONS,
    WITH_SEATS,
    say_question,
    say_trip_question,
)
from wayveil.answers.trip_periods import Period, require_periods
from wayveil.errors import ParameterError

Seats = int | str | Path | pl.DataFrame


@dataclass(frozen=True)
class Ran:
    """Service that ran, for loads.

    timetable       the feed that tells it
    timetable_date  the day whose runs every day had, where the calendars of the feed do not cover them
    days            on how many days people were counted, where the release has no dates
    seats           of a vehicle, or a table with seats by route_id or trip_id; None: 38
    """

    timetable: str | Path | None = None
    timetable_date: str | date | None = None
    days: int | None = None
    seats: Seats | None = None

    def check(self, question: str) -> None:
        """Refuse what a question has no use for."""
        for name in ("timetable", "timetable_date", "days", "seats"):
            said = name.replace("_", "-")
            if getattr(self, name) is None:
                continue
            if question not in WITH_SEATS:
                raise ParameterError(f"--{said} is for {' and '.join(WITH_SEATS)}, not for {question!r}")
            if self.timetable is None and name != "seats":
                raise ParameterError(f"--{said} is about a timetable: give the feed with --timetable")


NOTHING_RAN = Ran()


@dataclass(frozen=True)
class Asked:
    """A question, and what the caller adds to it.

    top      rows of lists of pairs, and of the most and least used
    by       a row for every hour, day or weekday
    filters  which part of the release is asked about; `districts` of them are also for the question districts
    over     a limit in minutes (durations) or kilometres (distances): the share of trips above it
    ran      the service that a load is divided by
    delays   how late vehicles were: TIDES stop_visits, or GTFS-realtime
    """

    question: str
    top: int = 20
    by: tuple[Period, ...] = ()
    filters: Filters = NO_FILTERS
    over: float | None = None
    ran: Ran = NOTHING_RAN
    delays: str | Path | None = None

    def __post_init__(self) -> None:
        if self.question not in (*TRIP_QUESTIONS, *QUESTIONS):
            raise ParameterError(
                f"unknown question {self.question!r}; choose one of {', '.join((*TRIP_QUESTIONS, *QUESTIONS))}"
            )
        if self.over is not None and self.question not in CLASS:
            raise ParameterError(f"--over is for {', '.join(CLASS)}, not for {self.question!r}")
        if self.over is not None and not self.over > 0:
            raise ParameterError(f"a limit is a number above 0, not {self.over:g}")
        if self.filters.districts is not None and self.question != "districts" and not self.filters.district:
            raise ParameterError(
                "--districts is for the question districts, or say with --district which of them is meant"
            )
        self.ran.check(self.question)
        if self.delays is not None and self.question != "delay":
            raise ParameterError(f"--delays is for delay, not for {self.question!r}")

    @classmethod
    def of(cls, question: str, *, by: str | None = None, **additions: Any) -> "Asked":
        """Sort the words of a caller: those of filters and of what ran among them; None was not said."""
        words = {name: value for name, value in additions.items() if value is not None}
        parts = {
            kind: {each.name: words.pop(each.name) for each in fields(kind) if each.name in words}
            for kind in (Filters, Ran)
        }
        filters, ran = Filters.of(**parts[Filters]), Ran(**parts[Ran])
        return cls(question, by=require_periods(by), filters=filters, ran=ran, **words)

    @property
    def period(self) -> Period | None:
        """The one period of a question about trips; several are refused."""
        if len(self.by) > 1:
            raise ParameterError(
                f"{self.question!r} of trips is counted by one of hour, day and weekday at a time"
            )
        return self.by[0] if self.by else None

    @property
    def is_plain(self) -> bool:
        """Tell that the question is about the whole release, without what ran or how late it was."""
        return not (self.filters.given or self.by or self.ran.timetable or self.delays)

    def title(self, *, taps: bool, visits: str = "visits") -> str:
        """Put the question in words, with what the caller added."""
        if self.question in TRIP_QUESTIONS:
            said = say_trip_question(self.question, self.over)
        else:
            said = say_question(self.question, taps=taps, visits=visits)
        said = f"{said}, by {' and '.join(self.by)}" if self.by else said
        return f"{said} ({self.filters.say()})" if self.filters.given else said
