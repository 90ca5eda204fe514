"""Questions about trips, answered by counting the released ones: who boards where, who changes where, how long it took.

Released trips are private already, so every count of them is free. A question says which cell each trip falls into, or
each of its moves, and how a table is made of full cells. So raw trips and plain Laplace noise, where somebody may see
them, go through the same hands as the release beside which they stand.
"""

from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.verdicts import Verdict
from wayveil.answers.answers import Answer
from wayveil.answers.districts import read_districts
from wayveil.answers.filters import NO_FILTERS, PLACES, TIMES, Filters
from wayveil.answers.plain_laplace import plain_answer, plain_unit
from wayveil.answers.questions import TRIP_QUESTIONS
from wayveil.answers.seats import Service
from wayveil.answers.trip_cells import CELLS, CLASS, ONCE, UNIT, Asked
from wayveil.answers.trip_periods import Period, periods
from wayveil.answers.trip_tables import make_table
from wayveil.answers.visit_counts import MADE_AGAIN
from wayveil.arrays import Ints
from wayveil.errors import ParameterError, RefusedError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.synthesis.tallies import tally
from wayveil.trips.trips import Trips

# Questions whose rows are stops.
AT_STOPS: Final = ("boardings", "alightings", "through", "transfers")
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


def answer_trips(
    release: JudgedRelease,
    question: str,
    *,
    top: int = 20,
    districts: Any = None,
    over: float | None = None,
    by: Period | None = None,
    filters: Filters = NO_FILTERS,
    service: Service | None = None,
    raw: Trips | None = None,
    bits: Bits | None = None,
    anyway: bool = True,
) -> Answer:
    """Answer one of TRIP_QUESTIONS, if asked by hour, day or weekday; lists of pairs end after `top`.

    `filters` look at the visit at which a trip falls into a cell: where it boards, alights, changes. With a `service`,
    line-load stands beside the seats that ran.

    `districts` is a csv (or frame) with stop_id and district, or a GeoJSON of areas. With `over`, durations and
    distances are the share of trips above so many minutes or kilometres. With `raw` trips, their own counts stand
    beside (column `raw`) and what plain Laplace noise makes of them for all of epsilon (`plain_laplace`): the answer
    is then internal. Without `anyway`, changes that the error of the release alone may make are refused.
    """
    if question not in TRIP_QUESTIONS:
        raise ParameterError(f"unknown question {question!r}; choose one of {', '.join(TRIP_QUESTIONS)}")
    if over is not None and not over > 0:
        raise ParameterError(f"a limit is a number above 0, not {over:g}")
    release = release.whole
    trips, world = release.trips, release.world
    if question == "districts" and districts is None:
        raise ParameterError(
            "say which stop lies in which district: a csv with stop_id and district, or a GeoJSON"
        )
    _refuse_filters(question, filters, raw is not None)
    known = None if districts is None else read_districts(districts, world)
    # At stops that have rows of their own, a filter picks rows, and their intervals hold as they are.
    picks = question in AT_STOPS and bool(filters.given) and not set(filters.given) - set(PLACES)
    asked = Asked(question, known, over, release.visits_are_taps, NO_FILTERS if picks else filters, service)
    counts = _count(asked, trips, by, release.each_stands_for)
    table = make_table(asked, trips, counts, by)
    if raw is not None:
        table = _beside(release, asked, table, raw, by, bits)
    kind = trip_kind(release, question, by) if picks or not filters.given else None
    cells = counts["cell"].to_numpy() if question == "journeys" else np.arange(len(table))
    ends = _interval(release, kind, cells, table["answer"])
    extra = [name for name in ("seats", "per_seat", "raw", "plain_laplace") if name in table.columns]
    keys = [name for name in table.columns if name not in ("answer", *extra)]
    order = [*keys, "answer", "low", "high", *extra]
    table = table.with_columns(low=ends[0], high=ends[1]).select(order)
    if question in AT_STOPS:
        table = _at_stops(table, filters, release)
    if question not in CLASS:
        table = table.sort("answer", descending=True, maintain_order=True)
    if question in ("journeys", "districts"):
        table = table.head(top)
    note = SHARED if question == "line-load" else NOTE if ends[0].null_count() == len(ends[0]) else KNOWN
    verdict = None if kind is None else release.accuracy.of(kind)
    if verdict is not None:
        note = f"{verdict.words} {note}"
    parts = release.accuracy.of(MADE_OF[question]) if question in MADE_OF else None
    if parts is not None:
        note = f"{note} It is made of {parts.inner_words}."
    if question == "transfers" and parts is not None and _are_hidden(trips, parts):
        if not anyway:
            raise RefusedError(f"{HIDDEN} To see the numbers all the same: --anyway (anyway=True).")
        note = f"{HIDDEN} {note}"
    return Answer(question, table, note, internal=raw is not None)


