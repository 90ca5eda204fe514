"""What releases cost together: never more than the sum, never less than what is true."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest
from mpmath import binomial, exp, mp, mpf

from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.ledger import Cost, LineFacts, Policy, compose, open_ledger

pytest.importorskip(
    "dp_accounting", reason="dp-accounting is not installed: pip install 'wayveil[accounting]'"
)

MILLIONTH = Fraction(1, 10**6)


def delta_of_randomised_responses(epsilon: Fraction, times: int, together: float) -> mpf:
    """The delta of `times` epsilon-randomised responses at the total epsilon `together`, to 40 digits."""
    with mp.workdps(40):
        p = 1 / (1 + exp(-mpf(epsilon.numerator) / epsilon.denominator))
        q, factor = 1 - p, exp(mpf(together))
        losses = (
            binomial(times, k) * max(p**k * q ** (times - k) - factor * p ** (times - k) * q**k, 0)
            for k in range(times + 1)
        )
        return sum(losses)


@pytest.mark.parametrize(
    ("epsilon", "times"), [(Fraction(1, 10), 100), (Fraction(1, 2), 10), (Fraction(1), 3), (Fraction(5), 1)]
)
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12])
def test_pure_releases_compose_as_tightly_as_the_worst_case_allows(
    epsilon: Fraction, times: int, delta: float
) -> None:
    together = compose([Cost(epsilon)] * times, delta)
    assert together.sum_epsilon == epsilon * times
    assert together.epsilon <= together.sum_epsilon
    # At the reported epsilon the true delta is within the target; a little lower it no longer is.
    assert delta_of_randomised_responses(epsilon, times, together.epsilon) <= delta
    slack = times * 2e-4 + 1e-3
    assert delta_of_randomised_responses(epsilon, times, together.epsilon - slack) > delta


def test_many_small_releases_are_much_cheaper_than_their_sum() -> None:
    together = compose([Cost(Fraction(1, 10))] * 100, MILLIONTH)
    assert together.method == "privacy loss distribution"
    assert together.epsilon < 5 < together.sum_epsilon == 10


def test_concentrated_releases_add_their_rho() -> None:
    costs = [Cost(Fraction(2), MILLIONTH, rho=Fraction(1, 20))] * 4
    together = compose(costs, MILLIONTH)
    assert together.method == "zero-concentrated"
    # rho + 2 sqrt(rho log(1/delta)), the textbook conversion, is a little looser; rho alone is out of reach.
    textbook = 0.2 + 2 * (0.2 * 13.8155) ** 0.5
    assert 0.8 * textbook < together.epsilon < textbook
    assert together.sum_delta == 4 * MILLIONTH


def test_pure_and_concentrated_releases_compose_together() -> None:
    pure, concentrated = [Cost(Fraction(1, 20))] * 20, [Cost(Fraction(3), MILLIONTH, rho=Fraction(1, 10))] * 3
    both = compose(pure + concentrated, MILLIONTH)
    assert compose(concentrated, MILLIONTH).epsilon < both.epsilon
    assert both.epsilon < compose(concentrated, MILLIONTH).epsilon + 1
    assert both.method == "zero-concentrated"


def test_a_delta_that_is_spent_already_has_no_epsilon() -> None:
    costs = [Cost(Fraction(1), MILLIONTH)] * 3
    assert compose(costs, 4 * MILLIONTH).epsilon <= 3
    with pytest.raises(WayveilError, match=r"have spent delta .* ask for a larger delta"):
        compose(costs, MILLIONTH)
    with pytest.raises(WayveilError, match="ask for a larger delta"):
        compose([*costs, Cost(Fraction(1), MILLIONTH, rho=Fraction(1, 10))], MILLIONTH)


def test_nothing_released_costs_nothing() -> None:
    assert compose([], MILLIONTH).epsilon == 0


def test_a_huge_epsilon_falls_back_to_the_sum() -> None:
    together = compose([Cost(Fraction(1000))], MILLIONTH)
    assert (together.epsilon, together.method) == (1000, "plain sum")


@pytest.mark.parametrize("delta", [0, 1, 2, -1, "small"])
def test_a_delta_without_meaning_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError):
        compose([Cost(Fraction(1))], delta)


def test_missing_dp_accounting_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.common", None)
    with pytest.raises(WayveilError, match=r"pip install 'wayveil\[accounting\]'"):
        compose([Cost(Fraction(1))], MILLIONTH)


def test_the_ledger_composes_what_counts_as_spent(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "trips.ledger")
    ledger.set_policy("taps", Policy(5, total_delta="1e-5"), actor="officer")
    for _ in range(4):
        ledger.reserve("taps", "1/2", actor="ana", mechanism="prefix tree")
    ledger.reserve("taps", 1, "1e-7", actor="ana", mechanism="gaussian", facts=LineFacts(rho="1/50"))
    ledger.reserve("taps", 2, actor="ana", mechanism="prefix tree").cancel("wrong file")
    together = ledger.composition("taps", "1e-6")
    assert together.releases == 5
    assert together.sum_epsilon == 3
    assert together.epsilon < 3
    assert ledger.composition("gps", "1e-6").epsilon == 0
