"""Parameters, thresholds, bounds and sizes that several mechanisms share."""

from fractions import Fraction
from math import ceil, log
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Points, Unit, Window
from wayveil.synthesis.model import PaidSize

Moves = Annotated[
    Literal["auto", "network", "all"],
    Field(
        description="Stops that may come next: those of the `network`, `all`, or `auto`: the network's where there "
        "is one."
    ),
]
# Of trees.
Height = Annotated[
    int, Field(ge=1, le=200, description="Visits of a trip that are used; later ones are cut off (public).")
]
FalseChildren = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="Sets the noise-aware threshold: false children that noise may add to a node, on average; to "
        "the root, as `false_roots` says.",
    ),
]
FalseRoots = Annotated[
    float,
    Field(
        ge=0,
        le=0.5,
        description="Share of all candidates of the first level that noise may keep, on average, if that is more than "
        "`false_children`; but where the number of trips is bought, never so many that they stand for more than a "
        "tenth of it.",
    ),
]
WhenExplosive = Annotated[
    Literal["refuse", "raise", "allow"],
    Field(
        description="What to do with a fixed threshold under which false nodes multiply: `refuse` it, `raise` it to"
        " the noise-aware one, or `allow` it."
    ),
]
SizeShare = Annotated[
    Fraction,
    Field(
        ge=0,
        lt=1,
        description="Share of epsilon that buys the numbers of trips and of visits, half each, which tell how much the "
        "tree lost; 0: neither.",
    ),
]
Filling = Annotated[
    Fraction,
    Field(
        ge=0,
        lt=1,
        description="Share of epsilon that buys visits per stop (and, for a quarter of it, per time bin; for a "
        "twentieth, how many go where their trip has been), of the first 8 visits of a trip or as many as the tree is "
        "high: what the tree lost is filled up by them. For taps, which may jump; needs a `size_share`. 0: what is "
        "lost is lost.",
    ),
]
ThresholdScales = Annotated[
    float | None,
    Field(gt=0, description="A fixed threshold, in noise scales, in place of the noise-aware one."),
]
ConsistencyRule = Annotated[
    Literal["weighted", "equal", "none"],
    Field(
        description="Children that exceed their parent: scaled down in proportion (`weighted`), the same subtracted"
        " from each (`equal`), or left (`none`)."
    ),
]
Smoothing = Annotated[
    bool, Field(description="Counts are first made non-increasing along paths (isotonic regression).")
]
# Of walks.
Longest = Annotated[int, Field(ge=1, le=100_000, description="Most stops of a generated trip (public).")]
DenseCells = Annotated[
    int,
    Field(
        ge=1,
        le=20_000_000,
        description="Universes of 2-grams up to this many cells are counted cell by cell; of larger ones only what "
        "stands out of the noise comes back, and no table of them is made.",
    ),
]
FalseMoves = Annotated[
    float,
    Field(
        gt=0,
        description="In a universe too large to be counted cell by cell: false n-grams that noise may add, per "
        "context, on average.",
    ),
]
# Of counts of visits.
MaxVisits = Annotated[
    int | None,
    Field(
        ge=1,
        description="Visits of a trip that are counted, the first ones (public). Units of trips or riders need it.",
    ),
]
Share = Annotated[Fraction, Field(gt=0, lt=1)]


def noise_aware_threshold(cells: float, false: float, scale: Fraction, *, least: int = 1) -> int:
    """The smallest whole number that about `false` of so many empty cells reach, but no less than `least`.

    Noise lifts an empty cell to t with probability about exp(-t / scale) / 2. All of this is public.
    """
    return max(least, ceil(float(scale) * log(max(cells / (2 * false), 1.0))))


def visit_contribution(mechanism: str, unit: Unit, max_visits: int | None) -> Contribution:
    """Of a histogram that counts the first `max_visits` visits of a trip, or all of them for a unit of visits."""
    if max_visits is not None:
        # A visit that comes first can push another over the limit: one in, one out.
        return Contribution(per_trip=max_visits, per_cell=max_visits, per_visit=2)
    if not isinstance(unit, Points | Window):
        raise ParameterError(
            f"{mechanism}: a {unit.name} can hold any number of visits, so its noise would have to be infinite; set "
            f"max_visits to the number of visits of a trip that count, or protect single visits (unit `event`)"
        )
    return Contribution(per_trip=None, per_visit=1)


ONE_TRIP = Contribution(per_trip=1)
# A trip counts for at most so many visits, or so many heights of a tall tree: more would only add noise.
MOST_VISITS, MOST_HEIGHTS = 24, 2


def level_prices(gate: Gate, weights: list[int] | list[Fraction], share: Fraction) -> list[Fraction]:
    """Return what remains, split over the levels of a tree, but for the share that buys its size."""
    return [price * (1 - share) for price in gate.budget.split(weights)]


def buy_size(counter: Counter, gate: Gate, share: Fraction, height: int) -> PaidSize | None:
    """Both numbers for this share of what remains, half each; None for no share."""
    if share == 0:
        return None
    price, most = gate.budget.remaining * share / 2, max(MOST_VISITS, MOST_HEIGHTS * height)
    trips = gate.histogram("number of trips", counter.trips(), ONE_TRIP, price)
    lengths = counter.lengths(most)
    exact = SparseCounts.dense(np.array([lengths.keys @ lengths.counts]), lengths.parts)
    visits = gate.histogram("number of visits", exact, Contribution(per_trip=most, per_visit=1), price)
    number = max(float(trips.counts[0]), 1.0)
    # Every trip has a visit.
    return PaidSize(number, float(np.clip(visits.counts[0], number, most * number)))
