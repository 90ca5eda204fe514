"""The threshold search has its closed-form law, and that law costs what is booked."""

import random
from fractions import Fraction
from itertools import product
from math import exp, inf, log

import mpmath
import numpy as np
import pytest
from reference_noise import ALPHA, goodness

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.repeat import Stopping, repeat_until, rounds_needed
from wayveil.privacy.units import Trip

F = Fraction
ONE = Contribution(per_trip=1)


def search_law(base, gamma, rounds=None):
    """Of the accepted outcomes and then of nothing. `base`: the chances of the accepted outcomes in one draw."""
    accepted = sum(base)
    again = (1 - accepted) * (1 - gamma)
    rounds_made = 1 / (1 - again) if rounds is None else sum(again**k for k in range(rounds))
    found = [q * rounds_made for q in base]
    nothing = gamma * (1 - accepted) * rounds_made + (0 if rounds is None else again**rounds)
    assert sum(found) + nothing == pytest.approx(1, abs=1e-9)
    return [*found, nothing]


def loss(one, other):
    """The largest log-ratio of two laws."""
    ratios = [(p, q) for p, q in zip(one, other, strict=True) if p or q]
    return max(abs(log(p / q)) if p and q else inf for p, q in ratios)


def close_pairs(epsilon):
    """Pairs of base mechanisms with two accepted outcomes and a rejected one, each epsilon-close."""
    shares = [0.001, 0.01, 0.1, 0.3, 0.45]
    factors = [exp(epsilon * k / 4) for k in range(-4, 5)]
    for a, b in product(shares, repeat=2):
        for f, g in product(factors, repeat=2):
            if a * f + b * g < 1 and abs(log((1 - a * f - b * g) / (1 - a - b))) <= epsilon:
                yield [a, b], [a * f, b * g]


def worst_loss(epsilon, gamma, rounds=None):
    pairs = close_pairs(epsilon)
    return max(loss(search_law(one, gamma, rounds), search_law(two, gamma, rounds)) for one, two in pairs)


@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.01, 0.001])
def test_the_law_costs_twice_the_price_of_a_draw(gamma):
    assert worst_loss(0.5, gamma) <= 1


def test_twice_is_needed():
    assert worst_loss(0.5, 0.001) > 0.9


@pytest.mark.parametrize(
    ("gamma", "slack"), [*product([F(1, 2), F(1, 10), F(1, 50)], [F(1), F(1, 10), F(1, 100)])]
)
def test_a_capped_search_costs_twice_the_price_of_a_draw_and_the_slack(gamma, slack):
    rounds = rounds_needed(gamma, slack)
    assert worst_loss(0.5, float(gamma), rounds) <= 1 + float(slack)


def test_without_the_coin_the_cost_has_no_bound():
    assert worst_loss(0.5, 0.0, 400) > 100


def test_a_cap_that_is_too_low_breaks_the_promise():
    assert worst_loss(0.5, 0.0001, 300) > 1.5


def toy_draw(base, rng):
    """A draw of outcome 0, 1, ... with the given chances, else a rejected one."""

    def draw():
        u = rng.random()
        for outcome, chance in enumerate(base):
            if u < chance:
                return outcome, 1
            u -= chance
        return "rejected", 0

    return draw


def outcomes(base, stopping, flip, runs=8000):
    rng = random.Random(7)
    found = [repeat_until(toy_draw(base, rng), 1, stopping, flip) for _ in range(runs)]
    return np.array([sum(x == k for x in found) for k in [*range(len(base)), None]])


@pytest.mark.parametrize("stopping", [Stopping(F(1, 5)), Stopping(F(1, 5), 12, F(1, 5))])
def test_the_search_has_its_closed_form_law(stopping):
    base = [0.05, 0.1]
    counts = outcomes(base, stopping, Gate(Trip(), Budget(1), SeededBits(5)).flip)
    expected = np.array(search_law(base, 0.2, stopping.rounds)) * counts.sum()
    assert goodness(counts, expected) > ALPHA


@pytest.mark.parametrize("coin", [lambda gamma: False, lambda gamma: random.random() < gamma / 2])
def test_a_removed_or_weaker_coin_is_caught_by_the_law_test(coin):
    base, stopping = [0.05, 0.1], Stopping(F(1, 5), 12, F(1, 5))
    counts = outcomes(base, stopping, coin)
    assert goodness(counts, np.array(search_law(base, 0.2, 12)) * counts.sum()) < ALPHA


