"""Makes the release of a cell and measures it. One examiner per process, prepared once with the raw trips."""

import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from wayveil.errors import WayveilError
from wayveil.lab.comparison.comparison_cells import PLAIN_LAPLACE, ComparisonCell
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Unit
from wayveil.releases.order import UnitChoice, choose_unit
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.utility.figures import Figures, Measure, reference_trips
from wayveil.utility.operations import Operations
from wayveil.utility.suite import CountQueries, Suite, questions
from wayveil.world.timebins import TimeBins

SCHEMA: dict[str, Any] = {
    "mechanism": pl.String,
    "parameters": pl.String,
    "epsilon": pl.Float64,
    "repetition": pl.Int64,
    "status": pl.String,
    "message": pl.String,
    "question": pl.String,
    "key": pl.String,
    "label": pl.String,
    "better": pl.String,
    "value": pl.Float64,
    "private_trips": pl.Int64,
    "release_seconds": pl.Float64,
    "score_seconds": pl.Float64,
}


# Which questions a suite holds. Raised when one is added, so that no folder mixes cells that were asked differently.
QUESTIONS = 2


@dataclass(frozen=True)
class Settings:
    """Settings by which cells are measured; the same for all cells of one folder.

    `most_pairs` bounds the sample of the earth mover's distance, which is the slowest figure by far; `unasked` are
    titles of questions to leave out.
    """

    suite: Suite = "full"
    queries: int = 10_000
    max_length: int = 4
    most_pairs: int = 500
    unit: Unit | None = None
    unasked: tuple[str, ...] = ()
    seed: int = 0

    def describe(self) -> dict[str, object]:
        """Describe it as stored beside the results."""
        return {
            **asdict(self),
            "unit": None if self.unit is None else repr(self.unit),
            "questions": QUESTIONS,
        }


class Examiner:
    """Raw trips and the questions about them, ready for any number of cells."""

    def __init__(self, raw: Trips, settings: Settings) -> None:
        self.raw, self.settings = raw, settings
        self.unit = choose_unit(UnitChoice(settings.unit), raw)
        asked = questions(
            raw,
            suite=settings.suite,
            counting=CountQueries(settings.queries, settings.max_length),
            most_pairs=settings.most_pairs,
            seed=settings.seed,
        )
        self.questions: list[Figures] = [one for one in asked if one.title not in settings.unasked]

    def examine(self, cell: ComparisonCell) -> pl.DataFrame:
        """The measures of one cell as rows; one row with a message for a cell that cannot be.

        A refusal (these trips carry no times) is a result and stays. A failure is a defect, or a machine that
        ran out of memory: it is kept for reading, and tried again by the next run.
        """
        try:
            return self._measure(cell)
        except WayveilError as error:
            return _rows(cell, [{"status": "refused", "message": str(error)}])
        except Exception as error:
            return _rows(cell, [{"status": "failed", "message": f"{type(error).__name__}: {error}"}])

    def _measure(self, cell: ComparisonCell) -> pl.DataFrame:
        if cell.name == PLAIN_LAPLACE:
            return self._plain_laplace(cell)
        begin = time.perf_counter()
        private = self._trips(cell)
        made = time.perf_counter()
        answers = [(asked.title, m) for asked in self.questions for m in asked.measure(private)]
        facts = {
            "private_trips": len(private),
            "release_seconds": made - begin,
            "score_seconds": time.perf_counter() - made,
        }
        return _measured(cell, answers, facts)

    def _trips(self, cell: ComparisonCell) -> Trips:
        raw, seed = self.raw, self.settings.seed + 1 + cell.repetition
        if cell.mechanism is None or cell.epsilon is None:
            return reference_trips(cell.name, raw, seed, None if raw.time is None else TimeBins.hour_of_day())
        # These releases never leave the process, so their noise may be repeatable; it then protects nobody.
        return release(
            raw,
            cell.mechanism,
            epsilon=cell.epsilon,
            unit=self.unit,
            bits=SeededBits(f"{self.settings.seed} {cell.key}"),
            seed=int(cell.key[:12], 16),
        ).trips

    def _plain_laplace(self, cell: ComparisonCell) -> pl.DataFrame:
        trips_per_unit = int(getattr(self.unit, "max_trips", 1))
        answers = [
            (asked.title, m)
            for asked in self.questions
            if isinstance(asked, Operations)
            for m in asked.plain_laplace(
                Fraction(cell.epsilon or 1), trips_per_unit=trips_per_unit, seed=cell.repetition
            )
        ]
        return (
            _measured(cell, answers, {}) if answers else _rows(cell, [{"status": "refused", "message": ""}])
        )


def _measured(
    cell: ComparisonCell, answers: list[tuple[str, Measure]], facts: dict[str, Any]
) -> pl.DataFrame:
    rows = [
        {"status": "measured", "question": title, **asdict(measure), **facts} for title, measure in answers
    ]
    return _rows(cell, rows)


def _rows(cell: ComparisonCell, rows: list[dict[str, Any]]) -> pl.DataFrame:
    about = cell.describe()
    frame = pl.DataFrame([{**about, **row} for row in rows], schema=SCHEMA, infer_schema_length=None)
    return frame.with_columns(pl.col("value").fill_nan(None))
