"""Plausible trips on a grid: drivers do not take shortest ways, but ways as long as measured, with bends.

A way with detours is drawn through points on ellipses around its two ends: a point on an ellipse whose longer axis is
s makes a way of length s. The two legs are split again, up to three times, each time spending part of what the way
should be longer than the straight one; the last split spends the rest. Among a few points, the one in cells that
fitted trips use more than drawn ones did is preferred. Few splits make wide bows, many make ways that wander. Points
near the border of two cells also make ways that step over it and back again, and ways between diagonal neighbours clip
a third cell, which no detour does: some ways spend part of their length on that (`drive_steps.py`). Which share of the
trips drives how is learnt from the fit.
"""

from dataclasses import dataclass
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Ints
from wayveil.mechanisms.weave.demand import NetworkDemand
from wayveil.mechanisms.weave.drives import (
    DriveLengths,
    add_corners,
    clear_lengths,
    draw_clips,
    find_corner_share,
    step_back,
)
from wayveil.mechanisms.weave.routes import METRES_PERTURBED, Costs, Legs, join_legs, route_legs
from wayveil.mechanisms.weave.settings import DriveSettings, Generation
from wayveil.mechanisms.weave.support_fit import FittedSupport, Support, select_walks
from wayveil.world.grid import Grid
from wayveil.world.grid_corners import find_corners
from wayveil.world.walk_blocks import LONGEST, Walks


@dataclass(frozen=True)
class DriveChoice:
    """A way to drive: how often the way is split by detours, whether legs follow cheap edges or straight lines, whether
    it steps back and forth, and whether it does so all at one place.
    """

    splits: int
    cheap: bool = False
    back: bool = False
    burst: bool = False


DRIVE_CHOICES = (
    DriveChoice(0),
    DriveChoice(0, cheap=True),
    DriveChoice(1),
    DriveChoice(1, cheap=True),
    DriveChoice(2),
    DriveChoice(3),
    DriveChoice(0, back=True),
    DriveChoice(0, cheap=True, back=True),
    DriveChoice(1, back=True),
    DriveChoice(2, back=True),
    DriveChoice(0, back=True, burst=True),
    DriveChoice(0, cheap=True, back=True, burst=True),
    DriveChoice(1, back=True, burst=True),
)
_SPLITS = np.array([kind.splits for kind in DRIVE_CHOICES])
_CHEAP = np.array([kind.cheap for kind in DRIVE_CHOICES])
_BACK = np.array([kind.back for kind in DRIVE_CHOICES])
_BURST = np.array([kind.burst for kind in DRIVE_CHOICES])
# Diagonal moves per side of a cell on a way in any direction: the mean of the smaller of sine and cosine.
_DIAGONALS_PER_SIDE = 4 / pi * (1 - sqrt(1 / 2))
# Points of a way that is split three times, ends included.
_MOST_POINTS = 9


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
    """Ways to draw: ends, how often each is split, and how much longer than the straight one it should be."""

    origin: Ints
    destination: Ints
    splits: Ints
    longer: Floats


