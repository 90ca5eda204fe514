"""Trips that a threshold cut go on as others do, where it was bought how long trips are."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.accuracy.sized import Sized
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.tallies import Tally, tally
from wayveil.synthesis.tree import PrefixTree, TreeLevel
from wayveil.world.world import World

CITY = World.of_symbols(list("abcd"))


def level(parent, symbol, count):
    return TreeLevel(np.array(parent, np.int64), np.array(symbol, np.int32), np.array(count), Fraction(1), 30)


def tree(size):
    """A hundred trips [a] of which a threshold took the rest, and a hundred trips [b, a, d]."""
    levels = (level([0, 0], [0, 1], [100, 100]), level([1], [0], [100]), level([0], [3], [100]))
    return PrefixTree(CITY, levels, size=size)


def ends(made):
    return tally("alightings", made.generate(seed=1)).at(np.arange(4)).tolist()


def test_cut_trips_do_not_end_where_they_were_cut():
    assert ends(tree(None)) == [100, 0, 0, 100], "nothing tells that they are too short"
    assert ends(tree(PaidSize(200, 400))) == [100, 0, 0, 100], "as long as they should be"
    cut = tree(PaidSize(200, 600))
    at_a, _, _, at_d = ends(cut)
    assert at_a < 50
    assert at_a + at_d == 200
    assert cut.continued == pytest.approx(1 / 3)


def test_what_goes_on_as_others_do_is_no_knowledge_of_ends():
    same = Tally(np.arange(2), np.array([60.0, 40.0]))
    known = Sized(PaidSize(100, 500), 100, 500, continued=0.4)
    assert known.judge("alightings", same, same, None, 1.0).is_noise
    assert known.judge("boardings", same, same, None, 1.0).error == 0
    visits = Tally(np.arange(2), np.array([300.0, 200.0]))
    assert 0.2 < known.judge("stops", visits, visits, None, 1.0).error < 0.4
