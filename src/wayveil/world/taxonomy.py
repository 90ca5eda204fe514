"""Public taxonomies: locations in districts, hours in parts of the day.

A taxonomy has `height` general levels above its leaves; every general node has the finer nodes that refine it. Height
zero is no taxonomy at all: the leaves hang directly under the root. A level that splits nothing is left out: counting
it would be paid for and tell nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.errors import InputError, ParameterError
from wayveil.world.geo import project
from wayveil.world.network import Network
from wayveil.world.successors import Successors
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


class Taxonomy:
    """`groups[j][leaf]` is the general node above a leaf on level j (coarse to fine); each level refines the last."""

    def __init__(self, leaves: int, groups: Sequence[AnyInts] = ()) -> None:
        self.leaves = leaves
        numbered: list[Int32s] = []
        above, nodes = np.zeros(leaves, np.int64), min(leaves, 1)
        for level in groups:
            # Numbered so that the nodes under one coarser node are consecutive.
            _, code = np.unique(np.stack([above, np.asarray(level, np.int64)]), axis=1, return_inverse=True)
            above = code.ravel().astype(np.int64)
            found = int(above.max(initial=-1)) + 1
            if nodes < found < leaves:
                numbered.append(above.astype(np.int32))
            nodes = found
        for coarse, fine in pairwise(groups):
            if len(np.unique(np.stack([coarse, fine]), axis=1)[0]) != len(np.unique(fine)):
                raise ParameterError(
                    "a taxonomy's finer level must refine the coarser one; a group has two parents"
                )
        self.groups: tuple[Int32s, ...] = tuple(numbered)

    @property
    def height(self) -> int:
        """General levels between root and leaves."""
        return len(self.groups)

    @classmethod
    def balanced(cls, leaves: int, height: int, fan_out: int, order: AnyInts | None = None) -> "Taxonomy":
        """Every node has about `fan_out` children; leaves are grouped in the given order (default: their own)."""
        if height < 0 or fan_out < 2:
            raise ParameterError(
                "a balanced taxonomy needs a height of at least 0 and a fan-out of at least 2"
            )
        place = np.empty(leaves, np.int64)
        place[np.arange(leaves) if order is None else order] = np.arange(leaves)
        return cls(leaves, [place * min(fan_out**level, leaves) // leaves for level in range(1, height + 1)])

    @classmethod
    def of_geography(cls, network: Network, height: int, fan_out: int) -> "Taxonomy":
        """Districts: the map is halved again and again, and neighbouring pieces form a group."""
        east, north = project(network.lat, network.lon)
        return cls.balanced(network.size, height, fan_out, _halving_order(np.stack([east, north], axis=1)))

    @classmethod
    def of_routes(cls, network: Network) -> "Taxonomy":
        """Lines: each stop belongs to the route with which it shares most edges; stops without one form a group."""
        edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
        route = network.route
        table = pl.DataFrame(
            {
                "stop": np.concatenate([network.sources[edge], network.indices[edge]]),
                "route": np.concatenate([route, route]),
            }
        )
        main = (
            table.group_by("stop", "route")
            .len()
            .sort("stop", "len", "route", descending=[False, True, False])
            .unique("stop", keep="first", maintain_order=True)
        )
        group = np.full(network.size, -1, np.int64)
        group[main["stop"].to_numpy()] = main["route"].to_numpy()
        return cls(network.size, [group])

    @classmethod
    def of_file(cls, path: str | Path, world: World) -> "Taxonomy":
        """A csv file: the location's id, then one column per general level from coarse to fine."""
        return cls._of_table(Path(path), world.ids, "location", "the world's {size} locations")

    @classmethod
    def of_times_file(cls, path: str | Path, bins: TimeBins) -> "Taxonomy":
        """A csv file: the label of the bin (`08:00-09:00`), then one column per general level from coarse to fine."""
        return cls._of_table(Path(path), np.array(bins.labels), "time bin", "the {size} time bins")

    @classmethod
    def _of_table(cls, path: Path, ids: NDArray[np.str_], what: str, all_of_them: str) -> "Taxonomy":
        try:
            table = pl.read_csv(path, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"is not a readable csv file ({error})", file=path) from error
        size = len(ids)
        index = World(ids).index_of(table[table.columns[0]])
        if (index < 0).any():
            row = int(np.argmax(index < 0))
            known = "is not in the world" if what == "location" else f"is none of {', '.join(ids[:3])}, ..."
            raise InputError(f"{what} {table[row, 0]!r} {known}", file=path, row=row + 1)
        if len(np.unique(index)) != size or len(index) != size:
            raise InputError(f"must have one row for each of {all_of_them.format(size=size)}", file=path)
        groups = []
        for column in table.columns[1:]:
            code = np.empty(size, np.int64)
            code[index] = table[column].fill_null("").rank("dense").to_numpy()
            groups.append(code)
        return cls(size, groups)

    def ancestors(self, leaf: AnyInts) -> list[Int32s]:
        """The general nodes above each leaf, from coarse to fine."""
        return [group[leaf] for group in self.groups]

    def steps(self) -> Iterator[tuple[Int32s, AnyInts, bool]]:
        """Steps from coarse to fine: of each leaf the node above and the node below, and whether that is the leaf."""
        nodes: list[AnyInts] = [np.zeros(self.leaves, np.int32), *self.groups, np.arange(self.leaves)]
        for above, child in pairwise(nodes):
            yield np.asarray(above, np.int32), child, child is nodes[-1]

    def descents(self, memories: int, *, ordered: bool, remembers_leaf: bool) -> list["Descent"]:
        """The moves down the taxonomy, level by level, the last one to the leaves (see `Descent`)."""
        end = "leaf" if remembers_leaf else "root"
        return [
            Descent(above, child, memories, ordered=ordered, after=end if last else "node")
            for above, child, last in self.steps()
        ]


