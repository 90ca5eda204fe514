"""Numbers of taps straight from the noisy histograms of a release, and how far noise may have moved them.

Every cell is an exact count plus independent noise around zero, so sums of cells are right on average, and their noise
has a known law. Where several histograms tell the same number, they are averaged with the weights that leave the least
noise. The released taps are drawn from a table fitted to all histograms, without negative cells: close to these
numbers, but with errors that no law tells. The bars belong to the numbers here.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.mechanisms.time_axis import time_bins
from wayveil.releases.noise_sums import half_width
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR, TimeBins
from wayveil.world.world import World

Floats = NDArray[np.float64]
Key = Literal["stop", "route", "hour"]
HOURS = 24


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers that may be negative, as noise is; the true ones lie within `half` of them in 95 of 100 cases."""

    values: Floats
    half: Floats


@dataclass(frozen=True, eq=False)
class _Histogram:
    """Noisy counts, what each cell belongs to (-1: nothing that is asked for), and the scale of the noise."""

    keys: dict[Key, NDArray[np.int64]]
    counts: NDArray[np.int64]
    scale: float


class TapEstimates:
    """What the model's table of a release of tap counts says about stops, routes and hours of the day."""

    def __init__(self, model: pl.DataFrame, datasheet: dict[str, Any], world: World) -> None:
        self.sizes: dict[Key, int] = {"stop": world.size, "hour": HOURS}
        if isinstance(world, Network):
            self.sizes["route"] = len(world.route_ids)
        scales = {spend["label"]: float(Fraction(spend["scale"])) for spend in datasheet["spends"]}
        if "margin" in model.columns:
            parts = model.partition_by("margin")
            self.histograms = [_of_margin(part, world, scales[part["margin"][0]]) for part in parts]
        elif "visits per stop" in scales:
            bins = str(datasheet["mechanism"]["parameters"]["time"])
            self.histograms = _of_tap_counts(model, world, bins, scales)
        else:
            self.histograms = []

    def per(self, *keys: Key) -> Estimate | None:
        """Taps per stop, route or hour, or per several of them (the first changes slowest); without keys, in all.

        None where no histogram tells.
        """
        if any(key not in self.sizes for key in keys):
            return None
        size = int(np.prod([self.sizes[key] for key in keys], dtype=np.int64))
        value, weight, fourth = np.zeros(size), np.zeros(size), np.zeros(size)
        for histogram in self.histograms:
            if not set(keys) <= set(histogram.keys):
                continue
            at, known = np.zeros(len(histogram.counts), np.int64), np.ones(len(histogram.counts), bool)
            for key in keys:
                at = at * self.sizes[key] + histogram.keys[key]
                known &= histogram.keys[key] >= 0
            many = np.bincount(at[known], minlength=size)
            precision = np.divide(1.0, many * 2 * histogram.scale**2, out=np.zeros(size), where=many > 0)
            value += precision * np.bincount(at[known], histogram.counts[known], size)
            fourth += precision**4 * many * 12 * histogram.scale**4
            weight += precision
        if not weight.all():
            return None
        return Estimate(value / weight, half_width(1 / weight, fourth / weight**4))


def _of_margin(part: pl.DataFrame, world: World, scale: float) -> _Histogram:
    """A histogram of tap margins: columns that are empty throughout say nothing."""
    keys: dict[Key, NDArray[np.int64]] = {}
    if part["stop_id"].null_count() < part.height:
        keys["stop"] = world.index_of(part["stop_id"].fill_null("")).astype(np.int64)
    if isinstance(world, Network) and part["route_id"].null_count() < part.height:
        place = {name: at for at, name in enumerate(world.route_ids.tolist())}
        keys["route"] = np.array([place.get(name, -1) for name in part["route_id"].to_list()], np.int64)
    if part["hour"].null_count() < part.height:
        keys["hour"] = part["hour"].to_numpy().astype(np.int64)
    return _Histogram(keys, part["noisy_count"].to_numpy(), scale)


def _of_tap_counts(
    model: pl.DataFrame, world: World, time: str, scales: dict[str, float]
) -> list[_Histogram]:
    """The histograms of tap counts: rows without a time bin are stops, rows without a stop are time bins."""
    bins = time_bins(time)
    hour_of = hour_of_bins(bins)
    no_time, no_stop = pl.col("time_bin").is_null(), pl.col("stop_id").is_null()
    parts = {
        "visits per stop": model.filter(no_time),
        "visits per time bin": model.filter(no_stop),
        "visits per stop and time bin": model.filter(~no_time & ~no_stop),
    }
    if parts["visits per stop and time bin"].height < world.size * bins.count:
        del parts["visits per stop and time bin"]  # cells below a threshold are missing, so sums are too low
    made = []
    for label, part in parts.items():
        keys: dict[Key, NDArray[np.int64]] = {}
        if label != "visits per time bin":
            keys["stop"] = world.index_of(part["stop_id"]).astype(np.int64)
        if label != "visits per stop" and hour_of is not None:
            keys["hour"] = np.array([hour_of[name] for name in part["time_bin"].to_list()], np.int64)
        made.append(_Histogram(keys, part["noisy_count"].to_numpy(), scales[label]))
    return made


def hour_of_bins(bins: TimeBins) -> dict[str, int] | None:
    """The hour of the day of each time bin, by its label; None where a bin is longer than an hour."""
    if np.any((bins.end - 1) // HOUR != bins.start // HOUR):
        return None
    return dict(zip(bins.labels, (bins.start % DAY // HOUR).tolist(), strict=True))
