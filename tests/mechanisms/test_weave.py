"""Weave: what it asks, what it pays, what it refuses, and what its measurements can do on their own."""

import gc
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from wayveil.counting.local import LocalCounter
from wayveil.errors import InputError, ParameterError
from wayveil.lab.audits.run_audits import EFFORTS, Job, run_job
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.moves import join_marks
from wayveil.mechanisms.weave.resolution import drop_useless
from wayveil.mechanisms.weave.settings import Generation, Shares
from wayveil.mechanisms.weave.weave import PARTS, SPREAD_IN_L2, Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import NoisyCounts, SparseCounts
from wayveil.privacy.units import Rider, Trip
from wayveil.simulate.feed import write_city
from wayveil.trips.legs import route_legs
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.successors import SparseSuccessors
from wayveil.world.walk_blocks import Resolution
from wayveil.world.world import World
from wayveil.world.zones import Geography
from weave_city import QUICK, measured, small_town, town_trips

# In a small town nearly every zone is a place; here all questions are asked all the same.
WEAVE = Weave(weakest=0, faint=0, fewest_inside=0, full_cells=0.1, generation=QUICK)


def clicks(count=2_000, size=6):
    """Sequences over a plain list, with a strong habit of going to the next symbol."""
    rng = np.random.default_rng(2)
    lists = []
    for _ in range(count):
        trip = [int(rng.integers(0, 2))]
        while rng.random() < 0.7:
            trip.append(int((trip[-1] + (1 if rng.random() < 0.8 else rng.integers(0, size))) % size))
        lists.append(trip)
    return Trips.of_lists(lists, World([f"p{i}" for i in range(size)]))


@pytest.mark.parametrize("epsilon", ["1/3", "1", "5"])
@pytest.mark.parametrize("unit", [Trip(), Rider(max_trips=2)])
@pytest.mark.parametrize("timed", [True, False])
def test_the_shares_add_up_to_epsilon_exactly_and_every_scale_follows_from_the_unit(epsilon, unit, timed):
    trips = town_trips(600, 2) if timed else town_trips(600, 2).without_times()
    model, gate = measured(WEAVE, trips, epsilon, unit)
    assert gate.budget.spent == Fraction(epsilon)
    most = unit.max_trips
    for spend in gate.budget.spends:
        if spend.kind == "tree":
            assert spend.scale == Fraction(7, 3) * most / spend.price
        else:
            whole = PARTS if "spread" in spend.label else 1
            assert spend.sensitivity == most * whole
            assert spend.scale == most * whole / spend.price
    assert ("hour" in model.noisy) is timed


@pytest.mark.parametrize("unit", [Trip(), Rider(max_trips=2)])
def test_under_zcdp_all_of_rho_is_spent_and_flows_are_bounded_in_l2(unit):
    model, gate = measured(WEAVE, town_trips(600, 2), Fraction(1, 50), unit, currency="rho")
    assert gate.budget.spent == Fraction(1, 50)
    flows = [spend for spend in gate.budget.spends if "spread" in spend.label]
    assert len(flows) == 2
    for spend in flows:
        assert spend.sensitivity == (unit.max_trips * PARTS) ** 2
        assert spend.scale == spend.sensitivity / (2 * spend.price)
    assert model.gaussian
    assert all(model.blocks().all()[name].euclidean for name in ("edge", "edge zone"))


def test_counts_that_are_bounded_in_l2_only_cannot_be_bought_with_epsilon():
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    with pytest.raises(ParameterError, match="in rho, not in epsilon"):
        gate.histogram("flows", SparseCounts.dense(np.ones(3, np.int64)), SPREAD_IN_L2, Fraction(1))
    assert gate.budget.spent == 0


def test_measurements_in_rho_know_their_weights_when_they_are_read_back():
    model, _ = measured(WEAVE, town_trips(1_500), Fraction(1, 4), currency="rho")
    restored = Measurements.of_table(model.table(), small_town(), QUICK)
    assert restored.gaussian
    assert restored.generate(4).to_lists() == model.generate(4).to_lists()


