"""The pictures that people expect of raw trips beside a release, each with its data as csv. Internal."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.report.charts import Chart, matrices, profiles
from wayveil.trips.trips import Trips
from wayveil.utility.grid import Grid
from wayveil.utility.lengths import length_histogram
from wayveil.utility.origin_destination import ZONE_SIDE, start_bins
from wayveil.utility.patterns import Ranked, supports, top_contiguous_patterns
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.question import check_comparable
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

MOST_ZONES = 40


def write_pictures(folder: str | Path, raw: Trips, private: Trips, *, top: int = 20) -> list[Path]:
    """Origin-destination matrices, departures by hour, trip lengths, and tables of the most frequent patterns.

    Every picture lies beside its numbers. They show raw trips: not for publication.
    """
    check_comparable(raw, private)
    folder = Path(folder)
    written = [path for chart in side_by_side(raw, private) for path in chart.save(folder)]
    for kind in ("contiguous", "gapped"):
        path = folder / f"top-{kind}.csv"
        top_table(raw, private, top, gapped=kind == "gapped").write_csv(path)
        written.append(path)
    return written


def side_by_side(raw: Trips, private: Trips) -> list[Chart]:
    """The charts; departures only where both sides carry times."""
    sides = {"raw": raw, "private": private}
    zone, names = zones(raw.world)
    charts = [
        matrices(
            {label: zone_matrix(trips, zone, len(names)) for label, trips in sides.items()},
            names,
            name="od-matrices",
            title="Share of trips by origin and destination",
        )
    ]
    width = max(int(trips.lengths.max(initial=0)) for trips in sides.values()) + 1
    lengths = {label: np.pad(h := length_histogram(t), (0, width - len(h))) for label, t in sides.items()}
    charts.append(profiles(lengths, name="lengths", axis="stops per trip", title="Trip lengths"))
    if all(trips.time is not None for trips in sides.values()):
        hours = TimeBins.hour_of_day()
        departures = {
            label: np.bincount(start_bins(trips, hours), minlength=hours.count)
            for label, trips in sides.items()
        }
        charts.append(profiles(departures, name="departures", axis="hour of the day", title="Departures"))
    return charts


def zones(world: World) -> tuple[NDArray[np.int64], list[str]]:
    """The zone of each location and the names of the zones: grid cells, or blocks of ids without coordinates."""
    if isinstance(world, Network):
        grid = Grid(ZONE_SIDE)
        return grid.cells(world).astype(np.int64), [f"cell {cell}" for cell in range(grid.size)]
    count = min(world.size, MOST_ZONES)
    zone = np.arange(world.size) * count // world.size
    first = np.searchsorted(zone, np.arange(count))
    return zone, [str(world.ids[i]) if count == world.size else f"{world.ids[i]} ..." for i in first]


def zone_matrix(trips: Trips, zone: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Trips by zone of origin (rows) and of destination (columns)."""
    filled = trips.lengths > 0
    key = zone[trips.origins()[filled]] * count + zone[trips.destinations()[filled]]
    return np.bincount(key, minlength=count * count).reshape(count, count)


def top_table(raw: Trips, private: Trips, top: int, *, gapped: bool) -> pl.DataFrame:
    """The most frequent patterns of either side: stops, rank and support on both."""
    find = top_gapped_patterns if gapped else top_contiguous_patterns
    sides: list[Ranked] = [find(trips, top) for trips in (raw, private)]
    patterns = list(dict.fromkeys(pattern for side in sides for pattern, _ in side))
    ranks = [{pattern: i for i, (pattern, _) in enumerate(side, 1)} for side in sides]
    names = raw.world.names if isinstance(raw.world, Network) else raw.world.ids
    columns = {
        "stops": [" > ".join(str(names[stop]) for stop in pattern) for pattern in patterns],
        "raw_rank": [ranks[0].get(pattern) for pattern in patterns],
        "private_rank": [ranks[1].get(pattern) for pattern in patterns],
        "raw_support": supports(raw, patterns, gapped=gapped).tolist(),
        "private_support": supports(private, patterns, gapped=gapped).tolist(),
    }
    return pl.DataFrame(columns, schema_overrides={"raw_rank": pl.Int64, "private_rank": pl.Int64})
