"""True answers beside the released ones, and what the plain Laplace mechanism has for the same epsilon. Internal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import GROUPED, Answer, answer_question
from wayveil.answers.load import all_seats
from wayveil.answers.plain_laplace import plain_answer, plain_unit
from wayveil.answers.seats import SEATS, Seats
from wayveil.answers.visit_counts import network_of, route_boardings
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
    routes: NDArray[np.float64] | None = None
    bits: Bits | None = None

    def __call__(
        self, release: JudgedRelease, question: str, *, top: int = 20, seats: Seats = SEATS
    ) -> Answer:
        """The answer with the columns `raw` and `plain_laplace`, whose noise has all of epsilon for this question."""
        check_comparable(self.raw, release.trips)
        answer = answer_question(release, question, top=top, seats=seats)
        beside = self._beside(release, question, answer.table, seats)
        table = answer.table.with_columns(**{name: pl.Series(column) for name, column in beside.items()})
        return Answer(question, table, f"{answer.note} {NOTICE}", internal=True)

    def _beside(
        self, release: JudgedRelease, question: str, shown: pl.DataFrame, seats: Seats
    ) -> dict[str, NDArray[Any]]:
        raw, world = self.raw, release.world
        unit, cap = plain_unit(release.datasheet, with_riders=raw.rider is not None)
        if question in ("routes", "load"):
            return self._routes(release, shown, seats if question == "load" else None)
        if question in ("pairs", "triples"):
            grams = np.stack(
                [world.index_of(shown[name]) for name in shown.columns if name[:5] == "stop_"], axis=1
            )
            place = np.arange(len(grams))

            def count(trips: Trips) -> NDArray[np.float64]:
                return count_runs(Runs(grams), trips)
        else:
            place = _cells(shown, world.index_of(shown["stop_id"]) if "stop_id" in shown.columns else None)

            def count(trips: Trips) -> NDArray[np.float64]:
                found = count_visits(Visits(GROUPED[question]), trips)
                assert found is not None  # no question groups by route here
                return found

        bits = secure_bits() if self.bits is None else self.bits
        counted = unit.bound(raw if cap is None else raw.cut(cap), bits)
        plain = plain_answer(release.datasheet, unit, cap, count(counted), self.bits)
        return {"raw": count(raw)[place], "plain_laplace": plain[place]}

    def _routes(
        self, release: JudgedRelease, shown: pl.DataFrame, seats: Seats | None
    ) -> dict[str, NDArray[Any]]:
        network = network_of(release.world)
        unit, cap = plain_unit(release.datasheet, with_riders=self.raw.rider is not None)
        order = {name: at for at, name in enumerate(network.route_ids.tolist())}
        place = np.array([order[name] for name in shown["route_id"]], np.int64)
        places = np.ones(len(network.route_ids)) if seats is None else all_seats(network, seats)
        true = route_boardings(self.raw, network) if self.routes is None else self.routes
        beside: dict[str, NDArray[Any]] = {"raw": (true / places)[place]}
        if self.routes is not None and cap is None:
            # A tap that is shared out by the timetable moves many routes; the plain mechanism has no answer to it.
            noisy = plain_answer(release.datasheet, unit, cap, self.routes, self.bits)
            beside["plain_laplace"] = (noisy / places)[place]
        return beside


def _cells(shown: pl.DataFrame, stop: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """The cell of every row: stops first, then hours."""
    hour = shown["hour"].to_numpy() if "hour" in shown.columns else None
    if stop is None:
        return np.zeros(shown.height, np.int64) if hour is None else hour.astype(np.int64)
    return stop.astype(np.int64) if hour is None else stop.astype(np.int64) * 24 + hour
