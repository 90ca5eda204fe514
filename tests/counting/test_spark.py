"""The engine `spark` gives exactly the counts of `memory`, and says in a sentence what is missing."""

import shutil
from datetime import date

import polars as pl
import pytest
from engine_worlds import RULES, UNITS, WORLDS, random_visits
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from test_stream import PROBLEMS, counts_of, problem_of, spoiled, write

from wayveil.counting import spark_session
from wayveil.counting.engines import MemoryEngine
from wayveil.counting.spark import SparkEngine
from wayveil.counting.spark_session import SparkError, check_address
from wayveil.counting.steps import Steps
from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider
from wayveil.run import make_release as release
from wayveil.trips.ids import BLANKS, known_ids, spark_id
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.visits import read_visits

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'wayveil[spark]'")
java = pytest.mark.skipif(shutil.which("java") is None, reason="Java is missing, which Spark needs")


spark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="session")
def session():
    """One Spark for all tests, with few partitions: every one is a task."""
    check_address("local[2]")
    made = spark_session._session("local[2]")
    made.conf.set("spark.sql.shuffle.partitions", "2")
    yield made
    made.stop()


def agree(folder, engine, seed, world, unit, rule, kind, **options):
    """Whether an engine gives the counts of memory for the same rows in two files."""
    table = random_visits(seed, WORLDS[world])
    (folder / "parts").mkdir()
    write(table, folder / f"whole.{kind}")
    half = table.height // 2
    write(table.slice(0, half), folder / "parts" / f"a.{kind}")
    write(table.slice(half), folder / "parts" / f"b.{kind}")
    whole = read_visits(folder / f"whole.{kind}", WORLDS[world])
    memory = counts_of(MemoryEngine(), whole, UNITS[unit], RULES[rule], **options)
    files = TripFiles.at(folder / "parts", WORLDS[world])
    return counts_of(engine, files, UNITS[unit], RULES[rule], **options) == memory


@java
@spark
@pytest.mark.parametrize("unit", ["rider", "rider-weighed"])
def test_every_count_is_that_of_memory(tmp_path, session, unit):
    engine = SparkEngine(session=session, scratch=tmp_path)
    assert agree(tmp_path, engine, 5, "network", unit, "cut", "parquet", levels_deep=3)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("wayveil")] == []


@java
@spark
def test_a_rider_is_bounded_once_whatever_stands_for_no_id(tmp_path, session):
    """Java took a no-break space for a rider, and the rest of the rider's trips was bounded a second time."""
    blanks = ["r", *BLANKS, "\u00a0NA", "NA"]
    texts = [blank if blank.strip(BLANKS) else f"{blank}r{blank}" for blank in blanks] + blanks[1:]
    frame = session.createDataFrame([(text,) for text in texts], "rider_id string")
    assert [row[0] for row in frame.select(spark_id("rider_id")).collect()] == known_ids(
        pl.Series(texts)
    ).to_list()
    rows = [
        (f"t{i % 20:02d}", "!" if i < 20 else "\u00a0" if i % 2 else "\u00a0NA", i % 5) for i in range(40)
    ]
    table = pl.DataFrame(rows, schema=["trip_id", "rider_id", "stop"], orient="row")
    city = WORLDS["network"]
    table = table.select("trip_id", "rider_id", stop_id=pl.Series(city.ids[table["stop"].to_numpy()]))
    table.write_csv(tmp_path / "trips.csv")
    gate = Gate(Rider(max_trips=3), Budget(1), SeededBits(2))
    files = TripFiles.at(tmp_path / "trips.csv", city)
    with SparkEngine(session=session).open(files, Steps(LegalityRule()), gate) as read:
        assert read.counter().lengths(30).counts.sum() == 3


@java
@spark
@pytest.mark.audit
@settings(max_examples=10, phases=[Phase.generate])
@given(
    st.integers(0, 2**20),
    st.sampled_from(sorted(WORLDS)),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(sorted(RULES)),
    st.sampled_from(["parquet", "csv"]),
    st.booleans(),
)
def test_every_count_is_that_of_memory_for_any_world(
    tmp_path_factory, session, seed, world, unit, rule, kind, kept
):
    folder = tmp_path_factory.mktemp("trips")
    engine = SparkEngine(session=session, scratch=folder if kept else None)
    assert agree(folder, engine, seed, world, unit, rule, kind)


