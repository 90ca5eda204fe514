"""Public parameters that several mechanisms have, each described once: range, unit and meaning."""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

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
        "the root, up to 1 % of all candidates.",
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
