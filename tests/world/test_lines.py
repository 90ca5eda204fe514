"""Lines of a network: where their edges lead, and who shares them."""

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.simulate.feed import write_city
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network_lines import line_edges


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    feed = tmp_path_factory.mktemp("lines") / "city.zip"
    write_city(feed, seed=3, stops=40, lines=3)
    return read_gtfs(feed)


def test_a_line_leads_to_two_ends_and_its_way_back_to_the_other_one(city):
    lines = line_edges(city)
    key = {
        (line, city.sources[edge], city.indices[edge]): towards
        for line, edge, towards in zip(lines.line, lines.edge, lines.towards, strict=True)
    }
    back = [(key[line, a, b], key[line, b, a]) for line, a, b in key if (line, b, a) in key]
    assert len(back) > 30
    assert all(one != other for one, other in back)
    assert all(len(np.unique(lines.towards[lines.line == line])) == 2 for line in np.unique(lines.line))


def test_a_line_in_a_circle_leads_somewhere():
    ring = ring_of_stops(6)
    assert len(line_edges(ring).towards) == ring.edges


def test_lines_share_all_of_an_edge(city):
    lines = line_edges(city)
    total = np.bincount(lines.edge, lines.share, city.edges)
    assert total[np.diff(city.route_indptr) > 0] == pytest.approx(1.0)
