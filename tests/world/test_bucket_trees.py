"""Trees grown in buckets are those that Dijkstra grows, wherever somebody asked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wayveil.world.bucket_trees import Buckets, grow_tree_in_buckets
from wayveil.world.trees import Graph, grow_trees


@given(
    st.integers(2, 30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29), st.integers(1, 6)), max_size=120),
    st.sampled_from([1.0, 0.37, 1e-6]),
    st.sampled_from([0, 1_000_000]),
    st.integers(0, 2**30),
)
def test_ways_from_where_somebody_asks_are_the_shortest(size, arcs, unit, dear, seed):
    rng = np.random.default_rng(seed)
    arcs = sorted((a % size, b % size, c) for a, b, c in arcs)
    indptr = np.searchsorted([a for a, _, _ in arcs], np.arange(size + 1)).astype(np.int64)
    indices = np.array([b for _, b, _ in arcs], np.int32)
    # Whole numbers, so that many ways are equally short; at times one arc is far dearer than the others.
    cost = np.array([c for _, _, c in arcs], np.float64) * unit
    cost[:1] += dear
    roots = np.arange(size, dtype=np.int32)
    toward, distance = np.empty((size, size), np.int32), np.empty((size, size))
    graph = Graph(indptr, indices, cost)
    grow_trees(graph, roots, toward, distance, np.empty((1, size), np.int32))
    buckets = Buckets.for_costs(cost, size)
    assert len(buckets.head) <= 1 << 12
    asked = np.full(size, -1, np.int32)
    room = [np.empty(size, np.int32), np.empty(size)]
    for root in roots:
        some = rng.choice(size, rng.integers(1, 4), replace=False) if size > 3 else np.arange(size)
        asked[some] = root
        grow_tree_in_buckets(graph, root, room[0], room[1], buckets, asked, root, len(some))
        assert room[0][some].tolist() == toward[root, some].tolist()
        assert room[1][some].tolist() == distance[root, some].tolist()
        assert (buckets.head == -1).all()
