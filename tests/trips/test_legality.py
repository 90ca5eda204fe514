"""Legal trips stay as they are, others are cut or dropped one by one, and neighbours stay neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.trips import legality
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

# 0 -> 1 -> 2 -> 3 -> 0 and 1 -> 0
RING = World(["a", "b", "c", "d"], successors=SparseSuccessors([0, 1, 3, 4, 5], [1, 0, 2, 3, 0]))
MOVES = {(0, 1), (1, 0), (1, 2), (2, 3), (3, 0)}
sequences = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6)


def ring_network() -> Network:
    edges = 5
    return Network(
        Places(np.array(list("abcd")), np.array(list("ABCD")), np.zeros(4), np.arange(4.0)),
        Edges(
            np.array([0, 1, 3, 4, 5]),
            np.array([1, 0, 2, 3, 0], np.int32),
            np.full(edges, 100, np.int32),
            np.full(edges, 500.0),
            np.zeros(edges, bool),
            np.ones(edges, np.int64),
            np.zeros(edges + 1, np.int64),
            np.empty(0, np.int32),
        ),
        Routes(np.empty(0, str), np.empty(0, str), np.empty(0, np.int32)),
        Platforms(np.array(list("abcd")), np.arange(4, dtype=np.int32)),
    )


def by_hand(trip: list[int], rule: LegalityRule) -> list[int] | None:
    if rule.repeats == "merge":
        trip = [at for i, at in enumerate(trip) if i == 0 or at != trip[i - 1]]
    if rule.impossible == "keep":
        return trip
    for i in range(1, len(trip)):
        if (trip[i - 1], trip[i]) not in MOVES:
            return None if rule.impossible == "drop" else trip[:i]
    return trip


@given(
    lists=sequences,
    repeats=st.sampled_from(["merge", "keep"]),
    impossible=st.sampled_from(["cut", "drop", "keep"]),
    block=st.sampled_from([2, 1 << 20]),
)
def test_the_rule_does_to_every_trip_what_it_says(lists, repeats, impossible, block):
    rule = LegalityRule(repeats=repeats, impossible=impossible)
    before = legality._VISITS_AT_ONCE
    legality._VISITS_AT_ONCE = block
    try:
        done = rule.apply(Trips.of_lists(lists, RING)).to_lists()
    finally:
        legality._VISITS_AT_ONCE = before
    expected = [by_hand(trip, rule) for trip in lists]
    assert done == [trip for trip in expected if trip is not None]


@given(
    lists=sequences,
    impossible=st.sampled_from(["cut", "drop"]),
    extra=st.lists(st.integers(0, 3), max_size=5),
)
def test_one_more_trip_changes_at_most_one_trip_of_the_result(lists, impossible, extra):
    rule = LegalityRule(impossible=impossible)
    alone = rule.apply(Trips.of_lists(lists, RING)).to_lists()
    beside = rule.apply(Trips.of_lists([*lists, extra], RING)).to_lists()
    assert beside[: len(alone)] == alone
    assert len(beside) - len(alone) <= 1


def test_times_and_riders_stay_with_their_trips():
    trips = Trips.of_lists(
        [[0, 2], [0, 1, 2]], RING, time=np.array([5, 6, 10, 20, 30]), rider=np.array([7, 8])
    )
    cut, dropped = LegalityRule().apply(trips), LegalityRule(impossible="drop").apply(trips)
    assert (cut.time.tolist(), cut.rider.tolist()) == ([5, 10, 20, 30], [7, 8])
    assert (dropped.time.tolist(), dropped.rider.tolist()) == ([10, 20, 30], [8])


def test_in_a_world_where_all_may_follow_all_nothing_is_cut():
    trips = Trips.of_lists([[0, 0, 1], [1]], World.of_symbols(["x", "y"]))
    assert LegalityRule(repeats="keep", impossible="drop").apply(trips).to_lists() == [[0, 0, 1], [1]]


def test_a_move_faster_than_the_network_is_impossible_if_asked():
    trips = Trips.of_lists(
        [[0, 1, 2], [0, 1, 2], [0, 2]], ring_network(), time=np.array([0, 49, 200, 0, 50, 99, 0, 900])
    )
    rule = LegalityRule(fastest=0.5)
    assert rule.apply(trips).to_lists() == [[0], [0, 1], [0]]
    assert LegalityRule().apply(trips).to_lists() == [[0, 1, 2], [0, 1, 2], [0]]
    with pytest.raises(ParameterError, match="trips with times"):
        rule.apply(trips.without_times())
    with pytest.raises(ParameterError, match="network with travel times"):
        rule.apply(Trips.of_lists([[0, 1]], RING, time=np.array([0, 1])))


@pytest.mark.parametrize(
    "wrong",
    [
        {"repeats": "some"},
        {"impossible": "repair"},
        {"fastest": 0.0},
        {"fastest": 1.5},
        {"fastest": 0.5, "impossible": "keep"},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ParameterError):
        LegalityRule(**wrong)


def test_every_rule_has_its_own_sentence():
    rules = [LegalityRule(r, i) for r in ("merge", "keep") for i in ("cut", "drop", "keep")]
    sentences = {rule.sentence() for rule in [*rules, LegalityRule(fastest=0.25)]}
    assert len(sentences) == 7
    assert all(
        sentence.endswith(".") and not any(c.isdigit() for c in sentence.replace("0.25", ""))
        for sentence in sentences
    )
