"""Charts of a comparison as SVG, each with its data and a text for those who do not see it.

Drawn with matplotlib. Colours are those of Okabe and Ito, which people with colour-blindness tell apart; where
there are more lines than colours, markers and dashes go on. The same data give the same bytes.
"""

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from wayveil.lab.comparison.comparison_cells import PLAIN_LAPLACE
from wayveil.lab.comparison.comparison_results import Comparison, Point, curves_over
from wayveil.lab.comparison.recommend import HEADLINES
from wayveil.lab.comparison.risk_curves import FIGURES, RiskComparison
from wayveil.report.chart import Chart
from wayveil.utility.figures import CEILING, EMPTY, FLOOR

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h")
DASHES = ("-", "--", "-.", ":")
REFERENCE_STYLE = {CEILING: "-", FLOOR: "--", EMPTY: ":"}
GREY = "#6b6b6b"
LEAST_FOR_A_BAND = 3  # the interval of two values is wider than any picture


def error_against_epsilon(comparison: Comparison, key: str, *, name: str, title: str = "") -> Chart:
    """One figure of every mechanism against epsilon, with 95 % bands, between the reference lines."""
    lines = comparison.curves(key)
    places = _places(comparison)
    plain = {"color": GREY, "marker": "x", "linestyle": "-."}
    styles = {label: plain if label == PLAIN_LAPLACE else line_style(places[label]) for label in lines}
    drawn = {label: [(float(p.epsilon or 0), p) for p in points] for label, points in lines.items()}
    picture, axes, rows = _against(comparison, key, drawn, styles, title)
    _epsilon_axis(axes, comparison.epsilons)
    figure = _figure(comparison, key)
    best = _best(lines, figure["better"])
    alt = f"{title + ': ' if title else ''}{figure['label']} against epsilon for {_count(lines)}. {best}"
    return Chart(name, draw_svg(picture, name), pl.DataFrame(rows, infer_schema_length=None), alt)


def _figure(comparison: Comparison, key: str) -> dict[str, str]:
    return next(one for one in comparison.figures if one["key"] == key)


def _against(
    comparison: Comparison,
    key: str,
    lines: Mapping[str, Sequence[tuple[float, Point]]],
    styles: Mapping[str, dict[str, Any]],
    title: str,
) -> tuple[Figure, Axes, list[dict[str, object]]]:
    """Curves of one figure with their bands, between the reference lines; and the rows that they show."""
    picture, axes = canvas()
    rows: list[dict[str, object]] = []
    for label, places in lines.items():
        style = styles[label]
        axes.plot([x for x, _ in places], [point.value for _, point in places], label=label, **style)
        banded = [(x, p.low, p.high) for x, p in places if p.repetitions >= LEAST_FOR_A_BAND]
        if banded:
            axes.fill_between(*np.array(banded, np.float64).T, color=style["color"], alpha=0.15, lw=0)
        rows += [vars(point) for _, point in places]
    for line, value in comparison.references(key).items():
        axes.axhline(value, color=GREY, lw=1, linestyle=REFERENCE_STYLE[line])
        axes.annotate(
            line, (1, value), xycoords=("axes fraction", "data"), fontsize=7, color=GREY, va="bottom"
        )
        rows.append({"name": line, "mechanism": line, "parameters": "{}", "key": key, "value": value})
    value_axis(axes, [float(str(row["value"])) for row in rows])
    figure = _figure(comparison, key)
    axes.set_ylabel(f"{figure['label']}\n({figure['better']} is better)", fontsize=8)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.08, 0.5))
    return picture, axes, rows


