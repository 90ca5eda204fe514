"""Questions about trips, answered by counting the released ones: who boards where, who changes where, how long it took.

Released trips are private already, so every count of them is free. Where no interval is known for a count, columns
`low` and `high` are empty. Raw trips, where somebody may see them, are counted in the same way beside them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError, ParameterError
from wayveil.releases.answers import Answer, network_of
from wayveil.releases.trip_bars import find_trip_bars
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import along_paths

if TYPE_CHECKING:
    from wayveil.releases.release import Release

TRIP_QUESTIONS: Final = {
    "boardings": "trips that begin at each stop",
    "alightings": "trips that end at each stop",
    "through": "trips that pass each stop, begin or end there",
    "journeys": "trips from one stop to another",
    "districts": "trips from one district to another",
    "transfers": "trips that change lines at each stop",
    "line-load": "trips on the busiest stretch of each line",
    "durations": "share of trips that take longer than so many minutes, by the public timetable",
}
NOTE: Final = "Counted in the released trips. No interval is known."
SHARED: Final = (
    f"{NOTE} Where several lines share a stretch, trips are shared out by their runs in the timetable."
)
MINUTES: Final = 30.0


@dataclass(frozen=True)
class Asked:
    """What the caller adds to a question: the table of districts, and a limit in minutes."""

    districts: pl.DataFrame | None = None
    over: float = MINUTES
    taps: bool = False


def answer_trips(
    release: "Release",
    question: str,
    *,
    top: int = 20,
    districts: Any = None,
    over: float = MINUTES,
    raw: Trips | None = None,
) -> Answer:
    """Answer one of TRIP_QUESTIONS; lists of pairs end after `top`.

    `districts` is a csv (or frame) with stop_id and district. With `raw` trips their own counts stand beside (column
    `raw`), and the answer is internal.
    """
    if question not in TRIP_QUESTIONS:
        raise ParameterError(f"there is no question {question!r}; there are {', '.join(TRIP_QUESTIONS)}")
    if over <= 0:
        raise ParameterError(f"a limit is a number of minutes above 0, not {over:g}")
    asked = Asked(None if districts is None else read_districts(districts), over, release.visits_are_taps)
    table = _COUNT[question](release.trips, asked)
    keys = [name for name in table.columns if name != "answer"]
    if raw is not None:
        other = _COUNT[question](raw, asked).rename({"answer": "raw"})
        table = _beside(table, other, keys)
    low, high, bars_known = find_trip_bars(release, question, table["answer"])
    table = table.with_columns(low=low, high=high)
    order = [*keys, "answer", "low", "high", *(["raw"] if raw is not None else [])]
    table = table.select(order).sort("answer", descending=True, maintain_order=True)
    if question in ("journeys", "districts"):
        table = table.head(top)
    note = bars_known or (SHARED if question == "line-load" else NOTE)
    return Answer(question, table, note, internal=raw is not None)


def read_districts(source: Any) -> pl.DataFrame:
    """stop_id and district of each stop, from a csv or a frame."""
    try:
        table = (
            pl.read_csv(source, infer_schema=False)
            if isinstance(source, str | Path)
            else pl.DataFrame(source)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as a table of districts ({error})", file=str(source)) from error
    if not {"stop_id", "district"} <= set(table.columns):
        raise InputError(
            f"needs the columns stop_id and district; its columns are {', '.join(table.columns)}",
            file=str(source) if isinstance(source, str | Path) else "the frame",
        )
    return table.select(pl.col("stop_id", "district").cast(pl.String)).unique("stop_id", keep="first")


def _boardings(trips: Trips, asked: Asked) -> pl.DataFrame:
    ends = trips.location if asked.taps else trips.origins()
    return _per_stop(trips, ends)


def _alightings(trips: Trips, asked: Asked) -> pl.DataFrame:
    if asked.taps:
        raise ParameterError("these visits are boardings: where people got off is not in the data")
    return _per_stop(trips, trips.destinations())


def _through(trips: Trips, asked: Asked) -> pl.DataFrame:
    once = np.unique(trips.trip_of_visit() * trips.world.size + trips.location)
    return _per_stop(trips, once % trips.world.size)


def _journeys(trips: Trips, asked: Asked) -> pl.DataFrame:
    size, names, ids = trips.world.size, trips.world.names, trips.world.ids
    origin, destination = _ends(trips, asked)
    pair, count = np.unique(origin * size + destination, return_counts=True)
    one, other = pair // size, pair % size
    columns = {"from_id": ids[one], "from": names[one], "to_id": ids[other], "to": names[other]}
    return pl.DataFrame({name: column.tolist() for name, column in columns.items()} | {"answer": count})


def _districts(trips: Trips, asked: Asked) -> pl.DataFrame:
    if asked.districts is None:
        raise ParameterError("say which stop lies in which district: a csv with stop_id and district")
    place = trips.world.index_of(asked.districts["stop_id"])
    if (place < 0).all():
        raise ParameterError("none of the stops in the table of districts is in this world")
    names, code = np.unique(asked.districts["district"].fill_null("").to_numpy(), return_inverse=True)
    of_stop = np.full(trips.world.size, len(names), np.int64)
    of_stop[place[place >= 0]] = code[place >= 0]
    named = np.append(names.astype(object), "elsewhere")
    origin, destination = (of_stop[ends] for ends in _ends(trips, asked))
    pair, count = np.unique(origin * len(named) + destination, return_counts=True)
    one, other = named[pair // len(named)], named[pair % len(named)]
    return pl.DataFrame({"from": one.tolist(), "to": other.tolist(), "answer": count})


def _transfers(trips: Trips, asked: Asked) -> pl.DataFrame:
    """A trip changes lines at a stop if no line runs on both stretches around it."""
    network = network_of(trips.world)
    visit, edge = _edges(trips, network)
    follows = np.flatnonzero(visit[1:] == visit[:-1] + 1)
    pair, back = np.unique(np.stack([edge[follows], edge[follows + 1]]), axis=1, return_inverse=True)
    changes = ~_share_line(network, pair[0], pair[1])
    return _per_stop(trips, trips.location[visit[follows]][changes[back.ravel()]])


def _line_load(trips: Trips, asked: Asked) -> pl.DataFrame:
    network = network_of(trips.world)
    _, edge = _edges(trips, network)
    riders = np.bincount(edge, minlength=network.edges)
    sharing = np.diff(network.route_indptr)
    of_edge = np.repeat(np.arange(network.edges), sharing)
    load = (riders / np.maximum(sharing, 1))[of_edge]
    # The busiest edge of each route: the last one when ordered by route and load.
    order = np.lexsort((load, network.route))
    last = np.flatnonzero(np.diff(np.append(network.route[order], -1)) != 0)
    chosen = order[last]
    route, at = network.route[chosen], of_edge[chosen]
    columns = {
        "line": network.route_names[route],
        "from": network.names[network.sources[at]],
        "to": network.names[network.indices[at]],
    }
    named = {"route_id": network.route_ids[route].tolist()}
    named |= {name: column.tolist() for name, column in columns.items()}
    return pl.DataFrame({**named, "answer": np.rint(load[chosen]).astype(np.int64)})


def _durations(trips: Trips, asked: Asked) -> pl.DataFrame:
    network = network_of(trips.world)
    full = trips.take(trips.lengths > 0)
    seconds = along_paths(network, full.location, full.offsets, network.seconds)[full.offsets[1:] - 1]
    share = float(np.mean(seconds > asked.over * 60)) if len(full) else 0.0
    return pl.DataFrame({"longer_than_minutes": [asked.over], "answer": [round(share, 4)]})


_COUNT: Final[dict[str, Callable[[Trips, Asked], pl.DataFrame]]] = {
    "boardings": _boardings,
    "alightings": _alightings,
    "through": _through,
    "journeys": _journeys,
    "districts": _districts,
    "transfers": _transfers,
    "line-load": _line_load,
    "durations": _durations,
}


def _per_stop(trips: Trips, at: NDArray[np.integer]) -> pl.DataFrame:
    world = trips.world
    count = np.bincount(at[at >= 0], minlength=world.size)
    return pl.DataFrame({"stop_id": world.ids.tolist(), "stop": world.names.tolist(), "answer": count})


def _ends(trips: Trips, asked: Asked) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if asked.taps:
        raise ParameterError("these visits are boardings: where people got off is not in the data")
    full = trips.lengths > 0
    return trips.origins()[full].astype(np.int64), trips.destinations()[full].astype(np.int64)


def _edges(trips: Trips, network: Network) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The visit to which each move over an edge leads, and the edge."""
    inner = np.ones(trips.visits, bool)
    starts = trips.offsets[:-1]
    inner[starts[starts < trips.visits]] = False
    visit = np.flatnonzero(inner)
    edge = network.edge_index(trips.location[visit - 1], trips.location[visit])
    return visit[edge >= 0], edge[edge >= 0]


def _share_line(network: Network, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether some route runs on both edges of each pair."""
    routes = max(len(network.route_ids), 1)
    of_edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    known = np.unique(of_edge * routes + network.route)
    length = np.diff(network.route_indptr)[one]
    pair = np.repeat(np.arange(len(one)), length)
    at = (
        np.arange(length.sum())
        - np.repeat(np.cumsum(length) - length, length)
        + network.route_indptr[one][pair]
    )
    both = np.isin(other[pair] * routes + network.route[at], known)
    return np.bincount(pair[both], minlength=len(one)) > 0


def _beside(table: pl.DataFrame, raw: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Counts of both, zero where one has none."""
    joined = table.join(raw, on=keys, how="full", coalesce=True)
    return joined.with_columns(pl.col("answer", "raw").fill_null(0))
