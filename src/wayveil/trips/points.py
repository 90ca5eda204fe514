"""GPS points to trips: rows of (who, when, where) become visits to the cells of a grid, or to stops nearby.

Columns are `rider_id`, `trip_id`, `event_time`, `lat`, `lon` (or called as in scikit-mobility, or mapped); `flag` says
whether a vehicle is occupied, `h3` stands in for coordinates. Points become trips by `trip_id`, by runs of the flag, by
gaps of time or by distance; then `PointRules` treats every trip by itself. Points of named trips may have no times:
then they stand in the order of the file, and what needs times is left out.

One point more can change a whole trip, and where trips are made by a split, join or part others (`Split.stability`).
Trips remember both (`Trips.history`), and units pay for them or refuse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from wayveil.disclosures import EMPTY, LAYOUT, SWAPPED
from wayveil.errors import InputError, ParameterError
from wayveil.progress import step
from wayveil.sources.column_names import our_word
from wayveil.sources.opening import SourceTable
from wayveil.trips.findings import Findings
from wayveil.trips.history import PER_TRIP, History, Stability
from wayveil.trips.point_columns import point_source
from wayveil.trips.point_rules import UNPLACED, PlacedPoints, PointRules, smoothed
from wayveil.trips.point_tables import BLOCK, PointTable, read_point_table
from wayveil.trips.tables import table_marks
from wayveil.trips.tracks import Tracks, join_tracks, public_box
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.world import World

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Where one trip ends and the next begins, beside `trip_id`.

    flag          runs of occupied points, where there is a column `flag` (None: if there is one)
    gap_seconds   a longer pause ends a trip
    metres        a longer jump ends a trip
    """

    flag: bool | None = None
    gap_seconds: int | None = None
    metres: float | None = None

    def __post_init__(self) -> None:
        for name in ("gap_seconds", "metres"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(f"split: {name} must be above 0, not {value}")

    def stability(self, *, named: bool, by_flag: bool) -> Stability:
        """Return how far one trip more, or one point more, can move the trips that come out of the split and the rules.

        A trip named by `trip_id` stays one trip, of which one point can change everything. If it is split further,
        there is no telling how many trips it becomes.

        Without names, a trip is a stretch of points of one `rider_id`, with none of its other points between them.
        Whether a point begins a trip hangs on that point and the one before it. So a stretch that comes in between the
        points p and q changes what ends in p and what begins with q, and nothing else. Pauses: where p and q were one
        trip, they stay one (one out, one in); where they were two, the stretch can join them (two out, one in): 3 at
        most.
        Jumps and flags: the stretch can also part p and q, and a point in the same second can take the place of p or
        of q, so that up to two trips on either side and the stretch itself change: 5 at most.
        Attacked by tests/privacy/test_point_stability.py.
        """
        parts = by_flag or self.metres is not None
        if named:
            return Stability(None, None) if parts or self.gap_seconds is not None else PER_TRIP
        return Stability(trips=5 if parts else 3, visits=None)


def read_points(path: str | Path | SourceTable, world: World | None, **options: Any) -> Trips:
    """Read GPS points as trips over a grid, or over the stops of a network; `read_tracks` explains the options.

    >>> grid = wv.open_world("grid:37.6,-122.5,37.8,-122.3@2000")
    >>> len(wv.read_points(folder / "points.csv", grid))
    1
    """
    return read_tracks(path, world, **options)[0]


def read_tracks(
    path: str | Path | SourceTable,
    world: World | None,
    *,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    header: bool = True,
    split: Split | None = None,
    rules: PointRules | None = None,
    radius: float | None = None,
    order: Literal["auto", "time", "file"] = "auto",
    repeated: Literal["error", "first"] = "error",
    no_fix: Literal["error", "skip"] = "error",
    riders: Literal["auto", "rider_id", "none"] = "auto",
    findings: Findings | None = None,
) -> tuple[Trips, Tracks]:
    """Read GPS points as trips over a grid, or over the stops of a network within `radius` metres; and as the points
    that these trips were made of (one per window, none merged), as sensitive as the file.

    `columns` maps our names to the file's, or names the columns of a file without a header one after the other (`-`:
    not used). `order`: points of a trip are put in order of `time`, or must be so in the `file` (`auto`: must be so
    where `trip_id` names trips, put so elsewhere). Of points in the same second at different places the `first` counts,
    or they are an error. `no_fix`: a point at (0, 0) or off the globe is an error or skipped. `rider_id` is a rider
    unless occupied runs of a vehicle are the trips: then who rode is unknown, and the unit to protect is the trip.
    """
    split, rules = Split() if split is None else split, PointRules() if rules is None else rules
    places = PlaceFinder(world, radius)
    table = point_source(Path(path) if isinstance(path, str) else path, columns, header=header)
    path = table.name
    findings = Findings(path, strict=True) if findings is None else findings
    points = read_point_table(table, findings)
    by_flag = points.flag is not None if split.flag is None else split.flag
    if not points.timed:
        rules = rules.without_times(path)
        if split.gap_seconds is not None or order == "time":
            raise InputError("has no times to split or to order its points by", file=path, tells=LAYOUT)
    _check(points, split, rules, by_flag=by_flag)
    with step("Ordering points"):
        if no_fix == "error":
            points.check_fixes(findings)
        by_time = order == "time" or (order == "auto" and points.trip is None)
        points = points.in_order(by_time=by_time)
        source = points.source()
        points = points.one_per_second(findings, first=repeated == "first")
    with step("Making trips of points"):
        _check_swapped(points, places, path)
        offsets, kept = _split(points, split, by_flag=by_flag)
        marks = table_marks(table)
        history = History(split.stability(named=points.trip is not None, by_flag=by_flag), marks)
        points = replace(points.into_place(kept), trip=None, row=None)  # large, and of no use any more
        if not findings.strict:
            findings.notes += _say_rules(rules, points, ~places.inside(points.lat, points.lon), offsets)
        trips, tracks = _in_pieces(rules, points, offsets, places, history)
    if len(trips) == 0:
        raise InputError(
            "no trip is left: compare the box with a map, and see how points become trips (split) and which trips "
            "the rules drop",
            file=path,
            tells=EMPTY,
        )
    known = our_word(riders) == "rider_id"
    if known and not points.named:
        raise InputError("has no column 'rider_id' to know riders by", file=path, tells=LAYOUT)
    with_riders = known or (riders == "auto" and not by_flag)
    if not (with_riders and points.named):
        trips = replace(trips, rider=None, rider_ids=None)
    return replace(trips, source=source), tracks


class PlaceFinder:
    """Where points lie: the cell that they are in, or the nearest stop within a radius."""

    def __init__(self, world: World | None, radius: float | None) -> None:
        if not isinstance(world, Network):
            raise ParameterError(
                "points need a public box of cells, like grid:22.44,113.75,22.87,114.65@250 (choose it from a map, "
                "never from the data), or a network with coordinates"
            )
        if isinstance(world, Grid):
            if radius is not None:
                raise ParameterError(
                    "a radius is for the stops of a network; points of a grid lie in their cell"
                )
        elif radius is None or not radius > 0:
            raise ParameterError(
                "points on a network need a radius in metres within which a stop is theirs (--with radius=200)"
            )
        self.world, self.radius = world, radius
        if not isinstance(world, Grid):
            self._origin = float(world.lat.mean()), float(world.lon.mean())
            self._tree = scipy.spatial.cKDTree(
                np.column_stack(project(world.lat, world.lon, origin=self._origin))
            )

    def of(self, lat: Floats, lon: Floats) -> NDArray[np.int32]:
        """Return the place of each point, -1 for none."""
        if isinstance(self.world, Grid):
            return self.world.cell_of(lat, lon)
        points = np.column_stack(project(lat, lon, origin=self._origin))
        away, nearest = self._tree.query(points, workers=-1)
        near = away <= self.radius
        return np.where(near, nearest, -1).astype(np.int32)

    def inside(self, lat: Floats, lon: Floats) -> Mask:
        """Return which points lie inside the box (on a network: all)."""
        if not isinstance(self.world, Grid):
            return np.ones(len(lat), bool)
        return np.asarray(self.world.layout.box.contains(lat, lon))


def _check(points: PointTable, split: Split, rules: PointRules, *, by_flag: bool) -> None:
    """Refuse what cannot become trips, before any work."""
    if by_flag and points.flag is None:
        raise InputError(
            "has no column 'flag' to split by; map the column that tells whether a vehicle is occupied (--map), or "
            "split by pauses or jumps (--with split_gap=1200, --with split_metres=500)",
            file=points.file,
            tells=LAYOUT,
        )
    if points.trip is None and not by_flag and split.gap_seconds is None and split.metres is None:
        raise InputError(
            "has no column 'trip_id' and no 'flag': say how points become trips, by pauses of so many seconds "
            "(--with split_gap=1200) or jumps of so many metres (--with split_metres=500), or map a column to "
            "'trip_id' or 'flag' (--map)",
            file=points.file,
            tells=LAYOUT,
        )
    if rules.needs_dates and not points.dated:
        raise InputError(
            "gives clock times without dates, so weekends and holidays are unknown; leave these rules out",
            file=points.file,
            tells=LAYOUT,
        )


def _check_swapped(points: PointTable, places: PlaceFinder, path: Path | str) -> None:
    """A file with latitude and longitude swapped lies outside any box, unless the box is swapped too."""
    half = len(points.lat) / 2
    if places.inside(points.lat, points.lon).sum() < half <= places.inside(points.lon, points.lat).sum():
        raise InputError(
            "has latitude and longitude swapped: map its columns to 'lat' and 'lon' again",
            file=path,
            tells=SWAPPED,
        )


def _split(points: PointTable, split: Split, *, by_flag: bool) -> tuple[NDArray[np.int64], Mask]:
    """The offsets of the trips over the points that belong to one, and which points these are."""
    new = points.first.copy()
    if split.gap_seconds is not None:
        new[1:] |= points.time[1:] - points.time[:-1] > split.gap_seconds
    if split.metres is not None:
        new |= points.metres() > split.metres
    kept = np.ones(len(new), bool)
    if by_flag and points.flag is not None:
        kept = points.flag
        new[1:] |= kept[1:] & ~kept[:-1]
    starts = np.flatnonzero(new[kept])
    return np.append(starts, int(kept.sum())).astype(np.int64), kept


def _say_rules(rules: PointRules, points: PointTable, outside: Mask, offsets: NDArray[np.int64]) -> list[str]:
    """Say what the rules do to how many trips and points, for `wayveil check` alone."""
    metres = points.metres()
    metres[offsets[:-1][offsets[:-1] < len(metres)]] = 0.0
    fast = rules.model_copy(update={"faster": "drop"}).fast(points.time, metres)
    found = []
    for bad, what, rule in (
        (fast, f"a move faster than {rules.fastest_kmh:g} km/h" if rules.fastest_kmh else "", "faster"),
        (outside, "a point outside the box", "outside"),
    ):
        trips = int((np.diff(np.concatenate([[0], np.cumsum(bad)])[offsets]) > 0).sum())
        if trips and getattr(rules, rule) == "skip":
            found.append(f"{trips:,} of {len(offsets) - 1:,} trips have {what}: such points are skipped")
        elif trips:
            found.append(
                f"{trips:,} of {len(offsets) - 1:,} trips have {what} ({int(bad.sum()):,} points) and are dropped; to "
                f"lose such points alone: --with rules.{rule}=skip"
            )
    return found


def _in_pieces(
    rules: PointRules,
    points: PointTable,
    offsets: NDArray[np.int64],
    places: PlaceFinder,
    history: History,
) -> tuple[Trips, Tracks]:
    """Apply the rules to some trips after the other: each trip is treated by itself."""
    cuts = np.unique(
        np.searchsorted(offsets, np.arange(0, offsets[-1] + BLOCK, BLOCK)).clip(0, len(offsets) - 1)
    )
    done = []
    for first, last in pairwise(cuts.tolist() if len(cuts) > 1 else [0, len(offsets) - 1]):
        some = points.take(slice(int(offsets[first]), int(offsets[last])))
        location, outside = places.of(some.lat, some.lon), ~places.inside(some.lat, some.lon)
        own = offsets[first : last + 1] - offsets[first]
        done.append(_applied(rules, some, location, outside, own, places, history))
    return _joined([trips for trips, _ in done]), join_tracks([tracks for _, tracks in done])


def _joined(parts: Sequence[Trips]) -> Trips:
    """Trips of one table, one after the other."""
    first = parts[0]
    columns: dict[str, Any] = {"location": np.concatenate([each.location for each in parts])}
    for name in ("time", "rider"):
        if getattr(first, name) is not None:
            columns[name] = np.concatenate([getattr(each, name) for each in parts])
    lengths = np.concatenate([each.lengths for each in parts])
    return replace(first, offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), **columns)


