"""What a trained release costs one trip or one visit, held against the exact privacy loss of its steps."""

from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest
from scipy.stats import norm

from privacy.ledger_tools import FakeClock
from wayveil.privacy.accounting import SampledSteps, sigma_for
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.gradients import CLIP, Outer
from wayveil.privacy.ledger import Ledger, LedgerError, Policy, open_ledger
from wayveil.privacy.ledger.conversion import BookedUnit, Stated, steps
from wayveil.privacy.training import Examples
from wayveil.privacy.units import Rider, RiderDay, Trip, Unit
from wayveil.trips.trips import Trips
from wayveil.world.world import World

pytest.importorskip("dp_accounting")
pytest_plugins = ["privacy.ledger_places"]

TAPS, EPSILON, DELTA = "taps", Fraction(1), Fraction(1, 10**6)
PLAN = SampledSteps(Fraction(1, 20), 1_500)


@pytest.fixture
def ledger(tmp_path, clock: FakeClock) -> Ledger:
    return open_ledger(tmp_path / "ledger", clock=clock)


@cache
def losses(up: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Privacy loss of all steps when one visit turns a rider's gradient round, rounded up or down to a grid.

    One step compares (1 - q) N(0, sigma) + q N(1, sigma) with (1 - q) N(0, sigma) + q N(-1, sigma).
    """
    q, sigma = float(PLAN.probability), float(sigma_for([PLAN], EPSILON, DELTA))
    grid, bins = 1e-5, 1 << 21
    edges = np.linspace(-12 * sigma, 12 * sigma, 1_000_001)

    def log_density(centre: float) -> np.ndarray:
        mixed = (1 - q) * norm.pdf(edges, 0, sigma) + q * norm.pdf(edges, centre, sigma)
        return np.log(mixed)

    loss = log_density(1.0) - log_density(-1.0)  # rises with the outcome
    below = (1 - q) * norm.cdf(edges, 0, sigma) + q * norm.cdf(edges, 1.0, sigma)
    mass = np.diff(below)
    rounded = np.ceil(loss[1:] / grid) if up else np.floor(loss[:-1] / grid)
    single = np.zeros(bins)
    np.add.at(single, rounded.astype(int) % bins, mass)
    together = np.maximum(np.fft.irfft(np.fft.rfft(single) ** PLAN.steps, bins), 0)
    at = np.fft.fftfreq(bins, 1 / bins) * grid
    return at, together, PLAN.steps * (1 - mass.sum())


def true_delta(epsilon: float, *, up: bool) -> float:
    """Delta at this epsilon: never too small with `up`, never too large without."""
    at, mass, lost = losses(up)
    over = at > epsilon
    return float((mass[over] * (1 - np.exp(epsilon - at[over]))).sum()) + (lost if up else 0)


def test_one_visit_costs_a_trained_rider_release_far_more_than_it_says() -> None:
    low, high = true_delta(1.0, up=False), true_delta(1.0, up=True)
    assert 3e-3 < low <= high < 5e-3, "thousands of times the 1e-6 that the release claims for a rider"


def test_two_steps_of_a_rider_cover_one_visit() -> None:
    assert true_delta(2.0, up=True) <= float(DELTA) * (1 + exp(1)), "group privacy: (2 e, (1 + exp(e)) delta)"


def charged(ledger: Ledger, unit: Unit, policy: str) -> tuple[float, float] | None:
    """What the ledger says that one of the policy's units lost by a trained release; None if it is refused."""
    ledger.set_policy(TAPS, Policy(100, total_delta="1/2", unit=policy), actor="officer")
    try:
        ledger.reserve(TAPS, EPSILON, DELTA, actor="ana", mechanism="dp-loc", unit=unit)
    except LedgerError as error:
        if "a release with a delta can only count once" not in str(error):
            raise
        return None
    (summary,) = ledger.summary()
    assert summary.spent is not None
    return float(summary.spent), float(summary.spent_delta)


@pytest.mark.parametrize("unit", [Rider(max_trips=2), Rider(max_trips=8), RiderDay(max_trips=4)])
@pytest.mark.parametrize("policy", ["trip", "event"])
def test_the_ledger_never_says_less_than_the_exact_loss(ledger: Ledger, unit: Unit, policy: str) -> None:
    said = charged(ledger, unit, policy)
    assert said is None or true_delta(said[0], up=False) <= said[1]


def test_its_own_unit_is_charged_as_it_stands(ledger: Ledger) -> None:
    assert charged(ledger, Rider(max_trips=2), "rider") == (1.0, 1e-6)


def test_a_trip_of_its_own_is_charged_once(ledger: Ledger) -> None:
    assert charged(ledger, Trip(), "trip") == (1.0, 1e-6)


def test_trained_releases_convert_by_pairs_of_their_own_unit() -> None:
    def factors(kind: type[Rider], policy: str) -> set[int | None]:
        booked = [BookedUnit(kind.name, {"max_trips": m}) for m in (1, 2, 4, 50)]
        return {steps(unit, policy, Stated(), trained=True) for unit in booked}

    assert factors(Rider, "trip") == factors(Rider, "event") == factors(RiderDay, "trip") == {2}
    assert factors(RiderDay, "event") == {4}


class Directions:
    """A network of one weight, whose gradient points to where the example's only visit leads."""

    def parts(self, columns):
        (place,) = columns
        sign = np.where(place == 0, 1, -1).astype(np.float32)[:, None]
        return [Outer(np.ones((len(place), 1), np.float32), sign)]


def test_a_changed_visit_moves_a_step_by_two_clips_whatever_the_bound() -> None:
    world, sums = World.of_symbols("ab"), []
    for place in (0, 1):
        trips = Trips.of_lists([[place]], world, rider=np.array([0]))
        examples = Examples.of(trips, Rider(max_trips=8), (trips.location.astype(np.int64),), trips.offsets)
        gate = Gate(Rider(max_trips=8), Budget(1, delta=DELTA), SeededBits(3))
        drawn = examples.take(gate.draw_units(examples, Fraction(1)))
        sums.append(gate.clip(Directions().parts(drawn), 1.0)[0].sum())
    assert abs(sums[0] - sums[1]) > 1.99 * CLIP


def test_lines_that_an_earlier_version_counted_once_stand_and_nothing_is_added_to_them(
    tmp_path, monkeypatch
) -> None:
    place = tmp_path / "old"
    with monkeypatch.context() as earlier:
        earlier.setattr("wayveil.privacy.ledger.account.steps", lambda *given, **more: 1)
        ledger = open_ledger(place)
        assert charged(ledger, Rider(max_trips=2), "trip") == (1.0, 1e-6)
        ledger.reserve(TAPS, 1, actor="ana", mechanism="tree", unit=Trip())
    ledger = open_ledger(place)
    assert ledger.verify().ok
    assert [state.spent for state in ledger.summary()] == [None]
    with pytest.raises(LedgerError, match="a release with a delta can only count once"):
        ledger.reserve(TAPS, 1, actor="ana", mechanism="tree", unit=Trip())
    policy = Policy(100, total_delta="1/2", unit="rider", trips_per_rider=3)
    ledger.set_policy(TAPS, policy, actor="officer")
    assert ledger.spent(TAPS) == 1 + 3
