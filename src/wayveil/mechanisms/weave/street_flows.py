"""Flows on the edges of a grid, read off more than their own noisy counts.

Streets go straight on and are used in both directions, so an edge of a grid is much like the next ones ahead, the last
ones behind and the one back. How much of its flow these foretell is learnt from the noisy counts by least squares; an
edge is then believed as far as edges of which as much is foretold visibly differ. All of it works on noisy counts, so
it costs nothing.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.settings import StreetSettings
from wayveil.synthesis.projection import onto_total
from wayveil.world.grid import Grid


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
    """What the edges around foretell of each: by one rule for all edges, mended by one for edges that it finds alike.

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
