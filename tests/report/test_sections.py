"""Sections that only some releases have: error bars, hours, the trie, answers; and what the page says it lacks."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from report_world import grid_city, random_trips

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.accuracy.judging import judge
from wayveil.answers.plain_laplace import plain_half_width
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Trip
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.report.answers_view import answer_tables
from wayveil.report.report_page import report_html, unmeasured, write_report
from wayveil.report.trie_picture import trie_chart
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.synthesis.public_knowledge import random_routes
from wayveil.synthesis.tallies import KINDS
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import score
from wayveil.world.world import World

CITY = grid_city(4)
RAW = random_trips(CITY, 400, seed=1)
EVERYWHERE = random_routes(CITY, 8_000, np.random.default_rng(1))
# From one corner, which public knowledge does not know.
ROUTES = EVERYWHERE.take(EVERYWHERE.origins() < 2)
RING = ring_of_stops(8, seconds=300, skip=2, routes=2)
TAPS = simulate_taps(RING, 3_000, seed=2).taps


def made(trips, mechanism, unit, **options) -> Release:
    return release(trips, mechanism, epsilon=4, unit=unit, bits=SeededBits(3), seed=1, **options)


def with_all_intervals(one: Release) -> Release:
    """With intervals of every kind, also of those that the mechanism does not print."""
    return replace(one, known_accuracy=judge(one, holds=KINDS))


@pytest.fixture(scope="module")
def tree():
    return made(RAW, NoisyPrefixTree(height=3), Trip())


@pytest.fixture(scope="module")
def trie():
    # No stop twice and little noise: a release made again has as many visits, and intervals are known.
    one = release(ROUTES, MobiTrie(), epsilon=8, unit=Trip(), bits=SeededBits(3), seed=1)
    return with_all_intervals(one)


@pytest.fixture(scope="module")
def tap_trips():
    single = TAPS.as_single_visits()
    return Trips(single.location, single.offsets, RING, TAPS.time, history=AS_READ)


@pytest.fixture(scope="module")
def counts(tap_trips):
    return made(tap_trips, TapCounts(), Event(), rule=ANY_MOVE)


def test_released_numbers_carry_their_intervals(trie, tmp_path):
    page = report_html(release=trie)
    assert "95 % interval" in page
    write_report(tmp_path / "r.html", release=trie)
    moves = pl.read_csv(tmp_path / "r-figures" / "moves.csv")
    assert (moves["high"] >= moves["low"]).all()
    assert moves["high"].null_count() == 0
    # The same where the release was read back from its folder, and none where nothing is known.
    loaded = Release.load(trie.save(tmp_path / "release"), CITY)
    assert report_html(release=loaded) == page
    assert "95 % interval" not in report_html(release=bare_release(trie.trips, trie.datasheet))


def test_more_noise_makes_wider_intervals(trie):
    def width(one):
        return float(np.median(one.accuracy.bands["edges"].high - one.accuracy.bands["edges"].low))

    quiet = release(ROUTES, MobiTrie(), epsilon=300, unit=Trip(), bits=SeededBits(3), seed=1)
    quiet = with_all_intervals(quiet)
    assert width(trie) > width(quiet)


def test_a_released_trie_is_drawn_and_a_tree_is_not(trie, tree):
    page = report_html(release=trie)
    assert 'id="trie"' in page
    assert 'class="trie"' in page
    assert "Street 0 / Avenue 0" in page[page.index('class="trie"') :]
    assert 'id="trie"' not in report_html(release=tree)


def test_the_paths_beside_the_picture_are_the_ngrams_of_the_model(trie):
    table = trie.model.table().filter(pl.col("count") > 0)
    released = dict(zip(table["ngram"].list.join(" > "), table["count"], strict=True))
    shown = trie_chart(trie.model.nested(), World(CITY.ids)).data
    assert dict(shown.iter_rows()) == pytest.approx(released)


def test_tap_releases_answer_the_agency_beside_plain_noise(counts, tmp_path):
    page = write_report(tmp_path / "r.html", release=counts).read_text()
    assert "Answers for the agency" in page
    assert "Plain Laplace noise" in page
    for title in ("Tap-ins in all", "Tap-ins per hour of the day", "The stops with the fewest tap-ins"):
        assert title in page
    answers = pl.read_csv(tmp_path / "r-figures" / "answer-hours.csv")
    assert {"what", "answer", "low", "high", "plain_laplace_noise"} <= set(answers.columns)
    assert 'id="hours"' in page
    seen = page[page.index("<body>") : page.index('id="datasheet"')]
    assert "raw" not in seen.lower().replace("drawn", "").replace("without looking at the raw trips", "")


def test_single_visits_have_no_moves_to_show(counts, tree):
    page = report_html(release=counts)
    for section in ("flows", "journeys", "lengths", "patterns"):
        assert f'"#{section}"' not in page
        assert f'id="{section}"' not in page
        assert f'id="{section}"' in report_html(release=tree)
    assert "the trips of this release are single visits" in page


def test_answers_beside_raw_ones_are_internal(counts, tap_trips):
    public, _ = answer_tables(counts)
    inside, _ = answer_tables(counts, tap_trips)
    assert not any("Raw" in table.heads for table in public)
    total = next(table for table in inside if table.name == "total")
    row = dict(zip(total.heads, total.rows[0], strict=True))
    assert row["Raw"] == f"{tap_trips.visits:,}"
    assert row["Plain Laplace"].replace(",", "").isdigit()


def test_only_releases_of_taps_answer_unless_told(tree):
    assert "Answers for the agency" not in report_html(release=tree)
    page = report_html(release=made(RAW, NoisyPrefixTree(height=3), Trip(), rows="taps"))
    assert "Answers for the agency" in page
    assert "Tap-ins per hour of the day: this release has no times" in page


def test_the_page_says_what_it_lacks(tree):
    page = report_html(release=tree)
    assert "Times: this release has none" in page
    assert "it is not in a page that may be published" in page
    card = score(RAW, tree, queries=50)
    inside = report_html(raw=RAW, release=tree, scorecard=card, audience="internal")
    assert "the short list of four questions" in inside
    assert "<code>--comparison</code> shows its results here" in inside
    full = score(RAW, [tree, tree], queries=50, suite="full")
    said = unmeasured(
        tree.trips, raw=RAW, scorecard=full, compared=True, bars=True, unanswered=["loads: unknown"]
    )
    assert said[0] == "Loads: unknown."
    assert not any("short list" in sentence or "one release" in sentence for sentence in said)
    assert any("Accuracy: no scorecard" in s for s in _without_card())


def _without_card():
    return unmeasured(RAW, raw=RAW, scorecard=None, compared=False, bars=False, unanswered=[])


def test_the_plain_bar_follows_from_unit_and_epsilon_alone(counts, tree):
    # Height 3 and epsilon 4: noise of scale 3/4, of which 95 % stay within 2.
    assert plain_half_width(tree.datasheet) == 2
    rho = {**tree.datasheet, "guarantee": {"unit": "trip", "rho": "1", "bounds": {}}}
    assert plain_half_width(rho) is None
    assert np.isfinite(plain_half_width(counts.datasheet))
