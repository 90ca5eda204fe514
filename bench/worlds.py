"""The benchmark worlds: public trips of very different kinds, each with its public universe.

    from bench.worlds import WORLDS
    trips = WORLDS["tube"]()

Files come from WAYVEIL_DATA (default ../shared/data from the project's root). Without them a world raises
`MissingDataError`, and whoever asked says so and goes on.
"""

import os
import re
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from bench.weeks import week
from wayveil.simulate.city import simulate_city
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.world.geo import haversine
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Edges, Network, Places, Platforms, Routes
from wayveil.world.paths import along_paths, shortest_paths
from wayveil.world.timebins import DAY
from wayveil.world.world import World

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BERLIN = "52.34,13.09,52.68,13.76"
TUBE_JOURNEYS = 400_000
MONTREAL_RIDERS = 200_000
SECONDS_PER_STATION = 120
GREATER_BUENOS_AIRES = (-35.05, -34.15, -59.10, -57.90)  # south, north, west, east
CELL_DEGREES = 0.03
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class MissingDataError(Exception):
    """The files of a world are not on this machine."""


def data(*parts: str) -> Path:
    """A file of the public data sets."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"{path} is not there; point WAYVEIL_DATA at the public data sets")
    return path


def of_codes(codes: np.ndarray, lengths: np.ndarray, world: World, **columns: np.ndarray) -> Trips:
    """Trips from one flat column of location indices."""
    return Trips(codes.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]), world, **columns)


def station_key(name: str) -> str:
    """Names of one station differ between files in marks, `and`, and words in brackets."""
    name = re.sub(r"\(.*\)", "", name.lower().replace("&", " ").replace("terms", "terminals"))
    return re.sub(r"\band\b|[^a-z0-9]", "", name)


def tube_network() -> Network:
    """The Tube and DLR as a graph; two minutes a station. Coordinates come from TfL's list of stations; a station
    that the list does not have lies in the middle of its neighbours.
    """
    pairs = [line.split(";") for line in data("london-tube", "tube.edges").read_text().splitlines() if line]
    named = [(a.strip(), b.strip()) for a, b, *_ in pairs]
    ids = np.array(sorted({name for pair in named for name in pair}))
    place = {name: i for i, name in enumerate(ids.tolist())}
    links = np.array([(place[a], place[b]) for a, b in named if a != b])
    both = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0)
    listed = pl.read_csv(data("london-oyster", "londonStations.csv"))
    known = {station_key(row["Station"]): (row["Latitude"], row["Longitude"]) for row in listed.to_dicts()}
    known["bankmonument"] = known[station_key("Bank")]
    where = np.array([known.get(station_key(name), (np.nan, np.nan)) for name in ids.tolist()])
    for _ in range(5):
        for i in np.flatnonzero(np.isnan(where[:, 0])):
            around = where[both[both[:, 0] == i][:, 1]]
            if not np.isnan(around[:, 0]).all():
                where[i] = np.nanmean(around, axis=0)
    source, target = both.T
    count, none = len(both), np.empty(0, np.str_)
    metres = haversine(*where[source].T, *where[target].T)
    edges = Edges(
        np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(ids)))]),
        target.astype(np.int32),
        np.full(count, SECONDS_PER_STATION, np.int32),
        metres,
        np.zeros(count, bool),
        np.ones(count, np.int64),
        np.zeros(count + 1, np.int64),
        np.empty(0, np.int32),
    )
    places = Places(ids, ids, where[:, 0], where[:, 1])
    routes = Routes(none, none, np.empty(0, np.int32))
    return Network(
        places, edges, routes, Platforms(ids, np.arange(len(ids), dtype=np.int32)), name="London Tube"
    )


def tube(journeys: int | None = TUBE_JOURNEYS) -> Trips:
    """Journeys between stations from yearly OD counts, routed by the fewest stations; without times.

    `journeys` of the 4.3 million are drawn without replacement; None for all of them.
    """
    network = tube_network()
    text = data("london-tube", "tube_od.csv").read_text(errors="replace")
    rows = [[part.strip() for part in line.split(";")] for line in text.splitlines() if line]
    origin, destination = (network.index_of([row[i] for row in rows]) for i in (0, 1))
    count = np.array([int(row[2]) for row in rows])
    if journeys is not None:
        count = np.random.default_rng(1).multivariate_hypergeometric(count, journeys, method="marginals")
    keep = (origin >= 0) & (destination >= 0) & (origin != destination)
    origin, destination, count = origin[keep], destination[keep], count[keep]
    paths = shortest_paths(network, np.repeat(origin, count), np.repeat(destination, count), "stops")
    return Trips(paths.location, paths.offsets, network).take(paths.reachable)


def oyster() -> Trips:
    """Rail journeys of a week in November 2009: entry and exit with the same trip id, routed on the Tube graph.

    The entry minute is real; stations in between follow at two minutes each. Journeys with an end outside the
    graph are left out.
    """
    network = tube_network()
    index = {station_key(name): i for i, name in enumerate(network.ids.tolist())}
    parts = [data("london-oyster", f"subwaytestfullweek.csv.a{part}.gz") for part in "abcdefghi"]
    events = pl.concat(
        pl.read_csv(
            part,
            has_header=False,
            infer_schema=False,
            quote_char=None,
            truncate_ragged_lines=True,
        )
        .select(day="column_0", minute="column_1", event="column_2", journey="column_3", station="column_5")
        .filter(pl.col("event").is_in(["BEGINTRIP", "ENDTRIP"]))
        for part in parts
    )
    where = {name: index.get(station_key(name), -1) for name in events["station"].drop_nulls().unique()}
    hour, minute = (pl.col("minute").str.split(":").list.get(i).cast(pl.Int64) for i in (0, 1))
    day = pl.col("day").replace_strict(WEEKDAYS, range(len(WEEKDAYS)), return_dtype=pl.Int64)
    table = events.select(
        "journey",
        pl.col("event") == "BEGINTRIP",
        pl.col("station").replace_strict(where, default=-1, return_dtype=pl.Int64),
        moment=day * DAY + hour * 3600 + minute * 60,
    )
    begun = [pl.col(name).shift(1).over("journey") for name in ("event", "station", "moment")]
    ended = table.select("event", "station", before=begun[0], origin=begun[1], moment=begun[2])
    ended = ended.filter(
        ~pl.col("event")
        & pl.col("before")
        & (pl.col("origin") >= 0)
        & (pl.col("station") >= 0)
        & (pl.col("origin") != pl.col("station"))
    )
    origin, destination, moment = (ended[name].to_numpy() for name in ("origin", "station", "moment"))
    paths = shortest_paths(network, origin, destination, "stops")
    routed = Trips(paths.location, paths.offsets, network)
    passed = along_paths(network, routed.location, routed.offsets, network.seconds).astype(np.int64)
    time = passed + np.repeat(moment + 4 * DAY, routed.lengths)  # the first Monday of the timeline
    return Trips(routed.location, routed.offsets, network, time).take(paths.reachable)


@cache
def berlin_network() -> Network:
    """The Berlin network inside the city's box, as in the MobiTrie study."""
    return read_gtfs(data("berlin", "gtfs.zip"), bbox=BERLIN, name="Berlin")


