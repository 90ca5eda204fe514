"""Settings of the studies: LK-anonymity on SafePath's universe, GLOVE on taxis in 5-minute bins, uniqueness of cards.

    python -m bench.risk_studies

20 places x 24 hours are the universe of the SafePath study; its records are simulated here, 200,000 of them.
"""

import time

import numpy as np
import polars as pl

from bench.worlds import MissingDataError, data
from wayveil.attacks.knowledge import pinned_down
from wayveil.lab.syntactic.glove import Glove
from wayveil.lab.syntactic.lk_anonymity import LKAnonymity
from wayveil.lab.syntactic.method import anonymise
from wayveil.privacy.bits import SeededBits
from wayveil.trips.trips import Trips
from wayveil.world.geo import haversine
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.world import World

HOUR, BIN = 3_600, 300
TAXI_CELL = 0.005  # degrees, about half a kilometre
FIRST_HOUR, HOURS = 8, 8


def safepath_records(count: int = 200_000, seed: int = 1) -> Trips:
    """Passengers at 20 places over 24 hours, 1 to 8 visits each, busy places and hours more often."""
    rng = np.random.default_rng(seed)
    world = World.of_symbols([f"p{i:02d}" for i in range(20)])
    lengths = rng.integers(1, 9, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.minimum(rng.geometric(0.12, offsets[-1]) - 1, 19)
    hour = np.clip(np.rint(rng.normal(13, 4.5, offsets[-1])), 0, 23).astype(np.int64)
    record = np.repeat(np.arange(count), lengths)
    order = np.lexsort((hour, record))
    return Trips(place[order].astype(np.int32), offsets, world, hour[order] * HOUR)


def suppression() -> list[dict[str, object]]:
    raw = safepath_records()
    rows = []
    for how in ("global", "local"):
        start = time.process_time()
        made = anonymise(raw, LKAnonymity(L=2, K=5, suppression=how))
        facts = made.datasheet["facts"]
        rows.append(
            {
                "table": "LK-anonymity, 20 x 24, L = 2, K = 5",
                "suppression": how,
                "records": len(raw),
                "suppressed visits": facts["suppressed_visits"],
                "share": facts["suppressed_share"],
                "records left": facts["trips_left"],
                "CPU seconds": time.process_time() - start,
            }
        )
    return rows


def grid_network(lat: np.ndarray, lon: np.ndarray) -> tuple[Network, np.ndarray]:
    """Cells over a box as places, and the place of every point; no moves are given."""
    row = np.floor((lat - lat.min()) / TAXI_CELL).astype(np.int64)
    column = np.floor((lon - lon.min()) / TAXI_CELL).astype(np.int64)
    wide = int(column.max()) + 1
    count = (int(row.max()) + 1) * wide
    at = np.arange(count)
    ids = np.array([f"c{i:07d}" for i in at])
    places = Places(
        ids, ids, lat.min() + (at // wide + 0.5) * TAXI_CELL, lon.min() + (at % wide + 0.5) * TAXI_CELL
    )
    step = np.column_stack([at[at % wide < wide - 1], at[at % wide < wide - 1] + 1])
    both = np.unique(np.concatenate([step, step[:, ::-1]]), axis=0)
    source, target = both.T
    edges = Edges(
        np.searchsorted(source, np.arange(count + 1)).astype(np.int64),
        target.astype(np.int32),
        np.full(len(both), 60, np.int32),
        haversine(places.lat[source], places.lon[source], places.lat[target], places.lon[target]),
        np.zeros(len(both), bool),
        np.ones(len(both), np.int64),
        np.zeros(len(both) + 1, np.int64),
        np.empty(0, np.int32),
    )
    none = np.empty(0, np.str_)
    network = Network(
        places, edges, Routes(none, none, np.empty(0, np.int32)), Platforms(ids, at.astype(np.int32))
    )
    return network, row * wide + column


def taxis() -> Trips:
    """Shenzhen's taxis over 8 hours, one point per 5 minutes and taxi: the last of each bin."""
    path = data("shenzhen-taxi", "TaxiData-Sample.csv.gz")
    table = pl.read_csv(
        path, has_header=False, new_columns=["taxi", "clock", "lon", "lat", "occupied", "speed"]
    )
    part = pl.col("clock").str.split(":").list
    seconds = part.get(0).cast(pl.Int64) * HOUR + part.get(1).cast(pl.Int64) * 60 + part.get(2).cast(pl.Int64)
    table = (
        table.with_columns(seconds.alias("second"))
        .filter(pl.col("second").is_between(FIRST_HOUR * HOUR, (FIRST_HOUR + HOURS) * HOUR, "left"))
        .filter(pl.col("lat").is_between(22.4, 22.9) & pl.col("lon").is_between(113.7, 114.7))
        .with_columns((pl.col("second") // BIN).alias("bin"))
        .sort("taxi", "second")
        .group_by("taxi", "bin", maintain_order=True)
        .last()
    )
    network, place = grid_network(table["lat"].to_numpy(), table["lon"].to_numpy())
    _, rider, lengths = np.unique(table["taxi"].to_numpy(), return_inverse=True, return_counts=True)
    time_of = table["bin"].to_numpy().astype(np.int64) * BIN
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Trips(place.astype(np.int32), offsets, network, time_of, np.unique(rider).astype(np.int64))


def groups() -> list[dict[str, object]]:
    raw = taxis()
    rows = []
    for k in (2, 4, 8):
        start = time.process_time()
        facts = anonymise(raw, Glove(k=k), bits=SeededBits(1)).datasheet["facts"]
        rows.append(
            {
                "table": "GLOVE, Shenzhen, 5-minute bins over 8 hours",
                "taxis": len(raw),
                "points": raw.visits,
                "k": k,
            }
            | facts
            | {"CPU seconds": time.process_time() - start}
        )
    return rows


def cards() -> list[dict[str, object]]:
    """Cards of Buenos Aires by 1 to 3 taps: the place to a thousandth of a degree, the line and the hour."""
    taps = pl.read_csv(data("buenos-aires", "taps.csv"), infer_schema_length=None)
    rows = []
    for label, columns in {
        "place and hour": ["lat", "lon", "hora"],
        "place, line and hour": ["lat", "lon", "id_linea", "hora"],
    }.items():
        known = taps.drop_nulls(["lat", "lon"])
        point = (
            known.select(columns).with_columns(pl.struct(columns).rank("dense").alias("p"))["p"].to_numpy()
            - 1
        )
        _, card = np.unique(known["id_tarjeta"].to_numpy(), return_inverse=True)
        rates = pinned_down(card.astype(np.int64), point.astype(np.int64), int(card.max()) + 1, most=3)
        rows.append(
            {"table": "Uniqueness, Buenos Aires", "known": label, "cards": int(card.max()) + 1}
            | {f"{i} points": str(rate) for i, rate in enumerate(rates, start=1)}
        )
    return rows


def run() -> list[dict[str, object]]:
    """All rows; a part whose data are not here says so."""
    rows = []
    for part in (cards, groups, suppression):
        try:
            rows += part()
        except MissingDataError as error:
            rows.append({"table": part.__name__, "skipped": str(error)})
    return rows


if __name__ == "__main__":
    for row in run():
        print(row, flush=True)
