"""Attacks on the noisy prefix tree with neighbours that a search for counterexamples makes."""

from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from some_worlds import some_world
from wayveil.lab.audits.grey_box import examine, grey_box
from wayveil.lab.audits.mutants import NO_BOUND, OBSERVED_WORLD, PEEKING, TOTAL
from wayveil.lab.audits.plan_registry import UNITS
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import some_neighbour, some_trips
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree

settings_of_trees = st.one_of(
    st.builds(lambda height: NoisyPrefixTree(height=height), st.integers(1, 5)),
    st.builds(
        lambda height: NoisyPrefixTree(height=height, false_children=1.0, successors="all"), st.integers(1, 3)
    ),
    st.builds(lambda height: NoisyPrefixTree(height=height, private_height=True), st.integers(2, 6)),
    st.builds(
        lambda height: NoisyPrefixTree.published(height=height, when_explosive="raise"), st.integers(1, 4)
    ),
)
epsilons = st.sampled_from([Fraction(1, 3), Fraction(2), Fraction(40)])


def chosen_by(data):
    return lambda low, high: data.draw(st.integers(low, high))


@given(
    data=st.data(),
    tree=settings_of_trees,
    epsilon=epsilons,
    unit=st.sampled_from(UNITS),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_no_neighbour_of_any_unit_is_noticed_past_the_gate(data, tree, epsilon, unit, seed):
    choose = chosen_by(data)
    trips = some_trips(choose, some_world(choose))
    findings = grey_box(tree, trips, some_neighbour(choose, trips, unit), unit, epsilon, seed=seed)
    assert findings.ok, findings
    assert findings.loss <= epsilon


@pytest.mark.parametrize(
    "mutation", [NO_BOUND, OBSERVED_WORLD, PEEKING, TOTAL], ids=lambda mutation: mutation.name
)
def test_the_same_search_finds_a_neighbour_that_shows_a_mistake(mutation):
    @given(data=st.data(), unit=st.sampled_from(UNITS))
    @settings(max_examples=2_000, database=None, phases=[Phase.generate])  # ends at the first that is found
    def search(data, unit):
        choose = chosen_by(data)
        trips = some_trips(choose, some_world(choose))
        broken = mutation.of(Subject(NoisyPrefixTree(height=2, size_share=0), unit, Fraction(2)))
        assert examine(broken, trips, some_neighbour(choose, trips, unit)).ok

    with pytest.raises(AssertionError):
        search()
