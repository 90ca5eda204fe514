"""Answers to an agency's questions from a release: every visit of a released trip is a tap-in.

A release of tap counts is answered straight from its noisy counts, whose error bars hold (see `tap_estimates`); a
release of trips by counting its trips. Answers with error bars may be published like the release itself. Given the raw
trips as well, the true answer and that of the plain Laplace mechanism, which spends all of epsilon on this one
question, stand beside: then they are internal.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate, SparseCounts
from wayveil.privacy.noise import laplace_interval
from wayveil.privacy.units import Contribution, Event, Rider, RiderDay, Trip, Unit
from wayveil.releases.error_bars import ErrorBars, Spread
from wayveil.releases.tap_estimates import Key
from wayveil.trips.trips import Trips
from wayveil.utility.question import check_comparable
from wayveil.utility.windows import gram_counts
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

QUESTIONS: Final = {
    "total": "tap-ins in all",
    "stops": "tap-ins per stop",
    "hours": "tap-ins per hour of the day",
    "stop-hours": "tap-ins per stop and hour",
    "most-used": "the stops with the most tap-ins",
    "least-used": "the stops with the fewest tap-ins",
    "pairs": "trips with these two stops in a row",
    "triples": "trips with these three stops in a row",
    "routes": "tap-ins per route",
    "load": "tap-ins per scheduled seat of each route",
}
GROUPED: Final[dict[str, tuple[Key, ...]]] = {
    "total": (),
    "stops": ("stop",),
    "most-used": ("stop",),
    "least-used": ("stop",),
    "hours": ("hour",),
    "stop-hours": ("stop", "hour"),
}
TIMETABLE: Final = "Routes are not in this release: tap-ins are shared out by the timetable. No bars."
NOTICE: Final = "Not for publication: raw answers stand beside the released ones."
SEATS: Final = 38
COUNTED: Final = "Bars hold the true number in 95 of 100 cases."
CUT: Final = (
    "Bars hold the number of the taps that were counted in 95 of 100 cases: the first {visits} of a trip, and of a "
    "rider as many trips as the bound allows. Others are missing."
)
KEPT: Final = (
    "Bars: 95 % of the noise in what was kept. Taps below the thresholds are missing and not in the bars."
)
MADE_UP: Final = (
    "This release counted single taps: which one follows which comes from rules, not from the data. No bars."
)
PLAIN_VISITS: Final = 20  # visits of a trip that the plain mechanism counts where the unit is a trip or rider


@dataclass(frozen=True, eq=False)
class Answer:
    """A table with `answer`, `low` and `high` (95 %, from the noise alone; empty where not known)."""

    question: str
    table: pl.DataFrame
    note: str
    internal: bool = False


@dataclass(frozen=True, eq=False)
class Asked:
    """A release that can be asked: its trips, its model's table and its datasheet."""

    trips: Trips
    model: pl.DataFrame
    datasheet: dict[str, Any]

    def answer(
        self,
        question: str,
        *,
        top: int = 20,
        seats: int = SEATS,
        raw: Trips | None = None,
        raw_routes: NDArray[np.float64] | None = None,
        bits: Bits | None = None,
    ) -> Answer:
        """Answer one of QUESTIONS; `top` limits lists, `seats` is the public size of a vehicle (`load`)."""
        if question not in QUESTIONS:
            raise ParameterError(f"there is no question {question!r}; there are {', '.join(QUESTIONS)}")
        if raw is not None:
            check_comparable(raw, self.trips)
        bars = ErrorBars(self.model, self.datasheet, self.trips.world)
        keys, values, spread, note = self._counted(question, bars, top, seats)
        columns: dict[str, Any] = {**keys, **_with_bars(values, spread, whole=question != "load")}
        if raw is not None:
            columns |= self._beside(question, keys, raw, raw_routes, seats, bits)
        table = pl.DataFrame(columns)
        if question in ("most-used", "least-used"):
            table = table.sort(["answer", "stop_id"], descending=[question == "most-used", False]).head(top)
        elif question in ("stops", "stop-hours", "routes", "load"):
            table = table.sort("answer", descending=True, maintain_order=True)
        return Answer(question, table, note if raw is None else f"{note} {NOTICE}", raw is not None)

    def _counted(
        self, question: str, bars: ErrorBars, top: int, seats: int
    ) -> tuple[dict[str, Any], NDArray[np.float64], Spread, str]:
        world, counted = self.trips.world, bool(bars.taps.histograms)
        if question in ("pairs", "triples"):
            grams = top_patterns(self.trips, 2 if question == "pairs" else 3, top)
            counts = pattern_counts(self.trips, grams)
            return _gram_keys(world, grams), counts, bars.patterns(grams), MADE_UP if counted else KEPT
        if question in ("routes", "load"):
            network = _network(world)
            found = bars.taps.per("route")
            flow, spread, note = route_boardings(self.trips, network), None, TIMETABLE
            if found is not None:
                flow, spread, note = found.values, found.half, self._counted_note()
            keys = {"route_id": network.route_ids.tolist(), "route": network.route_names.tolist()}
            places = _seats(network, seats) if question == "load" else np.ones(len(flow))
            return keys, flow / places, None if spread is None else spread / places, note
        grouped: tuple[Key, ...] = GROUPED[question]
        found, keys = bars.taps.per(*grouped), _keys(question, world)
        if found is not None:
            return keys, found.values, found.half, self._counted_note()
        values = visit_counts(question, self.trips)
        spread = {(): bars.total, ("stop",): bars.stops, ("hour",): bars.hours}.get(
            grouped, bars.stop_hours
        )()
        return keys, values, spread, KEPT

    def _counted_note(self) -> str:
        """What the bars of counted taps hold."""
        visits = self.datasheet["mechanism"]["parameters"].get("max_visits")
        return COUNTED if visits is None else CUT.format(visits=visits)

    def _beside(
        self,
        question: str,
        keys: dict[str, Any],
        raw: Trips,
        raw_routes: NDArray[np.float64] | None,
        seats: int,
        bits: Bits | None,
    ) -> dict[str, Any]:
        """The true answer, and the plain Laplace answer at the release's epsilon."""
        unit, cap = self._unit(with_riders=raw.rider is not None)
        if question in ("pairs", "triples"):
            names = [name for name in keys if name.startswith("stop")]
            grams = np.stack([raw.world.index_of(keys[name]) for name in names], axis=1)

            def count(trips: Trips) -> NDArray[np.float64]:
                return pattern_counts(trips, grams)
        elif question in ("routes", "load"):
            network = _network(raw.world)
            places = _seats(network, seats) if question == "load" else np.ones(len(network.route_ids))
            if raw_routes is None or cap is not None:
                # A tap that is shared out by the timetable moves many routes; the plain mechanism has no answer to it.
                true = route_boardings(raw, network) if raw_routes is None else raw_routes
                return {"raw": true / places}
            noisy = self._plain(unit, cap, raw_routes, bits)
            return {"raw": raw_routes / places, "plain_laplace": noisy / places}
        else:

            def count(trips: Trips) -> NDArray[np.float64]:
                return visit_counts(question, trips)

        counted = unit.bound(raw if cap is None else raw.head(cap), secure_bits() if bits is None else bits)
        return {"raw": count(raw), "plain_laplace": self._plain(unit, cap, count(counted), bits)}

    def _plain(
        self, unit: Unit, cap: int | None, counts: NDArray[np.float64], bits: Bits | None
    ) -> NDArray[np.int64]:
        """Counts with the noise of all of epsilon on this one question."""
        gate = Gate(unit, Budget(Fraction(self.datasheet["guarantee"]["epsilon"])), bits)
        exact = SparseCounts.dense(counts.astype(np.int64))
        noisy = gate.histogram("plain", exact, _contribution(cap), gate.budget.remaining)
        return np.maximum(noisy.counts, 0)

    def plain_half_width(self) -> int | None:
        """95 % of the noise of the plain Laplace mechanism, which spends all of epsilon on one question.

        Known from its law without any data, so it may be published; None where the price is not in epsilon.
        """
        epsilon = self.datasheet["guarantee"].get("epsilon")
        if epsilon is None:
            return None
        unit, cap = self._unit(with_riders=True)
        return laplace_interval(unit.sensitivity(_contribution(cap)).l1 / Fraction(epsilon), 0.95)

    def _unit(self, *, with_riders: bool) -> tuple[Unit, int | None]:
        """The unit of the release, and the visits of a trip that the plain mechanism counts (None: all)."""
        guarantee = self.datasheet["guarantee"]
        bounds = guarantee["bounds"]
        if guarantee["unit"] == "event":
            return Event(), None
        settings = self.datasheet["mechanism"]["parameters"]
        cap = int(settings.get("height") or settings.get("max_visits") or PLAIN_VISITS)
        if guarantee["unit"] == "trip" or not with_riders:
            return Trip(), cap
        kind = RiderDay if guarantee["unit"] == "rider-day" else Rider
        return kind(max_trips=int(bounds["max_trips"]), without_id=bounds.get("without_id", "own")), cap


