"""What the promise says of trips in memory holds for files that are counted in pieces: riders, ledger, marks, ways."""

import numpy as np
import polars as pl
import pytest
from engine_worlds import WORLDS, random_visits

from wayveil.counting import file_pieces, stream
from wayveil.counting.engines import MemoryEngine, open_source
from wayveil.counting.steps import RawFacts, Steps
from wayveil.counting.stream import StreamEngine
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.ledger.fingerprint import Fingerprinter, fingerprint
from wayveil.privacy.units import Event, Rider, Trip
from wayveil.run import make_release as release
from wayveil.simulate.city import simulate_city
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.visits import read_visits, write_visits

CITY = WORLDS["network"]
KEY = bytes(range(32))
TREE = NoisyPrefixTree(height=3)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(file_pieces, "ROWS", 60)
    monkeypatch.setattr(stream, "PIECE", 50)


def test_a_rider_named_in_some_rows_only_is_bounded_as_one(tmp_path):
    table = random_visits(4, CITY).with_row_index()
    nobody = pl.when(pl.col("index") % 3 == 0).then(pl.lit(" NA ")).otherwise("rider_id")
    path = tmp_path / "trips.csv"
    table.with_columns(rider_id=nobody).drop("index").write_csv(path)
    trips, unit = read_visits(path, CITY), Rider(max_trips=1, without_id="own")
    read = [read_lengths(engine, source, unit) for engine, source in both(path, trips)]
    assert read[0] == read[1]
    assert sum(read[0][1]) < len(trips), "some riders have several trips"


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\ufeff", "\x0b", "\u00a0NA", "!\u00a0"])
def test_a_rider_is_bounded_once_whatever_stands_for_no_id(tmp_path, blank):
    """DuckDB took a no-break space for a rider, and the rest of the rider's trips was bounded a second time."""
    rows = [(f"t{trip:03d}", f"{'!' if trip % 2 else blank}", trip % 5) for trip in range(60)]
    rows += [(trip, "!", place) for trip, _, place in rows]
    names = ["trip_id", "rider_id", "stop"]
    table = pl.DataFrame(rows, schema=names, orient="row").sample(fraction=1, shuffle=True, seed=1)
    path = tmp_path / "trips.csv"
    table.select("trip_id", "rider_id", stop_id=pl.Series(CITY.ids[table["stop"].to_numpy()])).write_csv(path)
    trips, unit = read_visits(path, CITY), Rider(max_trips=3)
    for engine, source in both(path, trips):
        assert sum(read_lengths(engine, source, unit)[1]) == 3


def both(path, trips):
    return (MemoryEngine(), trips), (StreamEngine(path.parent), TripFiles.at(path, CITY))


def read_lengths(engine, source, unit):
    gate = Gate(unit, Budget(1), SeededBits(2))
    with engine.open(source, Steps(LegalityRule()), gate) as read:
        counts = read.counter().lengths(30)
    return counts.keys.tolist(), counts.counts.tolist(), gate.unit


def test_units_of_visits_pay_for_the_rule_as_in_memory(tmp_path):
    path = tmp_path / "trips.parquet"
    random_visits(4, CITY).write_parquet(path)
    units = [
        read_lengths(engine, source, Event())[2] for engine, source in both(path, read_visits(path, CITY))
    ]
    assert units[0] == units[1]
    assert units[0].stability.visits is None


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_parts_have_the_fingerprint_of_the_whole(tmp_path, kind):
    path = tmp_path / f"trips.{kind}"
    table = random_visits(5, CITY, trips=60)
    table.write_parquet(path) if kind == "parquet" else table.write_csv(path)
    whole = fingerprint(read_visits(path, CITY), KEY)
    gate = Gate(Trip(), Budget(1), SeededBits(2))
    opened = StreamEngine(tmp_path).open(
        TripFiles.at(path, CITY), Steps(LegalityRule()), gate, Fingerprinter(CITY, KEY)
    )
    with opened as read:
        assert read.content.payload() == whole.payload()


