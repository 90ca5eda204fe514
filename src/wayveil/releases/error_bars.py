"""How far noise may have moved the numbers of a release: known from the law of the noise, so it costs no budget.

Histograms of taps: see `tap_estimates`. Their bars hold the true number as often as they say.

Trees: an answer sums nodes of the released model, each with independent noise of a public scale b. Consistency only
takes noise away, so the bars are on the safe side for noise. They speak of what was kept: what fell below thresholds or
was cut to bounds depends on the data, is missing, and is not in them.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.mechanisms.time_axis import time_bins
from wayveil.releases.noise_sums import half_width
from wayveil.releases.tap_estimates import HOURS, Estimate, TapEstimates, hour_of_bins
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

TREES = ("noisy-prefix-tree", "seqpt", "ppdp", "safepath")
Spread = NDArray[np.float64] | None
_SUMS = (pl.col("variance").sum(), pl.col("fourth").sum())


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


class ErrorBars:
    """Half widths of 95 % intervals, from the model's table and the spends of the datasheet. None: not known.

    Zero is for numbers that sum no noisy count of the model: nothing is known of them either.
    """

    def __init__(self, model: pl.DataFrame, datasheet: dict[str, Any], world: World) -> None:
        self.world = world
        self.taps = TapEstimates(model, datasheet, world)
        self.nodes = self._nodes(model, datasheet)

    def _nodes(self, model: pl.DataFrame, datasheet: dict[str, Any]) -> pl.DataFrame | None:
        if not {"stop_id", "parent", "node", "depth"} <= set(model.columns):
            return None
        # Counts carry an error bar in the datasheet, selections do not; a tree asks for one level after the other.
        scales = [float(Fraction(spend["scale"])) for spend in datasheet["spends"] if "error_95" in spend]
        if not scales:
            return None
        scale = np.array(scales)[np.minimum(model["depth"].to_numpy() - 1, len(scales) - 1)]
        nodes = model.select(
            "node",
            "parent",
            variance=pl.Series(2 * scale**2),
            fourth=pl.Series(12 * scale**4),
            stop=pl.Series(self.world.index_of(model["stop_id"].fill_null("")).astype(np.int64)),
        )
        time = datasheet["mechanism"]["parameters"].get("time")
        hour_of = None if time is None else hour_of_bins(time_bins(str(time)))
        if "time_bin" not in model.columns or hour_of is None:
            return nodes
        hour = model["time_bin"].replace_strict(hour_of, default=-1, return_dtype=pl.Int64)
        return nodes.with_columns(hour=hour)

    def total(self) -> Spread:
        """Of the number of all taps."""
        return self._half(self.taps.per(), (), 1)

    def stops(self) -> Spread:
        """Of taps per stop, in the order of the world."""
        return self._half(self.taps.per("stop"), ("stop",), self.world.size)

    def hours(self) -> Spread:
        """Of taps per hour of the day."""
        return self._half(self.taps.per("hour"), ("hour",), HOURS)

    def stop_hours(self) -> Spread:
        """Of taps per stop and hour: rows are stops, flattened."""
        return self._half(self.taps.per("stop", "hour"), ("stop", "hour"), self.world.size * HOURS)

    def routes(self) -> Spread:
        """Of taps per route; known only where routes were counted."""
        found = self.taps.per("route")
        return None if found is None else found.half

    def patterns(self, grams: NDArray[np.int32]) -> Spread:
        """Of trips with these stops in a row; known for trees, whose nodes are such rows."""
        if self.nodes is None:
            return None
        chain = self.nodes.select("node", "parent", "variance", "fourth", s0="stop")
        above = self.nodes.select("node", "parent", "stop")
        names = ["s0"]
        for step in range(1, grams.shape[1]):
            chain = chain.join(above, left_on="parent", right_on="node", how="inner")
            chain = chain.drop("parent").rename({"parent_right": "parent", "stop": f"s{step}"})
            names.insert(0, f"s{step}")
        summed = chain.group_by(names).agg(_SUMS)
        asked = pl.DataFrame(grams.astype(np.int64), schema=dict.fromkeys(names, pl.Int64), orient="row")
        found = asked.join(summed, on=names, how="left", maintain_order="left").fill_null(0)
        return half_width(found["variance"].to_numpy(), found["fourth"].to_numpy())

    def _half(self, counted: Estimate | None, keys: tuple[str, ...], size: int) -> Spread:
        """Of a histogram's estimate, or of the nodes of a tree that an answer sums."""
        if counted is not None:
            return counted.half
        if self.nodes is None or not set(keys) <= set(self.nodes.columns):
            return None
        at, known = np.zeros(self.nodes.height, np.int64), np.ones(self.nodes.height, bool)
        for key in keys:
            index = self.nodes[key].to_numpy()
            at, known = at * (HOURS if key == "hour" else 1) + index, known & (index >= 0)
        variance, fourth = (
            np.bincount(at[known], self.nodes[name].to_numpy()[known], size).astype(np.float64)
            for name in ("variance", "fourth")
        )
        return half_width(variance, fourth)


