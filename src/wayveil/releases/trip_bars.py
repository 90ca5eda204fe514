"""Intervals of counts of released trips, where the accuracy of the release knows any."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from wayveil.releases.answers import MADE_AGAIN

if TYPE_CHECKING:
    from wayveil.releases.release import Release

# Questions about trips whose cells are those of a kind of question that `accuracy` judges.
KIND = {"boardings": "boardings", "alightings": "alightings", "journeys": "journeys"}


def find_trip_bars(
    release: "Release", question: str, answers: pl.Series
) -> tuple[pl.Series, pl.Series, str | None]:
    """Both ends of the intervals of these answers, and what to say of them; empty and None where none is known."""
    empty = pl.Series([None] * len(answers), dtype=answers.dtype)
    kind = "stops" if question == "boardings" and release.visits_are_taps else KIND.get(question)
    bands = None if kind is None else release.accuracy.bands.get(kind)
    if bands is None:
        return empty, empty, None
    low, high = bands.ends(answers.to_numpy().astype(np.float64))
    said = release.accuracy.of(str(kind))
    warned = f"{said.words} " if said is not None and not said.says_more else ""
    return (
        pl.Series(np.floor(low)).cast(answers.dtype),
        pl.Series(np.ceil(high)).cast(answers.dtype),
        f"{warned}Counted in the released trips. {MADE_AGAIN}",
    )
