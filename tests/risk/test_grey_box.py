"""The grey box lets sound mechanisms pass and stops each kind of mistake that it was made for."""

from fractions import Fraction

import numpy as np
import pytest
from one_function import VISITS, Asks, visits_of

from wayveil.errors import RefusedError
from wayveil.lab.audits.grey_box import distances, examine, grey_box
from wayveil.lab.audits.recording import CoupledBits, ReplayGate, Subject
from wayveil.lab.audits.tiny_worlds import (
    canary_pairs,
    chooser,
    pair_named,
    plain_world,
    some_neighbour,
    some_trips,
)
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.repeat import Stopping
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.trips.trips import Trips

WORLD = plain_world()
PAIRS = canary_pairs(WORLD)
BUSY = pair_named(PAIRS, "one more on the busy path")


def problems(ask, pair=BUSY, unit=None, epsilon=1):
    return grey_box(Asks(ask), pair.without, pair.within, unit or pair.unit, epsilon).problems


def test_a_sound_histogram_passes_and_its_loss_is_what_the_pair_can_realise():
    findings = grey_box(
        Asks(lambda counter, gate: gate.histogram("visits", visits_of(counter), VISITS, Fraction(1)).counts),
        BUSY.without,
        BUSY.within,
        Trip(),
        1,
    )
    assert findings.ok
    assert findings.loss == 1
    assert findings.questions == 1
    assert "nothing found" in str(findings)


def test_a_sensitivity_that_is_too_small_is_found():
    found = problems(lambda c, g: g.histogram("visits", visits_of(c), Contribution(per_trip=2), Fraction(1)))
    assert "visits: counts moved by 3 in all and 1 in one cell, but the sensitivity is 2 and 2" in found


def test_a_cell_that_moves_too_far_is_found():
    pair = pair_named(canary_pairs(WORLD), "a move outside the network")  # one stop three times
    found = problems(lambda c, g: g.histogram("visits", visits_of(c), VISITS, Fraction(1)), pair)
    assert any("3 in one cell" in problem for problem in found)


def test_an_exact_number_in_the_model_is_found():
    def leak(counter, gate):
        counts = gate.histogram("visits", visits_of(counter), VISITS, Fraction(1)).counts
        return {"counts": counts, "total": int(counter.lengths(1).counts.sum())}

    assert problems(leak) == ["with the same answers, model.total differs: it was not read through the gate"]


def test_a_model_that_keeps_the_raw_trips_is_found():
    def leak(counter, gate):
        gate.histogram("visits", visits_of(counter), VISITS, Fraction(1))
        return counter

    assert "model._trips" in problems(leak)[0]


def test_a_question_that_depends_on_the_data_is_found():
    def ask(counter, gate):
        return gate.histogram(
            "visits", visits_of(counter), VISITS, Fraction(1), threshold=int(counter.lengths(1).counts.sum())
        )

    assert "the neighbour asks `visits`" in problems(ask)[0]


def test_one_question_more_or_less_is_found():
    def ask(counter, gate):
        for label in range(int(counter.lengths(1).counts.sum()) - 18):
            gate.histogram(f"part {label}", visits_of(counter), VISITS, Fraction(1, 4))

    found = problems(ask)
    assert any("asks one question more" in problem for problem in found)
    assert any("never asks" in problem for problem in found)


def test_spending_less_than_claimed_is_found():
    found = problems(lambda c, g: g.histogram("visits", visits_of(c), VISITS, Fraction(1, 2)).counts)
    assert found == ["the spends add up to 1/2, but 1 is claimed"]


def test_an_answer_that_was_not_booked_is_found():
    def ask(counter, gate):
        noisy = gate.histogram("visits", visits_of(counter), VISITS, Fraction(1))
        return gate.answer(noisy.question, visits_of(counter)).counts

    assert any("booked spends are not for them" in problem for problem in problems(ask))


def test_parts_of_one_group_that_are_not_disjoint_are_found():
    def ask(counter, gate):
        for part in "ab":
            gate.histogram(part, visits_of(counter), VISITS, Fraction(1), group="both")

    assert "both: the pair realises a loss of 2, but 1 was paid" in problems(ask)


def test_an_error_that_only_one_neighbour_raises_is_found():
    def ask(counter, gate):
        noisy = gate.histogram("visits", visits_of(counter), VISITS, Fraction(1)).counts
        if int(counter.lengths(1).counts.sum()) > 20 and type(gate) is ReplayGate:
            raise ValueError("too many")
        return noisy

    assert problems(ask) == ["the neighbour ends in an error: ValueError: too many"]


def test_cells_outside_the_universe_are_found():
    def ask(counter, gate):
        exact = visits_of(counter)
        moved = SparseCounts(exact.universe, exact.keys + 4, exact.counts)
        return gate.histogram("visits", moved, VISITS, Fraction(1), threshold=1)

    assert "visits: exact counts outside the 6 cells asked about" in problems(ask)


