"""Which places of a network can be reached from which, whatever it takes."""

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.world.network import Network


def is_reachable(
    network: Network, source: NDArray[np.integer], target: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Whether the network has any way from each source to the target beside it.

    Places that reach each other are taken together first; between such parts there are few ways, and no circle.
    """
    matrix = network.matrix(np.ones(network.edges))
    parts, part = scipy.sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    start, goal = part[source], part[target]
    found = np.asarray(start == goal)
    if found.all():
        return found
    row, column = matrix.nonzero()
    between = part[row] != part[column]
    ways = scipy.sparse.csr_matrix(
        (np.ones(int(between.sum())), (part[row[between]], part[column[between]])), shape=(parts, parts)
    )
    for one in np.unique(start[~found]):
        here = np.flatnonzero(start == one)
        reached = scipy.sparse.csgraph.breadth_first_order(ways, one, return_predecessors=False)
        found[here] |= np.isin(goal[here], reached)
    return found
