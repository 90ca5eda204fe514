"""Trip lengths as an inline SVG histogram: bars for the release, a stepped line for the raw trips."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

_WIDTH, _HEIGHT = 1000, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 24, 16, 52
_MAX_BARS = 40


@dataclass(frozen=True)
class LengthBins:
    """Equal ranges of trip lengths: bin i holds `first + i * step` to `first + (i + 1) * step - 1` stops."""

    first: int
    step: int
    count: int

    @classmethod
    def over(cls, *histograms: NDArray[np.int64]) -> "LengthBins":
        """Bins that cover all histograms with at most 40 bars."""
        used = [np.flatnonzero(histogram) for histogram in histograms]
        first = min((int(some[0]) for some in used if len(some)), default=0)
        last = max((int(some[-1]) for some in used if len(some)), default=0)
        step = ceil((last - first + 1) / _MAX_BARS)
        return cls(first, step, ceil((last - first + 1) / step))

    def shares(self, histogram: NDArray[np.int64]) -> NDArray[np.float64]:
        """Share of trips per bin."""
        padded = np.zeros(self.first + self.step * self.count, np.float64)
        size = min(len(histogram), len(padded))
        padded[:size] = histogram[:size]
        binned = padded[self.first :].reshape(self.count, self.step).sum(axis=1)
        return np.asarray(binned / max(binned.sum(), 1))

    def label(self, index: int) -> str:
        """The lengths of one bin."""
        low = self.first + index * self.step
        return f"{low}" if self.step == 1 else f"{low}–{low + self.step - 1}"


def length_chart(private: NDArray[np.int64], raw: NDArray[np.int64] | None = None) -> str:
    """Shares of trips by number of stops."""
    bins = LengthBins.over(private) if raw is None else LengthBins.over(private, raw)
    bars = bins.shares(private)
    line = None if raw is None else bins.shares(raw)
    top = float(max(bars.max(), 0 if line is None else line.max(), 1e-9))
    tick = _round_step(top / 4)
    ceiling = tick * ceil(top / tick - 1e-9)
    slot = (_WIDTH - _LEFT - _RIGHT) / bins.count
    floor = _HEIGHT - _BOTTOM

    def y(share: float) -> str:
        return f"{floor - share / ceiling * (floor - _TOP):.1f}"

    parts = [
        f'<path class="grid" d="M{_LEFT} {y(i * tick)}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 8}" y="{y(i * tick)}" dy=".34em" text-anchor="end">{_percent(i * tick)}</text>'
        for i in range(round(ceiling / tick) + 1)
    ]
    for i, share in enumerate(bars):
        x, wide = _LEFT + i * slot, slot - min(2.0, slot / 4)
        text = f"{bins.label(i)} stops: {_percent(share)} of released trips"
        if line is not None:
            text += f", {_percent(line[i])} of raw trips"
        parts.append(
            f'<path class="bar" d="M{x:.1f} {floor}V{y(share)}h{wide:.1f}V{floor}z"><title>{text}</title></path>'
        )
    if line is not None:
        steps = "".join(f"V{y(share)}h{slot:.1f}" for share in line)
        parts.append(f'<path class="step" d="M{_LEFT} {floor}{steps}V{floor}"/>')
    every = ceil(bins.count / 8)
    parts += [
        f'<text x="{_LEFT + (i + 0.5) * slot:.1f}" y="{floor + 20}" text-anchor="middle">{bins.label(i)}</text>'
        for i in range(0, bins.count, every)
    ]
    parts.append(
        f'<text class="axis" x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        "stops per trip</text>"
    )
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="lengths-title">'
        f'<title id="lengths-title">Histogram of stops per trip</title>{"".join(parts)}</svg>'
    )


def _round_step(wish: float) -> float:
    power = 10.0 ** np.floor(np.log10(wish))
    return float(min(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= wish - 1e-12))


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
