"""The engine `spark` gives exactly the counts of `memory`, and says in a sentence what is missing."""

import shutil

import pytest
from engine_worlds import RULES, UNITS, WORLDS, random_visits
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from test_stream import counts_of, write

from wayveil.counting import spark_session
from wayveil.counting.engines import MemoryEngine
from wayveil.counting.spark import SparkEngine
from wayveil.counting.spark_session import check_address
from wayveil.trips.files import TripFiles
from wayveil.trips.visits import read_visits

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'wayveil[spark]'")
java = pytest.mark.skipif(shutil.which("java") is None, reason="Java is missing, which Spark needs")


@pytest.fixture(scope="session")
def session():
    """One Spark for all tests."""
    check_address("local[2]")
    made = spark_session._session("local[2]")
    yield made
    made.stop()


@java
@settings(max_examples=4, phases=[Phase.generate])
@given(
    st.integers(0, 2**20),
    st.sampled_from(sorted(WORLDS)),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(sorted(RULES)),
    st.sampled_from(["parquet", "csv"]),
    st.booleans(),
)
def test_every_count_is_that_of_memory(tmp_path_factory, session, seed, world, unit, rule, kind, kept):
    folder = tmp_path_factory.mktemp("trips")
    table = random_visits(seed, WORLDS[world])
    (folder / "parts").mkdir()
    write(table, folder / f"whole.{kind}")
    half = table.height // 2
    write(table.slice(0, half), folder / "parts" / f"a.{kind}")
    write(table.slice(half), folder / "parts" / f"b.{kind}")
    memory = counts_of(
        MemoryEngine(), read_visits(folder / f"whole.{kind}", WORLDS[world]), UNITS[unit], RULES[rule]
    )
    engine = SparkEngine(session=session, scratch=folder if kept else None)
    files = TripFiles.at(folder / "parts", WORLDS[world])
    assert counts_of(engine, files, UNITS[unit], RULES[rule]) == memory
