"""What a caption says is what its table or picture shows."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_world import grid_city, random_trips

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.bands import Bands
from wayveil.lab.comparison.compare import compare
from wayveil.lab.comparison.comparison_page import ComparisonSection
from wayveil.lab.comparison.run_cells import Settings
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Event, Trip
from wayveil.report.answers_view import answer_tables
from wayveil.report.report_page import report_html
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.trips.trips import Trips

CITY = grid_city(4)
RAW = random_trips(CITY, 300, seed=1)
HELD = "Intervals hold the true number in 95 of 100 cases."
WIDE = Bands(np.array([10.0]), np.array([-1.0]), np.array([1.0]), None)


def section(page: str, name: str) -> str:
    return re.search(rf'<section id="{name}".*?</section>', page, re.S).group(0)


@pytest.fixture(scope="module")
def tree():
    return release(RAW, NoisyPrefixTree(height=3), epsilon=4, unit=Trip(), bits=SeededBits(3), seed=1)


@pytest.mark.parametrize(("kind", "shown"), [("boardings", False), ("stops", True)])
def test_intervals_are_explained_where_the_table_has_them(tree, kind, shown):
    known = replace(tree, known_accuracy=Accuracy({kind: WIDE}, (), None))
    shown_first, begins, shown_last = re.split(
        "<details|</details>", section(report_html(release=known), "stops")
    )
    visits = shown_first + shown_last
    assert ("95 % interval</th>" in visits, HELD in visits) == (shown, shown)
    assert ("95 % interval</th>" in begins, "with intervals that hold" in begins) == (True, True)
    assert ("Ranked by visits" in shown_last) == (kind == "boardings")  # what has intervals comes first
    bare = section(report_html(release=bare_release(tree.trips, tree.datasheet)), "stops")
    assert ("95 % interval</th>" in bare, "hold the true number" in bare) == (False, False)


@pytest.mark.parametrize("raw_times", [False, True])
def test_the_legend_of_hours_names_raw_trips_where_they_are_drawn(tree, raw_times):
    def timed(trips: Trips) -> Trips:
        return Trips(trips.location, trips.offsets, trips.world, np.arange(trips.visits) * 600 % 86_400)

    made = replace(tree, trips=timed(tree.trips), known_accuracy=Accuracy({}, (), None))
    page = report_html(release=made, raw=timed(RAW) if raw_times else RAW, audience="internal")
    hours = section(page, "hours")
    drawn = 'class="raw"' in hours or 'class="step"' in hours
    assert ("raw trips</span>" in hours, drawn) == (raw_times, raw_times)


@pytest.fixture(scope="module")
def counts():
    ring = ring_of_stops(8, seconds=300, skip=2, routes=2)
    taps = simulate_taps(ring, 1_000, seed=2).taps.as_single_visits()
    return release(taps, TapCounts(), epsilon=4, unit=Event(), bits=SeededBits(3), seed=1, rows="taps")


def test_a_counted_release_is_not_said_to_have_been_made_again(counts, tree):
    assert "made again" not in section(report_html(release=counts), "trust")
    assert "made again" in section(report_html(release=tree), "trust")


def test_every_column_of_answers_has_something_in_it(counts):
    for made, known in ((counts, True), (bare_release(counts.trips, counts.datasheet), False)):
        for table in answer_tables(made)[0]:
            assert ("95 % interval" in table.heads) == known
            assert all(set(column) != {"–"} for column in zip(*table.rows, strict=True))


@pytest.mark.parametrize("repetitions", [1, 3])
def test_bands_are_explained_where_they_are_drawn(repetitions):
    found = compare(
        RAW,
        [NoisyPrefixTree(height=3), Markov()],
        [1],
        repetitions=repetitions,
        settings=Settings(queries=100, most_pairs=50),
        workers=1,
    )
    shown = ComparisonSection.of(found)
    drawn = any(
        "FillBetweenPolyCollection" in chart.svg or "PolyCollection" in chart.svg for chart in shown.pictures
    )
    assert ("Bands are 95 %" in shown.key, drawn) == (repetitions == 3, repetitions == 3)
    assert ("1 release of each" in shown.scope) == (repetitions == 1)
    for chart in shown.pictures[1:]:
        said = re.search(r"for (\d+) mechanism", chart.alt)
        named = set(chart.data["name"]) - {"ceiling", "floor", "empty", "plain-laplace"}
        assert int(said.group(1)) == len(named)
        assert ("plain Laplace noise" in chart.alt) == ("plain-laplace" in chart.data["name"])
