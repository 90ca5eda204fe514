"""Permute-and-flip has the law that its name describes, and that law is private."""

from fractions import Fraction
from itertools import permutations, product
from math import exp, log

import numpy as np
import pytest
from reference_noise import ALPHA, goodness

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.selection import _accept, permute_and_flip
from wayveil.privacy.units import Points, Rider, Trip

F = Fraction


def law(utilities, epsilon, sensitivity=1):
    """Literally: every order of the candidates, the first whose coin shows heads."""
    accept = [exp(-epsilon * (max(utilities) - u) / (2 * sensitivity)) for u in utilities]
    chances = [0.0] * len(utilities)
    orders = list(permutations(range(len(utilities))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            chances[candidate] += reached * accept[candidate] / len(orders)
            reached *= 1 - accept[candidate]
    return np.array(chances)


def draws(utilities, price, sensitivity=1, runs=4000, seed=1):
    bits = SeededBits(seed)
    chosen = [permute_and_flip(np.array(utilities), F(price), sensitivity, bits) for _ in range(runs)]
    return np.bincount(chosen, minlength=len(utilities))


CASES = [
    ([0, 0, 0, 0], F(1), 1),
    ([3, 0], F(1, 2), 1),
    ([5, 4, 4, -7], F(7, 10), 2),
    ([-10, -1, -2, -3, -3], F(355, 113), 4),
]


@pytest.mark.parametrize(("utilities", "price", "sensitivity"), CASES)
def test_choices_follow_the_law_of_all_orders(utilities, price, sensitivity):
    counts = draws(utilities, price, sensitivity)
    assert goodness(counts, law(utilities, price, sensitivity) * counts.sum()) > ALPHA


def test_the_law_test_rejects_twice_the_price():
    counts = draws([6, 3, 0], 2)
    assert goodness(counts, law([6, 3, 0], 1) * counts.sum()) < ALPHA


def coins(gap, rate, size=300_000):
    heads = _accept(np.full(size, gap, np.uint64), F(rate), SeededBits(4)).sum()
    return np.array([heads, size - heads])


@pytest.mark.parametrize(("gap", "rate"), [(1, F(1, 3)), (5, F(2, 7)), (1000, F(1, 800)), (13, F(1, 10))])
def test_coins_have_their_law_and_the_test_rejects_rates_that_are_off_by_a_tenth(gap, rate):
    heads = exp(-gap * rate)
    expected = np.array([heads, 1 - heads]) * 300_000
    assert goodness(coins(gap, rate), expected) > ALPHA
    assert goodness(coins(gap, rate * F(9, 10)), expected) < ALPHA
    assert goodness(coins(gap, rate * F(11, 10)), expected) < ALPHA


def test_the_law_is_private_for_every_pair_of_close_utilities_and_not_more_than_it_needs():
    worst = 0.0
    for before in product([-3, 0, 1], repeat=3):
        for change in product([-1, 0, 1], repeat=3):
            after = [u + c for u, c in zip(before, change, strict=True)]
            worst = max(worst, np.abs(np.log(law(before, 1.0) / law(after, 1.0))).max())
    assert 0.9 < worst <= 1 + 1e-9


def test_half_the_noise_would_not_be_private():
    before, after = [8, 0, 0], [7, 1, 1]
    assert abs(log(law(before, 2.0)[1] / law(after, 2.0)[1])) > 1


def test_the_widest_gap_of_64_bits_is_a_gap_and_not_a_negative_number():
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert {permute_and_flip(ends, F(1, 1000), 1, SeededBits(seed)) for seed in range(20)} == {1}


def test_prices_with_long_fractions_are_used_exactly():
    price = F(10**40 + 1, 3 * 10**40)
    counts = draws([9, 0], price)
    assert goodness(counts, law([9, 0], float(price)) * counts.sum()) > ALPHA


def test_many_candidates_are_chosen_among_at_once():
    utilities = -np.abs(np.arange(200_000) - 1234)
    assert abs(permute_and_flip(utilities, F(1), 1, SeededBits(3)) - 1234) < 60


@pytest.mark.parametrize(
    ("utilities", "price", "sensitivity"),
    [([], F(1), 1), ([0.5, 1.0], F(1), 1), ([[1, 2]], F(1), 1), ([1, 2], F(0), 1), ([1, 2], F(1), 0)],
)
def test_a_selection_without_meaning_is_refused(utilities, price, sensitivity):
    with pytest.raises(ParameterError):
        permute_and_flip(np.array(utilities), price, sensitivity)


def test_the_gate_books_a_selection_with_the_sensitivity_of_the_unit():
    gate = Gate(Rider(max_trips=3), Budget(1), SeededBits(1))
    chosen = gate.select("height", np.array([0, 1000, 10]), Contribution(per_trip=2), F(1, 4))
    (spend,) = gate.budget.spends
    assert chosen == 1
    assert (spend.label, spend.kind, spend.price, spend.sensitivity) == ("height", "selection", F(1, 4), 6)
    assert spend.scale == 2 * 6 / F(1, 4)


def test_the_gate_draws_with_the_law_of_the_booked_price():
    utilities, gate = np.array([6, 3, 0]), Gate(Rider(max_trips=3), Budget(10_000), SeededBits(2))
    chosen = [gate.select("x", utilities, Contribution(per_trip=1), F(2)) for _ in range(5000)]
    counts = np.bincount(chosen, minlength=3)
    assert goodness(counts, law([6, 3, 0], 2, 3) * len(chosen)) > ALPHA
    assert goodness(counts, law([6, 3, 0], 2, 2) * len(chosen)) < ALPHA


def test_under_rho_a_selection_uses_the_pure_epsilon_that_rho_pays_for():
    gate = Gate(Trip(), Budget(1, currency="rho"), SeededBits(1))
    gate.select("x", np.array([1, 2]), Contribution(per_trip=1), F(1, 2))
    assert gate.budget.spent == F(1, 2)
    assert gate.budget.spends[0].scale == 2  # epsilon 1, since 1^2 / 2 = rho


def test_a_replaced_trip_moves_a_score_twice():
    assert Points(length=1).utility_sensitivity(Contribution(per_trip=5, per_cell=1)) == 2
    assert Points(length=3).utility_sensitivity(Contribution(per_trip=9, per_visit=2)) == 6


def test_a_refused_selection_spends_nothing():
    gate = Gate(Trip(), Budget(1), SeededBits(1), before_first_answer=lambda: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetExceededError):
        gate.select("x", np.array([1]), Contribution(per_trip=1), F(2))
    with pytest.raises(ParameterError, match="no candidate"):
        gate.select("x", np.array([], np.int64), Contribution(per_trip=1), F(1))
    with pytest.raises(ParameterError, match="greater than 0"):
        gate.select("x", np.array([1]), Contribution(per_trip=1), F(0))
    assert gate.budget.spends == ()
