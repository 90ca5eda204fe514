"""Tables with given sums."""

import numpy as np
import pytest

from wayveil.synthesis.projection import Sums, fit_sums

ROW, COLUMN = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)


def test_rows_and_columns_get_their_sums_and_empty_cells_stay_empty():
    start = np.array([1.0, 2, 0, 3, 1, 1])
    rows, columns = np.array([30.0, 70]), np.array([40.0, 35, 25])
    table = fit_sums(start, [Sums(ROW, rows), Sums(COLUMN, columns)], 200)
    assert np.bincount(ROW, table) == pytest.approx(rows)
    assert np.bincount(COLUMN, table) == pytest.approx(columns)
    assert table[2] == 0
    # Scaling rows and columns leaves the odds ratio of four full cells as it was.
    assert table[0] * table[4] / (table[1] * table[3]) == pytest.approx(1 / 6)


def test_where_sides_contradict_each_other_the_last_one_is_met():
    table = fit_sums(np.ones(6), [Sums(ROW, np.array([1.0, 1])), Sums(COLUMN, np.array([9.0, 9, 9]))], 5)
    assert np.bincount(COLUMN, table) == pytest.approx([9, 9, 9])


def test_a_sum_without_any_open_cell_is_left_alone():
    table = fit_sums(np.array([0.0, 0, 0, 1, 1, 1]), [Sums(ROW, np.array([5.0, 3]))], 3)
    assert table.tolist() == [0, 0, 0, 1, 1, 1]
