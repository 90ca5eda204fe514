"""How far noise may have moved the numbers of a tree: known from the law of the noise, so it costs no budget.

An answer sums nodes of the released tree, each with independent noise of a public scale b. Consistency only takes noise
away, so the bars are on the safe side for noise. They speak of what was kept: what fell below thresholds or was cut to
bounds depends on the data, is missing, and is not in them.
"""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.synthesis.cell_counts import hour_of_bins
from wayveil.synthesis.estimates import (
    HOURS,
    Ends,
    Estimate,
    Question,
    Runs,
    Visits,
    count_runs,
    count_visits,
)
from wayveil.synthesis.noise_sums import half_width
from wayveil.trips.trips import Trips

if TYPE_CHECKING:
    from wayveil.synthesis.tree import NoisyTree

Floats = NDArray[np.float64]
_SUMS = (pl.col("variance").sum(), pl.col("fourth").sum())


def estimate_from_tree(tree: "NoisyTree", question: Question, trips: Trips) -> Estimate | None:
    """Numbers of the released trips, with bars of the nodes that they sum."""
    if isinstance(question, Visits):
        values = count_visits(question, trips)
        half = _bars_of_visits(tree, question)
        return None if values is None or half is None else Estimate(values, half)
    if isinstance(question, Runs):
        return Estimate(count_runs(question, trips), _bars_of_runs(tree, question))
    return _estimate_ends(tree, question, trips)


def _nodes(tree: "NoisyTree") -> pl.DataFrame:
    """Every node with its noise, its stop and, where it has one, its hour; -1 for none."""
    table = tree.table()
    scale = np.repeat([float(level.scale) for level in tree.levels], [len(level) for level in tree.levels])
    nodes = table.select(
        "node",
        "parent",
        variance=pl.Series(2 * scale**2),
        fourth=pl.Series(12 * scale**4),
        stop=pl.Series(tree.world.index_of(table["stop_id"].fill_null("")).astype(np.int64)),
    )
    hours = None if tree.bins is None else hour_of_bins(tree.bins)
    if tree.bins is None or hours is None:
        return nodes
    hour_of = dict(zip(tree.bins.labels, hours.tolist(), strict=True))
    return nodes.with_columns(
        hour=table["time_bin"].replace_strict(hour_of, default=-1, return_dtype=pl.Int64)
    )


def _bars_of_visits(tree: "NoisyTree", question: Visits) -> Floats | None:
    nodes = _nodes(tree)
    if not set(question.per) <= set(nodes.columns):
        return None
    at, known, size = np.zeros(nodes.height, np.int64), np.ones(nodes.height, bool), 1
    for key in question.per:
        index, wide = nodes[key].to_numpy(), HOURS if key == "hour" else tree.world.size
        at, known, size = at * wide + index, known & (index >= 0), size * wide
    variance, fourth = (
        np.bincount(at[known], nodes[name].to_numpy()[known], size).astype(np.float64)
        for name in ("variance", "fourth")
    )
    return half_width(variance, fourth)


def _bars_of_runs(tree: "NoisyTree", question: Runs) -> Floats:
    """The nodes of a tree are runs of stops that begin a trip; a run anywhere sums the nodes that end with it."""
    nodes = _nodes(tree)
    chain = nodes.select("node", "parent", "variance", "fourth", s0="stop")
    above = nodes.select("node", "parent", "stop")
    names = ["s0"]
    for step in range(1, question.stops.shape[1]):
        chain = chain.join(above, left_on="parent", right_on="node", how="inner")
        chain = chain.drop("parent").rename({"parent_right": "parent", "stop": f"s{step}"})
        names.insert(0, f"s{step}")
    summed = chain.group_by(names).agg(_SUMS)
    asked = pl.DataFrame(question.stops.astype(np.int64), schema=dict.fromkeys(names, pl.Int64), orient="row")
    found = asked.join(summed, on=names, how="left", maintain_order="left").fill_null(0)
    return half_width(found["variance"].to_numpy(), found["fourth"].to_numpy())


def _estimate_ends(tree: "NoisyTree", question: Ends, trips: Trips) -> Estimate | None:
    """Trips end at nodes, and the released trips show which: their distinct prefixes. The number that ends at a node is
    its noisy count less those of its children. A cell adds up the nodes that end in it; a node and its own child in the
    same cell cancel in part.
    """
    full = trips.lengths > 0
    columns = {
        "origin": trips.origins()[full].astype(np.int64),
        "destination": trips.destinations()[full].astype(np.int64),
    }
    asked = {"origin": question.origin, "destination": question.destination}
    if question.bins is not None and question.bin is not None:
        if trips.time is None:
            return None
        columns["bin"] = question.bins.bin_of(trips.time[trips.offsets[:-1][full]]).astype(np.int64)
        asked["bin"] = question.bin
    node, variance, fourth = _ends(trips, tree.symbols_of(trips), tree.visit_scales())
    rows = pl.DataFrame(columns | {"node": node[full], "variance": variance[full], "fourth": fourth[full]})
    cells = rows.unique(["node", *columns]).group_by(list(columns)).agg(_SUMS)
    counts = rows.group_by(list(columns)).agg(pl.len().cast(pl.Float64).alias("trips"))
    wanted = pl.DataFrame({name: np.asarray(each, np.int64) for name, each in asked.items()})
    found = wanted.join(
        cells.join(counts, on=list(columns)), on=list(columns), how="left", maintain_order="left"
    )
    found = found.fill_null(0)
    half = half_width(found["variance"].to_numpy(), found["fourth"].to_numpy())
    return Estimate(found["trips"].to_numpy().astype(np.float64), half)


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
