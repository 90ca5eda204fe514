"""`write_report`: a release as one HTML file that opens from a disk, prints, and fetches nothing."""

import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from wayveil.errors import InputError, ParameterError
from wayveil.report import accuracy, datasheet_view
from wayveil.report.flow_scale import FlowScale
from wayveil.report.rankings import move_ranking, ranking
from wayveil.report.svg_histogram import length_chart
from wayveil.report.svg_map import MAX_HOVERS, MAX_LINES, Canvas, PairFlows, flow_map, network_symbol
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.lengths import length_histogram
from wayveil.utility.question import check_comparable
from wayveil.utility.scorecard import Scorecard
from wayveil.utility.stops import busiest, stop_counts
from wayveil.world.network import Network
from wayveil.world.world import World

Audience = Literal["public", "internal"]
_TOP = 20


class Publishable(Protocol):
    """What a report is about: private trips and their datasheet."""

    @property
    def trips(self) -> Trips: ...
    @property
    def datasheet(self) -> dict[str, Any]: ...


def write_report(
    path: str | Path,
    *,
    network: World,
    release: Publishable,
    raw: Trips | None = None,
    scorecard: Scorecard | None = None,
    title: str | None = None,
    audience: Audience = "public",
) -> Path:
    """Write the report; the file appears whole or not at all.

    The `public` report shows the release and its datasheet and never looks at `raw` or the scorecard. The
    `internal` one sets both sides next to each other and says at its top that it is not for publication.
    """
    path = Path(path)
    html = report_html(
        network=network, raw=raw, release=release, scorecard=scorecard, title=title, audience=audience
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(html, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise InputError(f"the report cannot be written here ({error.strerror})", file=path) from error
    return path


def report_html(
    *,
    network: World,
    release: Publishable,
    raw: Trips | None = None,
    scorecard: Scorecard | None = None,
    title: str | None = None,
    audience: Audience = "public",
) -> str:
    """The page as text; see `write_report`."""
    if audience not in ("public", "internal"):
        raise ParameterError(f"a report is for the audience 'public' or 'internal', not {audience!r}")
    if audience == "public":
        raw, scorecard = None, None  # from here on nothing that was computed from raw trips exists
    elif raw is None:
        raise ParameterError(
            "the internal report compares with the raw trips; give them, or write a public one"
        )
    private, sheet = release.trips, release.datasheet
    if raw is not None:
        check_comparable(raw, private)
    names: NDArray[np.str_] = network.names if isinstance(network, Network) else network.ids
    private_pairs = PairFlows.of(edge_flows(private))
    raw_pairs = None if raw is None else PairFlows.of(edge_flows(raw))
    private_stops, raw_stops = stop_counts(private), None if raw is None else stop_counts(raw)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            title=title or _title(network),
            internal=raw is not None,
            facts=_facts(network, private, raw),
            promise=datasheet_view.promise(sheet),
            spends=datasheet_view.spends(sheet),
            sheet=sheet,
            rest=datasheet_view.rest(sheet),
            map=_map(network, names, private_pairs, raw_pairs, private_stops),
            stops=ranking(lambda i: str(names[i]), private_stops, raw_stops, _TOP),
            moves=move_ranking(names, private_pairs, raw_pairs, _TOP),
            lengths=Markup(
                length_chart(length_histogram(private), None if raw is None else length_histogram(raw))
            ),
            card=scorecard,
            accuracy=None if scorecard is None else accuracy.accuracy_rows(scorecard),
            verdict=None if scorecard is None else accuracy.verdict(scorecard),
        )
    )


def _title(network: World) -> str:
    return f"Private trips in {network.name}" if isinstance(network, Network) else "Private trips"


def _facts(network: World, private: Trips, raw: Trips | None) -> list[tuple[str, str, str]]:
    """The tiles at the head: what, how many, and beside it the raw number where it may be shown."""
    labels = ("released trips", "stops per trip", "stops with visits")
    beside = [""] * 3 if raw is None else [f"raw: {number}" for number in _numbers(raw)]
    tiles = list(zip(labels, _numbers(private), beside, strict=True))
    return [*tiles, ("stops in the public world", f"{network.size:,}", "")]


def _numbers(trips: Trips) -> list[str]:
    mean_length = trips.visits / max(len(trips), 1)
    return [f"{len(trips):,}", f"{mean_length:.1f}", f"{np.count_nonzero(stop_counts(trips)):,}"]


def _map(
    network: World,
    names: NDArray[np.str_],
    private: PairFlows,
    raw: PairFlows | None,
    stop_visits: NDArray[np.int64],
) -> dict[str, Any] | None:
    """One map of the release, or two on one scale; none for a world without coordinates."""
    if not isinstance(network, Network):
        return None
    canvas = Canvas.of(network)
    sides = {"private": private} if raw is None else {"raw": raw, "private": private}
    scale = FlowScale.up_to(max(int(side.total.max(initial=0)) for side in sides.values()))
    labels = [(int(i), str(names[i])) for i in busiest(stop_visits, 60)]
    totals = {
        side: dict(zip(zip(p.a.tolist(), p.b.tolist(), strict=True), p.total.tolist(), strict=True))
        for side, p in sides.items()
    }

    def hover(a: int, b: int, there: int, back: int) -> str:
        if raw is None:
            return f"{names[a]} – {names[b]}: {there:,} →, {back:,} ←"
        both = ", ".join(f"{side} {found.get((a, b), 0):,}" for side, found in totals.items())
        return f"{names[a]} – {names[b]}: {both}"

    captions = {"raw": "Raw trips", "private": "Private release"}
    return {
        "symbol": Markup(network_symbol(network, canvas)),
        "pictures": [
            (
                captions[side],
                Markup(
                    flow_map(
                        canvas,
                        pairs,
                        scale,
                        name=f"map-{side}",
                        title=f"Map of {network.name}: {captions[side].lower()}, trips per edge",
                        hover=hover,
                        labels=labels,
                        label_size=15 if raw is None else 25,
                    )
                ),
            )
            for side, pairs in sides.items()
        ],
        "legend": list(zip(scale.ranks, scale.labels, strict=True)),
        "lines_left_out": max(max(len(side.a) - MAX_LINES, 0) for side in sides.values()),
        "hovers": MAX_HOVERS if any(len(side.a) > MAX_HOVERS for side in sides.values()) else None,
    }


def environment() -> Environment:
    """Templates of this room: everything is escaped, and a name that is missing is an error."""
    folder = files("wayveil.report").joinpath("templates")

    def load(name: str) -> str:
        return folder.joinpath(name).read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["words"] = datasheet_view.words
    return environment
