"""Every file of the corpus is read as the clean one, by the plan that `check` saved and by nothing else."""

import numpy as np
import pytest
import truth
from corpus import CORPUS

from wayveil.plan.files import read_plan, write_plan
from wayveil.plan.guess import Guess
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


def rows_of(read, riders, trip_ids):
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
            "who": [read.card_ids[int(code)] for code in read.card],
        }
    return sorted(zip(*table.values(), strict=True))


def clean_rows(folder, rides, kind, riders, trip_ids):
    table = {"pairs": truth.clean, "calls": truth.visits, "taps": truth.taps}[kind](rides)
    if not riders and "rider_id" in table.columns:
        table = table.drop("rider_id")
    table.write_parquet(folder / "clean.parquet")
    from wayveil.plan.plan import Plan

    plan = Plan.of(
        files=str(folder / "clean.parquet"),
        world=str(folder / "city.zip"),
        rows=kind,
        epsilon=1,
        unit=None if riders else "trip",
    )
    return rows_of(open_rows(plan, open_plan_world(plan), files_of(plan)).rows, riders, trip_ids)


@pytest.mark.parametrize("name", CORPUS)
def test_a_file_of_the_corpus_is_read_as_the_clean_one(name, city, monkeypatch, tmp_path):
    folder, rides = city
    monkeypatch.chdir(folder)
    entry = CORPUS[name]
    given = entry.write(folder, rides)
    checked = Guess(given, "city.zip", ledger="none").look()
    assert checked.findings.ok, checked.lines()
    assert checked.plan is not None
    saved = tmp_path / "wayveil.toml"
    write_plan(checked.plan, saved)
    plan = read_plan(saved)
    read = open_rows(plan, open_plan_world(plan), files_of(plan)).rows
    kind = "taps" if not isinstance(read, Trips) else entry.kind
    assert kind == entry.kind, checked.lines()
    expected = clean_rows(folder, rides, entry.kind, entry.riders, entry.trip_ids)
    assert rows_of(read, entry.riders, entry.trip_ids) == expected
