"""The maps of a report: the release; for internal eyes also raw trips, with and without a release.

A map of trips as they are, without a release: who looks at raw trips says so. Never for publication.

Simulated trips have nobody behind them, and their page says that instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.report.chart import GROUND, Chart, environment, write_page
from wayveil.report.svg_map import (
    MAX_HOVERS,
    MAX_LINES,
    Canvas,
    FlowScale,
    PairFlows,
    flow_map,
    graticule,
    heat_map,
    network_group,
)
from wayveil.trips.history import SIMULATED
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.stop_figures import busiest, stop_counts
from wayveil.world.grid import METRES_PER_DEGREE, Grid
from wayveil.world.network import Network

_CAPTIONS = {"raw": "Raw trips", "private": "Private release", "difference": "Private less raw"}
_LABELLED = 60


@dataclass(frozen=True, eq=False)
class Maps:
    """Pictures by caption, the network they share, and what the colours of flows and of differences mean."""

    symbol: str
    pictures: list[tuple[str, Chart]]
    legend: list[tuple[int, str]]
    difference: list[tuple[int, str]]
    lines_left_out: int = 0
    hovers: int | None = None
    heat: bool = False


def heat_maps(grid: Grid, private: Ints, raw: Ints | None = None) -> Maps:
    """Visits of every cell of a grid as the colour of its square, over lines of latitude and longitude."""
    canvas = Canvas.of(grid)
    sides = {"private": private} if raw is None else {"raw": raw, "private": private}
    scale = FlowScale.up_to(max(int(side.max(initial=0)) for side in sides.values()))
    scales, layers = dict.fromkeys(sides, scale), {side: {"": values} for side, values in sides.items()}
    if raw is not None:
        layers["difference"] = {"more ": np.maximum(private - raw, 0), "less ": np.maximum(raw - private, 0)}
        scales["difference"] = FlowScale.up_to(int(np.abs(private - raw).max(initial=0)))
    columns = {**sides, **({} if raw is None else {"difference": private - raw})}
    pictures, ground = [], graticule(grid, canvas)
    for side, drawn in layers.items():
        svg = heat_map(
            canvas,
            drawn,
            scales[side],
            metres=(grid.layout.lat_step * METRES_PER_DEGREE, grid.layout.metres),
            name=f"map-{side}",
            title=f"Map of {grid.name}: {_CAPTIONS[side].lower()}, visits per place",
            hover=lambda at: (
                f"{grid.names[at]}: "
                + ", ".join(f"{name} {values[at]:,}" for name, values in columns.items())
            ),
        )
        data = pl.DataFrame({"place": grid.ids, "lat": grid.lat, "lon": grid.lon, side: columns[side]})
        chart = Chart(f"map-{side}", svg, data, _CAPTIONS[side], plain=True, ground=ground)
        pictures.append((_CAPTIONS[side], chart))
    legends = [
        list(zip(scales[side].ranks, scales[side].labels, strict=True))
        for side in ("private", *layers)
        if side != "raw"
    ]
    return Maps(_offstage(ground), pictures, legends[0], legends[-1] if raw is not None else [], heat=True)


def _offstage(ground: str) -> str:
    symbol = f'<defs><g id="network">{ground}</g></defs>'
    return f'<svg width="0" height="0" class="offstage" aria-hidden="true">{symbol}</svg>'


def flow_maps(network: Network, private: Trips, raw: Trips | None = None) -> Maps:
    """Trips between neighbouring stops, both directions together. With raw trips it is not for publication."""
    canvas, names = Canvas.of(network), network.names
    sides = {"private": PairFlows.of(edge_flows(private))}
    if raw is not None:
        sides = {"raw": PairFlows.of(edge_flows(raw)), **sides}
    scale = FlowScale.up_to(max(int(side.total.max(initial=0)) for side in sides.values()))
    data = flow_table(network, sides)
    layers = {side: {"flows": pairs} for side, pairs in sides.items()}
    scales = dict.fromkeys(sides, scale)
    if raw is not None:
        more, less = sides["private"].less(sides["raw"])
        layers["difference"] = {"flows less": less, "flows more": more}
        scales["difference"] = FlowScale.up_to(
            max(int(more.total.max(initial=0)), int(less.total.max(initial=0)))
        )
    hover = _hover(network.labels, sides)
    labels = [(int(i), str(names[i])) for i in busiest(stop_counts(private), _LABELLED)]
    ground = network_group(network, canvas)
    pictures = []
    for side, drawn in layers.items():
        svg = flow_map(
            canvas,
            drawn,
            scales[side],
            name=f"map-{side}",
            title=f"Map of {network.name}: {_CAPTIONS[side].lower()}, trips per pair of neighbouring stops",
            hover=hover,
            labels=labels,
            label_size=15 if raw is None else 25,
        )
        own = data if side == "difference" else data.select("from", "to", side)
        pictures.append(
            (_CAPTIONS[side], Chart(f"map-{side}", svg, own, _CAPTIONS[side], plain=True, ground=ground))
        )
    return Maps(
        _offstage(ground),
        pictures,
        list(zip(scale.ranks, scale.labels, strict=True)),
        list(zip(scales["difference"].ranks, scales["difference"].labels, strict=True)) if raw else [],
        max(max(len(side.a) - MAX_LINES, 0) for side in sides.values()),
        MAX_HOVERS if any(len(side.a) > MAX_HOVERS for side in sides.values()) else None,
    )


def flow_table(network: Network, sides: dict[str, PairFlows]) -> pl.DataFrame:
    """A row per pair of stops that either side connects: trips on each side, both directions together."""
    size = np.int64(network.size)
    keys = np.unique(np.concatenate([side.a * size + side.b for side in sides.values()]))
    columns = {name: side.at(keys, size) for name, side in sides.items()}
    if len(columns) == 2:
        columns["difference"] = columns["private"] - columns["raw"]
    return pl.DataFrame({"from": network.ids[keys // size], "to": network.ids[keys % size], **columns})


def _hover(names: NDArray[np.str_], sides: dict[str, PairFlows]) -> Callable[[int, int], str]:
    """The text of a line: both directions of the release, or both sides where raw may be shown."""
    found = {
        side: dict(
            zip(
                zip(p.a.tolist(), p.b.tolist(), strict=True),
                zip(p.there.tolist(), p.back.tolist(), strict=True),
                strict=True,
            )
        )
        for side, p in sides.items()
    }

    def text(a: int, b: int) -> str:
        ends = f"{names[a]} – {names[b]}"
        counts = {side: known.get((a, b), (0, 0)) for side, known in found.items()}
        if len(counts) == 1:
            there, back = counts["private"]
            return f"{ends}: {there:,} →, {back:,} ←"
        return f"{ends}: " + ", ".join(f"{side} {sum(both):,}" for side, both in counts.items())

    return text


STAR = 13.0  # radius in units of the drawing
_LABELLED_RAW = 40


def trip_map(trips: Trips, hotspots: Sequence[int] = (), *, name: str = "map", title: str = "") -> Chart:
    """Trips between neighbouring stops, both directions together, with stars at some stops."""
    network = trips.world
    if not isinstance(network, Network):
        raise ParameterError("a map needs coordinates; this world is a plain list of locations")
    canvas, flows = Canvas.of(network), PairFlows.of(edge_flows(trips))
    scale = FlowScale.up_to(int(flows.total.max(initial=0)))
    found = dict(zip(zip(flows.a.tolist(), flows.b.tolist(), strict=True), flows.total.tolist(), strict=True))
    words = title or f"{len(trips):,} trips in {network.name}"
    svg = flow_map(
        canvas,
        {"flows": flows},
        scale,
        name=name,
        title=words,
        hover=lambda a, b: f"{network.names[a]} – {network.names[b]}: {found[a, b]:,}",
        labels=[(int(i), str(network.names[i])) for i in busiest(stop_counts(trips), _LABELLED_RAW)],
        label_size=15,
    )
    stars = "".join(_star(float(canvas.x[at]), float(canvas.y[at])) for at in hotspots)
    svg = svg.removesuffix("</svg>") + f'<g class="stars">{stars}</g></svg>'
    data = flow_table(network, {"trips": flows})
    return Chart(name, svg, data, words, plain=True, ground=network_group(network, canvas))


def with_ground(chart: Chart) -> str:
    """The picture with its network in it, for a page that shows several of them."""
    return chart.svg.replace(GROUND, chart.ground)


def write_map_page(path: str | Path, trips: Trips, hotspots: Sequence[int] = (), *, title: str = "") -> Path:
    """Write the map as one HTML file, and its numbers as csv beside it."""
    path = Path(path)
    words = title or f"Trips in {getattr(trips.world, 'name', 'a list of places')}"
    chart = trip_map(trips, hotspots, name=f"{path.stem}-map", title=words)
    simulated = SIMULATED in trips.history.marks
    scale = FlowScale.up_to(int(chart.data["trips"].max() or 0))  # type: ignore[arg-type]
    page = (
        environment()
        .get_template("map.html.j2")
        .render(
            title=words,
            internal=not simulated,
            notice=trips.history.notice,
            chart=chart,
            picture=with_ground(chart),
            legend=list(zip(scale.ranks, scale.labels, strict=True)),
            stars=len(hotspots),
            facts=[
                ("trips", f"{len(trips):,}"),
                ("visits", f"{trips.visits:,}"),
                ("stops visited", f"{np.count_nonzero(stop_counts(trips)):,}"),
            ],
        )
    )
    chart.data.sort("trips", descending=True).write_csv(path.with_suffix(".csv"))
    return write_page(path, page)


def _star(x: float, y: float) -> str:
    """A star of five points."""
    angle = np.pi * np.arange(10) / 5
    radius = np.where(np.arange(10) % 2 == 0, STAR, 0.42 * STAR)
    points = zip(x + radius * np.sin(angle), y - radius * np.cos(angle), strict=True)
    return f'<polygon points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}"/>'
