"""Small random networks, built from arrays and not from a feed."""

import numpy as np
from hypothesis import strategies as st

from wayveil.world.network import Edges, Network, Places, Platforms, Routes


def network_of(size: int, edges: dict[tuple[int, int], tuple[int, float]], **options) -> Network:
    """A network of `size` locations from (source, target) -> (seconds, metres)."""
    pairs = sorted(edges)
    sources = np.asarray([a for a, _ in pairs], np.int64)
    count = len(pairs)
    ids = np.asarray([f"s{i:03d}" for i in range(size)], np.str_)
    return Network(
        Places(ids, np.char.upper(ids), np.linspace(50, 51, size), np.linspace(8, 9, size)),
        Edges(
            indptr=np.searchsorted(sources, np.arange(size + 1)).astype(np.int64),
            indices=np.asarray([b for _, b in pairs], np.int32),
            seconds=np.asarray([edges[pair][0] for pair in pairs], np.int32),
            metres=np.asarray([edges[pair][1] for pair in pairs], np.float64),
            walk=np.zeros(count, bool),
            runs=np.ones(count, np.int64),
            route_indptr=np.arange(count + 1, dtype=np.int64),
            route=np.zeros(count, np.int32),
        ),
        Routes(np.asarray(["R"]), np.asarray(["1"]), np.asarray([3], np.int32)),
        Platforms(np.char.add(ids, "-p"), np.arange(size, dtype=np.int32)),
        **options,
    )


@st.composite
def networks(draw, most: int = 9) -> Network:
    """Networks with ties, dead ends, separate parts and edges of no length."""
    size = draw(st.integers(1, most))
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    weights = st.tuples(st.integers(1, 4), st.sampled_from([0.0, 1.0, 1.5, 2.0, 300.25]))
    return network_of(size, draw(st.dictionaries(pairs, weights, max_size=4 * size)) if size > 1 else {})
