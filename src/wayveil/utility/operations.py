"""The agency's questions: boardings in all, by stop, by hour; the most and least used stops; flows.

What a boarding is depends on the data. A trip through the stops of a network boards once, where and when it begins. A
sequence of taps boards at every visit (`taps=True`): trips alone do not tell which they are. Every answer stands beside
that of the plain Laplace mechanism, which puts the whole epsilon on this one question and nothing on any other: what a
release of trips gives up for answering everything at once.
"""

from fractions import Fraction

import numpy as np

from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.noise import discrete_laplace
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.utility.count_queries import relative_errors, sanity_bound
from wayveil.utility.edges import edge_flows
from wayveil.utility.figures import Figures, Measure
from wayveil.utility.origin_destination import start_bins
from wayveil.utility.prefixspan import WindowTrie
from wayveil.utility.stop_figures import busiest
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins

DEFAULT_TOP = 20
PATTERNS = 100
PLAIN_LENGTH = 20  # stops of a trip that the plain mechanism counts where a trip adds to many cells
_HOURS = 24

Answers = dict[str, Floats]


class Operations(Figures):
    """Relative errors with the sanity bound of 0.1 % of the raw trips, and agreement of extreme stops.

    Patterns are the 100 most frequent pairs and triples of stops in a row, counted in trips; the flow of a route
    is the sum over its edges, where an edge with several routes counts for each in equal parts.

    taps   every visit is a boarding, as in sequences of taps; otherwise only the first visit of a trip is
    """

    title = "Operations"

    def __init__(self, raw: Trips, *, top: int = DEFAULT_TOP, taps: bool = False) -> None:
        super().__init__(raw)
        self.taps = taps
        self.top = min(top, max(raw.world.size // 2, 1))
        self.timed = raw.time is not None
        self.network = raw.world if isinstance(raw.world, Network) and len(raw.world.route) else None
        self.tries = {f"patterns_{n}": self._patterns(n) for n in (2, 3)}
        self.true = self.answers(raw)

    def _patterns(self, n: int) -> WindowTrie:
        grams = gram_counts(self.raw, n, once_per_trip=True)
        order = np.argsort(-grams.count, kind="stable")[:PATTERNS]
        return WindowTrie.of(grams.grams[order].astype(np.int64), np.full(len(order), n, np.int64))

    def answers(self, trips: Trips) -> Answers:
        """One array of counts per question; of time, not a number where the trips carry none."""
        size = self.raw.world.size
        place = trips.location if self.taps else trips.origins()[trips.lengths > 0]
        found: dict[str, AnyInts | Floats] = {
            "total": np.array([len(place)]),
            "stop": np.bincount(place, minlength=size),
        }
        if self.timed:
            silent = trips.time is None and trips.visits > 0
            hour = np.zeros(len(place), np.int64) if silent else self._hours(trips)
            found["hour"] = np.bincount(hour, minlength=_HOURS)
            found["stop_hour"] = np.bincount(place.astype(np.int64) * _HOURS + hour, minlength=size * _HOURS)
            if silent:
                found |= {key: np.full(len(found[key]), np.nan) for key in ("hour", "stop_hour")}
        found |= {name: trie.trips_containing(trips) for name, trie in self.tries.items()}
        if self.network is not None:
            found["route"] = route_flows(trips, self.network)
        return {key: np.asarray(values, np.float64) for key, values in found.items()}

    def _hours(self, trips: Trips) -> Ints:
        bins = TimeBins.hour_of_day()
        if self.taps and trips.time is not None:
            return bins.bin_of(trips.time).astype(np.int64)
        return start_bins(trips, bins).astype(np.int64)

    def _measured(self, private: Trips) -> list[Measure]:
        return self.compared(self.answers(private))

    def plain_laplace(self, epsilon: Fraction, *, trips_per_unit: int = 1, seed: int = 0) -> list[Measure]:
        """Return the same figures for noisy exact answers, each question with all of epsilon for itself.

        Where a trip adds to many cells (patterns, routes, and all of it where every visit is a boarding), trips are cut
        after 20 stops to bound that.
        """
        bits = SeededBits(f"plain-laplace {seed}")
        cut = self.answers(self.raw.cut(PLAIN_LENGTH))
        noisy = {}
        for key, true in self.true.items():
            many = self.taps or key.startswith("patterns") or key == "route"
            scale = Fraction(trips_per_unit * (PLAIN_LENGTH if many else 1)) / epsilon
            noisy[key] = np.maximum(
                (cut[key] if many else true) + discrete_laplace(len(true), scale, bits), 0
            )
        return self.compared(noisy)

    def compared(self, answers: Answers) -> list[Measure]:
        """The figures of some answers."""
        sanity = sanity_bound(self.raw)
        boardings = "tap-ins" if self.taps else "boardings"
        labels = {
            "total": f"{boardings} in all",
            "stop": f"{boardings} per stop",
            "hour": f"{boardings} per hour",
            "stop_hour": f"{boardings} per stop and hour",
            "patterns_2": f"trips on the {PATTERNS} busiest pairs of stops",
            "patterns_3": f"trips on the {PATTERNS} busiest triples of stops",
            "route": "flow per route",
        }
        measures = [
            Measure(
                f"operations/{key}",
                f"error of {labels[key]}",
                float(relative_errors(true, answers[key], sanity).mean()) if len(true) else 0.0,
            )
            for key, true in self.true.items()
        ]
        for side in ("most", "least"):
            wanted, found = (_extreme(counts["stop"], side, self.top) for counts in (self.true, answers))
            share = len(np.intersect1d(wanted, found)) / len(wanted)
            label = f"share of the {self.top} stops with the {side} {boardings} found"
            measures.append(Measure(f"operations/{side}_used", label, share, "higher"))
        return measures


def _extreme(counts: Floats, side: str, top: int) -> Ints:
    """Positions of the largest or the smallest counts; ties go to the lower position. Zero is never `most`."""
    return busiest(counts, top) if side == "most" else np.argsort(counts, kind="stable")[:top]


def route_flows(trips: Trips, network: Network) -> Floats:
    """Moves on the edges of each route; an edge with several routes counts for each in equal parts."""
    flows = edge_flows(trips)
    edge = network.edge_index(flows.source, flows.target)
    known = edge >= 0
    per_edge = np.bincount(edge[known], flows.count[known], minlength=network.edges)
    sharing = np.diff(network.route_indptr)
    share = np.repeat(per_edge / np.maximum(sharing, 1), sharing)
    return np.asarray(np.bincount(network.route, share, minlength=len(network.route_ids)), np.float64)
