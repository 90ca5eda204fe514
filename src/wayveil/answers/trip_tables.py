"""Counted cells as tables that people read: ids with names, periods, and the number as `answer`."""

from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.answers.questions import CLASS, UNIT
from wayveil.answers.trip_cells import TripQuestion, ways_of
from wayveil.answers.trip_periods import WEEKDAYS, Period
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.network_lines import express_tracks, line_edges


def make_table(asked: TripQuestion, trips: Trips, counts: pl.DataFrame, by: Period | None) -> pl.DataFrame:
    """Full cells as rows that people read: ids with names, and the number as `answer`."""
    world, cell = trips.world, counts["cell"].to_numpy()
    when: dict[str, Any] = {} if by is None else {by: counts["period"]}
    if asked.question in CLASS:
        return _size_table(asked, counts, by)
    if asked.question in ("lengths", "hours"):
        key = "stops" if asked.question == "lengths" else "hour"
        return pl.DataFrame({key: counts["cell"], **when, "answer": counts["n"]})
    if asked.question == "line-load":
        return _line_table(ways_of(trips), counts, by, asked)
    if asked.question == "districts":
        assert asked.districts is not None
        names = asked.districts.names
        columns: dict[str, Any] = {
            "from": names[cell // len(names)].tolist(),
            "to": names[cell % len(names)].tolist(),
        }
        return pl.DataFrame({**columns, **when, "answer": counts["n"]}, schema_overrides=_TEXT)
    if asked.question == "journeys":
        one, other = cell // world.size, cell % world.size
        named = {
            "from_id": world.ids[one],
            "from": world.names[one],
            "to_id": world.ids[other],
            "to": world.names[other],
        }
        texts: dict[str, Any] = {name: column.tolist() for name, column in named.items()}
        return pl.DataFrame({**texts, **when, "answer": counts["n"]}, schema_overrides=_TEXT)
    if by is None:
        # Every stop is listed: of one that is missing, people would ask whether it was forgotten.
        answer = np.zeros(world.size, np.int64)
        answer[cell] = counts["n"].to_numpy()
        return pl.DataFrame({"stop_id": world.ids.tolist(), "stop": world.names.tolist(), "answer": answer})
    stops: dict[str, Any] = {"stop_id": world.ids[cell].tolist(), "stop": world.names[cell].tolist()}
    return pl.DataFrame({**stops, **when, "answer": counts["n"]}, schema_overrides=_TEXT)


_TEXT: Final[dict[str, Any]] = dict.fromkeys(("stop_id", "stop", "from", "to", "from_id", "to_id"), pl.String)


def _size_table(asked: TripQuestion, counts: pl.DataFrame, by: Period | None) -> pl.DataFrame:
    when = [] if by is None else [pl.col("period").alias(by)]
    if asked.over is None:
        width, unit = CLASS[asked.question], UNIT[asked.question]
        kept = counts.sort("cell", maintain_order=True)
        lower = pl.col("cell") * width
        return kept.select(
            lower.alias(f"from_{unit}"), (lower + width).alias(f"to_{unit}"), *when, answer=pl.col("n")
        )
    limit = pl.lit(float(asked.over)).alias(f"longer_than_{UNIT[asked.question]}")
    all_of_it = pl.col("n").sum()
    share = (
        pl.when(all_of_it > 0).then((pl.col("n") * pl.col("cell")).sum() / all_of_it).otherwise(0.0).round(4)
    )
    if by is None:
        return counts.select(limit, answer=share)
    return (
        counts.group_by("period", maintain_order=True)
        .agg(answer=share)
        .sort("period")
        .select(limit, pl.col("period").alias(by), "answer")
    )


def _line_table(
    network: Network, counts: pl.DataFrame, by: Period | None, asked: TripQuestion
) -> pl.DataFrame:
    """The busiest edge of each line in each direction (and period)."""
    lines = line_edges(network)
    shares = pl.DataFrame(
        {"cell": lines.edge, "line": lines.line, "towards": lines.towards, "share": lines.share}
    )
    found = shares.join(counts, on="cell", how="left" if by is None else "inner").with_columns(
        load=pl.col("share") * pl.col("n").fill_null(0)
    )
    found = _on_tracks(network, found, by)
    keys = ["line", "towards", *([] if by is None else ["period"])]
    peak = found.sort([*keys, "load", "cell"], descending=[False] * len(keys) + [True, False]).unique(
        keys, keep="first", maintain_order=True
    )
    routes = asked.filters.resolve_routes(network)
    if routes is not None:
        peak = peak.filter(pl.col("line").is_in(routes))
    edge, line = peak["cell"].to_numpy(), peak["line"].to_numpy()
    columns: dict[str, Any] = {
        "route_id": network.route_ids[line].tolist(),
        "line": network.route_names[line].tolist(),
        "towards": network.names[peak["towards"].to_numpy()].tolist(),
        **({} if by is None else {by: peak["period"]}),
        "from": network.names[network.sources[edge]].tolist(),
        "to": network.names[network.indices[edge]].tolist(),
        "answer": peak["load"].round(0).cast(pl.Int64),
    }
    texts = dict.fromkeys(("route_id", "line", "towards", "from", "to"), pl.String)
    table = pl.DataFrame(columns, schema_overrides=texts)
    return table if asked.service is None else _beside_seats(table, peak, network, asked, by)


def _on_tracks(network: Network, found: pl.DataFrame, by: Period | None) -> pl.DataFrame:
    """Riders of express runs on every stretch of the track that they pass, beside those of local runs."""
    edge, line, onto = express_tracks(network)
    if not len(edge):
        return found
    tracks = pl.DataFrame({"cell": edge, "line": line, "onto": onto})
    moved = found.join(tracks, on=["cell", "line"], how="inner").with_columns(cell="onto")
    stays = found.join(tracks, on=["cell", "line"], how="anti")
    keys = ["cell", "line", *([] if by is None else ["period"])]
    both = pl.concat([stays, moved.select(stays.columns)])
    return both.group_by(keys, maintain_order=True).agg(pl.col("towards").first(), pl.col("load").sum())


def _beside_seats(
    table: pl.DataFrame, peak: pl.DataFrame, network: Network, asked: TripQuestion, by: Period | None
) -> pl.DataFrame:
    """The seats of the line that ran over the busiest stretch in these days and hours, and trips per seat."""
    assert asked.service is not None
    rows = asked.service.by_edge()
    if asked.filters.between is not None:
        rows = rows.filter(pl.col("hour").is_in(asked.filters.hours()))
    days, weekdays = asked.filters.resolve_days()
    if days is not None:
        rows = rows.filter(pl.col("day").is_in(days))
    if weekdays is not None:
        rows = rows.filter(pl.col("weekday").is_in(weekdays))
    keys = ["route", "source", "target"]
    ran = rows.group_by([*keys, *([] if by is None else [by])]).agg(pl.col("seats").sum())
    if by == "day":
        ran = ran.with_columns(pl.col("day").cast(pl.Int32).cast(pl.Date))
    if by == "weekday":
        ran = ran.with_columns(weekday=pl.Series(np.asarray(WEEKDAYS)[ran["weekday"].to_numpy()].tolist()))
    edge = peak["cell"].to_numpy()
    where = pl.DataFrame(
        {
            "route": peak["line"].cast(pl.Int64),
            "source": network.sources[edge].astype(np.int64),
            "target": network.indices[edge].astype(np.int64),
        }
    )
    if by is not None:
        where = where.with_columns(peak["period"].alias(by))
    found = where.join(ran, on=where.columns, how="left", maintain_order="left")["seats"]
    return table.with_columns(
        seats=found.round(0).cast(pl.Int64), per_seat=(table["answer"] / found).round(3)
    )
