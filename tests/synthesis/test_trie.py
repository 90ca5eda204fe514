import json
from fractions import Fraction

import numpy as np
import pytest

from wayveil.synthesis.ngram_model import NgramTable
from wayveil.synthesis.trie import Trie
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
