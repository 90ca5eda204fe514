"""Intervals that hold, and verdicts that tell noise from news, from replicas of a release."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.accuracy.accuracy import ALL_NOISE, Accuracy
from wayveil.accuracy.distances import KindEvidence, judge_kind, public_tally
from wayveil.accuracy.find_bands import find_bands
from wayveil.accuracy.judging import judge
from wayveil.accuracy.replicas import budget_of, draw_replicas, mechanism_of, unit_of
from wayveil.accuracy.verdicts import give_verdict
from wayveil.errors import InputError, RefusedError
from wayveil.exports.write import export
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Rider, Trip
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.run import make_release as release
from wayveil.simulate.habit import simulate_habit
from wayveil.simulate.week import simulate_week
from wayveil.synthesis.estimates import Ends, Visits
from wayveil.synthesis.tallies import KINDS, Tally, kind_of, kinds_for, tally
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

RING = ring_of_stops(12, seconds=60)


def walks(count=4_000):
    trips = simulate_week(RING, count, seed=1).cut(3)
    return Trips(trips.location, trips.offsets, World(RING.ids))


RAW = walks()


def made(mechanism, epsilon=2, raw=RAW, unit=None, seed=1):
    return release(raw, mechanism, epsilon=epsilon, unit=unit or Trip(), bits=SeededBits(seed), seed=seed)


@pytest.fixture(scope="module")
def trie():
    return made(MobiTrie())


def test_intervals_of_pairs_hold_new_draws_of_the_same_law():
    rng = np.random.default_rng(1)
    cells = np.arange(3_000)
    true = rng.pareto(1.0, 3_000) * 30
    draws = [np.maximum(true + rng.laplace(0, 20, 3_000), 0) for _ in range(3)]
    bands = find_bands(Tally(cells, true), [Tally(cells, np.where(d > 50, d, 0)) for d in draws[:2]])
    shown = draws[2][draws[2] > 50]
    low, high = bands.ends(shown)
    inside = (low <= true[draws[2] > 50]) & (true[draws[2] > 50] <= high)
    assert 0.93 <= inside.mean() <= 0.995
    # Just over the threshold it is mostly luck, and the interval reaches far down; what is hidden is bounded.
    assert bands.ends(np.array([51.0]))[0] < 20
    hidden = true[draws[2] <= 50]
    assert np.mean(hidden <= bands.ends(np.zeros(1))[1]) > 0.93


def test_numbers_stand_side_by_side_once_each_also_where_one_is_nothing():
    left, right = (
        Tally(np.array([1, 3]), np.array([0.0, 2.0])),
        Tally(np.array([1, 3, 7]), np.array([5.0, 1.0, 4.0])),
    )
    one, other = left.beside(right)
    assert (one.tolist(), other.tolist()) == ([0.0, 2.0, 0.0], [5.0, 1.0, 4.0])


def test_too_few_pairs_say_nothing():
    one = Tally(np.arange(1), np.ones(1))
    assert find_bands(one, [one, one]) is None
    assert find_bands(one, []) is None


def test_cells_that_show_the_same_number_tell_one_interval_together():
    """The outermost of many groups of them is wider than any: nearly all intervals of large, thin networks held."""
    rng = np.random.default_rng(3)
    cells, shown = np.arange(2_400), np.where(np.arange(2_400) < 2_300, 1.0, 7.0)
    true = rng.exponential(3, 2_400)
    bands = find_bands(Tally(cells, true), [Tally(cells, shown)])
    assert bands.shown.tolist() == [1, 7]
    (high,) = bands.ends(np.ones(1))[1]
    assert high == pytest.approx(np.quantile(true[shown == 1], 0.977), rel=0.12)


def test_a_bias_makes_intervals_wider_and_leaves_their_middle():
    rng = np.random.default_rng(1)
    true = Tally(np.arange(500), np.full(500, 400.0))
    bands = find_bands(true, [Tally(true.cells, true.values + rng.normal(0, 10, 500))])
    wide = bands.widen(2.0)
    assert (wide.high - wide.low > bands.high - bands.low).all()
    assert wide.high + wide.low == pytest.approx(bands.high + bands.low)


def test_intervals_of_a_release_hold_the_raw_numbers():
    inside = []
    for seed in range(6):
        one = made(NoisyPrefixTree(height=3), seed=seed)
        shown = tally("boardings", one.trips)
        low, high = one.interval("boardings", shown.cells, shown.values)
        true = tally("boardings", RAW).at(shown.cells)
        inside.append((np.floor(low) <= true) & (true <= np.ceil(high)))
    assert np.mean(np.concatenate(inside)) >= 0.9


def test_only_what_the_mechanism_holds_has_intervals(trie):
    assert set(trie.accuracy.bands) <= MobiTrie.holds
    assert set(judge(trie, holds=KINDS).bands) > set(trie.accuracy.bands)
    assert trie.estimate(Visits(())).interval is None
    one, some = tally("total", trie.trips), tally("alightings", trie.trips)
    assert trie.interval("total", one.cells, one.values) is not None
    assert trie.interval("alightings", some.cells, some.values) is None
    assert trie.interval("lengths", some.cells, some.values) is None


def test_accuracy_is_signed_and_found_once(trie, tmp_path, monkeypatch):
    folder = trie.save(tmp_path / "release")
    monkeypatch.setattr("wayveil.accuracy.judging.judge", lambda *_: pytest.fail("was made again"))
    loaded = Release.load(folder, trie.world)
    assert loaded.accuracy.record() == trie.accuracy.record()
    record = json.loads((folder / "accuracy.json").read_text())
    record["verdicts"] = []
    (folder / "accuracy.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"accuracy\.json"):
        Release.load(folder, trie.world)


def test_a_release_of_nothing_says_so():
    nothing = made(NoisyPrefixTree(height=3, size_share=0), epsilon="0.01", raw=RAW.take(np.arange(5)))
    assert len(nothing.trips) == 0
    assert nothing.accuracy.words[0] == ALL_NOISE


def test_what_is_noise_is_exported_only_if_wanted(tmp_path, trie):
    noise = give_verdict("journeys", 3, 10.0, 0.9, 1.0, sure=True)
    lost = Release(trie.trips, trie.model, trie.datasheet, known_accuracy=Accuracy({}, (noise,), None))
    with pytest.raises(RefusedError, match="noise; do not use"):
        export(lost, "od", tmp_path / "od.csv")
    assert export(lost, "od", tmp_path / "od.csv", anyway=True)
    assert lost.accuracy.words[0] == ALL_NOISE


def test_flows_on_maps_carry_their_bars(tmp_path):
    trips = Trips(RAW.location, RAW.offsets, RING)
    flat = release(
        trips,
        MobiTrie(successors="all"),
        epsilon=8,
        unit=Trip(),
        rule=ANY_MOVE,
        seed=1,
        bits=SeededBits(1),
    )
    flat = replace(flat, known_accuracy=judge(flat, holds={"edges"}))
    edges = json.loads(export(flat, "edge-flows", tmp_path / "e.json", anyway=True)[0].read_text())
    for flow in edges["features"]:
        assert flow["properties"]["trips_low"] <= flow["properties"]["trips_high"]
    stops = json.loads(export(flat, "stop-flows", tmp_path / "s.json", anyway=True)[0].read_text())
    assert stops["features"][0]["properties"]["visits_low"] is None  # not known of this mechanism
    assert "null where that is not known" in stops["note"]
    tree = release(trips, NoisyPrefixTree(height=3), epsilon=2, unit=Trip(), rule=ANY_MOVE, seed=1)
    points = json.loads(export(tree, "stop-flows", tmp_path / "t.json", anyway=True)[0].read_text())
    for stop in (point["properties"] for point in points["features"]):
        assert stop["entries_low"] <= stop["entries"] <= stop["entries_high"]
        assert stop["exits_low"] is None


def test_of_taps_a_map_shows_entries_with_their_bars_and_no_exits(tmp_path):
    single = Trips(
        RAW.location, np.arange(RAW.visits + 1), RING, np.full(RAW.visits, 8 * 3600), history=AS_READ
    )
    counted = made(TapCounts(), raw=single, unit=Event())
    points = json.loads(export(counted, "stop-flows", tmp_path / "s.json")[0].read_text())
    for stop in (point["properties"] for point in points["features"]):
        assert stop["entries"] == stop["visits"]
        assert (stop["entries_low"], stop["entries_high"]) == (stop["visits_low"], stop["visits_high"])
        assert stop["entries_low"] <= stop["entries"] <= stop["entries_high"]
        assert stop["exits"] is None


def test_tables_of_journeys_have_the_verdict_in_every_row_and_that_on_hours_too(tmp_path):
    trips = Trips(
        RAW.location, RAW.offsets, RAW.world, np.repeat(np.arange(len(RAW)) % 24 * 3600, RAW.lengths)
    )
    timed = made(SeqPT(height=2), raw=trips, epsilon="0.1")
    assert timed.accuracy.of("journey-hours").is_noise
    rows = pl.read_csv(export(timed, "od", tmp_path / "od.csv", anyway=True)[0])
    (note,) = rows["note"].unique()
    assert timed.accuracy.of("journeys").words in note
    assert timed.accuracy.of("journey-hours").words in note


def test_large_errors_are_written_in_digits():
    assert "off by 234 %" in give_verdict("total", 1, 9.0, 0.39, None, sure=True, worst=6.0).words


def test_a_good_release_says_more_than_public_knowledge():
    good = made(MobiTrie(), epsilon=20).accuracy
    assert good.of("boardings").says_more
    assert not good.is_noise
    assert "off by" in good.of("boardings").words


def test_a_kind_that_may_be_off_by_more_than_replicas_show_has_to_be_better_by_as_much():
    one, cautious = (
        give_verdict("stops", 9, 100.0, 0.1, 0.5, sure=True, worst=worst) for worst in (1.0, 4.0)
    )
    assert (one.says_more, cautious.says_more) == (True, False)
    assert (one.error, cautious.error, cautious.is_noise) == (0.1, 0.4, False)
    brave = give_verdict(
        "stops", 9, 100.0, 0.8, 9.0, sure=True, worst=0.5
    )  # replicas cannot tell it from silence
    assert (brave.says_more, brave.is_noise, brave.error) == (False, False, 0.8)


def test_public_knowledge_is_as_far_off_where_its_routes_lead_to_few_stops(monkeypatch):
    ring = ring_of_stops(40, seconds=60)
    one = made(Markov(), raw=simulate_habit(ring, 2_000, seed=1))
    all_ends = judge(one)
    monkeypatch.setattr("wayveil.accuracy.judging.MOST_ENDS", 8)
    monkeypatch.setattr("wayveil.accuracy.distances.MOST_ENDS", 8)
    few_ends = judge(one)
    for kind in ("boardings", "alightings", "lengths"):
        assert few_ends.of(kind).public == pytest.approx(all_ends.of(kind).public, rel=0.2)


def test_what_thresholds_took_is_part_of_the_error_and_leaves_no_intervals():
    raw = Trips(
        np.arange(900, dtype=np.int32), np.arange(901), World(np.array([f"{i:03}" for i in range(900)]))
    )
    poor = made(MobiTrie(), raw=raw)
    assert poor.model.lost() > 0.3
    assert set(poor.accuracy.bands) <= {"total"}
    assert made(MobiTrie(), epsilon=20).model.lost() < 0.1


@pytest.mark.parametrize(
    ("error", "public", "sure", "more", "noise"),
    [
        (0.1, 0.5, True, True, False),
        (0.4, 0.5, True, False, False),
        (0.3, 0.5, False, False, False),
        (0.8, 2.0, True, False, True),
        (0.1, None, True, True, False),
    ],
)
def test_verdicts_ask_for_half_of_the_square(error, public, sure, more, noise):
    found = give_verdict("stops", 5, 100.0, error, public, sure=sure)
    assert (found.says_more, found.is_noise) == (more, noise)
    if not more:
        assert ("do not use" if sure else "not known") in found.words


@pytest.mark.parametrize(("error", "noise"), [(0.8, False), (1.1, True)])
def test_a_single_number_says_more_than_silence_unless_all_of_it_is_wrong(error, noise):
    """A tree that lost four of five trips says more of their number than nothing does."""
    assert give_verdict("total", 1, 100.0, error, None, sure=True).is_noise is noise
    assert give_verdict("boardings", 9, 100.0, error, None, sure=True).is_noise


def test_counted_taps_are_judged_by_the_law_of_their_noise():
    single = Trips(
        RAW.location, np.arange(RAW.visits + 1), RAW.world, np.full(RAW.visits, 8 * 3600), history=AS_READ
    )
    counted = made(TapCounts(), raw=single, unit=Event())
    assert counted.accuracy.of("stops").says_more
    lost = made(TapCounts(), raw=single.take(np.arange(20)), unit=Event(), epsilon="0.01")
    assert lost.accuracy.of("stops").is_noise


def test_replicas_are_measured_as_the_datasheet_says():
    one = made(Markov(), unit=Trip())
    assert mechanism_of(one.datasheet) == Markov()
    assert unit_of(one.datasheet) == Trip()
    first, second = draw_replicas(one, 2)
    assert abs(len(first.trips) - len(one.trips)) < 100
    assert not np.array_equal(first.trips.location, second.trips.location)
    riders = Trips(RAW.location, RAW.offsets, RAW.world, rider=np.arange(len(RAW)))
    assert unit_of(made(Markov(), raw=riders, unit=Rider(max_trips=3)).datasheet) == Rider(max_trips=3)


def test_every_kind_counts_what_it_says():
    world = World.of_symbols("abc")
    trips = Trips.of_lists([[0, 1, 0, 1], [2]], world)
    assert tally("edges", trips).cells.tolist() == [1, 3]
    assert tally("edges", trips).values.tolist() == [1, 1]  # a trip that runs there twice is one
    assert tally("journeys", trips).cells.tolist() == [1, 8]
    assert tally("lengths", trips).cells.tolist() == [1, 4]
    assert tally("visits", trips).values.tolist() == [5]
    assert "hours" not in kinds_for(trips)
    assert kind_of(Visits(("route",))) is None
    ends = np.zeros(1, np.int64)
    assert kind_of(Ends(ends, ends)) == "journeys"
    assert kind_of(Ends(ends, ends, TimeBins.hour_of_day(), ends)) == "journey-hours"
    assert kind_of(Ends(ends, ends, TimeBins.hour_of_week(), ends)) is None


def test_questions_about_trips_have_bars_where_they_are_known():
    one = made(NoisyPrefixTree(height=3))
    table = one.ask("boardings").table
    assert (table["low"] <= table["answer"]).all()
    assert (table["answer"] <= table["high"]).all()
    assert one.ask("through").table["low"].null_count() == RING.size


def test_replicas_have_the_budget_of_the_release_in_its_currency():
    one = release(RAW, Markov(), epsilon=2, currency="rho", unit=Trip(), bits=SeededBits(1))
    budget = budget_of(one.datasheet)
    assert budget.currency == "rho"
    assert budget.total == Fraction(one.datasheet["guarantee"]["rho"])


def test_the_number_of_trips_is_judged_by_the_law_of_its_noise_not_by_one_draw():
    """One replica of one number is one draw: the verdict said 0.2 % where the noise makes 1.3 %."""
    for one in (made(MobiTrie(), seed=seed) for seed in (1, 2)):
        law = next(spend for spend in one.datasheet["spends"] if spend["label"] == "number of trips")
        expected = float(Fraction(law["scale"])) / len(one.trips)
        assert judge(one).of("total").error == pytest.approx(expected, rel=0.4)


def test_public_knowledge_is_not_worse_because_a_release_lost_half_of_all_moves():
    """A tree that loses the ends of trips shows fewer moves than there are, and public knowledge shows all of them."""
    public = Trips.of_lists([[0, 1, 2, 3]] * 100, World.of_symbols("abcd"))
    half = Tally(np.array([1, 6, 11]), np.array([50.0, 50.0, 50.0]))  # a > b, b > c, c > d
    smaller = Tally(half.cells, half.values / 2)
    told = public_tally("edges", public, 100.0)
    lossless = judge_kind("edges", KindEvidence(half, [half]), told, 1.0)
    lossy = judge_kind("edges", KindEvidence(half, [smaller]), told, 1.0)
    assert lossless.public == pytest.approx(1.0)
    assert lossy.public == pytest.approx(0.0)
    assert lossy.error == pytest.approx(0.5)
    assert not lossy.says_more


def test_replicas_of_noise_do_not_praise_it():
    """Noise makes walks short, short trips weigh more, and a replica of noise had less noise than its release."""
    ring = ring_of_stops(400, seconds=60)
    raw = simulate_habit(ring, 1_500, seed=1)
    for seed in (1, 2, 3):
        one = made(Markov(), raw=raw, epsilon="0.5", seed=seed)
        right, found = tally("boardings", raw), tally("boardings", one.trips)
        off = np.abs(np.subtract(*right.beside(found))).sum() / len(raw)
        assert off > 1
        verdict = judge(one).of("boardings")
        assert verdict.is_noise
        assert verdict.error > 0.6 * off


def test_counts_below_nothing_are_shown_as_nothing_and_hardly_off():
    rng = np.random.default_rng(1)
    single = Trips(
        rng.integers(0, 4, 3_000).astype(np.int32),
        np.arange(3_001),
        RING,
        np.full(3_000, 8 * 3600),
        history=AS_READ,
    )
    counted = made(TapCounts(), raw=single, unit=Event())
    right, shown = tally("stop-hours", single), counted.estimate(Visits(("stop", "hour"))).values
    off = np.abs(np.maximum(shown, 0) - right.at(np.arange(len(shown)))).sum() / len(single)
    assert counted.accuracy.of("stop-hours").error == pytest.approx(off, rel=0.5)