class DrivenWays:
    """Drivers on a grid, who learn from round to round which cells are liked."""

    def __init__(self, demand: NetworkDemand, grid: Grid, settings: Generation) -> None:
        self.demand, self.costs = demand, Costs(grid, settings)
        clear = clear_lengths(demand.noisy["length"], demand.blocks.length_edges, settings)
        self.grid, self.ground = grid, _GridArrays.of(grid)
        self.lengths = DriveLengths(demand.blocks, clear, demand.total, settings.drives.usual_lengths)
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
        points, used, back, clips = self._draw_points(kind, origin, destination, clips, rng)
        straight, cheap = np.flatnonzero(~_CHEAP[kind]), np.flatnonzero(_CHEAP[kind])
        parts = [
            (straight, _draw_lines(self.ground, points[straight], used[straight])),
            *(
                (some, _route(self.costs, points[some], used[some], costs, rng))
                for some, costs in ((cheap[at :: len(felt)], costs) for at, costs in enumerate(felt))
            ),
        ]
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

    def _draw_points(
        self, kind: Ints, origin: Ints, destination: Ints, clips: Floats, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Ints, Floats]:
        """Draw the cells that each way goes through: ends, and points of detours between them.

        Returns them, how many there are, how often the way steps back and forth, and the share of its corners that it
        is seen at.
        """
        grid, settings = self.grid, self.costs.settings.drives
        north = grid.row[destination] - grid.row[origin]
        east = grid.column[destination] - grid.column[origin]
        diagonal = np.minimum(np.abs(north), np.abs(east))
        fewest = np.maximum(np.abs(north), np.abs(east)).astype(np.int64) + 1
        wanted = self.lengths.draw(origin, destination, fewest, rng)
        # A way is seen at no more corners than its length leaves room for.
        clips = np.minimum(clips, (wanted - fewest) / np.maximum(diagonal, 1))
        fewest = fewest + np.round(clips * diagonal).astype(np.int64)
        # A step back and forth takes two moves. Unless they come in a burst, there is at most one for each move of the
        # straight way.
        share = np.where(_SPLITS[kind] == 0, 1.0, rng.uniform(*settings.spent_back, len(kind)))
        back = (share * (wanted - fewest) / 2).astype(np.int64) * _BACK[kind]
        back = np.minimum(
            back, np.where(_BURST[kind], np.maximum(fewest - 1, settings.most_in_burst), fewest - 1)
        )
        longer = (wanted - fewest - 2 * back) / (settings.moves_per_side + _DIAGONALS_PER_SIDE * clips)
        ways = _Ways(origin, destination, np.where(longer > 0, _SPLITS[kind], 0), longer)
        points, used = _split_ways(self.ground, ways, self.liked, settings.spent_early, settings.tries, rng)
        return points, used, back, clips


def learn_liked(
    liked: Floats, support: Support, weight: Floats, total: float, settings: DriveSettings
) -> Floats:
    """How much more each cell is used by fitted trips than by drawn ones, on top of what was known."""
    walks, size = support.walks, len(liked)
    share = np.repeat(weight / walks.lengths, walks.lengths)
    even = np.repeat(total / len(walks) / walks.lengths, walks.lengths)
    fitted = np.bincount(walks.location, share, size)
    drawn = np.bincount(walks.location, even, size)
    floor = settings.liked_floor * total / size
    ratio = (fitted + floor) / (drawn + floor)
    return np.clip(liked * ratio, 1 / settings.most_liked, settings.most_liked)


@njit(cache=True)
def _draw_detour(ground, one, other, now, liked, tries, rng):  # type: ignore[no-untyped-def]
    """Draw a cell on the ellipse that makes the way between two cells longer by `now`; -1 if none was met."""
    row, column, cells = ground
    y, x = row[one], column[one]
    dy, dx = row[other] - y, column[other] - x
    apart = np.sqrt(dy * dy + dx * dx)
    long = (apart + now) / 2
    wide = np.sqrt(max(long * long - apart * apart / 4, 0.0))
    uy, ux = (dy / apart, dx / apart) if apart > 0 else (0.0, 1.0)
    option, pull = np.empty(tries, np.int64), np.empty(tries)
    some = 0
    total = 0.0
    for _ in range(tries):
        angle = rng.uniform(0.0, 2 * np.pi)
        along, aside = long * np.cos(angle), wide * np.sin(angle)
        py = int(np.floor(y + dy / 2 + along * uy + aside * ux + 0.5))
        px = int(np.floor(x + dx / 2 + along * ux - aside * uy + 0.5))
        if 0 <= py < cells.shape[0] and 0 <= px < cells.shape[1] and cells[py, px] >= 0:
            option[some] = cells[py, px]
            total += liked[cells[py, px]]
            pull[some] = total
            some += 1
    if some == 0:
        return -1
    drawn = rng.random() * total
    pick = 0
    while pick < some - 1 and pull[pick] <= drawn:
        pick += 1
    return option[pick]