def test_the_coin_is_flipped_after_every_rejection_with_the_probability_asked_for():
    flips = []
    repeat_until(lambda: ("x", 0), 1, Stopping(F(1, 7)), lambda gamma: flips.append(gamma) or len(flips) == 5)
    assert flips == [F(1, 7)] * 5


def test_a_score_equal_to_the_threshold_is_accepted_without_a_coin():
    assert (
        repeat_until(lambda: ("x", F(1, 3)), F(1, 3), Stopping(F(1, 2)), lambda _: pytest.fail("coin")) == "x"
    )


@pytest.mark.parametrize(
    ("gamma", "slack"), [*product([F(1, 3), F(1, 100), F(7, 10**6)], [F(1), F(1, 3), F(1, 10**9)])]
)
def test_the_cap_is_the_least_that_the_theorem_allows(gamma, slack):
    with mpmath.workdps(50):
        g, s = (mpmath.mpf(x.numerator) / x.denominator for x in (gamma, slack))
        bound = max(mpmath.log(2 / s) / g, 1 + 1 / (mpmath.e * g))
        assert rounds_needed(gamma, slack) - 1 < bound <= rounds_needed(gamma, slack)


@pytest.mark.parametrize(
    "stopping",
    [
        lambda: Stopping(F(0)),
        lambda: Stopping(F(1)),
        lambda: Stopping(0.5),
        lambda: Stopping(F(1, 2), slack=F(1, 10)),
        lambda: Stopping(F(1, 2), 50),
        lambda: Stopping(F(1, 2), 50, F(2)),
        lambda: Stopping(F(1, 2), rounds_needed(F(1, 2), F(1, 10)) - 1, F(1, 10)),
    ],
)
def test_a_stopping_rule_that_is_not_private_cannot_be_made(stopping):
    with pytest.raises(ParameterError):
        stopping()


def noisy_count(gate, price=None):
    exact = SparseCounts.dense(np.array([10]))
    count = int(gate.histogram("count", exact, ONE, price or gate.budget.remaining).counts[0])
    return count, count


def test_the_gate_books_the_whole_search_once_whatever_it_took():
    for seed in range(10):
        gate = Gate(Trip(), Budget(2), SeededBits(seed))
        found = gate.search("good count", noisy_count, 12, F(3, 2), Stopping(F(1, 10)))
        (spend,) = gate.budget.spends
        assert found is None or found >= 12
        assert (spend.kind, spend.price, spend.scale) == ("search", F(3, 2), F(3, 4))


def test_every_draw_is_held_to_its_share():
    gate = Gate(Trip(), Budget(2), SeededBits(1))
    rule = Stopping(F(1, 10), 40, F(1, 10))
    shares = []

    def draw(inner):
        shares.append(inner.budget.remaining)
        return noisy_count(inner)

    gate.search("good count", draw, 30, F(1), rule)
    assert set(shares) == {F(9, 20)}
    assert rule.price(F(9, 20)) == 1
    with pytest.raises(BudgetExceededError):
        gate.search("greedy", lambda inner: noisy_count(inner, F(46, 100)), 0, F(1), rule)


def test_what_comes_back_is_the_candidate_alone():
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    candidate = object()
    assert gate.search("x", lambda inner: (candidate, 1), 1, F(1), Stopping(F(1, 2))) is candidate


def test_searching_again_after_nothing_is_a_new_purchase():
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    assert gate.search("x", lambda inner: ("x", 0), 1, F(1), Stopping(F(1, 2))) is None
    with pytest.raises(BudgetExceededError):
        gate.search("x", lambda inner: ("x", 0), 1, F(1), Stopping(F(1, 2)))


def test_a_search_that_cannot_be_paid_draws_nothing():
    gate = Gate(Trip(), Budget(1), SeededBits(1), before_first_answer=lambda: pytest.fail("opened"))
    rule = Stopping(F(1, 10), 40, F(1, 10))
    with pytest.raises(ParameterError, match="leaves nothing"):
        gate.search("x", lambda inner: pytest.fail("drawn"), 1, F(1, 10), rule)
    with pytest.raises(BudgetExceededError):
        gate.search("x", lambda inner: pytest.fail("drawn"), 1, F(2), rule)
    with pytest.raises(ParameterError, match="rho"):
        Gate(Trip(), Budget(1, currency="rho")).search("x", noisy_count, 1, F(1), rule)
    assert gate.budget.spent == 0
