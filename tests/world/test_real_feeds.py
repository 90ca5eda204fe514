"""Every public feed at hand reads, with numbers that make sense."""

import os
from pathlib import Path

import numpy as np
import pytest

from wayveil.world.gtfs import read_gtfs

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("WAYVEIL_DATA", ROOT / ".." / "shared" / "data"))
FEEDS = (
    sorted(path for path in DATA.glob("**/*.zip") if path.name != "msnbc990928.zip") if DATA.is_dir() else []
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FEEDS, reason=f"no public feeds under {DATA}; set WAYVEIL_DATA to where they are"),
]


@pytest.mark.parametrize("path", FEEDS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_real_feed_reads(path):
    network = read_gtfs(path)
    ride = ~network.walk
    assert network.size > 3
    assert network.edges > network.size / 2
    assert np.bincount(network.components()[1]).max() > network.size / 3
    assert 0.3 < np.median(network.metres[ride] / network.seconds[ride]) < 30
    assert (network.runs[ride] > 0).all()
    assert (np.diff(network.route_indptr)[ride] > 0).all()


@pytest.mark.skipif(not (DATA / "berlin").is_dir(), reason="the Berlin feed is not there")
def test_berlin_inside_the_city_limits():
    network = read_gtfs(
        DATA / "berlin" / "gtfs.zip", bbox="52.34,13.09,52.68,13.76", service_date="2021-04-20"
    )
    assert network.name == "berlin"
    assert (len(network.stop_ids), network.size, network.edges) == (9_984, 3_822, 9_548)
