"""The pictures that people expect of a release, each with its data as csv; beside the raw trips where they are given.

Without raw trips everything here is computed from the release and may be published with it.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.asked import Asked
from wayveil.answers.asking import ask_release
from wayveil.answers.questions import CLASS
from wayveil.answers.trip_cells import TripQuestion
from wayveil.answers.trip_questions import count_cells
from wayveil.arrays import Floats, Ints
from wayveil.errors import RefusedError
from wayveil.report.chart import Chart
from wayveil.report.rankings import NoiseBars
from wayveil.report.svg_histogram import LengthBins, class_labels, column_chart, matrix_svg, shares
from wayveil.synthesis.estimates import Interval
from wayveil.trips.trips import Trips
from wayveil.utility.origin_destination import ZONE_SIDE, DegreeGrid
from wayveil.utility.patterns import Ranked, supports, top_contiguous_patterns
from wayveil.utility.prefixspan import top_gapped_patterns
from wayveil.utility.stop_figures import length_histogram
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

MOST_ZONES = 40
ZONES = "trips from one zone to another"
_CAPTIONS = {"raw": "Raw trips", "private": "Private release", "difference": "Private less raw"}

Sides = dict[str, Trips]


@dataclass(frozen=True, eq=False)
class Matrices:
    """Origin-destination matrices by caption, on scales they share, and what their colours mean."""

    pictures: list[tuple[str, Chart]]
    legend: list[tuple[int, str]]
    difference: list[tuple[int, str]]
    said: str = ""


def length_chart(private: Trips, raw: Trips | None = None, bars: NoiseBars | None = None) -> Chart:
    """Trips by number of stops."""
    sides = _sides(private, raw)
    histograms = {label: length_histogram(trips) for label, trips in sides.items()}
    bins = LengthBins.over(*histograms.values())
    counts = {label: bins.counts(histogram) for label, histogram in histograms.items()}
    labels = [bins.label(i) for i in range(bins.count)]
    ends = None if bars is None or bins.step > 1 else bars.lengths(histograms["private"])
    size = max(float(histograms["private"].sum()), 1.0)
    title = "Histogram of stops per trip"
    svg = column_chart(
        labels,
        shares(counts["private"]),
        None if raw is None else shares(counts["raw"]),
        name="lengths",
        title=title,
        axis="stops per trip",
        what="trips",
        ends=None if ends is None else (_in_bins(bins, ends[0]) / size, _in_bins(bins, ends[1]) / size),
    )
    wide = max(len(histogram) for histogram in histograms.values())
    padded = {label: np.pad(histogram, (0, wide - len(histogram))) for label, histogram in histograms.items()}
    data = _with_ends(_shares_table("stops_per_trip", np.arange(wide), "trips", padded), ends)
    return Chart("lengths", svg, data, title, plain=True)


def hour_chart(private: Trips, raw: Trips | None = None, bars: NoiseBars | None = None) -> Chart | None:
    """Trips that begin in each hour of the day (or taps), as `ask hours` has them; raw ones beside where they are."""
    if private.time is None:
        return None
    release = None if bars is None else bars.release
    taps = release is not None and release.visits_are_taps
    sides = _sides(private, raw if raw is not None and raw.time is not None else None)
    counts = {label: count_hours(trips, taps=taps) for label, trips in sides.items()}
    table = pl.DataFrame({"hour": np.arange(24), **counts})
    if release is not None:
        table = _with_answer(table, ask_release(release, Asked("hours"), anyway=True).table, "hour")
    title = "Taps by hour of the day" if taps else "Trips that begin in each hour of the day"
    return _columns("hours", table, title, "o'clock", "taps" if taps else "trips")


def distance_chart(release: JudgedRelease, raw: Trips | None = None) -> tuple[Chart | None, str]:
    """Trips by their kilometres, as `ask distances` has them, and what to think of that; None: it is refused."""
    try:
        answer = ask_release(release, Asked("distances"), anyway=raw is not None)
    except RefusedError as refused:
        return None, str(refused)
    sides = {
        label: count_cells(TripQuestion("distances"), trips, None).select(
            from_km=pl.col("cell") * CLASS["distances"], n="n"
        )
        for label, trips in _sides(release.trips, raw).items()
    }
    table = pl.concat(sides.values()).select("from_km").unique().sort("from_km")
    for label, counts in sides.items():
        table = table.join(counts.rename({"n": label}), on="from_km", how="left", maintain_order="left")
    axis = f"kilometres, in steps of {CLASS['distances']}"
    table = _with_answer(table.fill_null(0), answer.table, "from_km")
    return _columns("distances", table, "Trips by their kilometres", axis, "trips"), answer.note


def _with_answer(table: pl.DataFrame, answer: pl.DataFrame, key: str) -> pl.DataFrame:
    """The numbers of the release as they were answered, with their ends where these are known."""
    answer = answer.select(pl.col(key).cast(pl.Int64), private="answer", low="low", high="high")
    found = table.drop("private").join(answer, on=key, how="left", maintain_order="left")
    found = found.with_columns(pl.col("private").fill_null(0))
    return found if found["high"].null_count() < found.height else found.drop("low", "high")


def _columns(name: str, table: pl.DataFrame, title: str, axis: str, what: str) -> Chart:
    """A column per row of a table whose first column names it; others are `private`, maybe `raw`, `low` and `high`."""
    key = table.columns[0]
    counts: dict[str, Ints] = {
        label: table[label].to_numpy() for label in ("raw", "private") if label in table.columns
    }
    size, ends = max(float(counts["private"].sum()), 1.0), None
    if "high" in table.columns:
        ends = table["low"].fill_null(0).to_numpy(), table["high"].fill_null(0).to_numpy()
    svg = column_chart(
        [f"{value}" for value in table[key]],
        shares(counts["private"]),
        shares(counts["raw"]) if "raw" in counts else None,
        name=name,
        title=title,
        axis=axis,
        what=what,
        ends=None if ends is None else (ends[0] / size, ends[1] / size),
    )
    data = _with_ends(_shares_table(key, table[key].to_numpy(), what, counts), ends)
    return Chart(name, svg, data, title, plain=True)


def count_hours(trips: Trips, *, taps: bool = False) -> Ints:
    """Trips that begin in each of the 24 hours, or taps; none where trips have no times."""
    time = np.empty(0, np.int64) if trips.time is None else trips.time
    time = time if taps or trips.time is None else time[trips.offsets[:-1][trips.lengths > 0]]
    return np.bincount(TimeBins.hour_of_day().bin_of(time), minlength=24).astype(np.int64)


def od_matrices(private: Trips, raw: Trips | None = None, bars: NoiseBars | None = None) -> Matrices:
    """Shares of trips by zone of origin and of destination; zones are public. Noise alone is no picture."""
    zone, names = zones(private.world)
    judged = None
    if bars is not None and (bars.release is None or not bars.release.visits_are_taps):
        judged = bars.made_of(ZONES, "alightings", lambda trips: zone_matrix(trips, zone, len(names)).ravel())
    verdict = None if judged is None else judged.verdict
    said = "" if judged is None else judged.said
    if raw is None and verdict is not None and not verdict.useful:
        return Matrices([], [], [], said)
    counts = {label: zone_matrix(trips, zone, len(names)) for label, trips in _sides(private, raw).items()}
    panels = {label: shares(matrix) for label, matrix in counts.items()}
    top = max(float(panel.max(initial=0)) for panel in panels.values())
    tops = dict.fromkeys(panels, top)
    if raw is not None:
        panels["difference"] = panels["private"] - panels["raw"]
        tops["difference"] = float(np.abs(panels["difference"]).max(initial=0))
    pictures = []
    for label, panel in panels.items():
        title = f"{_CAPTIONS[label]}: share of trips by origin and destination"
        svg = matrix_svg(
            panel, names, tops[label], name=f"od-{label}", title=title, signed=label == "difference"
        )
        origin, destination = np.nonzero(panel)
        data = pl.DataFrame(
            {
                "origin": [names[o] for o in origin],
                "destination": [names[d] for d in destination],
                "share": panel[origin, destination],
            },
            schema={"origin": pl.String, "destination": pl.String, "share": pl.Float64},
        )
        pictures.append((_CAPTIONS[label], Chart(f"od-{label}", svg, data, title, plain=True)))
    difference = class_labels(tops["difference"]) if raw is not None else []
    return Matrices(pictures, class_labels(top), difference, said)


def zones(world: World) -> tuple[Ints, list[str]]:
    """The zone of each location and the names of the zones that have one.

    With coordinates: the squares of a public grid, A1 in the north-west, letters going south and numbers going east.
    Without: blocks of ids, in their order.
    """
    if isinstance(world, Network):
        side = DegreeGrid(ZONE_SIDE).side
        south, east = np.divmod(DegreeGrid(ZONE_SIDE).cells(world).astype(np.int64), side)
        square = (side - 1 - south) * side + east
        used, zone = np.unique(square, return_inverse=True)
        return zone.astype(np.int64), [f"{chr(ord('A') + at // side)}{at % side + 1}" for at in used.tolist()]
    count = min(world.size, MOST_ZONES)
    zone = np.arange(world.size) * count // world.size
    first = np.searchsorted(zone, np.arange(count))
    return zone, [str(world.ids[i]) if count == world.size else f"{world.ids[i]} ..." for i in first]


def zone_matrix(trips: Trips, zone: Ints, count: int) -> Ints:
    """Trips by zone of origin (rows) and of destination (columns)."""
    filled = trips.lengths > 0
    key = zone[trips.origins()[filled]] * count + zone[trips.destinations()[filled]]
    return np.bincount(key, minlength=count * count).reshape(count, count)


def top_table(
    private: Trips, raw: Trips | None, top: int, *, gapped: bool, bars: NoiseBars | None = None
) -> pl.DataFrame:
    """The most frequent patterns of either side: stops, rank and support on each, and the noise of the release's."""
    sides = _sides(private, raw)
    tops = {label: _top(trips, top, gapped) for label, trips in sides.items()}
    patterns = list(dict.fromkeys(pattern for side in tops.values() for pattern, _ in side))
    names = private.world.labels
    columns: dict[str, object] = {
        "stops": [" > ".join(str(names[stop]) for stop in pattern) for pattern in patterns]
    }
    for label, side in tops.items():
        place = {pattern: i for i, (pattern, _) in enumerate(side, 1)}
        columns[f"{label}_rank"] = pl.Series([place.get(p) for p in patterns], dtype=pl.Int64)
        columns[f"{label}_support"] = supports(sides[label], patterns, gapped=gapped)
    shown = np.asarray(columns["private_support"], np.int64)
    ends = None if gapped or bars is None else bars.runs(patterns, shown)
    if ends is not None:
        columns |= {
            name: pl.Series(end).fill_nan(None) for name, end in zip(("low", "high"), ends, strict=True)
        }
    return pl.DataFrame(columns, schema_overrides={"stops": pl.String})


