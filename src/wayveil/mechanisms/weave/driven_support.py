"""Plausible trips on a grid: drivers do not take shortest ways, but ways as long as measured, with bends.

A way has as many visits as the law of lengths says for the distance of its ends. Its heading wavers from move to move,
much or little, and is drawn towards its goal as the moves that are left ask for. Some drivers follow cheap edges
instead, straight to the goal or through a place of such a way. Points near the border of two cells also make ways that
step over it and back again: some ways spend part of their length on that. Which share of the trips drives how is learnt
from the fit, and so is which cells wavering ways prefer.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import NetworkDemand
from wayveil.mechanisms.weave.drives import (
    add_corners,
    draw_clips,
    find_corner_share,
    step_back,
)
from wayveil.mechanisms.weave.lengths import LengthLaw
from wayveil.mechanisms.weave.routes import METRES_PERTURBED, Costs, Legs, join_legs, route_legs
from wayveil.mechanisms.weave.settings import DriveSettings, Generation
from wayveil.mechanisms.weave.support_fit import FittedSupport, Support
from wayveil.mechanisms.weave.weight_fit import select_walks
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
    """Drivers on a grid, who learn from round to round which cells are liked."""

    def __init__(self, demand: NetworkDemand, grid: Grid, settings: Generation) -> None:
        self.demand, self.costs = demand, Costs(grid, settings)
        self.grid, self.ground = grid, _GridArrays.of(grid)
        self.lengths = LengthLaw(demand.blocks.length_edges, demand.noisy["length"].value)
        self.first_choices = np.full(len(DRIVE_CHOICES), 1 / len(DRIVE_CHOICES))
        self.rare, self.liked = settings.drives.rare, np.ones(grid.size)
        # Unknown at first, unless corners were cut out of all trips.
        self.corners: float | None = None if demand.blocks.resolution.corners else 0.0
        self.before: Floats | None = None

    def draw(self, count: int, choices: Floats, learnt: Floats, rng: np.random.Generator) -> Support:
        """Draw about `count` trips over the grid.

        `choices` are the shares of the ways to drive, `learnt` factors of the costs of edges.
        """
        # Two streets side by side take all trips from each other in turn, as either becomes cheaper. So half of the
        # drivers go on as they did a round before, and the fit chooses between the two.
        felt = [learnt] if self.before is None else [learnt, self.before]
        self.before = None if (learnt == 1).all() else learnt
        origin, destination = self.demand.draw_ends(count, rng)
        bins = self.demand.draw_time_bins(origin, destination, rng)
        kind = rng.choice(len(DRIVE_CHOICES), len(origin), p=choices)
        clips = draw_clips(self.corners, len(origin), self.costs.settings.drives.sure_of_corners, rng)
        wanted, back, clips = self._draw_lengths(kind, origin, destination, clips, rng)
        drives = self.costs.settings.drives
        ways = _Ways(origin, destination, wanted, np.array(drives.wavering)[_WAVERING[kind]])
        stops, bounds = _wander(self.ground, ways, np.sqrt(self.liked), drives.tries, rng)
        free, cheap = np.flatnonzero(_VIA[kind] < 0), np.flatnonzero(_VIA[kind] >= 0)
        parts = [
            (free, select_walks(stops, bounds, free)),
        ]
        for at, costs in enumerate(felt):
            some = cheap[at :: len(felt)]
            points = _pick_points(Walks(stops, bounds), ways, some, _VIA[kind])
            parts.append((some, _route(self.costs, *points, costs, rng)))
        location = np.concatenate([part[0] for _, part in parts])
        lengths = np.concatenate([np.diff(part[1]) for _, part in parts])
        trip = np.concatenate([which for which, _ in parts])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        found = np.flatnonzero(lengths > 0)
        location, offsets = select_walks(location, offsets, found)
        trip = trip[found]
        kept = ~find_corners(self.grid, location, offsets)
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
        location, offsets = add_corners(self.grid, location[kept], offsets, clips[trip], rng)
        found = np.flatnonzero(np.diff(offsets) + 2 * back[trip] <= LONGEST)
        location, offsets = select_walks(location, offsets, found)
        trip = trip[found]
        location, offsets = step_back(location, offsets, back[trip], _BURST[kind[trip]], rng)
        return Support(Walks(location, offsets, None if bins is None else bins[trip]), kind[trip])

    def learn(self, found: FittedSupport) -> None:
        """Where the grid is really used, and how many clipped corners are seen."""
        weight, settings = found.fit.weight, self.demand.settings.drives
        self.liked = learn_liked(self.liked, found.support, weight, self.demand.total, settings)
        if self.demand.blocks.resolution.corners:
            self.corners = find_corner_share(self.grid, found.support.walks, weight)

    def _draw_lengths(
        self, kind: Ints, origin: Ints, destination: Ints, clips: Floats, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Floats]:
        """Return the visits of each way before it steps back and forth and before corners, how often it steps back, and
        the share of its corners that it is seen at.
        """
        grid, settings = self.grid, self.costs.settings.drives
        north, east = (
            np.abs(at[destination] - at[origin]).astype(np.int64) for at in (grid.row, grid.column)
        )
        diagonal, fewest = np.minimum(north, east), np.maximum(north, east) + 1
        pairs = np.stack([origin, destination], axis=1).astype(np.int32)
        far = self.demand.blocks.distance(Walks(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        wanted = self.lengths.draw_given(far, fewest, rng)
        # A way is seen at no more corners than its length leaves room for.
        clips = np.minimum(clips, (wanted - fewest) / np.maximum(diagonal, 1))
        wanted = wanted - np.round(clips * diagonal).astype(np.int64)
        # A step back and forth takes two moves, and has to be somewhere.
        share = rng.uniform(*settings.spent_back, len(kind))
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


def learn_liked(
    liked: Floats, support: Support, weight: Floats, total: float, settings: DriveSettings
) -> Floats:
    """Return how much more each cell is used by fitted trips than by drawn ones, on top of what was known."""
    walks, size = support.walks, len(liked)
    share = np.repeat(weight / walks.lengths, walks.lengths)
    even = np.repeat(total / len(walks) / walks.lengths, walks.lengths)
    fitted = np.bincount(walks.location, share, size)
    drawn = np.bincount(walks.location, even, size)
    floor = settings.liked_floor * total / size
    ratio = (fitted + floor) / (drawn + floor)
    return np.clip(liked * ratio, 1 / settings.most_liked, settings.most_liked)


@njit(cache=True)
def _may_go(cells, y, x, goal_y, goal_x, left):  # type: ignore[no-untyped-def]
    """Return the cell in this row and column if its distance from the goal is right for so many moves, else -1."""
    if not (0 <= y < cells.shape[0] and 0 <= x < cells.shape[1]):
        return -1
    far = max(abs(goal_y - y), abs(goal_x - x))
    return -1 if far > left or (far == 0 and left == 1) else cells[y, x]


@njit(cache=True)
def _wander(ground, ways, liked, tries, rng):  # type: ignore[no-untyped-def]
    """Draw ways of so many visits between two cells, whose heading wavers from move to move.

    Of a few headings near the last one, the likelier is that from which a way that wavers so comes to its goal in the
    moves that are left: its mean and spread are those of a chain that keeps its direction (Kratky and Porod 1949). No
    move leads where the goal is too far for the moves that are left. A way that gets stuck is empty.
    """
    row, column, cells = ground
    origin, destination, lengths, wavering = ways
    offsets = np.zeros(len(origin) + 1, np.int64)
    location = np.empty(lengths.sum(), np.int32)
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
                    total += liked[cell] * np.exp(-(off_y * off_y + off_x * off_x) / spread)
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
    """Cheap ways from point to point, under costs that differ a little and that earlier rounds have learnt."""
    if len(points) == 0:
        return np.zeros(0, np.int32), np.zeros(1, np.int64)
    count = np.diff(first)
    trip = np.repeat(np.arange(len(count)), count)
    leg = np.flatnonzero(trip[1:] == trip[:-1])
    legs = Legs(np.full(len(leg), METRES_PERTURBED), trip[leg], points[leg], points[leg + 1])
    return join_legs(legs, route_legs(costs, legs, learnt, rng), len(count))
