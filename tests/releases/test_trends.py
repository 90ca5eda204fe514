"""Trends: changes come through, noise is called noise, and intervals hold the true change."""

from dataclasses import replace
from itertools import count

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ring_networks import ring_of_stops
from wayveil.accuracy.ranks import rank_ranges
from wayveil.answers.trends import LESS, MORE, SAME, UNKNOWN, find_trend
from wayveil.cli import _register, app
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Trip
from wayveil.report.trend_page import write_trend_page
from wayveil.run import make_release as release
from wayveil.trips.history import AS_READ
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

KEEP = LegalityRule(repeats="keep", impossible="keep")
CITY = World([f"s{at:03}" for at in range(120)])
GROWN, CLOSED = 5, 7


def taps(week, *, changed=False, city=CITY, many=12_000):
    rng = np.random.default_rng(week)
    share = 1 / (3 + np.arange(city.size))
    if changed:
        share[GROWN] *= 4
        share[CLOSED] = 0
    stop = rng.choice(city.size, many, p=share / share.sum())
    time = np.clip(rng.normal(13, 4, many), 0, 23).astype(np.int64) * HOUR + 4 * DAY
    return Trips(stop.astype(np.int32), np.arange(many + 1), city, time, history=AS_READ)


NOISE = count(1)


def counted(trips, prior=(), epsilon="0.5", name="week"):
    bits = SeededBits(next(NOISE))
    return release(
        trips,
        TapCounts(),
        epsilon=epsilon,
        unit=Event(),
        rule=KEEP,
        prior=prior,
        seed=1,
        dataset=name,
        bits=bits,
    )


def test_stops_that_grew_or_closed_are_named_and_no_others():
    before, after = counted(taps(1), name="one"), counted(taps(2, changed=True), name="two")
    found = find_trend([before, after])
    named = dict(found.changed.select("stop_id", "verdict").iter_rows())
    assert named["s005"] == MORE
    assert named["s007"] == LESS
    assert len(named) <= 4
    assert found.names == ("one", "two")
    assert "by more than noise could make" in found.words
    still = find_trend([before, counted(taps(3))])
    assert still.table["verdict"].to_list().count(SAME) >= 118


def test_weeks_alike_have_no_change_that_noise_could_not_make():
    quiet = [find_trend([counted(taps(1)), counted(taps(1))], "hours") for _ in range(8)]
    assert sum(trend.changed.height for trend in quiet) <= 2
    assert any("no change that noise could not make" in trend.words for trend in quiet)


@pytest.mark.parametrize("question", ["stops", "hours", "stop-hours"])
def test_intervals_hold_the_true_change_also_after_a_prior(question):
    held, weeks, made = [], [], []
    for week in range(6):
        weeks.append(taps(10 + week, changed=week > 3))
        made.append(counted(weeks[-1], made))
    for first, last in ((0, 1), (1, 2), (2, 4), (3, 4), (4, 5), (0, 5)):
        table = find_trend([made[first], made[last]], question, anyway=True).table
        true = [_true(weeks[at], question, table) for at in (first, last)]
        held += [
            (table["low"].to_numpy() <= true[1] - true[0]) & (true[1] - true[0] <= table["high"].to_numpy())
        ]
    found = np.concatenate(held)
    assert found.mean() > 0.92
    assert len(found) < 1_000 or found.mean() < 0.99


def _true(trips, question, table):
    hour = trips.time % DAY // HOUR
    stop = np.searchsorted(CITY.ids, table["stop_id"].to_numpy()) if "stop_id" in table.columns else None
    if question == "stops":
        return np.bincount(trips.location, minlength=CITY.size)[stop]
    if question == "hours":
        return np.bincount(hour, minlength=24)[table["hour"].to_numpy()]
    return np.bincount(trips.location * 24 + hour, minlength=24 * CITY.size)[
        stop * 24 + table["hour"].to_numpy()
    ]


def test_a_release_beside_itself_is_no_trend():
    week = counted(taps(1))
    with pytest.raises(ParameterError, match="given twice"):
        find_trend([week, week])


