"""A transit network as public knowledge: stations, the directed steps between them, what each step takes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from wayveil.arrays import AnyInts, Floats, Int32s, Ints, Mask
from wayveil.showing import show
from wayveil.world.geo import BoundingBox
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import Stored, World


@dataclass(frozen=True)
class Places:
    """Ids (ascending), names and WGS 84 coordinates of the locations."""

    ids: NDArray[np.str_]
    names: NDArray[np.str_]
    lat: Floats
    lon: Floats


@dataclass(frozen=True)
class Edges:
    """Directed edges by (source, target), without repeats; those of source i are `indptr[i]:indptr[i + 1]`.

    `seconds` is the median time that vehicles take (or the walking time), at least 1; `metres` is the great
    circle; `walk` marks edges that no vehicle runs on; `runs` counts scheduled vehicle runs (0 on walks). The
    routes of edge e are `route[route_indptr[e]:route_indptr[e + 1]]`, ascending.
    """

    indptr: Ints
    indices: Int32s
    seconds: Int32s
    metres: Floats
    walk: Mask
    runs: Ints
    route_indptr: Ints
    route: Int32s


@dataclass(frozen=True)
class Routes:
    """The routes, ascending by id, with their GTFS types (0 tram, 1 metro, 2 rail, 3 bus, ...; -1 unknown)."""

    ids: NDArray[np.str_]
    names: NDArray[np.str_]
    types: Int32s


@dataclass(frozen=True)
class Platforms:
    """The stops of the feed, ascending by `stop_id`, and the location that each one became part of."""

    ids: NDArray[np.str_]
    location: Int32s


@dataclass(frozen=True)
class Tracks:
    """The bends of vehicles' ways, for maps alone: those of `edge[i]`, ascending, in the order in which it runs.

    They are `lat[indptr[i]:indptr[i + 1]]` and so on. Other edges are straight, or bend as they do in the other
    direction.
    """

    edge: Ints
    indptr: Ints
    lat: Floats
    lon: Floats


Parts = tuple[Places, Edges, Routes, Platforms]
P = TypeVar("P", Places, Edges, Routes, Platforms)


class Network(World):
    """A `World` whose locations are the stations (or stops) of a feed and whose moves are its edges.

    `warnings` are sentences with counts about everything odd in the feed; like the rest they know of no trip.
    `service` counts departures per location and hour of the day, where the source of the network tells it; `tracks`
    are the bends between stops.

    >>> city.size == len(city.names) > 0
    True
    """

    tracks: Tracks | None = None

    def __init__(
        self,
        places: Places,
        edges: Edges,
        routes: Routes,
        platforms: Platforms,
        *,
        name: str = "network",
        warnings: Sequence[str] = (),
        service: Ints | None = None,
    ) -> None:
        super().__init__(places.ids, successors=SparseSuccessors(edges.indptr, edges.indices))
        _check(places, edges, routes, platforms)
        self._parts = (places, edges, routes, platforms)
        self.name = name
        self.names, self.lat, self.lon = places.names, places.lat, places.lon
        self.indptr, self.indices = edges.indptr, edges.indices
        self.seconds, self.metres = edges.seconds, edges.metres
        self.walk, self.runs = edges.walk, edges.runs
        self.route_indptr, self.route = edges.route_indptr, edges.route
        self.route_ids, self.route_names, self.route_types = routes.ids, routes.names, routes.types
        self.stop_ids, self.stop_location = platforms.ids, platforms.location
        self.warnings = list(warnings)
        self.service = service

    @property
    def edges(self) -> int:
        """Number of directed edges, walks included."""
        return len(self.indices)

    @property
    def sources(self) -> Int32s:
        """The source of each edge, as `indices` are the targets."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.indptr))

    @property
    def bbox(self) -> BoundingBox | None:
        """The smallest box around all locations; none if they lie on one line of latitude or longitude."""
        south, west, north, east = self.lat.min(), self.lon.min(), self.lat.max(), self.lon.max()
        return BoundingBox(*map(float, (south, west, north, east))) if south < north and west < east else None

    def index_of(self, ids: Sequence[str] | NDArray[np.str_] | pl.Series) -> Int32s:
        """The location of each id, -1 if unknown. The id of a platform gives the station it belongs to."""
        if self._lookup is None:
            named = pl.DataFrame({"id": self.ids.tolist(), "index": np.arange(self.size, dtype=np.int32)})
            below = pl.DataFrame({"id": self.stop_ids.tolist(), "index": self.stop_location})
            self._lookup = pl.concat([named, below]).unique("id", keep="first", maintain_order=True)
        return super().index_of(ids)

    def edge_index(self, source: AnyInts, target: AnyInts) -> Ints:
        """The position of each edge in the edge arrays, -1 where there is none."""
        source = np.asarray(source)
        rank = self.successors.rank(source, target)
        return np.where(rank >= 0, self.indptr[source] + rank, -1)

    def routes_of(self, edge: int) -> Int32s:
        """The routes that run on an edge, as positions in `route_ids`."""
        return self.route[self.route_indptr[edge] : self.route_indptr[edge + 1]]

    def matrix(self, weight: NDArray[Any]) -> "scipy.sparse.csr_array":
        """The adjacency matrix with one weight per edge."""
        return scipy.sparse.csr_array((weight, self.indices, self.indptr), shape=(self.size, self.size))

    def components(self, connection: Literal["weak", "strong"] = "weak") -> tuple[int, Int32s]:
        """Return how many components there are and which one each location belongs to."""
        count, label = scipy.sparse.csgraph.connected_components(
            self.matrix(np.ones(self.edges)), directed=True, connection=connection
        )
        return int(count), label

    def __repr__(self) -> str:
        return f"<Network {self.name}: {self.size:,} stations, {self.edges:,} edges>"

    def _repr_html_(self) -> str:
        return show(self)

    def describe(self) -> dict[str, object]:
        """Facts for people. Shares are of all locations."""
        weak, label = self.components("weak")
        strong, strong_label = self.components("strong")
        return {
            "name": self.name,
            "stops": len(self.stop_ids),
            "stations": self.size,
            "edges": self.edges,
            "walk edges": int(self.walk.sum()),
            "routes": len(self.route_ids),
            "components": weak,
            "largest component share": float(np.bincount(label).max() / self.size),
            "strong components": strong,
            "largest strong component share": float(np.bincount(strong_label).max() / self.size),
            "bbox": None if self.bbox is None else str(self.bbox),
        }

    def stored(self) -> Stored:
        """Arrays from which `restored` makes an equal network."""
        arrays: Stored = {
            f"{type(part).__name__}.{item.name}": getattr(part, item.name)
            for part in self._parts
            for item in fields(part)
        }
        arrays |= {"name": np.asarray(self.name), "warnings": np.asarray(self.warnings, np.str_)}
        if self.tracks is not None:
            arrays |= {f"Tracks.{item.name}": getattr(self.tracks, item.name) for item in fields(self.tracks)}
        return arrays if self.service is None else {**arrays, "service": self.service}

    @classmethod
    def restored(cls, stored: Stored) -> "Network":
        """The network behind what `stored` gave; ValueError where its parts do not fit each other."""
        service = stored.get("service")
        if service is not None and service.shape != (len(stored["Places.ids"]), 24):
            raise ValueError("service by hour has another shape")
        name, warnings = str(stored["name"]), stored["warnings"].tolist()
        network = cls(*restored_parts(stored), name=name, warnings=warnings, service=service)
        if "Tracks.edge" in stored:
            network.tracks = Tracks(**{item.name: stored[f"Tracks.{item.name}"] for item in fields(Tracks)})
        return network

    def _public_arrays(self) -> list[NDArray[np.generic]]:
        arrays = [getattr(part, item.name) for part in self._parts for item in fields(part)]
        return [np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array for array in arrays]


