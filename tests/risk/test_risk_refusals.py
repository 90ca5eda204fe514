"""What `risk` and `lab anonymise` refuse: one sentence that says why, and nothing written."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import wayveil as wv
from risk.attack_city import small_city, thirds
from wayveil.cli import _register, app
from wayveil.errors import WayveilError
from wayveil.privacy.bits import SeededBits
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.world.world import World


def renamed(path, *columns):
    """Ids of its own for a file whose trips or riders are numbered like those of another."""
    table = pl.read_csv(path, infer_schema=False)
    table.with_columns(pl.col(*columns) + "x").write_csv(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A release, its raw trips, hold-outs that are and are not people of their own, and worlds of other kinds."""
    folder = tmp_path_factory.mktemp("files")
    members, others, _ = thirds()
    members, others = members.take(np.arange(200)), others.take(np.arange(60))
    small_city().save(folder / "city.npz")
    write_visits(members, folder / "raw.csv", riders=True)
    write_visits(members.take(np.arange(19)), folder / "few.csv", riders=True)
    write_visits(members.without_times(), folder / "timeless.csv", riders=True)
    for name, people, columns in (
        ("others", others, ("trip_id", "rider_id")),
        ("same-riders", members, ("trip_id",)),
        ("same-trips", others, ("rider_id",)),
    ):
        write_visits(people, folder / f"{name}.csv", riders=True)
        renamed(folder / f"{name}.csv", *columns)
    wv.release(members, wv.Markov(), epsilon=1, bits=SeededBits(1)).save(folder / "release")
    (folder / "plain.txt").write_text("\n".join("abcde"))
    plain = World.of_file(folder / "plain.txt")
    lists = Trips.of_lists([[0, 1, 2]] * 30, plain)
    wv.release(lists, wv.NoisyPrefixTree(height=3), epsilon=1, bits=SeededBits(1)).save(folder / "plain")
    write_visits(lists, folder / "plain.csv")
    return folder


def refused(folder, out, command):
    """The sentence with which a command was refused; whatever it wrote would be in `out`."""
    if not app.registered_commands:
        _register()
    words = [str(folder / word[1:]) if word.startswith("@") else word for word in command]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, WayveilError), done.output
    assert not list(out.iterdir())
    return str(done.exception)


ATTACK = ["risk", "@release", "--raw", "@raw.csv"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["risk", "@plain", "--raw", "@plain.csv"], "no coordinates"),
        ([*ATTACK, "--holdout", "@same-riders.csv"], "riders with .*raw.csv"),
        ([*ATTACK, "--holdout", "@same-trips.csv"], "trip ids with .*raw.csv"),
        (["risk", "@release", "--raw", "@few.csv"], "19 riders"),
        ([*ATTACK, "--holdout", "@others.csv", "--targets", "19"], "fewer than 20"),
        (["lab", *ATTACK, "--p", "1.5"], r"0\.\.1, not 1\.5"),
        (["lab", *ATTACK, "--p", "-0.1"], r"0\.\.1, not -0\.1"),
        ([*ATTACK, "--world", "@plain.txt"], "another world|different world|not the world"),
        (["risk", "@release", "--raw", "@timeless.csv", "--hours"], "carry none"),
    ],
)
def test_risk_says_why_and_writes_nothing(files, tmp_path, command, sentence):
    found = refused(
        files,
        tmp_path,
        [*command, "--out", str(tmp_path / "risk.json"), "--page", str(tmp_path / "risk.html")],
    )
    assert re.search(sentence, found), found


@pytest.mark.parametrize(
    ("trips", "world", "method", "k", "sentence"),
    [
        ("raw.csv", "city.npz", "glove", "k=201", "nobody can hide among 201 riders: there are 200"),
        ("raw.csv", "city.npz", "lk-anonymity", "K=201", "nobody can hide among 201"),
        ("raw.csv", "city.npz", "plausible-deniability", "k=201", "nobody can hide among 201"),
        ("timeless.csv", "city.npz", "glove", "k=2", "no times"),
        ("timeless.csv", "city.npz", "lk-anonymity", "K=2", "no times"),
        ("plain.csv", "plain.txt", "glove", "k=2", "coordinates|no times"),
    ],
)
def test_anonymise_says_why_and_writes_nothing(files, tmp_path, trips, world, method, k, sentence):
    command = ["lab", "anonymise", f"@{trips}", "--world", f"@{world}", "-m", method, "--set", k]
    found = refused(files, tmp_path, [*command, "-o", str(tmp_path / "out")])
    assert re.search(sentence, found), found


def test_a_report_points_to_its_risk_page_or_is_not_written_at_all(files, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    report = ["report", "@release", "--raw", "@raw.csv", "--risk", "--json"]
    report += ["--ledger", str(tmp_path / "ledger"), "--out", str(out / "r.html"), "--holdout"]
    assert "shares" in refused(files, out, [*report, "@same-riders.csv"])
    words = [str(files / word[1:]) if word.startswith("@") else word for word in [*report, "@others.csv"]]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["risk"] == str(out / "r-risk.html")
    assert 'href="r-risk.html"' in (out / "r.html").read_text()
    assert (out / "r-risk.html").exists()
