"""The engine `stream` gives exactly the counts of `memory`, whatever the pieces, and its checks the same sentences."""

import os
import stat

import numpy as np
import polars as pl
import pytest
from engine_worlds import RULES, UNITS, WORLDS, every_count, random_visits
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from wayveil.counting import file_pieces, group_tables, scratch, stream
from wayveil.counting.engines import MemoryEngine, choose_engine, make_engine
from wayveil.counting.scratch import scratch_space
from wayveil.counting.stream import StreamEngine
from wayveil.errors import InputError, ParameterError, UnknownStopError, WayveilError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.trips.files import TripFiles
from wayveil.trips.visits import read_visits


def counts_of(engine, trips, unit, rule):
    with engine.open(trips, rule, Gate(unit, Budget(1), SeededBits(5))) as counter:
        return every_count(counter)


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
    for number, (a, b) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        write(table.slice(a, b - a), split / f"part-{number}.{kind}")
    memory = counts_of(
        MemoryEngine(), read_visits(whole, WORLDS[world]), UNITS[unit], RULES[rule]
    )
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
