"""The GPS figures as the evaluator of AdaTrace takes them, which AdaTrace and PrivTrace were measured with.

It differs from our own set (`utility/gps_figures.py`): coordinates are degrees on a plane, and the box is that of the
raw points; circles have a third of its longer side as radius, and a trip is in a circle if a segment of it is; patterns
are counted by occurrence, along ways that are filled in by moves to neighbours; coverage counts trips by cell, and its
tau divides by all pairs of cells, tied ones too; histograms of diameters and lengths begin at 0 and drop what lies
beyond the raw ones. One flaw is left out: there, a trip that stands still for one point is in every circle.
"""

from collections import Counter

import numpy as np
from numba import njit

from wayveil.trips.tracks import Tracks

QUERIES, SANITY, COARSE, COVERAGE, BUCKETS, TOP, LONGEST_PATTERN = 200, 0.01, 6, 15, 20, 100, 8
KEYS = ("query", "coverage", "pattern_f1", "support", "trip", "diameter", "length")


class RivalFigures:
    """Seven figures of released tracks against raw ones: the keys above."""

    def __init__(self, raw: Tracks, seed: int = 0) -> None:
        self.raw, rng = raw, np.random.default_rng(seed)
        self.low = np.array([raw.lon.min(), raw.lat.min()])
        self.side = np.array([raw.lon.max(), raw.lat.max()]) - self.low
        self.centres = self.low + rng.random((QUERIES, 2)) * self.side
        self.radius = self.side.max() / 3
        self.through = self._through(raw)
        self.covered = self._covered(raw)
        self.ways = self._ways(raw, COARSE)
        self.patterns = count_patterns(*self.ways)
        self.ends = self._ends(*self.ways)
        self.spans = spans(raw.lon, raw.lat, raw.offsets)

    def measure(self, made: Tracks) -> dict[str, float]:
        through = self._through(made)
        query = np.abs(through - self.through) / np.maximum(self.through, SANITY * len(self.raw))
        ways = self._ways(made, COARSE)
        found = count_patterns(*ways)
        wanted = [pattern for pattern, _ in self.patterns.most_common(TOP)]
        also = {pattern for pattern, _ in found.most_common(TOP)}
        right = sum(pattern in also for pattern in wanted)
        precision, recall = right / max(len(also), 1), right / len(wanted)
        off = [abs(self.patterns[p] - found[p]) / self.patterns[p] for p in wanted]
        diameter, length = (
            jensen_shannon(_histogram(own, own), _histogram(other, own))
            for own, other in zip(self.spans, spans(made.lon, made.lat, made.offsets), strict=True)
        )
        values = (
            query.mean(),
            tau_over_all_pairs(self.covered, self._covered(made)),
            2 * precision * recall / max(precision + recall, 1e-12),
            np.mean(off),
            jensen_shannon(self.ends, self._ends(*ways)),
            diameter,
            length,
        )
        return dict(zip(KEYS, map(float, values), strict=True))

    def _through(self, tracks: Tracks) -> np.ndarray:
        return through_circles(
            tracks.lon, tracks.lat, tracks.offsets, self.centres[:, 0], self.centres[:, 1], self.radius
        )

    def _ways(self, tracks: Tracks, cells: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = (
            np.clip((values - low) / side * cells, 0, cells - 1).astype(np.int64)
            for values, low, side in zip((tracks.lon, tracks.lat), self.low, self.side, strict=True)
        )
        return fill_ways(x, y, tracks.offsets, cells)

    def _covered(self, tracks: Tracks) -> np.ndarray:
        cells, offsets = self._ways(tracks, COVERAGE)
        trip = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        once = np.unique(trip * COVERAGE**2 + cells)
        return np.bincount(once % COVERAGE**2, minlength=COVERAGE**2)

    @staticmethod
    def _ends(cells: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        pairs = cells[offsets[:-1]] * COARSE**2 + cells[offsets[1:] - 1]
        return np.bincount(pairs, minlength=COARSE**4) / len(pairs)


def jensen_shannon(one: np.ndarray, other: np.ndarray) -> float:
    """In nats."""
    middle, total = (one + other) / 2, 0.0
    for part in (one, other):
        some = part > 0
        total += 0.5 * float((part[some] * np.log(part[some] / middle[some])).sum())
    return total


def tau_over_all_pairs(own: np.ndarray, other: np.ndarray) -> float:
    """Pairs in the same order less pairs in the other, by all pairs. A pair that is tied in the release alone counts as
    right or wrong by its place, as it does there: half of them each.
    """
    order = np.triu(np.sign(own[:, None] - own), 1)
    agrees = np.where(order > 0, other[:, None] > other, other[:, None] <= other)
    right = np.where(order == 0, 0, np.where(agrees, 1, -1)).sum()
    return float(right) / (len(own) * (len(own) - 1) / 2)


def count_patterns(cells: np.ndarray, offsets: np.ndarray) -> Counter:
    """Occurrences of runs of 2 to 8 cells; a cell and the length are packed into a number."""
    counts: Counter = Counter()
    trip = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    code = cells + 1
    for length in range(2, LONGEST_PATTERN + 1):
        code = code[:-1] * (COARSE**2 + 1) + cells[length - 1 :] + 1
        inside = trip[: len(code)] == trip[length - 1 :]
        counts.update(
            dict(zip(*(part.tolist() for part in np.unique(code[inside], return_counts=True)), strict=True))
        )
    return counts


def _histogram(values: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Shares of all values, those beyond the last bucket too, which then add up to less than one."""
    place = np.floor(values / ((raw.max() - raw.min()) / BUCKETS)).astype(np.int64)
    return np.bincount(place[place < BUCKETS], minlength=BUCKETS) / len(values)


@njit(cache=True)
def through_circles(x, y, offsets, centre_x, centre_y, radius):
    counts = np.zeros(len(centre_x), np.int64)
    for trip in range(len(offsets) - 1):
        for circle in range(len(centre_x)):
            cx, cy = centre_x[circle], centre_y[circle]
            for i in range(offsets[trip], max(offsets[trip + 1] - 1, offsets[trip] + 1)):
                after = min(i + 1, offsets[trip + 1] - 1)
                dx, dy = x[after] - x[i], y[after] - y[i]
                long = dx * dx + dy * dy
                part = 0.0
                if long > 0:
                    part = min(max(((cx - x[i]) * dx + (cy - y[i]) * dy) / long, 0.0), 1.0)
                if (x[i] + part * dx - cx) ** 2 + (y[i] + part * dy - cy) ** 2 <= radius * radius:
                    counts[circle] += 1
                    break
    return counts


@njit(cache=True)
def fill_ways(x, y, offsets, side):
    """Cells of each way without repeats, jumps filled by diagonal moves first; a way in one cell has it twice."""
    room = len(x) + 2 * len(offsets)
    for i in range(len(x) - 1):
        room += max(abs(x[i + 1] - x[i]), abs(y[i + 1] - y[i]))
    cells, out = np.empty(room, np.int64), np.zeros(len(offsets), np.int64)
    n = 0
    for trip in range(len(offsets) - 1):
        px, py = x[offsets[trip]], y[offsets[trip]]
        start = n
        cells[n] = px * side + py
        n += 1
        for i in range(offsets[trip] + 1, offsets[trip + 1]):
            while px != x[i] or py != y[i]:
                px += (x[i] > px) - (x[i] < px)
                py += (y[i] > py) - (y[i] < py)
                cells[n] = px * side + py
                n += 1
        if n == start + 1:
            cells[n] = cells[start]
            n += 1
        out[trip + 1] = n
    return cells[:n].copy(), out


@njit(cache=True)
def spans(x, y, offsets):
    """Diameters and lengths in degrees."""
    count = len(offsets) - 1
    diameter, length = np.zeros(count), np.zeros(count)
    for trip in range(count):
        for i in range(offsets[trip], offsets[trip + 1]):
            for j in range(i + 1, offsets[trip + 1]):
                away = np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2)
                diameter[trip] = max(diameter[trip], away)
                if j == i + 1:
                    length[trip] += away
    return diameter, length
