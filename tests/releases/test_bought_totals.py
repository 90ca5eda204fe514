"""Numbers that were bought are told: of trips and visits, in every place; what was cut does not end anywhere."""

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.accuracy.sized import Sized
from wayveil.answers.questions import say_visits
from wayveil.answers.trends import find_trend
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.report.report_page import report_html
from wayveil.run import make_release
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.model import PaidSize
from wayveil.synthesis.tallies import Tally, tally

RING = ring_of_stops(200, seconds=60)
RAW = simulate_habit(RING, 2_000, seed=3).cut(12)


def made(seed=1):
    return make_release(
        RAW, NoisyPrefixTree(height=12), epsilon=1, unit=Trip(), bits=SeededBits(seed), seed=seed
    )


@pytest.fixture(scope="module")
def tree():
    return made()


def test_the_trips_and_visits_that_were_bought_are_what_total_answers(tree):
    """7,082 visits were answered of 39,875 that were bought, and the number of trips by no question."""
    table = tree.ask("total").table
    assert table["what"].to_list() == ["trips", "visits"]
    for row, true in zip(table.to_dicts(), (len(RAW), RAW.visits), strict=True):
        assert row["low"] <= true <= row["high"]
        assert row["answer"] == pytest.approx(true, rel=0.2)
    assert tree.trips.visits < 0.8 * RAW.visits  # what the tree kept of them is another number


def test_page_and_trend_tell_the_same_totals_as_the_question(tree):
    answers = tree.ask("total").table["answer"].to_list()
    page = report_html(release=tree)
    assert all(f"<dd>{answer:,}" in page for answer in answers)
    trend = find_trend([tree, made(2)], "total").table
    assert trend["before"].to_list() == answers
    assert trend["what"].to_list() == ["trips", "visits"]


def test_lengths_have_an_answer(tree):
    table = tree.ask("lengths", anyway=True).table
    shown = tally("lengths", tree.trips)
    assert dict(table.select("stops", "answer").iter_rows()) == dict(
        zip(shown.cells.tolist(), shown.values.tolist(), strict=True)
    )


def test_stops_on_a_routed_way_are_called_stops_passed(tree):
    routed = type(tree)(
        tree.trips, tree.model, {**tree.datasheet, "rows": {"row": "pairs", "ways": "routed"}}
    )
    assert say_visits(routed) == "stops passed"
    assert say_visits(tree) == "visits"


def test_where_trips_were_cut_is_not_where_they_end(tree):
    """Verdicts said 14 to 30 % where two thirds of all ends were false."""
    right, shown = tally("alightings", RAW), tally("alightings", tree.trips)
    off = np.abs(np.subtract(*right.beside(shown))).sum() / len(RAW)
    verdict = tree.accuracy.of("alightings")
    assert verdict.error > 0.6 * off
    whole = Sized(PaidSize(100, 500), 100, 500)
    short = Sized(PaidSize(100, 500), 100, 300)
    same = Tally(np.arange(2), np.array([60.0, 40.0]))
    assert whole.judge("alightings", same, same, None, 1.0).error == 0
    assert short.judge("alightings", same, same, None, 1.0).is_noise
    assert short.judge("boardings", same, same, None, 1.0).error == 0
