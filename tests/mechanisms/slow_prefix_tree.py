"""The noisy prefix tree once more, slow and plain: dictionaries, one node at a time, every empty child visited.

It follows the published description with the repaired steps and shares no code with the engine.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np


@dataclass
class Node:
    path: tuple
    count: int
    children: list = field(default_factory=list)


def successors_of(world, path):
    if not path:
        return list(range(world.size))
    everything = np.arange(world.size)
    last = np.full(world.size, path[-1])
    return [int(t) for t in everything[world.successors.contains(last, everything)]]


def slow_tree(trips, world, height, noise, threshold):
    """`noise(path)` and `threshold(depth, nodes, candidates)` are given, so that both sides can share them."""
    root = Node((), 0)
    frontier = [root]
    for depth in range(height):
        candidates = [(node, (*node.path, s)) for node in frontier for s in successors_of(world, node.path)]
        limit = threshold(depth, len(frontier), len(candidates))
        kept = []
        for node, path in candidates:
            true = sum(
                1 for trip in trips if tuple(trip[: depth + 1]) == path and legal(trip[: depth + 1], world)
            )
            noisy = true + noise(path)
            if noisy >= limit:
                child = Node(path, noisy)
                node.children.append(child)
                kept.append(child)
        frontier = kept
    return root


def legal(trip, world):
    return all(world.successors.contains(np.array([a]), np.array([b]))[0] for a, b in pairwise(trip))


def paths_of(root):
    """{path: noisy count} of the whole tree."""
    out, todo = {}, list(root.children)
    while todo:
        node = todo.pop()
        out[node.path] = node.count
        todo.extend(node.children)
    return out


def settle_weighted(root):
    """Parent-child consistency by proportional scaling, top-down; negative counts are zero."""
    out = {}

    def visit(node, allowed):
        together = sum(max(child.count, 0) for child in node.children)
        factor = 1.0 if allowed is None or together <= allowed else allowed / together
        for child in node.children:
            out[child.path] = max(child.count, 0) * factor
            visit(child, out[child.path])

    visit(root, None)
    return out
