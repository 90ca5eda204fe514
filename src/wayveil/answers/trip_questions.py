"""Questions about trips, answered by counting the released ones: who boards where, who changes where, how long it took.

Released trips are private already, so every count of them is free. A question says which cell each trip falls into, or
each of its moves, and how a table is made of full cells. So raw trips and plain Laplace noise, where somebody may see
them, go through the same hands as the release beside which they stand.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.misfits import INSIDE, blur_classes, least_together
from wayveil.accuracy.numbers import WANTED, Judged, Numbers, judge_numbers
from wayveil.accuracy.verdicts import Verdict
from wayveil.answers.answers import Answer
from wayveil.answers.asked import Asked
from wayveil.answers.filters import NO_FILTERS, PLACES, TIMES, Filters
from wayveil.answers.questions import CLASS, UNIT
from wayveil.answers.seats import find_service
from wayveil.answers.trip_cells import CELLS, TripQuestion
from wayveil.answers.trip_periods import Period, periods
from wayveil.answers.trip_tables import make_table
from wayveil.arrays import Floats
from wayveil.errors import ParameterError, RefusedError
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.tallies import tally
from wayveil.trips.trips import Trips
from wayveil.world.districts import Districts, read_districts

# Questions whose rows are stops.
AT_STOPS: Final = ("boardings", "alightings", "through", "transfers")
# Questions whose rows have an order of their own.
IN_ORDER: Final = (*CLASS, "lengths", "hours")
# Questions of which every row may have been counted by itself, by the name of those counts.
COUNTED: Final = {"hours": "departures", "districts": "districts"}
# Trips that pass a stop are judged as its visits where they are this share of all visits.
ONCE: Final = 0.98
# Columns that stand beside the answer.
BESIDE: Final = ("seats", "per_seat", "raw", "plain_laplace")
# The kind of question of which the answer shows cells; a tap is a visit and a boarding.
TRIP_KINDS: Final = {
    "boardings": "boardings",
    "alightings": "alightings",
    "journeys": "journeys",
    "lengths": "lengths",
}
# Questions that show no cells of a kind are made of those of one.
MADE_OF: Final = {
    "through": "stops",
    "transfers": "triples",
    "line-load": "edges",
    "districts": "alightings",
    "durations": "visits",
    "distances": "visits",
    "hours": "hours",
}
HIDDEN: Final = (
    "Trips that change lines at each stop: noise; do not use. They are fewer than what the release may have wrong in "
    "runs of three stops, of which they are made."
)
SHARED: Final = (
    "Where several lines share a stretch, its trips are shared out by how often each runs in the timetable."
)


Adding = Callable[[JudgedRelease, TripQuestion, pl.DataFrame, Period | None], pl.DataFrame]


def answer_trips(
    release: JudgedRelease, asked: Asked, *, anyway: bool = False, add: Adding | None = None
) -> Answer:
    """Answer a question about trips, if asked by hour, day or weekday; lists of pairs end after `top`.

    Filters look at the visit at which a trip falls into a cell: where it boards, alights, changes. With a timetable,
    line-load stands beside the seats that ran. Columns that are added make the answer internal.
    """
    release, by, filters = release.whole, asked.period, asked.filters
    _refuse_filters(asked)
    # At stops that have rows of their own, a filter picks rows, and their intervals hold as they are.
    picks = asked.question in AT_STOPS and bool(filters.given) and not set(filters.given) - set(PLACES)
    question = _resolve(release, asked, NO_FILTERS if picks else filters)
    counts = count_cells(question, release.trips, by, release.each_stands_for)
    counted = (
        None if filters.given or by or add else counted_kind(release, asked.question, question.districts)
    )
    if counted is not None:
        counts = _every_cell(release, counted, counts)
    table = make_table(question, release.trips, counts, by)
    exact = trip_kind(release, asked.question, by) if picks or not filters.given else None
    if asked.question == "through" and not question.filters.given and by is None:
        # Where hardly any trip comes back to a stop, those that pass it are its visits.
        once = counts["n"].sum() >= ONCE * release.trips.visits * release.each_stands_for
        exact = "stops" if once else None
    listed = counted is not None or asked.question in ("journeys", "lengths")
    cells = counts["cell"].to_numpy() if listed else np.arange(len(table))
    pairs = None if exact or counted else _pairs(release, question, table, by)
    if asked.question in AT_STOPS and (kept := _at_stops(table, filters, release)) is not None:
        table, cells = table.filter(pl.Series(kept)), cells[kept]
    judged = judge_numbers(
        release,
        Numbers(
            asked.title(taps=release.visits_are_taps),
            table["answer"].to_numpy().astype(np.float64),
            exact or _made_of(release, asked.question, by),
            None if exact is None and counted is None else cells,
            pairs=pairs,
            counted=counted,
            whole=asked.over is None,
            blurred=_blur(release, asked, table),
        ),
        anyway=anyway,
    )
    low, high = judged.whole_ends()
    answer = pl.Series(judged.values).cast(table["answer"].dtype)
    table = table.with_columns(answer=answer, low=low, high=high)
    if asked.question not in IN_ORDER:
        table = table.with_columns(**judged.rank_columns())
    if add is not None:
        table = add(release, question, table, by)
    extra = [name for name in BESIDE if name in table.columns]
    numbers = [name for name in ("answer", "low", "high", "best_rank", "worst_rank") if name in table.columns]
    keys = [name for name in table.columns if name not in (*numbers, *extra)]
    table = table.select(*keys, *numbers, *extra)
    table = _sort(asked, table)
    note = _note(release, asked.question, judged, anyway=anyway)
    return Answer(asked.question, table, note, internal=add is not None)


def counted_kind(release: JudgedRelease, question: str, districts: Districts | None = None) -> str | None:
    """Name the noisy counts of exactly the rows of this answer; None where the release has none."""
    kind, model = COUNTED.get(question), release.model
    if kind is None or not isinstance(model, CountsCells) or "rewritten_by" in release.datasheet:
        return None
    if districts is not None and not np.array_equal(getattr(model, "districts", None), districts.of_place):  # type: ignore[arg-type]
        return None  # other districts than those that were counted
    return kind if isinstance(model.counted(kind), AllCounted) else None


def _every_cell(release: JudgedRelease, kind: str, counts: pl.DataFrame) -> pl.DataFrame:
    """Add the counted cells that no released trip falls into."""
    assert isinstance(release.model, CountsCells)
    counted = release.model.counted(kind)
    assert isinstance(counted, AllCounted)
    every = pl.DataFrame({"cell": np.arange(len(counted.values))})
    return every.join(counts, on="cell", how="left", maintain_order="left").with_columns(
        pl.col("n").fill_null(0)
    )


def _made_of(release: JudgedRelease, question: str, by: Period | None) -> str | None:
    """The kind of question of which the numbers of another are made: those at a stop by hour, of stops and hours."""
    if by is not None and question in AT_STOPS:
        return "stop-hours"
    if question in CLASS and "visits" not in release.accuracy.bands:
        return "lengths"  # without intervals, classes are worth no more than numbers of stops
    return MADE_OF.get(question) or trip_kind(release, question)


def _pairs(
    release: JudgedRelease, asked: TripQuestion, table: pl.DataFrame, by: Period | None
) -> tuple[Floats, Floats] | None:
    """The rows of an answer, each beside the same row of the release made again; rows of either have both."""
    again = release.accuracy.again
    if again is None:
        return None
    keys = [name for name in table.columns if name not in ("answer", *BESIDE)]
    if asked.question == "line-load":
        # The busiest stretch may be another one; what is compared is how full the line gets.
        keys = [name for name in keys if name not in ("from", "to")]
    other = make_table(asked, again, count_cells(asked, again, by), by)
    both = table.select(*keys, "answer").join(
        other.select(*keys, again="answer"),
        on=keys,
        how="full" if keys else "cross",
        coalesce=True,
        maintain_order="left_right",
    )
    return tuple(both[name].fill_null(0).to_numpy().astype(np.float64) for name in ("answer", "again"))  # type: ignore[return-value]


def _blur(release: JudgedRelease, asked: Asked, table: pl.DataFrame) -> Floats | None:
    """Deviation of the rows of an answer that the release made again does not show; None: none is known."""
    values = table["answer"].to_numpy().astype(np.float64)
    if asked.question == "districts":
        return INSIDE * values * (table["from"] == table["to"]).to_numpy()
    if asked.question in CLASS and asked.over is None and not asked.by:
        place = (table[f"from_{UNIT[asked.question]}"] // CLASS[asked.question]).to_numpy().astype(np.int64)
        return blur_classes(values, place, least_together(release.model))
    return None


def _resolve(release: JudgedRelease, asked: Asked, filters: Filters) -> TripQuestion:
    """The question in the numbers of a release."""
    districts = None
    if asked.question == "districts":
        if asked.filters.districts is None:
            raise ParameterError(
                "say which stop lies in which district, with --districts FILE: "
                "a csv with stop_id and district, or a GeoJSON"
            )
        districts = read_districts(asked.filters.districts, release.world)
    service = find_service(release, asked.ran)
    return TripQuestion(asked.question, districts, asked.over, release.visits_are_taps, filters, service)


def _sort(asked: Asked, table: pl.DataFrame) -> pl.DataFrame:
    """The largest numbers first; classes of sizes stay in their order."""
    if asked.question == "districts":
        table = table.filter(pl.col("answer") > 0)
    if asked.question not in IN_ORDER:
        table = table.sort("answer", descending=True, maintain_order=True)
    return table.head(asked.top) if asked.question in ("journeys", "districts") else table


def _note(release: JudgedRelease, question: str, judged: Judged, *, anyway: bool) -> str:
    """Say what to know of the numbers; changes of line that the error of the release alone may make are refused."""
    note = f"{judged.words} {SHARED}" if question == "line-load" else judged.words
    triples = release.accuracy.of("triples") if question == "transfers" else None
    if triples is None or not _are_hidden(release.trips, triples):
        return note
    if not anyway:
        raise RefusedError(f"{HIDDEN} {WANTED}")
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


def _refuse_filters(asked: Asked) -> None:
    asked.filters.refuse_others(
        asked.question,
        (*TIMES, *PLACES, *(("route",) if asked.question == "line-load" else ())),
        "which line a trip takes is not known from its stops; line-load knows lines, and releases of taps count them",
    )


def _at_stops(table: pl.DataFrame, filters: Filters, release: JudgedRelease) -> NDArray[np.bool_] | None:
    """Which rows are of stops that are asked for; None: all."""
    places = filters.resolve_stops(release.world)
    if places is None:
        return None
    return table["stop_id"].is_in(release.world.ids[places].tolist()).to_numpy()


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
