"""Quantile utilities mean what they say, and one value moves them no further than is booked."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.selection import quantile_utilities, utility_contribution
from wayveil.privacy.units import Points, Rider, Trip

F = Fraction
values = st.lists(st.integers(-3, 15), max_size=12)
ratios = st.integers(2, 12).flatmap(lambda b: st.integers(1, b - 1).map(lambda a: F(a, b)))
LOW, HIGH = 0, 11


@given(values, ratios)
def test_utilities_follow_their_definition(data, q):
    clipped = [min(max(v, LOW), HIGH) for v in data]
    for x, found in zip(
        range(LOW, HIGH + 1), quantile_utilities(np.array(data, int), q, LOW, HIGH), strict=True
    ):
        below, up_to = sum(v < x for v in clipped), sum(v <= x for v in clipped)
        missed = max(0, below - q * len(data), q * len(data) - up_to)
        assert found == -missed * q.denominator


@given(values, ratios, st.integers(-3, 15))
def test_one_value_moves_no_utility_by_more_than_the_contribution_says(data, q, extra):
    before, after = (quantile_utilities(np.array(d, int), q, LOW, HIGH) for d in (data, [*data, extra]))
    bound = utility_contribution(Contribution(per_trip=1), q)
    assert bound.per_cell == max(q.numerator, q.denominator - q.numerator)
    assert np.abs(before - after).max() <= bound.per_cell


def test_the_bound_is_reached_so_nothing_smaller_would_do():
    q = F(9, 10)
    before, after = (quantile_utilities(np.array(d, int), q, 0, 5) for d in ([], [3]))
    assert np.abs(before - after).max() == 9


@given(values.filter(bool), ratios)
def test_the_quantiles_themselves_are_the_best_candidates(data, q):
    utilities = quantile_utilities(np.array(data), q, LOW, HIGH)
    inverse = sorted(min(max(v, LOW), HIGH) for v in data)[-(-len(data) * q.numerator // q.denominator) - 1]
    assert utilities[inverse - LOW] == 0 == utilities.max()


def test_values_that_tie_do_not_push_the_quantile_to_an_empty_number():
    assert quantile_utilities(np.full(1000, 5), F(2, 5), 1, 9).argmax() + 1 == 5


def test_a_replaced_value_costs_what_the_unit_books():
    # Under a unit of visits a trip, and so its length, is replaced: the utility can move by the whole denominator.
    q = F(3, 10)
    before, after = (quantile_utilities(np.array(d), q, 0, 9) for d in ([0] * 10, [0] * 9 + [9]))
    gate = Gate(Points(length=1), Budget(1), SeededBits(1))
    gate.quantile("length", np.array([0]), q, 0, 9, Contribution(per_trip=1), F(1))
    assert 7 < np.abs(before - after).max() == 10 <= gate.budget.spends[0].sensitivity == 14


def test_the_gate_finds_a_quantile_and_books_it():
    lengths = np.random.default_rng(1).integers(1, 41, 5000)
    gate = Gate(Rider(max_trips=2), Budget(1), SeededBits(1))
    found = gate.quantile("height", lengths, F(4, 5), 1, 100, Contribution(per_trip=1), F(1, 2))
    (spend,) = gate.budget.spends
    assert abs(found - np.quantile(lengths, 0.8)) <= 1
    assert (spend.price, spend.sensitivity, spend.kind) == (F(1, 2), 2 * 4, "selection")


def test_without_any_value_every_number_is_as_likely():
    gate = Gate(Trip(), Budget(2000), SeededBits(1))
    empty = np.array([], np.int64)
    found = [gate.quantile("x", empty, F(1, 2), 3, 6, Contribution(per_trip=1), F(1)) for _ in range(2000)]
    assert np.bincount(found, minlength=7)[3:].min() > 400


@pytest.mark.parametrize(
    ("q", "low", "high"),
    [(F(0), 0, 5), (F(1), 0, 5), (F(1, 2), 5, 4), (F(1, 2), 0, 10**8), (F(1, 10**7), 0, 5)],
)
def test_a_quantile_without_meaning_is_refused_and_costs_nothing(q, low, high):
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    with pytest.raises(ParameterError):
        gate.quantile("x", np.array([1, 2]), q, low, high, Contribution(per_trip=1), F(1))
    assert gate.budget.spent == 0