def test_a_ledger_knows_files_again_under_another_name(tmp_path):
    path = tmp_path / "trips.parquet"
    random_visits(5, CITY, trips=60).write_parquet(path)
    ledger = open_ledger(tmp_path / "ledger")
    for name in ("may", "june"):
        ledger.set_policy(name, Policy(10, unit="rider"), actor="test")
    options = {"epsilon": 1, "unit": Rider(max_trips=2, without_id="own"), "ledger": ledger, "actor": "test"}
    release(read_visits(path, CITY), TREE, dataset="may", **options)
    files = TripFiles.at(path, CITY)
    with pytest.raises(WayveilError, match="may"):
        release(files, TREE, dataset="june", **options)
    assert ledger.spent("june") == 0
    release(files, TREE, dataset="may", **options)
    assert ledger.spent("may") == 2
    assert len({line.payload["content"] for line in ledger.entries() if line.kind == "content"}) == 1


def test_simulated_files_make_a_release_that_says_so_and_marked_ones_none(tmp_path):
    trips = simulate_city(small_network(2), 200, seed=1).trips
    write_visits(trips, tmp_path / "simulated.parquet")
    made = release(TripFiles.at(tmp_path / "simulated.parquet", trips.world), TREE, epsilon=1)
    assert "simulated" in made.datasheet["source"]
    marked = pl.read_parquet(tmp_path / "simulated.parquet").with_columns(wayveil_marks=pl.lit("filled"))
    marked.write_csv(tmp_path / "filled.csv")
    with pytest.raises(ParameterError, match="`filled`"):
        release(TripFiles.at(tmp_path / "filled.csv", trips.world), TREE, epsilon=1)


def test_legs_are_routed_in_pieces_as_in_memory(tmp_path):
    ends = simulate_city(small_network(2), 150, seed=2).trips
    ends = ends.keep_visits(np.isin(np.arange(ends.visits), [*ends.offsets[:-1], *(ends.offsets[1:] - 1)]))
    write_visits(ends, tmp_path / "legs.parquet")
    files = TripFiles.at(tmp_path / "legs.parquet", ends.world)
    tables = [
        release(
            files, TREE, epsilon=5, unit=Trip(), rows="legs", bits=SeededBits(1), engine=counter
        ).model.table()
        for counter in ("memory", "stream")
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].height > 3


def test_trips_that_do_not_fit_the_network_are_refused_before_anything_is_spent(tmp_path):
    rng = np.random.default_rng(1)
    stops = CITY.ids[rng.integers(0, CITY.size, 400)]
    pl.DataFrame({"trip_id": np.repeat(np.arange(40), 10), "stop_id": stops}).write_parquet(
        tmp_path / "a.parquet"
    )
    for counter in ("memory", "stream"):
        with pytest.raises(ParameterError, match=r"are not in the network.*Nothing was spent"):
            release(TripFiles.at(tmp_path / "a.parquet", CITY), TREE, epsilon=1, engine=counter)


def test_what_pieces_cannot_tell_is_asked_for_or_read_as_a_whole(tmp_path):
    path = tmp_path / "trips.parquet"
    table = random_visits(5, CITY)
    table.write_parquet(path)
    with pytest.raises(ParameterError, match="--no-rider"):
        release(TripFiles.at(path, CITY), TREE, epsilon=1)
    names = {"rider_id": "uid", "trip_id": "tid", "event_time": "datetime"}
    table.drop_nulls().rename(names).write_parquet(path)
    with pytest.raises(InputError, match="anew for every rider"):
        TripFiles.at(path, CITY)
    assert open_source(path, CITY)[1] == MemoryEngine()
    with pytest.raises(ParameterError, match="ids of their own"):
        open_source(path, CITY, "stream")


def test_what_was_seen_of_pieces_adds_up():
    assert RawFacts(3, moves=5, lacking=1).joined(RawFacts(2, moves=1, lacking=1)) == RawFacts(
        5, moves=6, lacking=2
    )
    with pytest.raises(ParameterError, match="no trips"):
        RawFacts().require()
