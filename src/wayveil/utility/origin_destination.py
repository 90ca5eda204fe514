"""From where to where? Distances between the origin-destination pairs of raw and released trips.

The earth mover's distance is exact (network simplex): the mean number of metres by which the two ends of a trip
have to be moved, together, to turn one set of trips into the other. Up to 2,000 distinct pairs a side are taken
as they are; of more, 2,000 trips are sampled, and the figure says how many it used. It is never switched off:
without the optional package it refuses.
"""

from dataclasses import dataclass

import numpy as np

from wayveil.arrays import AnyInts, Floats, Int32s, Ints
from wayveil.errors import ParameterError
from wayveil.progress import track
from wayveil.trips.tracks import public_box
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import Counts
from wayveil.utility.figures import Figures, Measure
from wayveil.utility.stop_figures import jensen_shannon
from wayveil.world.geo import BoundingBox, haversine
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World


@dataclass(frozen=True)
class DegreeGrid:
    """`side` x `side` cells of equal width and height in degrees, numbered row by row from the south-west."""

    side: int

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.side * self.side

    def cells(self, network: Network) -> Int32s:
        """The cell of each stop; stops on the outer border belong to the outer cells."""
        return self.cells_at(network.lat, network.lon, public_box(network))

    def cells_at(self, lat: Floats, lon: Floats, box: BoundingBox) -> Int32s:
        """The cell of each point of a box."""

        def steps(values: Floats, low: float, high: float) -> Int32s:
            return np.clip((values - low) / (high - low) * self.side, 0, self.side - 1).astype(np.int32)

        return steps(lat, box.south, box.north) * np.int32(self.side) + steps(lon, box.west, box.east)

    def world(self) -> World:
        """The cells as a plain universe."""
        return World.of_symbols([f"{cell:0{len(str(self.size))}d}" for cell in range(self.size)])

    def over(self, trips: Trips, network: Network) -> Trips:
        """The trips as sequences of cells, consecutive visits to one cell merged."""
        return Trips(self.cells(network)[trips.location], trips.offsets, self.world()).merged()


MOST_PAIRS = 2_000
ZONE_SIDE = 6


