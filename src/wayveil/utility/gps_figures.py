"""The field-standard set for GPS releases (after AdaTrace and the studies that follow it).

    query error        trips through 200 random circles, |private - true| / max(true, 1 % of the raw trips)
    coverage           Kendall tau-b of visits per cell of a 15 x 15 grid
    patterns           F1 and support error of the 100 most frequent runs of 2 to 8 cells of a 6 x 6 grid
    trip error         JSD of (first cell, last cell), 6 x 6
    diameter, length   JSD of the largest distance within a trip and of the way along it, 20 equal buckets

Trips are compared where their stops are (on a grid: at the centres of cells). `Tracks`, raw points against released
ones, are compared point by point. Divergences are to base 2 without a square root, and once more in nats, as
AdaTrace's evaluator has them.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints, Mask
from wayveil.errors import ParameterError
from wayveil.trips.tracks import Tracks, public_box
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import relative_errors
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty
from wayveil.utility.origin_destination import DegreeGrid, divergence_of_samples, od_pairs
from wayveil.utility.patterns import Ranked, f1_of_sets, support_error, supports, top_contiguous_patterns
from wayveil.utility.stop_figures import jensen_shannon, kendall_tau_b
from wayveil.world.geo import EARTH_RADIUS_METRES, BoundingBox, haversine, project
from wayveil.world.grid import Grid
from wayveil.world.network import Network

REGIONS = 200
REGION_SANITY = 0.01
COVERAGE, COARSE = DegreeGrid(15), DegreeGrid(6)
PATTERNS, PATTERN_LENGTHS = 100, {"min_length": 2, "max_length": 8}
BUCKETS = 20
# Points held against all circles at a time.
PIECE = 1 << 14


class GpsFigures(Figures):
    """The whole set; regions follow from `seed` and the public box alone."""

    title = "GPS standard set"

    def __init__(self, raw: Trips | Tracks, *, regions: int = REGIONS, seed: int = 0) -> None:
        if isinstance(raw, Trips):
            check_not_empty(raw)
            if not isinstance(raw.world, Network):
                raise ParameterError("the GPS set needs coordinates; this world is a plain list")
        elif len(raw.lat) == 0:
            raise ParameterError("there is no raw track with a point to compare with")
        self.raw: Trips | Tracks = raw  # type: ignore[assignment]
        self.seen = PlacedVisits.of(raw)
        self.circles = Circles.drawn(self.seen.box, regions, np.random.default_rng(seed))
        self.regions = self.circles.contain(self.seen.lat, self.seen.lon)
        self.through = trips_in_regions(self.seen, self.regions)
        self.coverage = self._coverage(self.seen)
        self.cells = self._cells(self.seen)
        self.ends = od_pairs(self.cells)
        self.patterns: Ranked = top_contiguous_patterns(self.cells, PATTERNS, **PATTERN_LENGTHS)
        self.spans = self._spans(self.seen)
        self.histograms = [buckets(own, own) for own in self.spans]

    def _coverage(self, seen: "PlacedVisits") -> Ints:
        cells = COVERAGE.cells_at(seen.lat, seen.lon, self.seen.box)
        return np.bincount(cells[seen.location], minlength=COVERAGE.size)

    def _cells(self, seen: "PlacedVisits") -> Trips:
        cells = COARSE.cells_at(seen.lat, seen.lon, self.seen.box)
        return Trips(cells[seen.location], seen.offsets, COARSE.world()).merged()

    def _spans(self, seen: "PlacedVisits") -> list[Floats]:
        """Diameters and lengths in metres, one per trip with a visit."""
        middle = self.seen.box
        origin = ((middle.south + middle.north) / 2, (middle.west + middle.east) / 2)
        if isinstance(self.raw, Trips) and not isinstance(self.raw.world, Grid):
            origin = (float(self.seen.lat.mean()), float(self.seen.lon.mean()))
        east, north = project(seen.lat, seen.lon, origin=origin)
        diameter, length = extents(seen.location, seen.offsets, east, north)
        filled = np.diff(seen.offsets) > 0
        return [diameter[filled], length[filled]]

    def measure(self, private: Trips | Tracks) -> list[Measure]:
        if isinstance(self.raw, Trips) and isinstance(private, Trips):
            check_comparable(self.raw, private)
        return self._measured(private)

    def _measured(self, private: Trips | Tracks) -> list[Measure]:
        seen = PlacedVisits.of(private)
        same = isinstance(self.raw, Trips) and isinstance(private, Trips)
        regions = self.regions if same else self.circles.contain(seen.lat, seen.lon)
        through = trips_in_regions(seen, regions)
        query = relative_errors(self.through, through, REGION_SANITY * len(self.raw)).mean()
        cells = self._cells(seen)
        found = top_contiguous_patterns(cells, PATTERNS, **PATTERN_LENGTHS)
        wanted, support = [p for p, _ in self.patterns], np.array([s for _, s in self.patterns], np.int64)
        spans = [
            jensen_shannon(histogram, buckets(other, own))
            for histogram, other, own in zip(self.histograms, self._spans(seen), self.spans, strict=True)
        ]
        trip = divergence_of_samples(self.ends, od_pairs(cells))
        nats = {"trip": trip, "diameter": spans[0], "length": spans[1]}
        return [
            Measure("gps/query", f"error of trips through {len(self.regions)} circles", float(query)),
            Measure(
                "gps/coverage",
                "Kendall tau-b of visits per cell, 15 x 15",
                kendall_tau_b(self.coverage, self._coverage(seen)),
                "higher",
            ),
            Measure(
                "gps/pattern_f1",
                f"F1 of the top {PATTERNS} runs of cells, 6 x 6",
                f1_of_sets(wanted, [p for p, _ in found]),
                "higher",
            ),
            Measure(
                "gps/pattern_support",
                f"support error of the top {PATTERNS} runs of cells",
                support_error(support, supports(cells, wanted, gapped=False)),
            ),
            Measure(
                "gps/trip_jsd",
                "JSD of first and last cell, 6 x 6 (bits)",
                trip,
            ),
            Measure("gps/diameter_jsd", "JSD of trip diameters, 20 buckets (bits)", spans[0]),
            Measure("gps/length_jsd", "JSD of trip lengths in metres, 20 buckets (bits)", spans[1]),
            *(
                Measure(f"gps/{name}_jsd_nats", f"JSD of {name}s in nats", nats[name] * log(2))
                for name in nats
            ),
        ]


@dataclass(frozen=True, eq=False)
class PlacedVisits:
    """Trips or tracks alike: visit k is at `lat, lon[location[k]]`."""

    lat: Floats
    lon: Floats
    location: Int32s
    offsets: Ints
    box: BoundingBox

    @classmethod
    def of(cls, made: Trips | Tracks) -> "PlacedVisits":
        if isinstance(made, Tracks):
            return cls(made.lat, made.lon, np.arange(len(made.lat), dtype=np.int32), made.offsets, made.box)
        network = made.world
        if not isinstance(network, Network):
            raise ParameterError("the GPS set needs coordinates; this world is a plain list")
        return cls(network.lat, network.lon, made.location, made.offsets, public_box(network))


@dataclass(frozen=True, eq=False)
class Circles:
    """Circles on the globe, radii in metres."""

    lat: Floats
    lon: Floats
    radius: Floats

    @classmethod
    def drawn(cls, box: BoundingBox, count: int, rng: np.random.Generator) -> "Circles":
        """Centres uniform in the box, radii uniform from 2 to 25 % of its diagonal."""
        diagonal = float(haversine(box.south, box.west, box.north, box.east))
        lat, lon = rng.uniform(box.south, box.north, count), rng.uniform(box.west, box.east, count)
        return cls(lat, lon, rng.uniform(0.02, 0.25, count) * diagonal)

    def contain(self, lat: Floats, lon: Floats) -> Mask:
        """Which points (columns) lie in which circles (rows)."""
        inside = np.empty((len(self.lat), len(lat)), bool)
        # As points on a ball of radius one: within a circle if the product with its centre is large enough.
        centres, least = _on_ball(self.lat, self.lon), np.cos(self.radius / EARTH_RADIUS_METRES)[:, None]
        for start in range(0, len(lat), PIECE):
            part = slice(start, start + PIECE)
            inside[:, part] = centres @ _on_ball(lat[part], lon[part]).T >= least
        return inside


def _on_ball(lat: Floats, lon: Floats) -> Floats:
    up, east = np.radians(lat), np.radians(lon)
    flat = np.cos(up)
    return np.column_stack([flat * np.cos(east), flat * np.sin(east), np.sin(up)])


def circles(network: Network, count: int, rng: np.random.Generator) -> Mask:
    """Which stops lie in each of `count` circles in the box of a network."""
    return Circles.drawn(public_box(network), count, rng).contain(network.lat, network.lon)


def trips_in_regions(seen: PlacedVisits, regions: Mask) -> Ints:
    """Return the same of anything seen: a trip is the union of the bit sets of its places."""
    words, size = -(-len(regions) // 64), len(seen.lat)
    padded = np.zeros((words * 64, size), bool)
    padded[: len(regions)] = regions
    sets = np.packbits(padded.T.reshape(size, words, 64), axis=2, bitorder="little")
    return _trips_in_sets(seen.location, seen.offsets, sets.view(np.uint64)[:, :, 0])[: len(regions)]


def buckets(values: Floats, raw: Floats) -> Ints:
    """Twenty equal buckets from 0 to the largest raw value; what lies beyond it counts in the last."""
    top = max(float(raw.max(initial=0)), 1e-9)
    place = np.minimum(values / top * BUCKETS, BUCKETS - 1).astype(np.int64)
    return np.bincount(place, minlength=BUCKETS)


@njit(cache=True)
def _trips_in_sets(location: Int32s, offsets: Ints, sets: NDArray[np.uint64]) -> Ints:
    words = sets.shape[1]
    counts = np.zeros(words * 64, np.int64)
    union = np.empty(words, np.uint64)
    for trip in range(len(offsets) - 1):
        union[:] = 0
        for visit in range(offsets[trip], offsets[trip + 1]):
            for word in range(words):
                union[word] |= sets[location[visit], word]
        for word in range(words):
            bits = union[word]
            for bit in range(64):
                counts[word * 64 + bit] += np.int64((bits >> np.uint64(bit)) & np.uint64(1))
    return counts


@njit(cache=True)
def extents(location: Int32s, offsets: Ints, east: Floats, north: Floats) -> tuple[Floats, Floats]:
    """Per trip, in the unit of the coordinates: the largest distance between two visits, and the way along."""
    count = len(offsets) - 1
    diameter, length = np.zeros(count), np.zeros(count)
    for trip in range(count):
        widest = 0.0
        for i in range(offsets[trip], offsets[trip + 1]):
            x, y = east[location[i]], north[location[i]]
            if i + 1 < offsets[trip + 1]:
                after = location[i + 1]
                length[trip] += np.sqrt((east[after] - x) ** 2 + (north[after] - y) ** 2)
            for j in range(i + 1, offsets[trip + 1]):
                there = location[j]
                far = (east[there] - x) ** 2 + (north[there] - y) ** 2
                if far > widest:
                    widest = far
        diameter[trip] = np.sqrt(widest)
    return diameter, length
