"""Origin-destination matrices as inline SVG: a square per pair of zones, darker (or wider apart) for more trips."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from wayveil.report.svg_histogram import percent

CELL, _LEFT, _TOP, _END = 14, 40, 34, 6
_RANKS = 6
_HOVERS = 400  # cells with hover text, so that a page stays small

Shares = NDArray[np.float64]


def matrix_svg(
    share: Shares, names: Sequence[str], top: float, *, name: str, title: str, signed: bool = False
) -> str:
    """One matrix: rows are origins, columns destinations. Colour stands for |share| up to `top`, in six classes whose
    borders halve from class to class; a `signed` matrix has one colour for more and one for less.
    """
    count = len(names)
    size = np.abs(share)
    rank = ranks(size, top)
    shown = np.argwhere(size > 0)
    order = np.argsort(-size[shown[:, 0], shown[:, 1]], kind="stable")
    groups: dict[str, list[str]] = {}
    quiet: dict[str, list[str]] = {}
    for place, (o, d) in enumerate(shown[order].tolist()):
        sign = "" if not signed else "more " if share[o, d] > 0 else "less "
        kind = f"{sign}m{rank[o, d]}"
        box = f"M{_LEFT + d * CELL} {_TOP + o * CELL}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"
        if place < _HOVERS:
            text = f"{names[o]} to {names[d]}: {percent(share[o, d])}"
            groups.setdefault(kind, []).append(
                f'<path d="{box}"><title>{escape(text, quote=False)}</title></path>'
            )
        else:
            quiet.setdefault(kind, []).append(box)
    parts = [
        f'<g class="{kind}">{"".join(groups.get(kind, []))}'
        + (f'<path d="{"".join(quiet[kind])}"/>' if kind in quiet else "")
        + "</g>"
        for kind in sorted({*groups, *quiet})
    ]
    side = count * CELL
    every = max(1, -(-count // 12))
    labels = "".join(
        f'<text x="{_LEFT - 4}" y="{_TOP + (i + 0.5) * CELL:g}" dy=".34em" text-anchor="end">{_short(names[i])}</text>'
        f'<text x="{_LEFT + (i + 0.5) * CELL:g}" y="{_TOP - 4}" text-anchor="middle">{_short(names[i])}</text>'
        for i in range(0, count, every)
    )
    frame = f'<path class="grid" d="M{_LEFT - 1} {_TOP - 1}h{side + 1}v{side + 1}h-{side + 1}z"/>'
    axes = (
        f'<text class="axis" x="{_LEFT + side / 2:g}" y="11" text-anchor="middle">to</text>'
        f'<text class="axis" x="0" y="11">from</text>'
    )
    return (
        f'<svg class="matrix" viewBox="0 0 {_LEFT + side + _END} {_TOP + side + _END}" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{escape(title, quote=False)}</title>'
        f"{frame}{''.join(parts)}{labels}{axes}</svg>"
    )


def ranks(size: Shares, top: float) -> NDArray[np.int64]:
    """Class 0..5 of each size: the last one holds what is above half of `top`, each one before half of that."""
    with np.errstate(divide="ignore"):
        steps = np.floor(np.log2(np.maximum(size, 0) / max(top, 1e-300)))
    return np.clip(np.nan_to_num(steps, neginf=-99) + _RANKS, 0, _RANKS - 1).astype(np.int64)


def class_labels(top: float) -> list[tuple[int, str]]:
    """What each class holds, for the legend."""
    borders = [top / 2**power for power in range(_RANKS, 0, -1)]
    return [(0, f"below {percent(borders[1])}")] + [
        (rank, f"{percent(borders[rank])}+") for rank in range(1, _RANKS)
    ]


def _short(name: str) -> str:
    return escape(name if len(name) <= 5 else name[:4] + "…", quote=False)