def restored_parts(stored: Stored) -> Parts:
    """Places, edges, routes and platforms from what `Network.stored` gave."""

    def part(kind: type[P]) -> P:
        return kind(**{item.name: stored[f"{kind.__name__}.{item.name}"] for item in fields(kind)})

    return part(Places), part(Edges), part(Routes), part(Platforms)


def _check(places: Places, edges: Edges, routes: Routes, platforms: Platforms) -> None:
    """Refuse parts that do not fit each other, so that nothing later reads out of bounds."""
    size, count = len(places.ids), len(edges.indices)
    per_edge = (edges.seconds, edges.metres, edges.walk, edges.runs)
    wrong = {
        "one name and coordinate per location": any(
            len(a) != size for a in (places.names, places.lat, places.lon)
        ),
        "finite coordinates": not (np.all(np.isfinite(places.lat)) and np.all(np.isfinite(places.lon))),
        "one row of edges per location": len(edges.indptr) != size + 1
        or edges.indptr[0] != 0
        or edges.indptr[-1] != count,
        "edges between its locations": count > 0
        and not (0 <= edges.indices.min() <= edges.indices.max() < size),
        "one value per edge": any(len(a) != count for a in per_edge) or len(edges.route_indptr) != count + 1,
        "positive seconds": bool(np.any(edges.seconds < 1)),
        "known routes on its edges": len(edges.route) > 0
        and not (0 <= edges.route.min() <= edges.route.max() < len(routes.ids)),
        "a location for every stop": len(platforms.ids) != len(platforms.location)
        or (
            len(platforms.ids) > 0 and not (0 <= platforms.location.min() <= platforms.location.max() < size)
        ),
    }
    for rule, broken in wrong.items():
        if broken:
            raise ValueError(f"a network needs {rule}")
