"""Buy how many rows the counted weights stand for, so that every answer is a number of all rows.

Guarantee
    epsilon-differential privacy for units that are bounded by weights, for the share that it spends.
    Reason: the question is one histogram to which a trip adds its weight (see `privacy.weights.split_weight`), so that
    a unit moves it by at most its bound k, and noise of scale k / price pays for it. Sums of its cells are the weights
    and the rows. What leaves the gate afterwards is multiplied by their quotient: post-processing.
    Attacked by tests/privacy/test_weights.py, broken bounds in tests/privacy/test_units.py, and `lab audit` of every
    mechanism that weighs and of `release` (lab/audits/door_weights.py).
"""

from contextlib import suppress
from fractions import Fraction
from math import sqrt

from wayveil.counting.counter import Counter
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Unit
from wayveil.privacy.weights import Size, size_steps
from wayveil.synthesis.model import Model
from wayveil.world.world import World

ONE_TRIP = Contribution(per_trip=1)
# The question that buys the size, and those of earlier versions.
SIZE_LABELS = ("weights by rows of their unit", "trips by how many their unit has", "weights of all trips")
# Share of the budget that buys the size where nothing is known of the cells, and the least and most of it.
USUAL_SHARE, LEAST_SHARE, MOST_SHARE = Fraction(1, 10), Fraction(1, 40), Fraction(3, 4)
# Rows of a rider on average, where nobody says it; numbers of rows then fall off geometrically.
USUAL_ROWS = 5
# Noise of all steps together in that of the last one, where each is half of the next.
ALL_STEPS = sqrt(4 / 3)


def size_share(mechanism: Mechanism, world: World, unit: Unit) -> Fraction:
    """The share of the budget that buys how many rows there are: public, as it follows from what is asked.

    The number of rows has the noise of about `most_rows` rows, but for those that the weights tell. A cell that is one
    of c like it has c times the noise of the rows that the weights of one unit stand for, in proportion. Errors add up
    in squares, and are least where the shares are as these to the power of 2/3. The cells that want most of it have
    their way.
    """
    assert isinstance(unit, Rider)
    told = mechanism.cells_told(world)
    rows = unit.max_trips / (1 - (1 - 1 / USUAL_ROWS) ** unit.max_trips)
    beyond = ALL_STEPS * max(unit.most_rows - rows, 0) / rows
    ratio = max(((beyond * float(part) / cells) ** (2 / 3) for cells, part in told if cells > 1), default=0.0)
    itself = max((part for cells, part in told if cells == 1), default=Fraction(0))
    found = Fraction(ratio / (1 + ratio)).limit_denominator(100) if told else USUAL_SHARE
    return min(max(found, itself, LEAST_SHARE), MOST_SHARE)


class _ReadyToAnswerError(Exception):
    """A mechanism has asked its first question."""


def measure(mechanism: Mechanism, counter: Counter, gate: Gate) -> Model:
    """Let a mechanism measure; where trips are weighed, buy first how many rows the weights stand for.

    A mechanism that refuses before its first question does so before anything is bought.
    """
    if gate.unit.weighs:
        _refuse_before_buying(mechanism, counter, gate)
        scale_to_all_rows(counter, gate, size_share(mechanism, counter.world, gate.unit))
    return mechanism.measure(counter, gate)


def _refuse_before_buying(mechanism: Mechanism, counter: Counter, gate: Gate) -> None:
    """Go as far as the first question, on a gate that answers none."""

    def stop() -> None:
        raise _ReadyToAnswerError

    rest = gate.budget.remaining * (1 - size_share(mechanism, counter.world, gate.unit))
    budget = Budget(rest, currency=gate.budget.currency, delta=gate.budget.delta or None)
    probe = Gate(gate.unit, budget, before_first_answer=stop, memory=gate.memory)
    with suppress(_ReadyToAnswerError):
        mechanism.measure(counter, probe)


def scale_to_all_rows(counter: Counter, gate: Gate, share: Fraction = USUAL_SHARE) -> None:
    """Let the gate answer in numbers of all rows from here on; buys nothing where each row weighs a whole one."""
    unit = gate.unit
    if not isinstance(unit, Rider) or not unit.weighs or unit.most_rows <= unit.max_trips or share == 0:
        return
    steps, price = size_steps(unit.max_trips, unit.most_rows), gate.budget.remaining * share
    bought = gate.histogram(SIZE_LABELS[0], counter.weight_steps(steps), ONE_TRIP, price)
    gate.size = Size(tuple(map(float, bought.counts)), steps, gate.deviation(bought.question))


def expect_size(unit: Rider, rows: float, weights: float, price: float) -> Size:
    """The size as it would be bought of so many rows and weights: what its noise makes of them, without any data."""
    steps = size_steps(unit.max_trips, max(unit.most_rows, unit.max_trips + 1))
    return Size.expect(rows, weights, steps, sqrt(2) * unit.max_trips / price)
