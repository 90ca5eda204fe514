"""Training through the gate: who is drawn, what is added, what is booked."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.accounting import SampledSteps, sigma_for, training_epsilon
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.gradients import CLIP, Outer
from wayveil.privacy.training import BrokenOffError, Examples, poisson
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.trips.trips import Trips
from wayveil.world.world import World

MILLIONTH = Fraction(1, 10**6)


def test_every_unit_is_drawn_with_its_probability_and_by_itself():
    q, bits = Fraction(3, 40), SeededBits(5)
    draws = np.zeros((4000, 50), bool)
    for row in draws:
        row[poisson(50, q, bits)] = True
    assert abs(draws.mean() - 0.075) < 5 * np.sqrt(0.075 * 0.925 / draws.size)
    sizes = np.bincount(draws.sum(axis=1), minlength=51)
    expected = binom.pmf(np.arange(51), 50, 0.075) * len(draws)
    good = expected > 10
    assert (((sizes - expected) ** 2 / np.maximum(expected, 1e-9))[good]).sum() < 40
    together = (draws[:, 3] & draws[:, 4]).mean()
    assert abs(together - 0.075**2) < 0.005
    assert poisson(7, Fraction(1), bits).tolist() == list(range(7))


def trips_of(riders):
    world = World.of_symbols("abcd")
    lists = [[0, 1, 2]] * len(riders)
    time = np.tile([0, 1, 2], len(riders)) + np.repeat(np.arange(len(riders)) * 86_400, 3)
    return Trips.of_lists(lists, world, rider=np.array(riders), time=time)


def examples_of(trips, unit):
    return Examples.of(trips, unit, (np.arange(2 * len(trips)),), 2 * np.arange(len(trips) + 1))


def test_a_unit_gives_one_example_whatever_it_did():
    trips = trips_of([0, 0, 1, -1, -1])
    assert examples_of(trips, Trip()).units == 5
    rider = Rider(max_trips=2, without_id="own")
    assert examples_of(trips, rider).units == 4
    assert examples_of(trips, RiderDay(max_trips=2, without_id="own")).units == 5
    seen = examples_of(trips, rider).draw(Fraction(1), SeededBits(2))
    assert len(seen) == 4


@pytest.mark.parametrize("probability", [Fraction(1, 50), Fraction(9, 10), Fraction(1)])
def test_one_unit_more_changes_no_other_units_example(probability):
    rider = Rider(max_trips=3)
    for units in (5, 40, 199):
        riders = np.repeat(np.arange(units), 3).tolist()
        for seed in range(20):
            few = examples_of(trips_of(riders), rider).draw(probability, SeededBits(seed))
            more = examples_of(trips_of([*riders, units]), rider).draw(probability, SeededBits(seed))
            assert few.tolist() == [one for one in more.tolist() if one < 6 * units]


@pytest.mark.parametrize("unit", [Event(), Points(length=2), Window()])
def test_units_that_are_not_made_of_trips_are_refused(unit):
    gate = Gate(unit, Budget(1, delta=MILLIONTH), SeededBits(1))
    with pytest.raises(ParameterError, match="Use trip, rider or rider-day"):
        gate.training("learning", [SampledSteps(Fraction(1, 10), 5)], Fraction(1))
    assert gate.budget.spent == 0


class Line:
    """A network of one weight per input; remembers what it was handed."""

    def __init__(self, stop_after=None):
        self.weight, self.seen, self.stop_after = np.zeros(3), [], stop_after

    def parts(self, columns):
        (index,) = columns
        return [Outer(np.ones((len(index), 3), np.float32), np.ones((len(index), 1), np.float32))]

    def update(self, gradients):
        self.seen.append(gradients[0].ravel())
        if self.stop_after is not None and len(self.seen) == self.stop_after:
            raise KeyboardInterrupt


def test_training_books_its_price_and_noises_every_parameter():
    trips = trips_of(list(range(40)))
    gate = Gate(Trip(), Budget(1, delta=MILLIONTH), SeededBits(9))
    plan = SampledSteps(Fraction(1, 4), 60)
    bought = gate.training("learning", [plan], Fraction(1))
    (spend,) = gate.budget.spends
    assert (spend.kind, spend.price, spend.delta, spend.sensitivity) == ("training", 1, MILLIONTH, CLIP)
    assert training_epsilon([plan], spend.scale, MILLIONTH) <= 1
    assert training_epsilon([plan], spend.scale * Fraction(9, 10), MILLIONTH) > 1
    line = Line()
    bought.run(examples_of(trips, Trip()), line, clip=2.0, expected=10.0, name="line")
    seen = np.array(line.seen)
    assert seen.shape == (60, 3)
    # The clipped gradient of an example is 2 / sqrt(3) in each place; ten are drawn on average.
    noise = float(spend.scale) * 2.0 / 10
    assert abs(seen.mean() - 2 / np.sqrt(3)) < 5 * noise / np.sqrt(180) + 0.2
    assert 0.7 < seen.std() / noise < 1.4
    with pytest.raises(ParameterError, match="have been run"):
        bought.run(examples_of(trips, Trip()), line, clip=2.0, expected=10.0, name="again")
    with pytest.raises(BudgetExceededError):
        gate.training("more", [plan], Fraction(1, 10))


def test_training_that_is_broken_off_stays_spent_and_says_so():
    gate = Gate(Trip(), Budget(1, delta=MILLIONTH), SeededBits(9))
    bought = gate.training("learning", [SampledSteps(Fraction(1, 4), 20)], Fraction(1))
    with pytest.raises(BrokenOffError, match=r"after 2 of 20 steps.*stays spent"):
        bought.run(
            examples_of(trips_of([0, 1, 2]), Trip()), Line(stop_after=3), clip=1.0, expected=1.0, name="x"
        )
    assert gate.budget.remaining == 0


def test_epsilon_is_that_of_the_privacy_loss_distribution():
    q, delta = Fraction(200, 121_622), Fraction(1, 121_622)
    assert training_epsilon([SampledSteps(q, 18_240)], Fraction(13, 10), delta) == pytest.approx(
        0.773, abs=0.002
    )
    assert training_epsilon([SampledSteps(q, 18_240)], Fraction(9, 10), delta) == pytest.approx(
        1.418, abs=0.002
    )


def test_no_delta_is_said_before_anything_is_spent():
    with pytest.raises(ParameterError, match="delta above 0"):
        sigma_for([SampledSteps(Fraction(1, 10), 5)], Fraction(1), Fraction(0))
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    with pytest.raises(ParameterError, match="delta"):
        gate.training("learning", [SampledSteps(Fraction(1, 10), 5)], Fraction(1))
    assert gate.budget.spent == 0


def test_without_the_accountant_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld", None)
    gate = Gate(Trip(), Budget(1, delta=MILLIONTH), SeededBits(1))
    with pytest.raises(ParameterError, match=r"wayveil\[accounting\]"):
        gate.training("learning", [SampledSteps(Fraction(1, 10), 5)], Fraction(1))
    assert gate.budget.spent == 0