def released(tmp_path, engine, name, mechanism):
    files = TripFiles.at(tmp_path / "raw.parquet", WORLDS["network"])
    made = release(
        files,
        mechanism,
        epsilon=4,
        unit=Rider(max_trips=2, without_id="own"),
        bits=SeededBits(1),
        seed=1,
        engine=engine,
    )
    return made.save(tmp_path / name)


def same_release(one, other):
    return all(
        (one / name).read_bytes() == (other / name).read_bytes()
        for name in ("trips.parquet", "model.parquet", "datasheet.json")
    )


@java
@spark
@pytest.mark.parametrize("mechanism", [NoisyPrefixTree(height=3), TapCounts(max_visits=2)])
def test_a_whole_release_is_the_same_to_the_last_byte(tmp_path, session, mechanism):
    random_visits(3, WORLDS["network"], trips=300).write_parquet(tmp_path / "raw.parquet")
    one = released(tmp_path, MemoryEngine(), "memory", mechanism)
    other = released(tmp_path, SparkEngine(session=session, scratch=tmp_path), "spark", mechanism)
    assert same_release(one, other)


@java
@spark
@pytest.mark.audit
@pytest.mark.parametrize(
    "mechanism",
    [
        Weave(weakest=0),
        Markov(),
        MobiTrie(most=2),
        VariableNgrams(n_max=3, moves=5),
        PPDP(height=2),
        SeqPT(height=2),
        SafePath(height=2),
        TapMargins(first_day=date(1970, 1, 1), days=2, max_visits=2),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_other_mechanisms_release_the_same_to_the_last_byte(tmp_path, session, mechanism):
    random_visits(3, WORLDS["network"], trips=300).write_parquet(tmp_path / "raw.parquet")
    one = released(tmp_path, MemoryEngine(), "memory", mechanism)
    other = released(tmp_path, SparkEngine(session=session, scratch=tmp_path), "spark", mechanism)
    assert same_release(one, other)


@java
@spark
@pytest.mark.parametrize(("name", "kind"), [("unknown stop", "parquet"), ("time backwards", "csv")])
def test_a_problem_is_told_in_the_words_of_the_reader(tmp_path, session, name, kind):
    path = tmp_path / f"trips.{kind}"
    write(spoiled(*PROBLEMS[name]), path)
    with pytest.raises(InputError) as expected:
        read_visits(path, WORLDS["network"])
    found = problem_of(SparkEngine(session=session), path)
    assert (str(found), found.file, found.row) == (str(expected.value), str(path), 78)


class FakeSession:
    """Executors that answer as told."""

    def __init__(self, answer):
        self.answer = answer

    def range(self, count):
        return self

    def mapInArrow(self, work, schema):  # noqa: N802
        return self

    def first(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"found": self.answer}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("missing: No module named 'wayveil'", "have no wayveil"),
        ("0.0.1", "have wayveil 0.0.1"),
        (RuntimeError("Cannot run program python9"), "cannot run Python"),
    ],
)
def test_executors_that_cannot_count_are_found_before_anything_is_spent(answer, words):
    with pytest.raises(SparkError, match=words), spark_session.connected("local", FakeSession(answer)):
        pass


def test_what_spark_needs_is_said_in_a_sentence(monkeypatch):
    import pyspark

    with pytest.raises(ParameterError, match="Spark is at"):
        check_address("http://cluster")
    with pytest.raises(SparkError, match=r"nothing answers at 127.0.0.1:9 .*Nothing was spent"):
        check_address("sc://127.0.0.1:9")
    monkeypatch.setattr(spark_session, "_java", lambda: False)
    with pytest.raises(SparkError, match="needs Java 17"):
        check_address("local[2]")
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(SparkError, match=r"needs PySpark 4.0 or newer, and 3.5.1"):
        check_address("local[2]")


def test_trips_in_memory_are_not_sent_to_spark():
    from wayveil.trips.trips import Trips

    trips = Trips.of_lists([[0]], WORLDS["plain"])
    with pytest.raises(ParameterError, match="counts files"):
        release(trips, NoisyPrefixTree(height=2), epsilon=1, engine=SparkEngine())