def berlin_10k() -> Trips:
    """10,000 riders who take the shortest way, one trip each."""
    return simulate_city(berlin_network(), 10_000, seed=1).trips


def berlin_1m() -> Trips:
    """A million of them."""
    return simulate_city(berlin_network(), 1_000_000, seed=1).trips


def berlin_habit() -> Trips:
    """10,000 riders of another kind: they board what comes first, misjudge costs together, and have habits."""
    return simulate_habit(berlin_network(), 10_000, seed=1)


def berlin_riders() -> Trips:
    """8,000 riders with one to four trips each, as many with one as with four: 20,000 trips or so."""
    riders, most = 8_000, 4
    trips = simulate_city(berlin_network(), riders, seed=1, trips_per_rider=most).trips
    made = np.random.default_rng(1).integers(1, most + 1, riders)
    return trips.take(np.tile(np.arange(most), riders) < np.repeat(made, most))


def montreal_week() -> Trips:
    """A simulated week of taps at the metro's stations; a trip is a rider's week, as in the SafePath study.

    Whoever taps again is anywhere by then, so what follows what is not bound by the tracks: a plain list of stations.
    """
    taps = week("metro", MONTREAL_RIDERS)
    return Trips(
        taps.location, taps.offsets, World.of_symbols(taps.world.ids.tolist()), taps.time, taps.rider
    )