def test_every_cell_of_every_block_comes_back_noisy():
    model, _ = measured(WEAVE, town_trips(600))
    for name, block in model.blocks().all().items():
        bought = model.noisy[name]
        assert len(bought.counts) == block.cells
        assert bought.counts.dtype == np.int64
        assert np.count_nonzero(bought.counts) > 0.3 * block.cells
    assert set(model.noisy) == set(model.blocks().all())


def test_more_trips_are_looked_at_more_finely():
    few, many = (measured(WEAVE, town_trips(count))[0].resolution for count in (300, 3_000))
    assert few.ends <= many.ends
    assert few.distances <= many.distances
    assert few != many


def test_what_is_not_worth_asking_leaves_its_share_to_its_likes():
    geography = Geography(small_town())
    weights = Shares().weigh_blocks("network", timed=True)
    del weights["trips"]
    look = Resolution(ends=2, hours=0, pairs=0, edges=0, distances=1, growth=100, times=24, bands=6)
    weak = drop_useless(weights, geography, look, dict.fromkeys(weights, 0.1), faint=1 / 20, few=2)
    assert sum(weak.values()) < sum(weights.values())  # edges and their zones are both given up
    assert {"hour", "origin zone", "destination zone", "pair", "tree", "length"} == set(weak)
    assert weak["hour"] == sum(
        weights[name] for name in ("hour", "hour at origin", "hour at destination", "band of pair")
    )
    assert weak["origin zone"] == weights["origin"] + weights["origin zone"]
    strong = drop_useless(weights, geography, look, dict.fromkeys(weights, 1e6), faint=1 / 20, few=1_000)
    assert "origin zone" not in strong
    assert strong["origin"] == weights["origin"] + weights["origin zone"]


def test_origins_get_more_the_more_trips_there_are_per_place():
    shares = [
        Shares().weigh_blocks("network", timed=True, signal=100 * density, places=100)["origin"]
        for density in (0, 5, 20, 10_000)
    ]
    assert shares == [Fraction(21, 4), Fraction(21, 4), 20, 70]
    prices = []
    for count in (100, 20_000):
        _, gate = measured(Weave(weakest=0), town_trips(count))
        prices += [spend.price for spend in gate.budget.spends if spend.label == "trips by origin"]
    assert prices[1] > 2 * prices[0]


def test_moves_keep_a_third_of_their_weight_where_all_are_clear():
    moves = [
        Shares().weigh_blocks("list", timed=False, signal=signal, places=16)["move"]
        for signal in (256, 50_000, 5_000_000)
    ]
    assert moves[0] > 2 * moves[1]
    assert moves[1:] == [pytest.approx(140, rel=1e-3)] * 2


def test_pairs_of_edges_are_asked_for_only_where_the_signal_is_strong():
    weak, strong = (Weave(weakest=0, triples_from=limit, generation=QUICK) for limit in (1e9, 0))
    assert "two edges" not in measured(weak, town_trips(600))[0].noisy
    assert "two edges" in measured(strong, town_trips(600))[0].noisy


def test_too_weak_a_signal_is_refused_in_words_after_buying_the_number_of_trips_only():
    gate = Gate(Trip(), Budget(Fraction(1, 10)), SeededBits(1))
    with pytest.raises(ParameterError, match=r"trips per unit of noise .* too few"):
        Weave().measure(LocalCounter(town_trips(600)), gate)
    assert [spend.label for spend in gate.budget.spends] == ["number of trips"]


def test_without_a_network_too_few_trips_for_so_many_places_are_refused_in_words():
    wide = World([f"p{i:04d}" for i in range(2_000)])
    raw = Trips.of_lists([[1, 2]] * 1_500, wide)
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    with pytest.raises(
        ParameterError, match=r"for 2,000 places without a network .* fewer and larger places"
    ):
        Weave().measure(LocalCounter(raw), gate)
    assert [spend.label for spend in gate.budget.spends] == ["number of trips"]
    _, gate = measured(Weave(generation=QUICK), Trips.of_lists([[1, 2]] * 1_500, World(wide.ids[:20])), 1)
    assert gate.budget.spent == 1


