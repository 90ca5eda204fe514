"""Parts of the DP-Loc study: its recurrent network, what no model can be below, and trips made of points."""

import numpy as np
import pytest

from wayveil.lab.studies.dp_loc.dp_loc_trials import entropy, visits_of
from wayveil.lab.studies.dp_loc.recurrent import HopLstm, Recited, softmax
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.run_study import find_study
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_points
from wayveil.world.grid import Grid


@pytest.fixture(scope="module")
def rides():
    grid = Grid.of_metres(STUDY_BOX, 2_000)
    return visits_of(simulate_taxis(400, drivers="study", seed=3), grid)


def test_trips_of_simulated_points_are_those_that_reading_gives(rides, tmp_path):
    simulate_taxis(400, drivers="study", seed=3).write(tmp_path / "taxis.parquet")
    read = read_points(tmp_path / "taxis.parquet", rides.world)
    for name in ("location", "offsets", "time"):
        assert np.array_equal(getattr(read, name), getattr(rides, name))


def test_the_recurrent_network_steps_along_its_gradient(rides):
    long = rides.take(rides.lengths >= 4).take(np.arange(6))
    hour = np.arange(6)
    net = HopLstm(rides.world)
    net.weights = [3 * weight.astype(np.float64) for weight in net.weights]
    ways = net.ways(long, hour)

    def loss():
        chance = softmax(net._forward(ways).logits)[ways.real]
        label = ways.label[ways.real]
        return -np.log(chance[np.arange(len(label)), label]).mean()

    before = [weight.copy() for weight in net.weights]
    net.learn(ways, 1e-3)
    steps = [old - new for old, new in zip(before, net.weights, strict=True)]
    net.weights = before
    for weight, step in zip(net.weights, steps, strict=True):
        place = np.unravel_index(np.argmax(np.abs(step)), step.shape)
        was = weight[place]
        found = []
        for more in (1e-3, -1e-3):
            weight[place] = was + more
            found.append(loss())
        weight[place] = was
        assert (found[0] - found[1]) / 2e-3 == pytest.approx(step[place] / 1e-3, rel=0.02, abs=1e-5)


def test_a_recurrent_network_learns_and_answers_hop_by_hop(rides):
    net, hour = HopLstm(rides.world), np.zeros(len(rides), np.int64)
    ways = net.ways(rides, hour)
    hops = int((rides.lengths - 1).sum())

    def right():
        return (net.chances(ways).argmax(axis=1) == ways.label[ways.real]).mean()

    before = right()
    for _ in range(150):
        net.learn(ways, 0.5)
    assert right() > before + 0.1
    recited = Recited(net, rides, hour)
    at = np.arange(hops)
    places, chance = recited.hops(rides.location[at].astype(np.int64), at, at)
    assert recited.answered == hops == len(recited.told)
    assert np.allclose(chance.sum(axis=1), 1)
    assert np.all(chance[places < 0] == 0)


def test_no_model_is_below_the_entropy_of_what_happened():
    ends = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert entropy(*ends) == pytest.approx(np.log(4))
    assert entropy(ends[0]) == pytest.approx(np.log(2))
    assert entropy(ends[0], ends[0]) == pytest.approx(np.log(2))


def test_weave_is_kept_apart_from_what_is_held_against_the_study():
    study = find_study("dp-loc", Lab(scale="quick"))
    assert [part.name for part in study.parts if part.apart] == ["weave"]
    assert "weave" not in {part for one in study.exhibits if one.published for part in one.parts}
