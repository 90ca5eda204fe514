"""The field-standard set for GPS releases (after AdaTrace and the studies that follow it), on stops' coordinates.

    query error        trips through 200 random circles, |private - true| / max(true, 1 % of the raw trips)
    coverage           Kendall tau-b of visits per cell of a 15 x 15 grid
    patterns           F1 and support error of the 100 most frequent runs of 2 to 8 cells of a 6 x 6 grid
    trip error         JSD of (first cell, last cell), 6 x 6
    diameter, length   JSD of the largest distance within a trip and of the way along it, 20 equal buckets

All divergences are to base 2 without a square root; docs/metrics.md gives the conversions.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import relative_errors
from wayveil.utility.figures import Figures, Measure, check_comparable, check_not_empty
from wayveil.utility.grid import Grid
from wayveil.utility.lengths import jensen_shannon
from wayveil.utility.origin_destination import divergence_of_samples, od_pairs
from wayveil.utility.patterns import Ranked, f1_of_sets, support_error, supports, top_contiguous_patterns
from wayveil.utility.stops import kendall_tau_b
from wayveil.world.geo import haversine, project
from wayveil.world.network import Network

REGIONS = 200
REGION_SANITY = 0.01
COVERAGE, COARSE = Grid(15), Grid(6)
PATTERNS, PATTERN_LENGTHS = 100, {"min_length": 2, "max_length": 8}
BUCKETS = 20


class GpsFigures(Figures):
    """The whole set; regions follow from `seed` alone."""

    title = "GPS standard set"

    def __init__(self, raw: Trips, *, regions: int = REGIONS, seed: int = 0) -> None:
        check_not_empty(raw)
        if not isinstance(raw.world, Network):
            raise ParameterError("the GPS set needs coordinates; this world is a plain list")
        self.raw, self.network = raw, raw.world
        self.east, self.north = project(self.network.lat, self.network.lon)
        self.regions = circles(self.network, regions, np.random.default_rng(seed))
        self.through = trips_through(raw, self.regions)
        self.coverage = self._coverage(raw)
        self.cells = COARSE.over(raw, self.network)
        self.ends = od_pairs(self.cells)
        self.patterns: Ranked = top_contiguous_patterns(self.cells, PATTERNS, **PATTERN_LENGTHS)
        self.spans = self._spans(raw)
        self.histograms = [buckets(own, own) for own in self.spans]

    def _coverage(self, trips: Trips) -> NDArray[np.int64]:
        return np.bincount(COVERAGE.cells(self.network)[trips.location], minlength=COVERAGE.size)

    def _spans(self, trips: Trips) -> list[NDArray[np.float64]]:
        """Diameters and lengths in metres, one per trip with a visit."""
        diameter, length = extents(trips.location, trips.offsets, self.east, self.north)
        filled = trips.lengths > 0
        return [diameter[filled], length[filled]]

    def measure(self, private: Trips) -> list[Measure]:
        check_comparable(self.raw, private)
        through = trips_through(private, self.regions)
        query = relative_errors(self.through, through, REGION_SANITY * len(self.raw)).mean()
        cells = COARSE.over(private, self.network)
        found = top_contiguous_patterns(cells, PATTERNS, **PATTERN_LENGTHS)
        wanted, support = [p for p, _ in self.patterns], np.array([s for _, s in self.patterns], np.int64)
        spans = [
            jensen_shannon(histogram, buckets(other, own))
            for histogram, other, own in zip(self.histograms, self._spans(private), self.spans, strict=True)
        ]
        return [
            Measure("gps/query", f"error of trips through {len(self.regions)} circles", float(query)),
            Measure(
                "gps/coverage",
                "Kendall tau-b of visits per cell, 15 x 15",
                kendall_tau_b(self.coverage, self._coverage(private)),
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
                divergence_of_samples(self.ends, od_pairs(cells)),
            ),
            Measure("gps/diameter_jsd", "JSD of trip diameters, 20 buckets (bits)", spans[0]),
            Measure("gps/length_jsd", "JSD of trip lengths in metres, 20 buckets (bits)", spans[1]),
        ]


def circles(network: Network, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which stops lie in each of `count` circles: centres uniform in the box of the network, radii uniform from
    2 to 25 % of its diagonal.
    """
    lat, lon = network.lat, network.lon
    diagonal = float(haversine(lat.min(), lon.min(), lat.max(), lon.max()))
    north, east = (rng.uniform(axis.min(), axis.max(), count)[:, None] for axis in (lat, lon))
    radius = rng.uniform(0.02, 0.25, count)[:, None] * diagonal
    return np.asarray(haversine(north, east, lat, lon) <= radius)


def trips_through(trips: Trips, regions: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many trips have a visit in each region: a trip is the union of the bit sets of its stops."""
    words = -(-len(regions) // 64)
    padded = np.zeros((words * 64, trips.world.size), bool)
    padded[: len(regions)] = regions
    sets = np.packbits(padded.T.reshape(trips.world.size, words, 64), axis=2, bitorder="little")
    return _trips_in_sets(trips.location, trips.offsets, sets.view(np.uint64)[:, :, 0])[: len(regions)]


def buckets(values: NDArray[np.float64], raw: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twenty equal buckets from 0 to the largest raw value; what lies beyond it counts in the last."""
    top = max(float(raw.max(initial=0)), 1e-9)
    place = np.minimum(values / top * BUCKETS, BUCKETS - 1).astype(np.int64)
    return np.bincount(place, minlength=BUCKETS)


@njit(cache=True)
def _trips_in_sets(
    location: NDArray[np.int32], offsets: NDArray[np.int64], sets: NDArray[np.uint64]
) -> NDArray[np.int64]:
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
def extents(
    location: NDArray[np.int32],
    offsets: NDArray[np.int64],
    east: NDArray[np.float64],
    north: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
