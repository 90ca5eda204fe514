"""`ask`, `export`, `sample` and `trend` for Python, as the commands do it: of a release, or of its folder."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from wayveil.answers.answers import Answer
from wayveil.answers.trends import Trend, find_trend
from wayveil.errors import ParameterError
from wayveil.exports.write import export as write_export
from wayveil.releases.release import Release
from wayveil.synthesis.model import DrawsMore
from wayveil.trips.trips import Trips

Released = Release | str | Path


def ask(release: Released, question: str, **options: Any) -> Answer:
    """Answer a question about a release; costs nothing. `options` as in `Release.ask`.

    >>> wv.ask(made, "most-used", top=3, anyway=True).table.height
    3
    """
    return opened(release).ask(question, **options)


def export(
    release: Released,
    kind: str,
    path: str | Path,
    *,
    anyway: bool = False,
    put_on: date | str | None = None,
    feed: str | Path | None = None,
    stated: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write a release in a format that other tools read; gives the files. Numbers that are noise only if `anyway`.

    `put_on` dates trips that have no date, `feed` is the timetable of `gtfs-ride`, `stated` fills in what the plan did
    not say (curator, purpose, region, contact). `wayveil.exports.menu.MENU` has the formats.

    >>> [file.name for file in wv.export(made, "od", folder / "od.csv", anyway=True)]
    ['od.csv']
    """
    made = opened(release)
    return write_export(made, kind, Path(path), anyway=anyway, put_on=put_on, feed=feed, stated=stated)


def sample(release: Released, trips: int | None = None, *, seed: int | None = None) -> Trips:
    """Draw more private trips from the model of a release; they are paid for.

    >>> len(wv.sample(made, 20, seed=1))
    20
    """
    made = opened(release)
    if not isinstance(made.model, DrawsMore):
        name = made.datasheet["mechanism"]["name"]
        raise ParameterError(f"the model of this release ({name}) draws its own number of trips only")
    return made.model.draw(trips, seed)


def trend(releases: Sequence[Released], question: str = "stops", *, anyway: bool = False) -> Trend:
    """Say what changed from the first release to the last, with intervals from the noise of both; costs nothing.

    `question` is one of those that `wayveil ask` takes for several releases.

    >>> later = wv.release(trips, "markov", epsilon=4, max_trips=1, rows="calls", ledger=None)
    >>> wv.trend([made, later], "stops", anyway=True).table.height > 0
    True
    """
    return find_trend([opened(each) for each in releases], question, anyway=anyway)


def opened(release: Released) -> Release:
    """The release itself, or the one in a folder."""
    return release if isinstance(release, Release) else Release.load(release)
