"""A picture of a released trie: its most frequent branches, from the root on the left to the leaves on the right.

The picture reads like a flow: branches of a node are as high as their shares of what is shown of it. As many of the
most frequent ones are shown as have room for their names; a grey bar per node counts the others. Plain SVG without
script, for the report and for papers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from wayveil.report.chart import Chart
from wayveil.world.network import Network
from wayveil.world.world import World

COLUMN, GAP, HEAD = 230, 3, 26
NAME = 34  # characters that fit a column
SHORTEST = 16  # pixels; a lower bar has no room for its name
# Light to dark, one per depth, told apart without colour vision as well.
FILLS = ("#d9e6f2", "#b6d0e8", "#8fb8dc", "#6aa0ce", "#4a88bd", "#326fa3")


def trie_chart(nested: Mapping[str, Any], world: World) -> Chart:
    """The picture of a model's nodes within nodes, with the names of the stops, and its paths as a table."""
    names = (
        dict(zip(world.ids.tolist(), world.names.tolist(), strict=True)) if isinstance(world, Network) else {}
    )
    title = "Released n-grams: ^ begins and $ ends a trip"
    shown = {"count": nested["count"], "children": _name_nodes(nested["children"], names)}
    paths = [(" > ".join(path), float(count)) for path, count in _paths(nested["children"])]
    data = pl.DataFrame(paths, schema={"ngram": pl.String, "count": pl.Float64}, orient="row")
    return Chart("trie", trie_picture(shown, title=title), data.sort("count", descending=True), title)


def _name_nodes(nodes: list[dict[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            **node,
            "stop": names.get(node["stop"], node["stop"]),
            "children": _name_nodes(node["children"], names),
        }
        for node in nodes
        if node["count"] > 0
    ]


def _paths(
    nodes: list[dict[str, Any]], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every way from the root to a leaf, with the leaf's count."""
    for node in nodes:
        here = (*above, node["stop"])
        if node["children"]:
            yield from _paths(node["children"], here)
        elif node["count"] > 0:
            yield here, node["count"]


@dataclass(frozen=True)
class _Bar:
    depth: int
    top: float
    height: float
    label: str
    title: str
    rest: bool = False


def trie_picture(nested: dict[str, Any], *, height: int = 640, title: str = "Released n-grams") -> str:
    """The SVG of a trie as `Trie.nested` returns it: `count`, and `children` with `stop`, `count`, `children`."""
    depth = _depth(nested)
    width = max(depth, 1) * COLUMN
    bars = list(_bars(nested, 0, float(HEAD), float(height - HEAD), (), depth))
    drawn = "".join(_drawn(bar) for bar in bars)
    empty = (
        "" if bars else f'<text class="head" x="8" y="{HEAD + 20}">nothing stood out from the noise</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trie" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="trie-title" font-family="system-ui, sans-serif" font-size="11">'
        f'<title id="trie-title">{escape(title)}</title>'
        f'<text class="head" x="4" y="16" font-size="13" font-weight="600">{escape(title)}</text>{drawn}{empty}</svg>'
    )


def _depth(node: dict[str, Any]) -> int:
    return max((1 + _depth(child) for child in node["children"]), default=0)


def _bars(
    node: dict[str, Any], depth: int, top: float, height: float, path: tuple[str, ...], levels: int
) -> Iterator[_Bar]:
    """The children of a node, stacked inside its height, then their children inside theirs."""
    children = [child for child in node["children"] if child["count"] > 0]
    # A branch has room for at least two of its own, and each of these for two.
    kept, room = _kept(children, height, SHORTEST * 2.0 ** min(levels - 1 - depth, 2))
    whole = sum(child["count"] for child in kept)
    for child in kept:
        tall = room * child["count"] / whole
        here = (*path, child["stop"])
        yield _Bar(depth, top, tall, child["stop"], f"{' › '.join(here)}: {child['count']:,.0f}")
        yield from _bars(child, depth + 1, top, tall, here, levels)
        top += tall
    hidden = len(children) - len(kept)
    if hidden:
        rest = sum(child["count"] for child in children[len(kept) :])
        title = f"{' › '.join(path) or 'other beginnings'}: {hidden:,} more, {rest:,.0f} together"
        yield _Bar(depth, top, height - room, f"{hidden:,} more", title, rest=True)


def _kept(children: list[dict[str, Any]], height: float, least: float) -> tuple[list[dict[str, Any]], float]:
    """The first (most frequent) children that are at least so high, the first of all if it can be read, and the
    height that is left to them.
    """
    whole = 0.0
    for shown, child in enumerate(children):
        whole += child["count"]
        room = height if shown + 1 == len(children) else height - SHORTEST
        if room * child["count"] / whole < (least if shown else SHORTEST):
            return children[:shown], height - SHORTEST if shown else 0.0
    return children, height


def _drawn(bar: _Bar) -> str:
    x, tall = bar.depth * COLUMN, max(bar.height - GAP, 1.0)
    fill = "#eeeeee" if bar.rest else FILLS[min(bar.depth, len(FILLS) - 1)]
    ink = "#ffffff" if bar.depth >= 4 and not bar.rest else "#1b2733"
    name = bar.label if len(bar.label) <= NAME else bar.label[: NAME - 1] + "…"
    text = ""
    if tall >= SHORTEST - GAP:
        text = f'<text x="{x + 6}" y="{bar.top + tall / 2 + 4:.1f}" fill="{ink}">{escape(name)}</text>'
    return (
        f'<g><title>{escape(bar.title)}</title><rect x="{x}" y="{bar.top:.1f}" width="{COLUMN - GAP}" '
        f'height="{tall:.1f}" rx="2" fill="{fill}"/>{text}</g>'
    )
