import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.world.successors import CompleteSuccessors, SparseSuccessors

edges = st.integers(1, 6).flatmap(
    lambda size: st.tuples(
        st.just(size), st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=20)
    )
)


def sparse(size, pairs):
    ordered = sorted(pairs)
    counts = np.bincount([a for a, _ in ordered] or [0], minlength=size)
    if not ordered:
        counts[:] = 0
    return SparseSuccessors(np.r_[0, np.cumsum(counts)], np.array([b for _, b in ordered], np.int32))


@given(edges)
def test_rank_and_nth_are_inverse_and_agree_with_the_edges(graph):
    size, pairs = graph
    successors = sparse(size, pairs)
    for source in range(size):
        row = sorted(b for a, b in pairs if a == source)
        assert successors.degree(np.array([source]))[0] == len(row)
        for target in range(size):
            rank = successors.rank(np.array([source]), np.array([target]))[0]
            assert rank == (row.index(target) if target in row else -1)
            assert successors.contains(np.array([source]), np.array([target]))[0] == (target in row)
            if rank >= 0:
                assert successors.nth(np.array([source]), np.array([rank]))[0] == target
    assert successors.mean_degree == len(pairs) / size


def test_a_complete_graph_ranks_by_location():
    complete = CompleteSuccessors(5)
    assert complete.degree(np.array([0, 3])).tolist() == [5, 5]
    assert complete.nth(np.array([1]), np.array([4])).tolist() == [4]
    assert complete.rank(np.array([1]), np.array([4])).tolist() == [4]
    assert complete.follow(np.array([1]), np.array([4])).tolist() == [4]
    assert complete.mean_degree == 5


def test_unsorted_or_repeated_successors_are_refused():
    with pytest.raises(ValueError, match="ascending"):
        SparseSuccessors(np.array([0, 2]), np.array([0, 0]))
    with pytest.raises(ValueError, match="ascending"):
        SparseSuccessors(np.array([0, 2, 2]), np.array([1, 0]))
