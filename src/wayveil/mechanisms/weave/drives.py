"""Plausible trips on a grid: drivers do not take shortest ways, but ways as long as measured, with bends.

A way has as many visits as the law of lengths says for the distance of its ends. Its heading wavers from move to move,
much or little, and is drawn towards its goal as the moves that are left ask for. Where single edges were asked for,
some drivers follow cheap ones instead, straight to the goal or through a place of such a way. Points near the border
of two cells also make ways that step over it and back again: some ways spend part of their length on that. Which share
of the trips drives how is learnt from the fit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.lengths import LengthLaw
from wayveil.mechanisms.weave.routes import METRES_PERTURBED, Costs, Legs, join_legs, learn_costs, route_legs
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.weight_fit import FittedSupport, Support, select_walks
from wayveil.synthesis.projection import onto_total
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import find_corners
from wayveil.world.walk_blocks import LONGEST, Walks


class DriveChoice(NamedTuple):
    """A way to drive: which of the settings' deviations its heading has, or how many places between its ends a cheap
    route goes through (-1: none is taken); whether some moves are stepped back and forth, all at one place or not.
    """

    wavering: int
    via: int = -1
    back: bool = False
    burst: bool = False


DRIVE_CHOICES = (
    *(
        DriveChoice(how, -1, *back)
        for how in range(3)
        for back in ((False, False), (True, False), (True, True))
    ),
    *(DriveChoice(1, via, back, back) for via in (0, 1) for back in (False, True)),
)
_WAVERING, _VIA, _BACK, _BURST = np.array(DRIVE_CHOICES).T


class _GridArrays(NamedTuple):
    """Row and column of each cell of a grid, and the cell (-1: none) in each row and column."""

    row: Ints
    column: Ints
    cells: NDArray[np.int32]

    @classmethod
    def of(cls, grid: Grid) -> "_GridArrays":
        cells = np.full((grid.layout.rows, grid.layout.columns), -1, np.int32)
        cells[grid.row, grid.column] = np.arange(grid.size)
        return cls(grid.row.astype(np.int64), grid.column.astype(np.int64), cells)


class _Ways(NamedTuple):
    """Ways to draw: both ends, visits, and how much the heading wavers."""

    origin: Ints
    destination: Ints
    lengths: Ints
    wavering: Floats


class DrivenWays:
    """Drivers on a grid, who learn from round to round what edges cost."""

    rare, family = 1 / (2 * len(DRIVE_CHOICES)), np.arange(len(DRIVE_CHOICES))

    def __init__(self, demand: Demand, grid: Grid, settings: Generation) -> None:
        self.demand, self.settings, self.costs = demand, settings, Costs(grid, settings)
        self.grid, self.ground = grid, _GridArrays.of(grid)
        self.lengths = LengthLaw(demand.blocks.length_edges, demand.noisy["length"].value)
        # Where single edges were not asked for, nothing tells which are cheap: ways that waver say as much as routes.
        chosen = (_VIA < 0) | ("edge" in demand.noisy)
        self.first_shares = chosen / chosen.sum()
        self.learnt = [np.ones(grid.edges)]
        # A round that learns shares is enough where no costs are learnt.
        self.rounds = settings.rounds if "edge" in demand.noisy else min(settings.rounds, 2)

    def draw(self, count: int, shares: Floats, rng: np.random.Generator) -> Support:
        """Draw about `count` trips over the grid."""
        origin, destination = self.demand.draw_ends(count, rng)
        bins = self.demand.draw_time_bins(origin, destination, rng)
        kind = rng.choice(len(DRIVE_CHOICES), len(origin), p=shares)
        wanted, back, clips = self._draw_lengths(kind, origin, destination, rng)
        ways = _Ways(origin, destination, wanted, np.array(self.settings.wavering)[_WAVERING[kind]])
        stops, bounds = _wander(self.ground, ways, rng)
        free, cheap = np.flatnonzero(_VIA[kind] < 0), np.flatnonzero(_VIA[kind] >= 0)
        parts = [(free, select_walks(stops, bounds, free))]
        for at, costs in enumerate(self.learnt):
            some = cheap[at :: len(self.learnt)]
            points = _pick_points(Walks(stops, bounds), ways, some, _VIA[kind])
            parts.append((some, _route(self.costs, *points, costs, rng)))
        location, lengths, trip = (
            np.concatenate(part)
            for part in zip(*((walks[0], np.diff(walks[1]), which) for which, walks in parts), strict=True)
        )
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        found = np.flatnonzero(lengths > 0)
        trip, (location, offsets) = trip[found], select_walks(location, offsets, found)
        kept = ~find_corners(self.grid, location, offsets)
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
        location, offsets = add_corners(self.ground, location[kept], offsets, clips[trip], rng)
        found = np.flatnonzero(np.diff(offsets) + 2 * back[trip] <= LONGEST)
        trip, (location, offsets) = trip[found], select_walks(location, offsets, found)
        location, offsets = step_back(location, offsets, back[trip], _BURST[kind[trip]], rng)
        return Support(Walks(location, offsets, None if bins is None else bins[trip]), kind[trip])

    def learn(self, found: FittedSupport) -> None:
        """Learn what edges cost.

        Two streets side by side take all trips from each other in turn, as either becomes cheaper. So half of the
        drivers go on as they did a round before, and the fit chooses between the two.
        """
        before = self.learnt[0]
        self.learnt = [learn_costs(before, found, self.demand)]
        self.learnt += [] if (before == 1).all() else [before]

    def _draw_lengths(
        self, kind: Ints, origin: Ints, destination: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Floats]:
        """Return the visits of each way before it steps back and forth and before corners, how often it steps back, and
        the share of its corners that it is seen at: anything, unless corners were cut out of all trips.
        """
        grid = self.grid
        north, east = (
            np.abs(at[destination] - at[origin]).astype(np.int64) for at in (grid.row, grid.column)
        )
        diagonal, fewest = np.minimum(north, east), np.maximum(north, east) + 1
        pairs = np.stack([origin, destination], axis=1).astype(np.int32)
        far = self.demand.blocks.distance(Walks(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        wanted = self.lengths.draw_given(far, fewest, rng)
        # A way is seen at no more corners than its length leaves room for.
        clips = rng.random(len(kind)) * self.demand.blocks.resolution.corners
        clips = np.minimum(clips, (wanted - fewest) / np.maximum(diagonal, 1))
        wanted = wanted - np.round(clips * diagonal).astype(np.int64)
        # A step back and forth takes two moves, and has to be somewhere.
        share = rng.random(len(kind))
        back = (share * (wanted - fewest) / 2).astype(np.int64) * _BACK[kind] * (wanted > 2)
        back = np.where((wanted - 2 * back < 2) & (back > 0), (wanted - 2) // 2, back)
        return wanted - 2 * back, back, clips


def _pick_points(walks: Walks, ways: _Ways, some: Ints, via: Ints) -> tuple[Ints, Ints]:
    """Return the ends of some ways, a visit halfway between them where a way has one and goes `via` it; and where each
    way begins.
    """
    there = (via[some] > 0) & (walks.lengths[some] > 2)
    first = np.concatenate([[0], np.cumsum(2 + there)]).astype(np.int64)
    points = np.empty(first[-1], np.int64)
    points[first[:-1]], points[first[1:] - 1] = ways.origin[some], ways.destination[some]
    middle = some[there]
    points[first[:-1][there] + 1] = walks.location[walks.offsets[middle] + (walks.lengths[middle] - 1) // 2]
    return points, first


@njit(cache=True)
def _may_go(cells, y, x, goal_y, goal_x, left):  # type: ignore[no-untyped-def]
    """Return the cell in this row and column if its distance from the goal is right for so many moves, else -1."""
    if not (0 <= y < cells.shape[0] and 0 <= x < cells.shape[1]):
        return -1
    far = max(abs(goal_y - y), abs(goal_x - x))
    return -1 if far > left or (far == 0 and left == 1) else cells[y, x]


@njit(cache=True)
def _wander(ground, ways, rng):  # type: ignore[no-untyped-def]
    """Draw ways of so many visits between two cells, whose heading wavers from move to move.

    Of a few headings near the last one, the likelier is that from which a way that wavers so comes to its goal in the
    moves that are left: its mean and spread are those of a chain that keeps its direction (Kratky and Porod 1949). No
    move leads where the goal is too far for the moves that are left. A way that gets stuck is empty.
    """
    row, column, cells = ground
    origin, destination, lengths, wavering = ways
    offsets = np.zeros(len(origin) + 1, np.int64)
    location = np.empty(lengths.sum(), np.int32)
    tries = 4
    heading, weight = np.empty(tries), np.empty(tries)
    for i in range(len(origin)):
        start = offsets[i]
        y, x = float(row[origin[i]]), float(column[origin[i]])
        goal_y, goal_x = row[destination[i]], column[destination[i]]
        keeps = 2 / max(wavering[i] ** 2, 1e-6)
        location[start] = origin[i]
        last, done = 0.0, True
        for k in range(1, lengths[i]):
            left = lengths[i] - 1 - k
            fades = keeps * (1 - np.exp(-left / keeps))
            spread = max(2 * keeps * (left - fades) - fades * fades, 0.0) + 1.0
            total = 0.0
            for option in range(tries):
                # The first move may go anywhere.
                angle = last + rng.normal(0.0, wavering[i]) if k > 1 else rng.uniform(0.0, 2 * np.pi)
                north, east = np.sin(angle), np.cos(angle)
                far = max(abs(north), abs(east))
                to_y, to_x = y + north / far, x + east / far
                cell = _may_go(
                    cells, int(np.floor(to_y + 0.5)), int(np.floor(to_x + 0.5)), goal_y, goal_x, left
                )
                if cell >= 0:
                    off_y, off_x = goal_y - to_y - fades * north, goal_x - to_x - fades * east
                    total += np.exp(-(off_y * off_y + off_x * off_x) / spread)
                heading[option], weight[option] = angle, total
            if total > 0:
                drawn, option = rng.random() * total, 0
                while option < tries - 1 and weight[option] <= drawn:
                    option += 1
                last = heading[option]
                far = max(abs(np.sin(last)), abs(np.cos(last)))
                y, x = y + np.sin(last) / far, x + np.cos(last) / far
            else:
                # Whatever neighbour asks for the smallest turn.
                best, angle = -2.0, last
                at_y, at_x = int(np.floor(y + 0.5)), int(np.floor(x + 0.5))
                for eighth in range(8):
                    north, east = np.sin(eighth * np.pi / 4), np.cos(eighth * np.pi / 4)
                    to_y, to_x = at_y + int(np.round(north)), at_x + int(np.round(east))
                    along = np.cos(eighth * np.pi / 4 - last)
                    if along > best and _may_go(cells, to_y, to_x, goal_y, goal_x, left) >= 0:
                        best, angle, y, x = along, eighth * np.pi / 4, float(to_y), float(to_x)
                if best == -2.0:
                    done = False
                    break
                last = angle
            location[start + k] = cells[int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
        offsets[i + 1] = start + (lengths[i] if done else 0)
    return location[: offsets[-1]].copy(), offsets


def _route(
    costs: Costs, points: Ints, first: Ints, learnt: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    """Find cheap ways from point to point, under costs that differ a little and that earlier rounds have learnt."""
    if len(points) == 0:
        return np.zeros(0, np.int32), np.zeros(1, np.int64)
    count = np.diff(first)
    trip = np.repeat(np.arange(len(count)), count)
    leg = np.flatnonzero(trip[1:] == trip[:-1])
    legs = Legs(np.full(len(leg), METRES_PERTURBED), trip[leg], points[leg], points[leg + 1])
    # Trees over all cells are large.
    return join_legs(legs, route_legs(costs, legs, learnt, rng, tries=2), len(count))


@njit(cache=True)
def add_corners(ground, location, offsets, clips, rng):  # type: ignore[no-untyped-def]
    """Let walks be seen at some corners of their diagonal moves, on either side."""
    row, column, cells = ground
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
    """Let ways make some of their moves once more, having stepped back: A B becomes A B A B. In a burst, all of these
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


