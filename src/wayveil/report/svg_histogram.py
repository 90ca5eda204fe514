"""Shares as inline SVG columns, and origin-destination matrices as squares."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints

_WIDTH, _HEIGHT = 1000, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 24, 16, 52
_MAX_BARS = 40
_LABELS = 8

Shares = Floats


@dataclass(frozen=True)
class LengthBins:
    """Equal ranges of trip lengths: bin i holds `first + i * step` to `first + (i + 1) * step - 1` stops."""

    first: int
    step: int
    count: int

    @classmethod
    def over(cls, *histograms: Ints) -> "LengthBins":
        """Bins that cover all histograms with at most 40 bars."""
        used = [np.flatnonzero(histogram) for histogram in histograms]
        first = min((int(some[0]) for some in used if len(some)), default=0)
        last = max((int(some[-1]) for some in used if len(some)), default=0)
        step = ceil((last - first + 1) / _MAX_BARS)
        return cls(first, step, ceil((last - first + 1) / step))

    def counts(self, histogram: Ints) -> Ints:
        """Trips per bin."""
        padded = np.zeros(self.first + self.step * self.count, np.int64)
        size = min(len(histogram), len(padded))
        padded[:size] = histogram[:size]
        return padded[self.first :].reshape(self.count, self.step).sum(axis=1)

    def label(self, index: int) -> str:
        """The lengths of one bin."""
        low = self.first + index * self.step
        return f"{low}" if self.step == 1 else f"{low}–{low + self.step - 1}"


def shares(counts: AnyInts) -> Shares:
    """Each count as a part of the whole; of nothing, nothing."""
    return np.asarray(counts / max(float(counts.sum()), 1.0), np.float64)


def column_chart(
    labels: Sequence[str],
    private: Shares,
    raw: Shares | None = None,
    *,
    name: str,
    title: str,
    axis: str,
    what: str,
    ends: tuple[Shares, Shares] | None = None,
) -> str:
    """Columns of shares. `axis` says what the labels are, `what` is counted; `ends` are those of 95 % intervals."""
    reach = private if ends is None else ends[1]
    top = float(max(reach.max(initial=0), 0 if raw is None else raw.max(initial=0), 1e-9))
    tick = _round_step(top / 4)
    ceiling = tick * ceil(top / tick - 1e-9)
    slot = (_WIDTH - _LEFT - _RIGHT) / max(len(labels), 1)
    floor = _HEIGHT - _BOTTOM

    def y(share: float) -> str:
        return f"{floor - share / ceiling * (floor - _TOP):.1f}"

    parts = [
        f'<path class="grid" d="M{_LEFT} {y(i * tick)}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 8}" y="{y(i * tick)}" dy=".34em" text-anchor="end">{percent(i * tick)}</text>'
        for i in range(round(ceiling / tick) + 1)
    ]
    for i, share in enumerate(private):
        x, wide = _LEFT + i * slot, slot - min(2.0, slot / 4)
        text = f"{labels[i]} {axis}: {percent(share)} of released {what}"
        if ends is not None:
            text += f" ({percent(max(ends[0][i], 0))} – {percent(ends[1][i])})"
        if raw is not None:
            text += f", {percent(raw[i])} of raw {what}"
        parts.append(
            f'<path class="bar" d="M{x:.1f} {floor}V{y(share)}h{wide:.1f}V{floor}z"><title>{text}</title></path>'
        )
    if ends is not None:
        whiskers = "".join(
            f"M{_LEFT + (i + 0.5) * slot:.1f} {y(max(low, 0))}V{y(max(high, 0))}"
            for i, (low, high) in enumerate(zip(*ends, strict=True))
        )
        parts.append(f'<path class="whisker" d="{whiskers}"/>')
    if raw is not None:
        steps = "".join(f"V{y(share)}h{slot:.1f}" for share in raw)
        parts.append(f'<path class="step" d="M{_LEFT} {floor}{steps}V{floor}"/>')
    every = ceil(len(labels) / _LABELS)
    parts += [
        f'<text x="{_LEFT + (i + 0.5) * slot:.1f}" y="{floor + 22}" text-anchor="middle">{labels[i]}</text>'
        for i in range(0, len(labels), max(every, 1))
    ]
    parts.append(
        f'<text class="axis" x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{axis}</text>'
    )
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{title}</title>{"".join(parts)}</svg>'
    )


def percent(share: float) -> str:
    """Three digits are enough."""
    return f"{share * 100:.3g} %"


def _round_step(wish: float) -> float:
    power = 10.0 ** np.floor(np.log10(wish))
    return float(min(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= wish - 1e-12))


CELL, _X0, _Y0, _END = 14, 40, 34, 6
_RANKS = 6
_HOVERS = 400  # cells with hover text, so that a page stays small


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
        box = f"M{_X0 + d * CELL} {_Y0 + o * CELL}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"
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
        f'<text x="{_X0 - 4}" y="{_Y0 + (i + 0.5) * CELL:g}" dy=".34em" text-anchor="end">{_short(names[i])}</text>'
        f'<text x="{_X0 + (i + 0.5) * CELL:g}" y="{_Y0 - 4}" text-anchor="middle">{_short(names[i])}</text>'
        for i in range(0, count, every)
    )
    frame = f'<path class="grid" d="M{_X0 - 1} {_Y0 - 1}h{side + 1}v{side + 1}h-{side + 1}z"/>'
    axes = (
        f'<text class="axis" x="{_X0 + side / 2:g}" y="11" text-anchor="middle">to</text>'
        f'<text class="axis" x="0" y="11">from</text>'
    )
    return (
        f'<svg class="matrix" viewBox="0 0 {_X0 + side + _END} {_Y0 + side + _END}" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{escape(title, quote=False)}</title>'
        f"{frame}{''.join(parts)}{labels}{axes}</svg>"
    )


def ranks(size: Shares, top: float) -> Ints:
    """Class 0..5 of each size: the last one holds what is above half of `top`, each one before half of that."""
    with np.errstate(divide="ignore"):
        steps = np.floor(np.log2(np.maximum(size, 0) / max(top, 1e-300)))
    return np.clip(np.nan_to_num(steps, neginf=-99) + _RANKS, 0, _RANKS - 1).astype(np.int64)


def class_labels(top: float) -> list[tuple[int, str]]:
    """Label what each class holds, for the legend."""
    borders = [top / 2**power for power in range(_RANKS, 0, -1)]
    return [(0, f"below {percent(borders[1])}")] + [
        (rank, f"{percent(borders[rank])}+") for rank in range(1, _RANKS)
    ]


def _short(name: str) -> str:
    return escape(name if len(name) <= 5 else name[:4] + "…", quote=False)
