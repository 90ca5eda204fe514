import json
from fractions import Fraction

import numpy as np
import pytest

from ring_networks import straight_rides, two_way_line
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.synthesis.ngram_model import NgramTable
from wayveil.synthesis.trie_model import Trie
from wayveil.trips.windows import window_starts
from wayveil.world.world import World

# a b c, with ^ = 3 and $ = 4
GRAMS = [[3, 0, 1], [0, 1, 2], [1, 2, 4], [0, 1, 4], [3, 2, 4]]
COUNTS = np.array([10, 6, 6, 4, 2])


def trie():
    table = NgramTable(np.array(GRAMS), COUNTS, COUNTS.astype(float), Fraction(20), 3)
    return Trie(World(list("abc")), table, begins=1, trips=12.0, longest=10)


def test_the_trie_sums_its_ngrams_from_the_leaves_up():
    root = trie().nested()
    assert root["count"] == 28
    assert [(node["stop"], node["count"]) for node in root["children"]] == [("^", 12), ("a", 10), ("b", 6)]
    begin = root["children"][0]
    assert begin["children"][0] == {
        "stop": "a",
        "count": 10.0,
        "children": [{"stop": "b", "count": 10.0, "children": []}],
    }


def test_a_narrow_trie_keeps_the_most_frequent_branches():
    root = trie().nested(widest=1)
    assert [node["stop"] for node in root["children"]] == ["^"]
    assert root["children"][0]["children"][0]["stop"] == "a"


def test_the_trie_as_json_and_as_a_table():
    read = json.loads(trie().to_json())
    assert read["n"] == 3
    assert read["root"] == trie().nested()
    table = trie().table()
    assert table.columns == ["length", "ngram", "noisy_count", "count"]
    assert table["ngram"].to_list()[2] == ["b", "c", "$"]


def test_trips_are_walks_through_overlapping_ngrams():
    lists = trie().generate(seed=0).to_lists()
    assert len(lists) == pytest.approx(12, abs=1)
    assert set(map(tuple, lists)) <= {(0, 1), (0, 1, 2), (2,)}
    assert sum(trip[0] == 2 for trip in lists) == 2


def test_a_loop_of_noise_is_walked_as_often_as_it_was_counted():
    """Two false n-grams that lead to each other held every walk that came by until it was 200 stops long."""
    a, b, x, begin, end = 0, 1, 2, 3, 4
    rows = [[begin, a, b], [a, b, end], [a, b, x], [b, x, b], [x, b, x]]
    count = np.array([1_000, 960, 40, 40, 40])
    grams = NgramTable(np.array(rows), count, count.astype(float), Fraction(1))
    trips = Trie(World(list("abx")), grams, 1, 1_000.0, 200).generate(1)
    assert np.sum(trips.location == x) <= 3 * 40
    assert np.mean(trips.lengths) == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("epsilon", ["1/2", 2])
def test_trips_turn_back_as_often_as_the_noisy_ngrams_say(epsilon):
    network = two_way_line(20)
    raw = straight_rides(network, 5_000, 9, seed=1)
    assert immediate_returns(raw) == 0
    gate = Gate(Trip(), Budget(Fraction(epsilon)), SeededBits(1))
    model = MobiTrie().measure(LocalCounter(raw), gate)
    symbols, count = model.grams.symbols, model.grams.count
    turning = (symbols[:, 0] == symbols[:, 2]) & (symbols[:, 0] < network.size)
    trips = model.generate(1)
    supported = 2 * model.budget() * count[turning].sum() + 0.01 * trips.visits
    assert immediate_returns(trips) <= supported
    assert trips.lengths.mean() < 2 * raw.lengths.mean()


def immediate_returns(trips):
    """How often a trip is back after two steps."""
    starts = window_starts(trips, 3)
    return int(np.sum(trips.location[starts] == trips.location[starts + 2]))