def test_floating_counts_are_found():
    def ask(counter, gate):
        exact = visits_of(counter)
        halves = SparseCounts(exact.universe, exact.keys, exact.counts / 2)
        return gate.histogram("visits", halves, VISITS, Fraction(1), threshold=1).counts

    assert any("not 64-bit integers" in problem for problem in problems(ask))


class TooQuiet(Gate):
    """Half the scale that the price needs."""

    def scale(self, contribution, price):
        return super().scale(contribution, price) / 2


def test_a_scale_that_does_not_follow_from_the_price_is_found():
    ask = Asks(lambda c, g: g.histogram("visits", visits_of(c), VISITS, Fraction(1)).counts)
    found = grey_box(ask, BUSY.without, BUSY.within, Trip(), 1, gate=TooQuiet).problems
    assert "visits: the noise scale is 3/2, not 3" in found
    assert any("realises a loss of 2" in problem for problem in found)


def test_selections_are_replayed_and_their_utilities_compared():
    def sound(counter, gate):
        return gate.quantile(
            "length",
            np.repeat(counter.lengths(9).keys, counter.lengths(9).counts),
            Fraction(1, 2),
            1,
            9,
            Contribution(per_trip=1),
            Fraction(1),
        )

    def careless(counter, gate):
        lengths = counter.lengths(9)
        utilities = np.bincount(lengths.keys, lengths.counts, 10).astype(np.int64) * 5
        return gate.select("length", utilities, Contribution(per_trip=1), Fraction(1))

    assert problems(sound) == []
    found = problems(careless)
    assert "length: a utility moved by 5, but the sensitivity is 1" in found


def test_searches_are_replayed_draw_by_draw():
    def draw(counter):
        def once(gate):
            noisy = gate.histogram("draw", visits_of(counter), VISITS, gate.budget.total)
            return noisy.counts, int(noisy.counts[0])

        return once

    def sound(counter, gate):
        return gate.search("best of many", draw(counter), 25, Fraction(1), Stopping(Fraction(1, 10)))

    def counting_rounds(counter, gate):
        rounds = []

        def once(inner):
            rounds.append(int(counter.lengths(1).counts.sum()))
            return draw(counter)(inner)

        gate.search("best of many", once, 25, Fraction(1), Stopping(Fraction(1, 10)))
        return rounds

    for seed in range(10):
        subject = Subject(Asks(sound), Trip(), Fraction(1))
        assert examine(subject, BUSY.without, BUSY.within, seed).ok
    assert problems(counting_rounds) != []


def test_a_refusal_that_follows_from_the_answers_is_an_answer():
    def refuses(counter, gate):
        counts = gate.histogram("visits", visits_of(counter), VISITS, Fraction(1)).counts
        raise RefusedError(f"only {counts[0]} visits")

    def tells(counter, gate):
        gate.histogram("visits", visits_of(counter), VISITS, Fraction(1))
        raise RefusedError(f"only {int(counter.lengths(1).counts.sum())} trips")

    assert problems(refuses) == []
    assert "model.1 differs" in problems(tells)[0]


def test_zcdp_distances_are_squared():
    subject = Subject(
        Asks(lambda c, g: g.histogram("visits", visits_of(c), VISITS, Fraction(1)).counts),
        Trip(),
        Fraction(1),
        currency="rho",
    )
    findings = examine(subject, BUSY.without, BUSY.within)
    assert findings.ok
    assert findings.loss == 1


def test_distances_are_exact():
    one = SparseCounts(10, np.array([1, 4]), np.array([5, 2]))
    other = SparseCounts(10, np.array([1, 2]), np.array([3, 1]))
    assert distances(one, other) == (5, 9, 2)


@pytest.mark.parametrize(
    "unit",
    [
        Trip(),
        Rider(max_trips=2, without_id="own"),
        RiderDay(max_trips=1, without_id="own"),
        Event(),
        Points(length=3),
        Window(3600, max_visits=2, without_id="own"),
    ],
    ids=lambda unit: unit.name,
)
def test_seeded_neighbours_of_every_unit_pass(unit):
    choose = chooser(SeededBits(unit.name))
    for turn in range(15):
        trips = some_trips(choose, WORLD)
        neighbour = some_neighbour(choose, trips, unit)
        findings = grey_box(NoisyPrefixTree(height=3), trips, neighbour, unit, 1, seed=turn)
        assert findings.ok, findings


def test_the_first_words_of_a_coupled_draw_do_not_depend_on_how_many_are_asked_for():
    short, long = CoupledBits(3), CoupledBits(3)
    assert short.words(4).tolist() == long.words(9)[:4].tolist()
    assert short.words(4).tolist() == long.words(5)[:4].tolist()


def test_riders_whose_trips_are_chosen_by_chance_are_compared_with_the_same_choices():
    riders = np.array([0, 0, 0, 1, 1, 1])
    trips = Trips.of_lists([[0], [1], [2], [3], [4], [5]], WORLD, rider=riders)
    more = Trips.of_lists([*trips.to_lists(), [0, 1]], WORLD, rider=np.append(riders, 2))
    subject = Subject(NoisyPrefixTree(height=2), Rider(max_trips=1), Fraction(1))
    assert all(examine(subject, trips, more, seed).ok for seed in range(20))
