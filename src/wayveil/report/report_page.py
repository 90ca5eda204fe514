"""`write_report`: a release as one HTML file that opens from a disk, prints, and fetches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import call_places
from wayveil.answers.questions import quote_row, say_visits
from wayveil.answers.totals import judge_total
from wayveil.errors import ParameterError
from wayveil.progress import step
from wayveil.released.datasheet_page import DatasheetView
from wayveil.released.released_trips import quote_of_what, say_of_what
from wayveil.report import error_table
from wayveil.report.chart import COMPARISON, FurtherSection, environment, write_page
from wayveil.report.contents import Contents
from wayveil.report.rankings import interval_words
from wayveil.synthesis.model import OfTaps
from wayveil.trips.history import SIMULATED
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import Scorecard
from wayveil.utility.stop_figures import stop_counts
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.world import World

_CORE = {"Count queries", "Trip lengths", "Stops", "Edges"}
_RISK = (
    "Risk: whether single released trips resemble single real ones. The guarantee bounds it; no attack was tried here. "
    "`wayveil lab audit` attacks the mechanism itself."
)


def unmeasured(
    private: Trips,
    *,
    raw: Trips | None,
    scorecard: Scorecard | None,
    compared: bool,
    bars: bool,
    unanswered: list[str],
) -> list[str]:
    """One sentence for everything that is missing from the page, and why."""
    found = [f"{words[:1].upper()}{words[1:]}." for words in unanswered]
    if private.time is None:
        found.append("Times: this release has none, so that nothing is known about hours and speeds.")
    if isinstance(private.world, Grid) and private.time is not None:
        found.append(
            "Durations and speeds: released trips know the hour in which they begin; times on the way follow a public "
            "speed."
        )
    if len(private) and private.lengths.max() <= 1:
        found.append("Moves, journeys and patterns: the trips of this release are single visits.")
    if not isinstance(private.world, Network):
        found.append("Distances and maps: these locations have no coordinates.")
    if not bars:
        found.append(
            "Error bars: for no kind of question are intervals of this mechanism known to hold (docs/accuracy.md)."
        )
    else:
        found.append(
            "More than noise: error bars hold noise and thresholds. What was cut, drawn or weighed less to bound each "
            "unit is not in them."
        )
    if raw is None:
        found.append(
            "Accuracy: a comparison with the data behind the release would have to be paid for or kept inside, so it "
            "is not in a page that may be published."
        )
    elif scorecard is None:
        found.append("Accuracy: no scorecard was given; `wayveil score` makes one.")
    else:
        if {figure.question for figure in scorecard} <= _CORE:
            found.append(
                "Most figures: this is the short list of four questions; `--full` also asks for patterns, n-grams, "
                "origins and destinations, operations, ranges, the GPS set and feasibility."
            )
        silent = dict.fromkeys(figure.question for figure in scorecard if not isfinite(figure.value))
        found += [
            f"{question}: some figures have no value for this release (a dash above)." for question in silent
        ]
        if scorecard.releases == 1:
            found.append(
                "The spread over repeated releases: one release has no interval; `wayveil lab compare` repeats it."
            )
    if raw is not None and not compared:
        found.append(
            "Other mechanisms: `wayveil lab compare` measures them; `wayveil lab report` with "
            "`--comparison` shows its results here."
        )
    return [*found, _RISK]


Audience = Literal["public", "internal"]
STANDS_FOR = "Every trip on this page stands for about {each:,.0f} trips: multiply its numbers by that."


@dataclass(frozen=True, eq=False)
class _Report:
    """The page before it is text."""

    contents: Contents
    further: Sequence[FurtherSection]
    fields: dict[str, Any]

    def html(self, data: str | None) -> str:
        """The page; `data` is the folder beside it that has the csv files, if there is one."""
        return environment().get_template("report.html.j2").render(**self.fields, data=data)

    def save(self, folder: Path) -> None:
        """Every picture and its numbers; those of an earlier report, which may have shown raw trips, go."""
        written = self.contents.save(folder)
        for section in self.further:
            written += section.save(folder)
        for path in {*folder.glob("*.svg"), *folder.glob("*.csv")} - set(written):
            path.unlink()


def write_report(
    path: str | Path,
    *,
    release: JudgedRelease,
    raw: Trips | None = None,
    scorecard: Scorecard | None = None,
    further: Sequence[FurtherSection] = (),
    title: str | None = None,
    audience: Audience = "public",
    figures: bool = True,
) -> Path:
    """Write the report; the file appears whole or not at all.

    The `public` report shows the release and its datasheet and never looks at `raw`, the scorecard or `further`
    sections. The `internal` one sets both sides next to each other and says at its top that it is not for publication.
    The page stands alone; unless `figures` is false, a folder `<name>-figures` beside it has every picture as SVG and
    its numbers as csv.

    >>> wv.write_report(folder / "report.html", release=made).name
    'report.html'
    """
    path = Path(path)
    made = _report(release, raw, scorecard, further, title, audience)
    folder = path.with_name(f"{path.stem}-figures")
    write_page(path, made.html(folder.name if figures else None))
    if figures:
        made.save(folder)
    return path


def report_html(
    *,
    release: JudgedRelease,
    raw: Trips | None = None,
    scorecard: Scorecard | None = None,
    further: Sequence[FurtherSection] = (),
    title: str | None = None,
    audience: Audience = "public",
) -> str:
    """The page as text; see `write_report`."""
    return _report(release, raw, scorecard, further, title, audience).html(None)


def _report(
    release: JudgedRelease,
    raw: Trips | None,
    scorecard: Scorecard | None,
    further: Sequence[FurtherSection],
    title: str | None,
    audience: Audience,
) -> _Report:
    if audience not in ("public", "internal"):
        raise ParameterError(f"a report is for the audience 'public' or 'internal', not {audience!r}")
    if audience == "public":
        raw, scorecard, further = None, None, ()  # from here on nothing computed from raw trips exists
    elif raw is None:
        raise ParameterError(
            "the internal report compares with the raw trips; give them, or write a public one"
        )
    sheet, release = release.datasheet, release.whole
    private, world = release.trips, release.world
    several = release.each_stands_for != 1
    with step("drawing the report"):
        contents = Contents.of(release, raw)
    fields = {
        **vars(contents),
        "title": title or _title(world),
        "internal": raw is not None,
        "journeys_judged": release.accuracy.of("journeys") is not None,
        "notice": "" if raw is None else _notice(raw),
        "facts": _facts(release, private, raw),
        "datasheet": DatasheetView.of(sheet),
        "version": sheet.get("wayveil", {}).get("version", ""),
        "quoted": _quote(release, contents),
        "grid": isinstance(world, Grid),
        "spot": "place" if isinstance(world, Grid) else "stop",
        "located": isinstance(world, Network),
        "moving": len(private) == 0 or bool(private.lengths.max() > 1),
        "bars": contents.bars.known,
        "of_what": say_of_what(sheet),
        "hour_bars": contents.hours is not None and "high" in contents.hours.data.columns,
        "length_bars": contents.lengths is not None and "high" in contents.lengths.data.columns,
        "raw_hours": raw is not None and raw.time is not None,
        "counted": isinstance(release.model, OfTaps),
        "card": scorecard,
        "accuracy": None if scorecard is None else error_table.accuracy_rows(scorecard),
        "verdict": None if scorecard is None else error_table.verdict(scorecard),
        "further": further,
        "trust": [
            *([STANDS_FOR.format(each=release.each_stands_for)] if several else []),
            *(call_places(said) if isinstance(world, Grid) else said for said in release.accuracy.words),
        ],
        "unmeasured": unmeasured(
            private,
            raw=raw,
            scorecard=scorecard,
            compared=any(section.target == COMPARISON for section in further),
            bars=contents.bars.known,
            unanswered=contents.unanswered,
        ),
    }
    return _Report(contents, further, fields)


def _quote(release: JudgedRelease, contents: Contents) -> str:
    """Put the first number of the page that has an interval in a sentence for a paper."""
    for question, rows in (("stops", contents.stops), ("boardings", contents.origins)):
        if rows and rows[0].bar:
            low, high = rows[0].whole_ends
            row = {"stop": rows[0].name, "answer": rows[0].private, "low": low, "high": high}
            said = quote_row(question, row, visits=say_visits(release))
            if said:
                return f"{said} {quote_of_what(release.datasheet)}"
    return ""


def _notice(raw: Trips) -> str:
    shown = (
        "simulated trips, behind which there is nobody," if SIMULATED in raw.history.marks else "raw trips"
    )
    return f"This page shows {shown} and figures computed from them."


def _title(world: World) -> str:
    if isinstance(world, Grid) or not isinstance(world, Network):
        return "Private trips"
    return f"Private trips in {world.name}"


def _facts(release: JudgedRelease, private: Trips, raw: Trips | None) -> list[tuple[str, str, str]]:
    """The tiles at the head: what, how many, and beside it the interval and the raw number where it may be shown."""
    visits = say_visits(release)
    shown, bars = _numbers(private), ["", "", "", ""]
    for at, kind in enumerate(("total", "visits")):
        # The same number as `ask total`: as it was bought, where it was.
        value, judged = judge_total(release, kind, anyway=True)
        shown[at] = f"{value:,.0f}"
        bars[at] = f"95 % interval {interval_words(judged.low[0], judged.high[0])}" if judged.known else ""
    beside = [""] * 4 if raw is None else [f"raw: {count}" for count in _numbers(raw)]
    words = ["; ".join(filter(None, both)) for both in zip(beside, bars, strict=True)]
    words[-1] = "; ".join(filter(None, [words[-1], f"of {release.world.size:,} in the public world"]))
    spots = "places" if isinstance(release.world, Grid) else "stops"
    names = ("trips", visits, f"{spots} per trip", f"{spots} with {visits}")
    tiles = list(zip(names, shown, words, strict=True))
    # A tap is a trip of one stop: nothing that is not said already.
    return tiles[1::2] if release.visits_are_taps and release.trips.lengths.max(initial=0) <= 1 else tiles


def _numbers(trips: Trips) -> list[str]:
    mean_length = trips.visits / max(len(trips), 1)
    visited = np.count_nonzero(stop_counts(trips))
    return [f"{len(trips):,}", f"{trips.visits:,}", f"{mean_length:.1f}", f"{visited:,}"]