def _top(trips: Trips, top: int, gapped: bool) -> Ranked:
    runs = top_contiguous_patterns(trips, top)
    if not gapped:
        return runs
    # A run of stops is also a gapped pattern, so that the k-th run bounds the search from below.
    return top_gapped_patterns(trips, top, at_least=runs[-1][1] if len(runs) == top else 1)


def _sides(private: Trips, raw: Trips | None) -> Sides:
    return {"private": private} if raw is None else {"raw": raw, "private": private}


def _shares_table(axis: str, at: Ints, what: str, sides: dict[str, Ints]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({axis: at, what: counts, "share": shares(counts)}).select(
            pl.lit(label).alias("side"), pl.all()
        )
        for label, counts in sides.items()
    )


def _with_ends(data: pl.DataFrame, ends: Interval | None) -> pl.DataFrame:
    """The table with the ends of the intervals of the release, where they are known."""
    private = np.flatnonzero((data["side"] == "private").to_numpy())
    for name, side in zip(("low", "high"), ends or (), strict=False):
        column = np.full(len(data), np.nan)
        column[private[: len(side)]] = side
        data = data.with_columns(pl.Series(name, column).fill_nan(None))
    return data


def _in_bins(bins: LengthBins, ends: Floats) -> Floats:
    """Ends by number of stops as ends of columns that have one number of stops each."""
    out = np.zeros(bins.count)
    some = ends[bins.first : bins.first + bins.count]
    out[: len(some)] = some
    return out
