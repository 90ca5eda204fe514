"""True answers beside the released ones, and what the plain Laplace mechanism has for the same epsilon. Internal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import GROUPED, Answer, answer_question
from wayveil.answers.asked import Asked
from wayveil.answers.load import all_seats
from wayveil.answers.plain_laplace import plain_answer, plain_unit
from wayveil.answers.questions import is_about_trips
from wayveil.answers.trip_cells import ONCE, TripQuestion
from wayveil.answers.trip_periods import Period
from wayveil.answers.trip_questions import answer_trips, count_cells
from wayveil.answers.trip_tables import make_table
from wayveil.answers.visit_counts import network_of, route_boardings
from wayveil.arrays import Floats, Int32s, Ints
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.synthesis.estimates import Runs, Visits, count_runs, count_visits
from wayveil.trips.trips import Trips
from wayveil.utility.figures import check_comparable

NOTICE = "Not for publication: raw answers stand beside the released ones."


@dataclass(frozen=True, eq=False)
class RawAnswers:
    """Answers questions as `answer_question` does, and sets the raw ones beside.

    raw     sequences of taps, or trips
    routes  taps per route of the feed, where the raw rows tell it
    """

    raw: Trips
    routes: Floats | None = None
    bits: Bits | None = None

    def __call__(self, release: JudgedRelease, asked: Asked, *, anyway: bool = False) -> Answer:
        """Answer a question with the columns `raw` and `plain_laplace`, whose noise has all of epsilon."""
        check_comparable(self.raw, release.trips)
        if is_about_trips(asked.question, taps=release.visits_are_taps):
            return answer_trips(release, asked, anyway=anyway, add=self.add_trips)
        answer = answer_question(release, asked, anyway=anyway)
        beside = self._beside(release, asked, answer.table)
        table = answer.table.with_columns(**{name: pl.Series(column) for name, column in beside.items()})
        return Answer(asked.question, table, f"{answer.note} {NOTICE}", internal=True)

    def add_trips(
        self, release: JudgedRelease, asked: TripQuestion, table: pl.DataFrame, by: Period | None
    ) -> pl.DataFrame:
        """Add the raw answer to a question about trips, and the one that plain Laplace noise gives if it has any."""
        raw = self.raw
        sides = {"raw": count_cells(asked, raw, by)}
        noisy = self._plain_trips(release, asked, by)
        if noisy is not None:
            sides["plain_laplace"] = noisy
        keys = [
            name for name in table.columns if name not in ("answer", "low", "high", "best_rank", "worst_rank")
        ]
        for name, counts in sides.items():
            other = make_table(asked, raw, counts, by).rename({"answer": name})
            if asked.question == "line-load":
                # The busiest stretch may be another one; what is compared is how full the line gets.
                other = other.drop("from", "to")
            on = [key for key in keys if key in other.columns]
            table = table.join(other, on=on, how="full" if on == keys else "left", coalesce=True)
        return table.with_columns(pl.col("answer", *sides).fill_null(0))

    def _plain_trips(
        self, release: JudgedRelease, asked: TripQuestion, by: Period | None
    ) -> pl.DataFrame | None:
        """Counts with all of epsilon as plain Laplace noise, on the cells that the release or the raw trips have.

        None where the price is not in epsilon, or where single visits are protected: one of them moves the ends of a
        trip.
        """
        raw = self.raw
        if release.datasheet["guarantee"].get("epsilon") is None:
            return None
        unit, cap = plain_unit(release.datasheet, with_riders=raw.rider is not None)
        if cap is None and not (asked.taps and asked.question == "boardings"):
            return None
        bits = secure_bits() if self.bits is None else self.bits
        counted = unit.bound(raw if cap is None else raw.cut(cap), bits)
        cells = ["cell"] if by is None else ["cell", "period"]
        sides = [count_cells(asked, side, by).select(cells) for side in (release.trips, raw)]
        known = pl.concat(sides).unique().sort(cells)
        exact = known.join(count_cells(asked, counted, by), on=cells, how="left")
        exact = exact.with_columns(pl.col("n").fill_null(0))
        per_trip = 1 if asked.question in ONCE and cap is not None else cap
        values = exact["n"].to_numpy().astype(float)
        noisy = plain_answer(release.datasheet, unit, per_trip, values, self.bits)
        return exact.with_columns(n=pl.Series(noisy))

    def _beside(self, release: JudgedRelease, asked: Asked, shown: pl.DataFrame) -> dict[str, NDArray[Any]]:
        question = asked.question
        raw, world = self.raw, release.world
        unit, cap = plain_unit(release.datasheet, with_riders=raw.rider is not None)
        if question == "total" and "what" in shown.columns:
            true = {"trips": len(raw)}
            return {"raw": np.array([true.get(what, raw.visits) for what in shown["what"]], np.float64)}
        if question in ("routes", "load"):
            return self._routes(release, shown, asked)
        if question in ("pairs", "triples"):
            grams = np.stack(
                [world.index_of(shown[name]) for name in shown.columns if name[:5] == "stop_"], axis=1
            )
            place = np.arange(len(grams))

            def count(trips: Trips) -> Floats:
                return count_runs(Runs(grams), trips)
        else:
            place = _cells(shown, world.index_of(shown["stop_id"]) if "stop_id" in shown.columns else None)

            def count(trips: Trips) -> Floats:
                found = count_visits(Visits(GROUPED[question]), trips)
                assert found is not None  # no question groups by route here
                return found

        bits = secure_bits() if self.bits is None else self.bits
        counted = unit.bound(raw if cap is None else raw.cut(cap), bits)
        plain = plain_answer(release.datasheet, unit, cap, count(counted), self.bits)
        return {"raw": count(raw)[place], "plain_laplace": plain[place]}

    def _routes(self, release: JudgedRelease, shown: pl.DataFrame, asked: Asked) -> dict[str, NDArray[Any]]:
        network = network_of(release.world)
        unit, cap = plain_unit(release.datasheet, with_riders=self.raw.rider is not None)
        order = {name: at for at, name in enumerate(network.route_ids.tolist())}
        place = np.array([order[name] for name in shown["route_id"]], np.int64)
        places = np.ones(len(network.route_ids))
        if asked.question == "load":
            places = all_seats(network, asked.ran.seats)
        true = route_boardings(self.raw, network) if self.routes is None else self.routes
        beside: dict[str, NDArray[Any]] = {"raw": (true / places)[place]}
        if self.routes is not None and cap is None:
            # A tap that is shared out by the timetable moves many routes; the plain mechanism has no answer to it.
            noisy = plain_answer(release.datasheet, unit, cap, self.routes, self.bits)
            beside["plain_laplace"] = (noisy / places)[place]
        return beside


def _cells(shown: pl.DataFrame, stop: Int32s | None) -> Ints:
    """The cell of every row: stops first, then hours."""
    hour = shown["hour"].to_numpy() if "hour" in shown.columns else None
    if stop is None:
        return np.zeros(shown.height, np.int64) if hour is None else hour.astype(np.int64)
    return stop.astype(np.int64) if hour is None else stop.astype(np.int64) * 24 + hour
