"""Exact counts of trips in public blocks: against a slow count, and bounded trip by trip."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayveil.counting.counter import walks_of
from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.grey_box import distances
from wayveil.lab.audits.tiny_worlds import plain_world, small_network
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.walk_blocks import Resolution, WalkBlocks, Walks, whole_weights
from wayveil.world.zones import Geography

WHOLE = 1 << 20
LOOK = Resolution(ends=2, hours=1, pairs=1, edges=2, distances=3, growth=30, times=24, bands=4, triples=1)
WORLDS = {"network": small_network(2), "plain": plain_world(5)}


def block_counts(trips, block, whole, bins=None):
    return LocalCounter(trips).block(block, whole, bins)


def pair_counts(trips, zones):
    return LocalCounter(trips).pairs(zones)


def blocks_of(world):
    leaves = np.array([0, 4, 8, 9, 10, 11, 12])
    return WalkBlocks(Geography(world), LOOK, leaves).all()


def euclidean_blocks():
    look = replace(LOOK, euclidean=1, times=0)
    return WalkBlocks(Geography(WORLDS["network"]), look, np.array([0, 4, 8, 9, 10, 11, 12])).all()


def trips_of(world, lists):
    time = np.array(
        [3600 * (7 + trip % 3) + step for trip, one in enumerate(lists) for step in range(len(one))], np.int64
    )
    return Trips.of_lists(lists, world, time=time)


lists_of = st.lists(st.lists(st.integers(0, 4), max_size=9), max_size=7)


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=60, deadline=None)
@given(lists=lists_of, more=st.lists(st.integers(0, 4), max_size=12))
def test_one_trip_more_moves_every_block_by_no_more_than_its_whole(name, lists, more):
    world = WORLDS[name]
    one, other = trips_of(world, lists), trips_of(world, [*lists, more])
    for block in blocks_of(world).values():
        whole = WHOLE if block.spread else 1
        counted = [block_counts(trips, block, whole, TimeBins.hour_of_day()) for trips in (one, other)]
        l1, _, _ = distances(*counted)
        assert l1 <= whole
        assert l1 == whole or block.spread or not more


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.integers(1, 2), max_size=60),
    start=st.integers(0, 11),
    whole=st.sampled_from([WHOLE, 12, (1 << 26) - 1]),
)
def test_in_l2_a_trip_adds_nearly_its_whole_and_never_more_however_often_it_repeats_an_edge(
    steps, start, whole
):
    world = WORLDS["network"]
    walk = [start]
    for step in steps:  # two rings of six stops, so that long walks come back to the same edges
        walk.append(6 * (walk[-1] // 6) + (walk[-1] % 6 + step) % 6)
    for block in euclidean_blocks().values():
        if not block.spread:
            continue
        _, squared, _ = distances(
            block_counts(Trips.of_lists([], world), block, whole),
            block_counts(Trips.of_lists([walk], world), block, whole),
        )
        assert squared <= whole * whole
        parts = len(walk) - (2 if block.name == "two edges" else 1)
        if parts > 0:
            # Rounding down takes less than one from each part's weight.
            assert squared**0.5 > whole - parts


def test_in_l2_weights_are_those_of_a_slow_count_and_a_lone_edge_weighs_the_square_root():
    world = WORLDS["network"]
    edge = euclidean_blocks()["edge"]
    counts = block_counts(Trips.of_lists([[0, 1, 2, 3, 4]], world), edge, WHOLE)
    assert counts.counts.tolist() == [WHOLE // 2] * 4
    back = block_counts(Trips.of_lists([[0, 1, 2, 3, 4, 5, 0, 1]], world), edge, WHOLE)
    weight = int(WHOLE / 9**0.5)  # six edges, one of them twice: 5 + 2^2 = 9
    assert sorted(back.counts.tolist()) == [weight] * 5 + [2 * weight]


def test_the_largest_root_that_fits_is_taken():
    edge = euclidean_blocks()["edge"]
    for squares in range(1, 400):
        parts, cells = np.array([squares]), np.arange(squares) % edge.cells
        weight = int(whole_weights(edge, parts, cells, WHOLE)[0])
        times = np.bincount(cells)
        total = int((times**2).sum())
        assert weight**2 * total <= WHOLE**2 < (weight + 1) ** 2 * total


def test_a_trip_spreads_its_whole_over_its_moves_and_illegal_moves_get_theirs_lost():
    world = WORLDS["network"]
    edge = blocks_of(world)["edge"]
    counts = block_counts(Trips.of_lists([[0, 1, 2, 4], [], [3], [0, 1, 5]], world), edge, 12)
    expected = np.zeros(edge.cells, np.int64)
    for source, target, share in ((0, 1, 4), (1, 2, 4), (2, 4, 4), (0, 1, 6)):
        expected[world.edge_index([source], [target])[0]] += share
    dense = np.zeros(edge.cells, np.int64)
    dense[counts.keys] = counts.counts
    assert np.array_equal(dense, expected)


def test_pairs_of_edges_are_counted_as_a_slow_loop_would():
    world = WORLDS["network"]
    two = blocks_of(world)["two edges"]
    trips = Trips.of_lists([[0, 1, 2, 3, 5], [0, 2], [1], [2, 3, 4]], world)
    slow = {}
    for trip in trips.to_lists():
        for a, b, c in zip(trip, trip[1:], trip[2:], strict=False):
            slow[a, b, c] = slow.get((a, b, c), 0) + 60 // (len(trip) - 2)
    counts = block_counts(trips, two, 60)
    assert sorted(counts.counts) == sorted(slow.values())
    assert two.cells == sum(2 for _ in range(world.edges))  # every stop of the ring has two ways on


def test_moves_without_a_network_include_where_trips_begin_and_end():
    world = WORLDS["plain"]
    move = blocks_of(world)["move"]
    counts = block_counts(Trips.of_lists([[1, 1, 4]], world), move, 8)
    assert dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True)) == {6: 2, 9: 2, 26: 2, 34: 2}
    assert counts.universe == 35


def test_blocks_see_ends_hours_and_lengths():
    world = WORLDS["network"]
    blocks = blocks_of(world)
    trips = trips_of(world, [[0, 1, 2], [3], [0, 1, 2, 3]])
    walks = walks_of(trips, TimeBins.hour_of_day())
    assert blocks["origin"].of(walks).tolist() == [0, 3, 0]
    assert blocks["destination"].of(walks).tolist() == [2, 3, 3]
    assert (blocks["hour at origin"].of(walks) >> LOOK.hours).tolist() == [7, 8, 9]
    assert (blocks["band of pair"].of(walks) >> 2 * LOOK.pairs).tolist() == [1, 1, 1]
    lengths = blocks["length"].cells // LOOK.distances
    assert (blocks["length"].of(walks) % lengths).tolist() == [2, 0, 3]
    assert blocks["distance"].of(walks)[1] == 0


def test_coarse_blocks_are_unions_of_their_finer_ones():
    world = WORLDS["network"]
    blocks = blocks_of(world)
    walks = Walks(np.array([0, 1, 2, 4, 7, 8, 10, 3], np.int32), np.array([0, 4, 7, 8]), np.array([3, 4, 5]))
    coarse = [block for block in blocks.values() if block.finer]
    assert {block.name for block in coarse} == {
        "distance",
        "origin zone",
        "destination zone",
        "edge zone",
        "hour",
    }
    for block in coarse:
        assert np.array_equal(block.union[blocks[block.finer].of(walks)], block.of(walks))


def test_without_times_there_are_no_hours():
    look = Resolution(ends=1, hours=0, pairs=0, edges=1, distances=1, growth=50, times=0, bands=0)
    names = set(WalkBlocks(Geography(WORLDS["network"]), look).all())
    assert names == {
        "distance",
        "length",
        "origin",
        "origin zone",
        "destination",
        "destination zone",
        "edge",
        "edge zone",
    }


def test_pairs_are_counted_once_per_trip_that_visits_anything():
    world = WORLDS["network"]
    zones = Geography(world).places
    counts = pair_counts(Trips.of_lists([[0, 1, 2], [], [0, 2], [5]], world), zones)
    assert counts.universe == 4**zones.depth
    expected = {
        int(zones.pair(np.array([0]), np.array([2]))[0]): 2,
        int(zones.pair(np.array([5]), np.array([5]))[0]): 1,
    }
    assert dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True)) == expected


def test_counts_do_not_depend_on_the_pieces_they_are_made_in(monkeypatch):
    world = WORLDS["network"]
    rng = np.random.default_rng(1)
    trips = trips_of(world, [rng.integers(0, 12, rng.integers(0, 8)).tolist() for _ in range(50)])
    whole = {n: block_counts(trips, b, WHOLE, TimeBins.hour_of_day()) for n, b in blocks_of(world).items()}
    monkeypatch.setattr("wayveil.counting.local.PIECE", 7)
    counter = LocalCounter(trips)
    assert counter.timed
    for name, block in blocks_of(world).items():
        again = counter.block(block, WHOLE, TimeBins.hour_of_day())
        assert distances(whole[name], again)[0] == 0
