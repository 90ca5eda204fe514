"""A page about points of a grid is about places: no stops, no lines, no patterns of cells."""

import re

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.report.report_page import report_html
from wayveil.run import make_release
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.network import Network


@pytest.fixture(scope="module")
def made():
    grid = Grid.parse("grid:37.60,-122.50,37.65,-122.44@1000")
    rng = np.random.default_rng(1)
    rows = []
    # Half of the trips begin at three places: evenly spread ones are what public knowledge has.
    for start in np.where(
        rng.random(1_500) < 0.5, rng.integers(0, 3, 1_500), rng.integers(0, grid.size, 1_500)
    ).tolist():
        way = [start]
        for _ in range(int(rng.integers(1, 4))):
            way.append(int(rng.choice(grid.indices[grid.indptr[way[-1]] : grid.indptr[way[-1] + 1]])))
        rows.append(way)
    trips = Trips.of_lists(rows, grid)
    hours = np.repeat(rng.integers(6, 20, len(rows)) * 3_600, trips.lengths)
    trips = Trips(trips.location, trips.offsets, grid, hours)
    return make_release(trips, mechanism("weave")(), epsilon=8, bits=SeededBits(1), seed=1)


def test_the_page_is_about_places_with_coordinates(made):
    page = report_html(release=made)
    body = page.split("<main", 1)[1].split('<section id="datasheet"')[0]
    assert not re.search(r"r\d{4}c\d{4}", body), "cells are called by where they lie"
    assert not re.search(r"\b[Ss]tops?\b", re.sub(r"<[^>]+>", " ", body)), "a grid has no stops"
    assert "The busiest places" in body
    assert "Trips by their kilometres" in body or "kilometres" in body
    assert 'id="patterns"' not in page
    assert 'class="flows"' not in body, "squares, not lines between cells"
    assert "-122.4" in body.split('id="network"')[1].split("</defs>")[0], (
        "lines of longitude say their degrees"
    )


def test_kilometres_are_known_and_minutes_are_not(made):
    answer = made.ask("distances", anyway=True)
    assert answer.table["answer"].sum() > 0
    with pytest.raises(ParameterError, match="how long trips took is not in this release"):
        made.ask("durations")
    assert "places" in made.ask("stops", anyway=True).title or "place" in made.ask("stops", anyway=True).title


def test_names_of_cells_are_no_part_of_the_fingerprint(tmp_path):
    grid = Grid.parse("grid:37.60,-122.50,37.65,-122.44@1000")
    again = Grid.restored(grid.stored())
    assert again.names.tolist() == grid.names.tolist()
    assert grid.names[0] == "37.604, -122.494"
    assert again.fingerprint() == grid.fingerprint()
    plain = Network(*grid._parts, name=grid.name)
    assert plain.fingerprint() == grid.fingerprint()