@njit(cache=True)
def _split_ways(ground, ways, liked, spent, tries, rng):  # type: ignore[no-untyped-def]
    """Split each way by detours: its cells, and how many there are."""
    row, column, _ = ground
    count = len(ways.origin)
    points = np.empty((count, _MOST_POINTS), np.int64)
    used = np.empty(count, np.int64)
    at, more = np.empty(_MOST_POINTS, np.int64), np.empty(_MOST_POINTS)
    spare, spare_more = np.empty(_MOST_POINTS, np.int64), np.empty(_MOST_POINTS)
    for i in range(count):
        at[0], at[1] = ways.origin[i], ways.destination[i]
        more[0] = ways.longer[i]
        n = 2
        for split in range(ways.splits[i]):
            last = split == ways.splits[i] - 1
            m = 0
            for leg in range(n - 1):
                one, other = at[leg], at[leg + 1]
                spare[m] = one
                now = more[leg] if last else more[leg] * rng.uniform(spent[0], spent[1])
                via = _draw_detour(ground, one, other, now, liked, tries, rng)
                if via < 0:
                    spare_more[m] = more[leg]
                    m += 1
                    continue
                dy, dx = row[other] - row[one], column[other] - column[one]
                first = np.hypot(row[via] - row[one], column[via] - column[one])
                second = np.hypot(row[other] - row[via], column[other] - column[via])
                rest = max(np.sqrt(dy * dy + dx * dx) + more[leg] - first - second, 0.0)
                whole = max(first + second, 1e-9)
                spare_more[m] = rest * first / whole
                spare[m + 1] = via
                spare_more[m + 1] = rest * second / whole
                m += 2
            spare[m] = at[n - 1]
            n = m + 1
            at[:n] = spare[:n]
            more[: n - 1] = spare_more[: n - 1]
        points[i, :n] = at[:n]
        used[i] = n
    return points, used


@njit(cache=True)
def _draw_lines(ground, points, used):  # type: ignore[no-untyped-def]
    """Draw straight lines from point to point; a way over cells that the grid does not have is empty."""
    row, column, cells = ground
    count = len(used)
    offsets = np.zeros(count + 1, np.int64)
    room = count
    for i in range(count):
        for leg in range(used[i] - 1):
            one, other = points[i, leg], points[i, leg + 1]
            room += max(abs(row[other] - row[one]), abs(column[other] - column[one]))
    location = np.empty(room, np.int32)
    n = 0
    for i in range(count):
        start = n
        location[n] = points[i, 0]
        n += 1
        whole = True
        for leg in range(used[i] - 1):
            one, other = points[i, leg], points[i, leg + 1]
            north, east = row[other] - row[one], column[other] - column[one]
            steps = max(abs(north), abs(east))
            for step in range(1, steps + 1):
                y = int(np.floor(row[one] + north * step / steps + 0.5))
                x = int(np.floor(column[one] + east * step / steps + 0.5))
                if cells[y, x] < 0:
                    whole = False
                    break
                location[n] = cells[y, x]
                n += 1
        if not whole:
            n = start
        offsets[i + 1] = n
    return location[:n].copy(), offsets


def _route(
    costs: Costs, points: Ints, used: Ints, learnt: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Ints]:
    """Cheap ways from point to point, under costs that differ a little and that earlier rounds have learnt."""
    if len(points) == 0:
        return np.zeros(0, np.int32), np.zeros(1, np.int64)
    via = np.flatnonzero(used > 2)
    end = points[np.arange(len(points)), used - 1]
    trip = np.concatenate([np.arange(len(points)), via])
    start = np.concatenate([points[:, 0], points[via, 1]])
    stop = np.concatenate([end, end[via]])
    stop[via] = points[via, 1]
    legs = Legs(np.full(len(trip), METRES_PERTURBED), trip, start, stop)
    return join_legs(legs, route_legs(costs, legs, learnt, rng), len(via))
