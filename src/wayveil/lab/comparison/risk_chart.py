"""One picture of a dataset: risk, and STRAP, against the error of range counts, a banded curve per mechanism."""

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from wayveil.lab.comparison.comparison_charts import COLOURS, DASHES, GREY, MARKERS, draw_svg
from wayveil.lab.comparison.risk_curves import FIGURES, RiskComparison
from wayveil.report.chart import Chart


def risk_chart(comparison: RiskComparison, *, name: str = "risk", title: str = "") -> Chart:
    """Linkage risk on the left, STRAP on the right; reference lines are dotted. Less risk and more STRAP are safer."""
    picture = Figure(figsize=(9.5, 3.6), layout="constrained")
    rows: list[dict[str, object]] = []
    for axes, figure in zip(picture.subplots(1, 2), ("linkage", "strap_500"), strict=True):
        for number, (label, line) in enumerate(comparison.curves(figure).items()):
            error, value, low, high = (
                np.array([point[part] for point in line]) for part in ("error", "value", "low", "high")
            )
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
            axes.plot(
                error, value, label=label, linestyle=DASHES[number % len(DASHES)], ms=4, lw=1.2, **style
            )
            axes.fill_between(error, low, high, color=style["color"], alpha=0.15, lw=0)
            rows += [{"figure": figure, "name": label, **point} for point in line]
        for line_name, level in comparison.references(figure).items():
            rows.append({"figure": figure, "name": line_name, "value": level})
            if line_name == "empty" and figure != "linkage":
                continue  # so far above the others that nothing else could be seen; it stands in the table
            axes.axhline(level, color=GREY, lw=0.8, linestyle=":")
            axes.annotate(line_name, (1, level), xycoords=("axes fraction", "data"), fontsize=6, color=GREY)
        axes.set_xscale("log")
        axes.set_xlabel("mean relative error of range counts", fontsize=8)
        axes.set_ylabel(FIGURES[figure], fontsize=8)
        axes.tick_params(labelsize=7)
    picture.axes[0].legend(fontsize=7, frameon=False)
    picture.suptitle(title, fontsize=10)
    curves = len(comparison.curves("linkage"))
    alt = f"{title + ': ' if title else ''}linkage risk and STRAP against the error of range counts, {curves} curves."
    return Chart(name, draw_svg(picture, name), pl.DataFrame(rows, infer_schema_length=None), alt)


def save_risk_chart(comparison: RiskComparison, folder: str | Path, *, title: str = "") -> list[Path]:
    """The picture and its numbers as csv."""
    return list(risk_chart(comparison, title=title).save(folder))