def test_a_list_of_too_many_places_is_refused_before_anything_is_spent():
    world = World([f"{i:05d}" for i in range(5_000)])
    gate = Gate(Trip(), Budget(1), SeededBits(1))
    with pytest.raises(ParameterError, match="5,000 locations without a network"):
        Weave().measure(LocalCounter(Trips.of_lists([[1, 2]], world)), gate)
    assert gate.budget.spent == 0


def test_measuring_draws_no_randomness_outside_the_gate(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("numpy's generator was used")

    monkeypatch.setattr(np.random, "default_rng", refuse)
    monkeypatch.setattr(np.random, "random", refuse)
    measured(WEAVE, town_trips(600))


def test_a_share_must_be_above_zero():
    with pytest.raises(ParameterError, match="greater than 0"):
        Weave(shares={"on_network": {"edges": 0}})
    with pytest.raises(ParameterError, match="unknown question 'dogs'; choose one of trips, origins"):
        Weave(shares={"on_network": {"dogs": 1}})
    assert "move" not in Shares().weigh_blocks("network", timed=True, triples=True)


def test_a_weight_by_hand_leaves_the_others_as_they_are():
    usual, busy = Shares().on_network, Weave(shares={"on_network": {"edges": 50}}).shares.on_network
    assert busy == usual | {"edges": 50}


def test_trips_are_legal_walks_and_as_many_as_the_noisy_total_says():
    model, _ = measured(WEAVE, town_trips(1_500))
    private = model.generate(3)
    assert len(private) == model.total
    step = np.ones(private.visits, bool)
    step[private.offsets[1:] - 1] = False
    at = np.flatnonzero(step)
    assert np.all(small_town().edge_index(private.location[at], private.location[at + 1]) >= 0)
    assert np.all(private.lengths >= 1)
    assert np.all(np.diff(private.time)[step[:-1]] >= 0)


def test_measurements_sampled_twice_give_other_trips_at_no_price():
    model, gate = measured(WEAVE, town_trips(1_500))
    spent = gate.budget.spends
    one, two, again = model.generate(1), model.generate(2), model.generate(1)
    assert one.to_lists() == again.to_lists()
    assert one.to_lists() != two.to_lists()
    assert len(model.generate(1, trips=77)) == 77
    assert gate.budget.spends == spent


def test_the_published_table_is_enough_to_make_the_same_trips(tmp_path):
    model, _ = measured(WEAVE, town_trips(1_500))
    restored = Measurements.of_table(model.table(), small_town(), QUICK)
    assert restored.resolution == model.resolution
    assert restored.generate(4).to_lists() == model.generate(4).to_lists()
    with pytest.raises(InputError, match="does not hold the measurements"):
        Measurements.of_table(pl.DataFrame({"block": ["trips"], "cell": [0]}), small_town())
    model.save(tmp_path)
    loaded = Measurements.load(tmp_path, small_town())
    assert loaded.settings == model.settings
    assert loaded.generate(4).to_lists() == model.generate(4).to_lists()
    with pytest.raises(InputError, match="not a readable model"):
        Measurements.load(tmp_path / "nowhere", small_town())


@pytest.mark.parametrize("raw", [town_trips(600), clicks(600)], ids=["network", "list"])
def test_a_model_read_back_is_equal_to_itself_and_to_nothing_else(raw):
    settings = QUICK.model_copy(update={"doubtful": 0.3})
    model, _ = measured(WEAVE.model_copy(update={"generation": settings}), raw)
    written = json.loads(json.dumps(settings.model_dump(mode="json")))
    restored = Measurements.of_table(model.table(), raw.world, Generation(**written))
    assert restored == model
    assert list(restored.noisy) == list(model.noisy)
    assert restored.settings == settings
    assert Measurements.of_table(model.table(), raw.world, QUICK) != model
    other = model.table().with_columns(pl.col("noisy_count") + (pl.col("block") == "origin").cast(pl.Int64))
    assert Measurements.of_table(other, raw.world, settings) != model


def test_nothing_in_a_model_leads_back_to_the_trips():
    model, _ = measured(WEAVE, town_trips(600))
    model.generate(1)
    seen, todo = set(), [model]
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | str | bytes):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Trips | LocalCounter | Gate | SparseCounts | NoisyCounts)
        if type(thing).__module__.partition(".")[0] in ("wayveil", "builtins", "numpy"):
            todo += [other for other in gc.get_referents(thing) if not hasattr(other, "__globals__")]
    assert len(seen) > 20


