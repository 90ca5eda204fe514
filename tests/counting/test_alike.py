import numpy as np

from wayveil.counting.like_trips import group_alike, still_walking


def test_trips_share_a_group_exactly_if_node_and_next_symbols_are_equal():
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 6, 30_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    symbols = rng.integers(-1, 9, offsets[-1]).astype(np.int32)
    node = rng.integers(0, 3, len(lengths)).astype(np.int32)
    group, first, ahead = group_alike(node, symbols, offsets[:-1], offsets[1:], 4)
    rows = [
        (int(n), *symbols[a : min(b, a + 4)].tolist())
        for n, a, b in zip(node, offsets[:-1], offsets[1:], strict=True)
    ]
    assert len(first) > 4_096  # the table has grown, more than once
    assert len(set(rows)) == len(first)
    assert [rows[i] for i in first[group]] == rows
    assert (first[group] <= np.arange(len(rows))).all()
    assert [row[: len(rows[i]) - 1] for row, i in zip(ahead.tolist(), first, strict=True)] == [
        list(rows[i][1:]) for i in first
    ]


def test_only_trips_with_a_node_and_visits_to_come_stay():
    position, end = np.array([0, 4, 7, 9]), np.array([3, 4, 9, 12])
    group, node = np.array([0, 1, 2, 1], np.int32), np.array([5, 6, -1], np.int32)
    positions, ends, nodes = still_walking(position, end, group, node)
    assert positions.tolist() == [0, 9]
    assert ends.tolist() == [3, 12]
    assert nodes.tolist() == [5, 6]
