"""Answers to an agency's questions from a release: every visit of a released trip is a tap-in.

A model that counted taps answers straight from its noisy counts, whose error bars hold; of any other the released trips
are counted, with the intervals that `accuracy` knows. Answers may be published like the release itself.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import ParameterError
from wayveil.synthesis.estimates import Estimate, Key, Runs, Visits
from wayveil.synthesis.model import OfTaps
from wayveil.trips.trips import Trips
from wayveil.trips.windows import gram_counts
from wayveil.world.lines import scheduled_runs
from wayveil.world.network import Network
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.releases.release import Release

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
KIND_OF: Final = {
    "total": "visits",
    "stops": "stops",
    "most-used": "stops",
    "least-used": "stops",
    "hours": "hours",
    "stop-hours": "stop-hours",
    "pairs": "edges",
    "triples": "triples",
    "routes": "stops",
    "load": "stops",
}
TIMETABLE: Final = "Routes are not in this release: tap-ins are shared out by the timetable. No bars."
SEATS: Final = 38
COUNTED: Final = "Bars hold the true number in 95 of 100 cases."
CUT: Final = (
    "Bars hold the number of the taps that were counted in 95 of 100 cases: the first {visits} of a trip, and of a "
    "rider as many trips as the bound allows. Others are missing."
)
MADE_AGAIN: Final = "Bars hold the number of what was counted in 95 of 100 cases (docs/accuracy.md)."
NOT_KNOWN: Final = "How far these numbers are off is not known: no bars."
HIDDEN: Final = (
    "{count:,} more stops have no tap-in in this release: fewer than it can tell from none. Which of them is used "
    "least is not known."
)
MADE_UP: Final = (
    "This release counted single taps: which one follows which comes from rules, not from the data. No bars."
)


def say_question(question: str, *, taps: bool) -> str:
    """The question in words: visits of trips are visits, and tap-ins only where every visit boards."""
    return QUESTIONS[question] if taps else QUESTIONS[question].replace("tap-ins", "visits")


@dataclass(frozen=True, eq=False)
class Answer:
    """A table with `answer`, `low` and `high` (95 %; empty where not known)."""

    question: str
    table: pl.DataFrame
    note: str
    internal: bool = False


def answer_question(release: "Release", question: str, *, top: int = 20, seats: int = SEATS) -> Answer:
    """Answer one of QUESTIONS; `top` limits lists, `seats` is the public size of a vehicle (`load`)."""
    if question not in QUESTIONS:
        raise ParameterError(f"there is no question {question!r}; there are {', '.join(QUESTIONS)}")
    keys, found, note = _count(release, question, top, seats)
    table = pl.DataFrame({**keys, **_with_bars(found, whole=question != "load")})
    if question == "least-used" and not isinstance(release.model, OfTaps):
        # Nothing is shown of stops below the thresholds, so nobody knows which of them is used least.
        hidden = table.filter(pl.col("answer") == 0).height
        table = table.filter(pl.col("answer") > 0)
        note = f"{note} {HIDDEN.format(count=hidden)}" if hidden else note
    return Answer(question, sort_rows(question, table, top), _with_verdict(release, question, note))


def sort_rows(question: str, table: pl.DataFrame, top: int) -> pl.DataFrame:
    """Rows in the order of the question; lists of the most and least used stops end after `top`."""
    if question in ("most-used", "least-used"):
        return table.sort(["answer", "stop_id"], descending=[question == "most-used", False]).head(top)
    if question in ("stops", "stop-hours", "routes", "load"):
        return table.sort("answer", descending=True, maintain_order=True)
    return table


def _count(release: "Release", question: str, top: int, seats: int) -> tuple[dict[str, Any], Estimate, str]:
    trips, world = release.trips, release.world
    counted = isinstance(release.model, OfTaps)
    if question in ("pairs", "triples"):
        grams = top_patterns(trips, 2 if question == "pairs" else 3, top)
        found = release.estimate(Runs(grams))
        assert found is not None  # trips always tell their runs
        return gram_keys(world, grams), found, MADE_UP if counted else _note(found)
    if question in ("routes", "load"):
        network = network_of(world)
        known = release.estimate(Visits(("route",)))
        note = TIMETABLE if known is None else _counted_note(release)
        flow = Estimate(route_boardings(trips, network)) if known is None else known
        keys = {"route_id": network.route_ids.tolist(), "route": network.route_names.tolist()}
        return keys, flow.over(seats_of(network, seats)) if question == "load" else flow, note
    known = release.estimate(Visits(GROUPED[question]))
    assert known is not None  # trips always tell their stops and, if they have times, their hours
    straight = counted and known.interval is not None
    return _keys(question, world), known, _counted_note(release) if straight else _note(known)


def _note(found: Estimate) -> str:
    return NOT_KNOWN if found.interval is None else MADE_AGAIN


def _with_verdict(release: "Release", question: str, note: str) -> str:
    """The note, after a warning where the verdict on this kind of question is a bad one."""
    verdict = release.accuracy.of(KIND_OF[question])
    return f"{verdict.words} {note}" if verdict is not None and not verdict.says_more else note


def _counted_note(release: "Release") -> str:
    """What the bars of counted taps hold."""
    visits = release.datasheet["mechanism"]["parameters"].get("max_visits")
    return COUNTED if visits is None else CUT.format(visits=visits)


def _with_bars(found: Estimate, *, whole: bool) -> dict[str, pl.Series]:
    """Answers with the ends of their bars, in whole taps if asked; empty where nothing is known.

    Nobody taps a negative number of times, so cutting at zero loses no true number.
    """
    nothing = np.full(len(found.values), np.nan)
    ends = np.stack([found.values, *(found.interval or (nothing, nothing))])
    if whole:
        ends = np.stack([np.rint(ends[0]), np.floor(ends[1]), np.ceil(ends[2])])
    kind = pl.Int64 if whole else pl.Float64
    named = zip(("answer", "low", "high"), np.maximum(ends, 0), strict=True)
    return {name: pl.Series(name, column).fill_nan(None).cast(kind) for name, column in named}


def top_patterns(trips: Trips, length: int, top: int) -> NDArray[np.int32]:
    """The most frequent rows of `length` consecutive stops, counted in trips; ties by the stops' order."""
    grams = gram_counts(trips, length, once_per_trip=True)
    order = np.argsort(-grams.count, kind="stable")[:top]
    return grams.grams[order]


def route_boardings(trips: Trips, network: Network) -> NDArray[np.float64]:
    """Tap-ins per route where trips do not tell it: those of a stop, shared out by the runs that leave it."""
    per_stop = np.bincount(trips.location, minlength=network.size).astype(np.float64)
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    weight = (network.runs / np.maximum(np.diff(network.route_indptr), 1))[edge]
    source = network.sources[edge]
    leaving = np.bincount(source, weight, network.size)
    share = weight * (per_stop / np.maximum(leaving, 1e-12))[source]
    return np.asarray(np.bincount(network.route, share, len(network.route_ids)), np.float64)


def seats_of(network: Network, seats: int) -> NDArray[np.float64]:
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
    names = {} if world.names is world.ids else {"stop": world.names.tolist()}
    return {"stop_id": ids, **names}


def gram_keys(world: World, grams: NDArray[np.int32]) -> dict[str, Any]:
    return {f"stop_{at + 1}": world.ids[grams[:, at]].tolist() for at in range(grams.shape[1])}


def network_of(world: World) -> Network:
    if not isinstance(world, Network) or len(world.route_ids) == 0:
        raise ParameterError("this world has no routes; open the release with its GTFS feed")
    return world
