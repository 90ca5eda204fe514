"""Questions about trips, answered by counting the released ones: who boards where, who changes where, how long it took.

Released trips are private already, so every count of them is free. A question says which cell each trip falls into, or
each of its moves, and how a table is made of full cells. So raw trips and plain Laplace noise, where somebody may see
them, go through the same hands as the release beside which they stand.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.verdicts import Verdict
from wayveil.answers.answers import Answer
from wayveil.answers.asked import Asked
from wayveil.answers.districts import read_districts
from wayveil.answers.filters import NO_FILTERS, PLACES, TIMES, Filters
from wayveil.answers.questions import CLASS
from wayveil.answers.seats import find_service
from wayveil.answers.trip_cells import CELLS, TripQuestion
from wayveil.answers.trip_periods import Period, periods
from wayveil.answers.trip_tables import make_table
from wayveil.answers.visit_counts import MADE_AGAIN
from wayveil.arrays import Ints
from wayveil.errors import ParameterError, RefusedError
from wayveil.synthesis.tallies import tally
from wayveil.trips.trips import Trips

# Questions whose rows are stops.
AT_STOPS: Final = ("boardings", "alightings", "through", "transfers")
# Columns that stand beside the answer.
BESIDE: Final = ("seats", "per_seat", "raw", "plain_laplace")
NOTE: Final = "Counted in the released trips; the interval of a single number is not known."
KNOWN: Final = f"Counted in the released trips. {MADE_AGAIN}"
# What the release knows about the error of a question, where it knows it; a tap is a visit and a boarding.
TRIP_KINDS: Final = {"boardings": "boardings", "alightings": "alightings", "journeys": "journeys"}
# Questions that have no error of their own are made of numbers that have one.
MADE_OF: Final = {"through": "stops", "transfers": "triples", "line-load": "edges"}
HIDDEN: Final = (
    "Changes of line: no better than silence; do not use. They are fewer than what the release may have wrong in runs "
    "of three stops, of which they are made."
)
SHARED: Final = (
    f"{NOTE} Where several lines share a stretch, its trips are shared out by how often each of them "
    "runs in the timetable."
)


Adding = Callable[[JudgedRelease, TripQuestion, pl.DataFrame, Period | None], pl.DataFrame]


def answer_trips(
    release: JudgedRelease, asked: Asked, *, anyway: bool = True, add: Adding | None = None
) -> Answer:
    """Answer a question about trips, if asked by hour, day or weekday; lists of pairs end after `top`.

    Filters look at the visit at which a trip falls into a cell: where it boards, alights, changes. With a timetable,
    line-load stands beside the seats that ran. Columns that are added make the answer internal. Without `anyway`,
    changes that the error of the release alone may make are refused.
    """
    release, by, filters = release.whole, asked.period, asked.filters
    _refuse_filters(asked)
    # At stops that have rows of their own, a filter picks rows, and their intervals hold as they are.
    picks = asked.question in AT_STOPS and bool(filters.given) and not set(filters.given) - set(PLACES)
    question = _resolve(release, asked, NO_FILTERS if picks else filters)
    counts = count_cells(question, release.trips, by, release.each_stands_for)
    table = make_table(question, release.trips, counts, by)
    if add is not None:
        table = add(release, question, table, by)
    kind = trip_kind(release, asked.question, by) if picks or not filters.given else None
    cells = counts["cell"].to_numpy() if asked.question == "journeys" else np.arange(len(table))
    if kind in ("boardings", "alightings") and add is None:
        shown = release.sharpen(kind, cells, table["answer"].to_numpy().astype(np.float64))
        table = table.with_columns(answer=pl.Series(shown).cast(table["answer"].dtype))
    ends = _interval(release, kind, cells, table["answer"])
    extra = [name for name in BESIDE if name in table.columns]
    keys = [name for name in table.columns if name not in ("answer", *extra)]
    table = table.with_columns(low=ends[0], high=ends[1]).select(*keys, "answer", "low", "high", *extra)
    table = _sort(asked, _at_stops(table, filters, release) if asked.question in AT_STOPS else table)
    note = _note(release, asked.question, kind, known=ends[0].null_count() < len(ends[0]), anyway=anyway)
    return Answer(asked.question, table, note, internal=add is not None)


def _resolve(release: JudgedRelease, asked: Asked, filters: Filters) -> TripQuestion:
    """The question in the numbers of a release."""
    districts = None
    if asked.question == "districts":
        if asked.filters.districts is None:
            raise ParameterError(
                "say which stop lies in which district: a csv with stop_id and district, or a GeoJSON"
            )
        districts = read_districts(asked.filters.districts, release.world)
    service = find_service(release, asked.ran)
    return TripQuestion(asked.question, districts, asked.over, release.visits_are_taps, filters, service)


def _sort(asked: Asked, table: pl.DataFrame) -> pl.DataFrame:
    """The largest numbers first; classes of sizes stay in their order."""
    if asked.question not in CLASS:
        table = table.sort("answer", descending=True, maintain_order=True)
    return table.head(asked.top) if asked.question in ("journeys", "districts") else table


def _note(release: JudgedRelease, question: str, kind: str | None, *, known: bool, anyway: bool) -> str:
    """Say what to know of the numbers; changes of line that the error of the release alone may make are refused."""
    note = SHARED if question == "line-load" else KNOWN if known else NOTE
    verdict = None if kind is None else release.accuracy.of(kind)
    if verdict is not None:
        note = f"{verdict.words} {note}"
    parts = release.accuracy.of(MADE_OF[question]) if question in MADE_OF else None
    if parts is None:
        return note
    note = f"{note} It is made of {parts.inner_words}."
    if question != "transfers" or not _are_hidden(release.trips, parts):
        return note
    if not anyway:
        raise RefusedError(f"{HIDDEN} To see the numbers all the same: --anyway (anyway=True).")
    return f"{HIDDEN} {note}"


def _are_hidden(trips: Trips, triples: Verdict) -> bool:
    """Tell whether as many trips change lines as the error of runs of three stops may make by itself.

    Half of an error is what is too much. Where it falls on stops that lines run through, it changes no line; where it
    does not, every run of three stops is a change.
    """
    changes = len(CELLS["transfers"](trips, TripQuestion("transfers")).cell)
    return changes <= triples.error / 2 * float(tally("triples", trips).values.sum())


def trip_kind(release: JudgedRelease, question: str, by: Period | None = None) -> str | None:
    """The kind of question of which the release knows the error; None where it knows nothing."""
    if question == "boardings" and release.visits_are_taps:
        return None if by is not None else "stops"
    if by == "hour" and question == "journeys":
        return "journey-hours"
    return TRIP_KINDS.get(question) if by is None else None


def _interval(
    release: JudgedRelease, kind: str | None, cells: Ints, answer: pl.Series
) -> tuple[pl.Series, pl.Series]:
    """Both ends of 95 % intervals in whole trips; empty where nothing is known."""
    ends = None if kind is None else release.interval(kind, cells, answer.to_numpy().astype(np.float64))
    if ends is None:
        nothing = pl.Series([None] * len(answer), dtype=answer.dtype)
        return nothing, nothing
    low, high = (
        pl.Series(whole).fill_nan(None).cast(pl.Int64) for whole in (np.floor(ends[0]), np.ceil(ends[1]))
    )
    return low, high


def _refuse_filters(asked: Asked) -> None:
    asked.filters.refuse_others(
        asked.question,
        (*TIMES, *PLACES, *(("route",) if asked.question == "line-load" else ())),
        "which line a trip takes is not known from its stops; line-load knows lines, and releases of taps count them",
    )


def _at_stops(table: pl.DataFrame, filters: Filters, release: JudgedRelease) -> pl.DataFrame:
    """The rows of the stops that are asked for."""
    places = filters.resolve_stops(release.world)
    if places is None:
        return table
    return table.filter(pl.col("stop_id").is_in(release.world.ids[places].tolist()))


def count_cells(asked: TripQuestion, trips: Trips, by: Period | None, each: float = 1.0) -> pl.DataFrame:
    """Count how often each cell occurs (`n`), in each period if asked; every trip counts as so many (`each`)."""
    found = CELLS[asked.question](trips, asked)
    cell, visit = found.cell, found.visit
    if asked.filters.given:
        kept = asked.filters.visits_of(trips, visit)
        cell, visit = cell[kept], visit[kept]
    columns: dict[str, Any] = {"cell": cell}
    if by is not None:
        columns["period"] = periods(trips, visit, by)
    counted = pl.DataFrame(columns, schema_overrides={"cell": pl.Int64})
    return (
        counted.group_by(list(columns), maintain_order=False)
        .agg(n=(pl.len() * each).round().cast(pl.Int64))
        .sort(list(columns))
    )
