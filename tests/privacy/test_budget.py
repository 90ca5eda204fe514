"""A budget is exact, adds up as composition says, and refuses in a sentence."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.budget import Budget, Spend, exact, total_price

F = Fraction


def spend(label, price, group=None):
    return Spend(label, price, 1, 1 / F(price), group)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, F(1, 10)),
        ("0.1", F(1, 10)),
        ("1/3", F(1, 3)),
        (Decimal("0.25"), F(1, 4)),
        (2, F(2)),
        (1e-9, F(1, 10**9)),
        (np.float64(0.1), F(1, 10)),
        (np.int64(3), F(3)),
    ],
)
def test_numbers_are_read_as_they_are_written(written, meant):
    found = exact(written)
    assert found == meant
    assert type(found.numerator) is int


@pytest.mark.parametrize(
    "value",
    [0, -1, "nought", "1/0", float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity"), None, [1]],
)
def test_what_is_no_positive_number_is_refused_with_its_name(value):
    with pytest.raises(ParameterError, match="delta must be"):
        exact(value, "delta")


def test_ten_tenths_are_one():
    budget = Budget(1)
    for _ in range(10):
        budget.spend(spend("a tenth", exact(0.1)))
    assert budget.remaining == 0


def test_a_refusal_says_what_was_requested_what_remains_and_what_is_missing_and_spends_nothing():
    budget = Budget("1")
    budget.spend(spend("first", F(3, 4)))
    with pytest.raises(BudgetExceededError) as refusal:
        budget.spend(spend("second", F(1, 2)))
    assert str(refusal.value) == (
        "second needs epsilon 0.5, but the budget has 0.25 left: 0.25 too much. Nothing was spent."
    )
    assert (refusal.value.requested, refusal.value.remaining) == (F(1, 2), F(1, 4))
    assert [line.label for line in budget.spends] == ["first"]
    assert budget.spent == F(3, 4)


def test_deltas_add_up_to_the_delta_of_the_budget():
    budget = Budget(2, delta=F(1, 100))
    budget.spend(Spend("first", F(1), 1, F(1), delta=F(3, 400)))
    with pytest.raises(BudgetExceededError, match="needs delta"):
        budget.spend(Spend("second", F(1), 1, F(1), delta=F(1, 200)))
    assert (budget.spent, budget.spent_delta) == (1, F(3, 400))


def test_a_budget_in_rho_refuses_in_rho():
    with pytest.raises(BudgetExceededError, match="needs rho 2"):
        Budget(1, currency="rho").spend(spend("x", F(2)))


def test_one_too_many_by_the_smallest_fraction_is_refused():
    budget = Budget(1)
    with pytest.raises(BudgetExceededError):
        budget.spend(spend("x", 1 + F(1, 10**30)))


def test_disjoint_parts_cost_the_dearest_of_them():
    budget = Budget(1)
    for part, price in [("north", F(1, 2)), ("south", F(3, 4)), ("west", F(1, 4))]:
        budget.spend(spend(part, price, group="quarters"))
    assert budget.spent == F(3, 4)


def test_two_spends_on_the_same_part_add_up():
    budget = Budget(1)
    budget.spend(spend("north", F(1, 2), "quarters"))
    budget.spend(spend("south", F(3, 4), "quarters"))
    budget.spend(spend("north", F(1, 2), "quarters"))
    assert budget.spent == 1
    with pytest.raises(BudgetExceededError):
        budget.spend(spend("north", F(1, 100), "quarters"))
    budget.spend(spend("south", F(1, 4), "quarters"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.fractions(F(1, 50), 3, max_denominator=50),
            st.sampled_from([None, "g", "h"]),
        ),
        max_size=12,
    )
)
def test_the_running_sum_is_the_composition_of_all_accepted_spends(asked):
    budget = Budget(4)
    for label, price, group in asked:
        line = spend(label, price, group)
        together = total_price([*budget.spends, line])
        if together <= 4:
            budget.spend(line)
        else:
            with pytest.raises(BudgetExceededError) as refusal:
                budget.spend(line)
            assert refusal.value.requested == together - budget.spent
    assert budget.spent == total_price(budget.spends) <= 4


@given(st.lists(st.fractions(F(1, 10**6), 1000), min_size=1, max_size=8), st.fractions(F(1, 1000), 10))
def test_shares_add_up_to_what_remains_in_proportion(weights, total):
    budget = Budget(total)
    budget.spend(spend("x", total / 3))
    shares = budget.split(weights)
    assert sum(shares) == budget.remaining
    assert all(
        share * weights[0] == shares[0] * weight for share, weight in zip(shares, weights, strict=True)
    )


@pytest.mark.parametrize(
    "bad",
    [
        Spend("x", F(0), 1, F(1)),
        Spend("x", F(-1), 1, F(1)),
        Spend("x", F(1), 0, F(1)),
        Spend("x", 0.5, 1, F(2)),
    ],
)
def test_a_spend_without_price_sensitivity_or_exactness_is_refused(bad):
    budget = Budget(1)
    with pytest.raises(ParameterError, match="x: "):
        budget.spend(bad)
    assert budget.spends == ()


def test_there_are_two_currencies():
    with pytest.raises(ParameterError, match="'euro'"):
        Budget(1, currency="euro")
