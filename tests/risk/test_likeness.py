"""Models are compared to the last bit, and what cannot be compared counts as different."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from wayveil.lab.audits.replay_checks import difference


@dataclass
class Box:
    content: object


class Slotted:
    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content


class Loop:
    def __init__(self, value):
        self.value = value
        self.me = self


ALIKE = [
    lambda: np.arange(3),
    lambda: [1, "a", None, Fraction(1, 3), 2.5],
    lambda: {"a": (1, 2), "b": {3, 4}},
    lambda: Box(Box(np.zeros(2))),
    lambda: Slotted(7),
    lambda: pl.DataFrame({"a": [1, 2]}),
    lambda: Loop(1),
    lambda: Box(Box.__init__),
    lambda: [1, 2].append and Box(3).__eq__,
    lambda: np.array(["a", None], object),
]


@pytest.mark.parametrize("make", ALIKE)
def test_two_of_the_same_making_are_alike(make):
    assert difference(make(), make()) is None


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        (np.arange(3), np.arange(4), "model"),
        (np.arange(3), np.arange(3.0), "model"),
        (np.array([0.0]), np.array([-0.0]), "model"),
        (Box([1, Box(np.array([1]))]), Box([1, Box(np.array([2]))]), "model.content.1.content"),
        ({"a": 1}, {"b": 1}, "model"),
        ({"a": 1}, {"a": True}, "model.a"),
        (Slotted(7), Slotted(8), "model.content"),
        (pl.Series([1]), pl.Series([2]), "model"),
        (Loop(1), Loop(2), "model.value"),
        ([1], (1,), "model"),
        (object(), object(), "model"),
    ],
)
def test_the_first_difference_is_named(one, other, place):
    assert difference(one, other) == place
