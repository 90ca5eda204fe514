"""How far the noise alone may have moved an answer: known from the law of the noise, so it costs no budget.

An answer sums cells of the released model (nodes of a tree, cells of a histogram). Each carries independent noise whose
scale is public, so the sum has a known variance, and 1.96 standard deviations of it are the error bar. What pruning,
cutting trips to their bounds and making counts agree changed is not in it: those depend on the data.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.world.world import World

NORMAL_95 = 1.96
Spread = NDArray[np.float64] | None


class ErrorBars:
    """Half widths of 95 % intervals, from the model's table and the spends of the datasheet. None: not known."""

    def __init__(self, model: pl.DataFrame, datasheet: dict[str, Any], world: World) -> None:
        self.world = world
        self.spends = {spend["label"]: _number(spend["scale"]) for spend in datasheet["spends"]}
        self.cells = self._tree(model, datasheet) if "depth" in model.columns else self._histogram(model)

    def _tree(self, model: pl.DataFrame, datasheet: dict[str, Any]) -> pl.DataFrame | None:
        if not {"stop_id", "parent", "node"} <= set(model.columns):
            return None
        # Counts carry an error bar in the datasheet, selections do not; a tree asks for one level after the other.
        scales = [_number(spend["scale"]) for spend in datasheet["spends"] if "error_95" in spend]
        if not scales:
            return None
        at = np.minimum(model["depth"].to_numpy() - 1, len(scales) - 1)
        columns = ["node", "parent", "stop_id", *(["time_bin"] if "time_bin" in model.columns else [])]
        return model.select(columns).with_columns(variance=pl.Series(2 * np.array(scales)[at] ** 2))

    def _histogram(self, model: pl.DataFrame) -> pl.DataFrame | None:
        if "margin" not in model.columns:
            return None
        return model.with_columns(variance=2 * pl.col("scale") ** 2)

    def total(self) -> Spread:
        """Of the number of all taps."""
        cells = self._of("taps by stop and route")
        if cells is not None:
            return _half(np.array([cells["variance"].sum()]))
        return self._plain("visits per time bin", 24, 1)

    def stops(self) -> Spread:
        """Of taps per stop, in the order of the world."""
        return self._by_stop("taps by stop and route", "visits per stop", 1)

    def hours(self) -> Spread:
        """Of taps per hour of the day."""
        cells = self._of("taps by route, day and hour")
        if cells is None:
            return self._plain("visits per time bin", 1, 24)
        if "hour" in cells.columns:
            found = cells.group_by("hour").agg(pl.col("variance").sum())
            hour = found["hour"].to_numpy()
        elif "time_bin" in cells.columns:
            clock = cells.with_columns(hour=pl.col("time_bin").str.extract(r"(\d\d):").cast(pl.Int64))
            found = clock.drop_nulls("hour").group_by("hour").agg(pl.col("variance").sum())
            hour = found["hour"].to_numpy()
        else:
            return None
        variance = np.zeros(24)
        variance[hour] = found["variance"].to_numpy()
        return _half(variance)

    def stop_hours(self) -> Spread:
        """Of taps per stop and hour: rows are stops, flattened."""
        size = self.world.size * 24
        cells = self._of("taps by stop and hour of day")
        if cells is None:
            return self._plain("visits per stop and time bin", 1, size)
        if "time_bin" in cells.columns:
            cells = cells.with_columns(hour=pl.col("time_bin").str.extract(r"(\d\d):").cast(pl.Int64))
        if "hour" not in cells.columns:
            return None
        place = self.world.index_of(cells["stop_id"].fill_null("")).astype(np.int64)
        hour = cells["hour"].fill_null(-1).to_numpy()
        known = (place >= 0) & (hour >= 0)
        variance = np.bincount(place[known] * 24 + hour[known], cells["variance"].to_numpy()[known], size)
        return _half(variance)

    def routes(self, ids: NDArray[np.str_]) -> Spread:
        """Of taps per route; known only where routes were counted."""
        if self.cells is None or "route_id" not in self.cells.columns:
            return None
        cells = self._of("taps by stop and route")
        if cells is None:
            return None
        found = dict(cells.group_by("route_id").agg(pl.col("variance").sum()).iter_rows())
        return _half(np.array([found.get(name, 0.0) for name in ids.tolist()]))

    def patterns(self, grams: NDArray[np.int32]) -> Spread:
        """Of trips with these stops in a row; known for trees, whose nodes are such rows."""
        if self.cells is None or "parent" not in self.cells.columns:
            return None
        cells = self.cells.with_columns(
            stop=pl.Series(self.world.index_of(self.cells["stop_id"].fill_null("")))
        )
        chain = cells.select("node", "parent", "variance", s0="stop")
        above = cells.select("node", "parent", "stop")
        names = ["s0"]
        for step in range(1, grams.shape[1]):
            chain = chain.join(above, left_on="parent", right_on="node", how="inner")
            chain = chain.drop("parent").rename({"parent_right": "parent", "stop": f"s{step}"})
            names.insert(0, f"s{step}")
        summed = chain.group_by(names).agg(pl.col("variance").sum())
        asked = pl.DataFrame(grams.astype(np.int32), schema=dict.fromkeys(names, pl.Int32), orient="row")
        found = asked.join(summed, on=names, how="left", maintain_order="left")
        return _half(found["variance"].fill_null(0).to_numpy())

    def _of(self, margin: str) -> pl.DataFrame | None:
        """The cells of one histogram, or all nodes of a tree."""
        if self.cells is None or "margin" not in self.cells.columns:
            return self.cells
        cells = self.cells.filter(pl.col("margin") == margin)
        return cells if cells.height else None

    def _by_stop(self, margin: str, label: str, cells_each: int) -> Spread:
        cells = self._of(margin)
        if cells is None:
            return self._plain(label, cells_each, self.world.size)
        place = self.world.index_of(cells["stop_id"].fill_null(""))
        known = place >= 0
        return _half(np.bincount(place[known], cells["variance"].to_numpy()[known], self.world.size))

    def _plain(self, label: str, cells_each: int, answers: int) -> Spread:
        """One histogram that a spend names: every answer sums as many of its cells."""
        if label not in self.spends:
            return None
        return _half(np.full(answers, cells_each * 2 * self.spends[label] ** 2))


def _half(variance: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(NORMAL_95 * np.sqrt(variance))


def _number(text: object) -> float:
    over, _, under = str(text).partition("/")
    return float(over) / float(under or 1)
