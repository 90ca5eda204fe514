"""Tap files that agencies really wrote; skipped where they are not at hand."""

import os
from pathlib import Path

import pytest

from tap_releases import release_taps
from wayveil.taps.read import read_taps
from wayveil.world.grid import Grid
from wayveil.world.world import World

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[3] / "shared" / "data"))


def real(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {path}; set WAYVEIL_DATA")
    return path


@pytest.mark.data
def test_buenos_aires_cards_become_a_release_that_protects_riders():
    grid = Grid.of_degrees("-35.00,-59.00,-34.30,-58.10", 0.02)
    clean = read_taps(real("buenos-aires", "taps.csv"), grid, reach_metres=1700)
    assert clean.report.rows_in == 28_669
    assert clean.report.rows_out == len(clean.taps) > 27_000
    assert len(set(clean.taps.card.tolist())) > 9_000
    made = release_taps(clean.taps, "cards", epsilon=1, max_trips=1)
    assert made.datasheet["guarantee"]["unit"] == "rider"
    assert made.datasheet["private"] is True
    assert len(made.trips) > 1_000


@pytest.mark.data
def test_the_tides_sample_is_read_in_its_draft_layout():
    path = real("tides", "example", "fare_transactions.csv")
    boardings = read_taps(path, World.of_symbols("abcdefghijklmnopqrstuvwxyz"))
    assert len(boardings.taps) == 2
    assert {rule.rule: rule.rows for rule in boardings.report.rules}["transaction that is no boarding"] == 3
    layout = {"time": "timestamp", "date": "date", "stop": "stop_id", "vehicle": "vehicle_id"}
    taps = read_taps(path, World.of_symbols("abcdefghijklmnopqrstuvwxyz"), layout).taps
    assert len(taps) == 5
    assert taps.offset.tolist() == [0] * 5
