"""Answers of an agency from a release, with error bars from the law of the noise."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.accuracy.judging import judge
from wayveil.accuracy.numbers import HOLDS, NO_INTERVAL
from wayveil.answers.answer_sheet import answer_sheet
from wayveil.answers.answers import top_patterns
from wayveil.answers.asked import Asked
from wayveil.answers.visit_counts import route_boardings
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError, WayveilError
from wayveil.exports.station_activities import station_activities
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Event, Points, RiderDay, Trip, Window
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.synthesis.estimates import Runs, count_runs
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.boardings import Boardings
from wayveil.taps.chains import sequences
from wayveil.trips.trips import Trips
from wayveil.utility.raw_answers import RawAnswers
from wayveil.world.network_lines import scheduled_runs
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

CITY = ring_of_stops(8, seconds=300, skip=2, routes=2)
TAPS = simulate_taps(CITY, 6_000, seed=2).taps
RAW = sequences(TAPS, TAPS.card, "day")


def asked(mechanism, unit=None, epsilon=4):
    return release(
        RAW, mechanism, epsilon=epsilon, unit=unit or Trip(), rule=ANY_MOVE, bits=SeededBits(3), seed=1
    )


SINGLE = TAPS.as_single_visits()
TRUE = {
    "total": [len(TAPS)],
    "stops": np.bincount(TAPS.location, minlength=8),
    "hours": np.bincount(TAPS.time % DAY // HOUR, minlength=24),
    "stop-hours": np.bincount(
        TAPS.location.astype(np.int64) * 24 + TAPS.time % DAY // HOUR, minlength=8 * 24
    ),
    "routes": np.bincount(TAPS.route, minlength=2),
}
MEASURES = {
    "counts": (SINGLE, TapCounts()),
    "counts of half hours": (SINGLE, TapCounts(time="30")),
    "counts above a threshold": (SINGLE, TapCounts(dense_cells=0)),
    "counts-first": (Boardings(CITY).of(TAPS), TapMargins(first_day=date(2024, 12, 15), days=6)),
}


@pytest.mark.parametrize("epsilon", ["1/2", "4"])
@pytest.mark.parametrize("name", MEASURES)
def test_bars_of_counted_taps_hold_the_truth_as_often_as_they_say(name, epsilon):
    taps, mechanism = MEASURES[name]
    inside = {question: [] for question in TRUE}
    for seed in range(40):
        gate = Gate(Event(), Budget(Fraction(epsilon)), SeededBits(seed))
        model = mechanism.measure(LocalCounter(taps), gate)
        one = Release(SINGLE, model, {"mechanism": mechanism.describe(), "visits": "taps"})
        for question in TRUE:
            answer = one.ask(question)
            if HOLDS not in answer.note:
                continue
            keys = [key for key in ("stop_id", "route_id", "hour") if key in answer.table.columns]
            table = answer.table.sort(keys) if keys else answer.table
            true = np.asarray(TRUE[question])
            inside[question].append((table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy()))
    answered = {question for question, hits in inside.items() if hits}
    assert answered >= {"total", "stops", "hours"}
    assert ("routes" in answered) == (name == "counts-first")
    assert ("stop-hours" in answered) == (name != "counts above a threshold")
    for question in answered:
        hits = np.concatenate(inside[question])
        # Whole numbers make bars too wide where noise is small; four standard deviations of a coin that falls 95 times.
        slack = 4 * np.sqrt(0.95 * 0.05 / len(hits))
        assert 0.95 - slack <= hits.mean(), question
        assert hits.mean() <= (0.975 if epsilon == "1/2" else 1) + slack, question


def test_bars_of_capped_riders_say_which_taps_they_count():
    capped = asked(TapCounts(max_visits=2), RiderDay(max_trips=1)).ask("stops")
    assert "first 2 taps of a trip" in capped.note
    assert capped.table["answer"].sum() < RAW.visits


def test_the_fitted_table_keeps_the_sums_that_the_counts_agree_on():
    """Fitted without agreement, hours were several noise widths off: whichever histogram came last moved the others."""
    taps, margins = MEASURES["counts-first"]
    for seed in range(3):
        model = margins.measure(LocalCounter(taps), Gate(Event(), Budget(Fraction(1)), SeededBits(seed)))
        table = model.expected()
        per_place = table.sum(axis=1)
        sums = {
            "hour": table.sum(axis=0).reshape(6, 24).sum(axis=0),
            "stop": np.bincount(model.cells.stop, per_place),
            "route": np.bincount(model.cells.route, per_place),
        }
        for side, found in sums.items():
            # Half a standard deviation of the noise in an hour.
            assert found == pytest.approx(model.agreed(side), abs=10), side


def test_longer_patterns_have_bars_too_where_they_are_known_to_hold():
    # Few of these trips have three stops: with less epsilon triples are noise, and noise has no bars.
    plain = asked(MobiTrie(successors="all"), epsilon=20)
    one = replace(plain, known_accuracy=judge(plain, holds={"edges", "triples"}))
    for question, stops in (("pairs", 2), ("triples", 3)):
        table = one.ask(question, top=5).table
        assert table.height == 5
        assert [name for name in table.columns if name.startswith("stop")] == [
            f"stop_{i + 1}" for i in range(stops)
        ]
        assert table["high"].null_count() == 0
        assert (table["high"] >= table["low"]).all()
    unknown = asked(NoisyPrefixTree(height=3, successors="all")).ask("pairs", top=5)
    assert unknown.table["high"].null_count() == 5
    assert "not known" in unknown.note


def test_plain_laplace_stands_beside_and_marks_the_answer_internal():
    one = asked(NoisyPrefixTree(height=3, successors="all"))
    answer = RawAnswers(RAW, bits=SeededBits(1))(one, Asked("pairs", top=5))
    assert answer.internal
    assert "Not for publication" in answer.note
    grams = np.stack([CITY.index_of(answer.table[name]) for name in ("stop_1", "stop_2")], axis=1)
    assert answer.table["raw"].to_list() == count_runs(Runs(grams), RAW).tolist()
    assert not one.ask("pairs").internal


@pytest.mark.parametrize(("unit", "scale"), [(Trip(), 3 / 4), (RiderDay(max_trips=2), 6 / 4)])
def test_plain_laplace_noise_covers_the_unit_of_the_release(unit, scale):
    one = asked(NoisyPrefixTree(height=3, successors="all"), unit)
    cut = np.bincount(RAW.cut(3).location, minlength=8)
    noise = np.concatenate(
        [
            RawAnswers(RAW, bits=SeededBits(seed))(one, Asked("stops"))
            .table.sort("stop_id")["plain_laplace"]
            .to_numpy()
            - cut
            for seed in range(150)
        ]
    )
    alpha = np.exp(-1 / scale)
    assert np.abs(noise).mean() == pytest.approx(2 * alpha / (1 - alpha**2), rel=0.15)


def test_hours_come_from_timed_trees_and_are_refused_without_times():
    one = asked(PPDP(height=2))
    hours = one.ask("hours").table
    assert hours["answer"].sum() == len(one.trips)
    assert hours["high"].null_count() == 24  # nobody measured that they hold
    both = one.ask("stop-hours").table
    assert both["answer"].sum() == one.trips.visits
    assert both.height == 8 * 24
    with pytest.raises(ParameterError, match="no times"):
        asked(NoisyPrefixTree(height=2, successors="all")).ask("hours")


def test_counted_routes_are_answered_from_their_counts_and_load_is_per_scheduled_seat():
    made = release_taps(TAPS, "counts-first", epsilon=3, first_day=date(2024, 12, 15), days=6, seed=1)
    one = made
    true = np.bincount(TAPS.route, minlength=2)
    routes = RawAnswers(RAW, true.astype(float))(one, Asked("routes")).table.sort("route_id")
    assert np.abs(routes["answer"].to_numpy() - true).max() < 60
    assert (routes["high"] > routes["answer"]).all()
    load = one.ask("load", seats=10).table.sort("route_id")
    assert load["answer"].to_numpy() == pytest.approx(
        routes["answer"].to_numpy() / (scheduled_runs(CITY) * 10), abs=0.5 / 10
    )


def test_routes_that_were_not_counted_are_shared_out_by_the_timetable():
    one = asked(NoisyPrefixTree(height=2, successors="all"))
    answer = one.ask("routes")
    assert answer.table["answer"].sum() == pytest.approx(one.trips.visits)
    assert answer.table["low"].null_count() == 2
    assert "timetable" in answer.note
    assert route_boardings(RAW, CITY).sum() == pytest.approx(RAW.visits)


def test_plain_tap_counts_have_bars_from_their_spends():
    made = release_taps(TAPS, "counts", epsilon=2, seed=1)
    assert made.datasheet["guarantee"]["unit"] == Event().name
    one = made
    for question in ("total", "stops", "hours", "stop-hours"):
        table = RawAnswers(RAW)(one, Asked(question)).table
        assert table["high"].null_count() == 0
        assert {"raw", "plain_laplace"} <= set(table.columns)
    assert one.ask("pairs").table.height == 0


def test_extremes_are_sorted_and_cut():
    one = asked(NoisyPrefixTree(height=2, successors="all"))
    most, least = (
        one.ask(question, top=3).table["answer"].to_list() for question in ("most-used", "least-used")
    )
    assert most == sorted(most, reverse=True)
    assert least == sorted(least)
    assert len(most) == len(least) == 3
    assert most[0] >= least[-1]


def test_stops_below_the_thresholds_are_not_called_the_least_used():
    world = World.of_symbols("abcd")
    answer = bare_release(Trips.of_lists([[0, 1], [0]], world)).ask("least-used")
    assert answer.table["stop_id"].to_list() == ["b", "a"]
    assert "2 more stops" in answer.note


@pytest.mark.parametrize(
    ("way", "given"),
    [
        ("counts", {"alightings": True}),
        ("counts", {"rules": RiderRules()}),
        ("counts", {"max_trips": 3}),
        ("counts-first", {"max_trips": 3}),
        ("counts", {"period": "week"}),
    ],
)
def test_options_that_a_way_does_not_use_are_refused(way, given):
    with pytest.raises(ParameterError, match="no meaning"):
        release_taps(TAPS, way, epsilon=1, **given)


def test_weave_on_taps_is_refused_and_the_right_mechanism_named():
    with pytest.raises(ParameterError, match="tap-counts"):
        release_taps(TAPS, "cards", epsilon=1, mechanism=Weave())


@pytest.mark.parametrize("unit", [Points(length=2), Window(seconds=DAY, max_visits=2)])
def test_releases_for_units_of_visits_answer_beside_raw_taps(unit):
    made = release(SINGLE, TapCounts(), epsilon=4, unit=unit, rule=ANY_MOVE, bits=SeededBits(3), seed=1)
    answer = RawAnswers(SINGLE)(made, Asked("stops"))
    assert answer.table["raw"].sum() == len(TAPS)
    assert answer_sheet(made).table.height > 0


@pytest.mark.parametrize("first_day", [date(2999, 1, 1), date(1950, 1, 1)])
def test_a_period_in_which_no_tap_can_lie_is_refused_before_the_spend(first_day, tmp_path):
    ledger = open_ledger(tmp_path / "ledger.db")
    ledger.set_policy("taps", Policy(2, unit="event"), "kim")
    for way in ("counts-first", "counts"):
        with pytest.raises(WayveilError, match=r"said to be of .*Nothing was spent"):
            release_taps(TAPS, way, epsilon=1, first_day=first_day, days=6, ledger=ledger, dataset="taps")
    assert ledger.remaining("taps") == 2
    with pytest.raises(ParameterError, match="no tap"):
        release_taps(TAPS, "counts-first", epsilon=1, first_day=first_day, days=6)


@pytest.mark.parametrize("name", MEASURES)
def test_station_activities_add_up_to_the_answer_in_all(name):
    trips, mechanism = MEASURES[name]
    made = release(trips, mechanism, epsilon="1/4", unit=Event(), rule=ANY_MOVE, bits=SeededBits(5), seed=1)
    assert station_activities(made)["total_entries"].sum() == made.ask("total").table["answer"].item()


def test_patterns_are_counted_once_per_trip():
    world = World.of_symbols("ab")
    trips = Trips.of_lists([[0, 1, 0, 1], [0, 1], [1, 0]], world)
    grams = top_patterns(trips, 2, 5)
    assert grams.tolist() == [[0, 1], [1, 0]]
    assert count_runs(Runs(grams), trips).tolist() == [2, 2]


def test_unknown_questions_and_worlds_without_routes_are_refused():
    world = World.of_symbols("ab")
    one = bare_release(Trips.of_lists([[0]], world))
    assert one.ask("total").table["low"].null_count() == 2  # of trips and of visits
    with pytest.raises(ParameterError, match="unknown question"):
        one.ask("why")
    with pytest.raises(ParameterError, match="no routes"):
        one.ask("routes")


def test_a_sheet_has_every_answer_beside_the_plain_one_and_says_what_cannot_be_answered():
    made = release_taps(TAPS, "counts-first", epsilon=3, first_day=date(2024, 12, 15), days=6, seed=1)
    one = made
    public = answer_sheet(one, top=4)
    assert not public.internal
    assert set(public.table.columns) == {"question", "what", "answer", "low", "high", "plain_laplace_noise"}
    sizes = dict(public.table.group_by("question").len().iter_rows())
    assert sizes == {
        "total": 1,
        "hours": 24,
        "most-used": 4,
        "least-used": 4,
        "routes": 2,
        "load": 2,
        "pairs": 4,
        "triples": 4,
    }
    noise = public.table.filter(pl.col("question") == "routes")["plain_laplace_noise"].unique().to_list()
    assert noise == [1.0]  # Laplace noise of scale 1/3 is within 1 in 95 of 100 cases
    assert "08:00" in public.table["what"].to_list()

    true = np.bincount(TAPS.route, minlength=2).astype(float)
    beside = answer_sheet(one, answering=RawAnswers(RAW, true, SeededBits(1)))
    assert beside.internal
    routes = beside.table.filter(pl.col("question").is_in(["routes", "load"]))
    assert routes["plain_laplace"].null_count() == 0
    assert "rules" in beside.notes["pairs"]

    untimed = answer_sheet(asked(NoisyPrefixTree(height=2, successors="all")))
    assert "no times" in untimed.unanswered["hours"]
    assert "hours" not in untimed.table["question"].to_list()
    assert {"boardings", "alightings"} <= {*untimed.table["question"], *untimed.unanswered}
    assert " ".join(untimed.notes.values()).count(NO_INTERVAL) > 1
    assert " ".join(untimed.say_once()).count(NO_INTERVAL) == 1
