"""Four ways from taps to a release: each promises what it can keep, and says so."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Rider, Trip
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.taps.boardings import Boardings
from wayveil.taps.chains import chain_cards, sequences
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ, PER_TRIP
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR
from wayveil.world.world import World

CITY = ring_of_stops(20, seconds=120, skip=3, routes=3)
FIRST, DAYS = date(2024, 12, 15), 6
MADE = simulate_taps(CITY, 6_000, seed=5).taps
ANONYMOUS = Taps(MADE.location, MADE.time, CITY, route=MADE.route, history=AS_READ)


def test_cards_are_released_with_the_rider_as_unit_by_both_trees():
    for tree in (NoisyPrefixTree(height=3), PPDP(height=3)):
        made = release_taps(MADE, "cards", epsilon=2, mechanism=tree, max_trips=3)
        assert made.datasheet["private"] is True
        assert made.datasheet["guarantee"]["unit"] == "rider"
        assert made.datasheet["guarantee"]["bounds"]["max_trips"] == 3
        assert len(made.trips) > 0


def test_cards_are_counted_unless_another_mechanism_is_named():
    made = release_taps(MADE, "cards", epsilon=2)
    assert made.datasheet["mechanism"]["name"] == "tap-counts"
    assert made.datasheet["guarantee"]["unit"] == "rider"
    true = np.argsort(-np.bincount(MADE.location, minlength=CITY.size), kind="stable")[:5]
    asked = made.ask("most-used", top=5).table
    assert len(set(asked["stop_id"]) & set(CITY.ids[true])) >= 4
    assert asked["low"].null_count() == 0
    assert (
        release_taps(MADE, "cards", epsilon=2, alightings=True).datasheet["mechanism"]["name"] != "tap-counts"
    )


def test_the_way_of_the_study_says_that_it_protects_nobody_behind_the_taps():
    made = release_taps(ANONYMOUS, "study", epsilon=1, mechanism=PPDP(height=3), seed=1)
    assert made.datasheet["private"] is False
    assert "reconstructed from the raw taps" in made.datasheet["not_private_because"][0]
    assert "no privacy guarantee" in made.datasheet["guarantee"]["sentence"]


def test_counts_first_pays_epsilon_once_for_single_taps_and_makes_riders_afterwards():
    made = release_taps(ANONYMOUS, "counts-first", epsilon=1, first_day=FIRST, days=DAYS, seed=3)
    sheet = made.datasheet
    assert sheet["private"] is True
    assert sheet["guarantee"]["unit"] == "event"
    assert sum(Fraction(spend["price"]) for spend in sheet["spends"]) == 1
    assert len(sheet["spends"]) == 3
    assert made.trips.visits == pytest.approx(6_000, rel=0.05)
    assert made.trips.lengths.max() > 1
    assert made.trips.world is CITY


def test_counts_alone_release_single_taps():
    made = release_taps(ANONYMOUS, "counts", epsilon=1, seed=3)
    assert made.datasheet["guarantee"]["unit"] == "event"
    assert made.datasheet["private"] is True
    assert made.trips.visits == pytest.approx(6_000, rel=0.05)
    assert made.trips.lengths.max() == 1


def test_a_tree_after_the_noisy_counts_spends_nothing_more():
    made = release_taps(
        ANONYMOUS,
        "counts-first",
        epsilon=1,
        first_day=FIRST,
        days=DAYS,
        mechanism=NoisyPrefixTree(height=2),
        seed=1,
    )
    assert made.datasheet["rewritten_by"]["name"] == "noisy-prefix-tree"
    assert made.datasheet["guarantee"]["epsilon"] == "1"
    assert made.trips.lengths.max() <= 2


def test_with_little_noise_the_fitted_table_has_the_margins_of_the_taps():
    gate = Gate(Event(), Budget(Fraction(3000)), SeededBits(1))
    world = Boardings(CITY)
    model = TapMargins(first_day=FIRST, days=DAYS).measure(LocalCounter(world.of(ANONYMOUS)), gate)
    table = model.expected(rounds=200)
    assert model.total() == pytest.approx(6_000, abs=1)
    per_stop = np.bincount(world.stop, table.sum(axis=1), CITY.size)
    true = np.bincount(ANONYMOUS.location, minlength=CITY.size)
    assert np.allclose(per_stop, true, atol=3)
    hour = np.bincount(ANONYMOUS.time % DAY // HOUR, minlength=24)
    assert np.allclose(table.sum(axis=0).reshape(DAYS, 24).sum(axis=0), hour, atol=3)
    drawn = model.draw_taps(1)
    assert abs(len(drawn) - 6_000) <= 1
    assert drawn.route.min() >= 0


def test_the_model_is_written_cell_by_cell_with_its_scale():
    made = release_taps(ANONYMOUS, "counts-first", epsilon=2, first_day=FIRST, days=DAYS, seed=3)
    table = made.model.table()
    sums = dict(table.group_by("margin").agg(pl.col("noisy_count").sum()).iter_rows())
    assert set(sums) == {
        "taps by stop and route",
        "taps by route, day and hour",
        "taps by stop and hour of day",
    }
    assert all(total == pytest.approx(6_000, rel=0.2) for total in sums.values())


def test_one_tap_moves_each_histogram_by_one_and_the_questions_stay_the_same():
    """The two conditions of the gate's argument, on a dataset and its neighbour."""

    class Recorder(Gate):
        def answer(self, question, exact):
            seen.append((question, exact))
            return super().answer(question, exact)

    records = []
    for taps in (ANONYMOUS, ANONYMOUS.take(np.delete(np.arange(6_000), 1234))):
        seen = []
        gate = Recorder(Event(), Budget(Fraction(1)), SeededBits(1))
        bounded = gate.bound(ANY_MOVE.apply(Boardings(CITY).of(taps)))
        TapMargins(first_day=FIRST, days=DAYS).measure(LocalCounter(bounded), gate)
        records.append(seen)
    for (question, exact), (asked, without) in zip(*records, strict=True):
        assert question == asked
        dense = np.zeros((2, question.universe), np.int64)
        dense[0, exact.keys], dense[1, without.keys] = exact.counts, without.counts
        assert np.abs(dense[0] - dense[1]).sum() == 1
        assert question.scale * question.price == 1


