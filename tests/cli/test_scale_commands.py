"""Trips of any number: simulated in parts, released by engine, drawn as many as wanted."""

import json
import sys

import polars as pl
import pytest

from wayveil.cli import main
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.simulate.city import simulate_city, simulate_city_in_parts
from wayveil.trips.visits import write_parts


@pytest.fixture
def city(tmp_path):
    network = small_network(2)
    network.save(tmp_path / "city.npz")
    return tmp_path


@pytest.fixture
def wayveil(monkeypatch, capsys):
    """Run a command; gives exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run


def test_parts_have_their_own_riders_and_number_their_trips_through(tmp_path):
    network = small_network(2)
    parts = list(simulate_city_in_parts(network, 25, seed=1, trips_per_rider=2, at_once=10))
    assert [len(part) for part in parts] == [10, 10, 5]
    assert [part.rider.tolist()[0] for part in parts] == [0, 5, 10]
    assert write_parts(parts, tmp_path / "trips", riders=True)["parts"] == 3
    table = pl.read_parquet(tmp_path / "trips" / "*.parquet")
    assert table["trip_id"].unique().sort().to_list() == list(range(1, 26))
    assert table.select(pl.struct("trip_id", "rider_id").n_unique()).item() == 25
    again = list(simulate_city_in_parts(network, 25, seed=1, trips_per_rider=2, at_once=10))
    assert [part.to_lists() for part in again] == [part.to_lists() for part in parts]


def test_a_simulation_of_riders_is_the_same_as_before_parts_were_there():
    made = simulate_city(small_network(2), 30, seed=4, trips_per_rider=2)
    assert len(made.trips) == 60
    assert made.trips.rider.tolist() == [i // 2 for i in range(60)]


def test_a_stopped_simulation_leaves_no_parts(tmp_path):
    def parts():
        yield from simulate_city_in_parts(small_network(2), 10, seed=1, at_once=5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parts(parts(), tmp_path / "trips")
    assert list(tmp_path.iterdir()) == []


def test_simulated_parts_are_released_by_stream_with_as_many_trips_as_wanted(wayveil, city):
    simulated = (
        "lab",
        "simulate",
        "riders",
        city / "city.npz",
        "--trips",
        3000,
        "--out",
        city / "trips",
        "--quiet",
    )
    assert wayveil(*simulated)[0] == 0
    common = (
        "--world",
        city / "city.npz",
        "-e",
        2,
        "-m",
        "noisy-prefix-tree",
        "--set",
        "height=3",
        "--max-trips",
        1,
    )
    for wish, engine in (("none", "stream"), ("7", "auto")):
        out = ("--out", city / f"release-{wish}", "--trips-out", wish, "--engine", engine)
        code, said, err = wayveil("release", city / "trips", *common, "--ledger", "none", "--json", *out)
        assert code == 0, err
        assert json.loads(said)["released_trips"] == (0 if wish == "none" else 7)
    assert wayveil("verify", city / "release-none")[0] == 0


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (["--trips-out", "few"], "--trips-out is none, all or a number"),
        (["--engine", "abacus"], "choose one of auto, memory, stream, spark, not 'abacus'"),
        (["--engine", "spark", "--with", "spark=sc://127.0.0.1:9"], "nothing answers"),
        (["--engine", "stream", "--with", "scratch=/nowhere/at/all"], "does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_leaves_nothing(wayveil, city, wish, words):
    write_parts(simulate_city_in_parts(small_network(2), 50, seed=1), city / "trips", riders=True)
    command = ("release", city / "trips", "--world", city / "city.npz", "-e", 1, "-m", "noisy-prefix-tree")
    code, _, err = wayveil(
        *command, "--max-trips", 1, "--ledger", "none", "--out", city / "out", "--quiet", *wish
    )
    assert code == 2
    assert words in " ".join(err.split())
    assert sorted(path.name for path in city.iterdir()) == ["city.npz", "trips"]
