"""`ask_release`: the answer to any question, about trips or about visits."""

from dataclasses import replace
from typing import Protocol

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import call_places
from wayveil.answers.answers import Answer, answer_question
from wayveil.answers.asked import Asked
from wayveil.answers.questions import is_about_trips, quote_row, say_visits
from wayveil.answers.trip_cells import TripQuestion
from wayveil.answers.trip_periods import Period
from wayveil.answers.trip_questions import answer_trips
from wayveil.errors import ParameterError
from wayveil.released.released_trips import quote_of_what
from wayveil.synthesis.model import OfTaps
from wayveil.world.grid import Grid


class Beside(Protocol):
    """Sets raw answers beside those of a release, which makes them internal."""

    def __call__(self, release: JudgedRelease, asked: Asked, *, anyway: bool = False) -> Answer:
        """Answer a question about visits."""

    def add_trips(
        self, release: JudgedRelease, asked: TripQuestion, table: pl.DataFrame, by: Period | None
    ) -> pl.DataFrame:
        """Add columns to the answer to a question about trips."""


def ask_release(
    release: JudgedRelease, asked: Asked, *, anyway: bool = False, beside: Beside | None = None
) -> Answer:
    """Answer a question. Numbers of which nothing is worth having are refused, unless wanted `anyway`."""
    release, question = release.whole, asked.question
    of_trips = is_about_trips(question, taps=release.visits_are_taps)
    in_part = asked.filters.given if of_trips else not asked.is_plain
    if beside is not None and in_part:
        raise ParameterError("raw answers stand beside whole answers only: omit the filters or --raw")
    if question == "boardings" and isinstance(release.model, OfTaps) and beside is None:
        # A tap is a boarding, and the noisy counts tell it with their intervals.
        asked = replace(asked, question="routes" if asked.filters.route else "stops")
        answer = answer_question(release, asked, anyway=anyway)
        return replace(answer, question=question, title=asked.title(taps=True))
    if of_trips:
        answer = answer_trips(release, asked, anyway=anyway, add=None if beside is None else beside.add_trips)
    elif beside is None:
        answer = answer_question(release, asked, anyway=anyway)
    else:
        answer = beside(release, asked, anyway=anyway)
    title = asked.title(taps=release.visits_are_taps, visits=say_visits(release))
    sentence = ""
    if answer.table.height and not asked.by:
        table = answer.table
        if question != "total":  # whose first row are trips
            table = table.sort("answer", descending=True, nulls_last=True)
        sentence = quote_row(
            question, table.row(0, named=True), visits=say_visits(release), part=asked.filters.say()
        )
    if sentence:
        sentence = f"{sentence} {quote_of_what(release.datasheet)}".strip()
    title = call_places(title) if isinstance(release.world, Grid) else title
    return replace(answer, title=title, sentence=sentence)
