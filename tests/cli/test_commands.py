"""The commands as a new user types them."""

import json
import re
import sys

import polars as pl
import pytest

from wayveil import __version__
from wayveil.cli import main
from wayveil.simulate.city import simulate_city
from wayveil.simulate.feed import write_city
from wayveil.trips.visits import write_visits
from wayveil.world.gtfs import read_gtfs


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """A feed and the trips of 600 riders on it."""
    folder = tmp_path_factory.mktemp("city")
    write_city(folder / "city.zip", seed=3)
    network = read_gtfs(folder / "city.zip")
    write_visits(simulate_city(network, 600, seed=3).trips, folder / "trips.parquet", riders=True)
    return folder


@pytest.fixture
def wayveil(monkeypatch, capsys, tmp_path):
    """Run a command with a home of its own; gives exit code, standard output and standard error."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run


def release(wayveil, city, out, *more, mechanism="noisy-prefix-tree"):
    return wayveil(
        *("release", city / "trips.parquet", "--world", city / "city.zip", "--epsilon", "1", "--out", out),
        *(("--mechanism", mechanism) if mechanism else ()),
        *more,
    )


def test_on_a_network_the_default_is_weave_which_says_when_trips_are_too_few(wayveil, city, tmp_path):
    code, _, err = release(wayveil, city, tmp_path / "few", "--ledger", "none", "--quiet", mechanism=None)
    assert code != 0
    assert "too few" in err
    more = ("--set", "weakest=0", "--ledger", "none", "--quiet")
    code, _, _ = release(wayveil, city, tmp_path / "out", *more, mechanism=None)
    assert code == 0
    assert json.loads((tmp_path / "out" / "datasheet.json").read_text())["mechanism"]["name"] == "weave"


def test_world_prints_stops_stations_edges_and_components(wayveil, city):
    code, out, _ = wayveil("lab", "world", city / "city.zip", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["stations"] > 100
    assert facts["edges"] > facts["stations"]
    assert facts["components"] == 1


def test_a_saved_network_opens_again(wayveil, city, tmp_path):
    assert wayveil("lab", "world", city / "city.zip", "--out", tmp_path / "city.npz", "--quiet")[0] == 0
    again = json.loads(wayveil("lab", "world", tmp_path / "city.npz", "--json")[1])
    assert again == json.loads(wayveil("lab", "world", city / "city.zip", "--json")[1])


def test_simulate_makes_trips_that_check_finds_good(wayveil, city, tmp_path):
    out = tmp_path / "trips.csv"
    code, printed, _ = wayveil(
        "lab", "simulate", "riders", city / "city.zip", "--riders", 50, "--out", out, "--json"
    )
    facts = json.loads(printed)
    assert (code, facts["trips"], facts["riders"]) == (0, 50, 50)
    assert facts["mean_length"] > 1
    assert facts["distinct_locations"] > 10
    code, text, _ = wayveil("check", out, "--world", city / "city.zip")
    assert code == 0
    assert "no problem found" in text


def test_release_score_report_verify(wayveil, city, tmp_path):
    out = tmp_path / "release"
    code, printed, _ = release(
        *(wayveil, city, out, "--set", "height=4", "--json", "--ledger", tmp_path / "ledger"),
        *("--policy-epsilon", "10", "--set", "false_roots=0.2", "--set", "size_share=0"),
    )
    facts = json.loads(printed)
    assert code == 0
    assert facts["released_trips"] > 0
    assert "epsilon = 1" in facts["guarantee"]
    assert json.loads((out / "datasheet.json").read_text())["mechanism"]["parameters"]["height"] == 4
    code, printed, _ = wayveil("score", city / "trips.parquet", out, "--queries", 200, "--json")
    assert code == 0
    assert "simulated trips" in json.loads(printed)["notice"]
    page = tmp_path / "report.html"
    assert wayveil("report", out, "--out", page, "--quiet")[0] == 0
    assert "INTERNAL" not in page.read_text()
    inside = tmp_path / "internal.html"
    raw = ("--raw", city / "trips.parquet", "--queries", 200, "--quiet")
    assert wayveil("report", out, "--out", inside, *raw)[0] == 0
    assert "INTERNAL" in inside.read_text()
    assert wayveil("verify", out)[0] == 0
    code, _, err = wayveil("verify", out, "--key", "0" * 32)
    assert (code, "another key" in err) == (2, True)
    code, text, _ = wayveil("ledger", "verify", tmp_path / "ledger", "--release", out)
    assert (code, "chain holds" in text) == (0, True)
    table = tmp_path / "od.csv"
    assert wayveil("export", out, "--format", "od", "--out", table, "--anyway")[0] == 0
    assert pl.read_csv(table, schema_overrides={"trips": pl.Int64})["trips"].sum() == facts["released_trips"]
    code, _, err = wayveil("export", out, "--format", "xml", "--out", table)
    assert (code, "xml" in err) == (2, True)
    (out / "trips.parquet").write_bytes(b"changed")
    code, _, err = wayveil("verify", out)
    assert (code, "trips.parquet" in err) == (2, True)


def test_a_weave_release_can_be_sampled_again_for_free(wayveil, city, tmp_path):
    out = tmp_path / "woven"
    code, _, _ = release(
        *(
            wayveil,
            city,
            out,
            "--mechanism",
            "weave",
            "--unit",
            "trip",
            "--quiet",
            "--ledger",
            tmp_path / "l",
        ),
        *("--policy-epsilon", "10"),
    )
    assert code == 0
    more = ("--world", city / "city.zip", "--out", tmp_path / "more.parquet", "--trips", 50, "--json")
    assert json.loads(wayveil("lab", "sample", out, *more)[1])["trips"] == 50
    assert json.loads(wayveil("ledger", "show", tmp_path / "l", "--json")[1])[0]["spent"] == "1"
    other = tmp_path / "counts"
    release(wayveil, city, other, "--quiet", "--unit", "event", "--ledger", "none", mechanism="tap-counts")
    code, _, err = wayveil("lab", "sample", other, *more)
    assert (code, "tap-counts" in err) == (2, True)


def test_ledger_policies_are_set_and_kept(wayveil, city, tmp_path):
    ledger = tmp_path / "ledger"
    assert wayveil("ledger", "init", ledger, "--dataset", "trips.parquet", "--total-epsilon", "0.5")[0] == 0
    code, _, err = release(wayveil, city, tmp_path / "r", "--ledger", ledger)
    assert code == 2
    assert "needs epsilon 1, but" in err
    assert "0.5 too much. Nothing was spent." in err
    assert not (tmp_path / "r").exists()
    wayveil("ledger", "policy", ledger, "--dataset", "trips.parquet", "--total-epsilon", "1")
    assert release(wayveil, city, tmp_path / "r", "--ledger", ledger, "--quiet")[0] == 0
    shown = json.loads(wayveil("ledger", "policy", ledger, "--dataset", "trips.parquet", "--json")[1])
    assert shown["total_epsilon"] == "1"


def test_the_version_is_told(wayveil):
    assert wayveil("--version")[:2] == (0, f"wayveil {__version__}\n")


def test_mechanisms_are_listed_and_explained(wayveil):
    rows = json.loads(wayveil("lab", "mechanisms", "--json")[1])
    assert {"noisy-prefix-tree", "safepath", "ppdp", "seqpt"} <= {row["mechanism"] for row in rows}
    code, text, _ = wayveil("lab", "mechanisms", "noisy-prefix-tree")
    assert (code, "Visits of a trip that are used" in text) == (0, True)
    assert "--set height=...  (whole number, 1 to 200; default 12)" in text
    assert "Guarantee: epsilon-differential privacy for the unit" in text
    published = re.search(r"As published \(--preset published\): (.*?)\n\n", text, re.DOTALL)
    assert {"successors=all", "threshold_scales=2.82843"} <= set(published[1].split())
    told = json.loads(wayveil("lab", "mechanisms", "ppdp", "--json")[1])
    assert {each["name"]: each["default"] for each in told["parameters"]}["height"] == "12"
    code, _, err = wayveil("lab", "mechanisms", "magic")
    assert (code, "magic" in err) == (2, True)


def test_demo_leaves_a_release_and_two_reports(wayveil, tmp_path):
    out = tmp_path / "demo"
    code, printed, _ = wayveil("demo", "--out", out, "--riders", 3000, "--json")
    facts = json.loads(printed)
    assert code == 0
    assert (out / "report.html").exists()
    assert facts["report_to_publish"].endswith("report.html")
    assert wayveil("verify", out / "release")[0] == 0
    assert wayveil("demo", "--out", out, "--riders", 3000, "--quiet")[0] == 0
    (out / ".wayveil-demo").unlink()
    code, _, err = wayveil("demo", "--out", out)
    assert (code, "not a demo's folder" in err) == (2, True)


def broken_inputs(city, folder):
    """Every wrong input, by name: the words of the command and what its sentence must contain."""
    good = pl.read_parquet(city / "trips.parquet").head(40)

    def file(name, table):
        table.write_csv(folder / name)
        return folder / name

    late = good.with_columns(event_time=pl.col("event_time").reverse())
    (folder / "empty.csv").write_text("")
    (folder / "truncated.zip").write_bytes((city / "city.zip").read_bytes()[:2000])
    import zipfile

    with zipfile.ZipFile(folder / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "not a feed")
    world = ("--world", city / "city.zip", "--out", folder / "out")
    one = ("--epsilon", "1")
    stops = pl.Series([f"nowhere-{i}" for i in range(len(good))])
    trips = city / "trips.parquet"
    return {
        "missing column": (("release", file("column.csv", good.drop("stop_id")), *world, *one), "stop_id"),
        "unknown stop": (
            (
                "release",
                file(
                    "stop.csv",
                    good.with_columns(
                        stop_id=pl.when(pl.int_range(len(good)) == 3).then(pl.lit("X9")).otherwise("stop_id")
                    ),
                ),
                *world,
                *one,
            ),
            "X9",
        ),
        "time going backwards": (("release", file("time.csv", late), *world, *one), "row"),
        "empty file": (("release", folder / "empty.csv", *world, *one), "empty"),
        "missing file": (("release", folder / "none.csv", *world, *one), "none.csv"),
        "truncated zip": (("lab", "world", folder / "truncated.zip"), "truncated.zip"),
        "a zip that is not GTFS": (("lab", "world", folder / "other.zip"), "stops.txt"),
        "negative epsilon": (("release", trips, *world, "--epsilon", "-1"), "greater than 0"),
        "epsilon below the range": (("release", trips, *world, "--epsilon", "1e-12"), "from 0.001 to 1000"),
        "dataset without a policy": (("release", trips, *world, *one), "ledger init"),
        "epsilon that is no number": (("release", trips, *world, "--epsilon", "much"), "much"),
        "epsilon above the budget": (
            ("release", trips, *world, "--epsilon", "11", "--ledger", folder / "l", "--policy-epsilon", "10"),
            "1 too much",
        ),
        "a world that does not fit": (
            ("release", file("world.csv", good.with_columns(stop_id=stops)), *world, *one),
            "nowhere-0",
        ),
        "unknown mechanism": (("release", trips, *world, *one, "--mechanism", "magic"), "magic"),
        "unknown parameter": (("release", trips, *world, *one, "--set", "depth=3"), "depth"),
        "parameter without value": (("release", trips, *world, *one, "--set", "height"), "name=value"),
        "unknown unit": (("release", trips, *world, *one, "--unit", "person"), "person"),
        "box without stops": (("lab", "world", city / "city.zip", "--bbox", "0,0,1,1"), "no stop"),
        "box that is no box": (("lab", "world", city / "city.zip", "--bbox", "a,b"), "bounding box"),
        "riders without a network": (
            (
                "lab",
                "simulate",
                "riders",
                file("list.txt", good.select("stop_id")),
                "--out",
                folder / "x.csv",
            ),
            "network",
        ),
        "audit of nothing": (("lab", "audit"), "--all"),
        "no ledger": (("ledger", "show", folder / "no.ledger"), "no ledger"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "missing column", "unknown stop", "time going backwards", "empty file", "missing file", "truncated zip",
        "a zip that is not GTFS", "negative epsilon", "epsilon that is no number", "epsilon above the budget",
        "epsilon below the range", "dataset without a policy",
        "a world that does not fit", "unknown mechanism", "unknown parameter", "parameter without value",
        "unknown unit", "box without stops", "box that is no box", "riders without a network", "audit of nothing",
        "no ledger",
    ],
)  # fmt: skip
def test_wrong_input_gets_one_sentence_and_spends_nothing(wayveil, city, tmp_path, name):
    words, expected = broken_inputs(city, tmp_path)[name]
    before = set(city.iterdir())
    code, out, err = wayveil(
        *words, *(["--quiet"] if words[0] == "release" or words[1] in ("world", "simulate") else [])
    )
    assert code == 2
    assert out == ""
    sentence = err.strip()
    assert sentence.startswith("wayveil: ")
    assert "\n" not in sentence
    assert "Traceback" not in err
    assert expected in sentence
    assert not (tmp_path / "out").exists()
    assert set(city.iterdir()) == before, "nothing was spent, so no ledger was made"


def test_importing_wayveil_loads_nothing_heavy():
    import subprocess

    code = "import sys, wayveil; print(sorted({'numpy', 'polars', 'numba', 'scipy'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_every_public_name_exists():
    import wayveil

    for name in wayveil.__all__:
        assert getattr(wayveil, name) is not None
    assert "release" in dir(wayveil)
    with pytest.raises(AttributeError, match="nothing"):
        wayveil.nothing  # noqa: B018
