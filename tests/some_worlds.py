"""Worlds made from choices that somebody else takes."""

import numpy as np

from wayveil.lab.audits.tiny_worlds import Choose
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World


def some_world(choose: Choose) -> World:
    """One to six locations; every move possible, or only some."""
    size = choose(1, 6)
    ids = [f"stop {place}" for place in range(size)]
    if choose(0, 1):
        return World(ids)
    rows = [[target for target in range(size) if choose(0, 1)] for _ in range(size)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    flat = [target for row in rows for target in row]
    return World(ids, successors=SparseSuccessors(indptr, np.array(flat, np.int32)))