def test_taps_outside_the_public_period_are_not_counted():
    gate = Gate(Event(), Budget(Fraction(3000)), SeededBits(1))
    model = TapMargins(first_day=FIRST, days=1).measure(LocalCounter(Boardings(CITY).of(ANONYMOUS)), gate)
    first = (FIRST - date(1970, 1, 1)).days
    assert model.total() == pytest.approx((ANONYMOUS.day == first).sum(), abs=1)


def test_a_route_that_does_not_serve_the_stop_counts_as_unknown():
    world = Boardings(CITY)
    odd = Taps(
        np.zeros(2, np.int32), np.zeros(2, np.int64), CITY, route=np.array([1, -1], np.int32), history=AS_READ
    )
    served = {int(r) for r in world.route[world.stop == 0]}
    assert 1 not in served
    assert world.route[world.of(odd).location].tolist() == [3, 3]


def public_period(way):
    return {"first_day": FIRST, "days": DAYS} if way == "counts-first" else {}


def test_taps_filled_from_other_rows_are_refused_by_every_sound_way():
    filled = Taps(
        MADE.location, MADE.time, CITY, route=MADE.route, card=MADE.card, filled=np.arange(6_000) == 7
    )
    for way in ("cards", "counts-first", "counts"):
        with pytest.raises(ParameterError, match="`filled`: stops or routes were filled in from other rows"):
            release_taps(filled, way, epsilon=1, **public_period(way))
    assert release_taps(filled, "study", epsilon=1, seed=1).datasheet["private"] is False


def test_ways_say_what_they_lack():
    with pytest.raises(ParameterError, match="no cards"):
        release_taps(ANONYMOUS, "cards", epsilon=1)
    with pytest.raises(ParameterError, match="public period"):
        release_taps(ANONYMOUS, "counts-first", epsilon=1)
    with pytest.raises(ParameterError, match="unknown way"):
        release_taps(ANONYMOUS, "magic", epsilon=1)


def measured(trips, unit=None, epsilon=3000, **settings):
    gate = Gate(unit or Event(), Budget(Fraction(epsilon)), SeededBits(1))
    return TapMargins(first_day=FIRST, days=DAYS, **settings).measure(LocalCounter(gate.bound(trips)), gate)


