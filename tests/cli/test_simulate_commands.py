"""Riders of every kind from the command line, and raw trips on a map."""

import json
import sys

import polars as pl
import pytest

import wayveil as wv
from wayveil.cli import main
from wayveil.simulate.feed import write_city
from wayveil.trips.visits import write_visits


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return write_city(tmp_path_factory.mktemp("city") / "city.zip", seed=3, stops=80, lines=6)


@pytest.fixture
def wayveil(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run


def simulated(wayveil, feed, out, *more):
    code, printed, err = wayveil(
        "lab", "simulate", "riders", feed, "--riders", 300, "--out", out, "--json", *more
    )
    assert code == 0, err
    return json.loads(printed)


def test_hotspots_are_chosen_saved_and_taken_again(wayveil, feed, tmp_path):
    facts = simulated(wayveil, feed, tmp_path / "a.csv", "--like", "study", "--hotspots", 4)
    assert facts["hotspots"] == 4
    saved = pl.read_csv(facts["hotspots_written_to"], infer_schema=False)
    again = simulated(
        *(wayveil, feed, tmp_path / "b.csv", "--like", "study", "--seed", 9),
        *("--hotspots", facts["hotspots_written_to"]),
    )
    assert pl.read_csv(again["hotspots_written_to"], infer_schema=False).equals(saved)
    none = simulated(wayveil, feed, tmp_path / "c.csv", "--like", "study", "--hotspots", 0)
    assert none["hotspots"] == 0


def test_most_riders_go_to_hotspots_and_without_them_to_anywhere(wayveil, feed, tmp_path):
    city = wv.read_gtfs(feed)
    shares = {}
    for count in (3, 0):
        facts = simulated(wayveil, feed, tmp_path / "x.parquet", "--like", "study", "--hotspots", count)
        trips = wv.read_trips(tmp_path / "x.parquet", city)
        ends = pl.Series(trips.location[trips.offsets[1:] - 1])
        shares[count] = ends.value_counts().sort("count", descending=True)["count"][:3].sum() / len(trips)
        assert facts["trips"] == 300
    assert shares[3] > 0.5
    assert shares[0] < 0.2


@pytest.mark.parametrize("kind", [("--lines",), ("--like", "lines"), ("--week",)])
def test_other_riders(wayveil, feed, tmp_path, kind):
    assert simulated(wayveil, feed, tmp_path / "x.parquet", *kind)["trips"] == 300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--week", "--lines"), "riders are of one kind"),
        (("--week", "--cost", "metres"), "--cost plays no part with --like week"),
        (("--hotspots", 3), "--hotspots plays no part with --like city; it goes with --like study"),
        (("--lines", "--trips-per-rider", 2), "--trips-per-rider plays no part"),
        (("--week", "--no-times"), "--no-times plays no part with --like week"),
        (("--cost", "fun"), "a cost is metres, seconds or stops, or a sum"),
        (("--cost", "x*metres"), "the weight of metres in 'x*metres' is no number"),
        (("--cost", "-1*metres"), "weights of a cost are 0 or more"),
        (("--like", "study", "--hotspots", "nowhere.csv"), "there is no file nowhere.csv"),
    ],
)
def test_what_plays_no_part_is_refused(wayveil, feed, tmp_path, words, said):
    code, _, err = wayveil("lab", "simulate", "riders", feed, "--out", tmp_path / "x.csv", *words)
    assert (code, said in err) == (2, True), err


def test_a_weighted_cost_lies_between_what_it_weighs(feed):
    from wayveil.world.trees import WeightedCost, reverse_tree

    city = wv.read_gtfs(feed)
    by = {cost: reverse_tree(city, [0], cost).distance for cost in ("metres", "seconds", "stops")}
    both = reverse_tree(city, [0], WeightedCost.parse("metres+20*seconds+0*stops")).distance
    # The best way for both costs at least what each alone costs at its best.
    assert (both >= by["metres"] + 20 * by["seconds"] - 1e-6).all()
    assert reverse_tree(city, [0], WeightedCost(stops=3)).distance == pytest.approx(3 * by["stops"])


def test_world_says_how_many_runs_of_stops_are_possible(wayveil, feed):
    code, out, _ = wayveil("lab", "world", feed, "--json", "--ngrams", 4)
    facts = json.loads(out)
    assert code == 0
    assert facts["possible_4_grams"] > facts["possible_4_grams_without_immediate_returns"] > 0


def test_a_map_of_raw_trips_is_internal_and_seen_by_the_ledger(wayveil, feed, tmp_path):
    simulated(wayveil, feed, tmp_path / "s.parquet", "--like", "study", "--hotspots", 2)
    page, words = tmp_path / "map.html", ("--world", feed, "--out", tmp_path / "map.html", "--json")
    code, out, err = wayveil(
        "lab", "map", tmp_path / "s.parquet", *words, "--hotspots", tmp_path / "s-hotspots.csv"
    )
    assert code == 0, err
    assert "simulated" in json.loads(out)["notice"]
    assert "INTERNAL" not in page.read_text()
    assert page.read_text().count("<polygon") == 2
    assert pl.read_csv(tmp_path / "map.csv").columns == ["from", "to", "trips"]
    city = wv.read_gtfs(feed)
    raw = wv.Trips.of_lists([[0, int(city.indices[0])]], city)
    write_visits(raw, tmp_path / "raw.csv")
    code, out, err = wayveil("lab", "map", tmp_path / "raw.csv", *words)
    assert code == 0, err
    assert "INTERNAL – NOT FOR PUBLICATION" in page.read_text()
    code, _, err = wayveil(
        "lab", "map", tmp_path / "raw.csv", *words, "--hotspots", feed.with_name("none.csv")
    )
    assert code == 2
