"""The errors that Weave expects of itself, held against those it makes."""

import numpy as np
import pytest

from wayveil.accuracy.misfits import find_bias
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import ASKED_ABOUT, Measurements, count_trips, expected_errors
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.world import World
from weave_city import QUICK, measured, small_town, town_trips

WEAVE = Weave(weakest=0, generation=QUICK)


def by_question(model, released):
    return {error.question: error for error in expected_errors(model, released, seed=3)}


def actually_off(model, released, raw, name):
    true, private = (count_trips(model, trips)[name].riders for trips in (raw, released))
    seen = private > 0
    return np.abs(true - private)[seen].mean()


@pytest.fixture(scope="module")
def woven():
    raw = town_trips(6_000)
    model, _ = measured(WEAVE, raw, 4)
    return raw, model, model.generate(1)


def test_expected_and_actual_errors_are_alike_over_several_draws_of_noise():
    raw, said, true = town_trips(6_000), [], []
    names = ("origin", "destination", "edge", "pair")
    for seed in range(4):
        model, _ = measured(WEAVE, raw, 4, seed=seed)
        released = model.generate(1)
        expected = by_question(model, released)
        said.append([expected[ASKED_ABOUT[name]].off for name in names])
        true.append([actually_off(model, released, raw, name) for name in names])
    ratio = np.mean(said, axis=0) / np.mean(true, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.7)), dict(zip(names, ratio, strict=True))


def test_more_epsilon_is_expected_to_be_less_wrong():
    raw = town_trips(6_000)
    models = [measured(WEAVE, raw, epsilon)[0] for epsilon in ("1/4", 1, 8)]
    found = [by_question(model, model.generate(1)) for model in models]
    for question in ("number of trips", *(ASKED_ABOUT[name] for name in ("origin", "destination", "edge"))):
        weak, middle, strong = (errors[question].off for errors in found)
        assert weak > middle > strong
        relative = [errors[question].relative for errors in found]
        assert relative[0] > relative[2]


def test_the_number_of_trips_is_off_by_the_scale_of_its_noise(woven):
    _, model, released = woven
    spends = measured(WEAVE, town_trips(6_000), 4)[1].budget.spends
    error = by_question(model, released)["number of trips"]
    assert error.off == pytest.approx(float(spends[0].scale))
    assert error.relative == pytest.approx(error.off / model.total)


def test_released_trips_that_do_not_explain_the_answers_are_seen_as_unexplained(woven):
    _, model, released = woven
    told = by_question(model, released)[ASKED_ABOUT["origin"]]
    three = np.flatnonzero(np.isin(released.origins(), np.unique(released.origins())[:3]))
    strayed = by_question(model, released.take(np.resize(three, len(released))))[ASKED_ABOUT["origin"]]
    assert strayed.unexplained > 10 * told.unexplained
    assert told.seen


def test_where_noise_hides_everything_it_is_said_to_be_a_guess():
    model, _ = measured(WEAVE, town_trips(600), "1/10", seed=2)
    error = by_question(model, model.generate(1))[ASKED_ABOUT["origin"]]
    assert not error.seen
    assert error.unexplained > 0


def test_the_published_table_is_enough_to_know_the_expected_error(woven):
    _, model, released = woven
    restored = Measurements.of_table(model.table(), small_town(), QUICK)
    assert expected_errors(restored, released, seed=3) == expected_errors(model, released, seed=3)


def test_moves_without_a_network_and_trips_without_times_have_expected_errors():
    rng = np.random.default_rng(5)
    lists = [[int(rng.integers(0, 2)), *rng.integers(0, 5, rng.integers(0, 4)).tolist()] for _ in range(800)]
    raw = Trips.of_lists(lists, World([f"p{i}" for i in range(5)]))
    model, _ = measured(WEAVE, raw, 4)
    released = model.generate(1)
    expected = by_question(model, released)
    assert ASKED_ABOUT["hour"] not in expected
    assert 0.4 < expected[ASKED_ABOUT["move"]].off / actually_off(model, released, raw, "move") < 2.5


def test_what_was_not_asked_for_has_no_expected_error():
    model, _ = measured(Weave(weakest=0, faint=1e9, generation=QUICK), town_trips(600))
    assert not {"origin", "destination", "edge"} & model.noisy.keys()
    questions = by_question(model, model.generate(1)).keys()
    assert ASKED_ABOUT["pair"] in questions
    assert not {ASKED_ABOUT[name] for name in ("origin", "destination", "edge")} & questions


def test_a_grid_says_how_far_visits_are_off_and_guesses_at_edges_that_nobody_asked_for():
    grid = Grid.parse(f"grid:{STUDY_BOX}@12x12")
    points = simulate_taxis(3_000, drivers="sessions", seed=4)
    weave = Weave(weakest=0, generation=QUICK)
    raw = weave.rule(grid).apply(Trips(grid.cell_of(points.lat, points.lon), points.offsets, grid))
    found, true = {}, []
    for seed in range(3):
        model = measured(weave, raw, epsilon=0.5, seed=seed)[0]
        released = model.generate(1)
        found = {error.kind: error for error in expected_errors(model, released, seed=3)}
        true.append(abs(released.visits / raw.visits - 1))
    assert "edge" not in model.noisy
    assert 0.25 < found["visits"].off / found["visits"].mean / np.mean(true) < 4
    assert not found["edges"].asked
    assert not found["edges"].seen
    assert found["edges"].off > 0.4 * found["edges"].mean
    assert find_bias("stops", tuple(found.values())) is None
    assert find_bias("stops", tuple(found.values()), guess=True) > 0