def _are_hidden(trips: Trips, triples: Verdict) -> bool:
    """Whether as many trips change lines as the error of runs of three stops may make by itself.

    Half of an error is what is too much. Where it falls on stops that lines run through, it changes no line; where it
    does not, every run of three stops is a change.
    """
    changes = len(CELLS["transfers"](trips, Asked("transfers")).cell)
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


def refuse_additions(question: str, *, over: float | None) -> None:
    """Refuse a limit on a question that has no use for it: nothing is silently ignored."""
    if over is not None and question not in CLASS:
        raise ParameterError(f"--over is for {', '.join(CLASS)}, not for {question!r}")


def _refuse_filters(question: str, filters: Filters, raw: bool) -> None:
    known = (*TIMES, *PLACES, *(("route",) if question == "line-load" else ()))
    filters.refuse_others(
        question,
        known,
        "which line a trip takes is not known from its stops; line-load knows lines, and releases of taps count them",
    )
    if raw and filters.given:
        raise ParameterError("raw answers stand beside whole answers only: leave filters or --raw away")


def _at_stops(table: pl.DataFrame, filters: Filters, release: JudgedRelease) -> pl.DataFrame:
    """The rows of the stops that are asked for."""
    places = filters.resolve_stops(release.world)
    if places is None:
        return table
    return table.filter(pl.col("stop_id").is_in(release.world.ids[places].tolist()))


def say_trip_question(question: str, over: float | None, by: tuple[Period, ...]) -> str:
    """The question in words, with what the caller added."""
    said = TRIP_QUESTIONS[question]
    if over is not None and question in CLASS:
        longer = "take longer" if question == "durations" else "are longer"
        said = f"share of trips that {longer} than {over:g} {UNIT[question]}"
    return f"{said}, by {' and '.join(by)}" if by else said


def _count(asked: Asked, trips: Trips, by: Period | None, each: float = 1.0) -> pl.DataFrame:
    """How often each cell occurs (`n`), in each period where there is one; every trip counts as so many (`each`)."""
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


def _beside(
    release: JudgedRelease,
    asked: Asked,
    table: pl.DataFrame,
    raw: Trips,
    by: Period | None,
    bits: Bits | None,
) -> pl.DataFrame:
    """The raw answer, and the one that plain Laplace noise gives where it has any."""
    sides = {"raw": _count(asked, raw, by)}
    noisy = _plain(release, asked, raw, by, bits)
    if noisy is not None:
        sides["plain_laplace"] = noisy
    keys = [name for name in table.columns if name != "answer"]
    for name, counts in sides.items():
        other = make_table(asked, raw, counts, by).rename({"answer": name})
        if asked.question == "line-load":
            # The busiest stretch may be another one; what is compared is how full the line gets.
            other = other.drop("from", "to")
        on = [key for key in keys if key in other.columns]
        table = table.join(other, on=on, how="full" if on == keys else "left", coalesce=True)
    return table.with_columns(pl.col("answer", *sides).fill_null(0))


def _plain(
    release: JudgedRelease, asked: Asked, raw: Trips, by: Period | None, bits: Bits | None
) -> pl.DataFrame | None:
    """Counts with all of epsilon as plain Laplace noise, on the cells that the release or the raw trips have.

    None where the price is not in epsilon, or where single visits are protected: one of them moves the ends of a trip.
    """
    if release.datasheet["guarantee"].get("epsilon") is None:
        return None
    unit, cap = plain_unit(release.datasheet, with_riders=raw.rider is not None)
    if cap is None and not (asked.taps and asked.question == "boardings"):
        return None
    counted = unit.bound(raw if cap is None else raw.cut(cap), secure_bits() if bits is None else bits)
    cells = ["cell"] if by is None else ["cell", "period"]
    sides = [_count(asked, side, by).select(cells) for side in (release.trips, raw)]
    exact = pl.concat(sides).unique().sort(cells).join(_count(asked, counted, by), on=cells, how="left")
    exact = exact.with_columns(pl.col("n").fill_null(0))
    per_trip = 1 if asked.question in ONCE and cap is not None else cap
    noisy = plain_answer(release.datasheet, unit, per_trip, exact["n"].to_numpy().astype(float), bits)
    return exact.with_columns(n=pl.Series(noisy))
