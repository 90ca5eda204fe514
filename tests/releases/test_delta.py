"""Budgets with a delta: what a release in rho claims, where it is written, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.zcdp import epsilon_of
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,1,1", 3, 3))


def some_trips():
    rng = np.random.default_rng(1)
    return Trips.of_lists([rng.integers(0, 9, 3).tolist() for _ in range(500)], GRID)


def test_a_release_in_rho_claims_epsilon_at_its_delta_everywhere(tmp_path):
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("gps", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    made = release(some_trips(), Markov(), epsilon=1, currency="rho", ledger=ledger, dataset="gps")
    guarantee = made.datasheet["guarantee"]
    assert guarantee["epsilon"] == "1"
    assert Fraction(guarantee["delta"]) == Fraction(1, 10**6)
    assert epsilon_of(guarantee["rho"], guarantee["delta"]) <= 1
    assert "epsilon = 1, delta = 1/1000000" in guarantee["sentence"]
    assert made.datasheet["deployment"]["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    (line,) = [line for line in ledger.entries("gps") if line.kind == "reserve"]
    assert (line.epsilon, line.delta) == (1, Fraction(1, 10**6))
    assert line.rho >= Fraction(guarantee["rho"])


def test_a_given_delta_is_used():
    made = release(some_trips(), Markov(), epsilon=1, currency="rho", delta="1e-9")
    assert Fraction(made.datasheet["guarantee"]["delta"]) == Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"delta": "1e-6"}, "needs no delta"),
        ({"currency": "rho", "delta": 0}, "delta must be greater than 0"),
        ({"currency": "rho", "delta": 1}, "less than 1"),
        ({"currency": "euro"}, "epsilon or rho"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_spent(tmp_path, options, problem):
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("gps", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    with pytest.raises(ParameterError, match=problem):
        release(some_trips(), Markov(), epsilon=1, ledger=ledger, dataset="gps", **options)
    assert ledger.spent("gps") == 0


def test_pure_releases_still_have_no_delta():
    made = release(some_trips(), Markov(), epsilon=1)
    assert made.datasheet["guarantee"]["delta"] == "0"
    assert "(delta = 0)" in made.datasheet["guarantee"]["sentence"]
