"""What a release leaves in the ledger when it ends badly, and what it must not do before it is admitted."""

from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import LedgerError, Policy, open_ledger
from wayveil.privacy.units import Rider, Trip
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import score
from wayveil.world.world import World

WORLD = World.of_symbols("abcd")
TREE = NoisyPrefixTree(height=2, size_share=0)
ONE_TRIP = Trip()


def some_trips() -> Trips:
    return Trips.of_lists([[0, 1], [0, 1, 2], [3]] * 10, WORLD, rider=np.arange(30))


@pytest.fixture
def ledger(tmp_path):
    made = open_ledger(tmp_path / "ledger")
    made.set_policy("trips", Policy(5, unit="trip"), actor="officer")
    return made


def attempt(ledger, **more):
    return release(some_trips(), TREE, **({"epsilon": 1, "unit": ONE_TRIP, "ledger": ledger} | more))


@pytest.mark.parametrize(
    ("error", "booked"),
    [
        (MemoryError(), 1),
        (OSError(28, "No space left on device"), 1),
        (ParameterError("a defect"), 1),
        (SystemExit(3), 1),
        (KeyboardInterrupt(), Fraction(1, 2)),
        (RefusedError("too little"), Fraction(1, 2)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_failure_after_the_first_noise_is_settled(ledger, monkeypatch, error, booked):
    """What may have come from the raw trips costs everything; a refusal and a person's stop cost what was bought."""
    draw = Gate.answer

    def fail(gate, question, exact):
        draw(gate, question, exact)
        raise error

    monkeypatch.setattr(Gate, "answer", fail)
    with pytest.raises(type(error)):
        attempt(ledger)
    assert ledger.open_reservations() == []
    assert ledger.spent("trips") == booked
    assert ledger.entries()[-1].kind == "settle"
    assert type(error).__name__ in ledger.entries()[-1].payload["reason"]
    assert ledger.verify().ok


def test_a_ledger_that_cannot_be_told_keeps_everything_spent_and_the_error_is_the_first_one(
    ledger, monkeypatch
):
    def fail(*_):
        raise MemoryError

    def gone(*_args, **_kwargs):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Gate, "answer", fail)
    monkeypatch.setattr("wayveil.privacy.ledger.ledger.Ledger.settle", gone)
    with pytest.raises(MemoryError) as raised:
        attempt(ledger)
    assert "the disk is full" in raised.value.__notes__[0]
    assert ledger.spent("trips") == 1


def test_a_dataset_without_a_policy_is_not_released(ledger, tmp_path):
    with pytest.raises(LedgerError, match=r"does not know the dataset 'tripz' \(it knows: trips\)"):
        attempt(ledger, dataset="tripz")
    with pytest.raises(ParameterError, match="no name for a dataset"):
        attempt(ledger, dataset="trips ")
    with pytest.raises(LedgerError, match="there is no ledger"):
        attempt(tmp_path / "nowhere.ledger")
    assert [line.kind for line in ledger.entries()] == ["policy"]


def test_a_ledger_may_be_named_by_its_place(ledger, tmp_path):
    for place in (tmp_path / "ledger", str(tmp_path / "ledger")):
        attempt(place)
    assert ledger.spent("trips") == 2


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-20", Fraction(1, 1_001), 1001])
def test_an_epsilon_outside_the_range_reserves_nothing(ledger, epsilon):
    with pytest.raises(ParameterError, match=r"from 0\.001 to 1000"):
        attempt(ledger, epsilon=epsilon)
    assert [line.kind for line in ledger.entries()] == ["policy"]


def test_the_ends_of_the_range_can_be_released(ledger):
    ledger.set_policy("trips", Policy(2000, unit="trip"), actor="officer")
    for epsilon in ("0.001", 1000):
        attempt(ledger, epsilon=epsilon)
    assert ledger.spent("trips") == 1000 + Fraction(1, 1_000)


def test_a_release_in_a_weaker_unit_does_not_pass_for_one_of_riders(ledger):
    ledger.set_policy("trips", Policy(5, unit="rider"), actor="officer")
    with pytest.raises(LedgerError, match="--trips-per-rider"):
        attempt(ledger)
    attempt(ledger, unit=Rider(max_trips=2))
    assert ledger.entries()[-2].unit["bounds"]["max_trips"] == 2
    assert attempt(ledger, unit=Rider(max_trips=1)).datasheet["ledger"]["spent_so_far_for"] == "rider"


def test_what_is_not_private_is_never_summed(ledger):
    ledger.set_policy("trips", Policy(5, unit="trip", not_private=True), actor="officer")
    attempt(ledger, bits=SeededBits(1))
    attempt(ledger, not_private="riders were reconstructed")
    attempt(ledger)
    assert ledger.spent("trips") == 1
    assert ledger.summary()[0].not_private == 2


def test_a_score_of_a_booked_release_is_a_look(ledger):
    made = attempt(ledger)
    score(some_trips(), made, queries=50)
    assert [line.purpose for line in ledger.looks("trips")] == ["score"]
    again = attempt(ledger).datasheet
    assert again["ledger"]["looks_before"] == 1
    said = again["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert "1 look at the raw data was booked before this release." in said
