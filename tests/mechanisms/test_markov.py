from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_ngrams import normalised_counts, small_list, small_network

from some_worlds import some_world
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.lab.audits.grey_box import grey_box
from wayveil.lab.audits.tiny_worlds import some_neighbour, some_trips
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Rider, Trip
from wayveil.trips.trips import Trips
from wayveil.world.world import World


def measured(mechanism, trips, epsilon, seed=0):
    gate = Gate(Trip(), Budget(epsilon), SeededBits(seed))
    return mechanism.measure(LocalCounter(trips), gate), gate


def random_trips(world, count, seed=0):
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        trip = [int(rng.integers(world.size))]
        while rng.random() < 0.7 and (degree := world.successors.degree(np.array(trip[-1:]))[0]):
            trip.append(int(world.successors.nth(np.array(trip[-1:]), np.array([rng.integers(degree)]))[0]))
        lists.append(trip)
    return Trips.of_lists(lists, world)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("share", [Fraction(1, 50), Fraction(9, 10)])
@pytest.mark.parametrize("world", [small_list(), small_network()], ids=["list", "network"])
def test_the_spends_add_up_to_epsilon_exactly(order, share, world):
    _, gate = measured(Markov(order=order, trips_share=share), random_trips(world, 50), "1/3")
    assert gate.budget.spent == Fraction(1, 3)


def test_the_number_of_trips_is_bought_only_where_the_table_is_less_exact():
    trips = random_trips(small_list(), 50)
    _, small = measured(Markov(), trips, 1)
    _, large = measured(Markov(trips_share="1/2"), trips, 1)
    assert [spend.label for spend in small.budget.spends] == ["moves"]
    assert [spend.label for spend in large.budget.spends] == ["number of trips", "moves"]


@pytest.mark.parametrize("world", [small_list(), small_network()], ids=["list", "network"])
def test_with_hardly_any_noise_the_table_is_that_of_the_slow_reference(world):
    trips = random_trips(world, 300)
    model, _ = measured(Markov(), trips, 10**6)
    truth = normalised_counts(world, 2, trips.to_lists(), 2**20)
    table = model.tables[0]
    released = {tuple(gram): count for gram, count in zip(table.symbols.tolist(), table.count, strict=True)}
    for gram, weight in truth.items():
        assert released.get(gram, 0.0) == pytest.approx(weight / 2**20, abs=0.01)
    assert sum(released.values()) == pytest.approx(300, abs=0.1)


@pytest.mark.parametrize("order", [1, 2])
def test_released_trips_keep_to_the_network_and_to_the_number_of_trips(order):
    world = small_network()
    model, _ = measured(Markov(order=order), random_trips(world, 2000), 5)
    private = model.generate(seed=1)
    assert len(private) == pytest.approx(2000, abs=40)
    assert private.lengths.min() >= 1
    inside = np.setdiff1d(np.arange(private.visits), private.offsets[1:] - 1)
    assert world.successors.contains(private.location[inside], private.location[inside + 1]).all()


def test_pairs_decide_where_they_are_frequent():
    world = small_list()
    # After a b always c, after d b always a: one stop of memory cannot tell them apart, two can.
    trips = Trips.of_lists([[0, 1, 2], [3, 1, 0]] * 500, world)
    first, _ = measured(Markov(order=1), trips, 20)
    second, _ = measured(Markov(order=2), trips, 20)

    def wrong(model):
        return np.mean([trip[:3] in ([0, 1, 0], [3, 1, 2]) for trip in model.generate(seed=0).to_lists()])

    assert wrong(first) > 0.3
    assert wrong(second) < 0.05


def test_trips_are_too_short_unless_their_lengths_are_bought():
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random(5000) < 0.5, 2, 11)
    trips = Trips.of_lists([rng.integers(0, 4, length).tolist() for length in lengths], small_list())
    plain, _ = measured(Markov(), trips, 10)
    bought, gate = measured(Markov(lengths_share="1/10"), trips, 10)
    assert [spend.label for spend in gate.budget.spends] == ["trips by length", "moves"]
    assert gate.budget.remaining == 0
    assert plain.generate(seed=0).lengths.mean() < 0.8 * lengths.mean()
    assert bought.generate(seed=0).lengths.mean() == pytest.approx(lengths.mean(), rel=0.03)


