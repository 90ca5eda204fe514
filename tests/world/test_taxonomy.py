from itertools import chain, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.world.network_descent import network_descents
from wayveil.world.successors import SparseSuccessors
from wayveil.world.taxonomy import Taxonomy
from wayveil.world.world import World

shapes = st.tuples(st.integers(1, 12), st.integers(0, 3), st.integers(2, 4))


def test_height_zero_hangs_the_leaves_under_the_root():
    taxonomy = Taxonomy.balanced(5, 0, 2)
    assert taxonomy.height == 0
    (step,) = taxonomy.descents(1, ordered=False, remembers_leaf=False)
    assert step.nth(np.zeros(5, int), np.arange(5)).tolist() == [0, 1, 2, 3, 4]


@given(shapes)
def test_balanced_groups_refine_each_other_and_have_even_sizes(shape):
    leaves, height, fan_out = shape
    taxonomy = Taxonomy.balanced(leaves, height, fan_out)
    above = np.zeros(leaves, int)
    for level, group in enumerate(taxonomy.groups, 1):
        assert len(np.unique(group)) == min(fan_out**level, leaves)
        sizes = np.bincount(group)
        assert sizes.max() - sizes.min() <= 1
        pairs = {(int(a), int(g)) for a, g in zip(above, group, strict=True)}
        assert len(pairs) == len(np.unique(group))
        assert max(np.bincount([a for a, _ in pairs])) <= fan_out + 1
        above = group