def _contribution(cap: int | None) -> Contribution:
    return Contribution(per_trip=cap, per_visit=1 if cap is None else None)


def _with_bars(values: NDArray[np.float64], spread: Spread, *, whole: bool) -> dict[str, pl.Series]:
    """Answers with the ends of their bars, in whole taps if asked; empty where nothing is known of the noise.

    Nobody taps a negative number of times, so cutting at zero loses no true number.
    """
    half = np.zeros(len(values)) if spread is None else spread
    ends = np.stack([values, values - half, values + half])
    if whole:
        ends = np.stack([np.rint(ends[0]), np.floor(ends[1]), np.ceil(ends[2])])
    ends = np.maximum(ends, 0)
    # A number that sums no noisy count of the model has no bar: what noise kept out may be there.
    ends[1:, half == 0] = np.nan
    kind = pl.Int64 if whole else pl.Float64
    named = zip(("answer", "low", "high"), ends, strict=True)
    return {name: pl.Series(name, column).fill_nan(None).cast(kind) for name, column in named}


def visit_counts(question: str, trips: Trips) -> NDArray[np.float64]:
    """Visits in all, per stop, per hour, or per stop and hour (stop-major)."""
    if question == "total":
        return np.array([float(trips.visits)])
    if question in ("stops", "most-used", "least-used"):
        return np.bincount(trips.location, minlength=trips.world.size).astype(np.float64)
    if trips.time is None:
        raise ParameterError("this release has no times; ask one made by a mechanism that has, such as ppdp")
    hour = trips.time % DAY // HOUR
    if question == "hours":
        return np.bincount(hour, minlength=24).astype(np.float64)
    cell = trips.location.astype(np.int64) * 24 + hour
    return np.bincount(cell, minlength=trips.world.size * 24).astype(np.float64)


