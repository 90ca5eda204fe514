"""How far off a woven release is expected to be, as a table of its report: computed from what is published anyway."""

from typing import Any

import polars as pl

from wayveil.report.answers_view import AnswerTable
from wayveil.synthesis.weave.expected_error import ExpectedError, expected_errors
from wayveil.synthesis.weave.measurements import Measurements
from wayveil.synthesis.weave.settings import Generation
from wayveil.trips.trips import Trips

MADE_BY = "weave"
_HEADS = ("", "In one of them", "Off by", "In percent", "Not from noise", "Cells")
_NOTE = (
    "Known without looking at the raw trips: the released trips are measured with the same noise and woven again, and "
    "what then changes is how far noise carries. What is not from noise is what the drawn trips cannot express; the "
    "released trips miss the noisy answers by so much more than noise would. A star marks a guess: noise hides it."
)


def expected_table(private: Trips, model: pl.DataFrame, datasheet: dict[str, Any]) -> AnswerTable | None:
    """The errors to expect of a release by Weave, by kind of question; nothing for other mechanisms, or no trips."""
    mechanism = datasheet.get("mechanism", {})
    if mechanism.get("name") != MADE_BY or len(private) == 0:
        return None
    settings = Generation(**mechanism.get("parameters", {}).get("generation", {}))
    found = expected_errors(Measurements.of_table(model, private.world, settings), private, seed=0)
    return AnswerTable(
        "expected-error",
        "Mean error by kind of question",
        _HEADS,
        [_row(error) for error in found],
        _NOTE,
        pl.DataFrame(found),
    )


def _row(error: ExpectedError) -> tuple[str, ...]:
    what = error.question[:1].upper() + error.question[1:]
    guess = "" if error.seen else " *"
    return (
        what,
        _number(error.mean),
        f"± {_number(error.off)}",
        f"{100 * error.off / max(error.mean, 1e-9):.2g} %",
        f"{_number(error.unexplained)}{guess}",
        f"{error.cells:,}",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