@settings(max_examples=200)
@given(shapes, st.booleans(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_a_descent_numbers_the_children_that_are_not_in_the_past(shape, ordered, memories, random):
    leaves, height, fan_out = shape
    if ordered:
        taxonomy, memories = Taxonomy.balanced(leaves, height, fan_out), leaves
    else:
        order = np.array(random.sample(range(leaves), leaves))
        taxonomy = Taxonomy.balanced(leaves, height, fan_out, order)
    levels = [np.zeros(leaves, int), *taxonomy.groups, np.arange(leaves)]
    steps = taxonomy.descents(memories, ordered=ordered, remembers_leaf=ordered)
    assert len(steps) == len(taxonomy.groups) + 1 <= height + 1, "levels that split nothing are left out"
    for step, above, child in zip(steps, levels, levels[1:], strict=False):
        for node in np.unique(above):
            for memory in range(memories):
                inside = [leaf for leaf in range(leaves) if above[leaf] == node]
                future = [leaf for leaf in inside if leaf >= memory or not ordered]
                expected = sorted({int(child[leaf]) for leaf in future})
                state = node * memories + memory
                degree = int(step.degree(np.array([state]))[0])
                listed = step.nth(np.full(degree, state), np.arange(degree))
                assert listed.tolist() == expected
                assert step.rank(np.full(degree, state), listed).tolist() == list(range(degree))
                others = np.array([-1, *(set(range(step.size)) - set(expected))])
                assert (step.rank(np.full(len(others), state), others) == -1).all()


@settings(max_examples=100)
@given(st.integers(2, 9), st.integers(0, 2), st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_descent_on_a_network_leads_where_the_location_before_goes_on(places, height, bins, random):
    taxonomy = Taxonomy.balanced(places, height, 2, np.array(random.sample(range(places), places)))
    times = Taxonomy.balanced(bins, height, 2)
    rows = [sorted(random.sample(range(places), random.randint(0, places))) for _ in range(places)]
    moves = SparseSuccessors(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]), np.array(list(chain(*rows)), np.int32)
    )
    anywhere, onwards, later = network_descents(taxonomy, times, moves)
    levels = [np.zeros(places, int), *taxonomy.groups, np.arange(places)]
    memories = places * bins
    for first, step, above, child in zip(anywhere, onwards, levels, levels[1:], strict=False):
        for node in np.unique(above):
            for before, bin_ in product(range(places), range(bins)):
                state = node * memories + before * bins + bin_
                for one, reached in ((first, range(places)), (step, rows[before])):
                    expected = sorted({int(child[leaf]) for leaf in reached if above[leaf] == node})
                    degree = int(one.degree(np.array([state]))[0])
                    listed = one.nth(np.full(degree, state), np.arange(degree))
                    assert listed.tolist() == expected
                    assert one.rank(np.full(degree, state), listed).tolist() == list(range(degree))
                    others = np.array([-1, *(set(range(one.size)) - set(expected))])
                    assert (one.rank(np.full(len(others), state), others) == -1).all()
    # The new place takes the place of the old one, and then the new time that of the old.
    state = onwards[-1].follow(np.array([0 * memories + 1 * bins + 0]), np.array([places - 1]))
    assert state.tolist() == [(places - 1) * bins]
    assert later[-1].follow(state, np.array([bins - 1])).tolist() == [(places - 1) * bins + bins - 1]
    assert int(later[0].degree(np.array([bins - 1]))[0]) == 1


def test_the_state_after_a_leaf_remembers_its_time_and_that_of_a_place_the_time_before():
    places = Taxonomy.balanced(4, 1, 2).descents(3, ordered=False, remembers_leaf=False)
    times = Taxonomy.balanced(3, 1, 2).descents(3, ordered=True, remembers_leaf=True)
    before = np.array([2])  # at the root of the places, last visit in bin 2
    at_group = places[0].follow(before, np.array([1]))
    assert at_group.tolist() == [1 * 3 + 2]
    at_root_of_times = places[1].follow(at_group, np.array([3]))
    assert at_root_of_times.tolist() == [2]
    last = times[1].follow(times[0].follow(at_root_of_times, np.array([1])), np.array([2]))
    assert last.tolist() == [2]
    assert times[0].degree(np.array([2])).tolist() == [1]  # only the group that reaches up to bin 2


def test_geography_groups_neighbours():
    network = ring_of_stops(16)
    taxonomy = Taxonomy.of_geography(network, 2, 4)
    points = np.stack([network.lat, network.lon], axis=1)

    def spread(group):
        return np.mean([np.ptp(points[group == g], axis=0).max() for g in np.unique(group)])

    scattered = np.random.default_rng(0).permutation(16) // 4
    assert spread(taxonomy.groups[0]) < 0.6 * spread(scattered)


def test_routes_group_the_stops_of_a_line():
    network = ring_of_stops(6, routes=2)
    (group,) = Taxonomy.of_routes(network).groups
    assert len(np.unique(group)) == 2


def test_a_file_names_the_groups(tmp_path):
    path = tmp_path / "zones.csv"
    path.write_text("stop,region,zone\nb,north,n1\na,north,n1\nc,south,s1\nd,north,n2\n")
    taxonomy = Taxonomy.of_file(path, World(["a", "b", "c", "d"]))
    region, zone = taxonomy.groups
    assert region[0] == region[1] == region[3] != region[2]
    assert zone[0] == zone[1] != zone[3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stop,zone\na,1\nx,2\n", "not in the world"),
        ("stop,zone\na,1\n", "one row for each"),
        ("stop,zone\na,1\na,1\n", "one row for each"),
    ],
)
def test_a_file_that_does_not_cover_the_world_is_refused(tmp_path, text, said):
    path = tmp_path / "zones.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        Taxonomy.of_file(path, World(["a", "b"]))


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        Taxonomy.of_file(tmp_path / "nowhere.csv", World(["a"]))


def test_levels_that_do_not_refine_each_other_are_refused():
    with pytest.raises(ParameterError, match="two parents"):
        Taxonomy(3, [np.array([0, 0, 1]), np.array([0, 1, 1])])


def test_times_must_be_grouped_with_their_neighbours():
    scattered = Taxonomy(4, [np.array([0, 1, 0, 1])])
    with pytest.raises(ParameterError, match="neighbouring bins"):
        scattered.descents(4, ordered=True, remembers_leaf=True)


@pytest.mark.parametrize(("height", "fan_out"), [(-1, 2), (1, 1)])
def test_meaningless_shapes_are_refused(height, fan_out):
    with pytest.raises(ParameterError, match="fan-out"):
        Taxonomy.balanced(4, height, fan_out)
