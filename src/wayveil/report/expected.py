"""How far off a release is expected to be, as a table of its report: computed from what is published anyway."""

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.report.answers_view import AnswerTable
from wayveil.synthesis.model import ExpectedError

_HEADS = ("", "In one of them", "Off by", "In percent", "Not from noise", "Cells")
_NOTE = (
    "Known without looking at the raw trips: the released trips are measured with the same noise and woven again, and "
    "what then changes is how far noise carries. What is not from noise is what the drawn trips cannot express; the "
    "released trips miss the noisy answers by so much more than noise would. A star marks a guess: noise hides it. "
    "The list of what the release can be used for takes these errors times what they were off on simulated towns."
)


def expected_table(release: JudgedRelease) -> AnswerTable | None:
    """The errors to expect, by kind of question; nothing where the model cannot tell."""
    if release.expected is None:
        return None
    return AnswerTable(
        "expected-error",
        "Mean error by kind of question",
        _HEADS,
        [_row(error) for error in release.expected],
        _NOTE,
        _data(release.expected),
    )


def _data(errors: tuple[ExpectedError, ...]) -> pl.DataFrame:
    """The numbers of the page and no others: what it calls percent is percent here."""
    table = pl.DataFrame(errors).drop("relative")
    return table.with_columns(percent=100 * pl.col("off") / pl.col("mean").clip(1e-9))


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
