"""Buy how many rows the counted weights stand for, so that every answer is a number of all rows.

Guarantee
    epsilon-differential privacy for units that are bounded by weights, for the share that it spends.
    Reason: both questions are histograms to which a trip adds no more than its weight (see `privacy.weights`), so that
    a unit moves each by at most its bound k, and noise of scale k / price pays for it. What leaves the gate afterwards
    is multiplied by their quotient: post-processing.
    Attacked by tests/privacy/test_weights.py, broken bounds in tests/privacy/test_units.py, and `lab audit` of every
    mechanism that weighs and of `release` (lab/audits/door_weights.py).
"""

from contextlib import suppress
from fractions import Fraction

from wayveil.counting.counter import Counter
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider
from wayveil.privacy.weights import Size, count_classes
from wayveil.synthesis.model import Model

ONE_TRIP = Contribution(per_trip=1)
# Share of the budget that buys the size, and of that share the part for rows: a unit has more rows than weights.
SIZE_SHARE, ROWS_PART = Fraction(1, 10), Fraction(3, 4)
# Numbers of a few large cells are known so well that the number of all rows is what they have wrong: of their part of
# the budget this much goes there.
OF_LARGE_CELLS = Fraction(2, 5)


def size_share(mechanism: Mechanism) -> Fraction:
    """The share of the budget that buys how many rows there are: public, as it follows from what is asked."""
    return max(SIZE_SHARE, OF_LARGE_CELLS * mechanism.part_of_large_cells)


class _ReadyToAnswerError(Exception):
    """A mechanism has asked its first question."""


def measure(mechanism: Mechanism, counter: Counter, gate: Gate) -> Model:
    """Let a mechanism measure; where trips are weighed, buy first how many rows the weights stand for.

    A mechanism that refuses before its first question does so before anything is bought.
    """
    if gate.unit.weighs:
        _refuse_before_buying(mechanism, counter, gate)
        scale_to_all_rows(counter, gate, size_share(mechanism))
    return mechanism.measure(counter, gate)


def _refuse_before_buying(mechanism: Mechanism, counter: Counter, gate: Gate) -> None:
    """Go as far as the first question, on a gate that answers none."""

    def stop() -> None:
        raise _ReadyToAnswerError

    rest = gate.budget.remaining * (1 - size_share(mechanism))
    budget = Budget(rest, currency=gate.budget.currency, delta=gate.budget.delta or None)
    probe = Gate(gate.unit, budget, before_first_answer=stop, memory=gate.memory)
    with suppress(_ReadyToAnswerError):
        mechanism.measure(counter, probe)


def scale_to_all_rows(counter: Counter, gate: Gate, share: Fraction = SIZE_SHARE) -> None:
    """Let the gate answer in numbers of all rows from here on; buys nothing where each row weighs a whole one."""
    unit = gate.unit
    if not isinstance(unit, Rider) or not unit.weighs or unit.most_rows <= unit.max_trips or share == 0:
        return
    price = gate.budget.remaining * share
    classes = counter.weight_classes(count_classes(unit.max_trips, unit.most_rows))
    rows = gate.histogram("trips by how many their unit has", classes, ONE_TRIP, price * ROWS_PART)
    weights = gate.histogram("weights of all trips", counter.trips(), ONE_TRIP, price * (1 - ROWS_PART))
    gate.size = Size.of(
        rows.counts.tolist(),
        gate.deviation(rows.question),
        int(weights.counts[0]),
        gate.deviation(weights.question),
        unit.max_trips,
    )


def expect_size(unit: Rider, rows: float, weights: float, price: float) -> Size:
    """The size as it would be bought of so many rows and weights: what its noise makes of them, without any data."""
    classes = count_classes(unit.max_trips, unit.most_rows)
    each = 2 * (unit.max_trips / (price * float(ROWS_PART))) ** 2
    variance = each * sum(4.0**place for place in range(classes))
    weighed = 2 * (unit.max_trips / (price * float(1 - ROWS_PART))) ** 2
    return Size(rows, variance, weights, weighed, (), unit.max_trips)