def test_ranks_are_ranges_that_hold_the_true_rank():
    found = find_trend([counted(taps(1)), counted(taps(2))]).table
    true = np.bincount(taps(1).location, minlength=CITY.size)
    rank = 1 + (true[None, :] > true[:, None]).sum(axis=1)
    place = np.searchsorted(CITY.ids, found["stop_id"].to_numpy())
    best, worst = (found[name].to_numpy() for name in ("rank_before", "rank_before_worst"))
    inside = (best <= rank[place]) & (rank[place] <= worst)
    assert inside.mean() > 0.85  # 95 % each, of some hundred stops of one release
    best, worst = rank_ranges(*np.array([[5.5, 0.0], [5.0, np.nan], [6.0, np.nan]]))
    assert best.tolist() == [1, 1]
    assert worst.tolist() == [2, 2]


def test_stops_of_another_feed_version_are_matched_by_id():
    other = World([*(f"s{at:03}" for at in range(2, 120)), "z999"])
    trips = taps(4, city=other)
    table = find_trend([counted(taps(1)), counted(trips)]).table
    assert table.height == 121
    lost = table.filter(pl.col("stop_id").is_in(["s000", "z999"]))
    assert lost["verdict"].to_list() == [UNKNOWN, UNKNOWN]
    assert lost["change"].null_count() == 2


def test_a_trend_of_noise_is_refused_and_of_what_nobody_knows_says_so():
    faint = [counted(taps(week, many=300), epsilon="0.01") for week in (1, 2)]
    with pytest.raises(RefusedError, match="anyway"):
        find_trend(faint, "stop-hours")
    assert find_trend(faint, "stop-hours", anyway=True).changed.height <= 30
    with pytest.raises(ParameterError, match="two releases"):
        find_trend(faint[:1])
    with pytest.raises(ParameterError, match="unknown trend"):
        find_trend(faint, "colours")
    ring = ring_of_stops(12, seconds=120)
    walks = Trips.of_lists([[at % 12, (at + 1) % 12] for at in range(2_000)], ring)
    tree = NoisyPrefixTree(height=2)
    trees = [release(walks, tree, epsilon=1, unit=Trip(), seed=1) for _ in range(2)]
    trees = [replace(each, known_accuracy=replace(each.accuracy, bands={})) for each in trees]
    unknown = find_trend(trees, "journeys", anyway=True)
    assert "not known" in unknown.words
    assert "without intervals" in unknown.note
    # Trips have visits: nobody tapped.
    assert "tap-ins" not in find_trend(trees, "total", anyway=True).note


def test_the_command_and_the_page_say_what_changed(tmp_path):
    places = tmp_path / "places.txt"
    places.write_text("\n".join(CITY.ids.tolist()))
    world = open_world(places)
    folders = []
    for week, changed in ((1, False), (2, True)):
        trips = taps(week, changed=changed)
        made = counted(replace(trips, world=world), name=f"week {week}")
        folders.append(str(made.save(tmp_path / f"w{week}")))
    _register()
    runner = CliRunner()
    page, table = tmp_path / "trend.html", tmp_path / "trend.csv"
    for out in (page, table):
        ran = runner.invoke(app, ["ask", *folders, "stops", "-o", str(out), "-q"])
        assert ran.exit_code == 0, ran.output
    assert "s005" in ran.output
    text = page.read_text()
    assert "numbers grew" in text
    assert "<svg" in text
    assert (tmp_path / "charts" / "change-stops.csv").exists()
    rows = pl.read_csv(table)
    assert rows.filter(pl.col("stop_id") == "s005")["verdict"].item() == MORE
    ran = runner.invoke(app, ["ask", *folders, "stops", "-o", "trend.doc"])
    assert ran.exit_code != 0


def test_a_page_names_what_could_not_be_told(tmp_path):
    made = [counted(taps(week)) for week in (1, 2, 3)]
    text = write_trend_page(tmp_path / "page.html", made).read_text()
    assert "What is not known" in text
    assert "3 releases" in text
    with pytest.raises(ParameterError, match="single taps"):
        find_trend(made, "journeys")
