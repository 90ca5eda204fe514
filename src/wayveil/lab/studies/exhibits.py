"""Exhibits of a study as tables, as charts, and as the record in `figures.json`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from wayveil.lab.comparison.comparison_charts import GREY, draw_svg, line_style
from wayveil.lab.studies.figure_verdicts import FigureVerdict, number, remark
from wayveil.lab.studies.study import FIGURE, STUDY, Exhibit, Study, is_number
from wayveil.lab.studies.study_results import Results, Value
from wayveil.report.chart import Chart


@dataclass(frozen=True)
class TableRow:
    """One row: the place, whose it is, and its cells."""

    head: str
    series: str
    cells: list[str]
    theirs: bool = False


def _columns(exhibit: Exhibit, results: Results) -> tuple[str, ...]:
    return exhibit.columns or tuple(
        dict.fromkeys(
            [across for _, across in exhibit.printed] + [across for _, across, _ in results.places(exhibit)]
        )
    )


def table_heads(exhibit: Exhibit, results: Results) -> list[str]:
    """The names of the columns of a table."""
    return [exhibit.column_name(one) for one in _columns(exhibit, results)]


def table_rows(exhibit: Exhibit, results: Results) -> list[TableRow]:
    """For every place down: the study's row where it printed one, then ours."""
    columns, places = _columns(exhibit, results), results.places(exhibit)
    downs = list(dict.fromkeys([down for down, _ in exhibit.printed] + [down for down, _, _ in places]))
    if all(map(is_number, downs)):
        downs.sort(key=float)
    names = dict.fromkeys(series for _, _, series in places)
    made = []
    for down in downs:
        theirs = [_theirs(exhibit, down, column) for column in columns]
        rows = [TableRow(down, "the study", theirs, theirs=True)] if any(theirs) else []
        for name in names:
            ours = [_ours(places.get((down, column, name))) for column in columns]
            rows += [TableRow(down, name, ours)] if any(ours) else []
        made += [row if at == 0 else TableRow("", row.series, row.cells) for at, row in enumerate(rows)]
    return made


def _theirs(exhibit: Exhibit, down: str, column: str) -> str:
    value, spread = exhibit.printed.get((down, column)), exhibit.spread.get((down, column))
    return "" if value is None else number(value) + ("" if spread is None else f" ± {number(spread)}")


def _ours(value: Value | None) -> str:
    if value is None:
        return ""
    if value.deviation is None:
        return number(value.mean)
    return f"{number(value.mean)} ± {value.deviation:{'.2g' if value.deviation < 100 else ',.0f'}}"


# Inches.
PLOT_WIDTH, PLOT_HEIGHT, PLOT_ABOVE, PLOT_BELOW, LEGEND_ROW = 4.7, 2.3, 0.3, 0.5, 0.19
LEGEND_LETTERS = 33  # of a name that still leaves room for a second column of the legend
CROWDED = 24  # letters of all ticks that still fit in the larger type
NEAR_EDGE = 0.8  # of a plane: names of points that lie farther right stand to their left
FLAT = 0.02  # lines that differ by less, relative to the largest, are drawn from zero on


def line_charts(exhibit: Exhibit, results: Results) -> list[Chart]:
    """One chart for every column: its values against `down`, a line per series."""
    places = results.places(exhibit)
    columns = exhibit.columns or tuple(dict.fromkeys(across for _, across, _ in places))
    names = list(dict.fromkeys(series for _, _, series in places))
    charts = []
    for column in columns:
        rows: list[dict[str, object]] = []
        for (down, across, series), value in places.items():
            if across == column:
                rows.append({exhibit.down: down, "series": series, **vars(value)})
        for (down, across), theirs in exhibit.printed.items():
            if across == column:
                spread = exhibit.spread.get((down, across))
                rows.append({exhibit.down: down, "series": STUDY, "mean": theirs, "deviation": spread})
        if rows:
            charts.append(_chart(exhibit, column, names, pl.DataFrame(rows, infer_schema_length=None)))
    return charts


