"""Numbers of trips and of visits, as they were bought where they were, each by its name."""

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import Judged, Numbers, judge_numbers
from wayveil.accuracy.paid_sizes import paid_numbers
from wayveil.answers.questions import say_visits
from wayveil.errors import RefusedError
from wayveil.synthesis.estimates import Estimate

_ZERO = np.zeros(1, np.int64)


def count_totals(release: JudgedRelease, *, anyway: bool) -> tuple[pl.DataFrame, str]:
    """A row for trips and one for visits, and what to know of them; refused where neither is worth having."""
    rows: list[dict[str, object]] = []
    said: list[str] = []
    refused: list[RefusedError] = []
    for kind, what in (("total", "trips"), ("visits", say_visits(release))):
        try:
            value, judged = judge_total(release, kind, anyway=anyway)
        except RefusedError as error:
            refused.append(error)
            continue
        low, high = (end[0] for end in judged.whole_ends())
        rows.append({"what": what, "answer": round(value), "low": low, "high": high})
        said.append(judged.said if said else judged.words)
    if not rows:
        raise refused[0]
    kinds = {"what": pl.String, "answer": pl.Int64, "low": pl.Int64, "high": pl.Int64}
    return pl.DataFrame(rows, schema=kinds), " ".join([*said, *map(str, refused)]).strip()


def judge_total(release: JudgedRelease, kind: str, *, anyway: bool = False) -> tuple[float, Judged]:
    """The number of trips (`total`) or of `visits`, as it was bought, or else as the released trips have it."""
    release = release.whole
    shown = float(len(release.trips) if kind == "total" else release.trips.visits) * release.each_stands_for
    known: Estimate | None = paid_numbers(release).get(kind)
    value = shown if known is None else float(known.values[0])
    asked = Numbers(kind, np.array([value]), kind, _ZERO, known=known)
    return value, judge_numbers(release, asked, anyway=anyway)
