"""dp-loc: both presets, what they say and refuse, and the mistakes that audits must catch."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import ParameterError, RefusedError
from wayveil.lab.audits.grey_box import examine
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.audits.recording import Subject
from wayveil.lab.audits.tiny_worlds import pair_named
from wayveil.lab.research_figures import ends_loss, hours_of
from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.mechanisms.od_hops import OdHops
from wayveil.privacy.gradients import CLIP, Outer, clipped_sum
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.run import make_release as release
from wayveil.synthesis.hops.ends import Flows
from wayveil.synthesis.hops.hop_net import HopNet
from wayveil.synthesis.hops.published import PublishedModel, SourceNet, StudyHopNet
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid, Layout
from wayveil.world.grid_moves import GridMoves

GRID = Grid(Layout.of_counts("0,0,0.1,0.1", 6, 7))
PLAN = audit_plan("dp-loc")


def some_trips(count=900, seed=4):
    """Straight on to the east, or to the north."""
    rng = np.random.default_rng(seed)
    lists, times = [], []
    for _ in range(count):
        row, column = rng.integers(0, 4, 2)
        way = (
            [row * 7 + column + k for k in range(3)]
            if rng.random() < 0.5
            else [(row + k) * 7 + column for k in range(3)]
        )
        lists.append(way)
        times += (rng.integers(0, 86_000) + 60 * np.arange(3)).tolist()
    return Trips.of_lists(lists, GRID, time=np.array(times))


def test_the_default_learns_and_says_its_delta(tmp_path):
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("taxis", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    mechanism = DpLoc(weakest=0, training_steps=30, batch=200, hidden=8)
    made = release(some_trips(), mechanism, epsilon=4, seed=1, ledger=ledger, dataset="taxis")
    guarantee = made.datasheet["guarantee"]
    assert (guarantee["epsilon"], Fraction(guarantee["delta"])) == ("4", Fraction(1, 10**6))
    assert "chance of at most 1e-06" in guarantee["sentence"]
    (training,) = [row for row in made.datasheet["spends"] if row["label"] == "training of hops"]
    assert float(Fraction(training["scale"])) > 0.3
    (line,) = [line for line in ledger.entries("taxis") if line.kind == "reserve"]
    assert line.delta == Fraction(1, 10**6)
    assert made.trips.time is not None
    places, chance = made.model.hops(np.array([10, 20]), np.array([13, 40]), np.array([8, 9]))
    assert places.shape == chance.shape == (2, 8)
    assert np.allclose(chance.sum(axis=1), 1)


def test_the_published_preset_runs_end_to_end():
    mechanism = DpLoc(preset="published", weakest=0, training_steps=3, batch=100)
    made = release(some_trips(300), mechanism, epsilon=4, seed=1)
    assert abs(len(made.trips) - 300) < 60
    places, chance = made.model.hops(np.array([10]), np.array([13]), np.array([8]))
    assert places.shape == (1, 121)
    assert np.allclose(chance.sum(axis=1), 1)
    assert mechanism.rule(GRID).impossible == "keep"


@pytest.mark.parametrize(("epsilon", "of_the_study"), [(1, (0.2, 0.1)), (4, (0.5, 0.15))])
def test_steps_of_the_study_grow_with_their_batch(monkeypatch, epsilon, of_the_study):
    """Over a fifth of 200 examples a step goes a fifth as far; a rate that is given is taken."""
    seen = []
    for name, net in (("SourceNet", SourceNet), ("StudyHopNet", StudyHopNet)):
        monkeypatch.setattr(
            f"wayveil.mechanisms.dp_loc.{name}",
            lambda grid, rate, net=net: seen.append(rate) or net(grid, rate),
        )
    few = {"preset": "published", "weakest": 0, "training_steps": 1, "batch": 40, "most_drawn": 1}
    release(some_trips(300), DpLoc(**few), epsilon=epsilon, seed=1)
    release(some_trips(300), DpLoc(**few, rate=0.3), epsilon=epsilon, seed=1)
    assert seen == pytest.approx([of_the_study[0] / 5, of_the_study[1] / 5, 0.3, 0.3])


@pytest.mark.parametrize("unit", [Event(), Points(length=2), Window(without_id="own")])
def test_units_of_points_are_refused_before_anything_is_spent(tmp_path, unit):
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("taxis", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    with pytest.raises(ParameterError, match="Use trip, rider or rider-day"):
        release(some_trips(50), DpLoc(), epsilon=1, unit=unit, ledger=ledger, dataset="taxis")
    assert ledger.spent("taxis") == 0


def test_a_delta_of_zero_or_none_to_speak_of_is_refused():
    with pytest.raises(ParameterError, match="delta must be greater than 0"):
        release(some_trips(50), DpLoc(), epsilon=1, delta=0)
    with pytest.raises(RefusedError, match="far below one over the number of trips"):
        release(some_trips(900), DpLoc(weakest=0), epsilon=1, delta="1/900")
    with pytest.raises(RefusedError, match="too few"):
        release(some_trips(50), DpLoc(), epsilon=1)


def test_without_the_accountant_nothing_is_spent(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld", None)
    ledger = open_ledger(tmp_path / "book.ledger")
    ledger.set_policy("taxis", Policy(10, total_delta="1e-3", unit="trip"), actor="officer")
    with pytest.raises(ParameterError, match=r"pip install 'wayveil\[accounting\]'"):
        release(some_trips(50), DpLoc(), epsilon=1, ledger=ledger, dataset="taxis")
    assert ledger.spent("taxis") == 0
    others = release(some_trips(), OdHops(weakest=0), epsilon=1, seed=1, ledger=ledger, dataset="taxis")
    assert len(others.trips) > 0


def numeric_gradients(net, columns, loss):
    """Central differences of the summed loss, for a few places of every weight."""
    rng = np.random.default_rng(0)
    found = []
    for weight in net.weights:
        places = rng.choice(weight.size, min(12, weight.size), replace=False)
        slopes = []
        for place in places:
            flat = weight.reshape(-1)
            kept, step = flat[place], 1e-2
            flat[place] = kept + step
            above = loss(net, columns)
            flat[place] = kept - step
            below = loss(net, columns)
            flat[place] = kept
            slopes.append((above - below) / (2 * step))
        found.append((places, np.array(slopes)))
    return found


def dense(part):
    if isinstance(part, Outer):
        return part.inputs.astype(np.float64).T @ part.errors.astype(np.float64)
    total = np.zeros(part.shape)
    np.add.at(total, part.index, part.errors.astype(np.float64))
    return total


def hop_loss(net, columns):
    here, then, to, hour = columns
    chance = net.chances(here, to, hour)
    return -np.log(chance[np.arange(len(here)), net.moves.move(here, then)]).sum()


def some_shares():
    return np.random.default_rng(3).normal(0, 1, (GRID.size, 8)).astype(np.float32)


def study_loss(net, columns):
    here, then, to, hour = columns
    north, east = net.moves.towards(here, then)
    logits = net._forward(here, to, hour)[2].astype(np.float64)
    label = (north + 5) * 11 + east + 5
    return (np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(here)), label]).sum()


@pytest.mark.parametrize(
    ("net", "loss"),
    [
        (HopNet(GridMoves(GRID), some_shares(), 2, 6), hop_loss),
        (StudyHopNet(GRID, 0.1), study_loss),
    ],
)
def test_gradients_are_those_of_the_loss(net, loss):
    rng = np.random.default_rng(2)
    for weight in net.weights:
        weight += rng.normal(0, 0.1, weight.shape).astype(weight.dtype)
    here = np.array([8, 9, 17])
    columns = (here, here + 1, np.array([13, 27, 33]), np.array([3, 9, 21]))
    parts = net.parts(columns)
    for part, (places, slopes) in zip(parts, numeric_gradients(net, columns, loss), strict=True):
        assert dense(part).reshape(-1)[places] == pytest.approx(slopes, abs=3e-3)


def test_the_network_begins_with_the_streets_and_learns_from_there():
    moves = GridMoves(GRID)
    weight = np.zeros((GRID.size, 8))
    weight[:, 4] = 10.0
    weight[24] = 0.0
    weight[10] = [0, 0, 0, 0, 0, 0, 300, 0]  # at one cell everybody goes north
    shares = Flows(weight.ravel(), noise=1.0).shares(moves)
    assert shares[10, 6] > 0.5 > 0 > shares[10, 4]
    assert np.abs(shares[24]).max() < 1e-6
    net = HopNet(moves, shares, 1, 8, rate=0.02, steps=80)
    here, far = np.array([10, 24]), np.array([33, 41])
    street, plain = net.chances(here, far, np.array([8, 8]))
    assert street[6] > plain[6]
    columns = (np.full(40, 24), np.full(40, 23), np.full(40, 27), np.full(40, 8))  # first away, whatever for
    before = hop_loss(net, columns)
    for _ in range(80):
        net.update([total / CLIP / 40 for total in clipped_sum(net.parts(columns), 1.0)])
    assert hop_loss(net, columns) < before / 3


@pytest.mark.parametrize(
    ("net", "columns"),
    [
        (HopNet(GridMoves(GRID), some_shares(), 2, 6), 4),
        (StudyHopNet(GRID, 0.1), 4),
        (SourceNet(GRID, 0.2), 3),
    ],
)
def test_a_step_that_draws_nobody_hands_over_nothing_for_every_weight(net, columns):
    parts = net.parts((np.zeros(0, np.int64),) * columns)
    assert [part.shape for part in parts] == [weight.shape for weight in net.weights]


def test_the_autoencoder_hands_over_one_gradient_per_weight():
    net = SourceNet(GRID, 0.2)
    parts = net.parts((np.array([1, 2]), np.array([5, 5]), np.array([7, 8])))
    assert [part.shape for part in parts] == [weight.shape for weight in net.weights]
    assert all(np.isfinite(dense(part)).all() for part in parts)
    origin, destination, hour = net.draw(50, np.random.default_rng(1))
    assert origin.max() < GRID.size > destination.max()
    assert hour.max() < 24


def test_gradients_of_the_autoencoder_are_those_of_its_loss():
    net, rng = SourceNet(GRID, 0.2), np.random.default_rng(3)
    columns = (rng.integers(0, GRID.size, 30), rng.integers(0, GRID.size, 30), rng.integers(0, 24, 30))
    numeric = numeric_gradients(net, columns, lambda net, columns: net.loss(*columns).sum())
    for part, (places, slopes) in zip(net.parts(columns), numeric, strict=True):
        assert np.allclose(dense(part).reshape(-1)[places], slopes, rtol=0.05, atol=0.05)


def test_the_loss_of_ends_falls_as_the_autoencoder_learns():
    trips = some_trips(200)
    untrained = PublishedModel(
        GRID, 200.0, tuple(SourceNet(GRID, 0.2).weights), tuple(StudyHopNet(GRID, 0.1).weights), True
    )
    before = ends_loss(trips, untrained).value
    ends = (trips.origins().astype(np.int64), trips.destinations().astype(np.int64), hours_of(trips))
    net = SourceNet(GRID, 0.2)
    for _ in range(60):
        net.update([total / CLIP / 40 for total in clipped_sum(net.parts(ends), 1.0)])
    assert net.loss(*ends).mean() < before - 1
    again = ends_loss(trips, replace(untrained, source_weights=tuple(net.weights)), most=150).value
    assert again < before - 1


@pytest.mark.parametrize("unit", [Trip(), Rider(max_trips=2), RiderDay(max_trips=2)])
@pytest.mark.parametrize("mechanism", [PLAN.mechanism, *PLAN.also])
def test_the_grey_box_finds_nothing(unit, mechanism):
    pair = pair_named(PLAN.pairs, "one more on the busy path")
    subject = Subject(mechanism, unit, PLAN.epsilon, delta=PLAN.delta)
    assert examine(subject, pair.without, pair.within, 3).problems == []


@pytest.mark.parametrize("mutation", PLAN.mutations, ids=lambda mutation: mutation.name)
def test_every_known_mistake_of_training_is_caught(mutation):
    pair = pair_named(PLAN.pairs, mutation.canary)
    subject = PLAN.subject(pair.unit, mutation.name)
    found = [examine(subject, pair.without, pair.within, seed) for seed in range(4)]
    assert any(not one.ok for one in found)
