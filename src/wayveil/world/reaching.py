"""Which places of a network can be reached from which, whatever it takes."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

from wayveil.world.network import Network


def is_reachable(
    network: Network, source: NDArray[np.integer], target: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Whether the network has any way from each source to the target beside it.

    Places that reach each other are taken together first; between such parts there are few ways, and no circle.
    """
    matrix = network.matrix(np.ones(network.edges))
    parts, part = connected_components(matrix, directed=True, connection="strong")
    start, goal = part[source], part[target]
    found = np.asarray(start == goal)
    if found.all():
        return found
    row, column = matrix.nonzero()
    between = part[row] != part[column]
    ways = csr_matrix(
        (np.ones(int(between.sum())), (part[row[between]], part[column[between]])), shape=(parts, parts)
    )
    for one in np.unique(start[~found]):
        here = np.flatnonzero(start == one)
        reached = breadth_first_order(ways, one, return_predecessors=False)
        found[here] |= np.isin(goal[here], reached)
    return found
