import numpy as np

from wayveil.mechanisms.weave.drives import Streets, estimate_flows
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.world.grid import Grid

SETTINGS = Generation()
GRID = Grid.parse("grid:37.60,-122.50,37.80,-122.25@30x30")


def edge_between(grid, first, second):
    """The edge between two cells, each given as (row, column)."""
    cell = {(row, column): at for at, (row, column) in enumerate(zip(grid.row, grid.column, strict=True))}
    return int(grid.edge_index(np.array([cell[first]]), np.array([cell[second]]))[0])


def flows_on_streets():
    """A busy street along a row, a less busy one along a column, both ways, and little elsewhere."""
    source, target = GRID.sources, GRID.indices
    along_row = (GRID.row[source] == 10) & (GRID.row[target] == 10)
    along_column = (GRID.column[source] == 20) & (GRID.column[target] == 20)
    wave = 1 + 0.2 * np.sin(GRID.column[source] / 4)
    return 0.5 + 60 * wave * along_row + 30 * along_column


def with_noise(true, deviation, seed=1):
    noise = np.random.default_rng(seed).laplace(0, deviation / np.sqrt(2), len(true))
    return CellEstimates(true + noise, deviation)


def root_mean_square(values):
    return float(np.sqrt(np.mean(values**2)))


def test_edges_ahead_and_behind_go_straight_on():
    streets = Streets.of_grid(GRID)
    here = edge_between(GRID, (3, 4), (4, 5))
    assert streets.ahead[here] == edge_between(GRID, (4, 5), (5, 6))
    assert streets.behind[here] == edge_between(GRID, (2, 3), (3, 4))
    assert streets.back[here] == edge_between(GRID, (4, 5), (3, 4))


def test_nothing_lies_beyond_the_border():
    streets = Streets.of_grid(GRID)
    assert streets.ahead[edge_between(GRID, (1, 5), (0, 5))] == GRID.edges
    assert streets.behind[edge_between(GRID, (0, 5), (1, 5))] == GRID.edges
    assert streets.ahead[edge_between(GRID, (28, 28), (29, 29))] == GRID.edges


def test_flows_around_are_added_up_span_by_span():
    flow = np.zeros(GRID.edges)
    flow[edge_between(GRID, (5, 8), (5, 9))] = 3.0
    flow[edge_between(GRID, (5, 10), (5, 11))] = 4.0
    flow[edge_between(GRID, (5, 4), (5, 3))] = 5.0
    found = Streets.of_grid(GRID).look_around(flow, (1, 2))
    assert found[edge_between(GRID, (5, 7), (5, 8))].tolist() == [0, 3, 0, 4, 0]
    assert found[edge_between(GRID, (5, 3), (5, 4))].tolist() == [5, 0, 0, 0, 0]
    assert found[edge_between(GRID, (5, 5), (5, 6))].tolist() == [0, 0, 0, 3, 5]


def test_streets_show_through_noise_that_hides_their_edges():
    true = flows_on_streets()
    noisy = with_noise(true, 25.0)
    found = estimate_flows(GRID, noisy, np.inf, SETTINGS)
    busy = true > 20
    assert root_mean_square(found.value - true) < root_mean_square(noisy.value - true) / 4
    assert root_mean_square((found.value - true)[busy]) < 0.7 * root_mean_square((noisy.value - true)[busy])
    assert found.value.min() >= 0


def test_an_edge_far_above_the_noise_is_believed_whatever_lies_around():
    true = flows_on_streets()
    alone = edge_between(GRID, (25, 3), (25, 4))
    true[alone] = 900.0
    found = estimate_flows(GRID, with_noise(true, 2.0), np.inf, SETTINGS)
    assert abs(found.value[alone] - 900) < 30


def test_where_nobody_drives_noise_makes_no_streets():
    noisy = with_noise(np.zeros(GRID.edges), 10.0)
    found = estimate_flows(GRID, noisy, np.inf, SETTINGS)
    assert root_mean_square(found.value) < 2


def test_flows_add_up_as_their_counts_do_and_to_no_more_than_there_is():
    noisy = with_noise(flows_on_streets(), 5.0)
    whole = float(noisy.value.sum())
    assert abs(estimate_flows(GRID, noisy, np.inf, SETTINGS).value.sum() - whole) < 1e-6 * whole
    assert abs(estimate_flows(GRID, noisy, whole / 2, SETTINGS).value.sum() - whole / 2) < 1e-6 * whole


def test_estimates_are_surer_than_counts_but_never_certain():
    noisy = with_noise(flows_on_streets(), 5.0)
    found = estimate_flows(GRID, noisy, np.inf, SETTINGS)
    assert found.each is not None
    assert found.each.max() <= 5.0
    assert found.each.min() >= 5.0 * np.sqrt(1 / 5) - 1e-9


def test_without_noise_counts_stay_as_they_are():
    exact = CellEstimates(flows_on_streets(), 0.0)
    assert estimate_flows(GRID, exact, np.inf, SETTINGS) is exact
