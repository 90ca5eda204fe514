"""The SafePath study at its smallest: every table and figure of the study is on the page, with what it says."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.cli import _register, app
from wayveil.lab.studies.figure_verdicts import number
from wayveil.lab.studies.safepath.family import REPAIRS
from wayveil.lab.studies.safepath.safepath_datasets import (
    BUS,
    METRO,
    SECONDS_AT_5,
    SECONDS_IN_ALL,
    TABLE_2,
    TABLE_3,
    limited,
    shrunken,
)
from wayveil.lab.studies.safepath.safepath_trials import (
    CROWDS,
    EMPTY,
    EVERY_CHILD,
    NGRAM,
    NONEMPTY,
    OURS,
    PUBLISHED,
    SECONDS,
    SEQPT,
    UNIFORM,
    WEEK,
    exhaustive,
    pairs,
)
from wayveil.lab.studies.study import STUDY
from wayveil.mechanisms.safepath import SafePath
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, TimeBins

LABELS = ["Table 2", "Figure 6 (a)", "Figure 6 (b)", "Figure 7"]
LABELS += [
    f"{label}, {data}"
    for label in ("Figure 3", "Figure 4", "Figure 5", "Table 3", "Figure 8")
    for data in (BUS, METRO)
]

BESIDE = ["Theorem 4.1", "Trees against epsilon", "Trees against height", "Repairs", "Trees with half hours"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("safepath")
    _register()
    said = ["lab", "study", "safepath", "--tiny", "--out", str(out), "--workers", "1", "--quiet"]
    done = CliRunner().invoke(app, said)
    assert done.exit_code == 0, done.output
    return out


def test_every_table_and_figure_is_on_the_page_with_the_studys_values(folder):
    html = (folder / "index.html").read_text()
    for label in LABELS + BESIDE:
        assert f"{label}: " in html
    for value in (value for row in TABLE_2.values() for value in row):
        assert f">{number(float(value))}<" in html
    for value in (value for rows in TABLE_3.values() for row in rows.values() for value in row):
        assert f">{number(float(value))}<" in html
    assert "empty release" in html
    assert f"SeqPT takes {SECONDS_AT_5['SeqPT']:,.0f} times as long as SafePath" in html
    for data, seconds in SECONDS_IN_ALL.items():
        chart = pl.read_csv(folder / "figures" / f"figure-8-{data.lower()}-seconds.csv")
        assert chart.filter(pl.col("series") == STUDY)["mean"].to_list() == [seconds]


def test_every_published_figure_has_a_verdict_in_numbers(folder):
    record = json.loads((folder / "figures.json").read_text())
    assert {one["label"] for one in record["figures"]} == set(LABELS)
    assert all(one["words"] and "nan" not in one["words"] for one in record["figures"])
    assert not any("not measured" in one["words"] for one in record["figures"])


def test_every_contender_is_measured_and_nothing_is_refused(folder):
    table = pl.read_csv(folder / "results.csv", infer_schema=False)
    assert set(table["status"]) == {"measured"}
    seen = set(table.filter(pl.col("part") == "rivals")["mechanism"])
    assert {PUBLISHED, OURS, SEQPT, EVERY_CHILD, CROWDS, EMPTY} <= seen
    assert set(table.filter(pl.col("part") == "ngrams")["mechanism"]) == {PUBLISHED, OURS, NGRAM}
    assert set(table.filter(pl.col("part") == "repair")["repair"]) == set(REPAIRS)
    heights = table.filter(pl.col("part") == "height")
    assert set(heights["epsilon"]) == {"0.5", "1.25"}
    assert {UNIFORM, NONEMPTY, SECONDS} <= set(heights["figure"])
    assert (folder / "figures" / "figure-5-bus-error-uniform-queries.svg").exists()


def weeks(riders=200):
    rng = np.random.default_rng(1)
    time = np.sort(rng.integers(0, 7 * DAY, (riders, 3)), axis=1) + 4 * DAY
    city = ring_of_stops(40)
    return Trips(
        rng.integers(0, 40, 3 * riders).astype(np.int32), np.arange(0, 3 * riders + 1, 3), city, time.ravel()
    )


def test_sub_datasets_are_those_of_the_study():
    trips = weeks()
    part = limited(trips, 35, lambda each: WEEK.bin_of(each.time))
    assert WEEK.bin_of(part.time).max() < 35
    assert part.lengths.min() > 0
    assert part.visits == int((WEEK.bin_of(trips.time) < 35).sum())
    small = shrunken(trips)
    assert small.world.size == 20
    assert (np.diff(small.time // DAY) == 0)[
        np.setdiff1d(np.arange(small.visits - 1), small.offsets[1:-1] - 1)
    ].all()


def test_visiting_every_child_keeps_what_is_frequent():
    trips = Trips.of_lists([[0, 1]] * 500, weeks().world, time=np.tile([8, 9], 500) * 3600)
    bins = TimeBins.hour_of_day()
    assert exhaustive(pairs(trips, bins, 2), 40 * 24, 24, 2, np.random.default_rng(0)) >= 2


def test_the_factor_of_theorem_4_1_keeps_what_cancels_and_is_not_that_of_the_noise(folder):
    table = pl.read_csv(folder / "results.csv", infer_schema=False).filter(pl.col("part") == "theorem")
    factors = {
        (row["taxonomy height"], row["figure"]): float(row["value"]) for row in table.iter_rows(named=True)
    }
    for height in (0, 2, 6):
        printed, cancelled = (
            factors[str(height), name] for name in ("as printed", "without F, which cancels")
        )
        assert printed * 2 ** (2 * height) == pytest.approx(cancelled)
        # The exponent of the theorem, per level: 2 sqrt(2) (2 (h1 + h2) + 1), and a half for every step.
        steps = 2 * height
        assert cancelled == pytest.approx(2 ** (steps + 1) * np.exp(2 * np.sqrt(2) * (2 * steps + 1)))
    assert factors["6", "with the noise that each step has"] < 1e-3 * factors["6", "as printed"]


def test_the_studys_trees_are_guided_by_its_taxonomies_in_figure_6_too():
    rival = SafePath.published(height=2, time="hour-of-day")
    # Groups of one hour or stop add nothing: 24 hours have four binary levels above them, 40 stops five.
    assert rival.times(TimeBins.hour_of_day()).height == 4
    assert rival.places(weeks().world).height == 5
