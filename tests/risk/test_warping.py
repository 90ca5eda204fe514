"""The compiled distances against plain Python, and bounds that never cut off a neighbour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.attack_city import thirds
from wayveil.attacks.metric_paths import distinct_paths, distinct_rows
from wayveil.attacks.warping import MetricPaths, count_neighbours, nearest, warping, within


def plain_distance(x, y):
    """Equation (8) of the STRAP study, by the recursion."""
    table = {}
    for i in range(len(x)):
        for j in range(len(y)):
            before = [table[p] for p in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p in table]
            table[i, j] = float(np.linalg.norm(x[i] - y[j])) + min(before, default=0.0)
    return table[len(x) - 1, len(y) - 1] / max(len(x), len(y))


points = st.tuples(*[st.integers(0, 6)] * 3)
paths = st.lists(st.lists(points, min_size=1, max_size=6), min_size=1, max_size=8)


def as_paths(lists):
    flat = np.array([point for path in lists for point in path], float)
    return MetricPaths.of(
        flat, np.concatenate([[0], np.cumsum([len(path) for path in lists])]).astype(np.int64)
    )


@given(paths, paths)
def test_the_nearest_path_is_the_one_that_plain_python_finds(these, those):
    metres, place = nearest(as_paths(these), as_paths(those))
    table = [[plain_distance(np.array(x), np.array(y)) for y in those] for x in these]
    assert metres == pytest.approx([min(row) for row in table], abs=1e-9)
    assert [table[i][j] for i, j in enumerate(place)] == pytest.approx(metres, abs=1e-9)


@given(paths, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_neighbour_counts_are_those_of_all_pairs(lists, threshold):
    copies = np.arange(1, len(lists) + 1)
    counts, warped = count_neighbours(as_paths(lists), copies, threshold)
    expected = [
        sum(
            copies[j]
            for j in range(len(lists))
            if i == j or plain_distance(np.array(lists[i]), np.array(lists[j])) < threshold
        )
        for i in range(len(lists))
    ]
    assert counts.tolist() == expected
    assert warped <= len(lists) * (len(lists) - 1) // 2


@given(paths)
def test_a_limit_gives_the_distance_or_infinity_never_something_else(lists):
    all_paths = as_paths(lists)
    x, box = np.array(lists[0], float), all_paths.boxes[0]
    for other, path in enumerate(lists):
        y = np.array(path, float)
        true = plain_distance(x, y)
        for limit in (true * 0.9, true, true * 1.1):
            found, _ = within(x, y, box, all_paths.boxes[other], limit)
            assert found == pytest.approx(true, abs=1e-9) if limit >= true else found > limit
    assert warping(x, x, np.inf) == 0


def test_equal_trips_are_one_path():
    members, _, _ = thirds()
    paths, found = distinct_paths(members, timed=False)
    lists = [tuple(trip) for trip in members.to_lists()]
    assert len(paths) == len(set(lists)) < len(lists)
    assert found.copies.sum() == len(members)
    assert all(lists[found.first[row]] == lists[i] for i, row in enumerate(found.of_row))


def test_rows_that_hold_the_same_in_another_order_are_different():
    found = distinct_rows(np.array([1, 2, 2, 1, 1, 2]), np.array([0, 2, 4, 6]))
    assert found.of_row[0] == found.of_row[2] != found.of_row[1]
