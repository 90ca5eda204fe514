"""The engine `stream` gives exactly the counts of `memory`, whatever the pieces, and its checks the same sentences."""

import os
import stat
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from engine_worlds import RULES, UNITS, WORLDS, every_count, random_visits
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from wayveil.counting import engines, file_pieces, group_tables, prepared, scratch, stream
from wayveil.counting.engines import MemoryEngine, choose_engine, make_engine
from wayveil.counting.scratch import scratch_space
from wayveil.counting.steps import Steps
from wayveil.counting.stream import StreamEngine
from wayveil.errors import InputError, ParameterError, UnknownStopError, WayveilError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.run import make_release as release
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.visits import read_visits


def counts_of(engine, trips, unit, rule, **options):
    with engine.open(trips, Steps(rule), Gate(unit, Budget(1), SeededBits(5))) as read:
        return every_count(read.counter(), **options)


@settings(max_examples=25, phases=[Phase.generate])
@given(
    st.integers(0, 2**20),
    st.sampled_from(sorted(WORLDS)),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(sorted(RULES)),
    st.booleans(),
    st.sampled_from(["parquet", "csv"]),
    st.integers(1, 3),
    st.integers(5, 400),
)
def test_every_count_is_that_of_memory_for_any_pieces(
    tmp_path_factory, seed, world, unit, rule, in_order, kind, parts, rows
):
    folder = tmp_path_factory.mktemp("trips")
    table = random_visits(seed, WORLDS[world], in_order=in_order)
    whole = folder / f"whole.{kind}"
    split = folder / "parts"
    split.mkdir()
    write(table, whole)
    cuts = np.linspace(0, table.height, parts + 1).astype(int)
    for number, (a, b) in enumerate(pairwise(cuts.tolist())):
        write(table.slice(a, b - a), split / f"part-{number}.{kind}")
    memory = counts_of(MemoryEngine(), read_visits(whole, WORLDS[world]), UNITS[unit], RULES[rule])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_pieces, "ROWS", rows)
        patch.setattr(stream, "PIECE", rows)
        patch.setattr(stream, "WALKING", rows)
        patch.setattr(group_tables, "MOST_GROUPS", rows)
        streamed = counts_of(
            StreamEngine(folder), TripFiles.at(split, WORLDS[world]), UNITS[unit], RULES[rule]
        )
    assert streamed == memory
    assert [path.name for path in folder.iterdir() if path.name.startswith(scratch.PREFIX)] == []


def write(table, path):
    table.write_parquet(path, row_group_size=50) if path.suffix == ".parquet" else table.write_csv(path)


MECHANISMS = [
    Weave(weakest=0),
    NoisyPrefixTree(height=4),
    NoisyPrefixTree(height=4, private_height=True),
    Markov(lengths_share="1/10"),
    MobiTrie(most=2),
    VariableNgrams(n_max=3, moves=5, private_moves=True),
    TapCounts(max_visits=2),
    PPDP(height=2),
    SafePath(height=2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_a_whole_release_is_the_same_to_the_last_byte(tmp_path, mechanism, monkeypatch):
    random_visits(3, WORLDS["network"], trips=300).write_parquet(tmp_path / "raw.parquet", row_group_size=100)
    monkeypatch.setattr(file_pieces, "ROWS", 500)
    monkeypatch.setattr(stream, "PIECE", 300)
    files = TripFiles.at(tmp_path / "raw.parquet", WORLDS["network"])
    saved = [
        release(
            files,
            mechanism,
            epsilon=4,
            unit=Rider(max_trips=2, without_id="own"),
            bits=SeededBits(1),
            seed=1,
            engine=counter,
        ).save(tmp_path / counter)
        for counter in ("memory", "stream")
    ]
    for name in ("trips.parquet", "model.parquet", "datasheet.json"):
        assert (saved[0] / name).read_bytes() == (saved[1] / name).read_bytes()


def problem_of(engine, path, world="network", unit=None, **options):
    with (
        pytest.raises(WayveilError) as caught,
        engine.open(
            TripFiles.at(path, WORLDS[world], **options),
            Steps(RULES["keep"]),
            Gate(unit or Trip(), Budget(1), SeededBits(0)),
        ),
    ):
        pass
    return caught.value


def spoiled(column, row, value):
    table = random_visits(1, WORLDS["network"], in_order=True)
    text = table.with_columns(pl.col(column).cast(pl.String))
    return text.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value, pl.String)).otherwise(column).alias(column)
    )