def _plot(lines: Sequence[str], tall: float) -> tuple[Figure, Axes, dict[str, Any]]:
    """An empty picture of so many inches with room for these names below it, and how its legend is set.

    Plain margins: a legend below the axes hides no line, and a layout engine would draw everything twice.
    """
    columns = 2 if max(map(len, lines)) <= LEGEND_LETTERS else 1
    below = PLOT_BELOW + LEGEND_ROW * -(-len(lines) // columns)
    height = tall + PLOT_ABOVE + below
    picture = Figure(figsize=(PLOT_WIDTH, height))
    FigureCanvasSVG(picture)
    axes = picture.add_axes((0.17, below / height, 0.81, tall / height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    legend = {"fontsize": 8, "frameon": False, "loc": "lower left", "ncols": columns, "borderaxespad": 0.4}
    return picture, axes, legend


def _chart(exhibit: Exhibit, column: str, names: list[str], data: pl.DataFrame) -> Chart:
    lines = [series for series in [*names, STUDY] if series in data["series"]]
    picture, axes, legend = _plot(lines, PLOT_HEIGHT)
    axes.grid(axis="y", color="#e5e5e5", lw=0.6)
    ticks = list(dict.fromkeys(data[exhibit.down].to_list()))
    numeric = all(map(is_number, ticks))
    if numeric:
        ticks.sort(key=float)
    place = {tick: float(tick) if numeric else float(at) for at, tick in enumerate(ticks)}
    for series in lines:
        own = data.filter(pl.col("series") == series)
        x = np.array([place[tick] for tick in own[exhibit.down].to_list()])
        order = np.argsort(x, kind="stable")
        mean = own["mean"].to_numpy()[order]
        spread = own["deviation"].cast(pl.Float64).fill_null(0.0).to_numpy()[order]
        number = names.index(series) if series in names else 0
        if series == STUDY:
            axes.plot(x[order], mean, color=GREY, marker="x", ms=5, lw=1.2, linestyle="--", label="the study")
        else:
            style = line_style(number)
            axes.plot(x[order], mean, ms=4, lw=1.3, label=series, **style)
            axes.fill_between(x[order], mean - spread, mean + spread, color=style["color"], alpha=0.15, lw=0)
    if numeric and min(place.values()) > 0 and max(place.values()) / min(place.values()) >= 10:
        axes.set_xscale("log")
    crowded = sum(map(len, ticks)) > CROWDED
    axes.set_xticks([place[tick] for tick in ticks], ticks, fontsize=6.5 if crowded else 8)
    axes.minorticks_off()
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
    means = data["mean"].drop_nulls().to_numpy()
    if means.min() >= 0 and np.ptp(means) <= FLAT * means.max():
        axes.set_ylim(0, 1.2 * means.max() or 1)
    axes.set_xlabel(exhibit.axis or exhibit.down, fontsize=9)
    axes.set_ylabel(exhibit.where.get(FIGURE, ""), fontsize=8)
    title = exhibit.column_name(column)
    axes.set_title(title, fontsize=10, loc="left")
    picture.legend(**legend)
    name = re.sub(r"[^\w]+", "-", f"{exhibit.label} {title}".lower()).strip("-")
    many = f"{len(names)} line{'s' if len(names) > 1 else ''}"
    alt = f"{exhibit.label}: {title} against {exhibit.axis or exhibit.down}, {many} of ours"
    alt += " and the study's." if STUDY in data["series"] else "."
    return Chart(name, draw_svg(picture, name), data, alt)


def plane_chart(exhibit: Exhibit, results: Results) -> Chart:
    """Draw every setting as a point of the plane of two figures; a colour per series, whose ends are named."""
    across, up = exhibit.columns
    places = results.places(exhibit)
    names = list(dict.fromkeys(series for _, _, series in places))
    rows: list[dict[str, Any]] = [
        {"series": series, exhibit.down: down, across: value.mean, up: places[down, up, series].mean}
        for (down, figure, series), value in places.items()
        if figure == across and (down, up, series) in places
    ]
    picture, axes, legend = _plot(names, 1.4 * PLOT_HEIGHT)
    ends = []
    for at, series in enumerate(names):
        own = sorted(
            (row for row in rows if row["series"] == series), key=lambda row: _size(row[exhibit.down])
        )
        axes.plot(
            [row[across] for row in own],
            [row[up] for row in own],
            ms=5,
            lw=0.8,
            alpha=0.85,
            label=series,
            **line_style(at),
        )
        ends += [
            (row, line_style(at)["color"]) for row in (*own[:1], *own[1:][-1:]) if _size(row[exhibit.down])
        ]
    for scale, values in ((axes.set_xscale, across), (axes.set_yscale, up)):
        found = [float(row[values]) for row in rows if float(row[values]) > 0]
        if found and max(found) > 20 * min(found):
            scale("symlog", linthresh=min(found))
    axes.autoscale_view()
    for row, color in ends:
        point = row[across], row[up]
        right = axes.transAxes.inverted().transform(axes.transData.transform(point))[0] > NEAR_EDGE
        axes.annotate(
            str(row[exhibit.down]),
            point,
            fontsize=7,
            xytext=(-4 if right else 4, 3),
            textcoords="offset points",
            ha="right" if right else "left",
            color=color,
        )
    axes.set_xlabel(f"{across} (less is more useful)", fontsize=9)
    axes.set_ylabel(f"{up} (more is more private)", fontsize=9)
    axes.set_title(exhibit.title, fontsize=10, loc="left")
    picture.legend(**legend)
    name = re.sub(r"[^\w]+", "-", f"{exhibit.label} plane".lower())
    alt = f"{exhibit.label}: {up} against {across}, a point for each of {len(rows)} settings of {len(names)} series."
    return Chart(name, draw_svg(picture, name), pl.DataFrame(rows, infer_schema_length=None), alt)


def _size(setting: object) -> float:
    """The number that a setting ends with."""
    last = str(setting).split()[-1]
    return float(last) if is_number(last) else 0.0


SCALES = {
    "tiny": "tiny: shows that everything runs; its figures say nothing",
    "quick": "quick: few repetitions on small data",
    "full": "full: on as much data as the study",
}


def study_record(
    study: Study,
    results: Results,
    verdicts: Sequence[FigureVerdict],
    charts: Mapping[str, Sequence[Chart]],
    scale: str,
    sources: Sequence[str],
) -> dict[str, Any]:
    """The record of a run: what the docs are generated from."""
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "scale": scale,
        "extent": results.extent(study),
        "seconds": round(results.seconds),
        "data": list(sources),
        "stand_in": study.stand_in,
        "figures": [asdict(verdict) for verdict in verdicts],
        "exhibits": [_exhibit(study, one, results, charts[one.label]) for one in study.exhibits],
        "gaps": results.gaps(),
        "code": results.code,
        "apart": results.apart,
    }


def _exhibit(study: Study, exhibit: Exhibit, results: Results, charts: Sequence[Chart]) -> dict[str, Any]:
    table = exhibit.shape == "table" and not exhibit.missing
    rows = table_rows(exhibit, results) if table else []
    return {
        "label": exhibit.label,
        "title": exhibit.title,
        "apart": bool(exhibit.parts) and all(study.part(part).apart for part in exhibit.parts),
        "shape": exhibit.shape,
        "down": exhibit.down,
        "note": exhibit.note,
        "said": "" if exhibit.published else remark(study, exhibit, results),
        "missing": exhibit.missing,
        "heads": table_heads(exhibit, results) if table else [],
        "rows": [[row.head, row.series, *row.cells] for row in rows],
        "measured": bool(results.places(exhibit)) if table else bool(charts),
        "charts": [chart.name for chart in charts],
    }
