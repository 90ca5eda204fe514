import json

import numpy as np
import pytest

from wayveil.errors import InputError, ParameterError
from wayveil.world.grid import MOST_CELLS, Grid, Layout, cell_metres_for
from wayveil.world.opening import open_world
from wayveil.world.places import load_world
from wayveil.world.trees import travel_seconds

SAN_FRANCISCO = "37.6017,-122.5158,37.8112,-122.3527"


def test_a_grid_covers_its_box_and_moves_at_its_speed():
    grid = Grid(Layout.of_steps("-34.70,-58.50,-34.60,-58.38", 0.02, 0.02), metres_per_second=10)
    assert grid.size == 5 * 6
    assert grid.ids[0] == "r0000c0000"
    assert np.diff(grid.indptr).min() == 3
    assert np.diff(grid.indptr).max() == 8
    north = travel_seconds(grid, [0])[0][6]
    assert north == pytest.approx(0.02 * 111_195 / 10, rel=0.01)


def test_cells_of_metres_are_square_and_as_many_as_the_study_has():
    fine, coarse = (open_world(f"grid:{SAN_FRANCISCO}@{metres}") for metres in (250, 500))
    assert (fine.layout.rows, fine.layout.columns) == (94, 58)
    assert (coarse.layout.rows, coarse.layout.columns) == (47, 29)
    straight = fine.metres[fine.edge_index(np.array([0, 0]), np.array([1, 58]))]
    assert straight == pytest.approx([250, 250], rel=0.005)


def test_points_find_their_cell_and_the_border_belongs_to_the_box():
    grid = Grid(Layout.of_counts("10,20,13,24", 3, 4))
    lat = np.array([10.0, 13.0, 11.5, 9.999, 11.5, np.nan])
    lon = np.array([20.0, 24.0, 22.5, 21.0, 24.001, 21.0])
    assert grid.cell_of(lat, lon).tolist() == [0, 11, 6, -1, -1, -1]
    assert grid.cell_of(grid.lat, grid.lon).tolist() == list(range(12))


def test_a_grid_saves_loads_and_stays_a_grid(tmp_path):
    mask = np.ones((3, 4), bool)
    mask[1, 1] = False
    grid = Grid(Layout.of_counts("10,20,13,24", 3, 4), mask=mask, name="bay")
    grid.save(tmp_path / "bay.npz")
    again = load_world(tmp_path / "bay.npz")
    assert isinstance(again, Grid)
    assert again.fingerprint() == grid.fingerprint()
    assert again.describe() == grid.describe()
    assert again.cell_of([11.5], [21.5]).tolist() == [-1]
    assert "r0001c0001" not in again.ids
    assert again.size == 11


def test_no_move_leads_into_a_masked_cell():
    mask = np.ones((3, 3), bool)
    mask[1, 1] = False
    grid = Grid(Layout.of_counts("0,0,3,3", 3, 3), mask=mask)
    assert sorted(np.diff(grid.indptr).tolist()) == [2, 2, 2, 2, 4, 4, 4, 4]


def test_a_mask_is_read_from_areas_or_from_cells(tmp_path):
    west = [[0, 0], [2, 0], [2, 3], [0, 3], [0, 0]]
    hole = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    area = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [west, hole]}}
    path = tmp_path / "land.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [area]}))
    grid = open_world(f"grid:0,0,3,3@3x3;mask={path}")
    assert grid.ids.tolist() == ["r0000c0001", "r0001c0000", "r0001c0001", "r0002c0000", "r0002c0001"]
    listed = tmp_path / "land.txt"
    listed.write_text("\n".join(grid.ids))
    assert open_world(f"grid:0,0,3,3@3x3;mask={listed}").fingerprint() == grid.fingerprint()
    listed.write_text("r0000c0001\nsea\n")
    with pytest.raises(InputError, match=r"land.txt, row 2: 'sea' is not a cell"):
        open_world(f"grid:0,0,3,3@3x3;mask={listed}")


def test_cells_may_be_measured_in_degrees():
    grid = open_world("grid:-34.70,-58.50,-34.55,-58.35@0.02deg")
    assert grid.fingerprint() == Grid.of_degrees("-34.70,-58.50,-34.55,-58.35", 0.02).fingerprint()
    assert (grid.layout.rows, grid.layout.columns) == (8, 8)


def test_a_cell_size_follows_from_box_and_trips():
    assert 230 <= cell_metres_for(SAN_FRANCISCO, 120_000, 1) <= 300
    assert cell_metres_for(SAN_FRANCISCO, 1_000, 1) > cell_metres_for(SAN_FRANCISCO, 120_000, 1)
    finest = cell_metres_for(SAN_FRANCISCO, 1e12, 1)
    assert Grid.of_metres(SAN_FRANCISCO, finest).size <= MOST_CELLS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("grid:", "never from the data"),
        ("grid:@250", "never from the data"),
        ("grid:37,-122,38,-121", "cell size"),
        ("grid:37,-122,38,-121@fine", "neither metres"),
        ("grid:37,-122,38,-121@10", "take cells of at least"),
        ("grid:-122,37,-121,38@250", "order is south,west,north,east"),
        ("grid:37,-122,38,-121@5000000", "single cell"),
        ("grid:37,-122,38,-121@-5", "above 0 metres"),
        ("grid:37,-122,38,-121@0deg", "above 0 degrees"),
        ("grid:37,-122,38,-121@finedeg", "nor degrees"),
    ],
)
def test_what_is_no_grid_gets_a_sentence(text, problem):
    with pytest.raises(ParameterError, match=problem):
        open_world(text)