def top_patterns(trips: Trips, length: int, top: int) -> NDArray[np.int32]:
    """The most frequent rows of `length` consecutive stops, counted in trips; ties by the stops' order."""
    grams = gram_counts(trips, length, once_per_trip=True)
    order = np.argsort(-grams.count, kind="stable")[:top]
    return grams.grams[order]


def pattern_counts(trips: Trips, asked: NDArray[np.int32]) -> NDArray[np.float64]:
    """Trips that contain each of the asked rows of stops."""
    grams = gram_counts(trips, asked.shape[1], once_per_trip=True)
    names = [f"s{at}" for at in range(asked.shape[1])]
    shape = dict.fromkeys(names, pl.Int32)
    known = pl.DataFrame(grams.grams.astype(np.int32), schema=shape, orient="row").with_columns(
        n=pl.Series(grams.count)
    )
    wanted = pl.DataFrame(asked.astype(np.int32), schema=shape, orient="row")
    found = wanted.join(known, on=names, how="left", maintain_order="left")
    return found["n"].fill_null(0).to_numpy().astype(np.float64)


def route_boardings(trips: Trips, network: Network) -> NDArray[np.float64]:
    """Tap-ins per route where trips do not tell it: those of a stop, shared out by the runs that leave it."""
    per_stop = np.bincount(trips.location, minlength=network.size).astype(np.float64)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    weight = (network.runs / np.maximum(np.diff(network.route_indptr), 1))[edge]
    source = network.sources[edge]
    leaving = np.bincount(source, weight, network.size)
    share = weight * (per_stop / np.maximum(leaving, 1e-12))[source]
    return np.asarray(np.bincount(network.route, share, len(network.route_ids)), np.float64)


def scheduled_runs(network: Network) -> NDArray[np.float64]:
    """Vehicle runs of each route in the feed: those of its busiest edge, shared by the routes on it."""
    sharing = np.maximum(np.diff(network.route_indptr), 1)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    runs = np.zeros(len(network.route_ids))
    np.maximum.at(runs, network.route, (network.runs / sharing)[edge])
    return runs


def _seats(network: Network, seats: int) -> NDArray[np.float64]:
    """Seats of each route in the feed; at least one, so that a route without a run has a load."""
    return np.maximum(scheduled_runs(network) * seats, 1)


def _keys(question: str, world: World) -> dict[str, Any]:
    if question == "total":
        return {}
    if question == "hours":
        return {"hour": np.arange(24)}
    ids = world.ids.tolist()
    if question == "stop-hours":
        return {"stop_id": np.repeat(world.ids, 24).tolist(), "hour": np.tile(np.arange(24), world.size)}
    names = {"stop": world.names.tolist()} if isinstance(world, Network) else {}
    return {"stop_id": ids, **names}


def _gram_keys(world: World, grams: NDArray[np.int32]) -> dict[str, Any]:
    return {f"stop_{at + 1}": world.ids[grams[:, at]].tolist() for at in range(grams.shape[1])}


def _network(world: World) -> Network:
    if not isinstance(world, Network) or len(world.route_ids) == 0:
        raise ParameterError("this world has no routes; open the release with its GTFS feed")
    return world
