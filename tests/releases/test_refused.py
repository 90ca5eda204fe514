"""A mechanism that refuses because of its noisy answers costs what they cost; every other failure costs everything."""

from fractions import Fraction

import pytest

from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from weave_city import QUICK, town_trips

# Nobody has so many trips: refused whatever the noise says.
PICKY = Weave(weakest=1e12, generation=QUICK)


def share_of_the_number():
    weights = PICKY.shares.weigh_blocks("network", timed=True)
    return weights["trips"] / sum(weights.values())


@pytest.fixture
def ledger(tmp_path):
    made = open_ledger(tmp_path / "ledger")
    made.set_policy("trips", Policy(10, unit="trip"), actor="officer")
    return made


def kinds(ledger):
    """The steps after the policy and the rows."""
    lines = [line.kind for line in ledger.entries()]
    assert lines[:2] == ["policy", "content"]
    return lines[2:]


def attempt(ledger, mechanism=PICKY):
    return release(town_trips(300), mechanism, epsilon=1, unit=Trip(), ledger=ledger, dataset="trips")


def test_a_refused_release_books_only_the_number_of_trips(ledger):
    with pytest.raises(RefusedError, match="too few"):
        attempt(ledger)
    assert ledger.spent("trips") == share_of_the_number()
    assert 0 < ledger.spent("trips") < Fraction(1, 10)
    assert kinds(ledger) == ["reserve", "start", "settle"]
    assert ledger.open_reservations() == []
    assert ledger.verify().ok


def test_refusals_add_up(ledger):
    for _ in range(3):
        with pytest.raises(RefusedError):
            attempt(ledger)
    assert ledger.spent("trips") == 3 * share_of_the_number()


def test_any_other_failure_after_the_first_noise_leaves_everything_spent(ledger, monkeypatch):
    """Even one of the same family: what failed may have depended on the raw trips."""

    def fail(*_):
        raise ParameterError("a defect")

    monkeypatch.setattr(Gate, "tree", fail)
    with pytest.raises(ParameterError, match="a defect"):
        attempt(ledger, Weave(weakest=0, generation=QUICK))
    assert ledger.spent("trips") == 1
    assert kinds(ledger) == ["reserve", "start", "settle"]
    assert ledger.open_reservations() == []


def test_a_crash_between_the_refusal_and_its_booking_leaves_everything_spent(ledger, monkeypatch):
    def crash(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("wayveil.privacy.ledger.ledger.Ledger.settle", crash)
    with pytest.raises(KeyboardInterrupt):
        attempt(ledger)
    assert ledger.spent("trips") == 1
    assert ledger.open_reservations()[0].started
    assert ledger.verify().ok


def test_a_refusal_before_the_first_noise_costs_nothing(ledger, monkeypatch):
    def refuse(*_):
        raise RefusedError("at once")

    monkeypatch.setattr(Weave, "measure", refuse)
    with pytest.raises(RefusedError, match="at once"):
        attempt(ledger)
    assert ledger.spent("trips") == 0
    assert kinds(ledger) == ["reserve", "cancel"]