def msnbc() -> Trips:
    """Page categories that users of a news site looked at on one day; the universe is the site's 17 categories."""
    with zipfile.ZipFile(data("msnbc", "msnbc990928.zip")) as archive:
        text = archive.read("msnbc990928.seq").decode()
    lines = [line.split() for line in text.splitlines()]
    rows = [line for line in lines if line and all(symbol.isdigit() for symbol in line)]
    world = World.of_symbols([f"{i:02d}" for i in range(1, 18)])
    codes = np.array([int(symbol) - 1 for row in rows for symbol in row])
    return of_codes(codes, np.array([len(row) for row in rows]), world)


def sequences(rows: list[list[str]]) -> Trips:
    """Sequences whose universe is the list of symbols in them: public lists (airports, stations, products)."""
    world = World.of_symbols(sorted({symbol for row in rows for symbol in row}))
    codes = world.index_of([symbol for row in rows for symbol in row])
    return of_codes(codes, np.array([len(row) for row in rows]), world)


def flights() -> Trips:
    """Airline itineraries as sequences of airports."""
    lines = data("flights", "US_flights_train.ngram").read_text().splitlines()
    return sequences([line.strip().split(",") for line in lines if line.strip()])


def gazelle() -> Trips:
    """Clicks on products of a web shop (BMS1)."""
    lines = data("sequences", "BMS1_gazelle.dat").read_text().splitlines()
    return sequences([[s for s in line.split() if not s.startswith("-")] for line in lines if line.strip()])


def bikeshare() -> Trips:
    """The stations that each bike stands at on each day, in order: where its rides begin, and where the last one
    ends.
    """
    rides = (
        pl.read_csv(data("bikeshare", "batrips.csv.gz"), infer_schema_length=None)
        .with_columns(pl.col("start_date").cast(pl.String).str.slice(0, 10).alias("day"))
        .sort("bike_id", "start_date", "trip_id")
        .group_by("bike_id", "day", maintain_order=True)
        .agg(
            pl.col("start_terminal").cast(pl.String),
            pl.col("end_terminal").cast(pl.String).last().alias("end"),
        )
    )
    rows = rides.select("start_terminal", "end").iter_rows()
    return sequences([[*starts, end] for starts, end in rows])


def buenos_aires() -> Trips:
    """Smart-card taps of one day: a trip is a card's day, a location a cell of 0.03 degrees (about 3 km) of a public
    box around the city, with the hour of the tap. Taps without coordinates or outside the box are left out.
    """
    south, north, west, east = GREATER_BUENOS_AIRES
    rows, columns = round((north - south) / CELL_DEGREES), round((east - west) / CELL_DEGREES)
    taps = (
        pl.read_csv(data("buenos-aires", "taps.csv"), infer_schema_length=None)
        .filter(pl.col("lat").is_between(south, north, "left") & pl.col("lon").is_between(west, east, "left"))
        .sort("id_tarjeta", "hora", "id")
    )
    row = ((taps["lat"].to_numpy() - south) / CELL_DEGREES).astype(int).clip(0, rows - 1)
    column = ((taps["lon"].to_numpy() - west) / CELL_DEGREES).astype(int).clip(0, columns - 1)
    world = World.of_symbols([f"{r:02d}-{c:02d}" for r in range(rows) for c in range(columns)])
    _, card = np.unique(taps["id_tarjeta"].to_numpy(), return_inverse=True)
    lengths = np.bincount(card)
    time = taps["hora"].to_numpy().astype(np.int64) * 3600
    rider = np.arange(len(lengths), dtype=np.int64)
    return of_codes(row * columns + column, lengths, world, time=time, rider=rider)


WORLDS: dict[str, Callable[[], Trips]] = {
    "tube": tube,
    "berlin-10k": berlin_10k,
    "berlin-10k-habit": berlin_habit,
    "berlin-riders": berlin_riders,
    "berlin-1m": berlin_1m,
    "montreal-week": montreal_week,
    "msnbc": msnbc,
    "flights": flights,
    "buenos-aires": buenos_aires,
    "oyster": oyster,
    "bikeshare": bikeshare,
    "gazelle": gazelle,
}