def test_shares_that_leave_nothing_for_the_moves_are_refused():
    with pytest.raises(ParameterError, match="leave nothing"):
        Markov(lengths_share="1/2", trips_share="1/2")


def test_a_table_too_large_to_write_out_returns_what_stands_out():
    model, gate = measured(Markov(dense_cells=10), Trips.of_lists([[0, 1]] * 1000, small_list()), 1)
    assert [spend.label for spend in gate.budget.spends] == ["number of trips", "moves"]
    assert gate.budget.remaining == 0
    assert model.tables[0].threshold > 0
    assert set(map(tuple, model.generate(seed=0).to_lists())) >= {(0, 1)}


@pytest.mark.parametrize(("places", "epsilon"), [(150, 1), (150, "1/2"), (40, 1), (150, 20)])
def test_how_much_of_the_table_nobody_made_is_known_from_the_noise_alone(places, epsilon):
    world = World([f"{i:03}" for i in range(places)])
    rng = np.random.default_rng(1)
    liked = rng.dirichlet(np.full(places, 0.1))
    lists = [rng.choice(places, rng.integers(1, 5), p=liked).tolist() for _ in range(2_000)]
    trips = Trips.of_lists(lists, world)
    model, _ = measured(Markov(), trips, epsilon)
    made = normalised_counts(world, 2, lists, 2**20)
    table = model.tables[0]
    false = [
        count
        for gram, count in zip(table.symbols.tolist(), table.count, strict=True)
        if tuple(gram) not in made
    ]
    assert model.lost() == pytest.approx(sum(false) / model.trips, abs=0.06)


def test_the_table_names_stops_and_marks():
    model, _ = measured(Markov(), Trips.of_lists([[0, 1]] * 1000, small_list()), 10)
    grams = [tuple(gram) for gram in model.table()["ngram"]]
    assert {("^", "a"), ("a", "b"), ("b", "$")} <= set(grams)


def test_moves_of_a_network_need_a_network():
    with pytest.raises(ParameterError, match="plain list"):
        measured(Markov(successors="network"), random_trips(small_list(), 5), 1)
    model, _ = measured(Markov(successors="all"), Trips.of_lists([[2, 0]] * 500, small_network()), 10)
    assert [2, 0] in model.generate(seed=0).to_lists()


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([Trip(), Rider(max_trips=2, without_id="own")]))
def test_no_pair_of_neighbours_is_told_apart_for_less_than_was_paid(data, order, unit):
    def choose(low, high):
        return data.draw(st.integers(low, high))

    trips = some_trips(choose, some_world(choose))
    findings = grey_box(Markov(order=order, parts=60), trips, some_neighbour(choose, trips, unit), unit, 1)
    assert findings.ok, str(findings)


@pytest.mark.parametrize("epsilon", [1, "1/2", 4])
def test_how_many_begins_and_ends_nobody_made_is_known_from_the_noise_alone(epsilon):
    world = World([f"{i:03}" for i in range(150)])
    rng = np.random.default_rng(1)
    liked = rng.dirichlet(np.full(150, 0.1))
    lists = [rng.choice(150, rng.integers(3, 9), p=liked).tolist() for _ in range(2_000)]
    model, _ = measured(Markov(), Trips.of_lists(lists, world), epsilon)
    made = normalised_counts(world, 2, lists, 2**20)
    table = model.tables[0]
    for kind, side in (("boardings", 0), ("alightings", 1)):
        here = table.symbols[:, side] >= 150
        false = [tuple(gram) not in made for gram in table.symbols[here].tolist()]
        share = table.count[here][false].sum() / table.count[here].sum()
        assert model.made_up(kind, 1.0, 1.0) == pytest.approx(2 * share, abs=0.2)
