"""Where each mechanism of a comparison stands, everybody at the best of their settings."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from wayveil.lab.comparison.comparison_cells import REFERENCES
from wayveil.lab.comparison.comparison_results import Comparison, Point, apart

Verdict = Literal["ahead", "level", "behind"]
_CELL = ["mechanism", "epsilon", "key"]


def best_settings(comparison: Comparison) -> pl.DataFrame:
    """For every mechanism, epsilon and figure the parameters whose mean over the repetitions is best.

    Chosen with the answer in view, figure by figure: more than any user could have, so that nobody loses for a
    parameter.
    """
    rows = comparison.table.drop_nulls(["key", "value"]).filter(~pl.col("mechanism").is_in(REFERENCES))
    sign = pl.when(pl.col("better").first() == "lower").then(1.0).otherwise(-1.0)
    means = rows.group_by([*_CELL, "parameters"]).agg((sign * pl.col("value").mean()).alias("loss"))
    return means.sort("loss", "parameters").unique(_CELL, keep="first", maintain_order=True).drop("loss")


def at_best(comparison: Comparison) -> Comparison:
    """Return the same table with one line per mechanism, which on each figure is that of its best parameters."""
    best = best_settings(comparison)
    kept = comparison.table.join(
        best, on=[*_CELL, "parameters"], how="semi", nulls_equal=True, maintain_order="left"
    )
    others = comparison.table.filter(pl.col("mechanism").is_in(REFERENCES))
    return Comparison(pl.concat([kept.with_columns(parameters=pl.lit("{}")), others]), comparison.notice)


@dataclass(frozen=True)
class Standing:
    """One mechanism on one figure at one epsilon, and the best of the others.

    `clear` says that the two 95 % intervals lie apart; without intervals (one release) nothing is clear.
    """

    own: Point
    rival: Point | None
    verdict: Verdict
    clear: bool


def standings(comparison: Comparison, mechanism: str) -> list[Standing]:
    """Return how a mechanism compares with the best of all others, for every figure and epsilon that it has."""
    better = {figure["key"]: figure["better"] for figure in comparison.figures}
    rivals: dict[tuple[str, float | None], Point] = {}
    for point in comparison.points:
        if point.mechanism == mechanism or point.mechanism in REFERENCES:
            continue
        place = (point.key, point.epsilon)
        if place not in rivals or _loss(point, better) < _loss(rivals[place], better):
            rivals[place] = point
    found = []
    for own in comparison.points:
        if own.mechanism == mechanism:
            rival = rivals.get((own.key, own.epsilon))
            gap = 0.0 if rival is None else _loss(own, better) - _loss(rival, better)
            verdict: Verdict = "level" if gap == 0 and rival else "behind" if gap > 0 else "ahead"
            found.append(Standing(own, rival, verdict, rival is not None and apart(own, rival)))
    return found


def _loss(point: Point, better: dict[str, str]) -> float:
    return point.value if better[point.key] == "lower" else -point.value