PROBLEMS = {
    "unknown stop": ("stop_id", 77, "nowhere"),
    "missing stop": ("stop_id", 77, None),
    "missing trip": ("trip_id", 77, None),
    "bad seq": ("seq", 77, "x"),
    "time backwards": ("event_time", 77, "1"),
    "unreadable time": ("event_time", 77, "noon"),
    "other form of time": ("event_time", 77, "08:00:00"),
    "missing time": ("event_time", 77, None),
}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_told_in_the_words_of_the_reader(tmp_path, monkeypatch, name, kind):
    path = tmp_path / f"trips.{kind}"
    write(spoiled(*PROBLEMS[name]), path)
    monkeypatch.setattr(file_pieces, "ROWS", 20)
    with pytest.raises(InputError) as expected:
        read_visits(path, WORLDS["network"])
    found = problem_of(StreamEngine(tmp_path), path)
    assert (str(found), found.file, found.row) == (str(expected.value), str(path), 78)
    assert type(found) is type(expected.value)


def test_a_problem_in_a_later_file_is_told_with_that_file(tmp_path):
    table = spoiled("stop_id", 77, "nowhere")
    write(table.slice(0, 50), tmp_path / "a.parquet")
    write(table.slice(50), tmp_path / "b.parquet")
    found = problem_of(StreamEngine(), tmp_path)
    assert isinstance(found, UnknownStopError)
    assert (found.file, found.row) == (str(tmp_path / "b.parquet"), 28)


def test_a_trip_of_two_riders_is_found_in_files_that_have_to_be_sorted(tmp_path):
    table = random_visits(1, WORLDS["network"])
    row = table["rider_id"].is_not_null().arg_max()
    spoiled = table.with_columns(
        rider_id=pl.when(pl.int_range(pl.len()) == row).then(pl.lit("zz")).otherwise("rider_id")
    )
    write(spoiled, tmp_path / "a.parquet")
    found = problem_of(StreamEngine(), tmp_path, unit=Rider(max_trips=2, without_id="own"))
    assert "belongs to more than one rider" in str(found)


def test_scratch_is_private_and_gone_after_an_error(tmp_path):
    def stopped():
        with scratch_space(tmp_path, 0) as folder:
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
            (folder / "raw").write_text("raw")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


def test_scratch_of_a_killed_run_is_swept_and_a_living_ones_is_not(tmp_path):
    dead = tmp_path / f"{scratch.PREFIX}999999999-x"
    living = tmp_path / f"{scratch.PREFIX}{os.getppid()}-x"
    dead.mkdir()
    living.mkdir()
    with scratch_space(tmp_path, 0):
        assert not dead.exists()
    assert list(tmp_path.iterdir()) == [living]


def test_without_duckdb_memory_counts_and_stream_says_how_to_install_it(tmp_path, monkeypatch):
    random_visits(1, WORLDS["network"]).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(stream, "find_spec", lambda name: None)
    found = problem_of(StreamEngine(tmp_path), tmp_path / "a.parquet")
    assert "pip install 'wayveil[stream]'" in str(found)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    files = TripFiles.at(tmp_path / "a.parquet", WORLDS["network"])
    assert choose_engine(files)[0].name == "memory"
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    with MemoryEngine().open(files, Steps(RULES["keep"]), gate) as opened:
        assert opened.counter() is not None


def test_too_small_a_scratch_is_said_before_anything_is_read(tmp_path, monkeypatch):
    random_visits(1, WORLDS["network"]).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda place: Disk(10))
    found = problem_of(StreamEngine(tmp_path), tmp_path / "a.parquet")
    assert "of temporary space" in str(found)
    assert "Nothing was spent" in str(found)


class Disk:
    def __init__(self, free):
        self.free = free


def test_a_disk_that_fills_up_while_reading_is_a_sentence_and_nothing_is_spent(tmp_path, monkeypatch):
    random_visits(1, WORLDS["network"]).write_parquet(tmp_path / "a.parquet")

    def full(file, column):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepared, "_write_whole", full)
    gate = Gate(Trip(), Budget(1), SeededBits(0))
    files = TripFiles.at(tmp_path / "a.parquet", WORLDS["network"])
    with (
        pytest.raises(WayveilError, match="is full; name a larger place"),
        StreamEngine(tmp_path).open(files, Steps(RULES["keep"]), gate),
    ):
        pass
    assert gate.budget.spent == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_auto_takes_memory_for_what_fits_and_says_why(tmp_path, monkeypatch):
    random_visits(1, WORLDS["network"]).write_parquet(tmp_path / "a.parquet")
    files = TripFiles.at(tmp_path / "a.parquet", WORLDS["network"])
    assert choose_engine(files)[0].name == "memory"
    monkeypatch.setattr(engines, "free_memory", lambda: 10)
    engine, why = choose_engine(files, scratch=tmp_path)
    assert engine == StreamEngine(tmp_path)
    assert "engine: stream" in why


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: make_engine("abacus"), "unknown engine"),
        (lambda: make_engine("stream", spark="local[2]"), "spark gives the address"),
        (lambda: make_engine("memory", scratch="/tmp"), "omit scratch"),
        (lambda: TripFiles.at([], WORLDS["plain"]), "no file"),
    ],
)
def test_options_that_have_no_meaning_are_refused(make, word):
    with pytest.raises(ParameterError, match=word):
        make()
