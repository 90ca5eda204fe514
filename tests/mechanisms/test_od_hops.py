"""od-hops: what it asks, what it makes, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import ParameterError, RefusedError
from wayveil.lab.audits.grey_box import grey_box
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.research_figures import next_hop_figures
from wayveil.mechanisms.od_hops import OdHops
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.run import make_release as release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_points
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.world import World


@pytest.fixture(scope="module")
def taxis(tmp_path_factory):
    path = tmp_path_factory.mktemp("taxis") / "points.parquet"
    simulate_taxis(6_000, seed=5).write(path)
    return read_points(path, Grid.of_metres(STUDY_BOX, 1000))


def test_trips_walk_the_grid_arrive_and_have_times(taxis):
    made = release(taxis, OdHops(), epsilon=2, seed=1)
    trips = made.trips
    assert abs(len(trips) - len(taxis)) < 300
    inside = np.ones(trips.visits, bool)
    inside[trips.offsets[:-1]] = False
    at = np.flatnonzero(inside)
    assert trips.world.successors.contains(trips.location[at - 1], trips.location[at]).all()
    assert (np.diff(trips.time)[at - 1] > 0).all()
    assert made.datasheet["guarantee"]["epsilon"] == "2"
    parts = {"trips", "ends", "hours", "flows", "city hops", "zone hops"}
    assert set(made.model.table()["part"].unique()) == parts
    again = made.model.generate(1)
    assert np.array_equal(again.location, trips.location)


def test_hops_are_better_known_than_by_going_straight(taxis):
    made = release(taxis, OdHops(), epsilon=2, seed=1)
    loss, accuracy, metres = (measure.value for measure in next_hop_figures(taxis, made.model))
    assert accuracy > 0.4
    assert metres < 900
    assert loss < np.log(8)


def test_walks_follow_the_street_that_everybody_takes():
    """All of a city cross it along one row: zones and directions alone would spread them over all rows."""
    grid = Grid(Layout.of_counts("0,0,0.16,0.16", 16, 16))
    rng = np.random.default_rng(1)
    rows = rng.integers(3, 13, (4_000, 2))
    street = 8
    trips = Trips.of_lists([_along(grid, one, street, other) for one, other in rows.tolist()], grid)
    blind = OdHops(flows_share=Fraction(1, 10**6))
    made, without = (release(trips, kind, epsilon=2, seed=1).trips for kind in (OdHops(), blind))
    raw, with_streets, zones_only = (
        float((grid.row[part.location] == street).mean()) for part in (trips, made, without)
    )
    assert raw > 0.7
    assert with_streets > 0.5
    assert with_streets > zones_only + 0.15


def _along(grid, one, street, other):
    """From the west to the east: first to the street, then along it, then away from it."""
    there = list(range(one, street, 1 if street > one else -1))
    back = list(range(street, other, 1 if other > street else -1))[1:]
    way = [(row, 0) for row in there] + [(street, column) for column in range(16)]
    way += [(row, 15) for row in [*back, *([other] if other != street else [])]]
    return [row * 16 + column for row, column in way]


def test_the_likeliest_way_is_an_option(taxis):
    few = taxis.take(np.arange(1500))
    made = release(few, OdHops(way="shortest", weakest=0), epsilon=2, seed=1)
    assert len(made.trips) > 1000
    assert made.trips.lengths.min() >= 2


def test_a_masked_grid_has_no_walk_through_its_holes():
    mask = np.ones((6, 6), bool)
    mask[1:5, 3] = False
    grid = Grid(Layout.of_counts("0,0,0.1,0.1", 6, 6), mask=mask)
    rng = np.random.default_rng(2)
    trips = Trips.of_lists([rng.integers(0, grid.size, 2).tolist() for _ in range(800)], grid)
    made = release(trips, OdHops(weakest=0), epsilon=3, seed=3)
    assert made.trips.time is None
    ends = made.trips.destinations()
    assert (ends >= 0).all()


def test_plain_worlds_and_too_few_trips_are_refused(tmp_path, taxis):
    with pytest.raises(ParameterError, match="grid:south,west,north,east"):
        release(Trips.of_lists([[0, 1]], World.of_symbols("ab")), OdHops(), epsilon=1)
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("taxis", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    with pytest.raises(RefusedError, match="too few"):
        release(taxis.take(np.arange(100)), OdHops(), epsilon=1, ledger=ledger, dataset="taxis")
    assert ledger.spent("taxis") == Fraction(1, 50)


def test_the_grey_box_passes_it_and_catches_whole_hops():
    plan = audit_plan("od-hops")
    pair = plan.pairs[3]
    assert grey_box(plan.mechanism, pair.without, pair.within, pair.unit, plan.epsilon).ok
    broken = plan.subject(pair.unit, "hops not spread")
    found = grey_box(
        broken.mechanism, pair.without, pair.within, pair.unit, plan.epsilon, counter=broken.counter
    )
    assert not found.ok