def _applied(
    rules: PointRules,
    points: PointTable,
    location: NDArray[np.int32],
    outside: Mask,
    offsets: NDArray[np.int64],
    places: PlaceFinder,
    history: History,
) -> tuple[Trips, Tracks]:
    """The rules in their order; `points` belong to trips, one after the other."""
    reachable = rules.reachable(points.time, points.lat, points.lon, offsets)
    if reachable is not None:
        points, location, outside = points.take(reachable), location[reachable], outside[reachable]
        offsets = np.concatenate([[0], np.cumsum(reachable)])[offsets]
    metres = points.metres()
    metres[offsets[:-1][offsets[:-1] < len(metres)]] = 0.0
    bad = rules.fast(points.time, metres)
    if rules.outside == "drop":
        bad |= outside
    good = np.diff(np.concatenate([[0], np.cumsum(bad)])[offsets]) == 0
    good &= rules.day_is_kept(points.time[offsets[:-1]])
    chosen = np.repeat(good, np.diff(offsets))
    points, location = points.take(chosen), location[chosen]
    starts = np.concatenate([[0], np.cumsum(np.diff(offsets)[good])]).astype(np.int64)
    rider = points.unit[starts[:-1]].astype(np.int64)
    placed_points = PlacedPoints(location, points.time, points.lat, points.lon)
    (found, time, lat, lon), starts = smoothed(rules, placed_points, starts, places.world.size)
    filled = np.flatnonzero(found == UNPLACED)
    found[filled] = places.of(lat[filled], lon[filled])
    placed = found >= 0
    moments = time if points.timed else None
    trips = Trips(np.maximum(found, 0), starts, places.world, moments, rider, history, points.unit_ids)
    trips = trips.keep_visits(placed)
    tracks = Tracks(lat[placed], lon[placed], trips.offsets, public_box(places.world))
    if rules.merge:
        trips = trips.merged()
    kept = np.flatnonzero(trips.lengths >= rules.fewest_visits)
    trips, tracks = trips.take(kept), tracks.take(kept)
    if rules.hour == "majority" and trips.time is not None and len(trips):
        hours = rules.one_hour(trips.time, trips.offsets)
        trips = replace(trips, time=hours)
    return trips, tracks
