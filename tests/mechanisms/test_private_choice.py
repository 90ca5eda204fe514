"""The paid choice among mechanisms: its law in closed form, what it books, and that it is useful.

The audits of its plan, with broken variants, run in tests/risk/test_audit_run.py like those of every mechanism.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import chisquare

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError, RefusedError
from wayveil.lab.audits.likelihood import LaplaceLaw
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.audits.recording import Subject, record
from wayveil.lab.audits.tiny_worlds import crowd, tiny_grid
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.private_choice import (
    ONE_DISTANCE,
    PARTS,
    NothingFoundError,
    PrivateChoice,
    move_distance,
)
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Event, Trip
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.marked_ngrams import MarkedNgrams
from wayveil.world.world import World

F = Fraction
WORLD = World.of_symbols(list("abcd"))
CHOICE = PrivateChoice(candidates=(NoisyPrefixTree(height=2), Markov()), tolerance=300)


def random_trips(count: int, seed: int) -> Trips:
    rng = np.random.default_rng(seed)
    return Trips.of_lists([rng.integers(0, 4, rng.integers(1, 5)).tolist() for _ in range(count)], WORLD)


def test_distances_move_by_at_most_one_trip():
    universe = MarkedNgrams(WORLD.successors, 2)
    released = random_trips(20, 0)
    for seed in range(50):
        trips = random_trips(15, seed)
        distances = [
            move_distance(LocalCounter(side).normalised_ngrams(universe, PARTS), released, universe)
            for side in (trips, trips.take(np.arange(14)))
        ]
        assert abs(distances[0] - distances[1]) <= PARTS
    own = LocalCounter(released).normalised_ngrams(universe, PARTS)
    assert move_distance(own, released, universe) == 0


# A world of one stop, where everything can be computed: a trip is a trip to that stop, a release is a number of them,
# and its distance is the difference of the two numbers.

STOP = World.of_symbols(["a"])
MOST, RUNS = 12, 500


@dataclass(frozen=True)
class So:
    """So many trips to the only stop."""

    many: int

    def generate(self, seed=None):
        return trips_to_the_stop(self.many)


class Number(Mechanism):
    """A noisy number of trips, cut to 0..12."""

    name: ClassVar[str] = "number"
    summary: ClassVar[str] = "a number"

    def measure(self, counter, gate):
        noisy = gate.histogram("trips", counter.trips(), Contribution(per_trip=1), gate.budget.total)
        return So(int(np.clip(noisy.counts[0], 0, MOST)))


def trips_to_the_stop(many: int) -> Trips:
    return Trips.of_lists([[0]] * many, STOP)


def draw_law(many, tolerance, draw_price, share, *, silent=False):
    """The chance that one draw is accepted with 0, 1, .. 12 trips, when there are `many`."""
    below = LaplaceLaw(1 / (draw_price * (1 - share))).below
    x = np.arange(MOST + 1)
    number = np.where(x < MOST, below(x + 1 - many), 1.0) - np.where(x > 0, below(x - many), 0.0)
    room = (tolerance - np.abs(x - many)) * PARTS
    accepted = (
        (room >= 0).astype(float) if silent else LaplaceLaw(PARTS / (draw_price * share)).below(room + 1)
    )
    return number * accepted


def search_law(base, gamma):
    """Of all results and, at the end, of nothing."""
    accepted = base.sum()
    made = 1 / (accepted + gamma * (1 - accepted))
    return np.append(base * made, gamma * (1 - accepted) * made)


def tries_law(base, tries):
    """The same without a coin and with so many tries."""
    again = 1 - base.sum()
    return np.append(base * sum(again**k for k in range(tries)), again**tries)


def loss(one, other):
    ratios = [(p, q) for p, q in zip(one, other, strict=True) if p > 1e-300 or q > 1e-300]
    return max(abs(log(p / q)) if p > 1e-300 and q > 1e-300 else inf for p, q in ratios)


def worst(law, epsilon=1.0):
    """The largest loss between neighbours, over settings; `law` takes the chances of a draw and a gamma."""
    return max(
        loss(law(side(many), gamma), law(side(many + 1), gamma))
        for many in (0, 3, 6)
        for tolerance in (0, 2, 9)
        for share in (0.1, 0.5, 0.9)
        for gamma in (0.5, 0.05, 0.001)
        for side in [lambda m, t=tolerance, s=share: draw_law(m, t, epsilon / 2, s)]
    )


def test_the_whole_law_costs_epsilon_and_no_less_would_do():
    assert 0.7 < worst(search_law) <= 1
    assert worst(search_law, epsilon=4.0) <= 4


def test_mistakes_cost_more_in_the_same_closed_form():
    assert worst(search_law, epsilon=2.0) > 1, "every draw at the whole price, for a claim of 1"
    assert worst(lambda base, gamma: tries_law(base, 20)) > 1, "twenty tries and no coin"
    silent = [search_law(draw_law(many, 2, 0.5, 0.5, silent=True), 0.05) for many in (3, 4)]
    assert loss(*silent) == inf, "a score without noise"
    with_number = lambda base, gamma: base * ((1 - gamma) * (1 - base.sum())) ** 29  # noqa: E731
    assert worst(with_number) > 1, "the number of draws, here 30, beside the result"


def outcomes(subject, many, runs=RUNS):
    """How often the choice ended in 0, 1, .. 12 trips, and in nothing."""
    bits, counts = SeededBits(4), np.zeros(MOST + 2, int)
    for run in range(runs):
        _, model = record(subject, trips_to_the_stop(many), bits, run)
        counts[model.many if isinstance(model, So) else -1] += 1
    return counts


NUMBERS = Subject(
    PrivateChoice(candidates=(Number(), Number()), tolerance=0, score_share=F(1, 2), gamma=F(1, 2)),
    Trip(),
    F(4),
)


def fits(counts):
    expected = search_law(draw_law(3, 0, 2, 0.5), 0.5) * counts.sum()
    rare = expected < 5
    pooled = [np.append(each[~rare], each[rare].sum()) for each in (counts, expected)]
    return chisquare(*pooled).pvalue > 1e-6


def test_results_follow_the_closed_form():
    assert fits(outcomes(NUMBERS, 3))


@pytest.mark.parametrize(
    "variant",
    [
        "score without noise",
        "whole price for every draw",
        "three tries and no coin",
        "coins that fall too seldom",
    ],
)
def test_broken_variants_do_not(variant):
    assert not fits(outcomes(audit_plan("private-choice").mutation(variant).of(NUMBERS), 3))


def test_a_visit_that_changes_a_trip_moves_the_distance_by_more_than_a_trip_and_by_at_most_two():
    universe, released = MarkedNgrams(WORLD.successors, 2), Trips.of_lists([[0]] * 3, WORLD)
    raw = [LocalCounter(Trips.of_lists([trip], WORLD)) for trip in ([0], [1, 0])]
    one, other = (move_distance(c.normalised_ngrams(universe, PARTS), released, universe) for c in raw)
    assert PARTS < abs(one - other) <= Event().sensitivity(ONE_DISTANCE).linf <= 2 * PARTS


def test_a_tolerant_search_finds_a_release_and_books_exactly_its_epsilon():
    made = release(
        random_trips(400, 1), CHOICE.model_copy(update={"tolerance": 800}), epsilon=4, bits=SeededBits(3)
    )
    assert len(made.trips) > 100
    assert sum(Fraction(spend["price"]) for spend in made.datasheet["spends"]) == 4


def test_the_datasheet_names_what_there_was_to_choose_from():
    candidates = CHOICE.describe()["parameters"]["candidates"]
    assert [candidate["name"] for candidate in candidates] == ["noisy-prefix-tree", "markov"]
    assert candidates[0]["parameters"]["height"] == 2


IMPOSSIBLE = PrivateChoice(candidates=(Markov(),), tolerance=0, gamma=F(9, 10))


def test_an_impossible_tolerance_ends_with_nothing_and_says_that_the_budget_is_spent():
    with pytest.raises(NothingFoundError, match="spent"):
        release(random_trips(400, 1), IMPOSSIBLE, epsilon=F(1, 10), bits=SeededBits(1))


def test_a_search_in_vain_is_settled_in_the_ledger_at_its_whole_price(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("trips", Policy(10, unit="trip"), actor="officer")
    with pytest.raises(NothingFoundError):  # at a small epsilon, noise alone may let a candidate through
        release(random_trips(400, 1), IMPOSSIBLE, epsilon=4, unit=Trip(), ledger=ledger)
    assert ledger.spent("trips") == 4
    assert ledger.open_reservations() == []


class Refusing(Mechanism):
    """Refuses whatever it hears."""

    name: ClassVar[str] = "refusing"
    summary: ClassVar[str] = "no"

    def measure(self, counter, gate):
        gate.histogram("trips", counter.trips(), Contribution(per_trip=1), gate.budget.total)
        raise RefusedError("no")


@pytest.mark.parametrize(
    "unwilling", [Refusing(), MobiTrieSearch(n=2, quality=1, gamma=F(99, 100), count_share=F(1, 2))]
)
def test_a_candidate_that_refuses_is_a_rejected_draw_and_ends_nothing(unwilling):
    choice = PrivateChoice(candidates=(unwilling, Markov()), tolerance=10_000, gamma=F(1, 1000))
    for seed in range(8):
        assert len(release(random_trips(400, 1), choice, epsilon=4, bits=SeededBits(seed)).trips) > 0


def test_a_choice_among_nothing_is_refused():
    with pytest.raises(ParameterError, match="candidates"):
        PrivateChoice(candidates=(), tolerance=1)


def test_a_candidate_that_needs_a_delta_is_refused_before_anything_is_spent(tmp_path):
    pytest.importorskip("dp_accounting")
    trips = crowd(tiny_grid())
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("trips", Policy(5, unit="trip", total_delta="1e-3"), actor="officer")
    said = ""
    try:
        choice = PrivateChoice(candidates=("dp-loc",), tolerance=300)
        release(trips, choice, epsilon=1, unit=Trip(), ledger=ledger)
    except ParameterError as error:
        said = str(error)
    assert ledger.spent("trips") == 0
    assert "dp-loc is trained, which costs a delta" in said