def privacy_utility(comparison: Comparison, *, name: str, title: str = "") -> Chart:
    """Mean skill over the headline figures against epsilon: 0 is what public knowledge gives, 1 what a resample of
    the raw trips gives. Figures on which those two do not differ, or that a release cannot answer, are left out.
    """
    skills: dict[tuple[str, float], list[float]] = {}
    for key in HEADLINES.values():
        lines = comparison.references(key)
        if CEILING not in lines or FLOOR not in lines or np.isclose(lines[CEILING], lines[FLOOR], rtol=1e-3):
            continue
        span = lines[CEILING] - lines[FLOOR]
        for label, points in comparison.curves(key, plain_laplace=False).items():
            for point in points:
                skill = float(np.clip((point.value - lines[FLOOR]) / span, -1, 1))
                skills.setdefault((label, float(point.epsilon or 0)), []).append(skill)
    rows = [
        {"name": label, "epsilon": epsilon, "skill": float(np.mean(found)), "figures": len(found)}
        for (label, epsilon), found in skills.items()
    ]
    picture, axes = canvas()
    places = _places(comparison)
    for label in dict.fromkeys(str(row["name"]) for row in rows):
        own = sorted((r["epsilon"], r["skill"]) for r in rows if r["name"] == label)
        axes.plot(*zip(*own, strict=True), label=label, **line_style(places[label]))
    axes.axhline(0, color=GREY, lw=1, linestyle="--")
    axes.annotate("public knowledge", (1, 0), xycoords=("axes fraction", "data"), fontsize=7, color=GREY)
    axes.axhline(1, color=GREY, lw=1)
    axes.annotate("resample", (1, 1), xycoords=("axes fraction", "data"), fontsize=7, color=GREY)
    _epsilon_axis(axes, comparison.epsilons)
    axes.set_ylabel("mean skill over the headline figures", fontsize=8)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.2, 0.5))
    alt = f"{title + ': ' if title else ''}mean skill of each mechanism against epsilon."
    data = pl.DataFrame(
        rows, schema={"name": pl.String, "epsilon": pl.Float64, "skill": pl.Float64, "figures": pl.Int64}
    )
    return Chart(name, draw_svg(picture, name), data, alt)


def canvas() -> tuple[Figure, Axes]:
    """An empty chart."""
    picture = Figure(figsize=(7.2, 3.4), layout="constrained")
    FigureCanvasSVG(picture)
    axes = picture.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", color="#e5e5e5", lw=0.6)
    return picture, axes


def _places(comparison: Comparison) -> dict[str, int]:
    """A number for every mechanism, so that it looks the same in all charts of a comparison."""
    return {name: place for place, name in enumerate(comparison.mechanisms)}


def line_style(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of one line of many."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
    }


def _epsilon_axis(axes: Axes, epsilons: list[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_xlabel("epsilon", fontsize=8)


def value_axis(axes: Axes, values: list[float]) -> None:
    """Fit the values, not the bands: a wide band of a poor mechanism must not flatten the others."""
    low, high = min(values), max(values)
    if low > 0 and high / low > 30:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.5, high * 1.5)
    else:
        margin = 0.06 * (high - low) or 0.5
        axes.set_ylim(low - margin, high + margin)


def _count(lines: dict[str, list[Point]]) -> str:
    """The curves in words: plain Laplace noise answers one question and is no mechanism."""
    many = len(lines.keys() - {PLAIN_LAPLACE})
    return f"{many} mechanism{'s' * (many != 1)}" + (
        " and plain Laplace noise" if PLAIN_LAPLACE in lines else ""
    )


def _best(lines: dict[str, list[Point]], better: str) -> str:
    last = max((point.epsilon or 0 for points in lines.values() for point in points), default=0)
    ends = {label: p.value for label, points in lines.items() for p in points if p.epsilon == last}
    if not ends:
        return ""
    best = (min if better == "lower" else max)(ends, key=lambda label: ends[label])
    return f"At the largest epsilon {best} is best with {ends[best]:.3g}."


def draw_svg(picture: Figure, name: str) -> str:
    """The picture without its XML head; ids carry the name, so that several fit one page."""
    out = StringIO()
    settings: dict[Any, Any] = {"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}
    with mpl.rc_context(settings):
        picture.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


_LOG_SPAN = 30


def error_against_parameter(
    comparison: Comparison, key: str, parameter: str, *, name: str, title: str = ""
) -> Chart:
    """One figure of every mechanism that has the parameter, a line per epsilon, with 95 % bands."""
    lines = curves_over(comparison, key, parameter)
    drawn = {label: [(place.x, place.point) for place in places] for label, places in lines.items()}
    styles = {label: line_style(number) for number, label in enumerate(lines)}
    picture, axes, _ = _against(comparison, key, drawn, styles, title)
    rows = [{parameter: x, **vars(point)} for places in drawn.values() for x, point in places]
    xs = sorted({place.x for places in lines.values() for place in places})
    if xs[0] > 0 and xs[-1] / xs[0] > _LOG_SPAN:
        axes.set_xscale("log")
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()
    axes.set_xlabel(parameter.replace("_", " "), fontsize=8)
    alt = (
        f"{title + ': ' if title else ''}{_figure(comparison, key)['label']} against {parameter} for {len(lines)} "
        f"settings, from {xs[0]:g} to {xs[-1]:g}."
    )
    return Chart(name, draw_svg(picture, name), pl.DataFrame(rows, infer_schema_length=None), alt)


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