def test_margins_refuse_before_the_first_noise_what_they_cannot_protect_or_draw():
    taps = Boardings(CITY).of(ANONYMOUS)
    with pytest.raises(ParameterError, match="infinite"):
        measured(taps, Trip())
    with pytest.raises(ParameterError, match="public period"):
        TapMargins().measure(LocalCounter(taps), Gate(Event(), Budget(Fraction(1))))
    nowhere = Trips.of_lists([[0]], World.of_symbols("ab"), time=np.zeros(1, np.int64))
    with pytest.raises(ParameterError, match="riders move on a network"):
        measured(nowhere)
    untimed = Trips(ANONYMOUS.location, np.arange(6_001), CITY)
    with pytest.raises(ParameterError, match="no times"):
        measured(untimed)


def test_whole_riders_can_be_protected_where_their_taps_are_capped():
    days = sequences(MADE, MADE.card, "day")
    model = measured(days, Rider(max_trips=2), epsilon=6, max_visits=3, riders=False)
    # Six taps of a rider at most, and epsilon is six.
    assert model.scales == (Fraction(5, 2), Fraction(10, 3), Fraction(10, 3))
    assert model.generate(1).lengths.max() == 1


def test_trips_without_routes_are_counted_as_taken_by_an_unknown_one():
    model = measured(ANONYMOUS.as_single_visits())
    assert model.cells.route_ids == [None]
    true = np.bincount(ANONYMOUS.location, minlength=CITY.size)
    assert np.abs(model.noisy[0] - true).max() <= 1
    assert set(model.draw_taps(1).route.tolist()) == {-1}
    assert model.generate(1).world is CITY


def test_a_release_of_each_way_can_be_saved_and_loaded(tmp_path):
    for way in ("cards", "counts-first", "counts", "study"):
        made = release_taps(MADE, way, epsilon=1, **public_period(way), seed=2)
        again = Release.load(made.save(tmp_path / way), CITY)
        assert again.trips.visits == made.trips.visits


def one_card(*taps):
    location, second, route = np.array(taps).T
    n = len(taps)
    return Taps(
        location.astype(np.int32), second, CITY, route=route.astype(np.int32), card=np.zeros(n, np.int64)
    )


def test_riders_alight_where_their_route_is_nearest_to_the_next_boarding():
    # Route 0 serves stops 0 to 9, of which 9 is nearest to a boarding at 12; the last ride ends at the first boarding.
    trips = chain_cards(one_card((1, 8 * HOUR, 0), (12, 9 * HOUR, 1)))
    stops = [CITY.ids[i] for i in trips.location]
    assert stops[0] == "s001"
    assert stops[2] == "s012"
    assert trips.location[1] in np.union1d(CITY.sources[CITY.route == 0], CITY.indices[CITY.route == 0])
    assert np.all(np.diff(trips.time) >= 0)
    assert trips.time[1] <= 9 * HOUR


def test_without_routes_riders_alight_where_they_board_next_and_go_home_at_the_end():
    trips = chain_cards(one_card((1, 8 * HOUR, -1), (7, 12 * HOUR, -1), (15, 18 * HOUR, -1)))
    assert trips.to_lists() == [[1, 7, 15, 1]]
    assert chain_cards(one_card((4, HOUR, -1))).to_lists() == [[4]]


def test_chains_look_at_one_card_only():
    both = chain_cards(MADE)
    some = MADE.take(MADE.card != MADE.card[0])
    without = chain_cards(some)
    kept = both.take(both.rider != MADE.card[0])
    assert kept.to_lists() == without.to_lists()


def test_taps_of_nobody_are_chained_to_no_others_and_chains_say_that_a_tap_moves_them():
    taps = replace(one_card((1, HOUR, -1), (2, 2 * HOUR, -1), (3, 3 * HOUR, -1)), history=AS_READ)
    alone = sequences(taps, np.array([-1, -1, -1]), "day")
    assert alone.to_lists() == [[1], [2], [3]]
    for chained in (alone, chain_cards(taps)):
        assert chained.history.stability == PER_TRIP


def test_chains_need_cards():
    with pytest.raises(ParameterError, match="no cards"):
        chain_cards(ANONYMOUS)
