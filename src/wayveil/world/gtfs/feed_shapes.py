"""From shapes.txt to the lines that vehicles follow between stops: for maps, nothing is counted on them."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats, Int32s, Ints
from wayveil.errors import InputError
from wayveil.world.geo import project
from wayveil.world.gtfs.calls import Calls
from wayveil.world.gtfs.feed_stops import lookup
from wayveil.world.gtfs.feed_tables import Feed
from wayveil.world.network import Network, Tracks

# Larger networks are drawn with straight lines: nobody would see a bend.
MOST_EDGES = 10_000
# Stops of a line lie on it, but for the width of a station; a line that winds more than this is another way round.
OFF_LINE, WINDS, ROUND_STATIONS = 200.0, 3.0, 300.0
# Bends of less than so many metres are left out.
BEND = 15.0
# Of two stretches of a line that touch both stops, the shorter one is meant.
PER_METRE = 0.02


def read_tracks(
    feed: Feed, trips: pl.DataFrame, calls: Calls, keep: Int32s, network: Network
) -> Tracks | None:
    """Find the bends between neighbouring stops, for the shape that most vehicles follow there.

    None where the feed has no shapes. Between stops that lie off their shape there are none.
    """
    if not feed.has("shapes") or not 0 < network.edges <= MOST_EDGES:
        return None
    known = feed.read_small("trips", ["trip_id"], ["shape_id"]).drop_nulls()
    shapes = known["shape_id"].unique().sort()
    code = lookup(known["shape_id"], shapes, np.arange(len(shapes), dtype=np.int32))
    used = _shape_of_edges(calls, lookup(trips["trip_id"], known["trip_id"], code), keep, network)
    lines = _read_lines(feed, shapes.gather(np.unique(used["shape"].to_numpy())))
    origin = float(network.lat.mean()), float(network.lon.mean())
    xy = {name: np.column_stack(project(*line, origin=origin)) for name, line in lines.items()}
    stops = np.column_stack(project(network.lat, network.lon, origin=origin))
    sources, found = network.sources, {}
    for edge, name in zip(used["edge"].to_list(), shapes.gather(used["shape"]).to_list(), strict=True):
        if name in lines:
            way = _between(xy[name], stops[[sources[edge], network.indices[edge]]])
            if len(way):
                found[edge] = lines[name][:, way]
    edges = np.array(sorted(found), np.int64)
    bends = [found[edge] for edge in edges.tolist()]
    lat, lon = np.concatenate(bends, axis=1) if bends else np.empty((2, 0))
    return Tracks(edges, np.cumsum([0, *(each.shape[1] for each in bends)]), lat, lon)


def _shape_of_edges(calls: Calls, shape: Int32s, keep: Int32s, network: Network) -> pl.DataFrame:
    """Edges and their shape, one direction of each pair of stops: the one that more trips run in."""
    index = np.full(int(max(calls.location.max(), keep.max())) + 1, -1, np.int64)
    index[keep] = np.arange(len(keep))
    here, there = index[calls.location[:-1]], index[calls.location[1:]]
    leg = np.flatnonzero((calls.trip[1:] == calls.trip[:-1]) & (here != there) & (here >= 0) & (there >= 0))
    legs = pl.DataFrame({"from": here[leg], "to": there[leg], "shape": shape[calls.trip[leg]]})
    busiest = (
        legs.filter(pl.col("shape") >= 0)
        .group_by("from", "to", "shape")
        .len()
        .with_columns(low=pl.min_horizontal("from", "to"), high=pl.max_horizontal("from", "to"))
        .sort(["len", "from", "to", "shape"], descending=[True, False, False, False])
        .unique(["low", "high"], keep="first", maintain_order=True)
    )
    edge = network.edge_index(busiest["from"].to_numpy(), busiest["to"].to_numpy())
    return pl.DataFrame({"edge": edge, "shape": busiest["shape"]}).filter(pl.col("edge") >= 0).sort("edge")


def _read_lines(feed: Feed, wanted: pl.Series) -> dict[str, Floats]:
    """Latitudes and longitudes of these shapes, in order."""
    names = ["shape_pt_lat", "shape_pt_lon", "shape_pt_sequence"]
    number = [pl.col(name).str.strip_chars().cast(pl.Float64, strict=False) for name in names]
    try:
        table = feed.read("shapes", ["shape_id", *names])
    except InputError:
        # Feeds were read before anybody looked at their shapes.
        feed.warn(1, "table", "of shapes could not be read: maps have straight lines.")
        return {}
    points = (
        table.with_columns(pl.col("shape_id").str.strip_chars(), *number)
        .filter(pl.col("shape_id").is_in(wanted.implode()), *(pl.col(name).is_finite() for name in names))
        .sort("shape_id", "shape_pt_sequence", maintain_order=True)
    )
    parts = points.partition_by("shape_id", maintain_order=True)
    return {part["shape_id"][0]: part.select(names[:2]).to_numpy().T for part in parts if len(part) > 1}


def _between(line: Floats, ends: Floats) -> Ints:
    """Find the points of a line between two stops that bend it; none where the stops lie off it."""
    step = np.diff(line, axis=0)
    length = np.hypot(*step.T)
    off, along = np.empty((2, len(step))), np.empty((2, len(step)))
    for side, stop in enumerate(ends):
        part = np.clip(((stop - line[:-1]) * step).sum(axis=1) / np.maximum(length, 1e-9) ** 2, 0, 1)
        off[side] = np.hypot(*(line[:-1] + part[:, None] * step - stop).T)
        along[side] = np.cumsum(length) - (1 - part) * length
    # The best place to begin at or before every stretch, and then the best place to end.
    begin = off[0] - PER_METRE * along[0]
    least = np.minimum.accumulate(begin)
    last = int(np.argmin(least + off[1] + PER_METRE * along[1]))
    first = int(np.argmin(begin[: last + 1]))
    direct = float(np.hypot(*(ends[1] - ends[0])))
    wound = along[1, last] - along[0, first] > WINDS * direct + ROUND_STATIONS
    if wound or max(off[0, first], off[1, last]) > OFF_LINE:
        return np.empty(0, np.int64)
    way = np.arange(first + 1, last + 1)
    return way[_bends(np.vstack([ends[:1], line[way], ends[1:]]))[1:-1]]


def _bends(points: Floats) -> NDArray[np.bool_]:
    """Points that a line needs so that it is nowhere farther off than `BEND` (Douglas and Peucker 1973)."""
    kept = np.zeros(len(points), bool)
    kept[[0, -1]] = True
    open_ends = [(0, len(points) - 1)]
    while open_ends:
        one, other = open_ends.pop()
        if other - one < 2:
            continue
        along = points[other] - points[one]
        away = points[one + 1 : other] - points[one]
        part = np.clip(away @ along / max(float(along @ along), 1e-9), 0, 1)
        off = np.hypot(*(away - part[:, None] * along).T)
        if off.max() > BEND:
            at = one + 1 + int(np.argmax(off))
            kept[at] = True
            open_ends += [(one, at), (at, other)]
    return kept
