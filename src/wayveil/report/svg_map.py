"""The map of a network and the flows on it as inline SVG: no script, no tile, no font from elsewhere.

Both directions of a pair of stops are one line; its hover text has the numbers. Colours and widths are classes
that the page's style sheet knows, so that maps follow light, dark and print. To stay small, coordinates have
one decimal, the public network underneath is drawn once and reused, and only the busiest lines have hover text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints, Mask
from wayveil.report.chart import GROUND
from wayveil.utility.edges import EdgeFlows
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.network_lines import express_tracks

CLASSES = 6


@dataclass(frozen=True)
class FlowScale:
    """Class i holds the flows from `lower[i]` to just below `lower[i + 1]`; the first class begins at 1."""

    lower: tuple[int, ...]

    @classmethod
    def up_to(cls, largest: int) -> "FlowScale":
        """At most six classes with bounds 1, 2 or 5 times a power of ten, the last one reached by `largest`."""
        round_numbers = [digit * 10**power for power in range(19) for digit in (1, 2, 5)]
        reached = [number for number in round_numbers if number <= max(largest, 1)]
        bounds = reached[-(CLASSES - 1) :]
        return cls(tuple(bounds) if bounds[0] == 1 else (1, *bounds))

    def class_of(self, flows: AnyInts) -> Ints:
        """The class of each flow, -1 for none."""
        return np.searchsorted(np.asarray(self.lower), flows, side="right") - 1

    @property
    def labels(self) -> list[str]:
        """Label what each class holds, for the legend."""
        upper: Sequence[int | None] = [*self.lower[1:], None]
        return [_label(low, high) for low, high in zip(self.lower, upper, strict=True)]

    @property
    def ranks(self) -> list[int]:
        """The colour of each class out of six: a short scale spreads over the whole range of colours."""
        count = len(self.lower)
        return [CLASSES - 1] if count == 1 else [round(i * (CLASSES - 1) / (count - 1)) for i in range(count)]


def _label(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,}+"
    return f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}"


WIDTH = 1000.0
_MARGIN = 24.0
_MIN_HEIGHT, _MAX_HEIGHT = 420.0, 1100.0
MAX_LINES = 6_000
MOST_TRACED = 30_000
MAX_HOVERS = 1_000
_LABELS = 8
_LABEL_CHARACTERS = 26
# On phones the style sheet writes labels this large, in units of the drawing, and hides those of class `wide`.
_PHONE_SIZE, _PHONE_LABELS = 34.0, 3
Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Canvas:
    """Where the stops of a network lie on the page, in units of the drawing, and how long a unit is.

    `between` has the points on the way from a to b (a < b), a row of x and one of y: lines are drawn along the track.
    Those are the bends that the feed has shapes for, else the stops that express runs pass.
    """

    x: Floats
    y: Floats
    height: float
    metres_per_unit: float
    between: Mapping[tuple[int, int], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network) -> "Canvas":
        """Fit all stops into the drawing, north up, true to scale."""
        origin = float(network.lat.mean()), float(network.lon.mean())
        east, north = project(network.lat, network.lon, origin=origin)
        wide, tall = max(np.ptp(east), 1.0), max(np.ptp(north), 1.0)
        scale = min((WIDTH - 2 * _MARGIN) / wide, (_MAX_HEIGHT - 2 * _MARGIN) / tall)
        height = float(np.clip(tall * scale + 2 * _MARGIN, _MIN_HEIGHT, _MAX_HEIGHT))
        left, top = WIDTH / 2 - (east.max() + east.min()) / 2 * scale, height / 2
        top += (north.max() + north.min()) / 2 * scale

        def place(east: Floats, north: Floats) -> Floats:
            return np.stack([left + east * scale, top - north * scale]).round(1)

        x, y = place(east, north)
        stops = np.stack([x, y])
        between = {pair: stops[:, passed] for pair, passed in _passed(network).items()}
        between |= {pair: place(*project(lat, lon, origin=origin)) for pair, lat, lon in _bends(network)}
        return cls(x, y, round(height), 1 / scale, between)


def _bends(network: Network) -> Iterator[tuple[tuple[int, int], Floats, Floats]]:
    """The bends between two stops, from the lower one to the higher one."""
    known = network.tracks
    if known is None:
        return
    for row, edge in enumerate(known.edge.tolist()):
        one, other = int(network.sources[edge]), int(network.indices[edge])
        part = slice(known.indptr[row], known.indptr[row + 1])
        back = slice(None, None, 1 if one < other else -1)
        yield (min(one, other), max(one, other)), known.lat[part][back], known.lon[part][back]


def _passed(network: Network) -> dict[tuple[int, int], list[int]]:
    """The stops that lie on the track of each express edge, from its lower end to its higher one."""
    if not 0 < network.edges <= MOST_TRACED or not len(network.route_ids):
        return {}
    edge, line, onto = express_tracks(network)
    found = {}
    for row in np.flatnonzero(np.diff(edge * len(network.route_ids) + line, prepend=-1)).tolist():
        same = (edge[row:] == edge[row]) & (line[row:] == line[row])
        many = len(same) if same.all() else int(np.argmin(same))
        # Tracks are told from their end to their begin.
        stops = network.indices[onto[row : row + many]][:0:-1].tolist()
        one, other = int(network.sources[edge[row]]), int(network.indices[edge[row]])
        found[min(one, other), max(one, other)] = stops if one < other else stops[::-1]
    return found


@dataclass(frozen=True, eq=False)
class PairFlows:
    """Flows of unordered pairs (a < b): `there` from a to b and `back` from b to a. Staying put is left out."""

    a: Ints
    b: Ints
    there: Ints
    back: Ints

    @classmethod
    def of(cls, flows: EdgeFlows) -> "PairFlows":
        """Join the two directions."""
        low, high = np.minimum(flows.source, flows.target), np.maximum(flows.source, flows.target)
        keys = np.unique((low * np.int64(flows.size) + high)[low < high])
        a, b = keys // flows.size, keys % flows.size
        return cls(a, b, flows.at(keys), flows.at(b * flows.size + a))

    @property
    def total(self) -> Ints:
        """Both directions together."""
        return self.there + self.back

    def busiest(self, count: int) -> "PairFlows":
        """The pairs with the largest totals, largest first."""
        order = np.argsort(-self.total, kind="stable")[:count]
        return PairFlows(self.a[order], self.b[order], self.there[order], self.back[order])

    def less(self, other: "PairFlows") -> tuple["PairFlows", "PairFlows"]:
        """Where this has more than `other`, and by how many trips; and where it has fewer."""
        size = np.int64(max(int(self.b.max(initial=0)), int(other.b.max(initial=0))) + 1)
        keys = np.union1d(self.a * size + self.b, other.a * size + other.b)
        difference = self.at(keys, size) - other.at(keys, size)
        none = np.zeros(len(keys), np.int64)
        both = [PairFlows(keys // size, keys % size, sign * difference, none) for sign in (1, -1)]
        return both[0]._kept(difference > 0), both[1]._kept(difference < 0)

    def at(self, keys: Ints, size: np.int64 | int) -> Ints:
        """The totals of the pairs a x size + b; 0 where nobody moved."""
        mine, out = self.a * size + self.b, np.zeros(len(keys), np.int64)
        known = np.isin(mine, keys)
        out[np.searchsorted(keys, mine[known])] = self.total[known]
        return out

    def _kept(self, which: Mask) -> "PairFlows":
        return PairFlows(self.a[which], self.b[which], self.there[which], self.back[which])


def network_group(network: Network, canvas: Canvas) -> str:
    """The stops and scheduled edges underneath every map."""
    a, b = np.minimum(network.sources, network.indices), np.maximum(network.sources, network.indices)
    served = ~network.walk
    keys = np.unique(a[served] * np.int64(network.size) + b[served])
    lines = _lines(canvas, keys // network.size, keys % network.size)
    dots = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in zip(canvas.x, canvas.y, strict=True))
    return f'<path class="net" d="{"".join(lines)}"/><path class="dots" d="{dots}"/>'


def flow_map(
    canvas: Canvas,
    layers: dict[str, PairFlows],
    scale: FlowScale,
    *,
    name: str,
    title: str,
    hover: Callable[[int, int], str],
    labels: list[tuple[int, str]],
    label_size: float,
) -> str:
    """One map of flows, or of several layers, each drawn in a class of the style sheet.

    `hover` makes the text of a line from its two stops; `labels` are stops, busiest first. The network underneath is
    that which the page has drawn once.
    """
    drawn = "".join(
        f'<g class="{kind}">{_layer(canvas, pairs, scale, hover)}</g>' for kind, pairs in layers.items()
    )
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH:g} {canvas.height:g}" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{escape(title, quote=False)}</title>'
        f"{GROUND}{drawn}{_labels(canvas, labels, label_size)}{_scale_bar(canvas)}</svg>"
    )


def heat_map(
    canvas: Canvas,
    layers: dict[str, Ints],
    scale: FlowScale,
    *,
    metres: tuple[float, float],
    name: str,
    title: str,
    hover: Callable[[int], str],
) -> str:
    """Squares of so many `metres` (north, east), one per cell with anything in it, the darker the more."""
    tall, wide = (each / canvas.metres_per_unit for each in metres)
    parts = []
    for kind, values in layers.items():
        at = np.flatnonzero(values > 0)
        at = at[np.argsort(-values[at], kind="stable")]
        for order, (cell, rank) in enumerate(
            zip(at.tolist(), np.asarray(scale.ranks)[scale.class_of(values[at])].tolist(), strict=True)
        ):
            x, y = _number(canvas.x[cell] - wide / 2), _number(canvas.y[cell] - tall / 2)
            text = f"<title>{escape(hover(cell), quote=False)}</title>" if order < MAX_HOVERS else ""
            square = f"M{x} {y}h{_number(wide)}v{_number(tall)}h-{_number(wide)}z"
            parts.append(f'<path class="{kind}m{rank}" d="{square}">{text}</path>')
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH:g} {canvas.height:g}" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{escape(title, quote=False)}</title>'
        f"{''.join(parts)}{GROUND}{_scale_bar(canvas)}</svg>"
    )


def graticule(network: Network, canvas: Canvas) -> str:
    """Lines of latitude and longitude at round numbers, each with its degrees."""
    parts = []
    for degrees, place in ((network.lat, canvas.y), (network.lon, canvas.x)):
        low, high = float(degrees.min()), float(degrees.max())
        rough = max(high - low, 1e-6) / 4
        power = 10.0 ** np.floor(np.log10(rough))
        step = power * min(each for each in (1, 2, 5, 10) if each * power >= rough)
        first, last = float(place[np.argmin(degrees)]), float(place[np.argmax(degrees)])
        digits = max(int(np.ceil(-np.log10(step))), 0)
        for tick in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step:
            at = _number(first + (tick - low) / max(high - low, 1e-9) * (last - first))
            if degrees is network.lat:
                line, text = f"M0 {at}h{WIDTH:g}", f'<text x="4" y="{at}" dy="-4">{tick:.{digits}f}</text>'
            else:
                line, text = (
                    f"M{at} 0v{canvas.height:g}",
                    f'<text x="{at}" dx="4" dy="1.1em">{tick:.{digits}f}</text>',
                )
            parts.append(f'<path class="grid" d="{line}"/>{text}')
    return f'<g class="scalebar">{"".join(parts)}</g>'


def _layer(canvas: Canvas, pairs: PairFlows, scale: FlowScale, hover: Callable[[int, int], str]) -> str:
    shown = pairs.busiest(MAX_LINES)
    classes, lines = scale.class_of(shown.total), _lines(canvas, shown.a, shown.b)
    groups = []
    for index, rank in enumerate(scale.ranks):
        members = np.flatnonzero(classes == index)
        quiet = "".join(lines[i] for i in members[members >= MAX_HOVERS])
        parts = [f'<path d="{quiet}"/>'] if quiet else []
        for i in members[members < MAX_HOVERS][::-1]:
            text = escape(hover(int(shown.a[i]), int(shown.b[i])), quote=False)
            parts.append(f'<path d="{lines[i]}"><title>{text}</title></path>')
        groups.append(f'<g class="f{rank}">{"".join(parts)}</g>')
    return "".join(groups)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _lines(canvas: Canvas, a: AnyInts, b: AnyInts) -> list[str]:
    """One path per line, each point relative to the one before."""
    drawn = []
    for one, other in zip(a.tolist(), b.tolist(), strict=True):
        ends = np.stack([canvas.x[[one, other]], canvas.y[[one, other]]])
        x, y = np.hstack([ends[:, :1], canvas.between.get((one, other), np.empty((2, 0))), ends[:, 1:]])
        steps = zip(np.diff(x).tolist(), np.diff(y).tolist(), strict=True)
        ways = "".join(f"l{_number(dx)} {_number(dy)}" for dx, dy in steps)
        drawn.append(f"M{_number(x[0])} {_number(y[0])}{ways}")
    return drawn


def _labels(canvas: Canvas, labels: list[tuple[int, str]], size: float) -> str:
    """Names of the busiest stops, each beside its stop; one that would cover another is left out."""
    boxes: list[Box] = []
    on_phones: list[Box] = []
    parts = []
    for stop, text in labels:
        if len(boxes) == _LABELS:
            break
        text = text.partition(" (")[0]
        text = text if len(text) <= _LABEL_CHARACTERS else text[: _LABEL_CHARACTERS - 1].rstrip() + "…"
        x, y = float(canvas.x[stop]), float(canvas.y[stop])
        for anchor, start in (("start", x + 0.5 * size), ("end", x - 0.5 * size)):
            box = _box(start, y, text, size, anchor)
            if not _is_free(box, boxes):
                continue
            boxes.append(box)
            larger = _box(start, y, text, _PHONE_SIZE, anchor)
            shown = len(on_phones) < _PHONE_LABELS and _is_free(larger, on_phones)
            on_phones += [larger] if shown else []
            kind = "" if shown else ' class="wide"'
            parts.append(
                f'<circle{kind} cx="{_number(x)}" cy="{_number(y)}" r="{_number(size * 0.22)}"/>'
                f'<text{kind} x="{_number(start)}" y="{_number(y)}" dy=".34em" text-anchor="{anchor}" '
                f'font-size="{_number(size)}">{escape(text, quote=False)}</text>'
            )
            break
    return f'<g class="labels">{"".join(parts)}</g>'


def _box(start: float, y: float, text: str, size: float, anchor: str) -> Box:
    wide = 0.62 * size * len(text)
    left = start if anchor == "start" else start - wide
    return left, y - 0.6 * size, left + wide, y + 0.6 * size


def _is_free(box: Box, taken: list[Box]) -> bool:
    return box[0] >= 4 and box[2] <= WIDTH - 4 and not any(_overlap(box, other) for other in taken)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scale_bar(canvas: Canvas) -> str:
    """A bar of a round length, about a fifth of the width."""
    wish = canvas.metres_per_unit * WIDTH / 5
    power = 10 ** int(np.floor(np.log10(wish)))
    metres = max(step * power for step in (1, 2, 5) if step * power <= wish)
    text = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    left, bottom, length = 20.0, canvas.height - 18, metres / canvas.metres_per_unit
    return (
        f'<g class="scalebar"><path d="M{left:g} {_number(bottom - 7)}v7h{_number(length)}v-7"/>'
        f'<text x="{_number(left + length + 10)}" y="{_number(bottom)}">{text}</text></g>'
    )
