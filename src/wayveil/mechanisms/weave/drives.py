"""Parts of drives on a grid: their lengths, their steps and corners, and flows along streets."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.settings import StreetSettings
from wayveil.synthesis.projection import onto_total
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import find_corners
from wayveil.world.walk_blocks import LONGEST, Walks


def draw_clips(share: float | None, count: int, sure: float, rng: np.random.Generator) -> Floats:
    """The share of its corners that each trip is seen at: anything at first; later near the learnt `share`, as if that
    had been seen at `sure` corners.
    """
    if share is None:
        return rng.random(count)
    if share in (0, 1):
        return np.full(count, float(share))
    return rng.beta(sure * share, sure * (1 - share), count)


def find_corner_share(grid: Grid, walks: Walks, weight: Floats) -> float:
    """The share of moves to diagonal neighbours that were seen at a corner, by weighted walks."""
    corner = find_corners(grid, walks.location, walks.offsets)
    row, column = grid.row[walks.location], grid.column[walks.location]
    moves = walks.moves
    diagonal = (row[moves] != row[moves + 1]) & (column[moves] != column[moves + 1])
    each = np.repeat(weight, walks.lengths)
    seen = float(each[corner].sum())
    return seen / max(seen + float(each[moves][diagonal].sum()), 1e-12)


def add_corners(
    grid: Grid, location: NDArray[np.int32], offsets: Ints, clips: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    """Walks that are seen at some corners of their diagonal moves, on either side."""
    layout = grid.layout
    cells = np.full((layout.rows, layout.columns), -1, np.int32)
    cells[grid.row, grid.column] = np.arange(grid.size)
    row, column = grid.row.astype(np.int64), grid.column.astype(np.int64)
    made, ends = _add_corners(row, column, cells, location, offsets, clips, rng)
    return made, ends


@njit(cache=True)
def _add_corners(row, column, cells, location, offsets, clips, rng):  # type: ignore[no-untyped-def]
    out, ends = np.empty(2 * len(location), np.int32), np.zeros(len(offsets), np.int64)
    n = 0
    for walk in range(len(offsets) - 1):
        for k in range(offsets[walk], offsets[walk + 1]):
            here = location[k]
            out[n] = here
            n += 1
            if k + 1 == offsets[walk + 1]:
                continue
            there = location[k + 1]
            north, east = row[there] - row[here], column[there] - column[here]
            if abs(north) == 1 and abs(east) == 1 and rng.random() < clips[walk]:
                corner = cells[row[there], column[here]]
                if rng.random() < 0.5:
                    corner = cells[row[here], column[there]]
                if corner >= 0:
                    out[n] = corner
                    n += 1
        ends[walk + 1] = n
    return out[:n].copy(), ends


@njit(cache=True)
def step_back(location, offsets, back, burst, rng):  # type: ignore[no-untyped-def]
    """Ways that make some of their moves once more, having stepped back: A B becomes A B A B. In a burst, all of these
    are at one move.
    """
    longer = np.zeros(len(offsets), np.int64)
    for i in range(len(back)):
        moves = offsets[i + 1] - offsets[i] - 1
        longer[i + 1] = longer[i] + moves + 1 + (2 * back[i] if moves > 0 else 0)
    out = np.empty(longer[-1], np.int32)
    again = np.zeros(LONGEST, np.int64)
    for i in range(len(back)):
        n, first, moves = longer[i], offsets[i], offsets[i + 1] - offsets[i] - 1
        again[:moves] = 0
        if moves > 0 and burst[i]:
            again[rng.integers(0, moves)] = back[i]
        elif moves > 0:
            for _ in range(back[i]):
                again[rng.integers(0, moves)] += 1
        out[n] = location[first]
        n += 1
        for k in range(moves):
            for _ in range(again[k]):
                out[n], out[n + 1] = location[first + k + 1], location[first + k]
                n += 2
            out[n] = location[first + k + 1]
            n += 1
    return out, longer


def estimate_flows(grid: Grid, noisy: CellEstimates, most: float, settings: StreetSettings) -> CellEstimates:
    """Flows on edges and their deviations, given the noisy counts of all of them (empirical Bayes).

    They add up as the noisy counts do, and to `most` at most.
    """
    if noisy.deviation <= 0 or not settings.spans:
        return noisy
    around = Streets.of_grid(grid).look_around(noisy.value, settings.spans)
    foretold = _foretell(around, noisy.value, settings.fewest_alike)
    group = _group_by_size(foretold, settings.fewest_alike)
    count, apart, noise = np.bincount(group), noisy.value - foretold, noisy.deviation**2
    real = (np.bincount(group, apart**2) / count - noise)[group]
    real = np.maximum(real, (settings.off * foretold) ** 2)
    believed = real / (real + noise)
    each = np.sqrt(np.maximum(believed, settings.surest) * noisy.variance)
    value = onto_total(foretold + believed * apart, min(float(noisy.value.sum()), most))
    return CellEstimates(value, float(np.sqrt(np.mean(each**2))), each)


def _foretell(around: Floats, noisy: Floats, few: int) -> Floats:
    """Return what the edges around foretell of each: by one rule for all edges, mended by one for edges that it
    finds alike.

    Busy edges are foretold by the nearest ones, quiet ones by many.
    """
    foretold = around @ np.linalg.lstsq(around, noisy, rcond=None)[0]
    known = np.column_stack([around, np.ones(len(noisy))])
    group, mended = _group_by_size(foretold, few), foretold.copy()
    for number in range(int(group.max()) + 1):
        here = np.flatnonzero(group == number)
        part = known[here]
        part = part / np.maximum(np.sqrt(np.mean(part**2, axis=0)), 1e-12)
        # Each term of the mending rule counts as little as if four edges had said that it is nothing.
        square = part.T @ part + 4 * np.eye(part.shape[1])
        mended[here] += part @ np.linalg.solve(square, part.T @ (noisy[here] - foretold[here]))
    return mended


@dataclass(frozen=True, eq=False)
class Streets:
    """The edges straight ahead of, straight behind and opposite to each edge; the number of edges if there is none."""

    ahead: Ints
    behind: Ints
    back: Ints

    @classmethod
    def of_grid(cls, grid: Grid) -> "Streets":
        layout = grid.layout
        # One row and column more on each side: nothing lies beyond the border.
        cells = np.full((layout.rows + 2, layout.columns + 2), -1, np.int64)
        row, column = grid.row.astype(np.int64) + 1, grid.column.astype(np.int64) + 1
        cells[row, column] = np.arange(grid.size)
        source, target = grid.sources.astype(np.int64), grid.indices.astype(np.int64)
        beyond = cells[2 * row[target] - row[source], 2 * column[target] - column[source]]
        ahead = np.where(beyond >= 0, grid.edge_index(target, np.maximum(beyond, 0)), -1)
        ahead = np.where(ahead >= 0, ahead, grid.edges)
        behind = np.full(grid.edges + 1, grid.edges)
        behind[ahead] = np.arange(grid.edges)
        back = grid.edge_index(target, source)
        return cls(ahead, behind[:-1], np.where(back >= 0, back, grid.edges))

    def look_around(self, flow: Floats, spans: tuple[int, ...]) -> Floats:
        """The flow back; and for each span, sums over so many edges ahead and behind, and over those of the way back.

        The first span begins beside the edge, each other one where the one before it ends.
        """
        nowhere = len(flow)
        flow = np.append(flow, 0.0)
        on, off = np.append(self.ahead, nowhere), np.append(self.behind, nowhere)
        fore, hind, columns = on, off, [flow[self.back]]
        for span in spans:
            found = np.zeros(len(flow))
            for _ in range(span):
                found += flow[fore] + flow[hind]
                fore, hind = on[fore], off[hind]
            columns += [found[:-1], found[self.back]]
        return np.stack(columns, axis=1)


def _group_by_size(value: Floats, few: int) -> Ints:
    """Groups of like values: the `few` largest, as many after them, then twice as many each time."""
    rank = np.empty(len(value), np.int64)
    rank[np.argsort(-value, kind="stable")] = np.arange(len(value))
    return np.floor(np.log2(np.maximum(rank / few, 0.5))).astype(np.int64) + 1
