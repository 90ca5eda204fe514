"""Charts of a comparison with a parameter on the x axis: a height, a share, a number of bins."""

import numpy as np
import polars as pl

from wayveil.lab.comparison.comparison_charts import (
    GREY,
    LEAST_FOR_A_BAND,
    REFERENCE_STYLE,
    canvas,
    draw_svg,
    line_style,
    value_axis,
)
from wayveil.lab.comparison.comparison_results import Comparison
from wayveil.lab.comparison.varied import curves_over
from wayveil.report.chart import Chart

_LOG_SPAN = 30


def error_against_parameter(
    comparison: Comparison, key: str, parameter: str, *, name: str, title: str = ""
) -> Chart:
    """One figure of every mechanism that has the parameter, a line per epsilon, with 95 % bands."""
    figure = next(one for one in comparison.figures if one["key"] == key)
    lines = curves_over(comparison, key, parameter)
    picture, axes = canvas()
    rows: list[dict[str, object]] = []
    for number, (label, places) in enumerate(lines.items()):
        style = line_style(number)
        axes.plot(
            [place.x for place in places], [place.point.value for place in places], label=label, **style
        )
        banded = [
            (place.x, place.point.low, place.point.high)
            for place in places
            if place.point.repetitions >= LEAST_FOR_A_BAND
        ]
        if banded:
            axes.fill_between(*np.array(banded, np.float64).T, color=style["color"], alpha=0.15, lw=0)
        rows += [{parameter: place.x, **vars(place.point)} for place in places]
    references = comparison.references(key)
    for line, value in references.items():
        axes.axhline(value, color=GREY, lw=1, linestyle=REFERENCE_STYLE[line])
        axes.annotate(
            line, (1, value), xycoords=("axes fraction", "data"), fontsize=7, color=GREY, va="bottom"
        )
    value_axis(axes, [*(float(str(row["value"])) for row in rows), *references.values()])
    xs = sorted({place.x for places in lines.values() for place in places})
    if xs[0] > 0 and xs[-1] / xs[0] > _LOG_SPAN:
        axes.set_xscale("log")
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()
    axes.set_xlabel(parameter.replace("_", " "), fontsize=8)
    axes.set_ylabel(f"{figure['label']}\n({figure['better']} is better)", fontsize=8)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.08, 0.5))
    alt = (
        f"{title + ': ' if title else ''}{figure['label']} against {parameter} for {len(lines)} settings, "
        f"from {xs[0]:g} to {xs[-1]:g}."
    )
    return Chart(name, draw_svg(picture, name), pl.DataFrame(rows, infer_schema_length=None), alt)