def test_the_generator_does_not_even_import_counts_or_noise():
    code = (
        "import sys, wayveil.mechanisms.weave.measurements\n"
        "far = ('wayveil.counting', 'wayveil.privacy', 'wayveil.trips.read')\n"
        "bad = [name for name in sys.modules if name.startswith(far)]\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_plain_list_of_pages_is_woven_from_its_noisy_moves():
    raw = clicks()
    releases = []
    for seed in range(1, 4):
        model, gate = measured(Weave(weakest=0, generation=QUICK), raw, 2, seed=seed)
        assert gate.budget.spent == 2
        releases.append(model.generate(1))
    apart = [made.lengths.mean() - raw.lengths.mean() for made in releases]
    assert abs(np.mean(apart)) < 0.2
    assert max(map(abs, apart)) < 0.5
    private = releases[0]
    assert abs(len(private) - len(raw)) < 60
    for ends in (Trips.origins, Trips.destinations):
        shares = [np.bincount(ends(trips), minlength=6) / len(trips) for trips in (raw, private)]
        assert np.abs(shares[0] - shares[1]).sum() < 0.1


def test_a_week_has_other_hours_than_a_day():
    model, _ = measured(Weave(weakest=0, period="week", generation=QUICK), town_trips(1_500))
    assert model.resolution.times == 168
    private = model.generate(1)
    # The invented riders travel on the first day of the timeline, a Thursday.
    day = (private.time[private.offsets[:-1]] // 86_400 - 4) % 7
    assert np.mean(day == 3) > 0.5


def test_where_only_some_moves_are_allowed_no_other_is_made():
    successors = SparseSuccessors(np.array([0, 2, 3, 4]), np.array([0, 1, 2, 0], np.int32))
    world = World(["a", "b", "c"], successors=successors)
    raw = Trips.of_lists([[0, 0, 1, 2], [1, 2, 0], [2]] * 60, world)
    private = measured(WEAVE, raw, 4)[0].generate(1)
    for trip in private.to_lists():
        assert successors.contains(np.array(trip[:-1], int), np.array(trip[1:], int)).all()


def test_broken_flows_and_partitions_are_refused_by_the_audits():
    effort = EFFORTS["fast"]
    for variant in (
        "moves not normalised",
        "cells from the data",
        "resolution from the data",
        "root weights under pure epsilon",
        "moves not normalised in rho",
        "repeated moves forgotten in rho",
    ):
        assert run_job(Job("weave", "grey box", variant), effort=effort, seed=2).raised
    assert not run_job(Job("weave", "grey box"), effort=effort, seed=2).raised


def to_and_fro(count=3_000, size=30):
    """Riders between a home and a favourite place: a b a b ..., never a third place."""
    rng = np.random.default_rng(5)
    home, other = rng.integers(0, size, count), rng.integers(0, size - 1, count)
    other = np.where(other >= home, other + 1, other)
    length = rng.integers(2, 9, count)
    lists = [[int((h, o)[i % 2]) for i in range(n)] for h, o, n in zip(home, other, length, strict=True)]
    return Trips.of_lists(lists, World([f"s{i:03d}" for i in range(size)]))


def test_riders_who_go_to_and_fro_do_so_in_the_release():
    model, _ = measured(Weave(weakest=0), to_and_fro(), 4)
    places = [len(set(trip)) for trip in model.generate(1).to_lists() if len(trip) > 3]
    assert np.mean(places) < 2.6


def test_without_a_network_a_trip_counts_once_in_every_block_however_long_it_is():
    raw = to_and_fro(200)
    model, _ = measured(WEAVE, raw, 2)
    long = Trips.of_lists([[0, 1, 2, 0, 0, 3, 1] * 40], raw.world)
    for name, block in model.blocks().all().items():
        whole = model.noisy[name].whole
        counts = LocalCounter(long).block(block, whole).counts
        assert counts.min() > 0
        assert 0.99 * whole <= counts.sum() <= whole


def test_places_that_nobody_visits_stay_nearly_empty():
    raw = to_and_fro(6_000, 30)
    wide = World([f"s{i:03d}" for i in range(400)])
    private = measured(Weave(weakest=0), Trips.of_lists(raw.to_lists(), wide), 1)[0].generate(1)
    assert np.mean(private.location >= 30) < 0.1


def test_the_more_places_the_more_visits_weigh():
    few, many = (Shares().weigh_blocks("list", timed=False, places=n) for n in (20, 1_000))
    assert many["visit"] / sum(many.values()) > 2 * few["visit"] / sum(few.values())
    assert few["length"] == many["length"]


def test_moves_are_asked_for_where_there_are_trips_enough_for_so_many_of_them():
    raw = to_and_fro(2_000, 10)
    wide = Trips.of_lists(raw.to_lists(), World([f"s{i:03d}" for i in range(500)]))
    few, many = (measured(Weave(weakest=0, generation=QUICK), trips)[0] for trips in (raw, wide))
    assert "move" in few.noisy
    assert "move" not in many.noisy
    private = many.generate(1)
    assert abs(len(private) - 2_000) < 100
    assert np.mean(private.location < 10) > 0.9


def test_moves_weigh_most_where_they_can_just_be_told_from_noise():
    few, some, all_ = (
        Shares().weigh_blocks("list", timed=False, signal=100 * density, places=100)["move"]
        for density in (1, 300, 100_000)
    )
    assert few < some > all_


def test_more_trips_show_more_of_the_memory_of_riders():
    raw = to_and_fro(6_000, 10)
    weak, strong = (measured(WEAVE, raw, epsilon)[0].resolution for epsilon in ("1/10", "8"))
    assert (weak.memory, weak.memories) < (strong.memory, strong.memories)
    assert strong.memory == 2
    assert weak.visits <= strong.visits


def test_who_leaves_comes_back_where_nobody_counts_where_trips_end(tmp_path):
    town, rng = read_gtfs(write_city(tmp_path / "city.zip", 3, stops=240, lines=9)), np.random.default_rng(4)
    busy = np.arange(1, town.size + 1) ** -1.0
    home, work = rng.choice(town.size, (2, 1_500), p=rng.permutation(busy / busy.sum()))
    there = home != work
    pairs = [[int(a), int(b)] for a, b in zip(home[there], work[there], strict=True)]
    trips = route_legs(Trips.of_lists(pairs + [each[::-1] for each in pairs], town))
    model, _ = measured(Weave(generation=QUICK).serving({"boardings": Fraction(9, 10)}), trips, epsilon=1)
    ends = [
        np.bincount(each.location[each.offsets[1:] - 1], minlength=town.size)
        for each in (trips, model.generate(1))
    ]
    assert np.abs(ends[1] - ends[0]).sum() / ends[0].sum() < 0.6


def test_where_trips_begin_on_a_list_does_not_lean_to_where_short_ones_do():
    counted = CellEstimates(np.array([6_000.0, 6_000.0]), 30.0)
    marks = CellEstimates(
        np.array([3_000.0, 600.0]), 5.0
    )  # shares of trips: those at the first place are short
    assert join_marks(counted, marks, 12_000.0).value == pytest.approx(counted.value, rel=0.01)