class Descent(Successors):
    """One step down a taxonomy, from a node to the finer nodes (or leaves) under it.

    The state is node x memories + memory, where the memory is the time bin of the visit before. With `ordered` (time)
    only children that reach up to the memory are possible. `after` says what the next state is: the child `node`
    itself; the `root` of the next taxonomy with the same memory; or its root, remembering this `leaf`.
    """

    def __init__(self, above: AnyInts, child: AnyInts, memories: int, *, ordered: bool, after: str) -> None:
        pairs = np.unique(np.stack([np.asarray(above, np.int64), np.asarray(child, np.int64)]), axis=1)
        parent, self._item = pairs[0], pairs[1]
        self.size = int(self._item.max()) + 1
        self.memories = memories
        self.after = after
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(parent))]).astype(np.int64)
        self._place = np.empty(self.size, np.int64)
        self._place[self._item] = np.arange(len(self._item))
        # By memory, the first place (children lie in order) that does not end before it, that is, not in the past.
        self._earliest = np.zeros(memories, np.int64)
        if ordered:
            last_leaf = np.zeros(self.size, np.int64)
            np.maximum.at(last_leaf, np.asarray(child, np.int64), np.arange(len(np.asarray(child))))
            reach = last_leaf[self._item]
            if np.any(np.diff(reach) < 0):
                raise ParameterError("a taxonomy of times must group neighbouring bins only")
            self._earliest = np.searchsorted(reach, np.arange(memories), side="left").astype(np.int64)

    @property
    def earliest(self) -> Ints:
        """By memory, the first place that is not in the past."""
        return self._earliest

    @property
    def mean_degree(self) -> float:
        return len(self._item) / (len(self._starts) - 1)

    def _first(self, source: AnyInts) -> tuple[Ints, Ints]:
        """First possible place under each source's node, and the place after the last."""
        source = np.asarray(source, np.int64)
        node = source // self.memories
        first = np.maximum(self._starts[node], self._earliest[source - node * self.memories])
        return first, self._starts[node + 1]

    def degree(self, source: AnyInts) -> Ints:
        first, end = self._first(source)
        return np.maximum(end - first, 0)

    def nth(self, source: AnyInts, rank: AnyInts) -> Int32s:
        return self._item[self._first(source)[0] + rank].astype(np.int32)

    def rank(self, source: AnyInts, target: AnyInts) -> Ints:
        return _descent_rank(
            self._starts, self._earliest, self._place, self.memories, np.asarray(source), np.asarray(target)
        )

    def follow(self, source: AnyInts, target: AnyInts) -> Ints:
        memory = np.asarray(source, np.int64) % self.memories
        if self.after == "node":
            return np.asarray(target, np.int64) * self.memories + memory
        return memory if self.after == "root" else np.asarray(target, np.int64)


@njit(cache=True)
def _descent_rank(
    starts: Ints, earliest: Ints, place: Ints, memories: int, source: AnyInts, target: AnyInts
) -> Ints:
    out = np.full(len(target), -1, np.int64)
    for i in range(len(target)):
        if target[i] < 0:
            continue
        node = source[i] // memories
        first = max(starts[node], earliest[source[i] - node * memories])
        at = place[target[i]]
        if first <= at < starts[node + 1]:
            out[i] = at - first
    return out


def _halving_order(points: Floats) -> Ints:
    """An order in which near points are near: split at the median of the wider side, then each half likewise."""
    order = np.arange(len(points))
    todo = [(0, len(points))]
    while todo:
        start, end = todo.pop()
        if end - start < 2:
            continue
        part = order[start:end]
        axis = int(np.argmax(np.ptp(points[part], axis=0)))
        order[start:end] = part[np.argsort(points[part, axis], kind="stable")]
        middle = (start + end) // 2
        todo += [(start, middle), (middle, end)]
    return order
