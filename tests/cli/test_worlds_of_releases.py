"""A release over any kind of world is scored, asked and exported without another word on it."""

import json
import sys

import polars as pl
import pytest

from wayveil.cli import main
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.trips.visits import write_visits
from wayveil.world.gtfs import read_gtfs

PART = ["--bbox", "-90,-180,90,180", "--walk-radius", "300", "--date", "2026-01-06"]
WORLDS = {
    "part of a feed": ["--world", "city.zip", *PART],
    "saved network": ["--world", "city.npz"],
    "list": ["--world", "stops.txt"],
}


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """A feed, its network saved, the list of its stops, and trips that all of these know."""
    folder = tmp_path_factory.mktemp("worlds")
    write_city(folder / "city.zip", seed=3, stops=60, lines=4)
    network = read_gtfs(folder / "city.zip")
    network.save(folder / "city.npz")
    (folder / "stops.txt").write_text("\n".join(network.ids.tolist()))
    write_visits(simulate_city(network, 400, seed=3).trips, folder / "trips.csv")
    return folder


@pytest.mark.parametrize("words", WORLDS.values(), ids=WORLDS.keys())
def test_what_release_accepts_is_accepted_by_all(city, tmp_path, monkeypatch, capsys, words):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(city)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["wayveil", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert not stopped.value.code, err
        return out

    out = tmp_path / "release"
    run(
        *("release", "trips.csv", *words, "-e", 4, "-m", "noisy-prefix-tree", "--set", "height=2"),
        *("--visits", "calls", "--ledger", "none", "--out", out, "-q"),
    )
    card = json.loads(run("score", "trips.csv", out, "--queries", 50, "--ledger", "none", "--json"))
    assert card["figures"]
    asked = json.loads(run("ask", out, "boardings", "--json", "--anyway"))
    run("export", out, "-f", "od", "--out", tmp_path / "od.csv", "--anyway")
    assert pl.read_csv(tmp_path / "od.csv")["trips"].sum() == sum(row["answer"] for row in asked)
