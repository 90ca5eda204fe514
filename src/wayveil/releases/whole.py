"""All the trips that a release stands for, where its folder holds another number of them (`--trips-out`).

Numbers that people read off a release are about all trips that were counted, whatever part of them was written. The
model draws the others again, always the same ones: this is post-processing and costs nothing. Of very many trips no
more than `drawing.AT_ONCE` are drawn, and each of them stands for several.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from wayveil.errors import RefusedError
from wayveil.progress import step
from wayveil.releases.datasheet import DRAWN, Datasheet
from wayveil.synthesis import drawing
from wayveil.synthesis.model import DrawsMore, Model

if TYPE_CHECKING:
    from wayveil.releases.release import Release

# Whoever asks again gets the same numbers.
SEED = 0


def make_whole(release: "Release") -> "Release":
    """The release with the trips that its numbers are counted in."""
    if DRAWN not in release.datasheet:
        return release
    model, count = release.model, stands_for(release.model)
    with step("drawing the trips that the model stands for"):
        if isinstance(model, DrawsMore) and count > drawing.AT_ONCE:
            trips, each = model.draw(drawing.AT_ONCE, SEED), count / drawing.AT_ONCE
        else:
            trips, each = model.generate(SEED), 1.0
    trips = replace(trips, history=release.trips.history)
    datasheet = Datasheet({name: value for name, value in release.datasheet.items() if name != DRAWN})
    return replace(release, trips=trips, datasheet=datasheet, drawing=None, each_stands_for=each)


def stands_for(model: Model) -> float:
    """How many trips the model says there are; 0 where it does not say."""
    return float(getattr(model, "trips", 0.0))


def require_single(release: "Release", what: str) -> "Release":
    """The same release, refused where each of its trips stands for several: what is made of single trips is wrong."""
    if release.each_stands_for != 1:
        raise RefusedError(
            f"{what} would show {len(release.trips):,} trips, each of which stands for about "
            f"{release.each_stands_for:,.0f}; `wayveil ask` answers for all of them"
        )
    return release
