"""Delay as passengers have it: how late vehicles were at each stop and hour, weighted by who boards there then.

What vehicles did is public: a TIDES `stop_visits` table, or trip updates of GTFS-realtime. Who boards is the release.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.asked import Asked
from wayveil.answers.filters import PLACES
from wayveil.answers.visit_counts import Counted, ask_for, estimate_of
from wayveil.arrays import Floats
from wayveil.errors import InputError, ParameterError
from wayveil.synthesis.estimates import HOURS, Estimate, Key
from wayveil.synthesis.noise_sums import NORMAL_95
from wayveil.trips.tables import read_table
from wayveil.world.world import World

KINDS: Final = ("departure", "arrival")
COVERED: Final = "{share:.0%} of the boardings are at stops{times} whose vehicles were seen."


@dataclass(frozen=True, eq=False)
class Delays:
    """Mean minutes late by stop and hour (rows of stops, 24 columns; or one column where hours are not known)."""

    minutes: Floats

    @property
    def hourly(self) -> bool:
        """Tell whether hours are told apart."""
        return self.minutes.shape[1] == HOURS


def count_delay(release: JudgedRelease, asked: Asked) -> Counted:
    """Average over boardings, of all of them or by hour."""
    if asked.delays is None:
        raise ParameterError("say how late vehicles were: --delays with TIDES stop_visits or GTFS-realtime")
    filters, by, delays = asked.filters, asked.by, read_delays(asked.delays, release.world)
    filters.refuse_others("delay", ("between", *PLACES), "delays are known by stop and hour")
    if set(by) - {"hour"} or (by and not delays.hourly):
        raise ParameterError("delay is given in all or, where the delays have hours, by hour")
    if "between" in filters.given and not delays.hourly:
        raise ParameterError("GTFS-realtime is read without hours: omit --between")
    per: tuple[Key, ...] = ("stop", "hour") if delays.hourly else ("stop",)
    question = ask_for(release, per, filters, ())
    known = estimate_of(release, question)
    assert known is not None  # trips tell stops, and hours or an error
    stops, hours = question.axis("stop", release.world.size), question.axis("hour", HOURS)
    late = delays.minutes[np.ix_(stops, hours)] if delays.hourly else delays.minutes[stops]
    shape = late.shape
    boarded = np.maximum(known.values, 0).reshape(shape)
    seen = np.isfinite(late)
    note = COVERED.format(
        share=boarded[seen].sum() / max(boarded.sum(), 1e-9), times=" and hours" if delays.hourly else ""
    )
    axis = 0 if by else None
    weight = np.where(seen, boarded, 0.0)
    total = np.maximum(weight.sum(axis=axis), 1e-9)
    mean = np.where(seen, weight * np.nan_to_num(late), 0.0).sum(axis=axis) / total
    values = np.atleast_1d(np.where(weight.sum(axis=axis) > 0, mean, np.nan))
    found = Estimate(values)
    if known.interval is not None:
        low, high = known.interval
        sigma = ((high - low) / 2 / NORMAL_95).reshape(shape)
        # How far the mean moves with each count: cells of one histogram have independent noise.
        pull = np.where(seen, sigma * (np.nan_to_num(late) - mean), 0.0)
        half = np.atleast_1d(NORMAL_95 * np.sqrt((pull**2).sum(axis=axis)) / total)
        found = Estimate.within(values, half)
    keys = {"hour": hours} if by else {}
    return Counted(keys, found, note, "stop-hours" if delays.hourly else "stops")


def read_delays(path: str | Path, world: World) -> Delays:
    """TIDES `stop_visits` (csv, parquet) or GTFS-realtime trip updates (.pb), over the stops of a world."""
    path = Path(path)
    if path.suffix.lower() in (".pb", ".bin", ".proto"):
        return _mean(_of_realtime(path), world, hourly=False)
    return _mean(_of_stop_visits(path), world, hourly=True)


def _of_stop_visits(path: Path) -> pl.DataFrame:
    """stop_id, hour and minutes late of every visit with a scheduled and an actual time."""
    times = [f"{which}_{kind}_time" for kind in KINDS for which in ("schedule", "actual")]
    table = read_table(path, None, ("stop_id",), tuple(times))
    parts = [
        pl.col(f"actual_{kind}_time").pipe(_moment) - pl.col(f"schedule_{kind}_time").pipe(_moment)
        for kind in KINDS
        if {f"actual_{kind}_time", f"schedule_{kind}_time"} <= set(table.columns)
    ]
    if not parts:
        raise InputError(
            "has neither schedule_departure_time and actual_departure_time nor those of arrivals", file=path
        )
    hours = [
        pl.col(f"schedule_{kind}_time").pipe(_moment).dt.hour()
        for kind in KINDS
        if f"schedule_{kind}_time" in table.columns
    ]
    rows = table.select(
        pl.col("stop_id").cast(pl.String),
        hour=pl.coalesce(hours).cast(pl.Int64),
        minutes=pl.coalesce(parts).dt.total_seconds() / 60,
    ).drop_nulls()
    if rows.is_empty():
        raise InputError("has no visit with a stop, a scheduled and an actual time", file=path)
    return rows


def _moment(column: pl.Expr) -> pl.Expr:
    """A time of the wall clock: what a zone says is left away, as scheduled and actual times have the same."""
    text = column.cast(pl.String).str.strip_chars().str.replace(" ", "T").str.slice(0, 19)
    return text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)


def _mean(rows: pl.DataFrame, world: World, *, hourly: bool) -> Delays:
    place = world.index_of(rows["stop_id"]).astype(np.int64)
    known = place >= 0
    if not known.any():
        raise ParameterError("none of the stops whose vehicles were seen is in this world")
    columns = HOURS if hourly else 1
    hour = rows["hour"].to_numpy()[known] if hourly else np.zeros(int(known.sum()), np.int64)
    cell, size = place[known] * columns + hour, world.size * columns
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, rows["minutes"].to_numpy()[known], size)
    return Delays(np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(world.size, columns))


def _of_realtime(path: Path) -> pl.DataFrame:
    """stop_id and minutes late of every stop time update that says a delay."""
    try:
        found = [update for entity in _parts(path.read_bytes(), 2) for update in _updates(entity)]
    except (OSError, IndexError, ValueError) as error:
        raise InputError(f"is not a GTFS-realtime feed ({error})", file=path) from error
    if not found:
        raise InputError("has no trip update with a stop and a delay", file=path)
    stops, delays = zip(*found, strict=True)
    return pl.DataFrame({"stop_id": list(stops), "minutes": [delay / 60 for delay in delays]})


def _updates(entity: bytes) -> Iterator[tuple[str, int]]:
    """From an entity: trip_update (3), stop_time_update (2), stop_id (4), arrival (2) and departure (3), delay (1)."""
    for update in (each for trip in _parts(entity, 3) for each in _parts(trip, 2)):
        stop = next(iter(_parts(update, 4)), None)
        event = next(iter(_parts(update, 3)), None) or next(iter(_parts(update, 2)), None)
        delay = None if event is None else next((value for at, value in _fields(event) if at == 1), None)
        if stop is not None and isinstance(delay, int):
            yield stop.decode(), delay - (1 << 64) if delay >> 63 else delay


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    """The embedded messages with a field number."""
    return (value for at, value in _fields(message) if at == number and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a protocol buffer."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise ValueError("it was cut off")
            yield tag >> 3, message[at : at + size]
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} is not known")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")
