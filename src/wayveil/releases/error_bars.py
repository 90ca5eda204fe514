"""How far noise may have moved the numbers of a table, without looking at anything but the release.

The trips of a tree mechanism end at nodes of a tree, and the released trips show which: their distinct prefixes. The
number that ends at a node is its noisy count less those of its children, each with noise of a public scale b (variance
2 b^2 at most). A cell of a table adds up the nodes that end in it, so its variance is at most the sum over those
nodes of 2 b^2 + (children) x 2 b'^2. Consistency only ever takes noise away, and a node and its own child that fall
into the same cell cancel in part, so the bars are on the safe side for noise. They say nothing about mass below
thresholds, which is missing and not noisy.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins

NORMAL_95 = 1.96
TREES = ("noisy-prefix-tree", "seqpt", "ppdp", "safepath")


def visit_scales(datasheet: dict[str, Any]) -> NDArray[np.float64] | None:
    """The noise scale of the counts of first, second, ... visits; None if the mechanism is not a tree."""
    name = datasheet["mechanism"]["name"]
    if name not in TREES:
        return None
    # SafePath comes to a visit in several steps, the last of which is its exact time.
    counts = [spend for spend in datasheet["spends"] if "error_95" in spend]
    complete = [
        spend
        for spend in counts
        if name != "safepath"
        or (spend["label"].startswith("time of visit") and "group" not in spend["label"])
    ]
    return np.array([float(Fraction(spend["scale"])) for spend in complete])


def cell_half_widths(
    trips: Trips, bins: TimeBins | None, datasheet: dict[str, Any] | None
) -> pl.DataFrame | None:
    """Half the width of a 95 % bar for every (origin, destination[, bin of departure]) with a trip."""
    scales = None if datasheet is None else visit_scales(datasheet)
    if scales is None or len(scales) == 0 or len(trips) == 0:
        return None
    timed = (
        trips.time is not None
        and datasheet is not None
        and datasheet["mechanism"]["name"] != "noisy-prefix-tree"
    )
    symbol = trips.location.astype(np.int64)
    step = _own_bins(datasheet) if timed else None
    if step is not None and trips.time is not None:
        symbol = symbol * step.count + step.bin_of(trips.time)
    variance = _end_variance(trips, symbol, scales)
    full = trips.lengths > 0
    columns = {
        "origin": trips.origins()[full].astype(np.int64),
        "destination": trips.destinations()[full].astype(np.int64),
    }
    if bins is not None and trips.time is not None:
        columns["bin"] = bins.bin_of(trips.time[trips.offsets[:-1][full]]).astype(np.int64)
    node, spread = variance
    rows = pl.DataFrame(columns | {"node": node[full], "variance": spread[full]})
    return (
        rows.unique(["node", *columns])
        .group_by(list(columns))
        .agg((NORMAL_95 * pl.col("variance").sum().sqrt()).alias("half"))
    )


def _own_bins(datasheet: dict[str, Any] | None) -> TimeBins:
    from wayveil.mechanisms.time_axis import time_bins

    return time_bins(str((datasheet or {})["mechanism"]["parameters"]["time"]))


def _end_variance(
    trips: Trips, symbol: NDArray[np.int64], scales: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each trip the node at which it ends (a number) and the variance of how many end there."""
    lengths = trips.lengths
    node = np.zeros(len(trips), np.int64)
    final = np.full(len(trips), -1, np.int64)
    spread = np.zeros(len(trips))
    alive = np.flatnonzero(lengths > 0)
    first_id = 0
    for depth in range(int(lengths.max(initial=0))):
        pairs = np.stack([node[alive], symbol[trips.offsets[alive] + depth]])
        found, code = np.unique(pairs, axis=1, return_inverse=True)
        code = code.ravel()
        node[alive] = code
        noise = 2 * scales[min(depth, len(scales) - 1)] ** 2
        ends = lengths[alive] == depth + 1
        goes_on = alive[~ends]
        children = np.zeros(found.shape[1], np.int64)
        if len(goes_on):
            following = np.stack([node[goes_on], symbol[trips.offsets[goes_on] + depth + 1]])
            children = np.bincount(np.unique(following, axis=1)[0], minlength=found.shape[1])
        below = 2 * scales[min(depth + 1, len(scales) - 1)] ** 2
        final[alive[ends]] = first_id + code[ends]
        spread[alive[ends]] = noise + children[code[ends]] * below
        first_id += found.shape[1]
        alive = goes_on
    return final, spread
