"""How many trips and visits there are, bought beside a tree, so that it is known how much the tree lost."""

from fractions import Fraction

import numpy as np

from wayveil.counting.protocol import Counter
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.synthesis.model import PaidSize

ONE_TRIP = Contribution(per_trip=1)
# A trip counts for at most so many visits, or so many heights of a tall tree: more would only add noise.
MOST_VISITS, MOST_HEIGHTS = 24, 2


def level_prices(gate: Gate, weights: list[int] | list[Fraction], share: Fraction) -> list[Fraction]:
    """What remains, split over the levels of a tree, but for the share that buys its size."""
    return [price * (1 - share) for price in gate.budget.split(weights)]


def buy_size(counter: Counter, gate: Gate, share: Fraction, height: int) -> PaidSize | None:
    """Both numbers for this share of what remains, half each; None for no share."""
    if share == 0:
        return None
    price, most = gate.budget.remaining * share / 2, max(MOST_VISITS, MOST_HEIGHTS * height)
    trips = gate.histogram("number of trips", counter.trips(), ONE_TRIP, price)
    lengths = counter.lengths(most)
    exact = SparseCounts.dense(np.array([lengths.keys @ lengths.counts]))
    visits = gate.histogram("number of visits", exact, Contribution(per_trip=most, per_visit=1), price)
    number = max(float(trips.counts[0]), 1.0)
    # Every trip has a visit.
    return PaidSize(number, float(np.clip(visits.counts[0], number, most * number)))