def earth_movers_distance(left: Counts, right: Counts, cost: Floats) -> float:
    """The least mean cost of moving one histogram onto another; both are normalised."""
    try:
        import ot
    except ImportError as error:
        raise ParameterError(
            "the earth mover's distance needs the package POT: pip install 'wayveil[metrics]'"
        ) from error
    mass = [np.asarray(side, np.float64) / np.sum(side) for side in (left, right)]
    value, log = ot.emd2(*mass, np.ascontiguousarray(cost), numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise ParameterError(f"the earth mover's distance was not solved to the end: {log['warning']}")
    return float(value)


def od_pairs(trips: Trips) -> Ints:
    """One number per trip with a visit: origin x size + destination."""
    filled = trips.lengths > 0
    return (trips.origins() * np.int64(trips.world.size) + trips.destinations())[filled]


def start_bins(trips: Trips, bins: TimeBins) -> Int32s:
    """The bin in which each trip with a visit sets out; trips without times are refused."""
    if trips.time is None and trips.visits:
        raise ParameterError("these trips carry no times")
    first = trips.offsets[:-1][trips.lengths > 0]
    return bins.bin_of(np.empty(0, np.int64) if trips.time is None else trips.time[first])


def sample_pairs(pairs: Ints, most: int, seed: int) -> tuple[Ints, Ints]:
    """Distinct pairs and their counts; of a sample of `most` trips if there are more than that many."""
    distinct, count = np.unique(pairs, return_counts=True)
    if len(distinct) > most:
        chosen = np.random.default_rng(seed).choice(len(pairs), most, replace=False)
        distinct, count = np.unique(np.sort(pairs)[chosen], return_counts=True)
    return distinct, count


class OriginDestinationDistance(Figures):
    """Earth mover's distance in metres, overall and as the mean over hours of the day (weighted by raw trips).

    An hour in which a release has no trip at all is as far off as the network is wide, at both ends. A release
    that says nothing about time has no figure by hour.
    """

    title = "Origins and destinations"

    def __init__(self, raw: Trips, *, most_pairs: int = MOST_PAIRS, seed: int = 0) -> None:
        super().__init__(raw)
        if not isinstance(raw.world, Network):
            raise ParameterError("the earth mover's distance needs coordinates; this world is a plain list")
        self.network, self.most, self.seed = raw.world, most_pairs, seed
        self.bins = TimeBins.hour_of_day()
        self.pairs = od_pairs(raw)
        self.hours = None if raw.time is None else start_bins(raw, self.bins)
        corners = self.network.bbox
        self.worst = (
            2 * float(haversine(corners.south, corners.west, corners.north, corners.east)) if corners else 0.0
        )

    def distance(self, left: Ints, right: Ints) -> tuple[float, int]:
        """Metres between two sets of pairs, and the number of raw trips that stand for the left one."""
        a, weight_a = sample_pairs(left, self.most, self.seed)
        if len(right) == 0:
            return self.worst, int(weight_a.sum())
        b, weight_b = sample_pairs(right, self.most, self.seed)
        return earth_movers_distance(weight_a, weight_b, self._cost(a, b)), int(weight_a.sum())

    def _cost(self, a: Ints, b: Ints) -> Floats:
        lat, lon = self.network.lat, self.network.lon
        ends = [np.divmod(side, self.network.size) for side in (a, b)]
        return np.asarray(
            sum(
                haversine(lat[p][:, None], lon[p][:, None], lat[q], lon[q])
                for p, q in zip(*ends, strict=True)
            )
        )

    def _measured(self, private: Trips) -> list[Measure]:
        pairs = od_pairs(private)
        value, used = self.distance(self.pairs, pairs)
        text = f"earth mover's distance of both ends, metres ({used:,} of {len(self.pairs):,} trips used"
        measures = [Measure("od_emd", f"{text})", value)]
        if self.hours is not None:
            mean, used = self._by_hour(private, pairs, self.hours)
            label = f"the same by hour, mean, metres ({used:,} of {len(self.pairs):,} trips used)"
            measures.append(Measure("od_emd_by_hour", label, mean))
        return measures

    def _by_hour(self, private: Trips, pairs: Ints, own: Int32s) -> tuple[float, int]:
        timed = private.time is not None or private.visits == 0
        hours = start_bins(private, self.bins) if timed else np.zeros(len(pairs), np.int32)
        values, weights, used = [], [], 0
        for hour in track(np.unique(own), "earth mover's distance by hour"):
            mine = self.pairs[own == hour]
            value, trips = (
                self.distance(mine, pairs[hours == hour]) if timed else (np.nan, min(len(mine), self.most))
            )
            values.append(value)
            weights.append(len(mine))
            used += trips
        return float(np.average(values, weights=weights)), used


class ZonePairs(Figures):
    """Jensen-Shannon divergence (base 2) of origin-destination pairs of zones.

    Zones are the cells of a public 6 x 6 grid; in a world without coordinates every location is its own zone.
    """

    title = "Pairs of zones"

    def __init__(self, raw: Trips, *, side: int = ZONE_SIDE) -> None:
        super().__init__(raw)
        network = raw.world if isinstance(raw.world, Network) else None
        self.zone = (
            np.arange(raw.world.size, dtype=np.int32) if network is None else DegreeGrid(side).cells(network)
        )
        self.label = "locations" if network is None else f"zones of a {side} x {side} grid"
        self.pairs = self.zone_pairs(raw)

    def zone_pairs(self, trips: Trips) -> Ints:
        """One number per trip with a visit."""
        origin, destination = np.divmod(od_pairs(trips), trips.world.size)
        return self.zone[origin] * np.int64(self.raw.world.size) + self.zone[destination]

    def _measured(self, private: Trips) -> list[Measure]:
        value = divergence_of_samples(self.pairs, self.zone_pairs(private))
        return [Measure("od_zone_jsd", f"Jensen-Shannon divergence of pairs of {self.label} (bits)", value)]


def divergence_of_samples(left: AnyInts, right: AnyInts) -> float:
    """Jensen-Shannon divergence of the values of two samples."""
    _, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    size = int(place.max(initial=0)) + 1
    return jensen_shannon(
        np.bincount(place[: len(left)], minlength=size), np.bincount(place[len(left) :], minlength=size)
    )