def estimate_flows(grid: Grid, noisy: CellEstimates, most: float, settings: Generation) -> CellEstimates:
    """Return flows on edges and their deviations, given the noisy counts of all of them (empirical Bayes).

    They add up as the noisy counts do, and to `most` at most.
    """
    if noisy.deviation <= 0:
        return noisy
    around = Streets.of_grid(grid).look_around(noisy.value)
    foretold = _foretell(around, noisy.value, settings.alike)
    group = _group_by_size(foretold, settings.alike)
    count, apart, noise = np.bincount(group), noisy.value - foretold, noisy.deviation**2
    real = (np.bincount(group, apart**2) / count - noise)[group]
    real = np.maximum(real, (settings.foretold * foretold) ** 2)
    believed = real / (real + noise)
    each = np.sqrt(np.maximum(believed, 1 / 5) * noisy.variance)
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

    def look_around(self, flow: Floats, spans: tuple[int, ...] = (1, 2, 4, 8)) -> Floats:
        """Return the flow back; and for each span, sums over so many edges ahead and behind, and over those of the way
        back. The first span begins beside the edge, each other one where the one before it ends.
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
    """Return groups of like values: the `few` largest, as many after them, then twice as many each time."""
    rank = np.empty(len(value), np.int64)
    rank[np.argsort(-value, kind="stable")] = np.arange(len(value))
    return np.floor(np.log2(np.maximum(rank / few, 0.5))).astype(np.int64) + 1
