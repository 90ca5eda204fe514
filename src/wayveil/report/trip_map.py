"""A map of trips as they are, without a release: who looks at raw trips says so. Never for publication.

Simulated trips have nobody behind them, and their page says that instead.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wayveil.errors import ParameterError
from wayveil.report.chart import GROUND, Chart
from wayveil.report.flow_scale import FlowScale
from wayveil.report.maps import flow_table
from wayveil.report.page_files import environment, write_page
from wayveil.report.svg_map import Canvas, PairFlows, flow_map, network_group
from wayveil.trips.history import SIMULATED
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.stop_figures import busiest, stop_counts
from wayveil.world.network import Network

STAR = 13.0  # radius in units of the drawing
_LABELLED = 40


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
        labels=[(int(i), str(network.names[i])) for i in busiest(stop_counts(trips), _LABELLED)],
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
