"""A tree of contexts with the noisy counts of what follows them, and what shorter contexts make expect.

Contexts of one symbol come first, then those of two, and so on. What may follow a context depends on its last symbol
alone, so a context and the shorter one that it ends with (`link`) have the same row of possible next symbols, and the
shorter one says how often each is to be expected before anything is asked about the longer one.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints, Mask
from wayveil.synthesis.ngram_model import NOT_ASKED, NgramModel, NgramTable, NoisyLengths
from wayveil.synthesis.projection import onto_total
from wayveil.world.successors import Successors
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

# Cells of contexts that were not asked about; more of them are left to their last symbol.
MOST_TURNS = 2_000_000
# What may follow besides the way back, in shares of that, for it to count as something.
LEAST_LEFT = 0.01
# How far the share that goes straight back is thought to be from what is thought of it before anything is seen: over
# places with no public ways, and on ways, which hardly ever lead back.
FREE_DOUBT, WAYS_DOUBT = 1.0, 1 / 3


@dataclass(eq=False)
class ContextLevel:
    """The contexts of one length. Row i has `degree[i]` cells, one per symbol that may follow context i.

    symbols  one row of symbols per context
    total    how often each context occurs, from noisy counts
    link     the longest shorter context that each ends with, numbered through all levels; -1 for none
    weight   how often each next symbol follows, a cell each
    """

    symbols: Ints
    total: Floats
    link: Ints
    degree: Ints
    weight: Floats
    noisy: Ints
    first_id: int = 0
    scale: Fraction = Fraction(0)

    @property
    def row(self) -> Ints:
        """The context of each cell."""
        return np.repeat(np.arange(len(self.total)), self.degree)

    def settle(
        self, asked: Mask, noisy: Ints, scale: Floats, spread: float, back: Mask, turning: float
    ) -> float:
        """Take in noisy counts of the asked cells: between what was expected and what was counted, by their errors.

        An expectation e is thought to be off by `spread` e, a count by its noise. The cells of a row then add up to
        the context's total again. Shorter contexts do not know where a trip came from, and expect that many go
        straight `back`: how much too many is seen in all such cells together, long before it is seen in one.
        `turning` is the share of them that is thought to do so before anything is seen. Returns what was found.
        """
        self.noisy[asked] = noisy
        backs = back[asked]
        turning = _ratio_of(noisy[backs], self.weight[asked][backs], scale[backs], turning)
        self.weight[back] *= turning
        self._fill_totals()
        expected = self.weight[asked]
        doubt = (spread * expected) ** 2
        trust = doubt / (doubt + 2 * scale**2)
        self.weight[asked] = np.maximum(expected + trust * (noisy - expected), 0.0)
        self._fill_totals()
        return turning

    def _fill_totals(self) -> None:
        """Let the cells of every row add up to the total of its context."""
        together = np.bincount(self.row, self.weight, len(self.total))
        factor = np.divide(self.total, together, out=np.zeros(len(self.total)), where=together > 0)
        self.weight *= factor[self.row]


def _ratio_of(noisy: Ints, expected: Floats, scale: Floats, before: float) -> float:
    """Return counts of these cells over those expected: what was thought `before` where noise hides it."""
    whole = float(expected.sum())
    if whole <= 0:
        return before
    variance = 2 * float(np.sum(scale**2)) / whole**2
    doubt = FREE_DOUBT if before >= 1 else WAYS_DOUBT
    return max(before + (float(noisy.sum()) / whole - before) * doubt**2 / (doubt**2 + variance), 0.0)


@dataclass(frozen=True, eq=False)
class NoisyVisits:
    """Number of times that trips come to each location within their first `moves`, and last that they end there."""

    noisy: Ints
    scale: Fraction
    moves: int

    def merged(self, moves: Ints, arrival: Ints, scale: Fraction) -> Floats:
        """Better visits: each is also the sum of the noisy moves to it; weighted by how exact the two are."""
        sums = np.bincount(arrival, moves, len(self.noisy))
        variance = float(scale) ** 2 * np.maximum(np.bincount(arrival, minlength=len(self.noisy)), 1)
        trust = variance / (variance + float(self.scale) ** 2)
        return np.maximum(trust * self.noisy + (1 - trust) * sums, 0.0)


class ContextTree:
    """Contexts of growing length over one public relation of what may follow what."""

    def __init__(
        self,
        successors: Successors,
        symbols: int,
        noisy: Ints,
        scale: Fraction,
        visits: NoisyVisits,
        trips: float,
        turning: float = 1.0,
    ) -> None:
        """Start with the contexts of one symbol, 0..symbols-1, and noisy counts of everything that may follow them.

        `turning`: of the trips that single symbols send straight back, the share that is thought to go there.
        """
        self.successors = successors
        self.trips = trips
        degree = successors.degree(np.arange(symbols))
        row = np.repeat(np.arange(symbols), degree)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        arrival = np.minimum(successors.nth(row, rank), symbols - 1).astype(np.int64)
        self.visits, self.moves = visits.merged(noisy, arrival, scale), visits.moves
        self.singles = visits
        weight = onto_total(noisy, max(float(noisy.sum()), 0.0))
        together = np.bincount(arrival, weight, symbols)
        weight *= np.divide(self.visits, together, out=np.ones(symbols), where=together > 0)[arrival]
        total = np.bincount(row, weight, symbols).astype(np.float64)
        link = np.full(symbols, -1, np.int64)
        self.levels = [
            ContextLevel(np.arange(symbols)[:, None], total, link, degree, weight, noisy, 0, scale)
        ]
        self._children, self._child_ids = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.turning = turning

    @property
    def deepest(self) -> ContextLevel:
        return self.levels[-1]

    def sprout(self, cells: Ints, least: Floats) -> tuple[Ints, ContextLevel]:
        """Contexts one symbol longer, from cells of the deepest level that are expected to go on often enough.

        A cell sprouts if its most likely next symbol is expected at least `least` times. Returns the cells that do, and
        the new level with expected weights, which is not part of the tree before `add`.
        """
        above = self.deepest
        parent, symbol = self._ends_of(above, cells)
        goes_on = symbol < len(self.levels[0].total)  # nothing follows the end mark
        cells, parent, symbol, least = cells[goes_on], parent[goes_on], symbol[goes_on], least[goes_on]
        link = self._link(above.first_id + parent, symbol)
        grows = above.weight[cells] * self._likeliest()[link] >= least
        cells, parent, symbol, link = cells[grows], parent[grows], symbol[grows], link[grows]
        return cells, self._expected(above, cells, parent, symbol, link)

    def _ends_of(self, above: ContextLevel, cells: Ints) -> tuple[Ints, Ints]:
        """The context of each of these cells of a level, and what follows it there."""
        parent = above.row[cells]
        starts = np.concatenate([[0], np.cumsum(above.degree)])
        return parent, self.successors.nth(above.symbols[parent, -1], cells - starts[parent]).astype(np.int64)

    def _expected(
        self, above: ContextLevel, cells: Ints, parent: Ints, symbol: Ints, link: Ints
    ) -> ContextLevel:
        """Contexts one symbol longer than those above, with what the contexts that they end with make expect."""
        total = above.weight[cells]
        degree = self.successors.degree(symbol)
        within = np.arange(int(degree.sum())) - np.repeat(np.cumsum(degree) - degree, degree)
        first, weights, totals = self._flat()
        share = np.divide(total, totals[link], out=np.zeros(len(total)), where=totals[link] > 0)
        expected = weights[np.repeat(first[link], degree) + within] * np.repeat(share, degree)
        symbols = np.concatenate([above.symbols[parent], symbol[:, None]], axis=1)
        noisy = np.full(len(expected), NOT_ASKED, np.int64)
        return ContextLevel(symbols, total, link, degree, expected, noisy)

    def unasked_turns(self) -> ContextLevel | None:
        """Contexts of two symbols that were too rare to ask about, and from which one could go straight back.

        They would follow their last symbol alone, which does not know where a trip came from, and turn back as often as
        others come from there. They turn as seldom as contexts that were asked about. None: they turn as often, or it
        would be too much to write down.
        """
        base = self.levels[0]
        if self.turning >= 1:
            return None
        cells = np.flatnonzero(base.weight > 0)
        parent, symbol = self._ends_of(base, cells)
        symbols = len(base.total)
        known = np.isin(parent * self.successors.size + symbol, self._children)
        there = (symbol < symbols) & (parent < symbols - 1) & (symbol != parent) & ~known
        there[there] = self.successors.contains(symbol[there], parent[there])
        if self.successors.degree(symbol[there]).sum() > MOST_TURNS:
            return None
        level = self._expected(base, cells[there], parent[there], symbol[there], symbol[there])
        back = self.leads_back(level)
        self._end_dead_ends(level, back)
        level.weight[back] *= self.turning
        return level

    def _end_dead_ends(self, level: ContextLevel, back: Mask) -> None:
        """Where nothing is left but to go straight back, trips that do not turn end.

        Noise makes moves that nobody made, and from where they lead, the way back is often the only one that is known:
        walks would run to and fro.
        """
        row, last = level.row, np.cumsum(level.degree) - 1  # the end mark comes last
        backs, others = (np.bincount(row, level.weight * part, len(level.total)) for part in (back, ~back))
        dead = (backs > 0) & (others <= LEAST_LEFT * backs)
        level.weight[last[dead]] += (1 - min(self.turning, 1.0)) * backs[dead]

    def add(self, cells: Ints, level: ContextLevel) -> None:
        """Make a sprouted level part of the tree."""
        above = self.deepest
        level.first_id = above.first_id + len(above.total)
        keys = (above.first_id + above.row[cells]) * self.successors.size + level.symbols[:, -1]
        ids = level.first_id + np.arange(len(keys))
        self._children = np.concatenate([self._children, keys])
        self._child_ids = np.concatenate([self._child_ids, ids])
        order = np.argsort(self._children, kind="stable")
        self._children, self._child_ids = self._children[order], self._child_ids[order]
        self.levels.append(level)

    def next_symbols(self, level: ContextLevel) -> Ints:
        """Return what follows the context in each cell of a level."""
        starts = np.cumsum(level.degree) - level.degree
        rank = np.arange(len(level.weight)) - np.repeat(starts, level.degree)
        return self.successors.nth(level.symbols[level.row, -1], rank).astype(np.int64)

    def leads_back(self, level: ContextLevel) -> Mask:
        """Cells of contexts of two symbols or more that go straight back to the symbol before the last."""
        came_from = level.symbols[level.row, -2]
        return np.asarray(
            (self.next_symbols(level) == came_from) & (came_from != level.symbols[level.row, -1])
        )

    def model(
        self, world: World, longest: int, lengths: NoisyLengths, bins: TimeBins | None = None
    ) -> NgramModel:
        """The walks of this tree, whose symbols are locations or, with bins, pairs of location and bin."""
        begin, end = len(self.singles.noisy) - 1, len(self.singles.noisy)
        names = np.append(np.arange(begin), end)[:, None]
        tables = [NgramTable(names, self.singles.noisy, self.visits, self.singles.scale)]
        turns = self.unasked_turns()
        for level in self.levels[1:]:
            self._end_dead_ends(level, self.leads_back(level))
        for level in self.levels:
            parts = [level] if turns is None or level.symbols.shape[1] != 2 else [level, turns]
            symbols, noisy, weight = (
                np.concatenate(each) for each in zip(*map(self._cells, parts), strict=True)
            )
            tables.append(NgramTable(symbols, noisy, weight, level.scale))
        if turns is not None and len(self.levels) == 1:
            tables.append(NgramTable(*self._cells(turns), self.levels[0].scale))
        return NgramModel(world, tuple(tables), (begin,), end, self.trips, longest, self.moves, lengths, bins)

    def _cells(self, level: ContextLevel) -> tuple[Ints, Ints, Floats]:
        """Symbols, noisy count and weight of the cells of a level that have any."""
        symbols = np.concatenate([level.symbols[level.row], self.next_symbols(level)[:, None]], axis=1)
        kept = level.weight > 0
        return symbols[kept], level.noisy[kept], level.weight[kept]

    def _link(self, parent: Ints, symbol: Ints) -> Ints:
        """The longest known context that ends `parent` + `symbol` and is shorter: follow the parent's own links."""
        link = np.concatenate([level.link for level in self.levels])
        found = np.full(len(parent), -1, np.int64)
        at = link[parent]
        while (open_ := np.flatnonzero((found < 0) & (at >= 0))).size:
            wanted = at[open_] * self.successors.size + symbol[open_]
            place = np.searchsorted(self._children, wanted)
            place = np.minimum(place, max(len(self._children) - 1, 0))
            known = self._children[place] == wanted if len(self._children) else np.zeros(len(open_), bool)
            found[open_[known]] = self._child_ids[place[known]]
            at[open_] = link[at[open_]]
        return np.where(found >= 0, found, symbol)

    def _flat(self) -> tuple[Ints, Floats, Floats]:
        """First cell of each context, the weights of all cells, and their totals, through all levels."""
        degree = np.concatenate([level.degree for level in self.levels])
        weight = np.concatenate([level.weight for level in self.levels])
        row = np.repeat(np.arange(len(degree)), degree)
        total = np.bincount(row, weight, len(degree)).astype(np.float64)
        return np.cumsum(degree) - degree, weight, total

    def _likeliest(self) -> Floats:
        """The probability of the most likely next symbol of each context."""
        first, weight, total = self._flat()
        most = np.zeros(len(total))
        np.maximum.at(most, np.repeat(np.arange(len(total)), np.diff(np.append(first, len(weight)))), weight)
        return np.divide(most, total, out=np.zeros(len(total)), where=total > 0)
