"""Trees over places and times once more, slow and plain: one object per node, every empty child visited.

A level is a function from a node's path (a tuple of symbols) to the symbols that may come next. Nothing is shared with
the engine except the noise, which is a function of the path.
"""

from dataclasses import dataclass, field


@dataclass
class SlowNode:
    path: tuple
    noisy: int
    settled: float = 0.0
    children: list = field(default_factory=list)


def slow_grow(sequences, levels, noise, threshold, *, prune_early=False):
    """`sequences` are trips as tuples of symbols. Returns the root and its levels of nodes."""
    root = SlowNode((), 0)
    frontier, grown = [root], []
    for depth, children_of in enumerate(levels):
        candidates = [(node, symbol) for node in frontier for symbol in children_of(node.path)]
        limit = threshold(depth, len(frontier), len(candidates))
        alive = [s for s in sequences if len(s) > depth and s[depth] in children_of(s[:depth])]
        sequences = alive  # a trip that makes an impossible move is over, whatever comes after
        kept = []
        for node, symbol in candidates:
            path = (*node.path, symbol)
            count = sum(1 for s in alive if s[: depth + 1] == path) + noise(path)
            if count >= limit:
                child = SlowNode(path, count)
                node.children.append(child)
                kept.append(child)
        if prune_early:
            for node in frontier:
                settle_children(node, None if node is root else node.settled)
                node.children = [child for child in node.children if child.settled >= limit]
            kept = [child for node in frontier for child in node.children]
        grown.append(kept)
        frontier = kept
    return root, grown


def settle_children(node, allowed):
    together = sum(max(child.noisy, 0) for child in node.children)
    factor = 1.0 if allowed is None or together <= allowed else allowed / together
    for child in node.children:
        child.settled = max(child.noisy, 0) * factor


def slow_settle(root, width=1):
    """Weighted consistency from the top, between complete visits; a group inside a visit has what its visits have."""

    def complete(node):
        """The next complete visits below a node."""
        return [
            found
            for child in node.children
            for found in (complete(child) if len(child.path) % width else [child])
        ]

    def down(node, allowed):
        below = complete(node)
        together = sum(max(each.noisy, 0) for each in below)
        factor = 1.0 if allowed is None or together <= allowed else allowed / together
        for each in below:
            each.settled = max(each.noisy, 0) * factor
            down(each, each.settled)

    def add_up(node):
        for child in node.children:
            add_up(child)
        if len(node.path) % width:
            node.settled = sum(child.settled for child in node.children)

    down(root, None)
    add_up(root)


def everything(root, what):
    """{path: what(node)} of the whole tree."""
    out, todo = {}, list(root.children)
    while todo:
        node = todo.pop()
        out[node.path] = what(node)
        todo.extend(node.children)
    return out


def ends(root, width=1):
    """{path: trips that end there}, complete visits only."""

    def left(node):
        if len(node.path) % width:
            return 0.0
        return max(node.settled - sum(child.settled for child in node.children), 0.0)

    return everything(root, left)