def cell_half_widths(
    trips: Trips, bins: TimeBins | None, datasheet: dict[str, Any] | None
) -> pl.DataFrame | None:
    """Half the width of a 95 % bar for every (origin, destination[, bin of departure]) with a trip of a tree.

    Trips end at nodes, and the released trips show which: their distinct prefixes. The number that ends at a node is
    its noisy count less those of its children. A cell adds up the nodes that end in it; a node and its own child in the
    same cell cancel in part.
    """
    scales = None if datasheet is None else visit_scales(datasheet)
    if datasheet is None or scales is None or len(scales) == 0 or len(trips) == 0:
        return None
    symbol = trips.location.astype(np.int64)
    if trips.time is not None and datasheet["mechanism"]["name"] != "noisy-prefix-tree":
        step = time_bins(str(datasheet["mechanism"]["parameters"]["time"]))
        symbol = symbol * step.count + step.bin_of(trips.time)
    node, variance, fourth = _ends(trips, symbol, scales)
    full = trips.lengths > 0
    columns = {
        "origin": trips.origins()[full].astype(np.int64),
        "destination": trips.destinations()[full].astype(np.int64),
    }
    if bins is not None and trips.time is not None:
        columns["bin"] = bins.bin_of(trips.time[trips.offsets[:-1][full]]).astype(np.int64)
    rows = pl.DataFrame(columns | {"node": node[full], "variance": variance[full], "fourth": fourth[full]})
    cells = rows.unique(["node", *columns]).group_by(list(columns)).agg(_SUMS)
    half = half_width(cells["variance"].to_numpy(), cells["fourth"].to_numpy())
    return cells.select(*columns, half=pl.Series(half))


def _ends(
    trips: Trips, symbol: NDArray[np.int64], scales: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """For each trip the node at which it ends (a number), and variance and fourth cumulant of how many end there."""
    lengths = trips.lengths
    node, final = np.zeros(len(trips), np.int64), np.full(len(trips), -1, np.int64)
    cumulants = np.zeros((2, len(trips)))
    alive = np.flatnonzero(lengths > 0)
    first_id = 0
    for depth in range(int(lengths.max(initial=0))):
        pairs = np.stack([node[alive], symbol[trips.offsets[alive] + depth]])
        found, code = np.unique(pairs, axis=1, return_inverse=True)
        code = code.ravel()
        node[alive] = code
        ends = lengths[alive] == depth + 1
        goes_on = alive[~ends]
        children = np.zeros(found.shape[1], np.int64)
        if len(goes_on):
            following = np.stack([node[goes_on], symbol[trips.offsets[goes_on] + depth + 1]])
            children = np.bincount(np.unique(following, axis=1)[0], minlength=found.shape[1])
        own, below = (scales[min(level, len(scales) - 1)] for level in (depth, depth + 1))
        for row, (factor, power) in enumerate(((2, 2), (12, 4))):
            cumulants[row, alive[ends]] = factor * (own**power + children[code[ends]] * below**power)
        final[alive[ends]] = first_id + code[ends]
        first_id += found.shape[1]
        alive = goes_on
    return final, cumulants[0], cumulants[1]
