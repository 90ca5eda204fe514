"""Every file of the corpus is read, released and asked as the clean one, by the plan that `check` saved alone."""

import json
import re
import shlex
import sys

import numpy as np
import pytest
import truth
from corpus import ASKED, CORPUS

from wayveil.cli import main
from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan
from wayveil.plan.reading import files_of, open_plan_world, open_rows
from wayveil.trips.trips import Trips


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    folder = tmp_path_factory.mktemp("city")
    network = truth.make_city(folder)
    with pytest.MonkeyPatch.context() as patch:
        # The feed is read once, not once a file.
        patch.setattr("wayveil.plan.guess.open_world", lambda *_, **__: network)
        patch.setattr("wayveil.plan.reading.open_world", lambda *_, **__: network)
        yield folder, truth.make_rides(network)


def rows_of(read, riders):
    """What was read, row by row, whatever riders and trips are called inside."""
    if isinstance(read, Trips):
        whose = read.rider if riders and read.rider is not None else np.full(len(read), -1)
        table = {
            "at": [
                tuple(read.location[a:b].tolist())
                for a, b in zip(read.offsets, read.offsets[1:], strict=False)
            ],
            "time": [
                tuple(read.time[a:b].tolist()) for a, b in zip(read.offsets, read.offsets[1:], strict=False)
            ],
            "who": [read.rider_ids[int(code)] if code >= 0 else None for code in whose],
        }
    else:
        table = {
            "at": [(place,) for place in read.location.tolist()],
            "time": [(moment,) for moment in read.time.tolist()],
            "who": [read.card_ids[int(code)] for code in read.card] if riders else [None] * len(read.time),
        }
    return sorted(zip(*table.values(), strict=True))


def clean_rows(folder, rides, kind, riders):
    table = {"pairs": truth.clean, "calls": truth.visits, "taps": truth.taps}[kind](rides)
    if not riders and "rider_id" in table.columns:
        table = table.drop("rider_id")
    table.write_parquet(folder / "clean.parquet")
    plan = Plan.of(
        files=str(folder / "clean.parquet"),
        world=str(folder / "city.zip"),
        rows=kind,
        epsilon=1,
        unit=None if riders else "trip",
    )
    return rows_of(open_rows(plan, open_plan_world(plan), files_of(plan)).rows, riders)


@pytest.fixture
def wayveil(monkeypatch, capsys, tmp_path):
    """A command that must go well, or be refused, and what it says."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))

    def call(*words, refused=False):
        monkeypatch.setattr(sys, "argv", ["wayveil", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert bool(ended.value.code) == refused, shown.out + shown.err
        return shown.out

    return call


def require_clean(entry, city, plan, wayveil, made):
    """Read, release and ask by a saved plan, and find what the clean file would have given."""
    folder, rides = city
    said = read_plan(plan)
    read = open_rows(said, open_plan_world(said), files_of(said)).rows
    assert isinstance(read, Trips) == (entry.kind != "taps")
    assert rows_of(read, entry.riders) == clean_rows(folder, rides, entry.kind, entry.riders)
    wayveil("release", "--plan", plan, "--out", made)
    answer = json.loads(wayveil("ask", made, "boardings", "--anyway", "--json"))
    assert {row["stop_id"]: row["answer"] for row in answer} == dict(
        rides["origin"].value_counts().iter_rows()
    )


SAID = ("--world", "city.zip", "--ledger", "none", "--epsilon", "400")  # next to no noise


@pytest.mark.parametrize("name", CORPUS)
def test_a_file_of_the_corpus_is_checked_released_and_asked_as_the_clean_one(
    name, city, wayveil, monkeypatch, tmp_path
):
    folder, rides = city
    monkeypatch.chdir(folder)
    saved = folder / "wayveil.toml"
    saved.unlink(missing_ok=True)
    wayveil("check", CORPUS[name].write(folder, rides), *SAID, "--save", saved)
    require_clean(CORPUS[name], city, saved, wayveil, tmp_path / "release")


@pytest.mark.parametrize("name", ASKED)
def test_what_is_refused_ends_with_one_command_that_goes_on(name, city, wayveil, monkeypatch, tmp_path):
    folder, rides = city
    monkeypatch.chdir(folder)
    (folder / "wayveil.toml").unlink(missing_ok=True)
    told = " ".join(wayveil("check", ASKED[name].write(folder, rides), *SAID, refused=True).split())
    command = re.findall(r"wayveil (check .*? --save wayveil\.toml)", told)[-1]
    wayveil(*shlex.split(command))
    require_clean(ASKED[name], city, folder / "wayveil.toml", wayveil, tmp_path / "release")
