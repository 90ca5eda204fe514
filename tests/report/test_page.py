"""The report: what each audience sees, what the page never does, and how large it may be."""

import re

import numpy as np
import polars as pl
import pytest
from report_world import DATASHEET, grid_city, random_trips

from bare_release import bare_release
from wayveil.errors import InputError, ParameterError
from wayveil.report.report_page import report_html, write_report
from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import score
from wayveil.world.world import World

CITY = grid_city(6)


@pytest.fixture(scope="module")
def raw():
    return random_trips(CITY, 300, seed=1)


@pytest.fixture(scope="module")
def release():
    return bare_release(random_trips(CITY, 280, seed=2), DATASHEET)


@pytest.fixture(scope="module")
def card(raw, release):
    return score(raw, release, queries=300)


@pytest.fixture(scope="module")
def internal(raw, release, card):
    return report_html(raw=raw, release=release, scorecard=card, audience="internal")


@pytest.fixture(scope="module")
def public(release):
    return report_html(release=release)


def test_the_public_report_is_the_same_with_and_without_raw_trips(tmp_path, raw, release, card):
    write_report(tmp_path / "a" / "r.html", raw=raw, release=release, scorecard=card)
    write_report(tmp_path / "b" / "r.html", raw=None, release=release)
    with_raw, without = (
        {path.relative_to(side): path.read_bytes() for path in side.rglob("*.*")}
        for side in (tmp_path / "a", tmp_path / "b")
    )
    assert len(without) > 10
    assert with_raw == without


def test_a_public_report_leaves_no_picture_of_an_internal_one_beside_it(tmp_path, raw, release):
    write_report(tmp_path / "r.html", raw=raw, release=release, audience="internal")
    figures = tmp_path / "r-figures"
    assert (figures / "map-raw.csv").exists()
    (figures / "notes.txt").write_text("mine")
    write_report(tmp_path / "r.html", release=release)
    left = {path.name for path in figures.iterdir()}
    assert not any("raw" in name or "difference" in name for name in left)
    assert {"map-private.csv", "notes.txt"} <= left
    assert "raw" not in pl.read_csv(figures / "stops.csv").columns


def test_the_public_report_has_no_word_on_raw_trips_and_no_errors(public):
    text = re.sub(r"<style>.*?</style>", "", public, flags=re.S)
    assert "raw" not in text.lower().replace("drawn", "")
    assert 'id="accuracy"' not in public
    assert "INTERNAL" not in public


def test_the_internal_report_says_so_before_anything_else(internal):
    body = internal[internal.index("<body>") :]
    assert body.index("INTERNAL – NOT FOR PUBLICATION") < body.index("<h1>")
    assert "<title>INTERNAL" in internal


def test_the_internal_report_shows_both_sides_and_the_error_table(internal, card):
    assert "Raw trips</figcaption>" in internal
    assert "Private release</figcaption>" in internal
    error = card["count_query_error/non-empty"]
    for value in (error.value, error.ceiling, error.floor, error.empty):
        assert f"{value:.3f}</td>" in internal
    assert "Means over" not in internal


def test_several_releases_have_their_interval_in_the_table(raw, release):
    card = score(raw, [release, random_trips(CITY, 280, seed=3)], queries=200)
    page = report_html(raw=raw, release=release, scorecard=card, audience="internal")
    assert "95 % interval" in page
    assert "Means over 2 releases" in page


def test_an_internal_report_without_a_scorecard_leaves_the_table_out(raw, release):
    page = report_html(raw=raw, release=release, audience="internal")
    assert 'id="accuracy"' not in page


def test_nothing_is_fetched_and_nothing_runs(internal, public):
    for page in (internal, public):
        assert "<script" not in page.lower()
        assert "javascript:" not in page.lower()
        assert not re.search(r"""(src|href)=["'](?!#)""", page)
        assert not re.search(r"url\((?!#)", page)
        assert "@import" not in page
        assert "default-src 'none'" in page


def test_every_picture_has_a_name_and_every_table_its_headings(internal):
    for tag in re.findall(r"<svg[^>]*>", internal):
        assert "aria-labelledby" in tag or "aria-hidden" in tag
    for name in re.findall(r'aria-labelledby="([^"]+)"', internal):
        assert internal.count(f'id="{name}"') == 1
    assert internal.count("<h1") == 1
    assert 'class="skip" href="#content"' in internal
    assert internal.count("<table") <= internal.count("<thead")


def test_names_cannot_break_the_page(raw):
    world = World.of_symbols(["</title><script>x", 'a"b', "c&d"])
    trips = Trips.of_lists([[0, 1, 2]] * 3, world)
    page = report_html(release=bare_release(trips, DATASHEET), title="<b>bold</b>")
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;/title&gt;&lt;script&gt;x" in page


def test_a_world_without_coordinates_shows_a_table_in_place_of_the_map():
    world = World.of_symbols(list("abc"))
    trips = Trips.of_lists([[0, 1], [1, 0, 2]], world)
    page = report_html(release=bare_release(trips, DATASHEET))
    assert 'class="map"' not in page
    assert "a – b" in page
    assert "no coordinates" in page


def test_an_empty_release_still_makes_a_page():
    nobody = Trips.of_lists([], CITY)
    page = report_html(release=bare_release(nobody, DATASHEET))
    assert "Nothing to rank" in page


def test_a_release_without_a_guarantee_is_marked_in_place_of_an_epsilon(release):
    sheet = {**DATASHEET, "private": False, "not_private_because": ["seeded noise"]}
    page = report_html(release=bare_release(release.trips, sheet))
    assert "This output is not private" in page
    assert "Seeded noise." in page
    assert "In plain words" not in page


def test_a_page_of_a_large_city_stays_below_half_a_megabyte():
    city = grid_city(56)
    assert city.size > 3_000
    assert city.edges > 8_000
    raw, private = random_trips(city, 4_000, seed=1), random_trips(city, 4_000, seed=2)
    release = bare_release(private, DATASHEET)
    assert len(report_html(release=release).encode()) < 500_000
    both = report_html(raw=raw, release=release, audience="internal")
    assert len(both.encode()) < 2 * 500_000


def test_trips_of_another_world_are_refused(release):
    other = Trips.of_lists([[0]], World.of_symbols(["x"]))
    with pytest.raises(ParameterError, match="different worlds"):
        report_html(raw=other, release=release, audience="internal")


def test_an_internal_report_needs_raw_trips_and_an_audience_must_be_known(release):
    with pytest.raises(ParameterError, match="raw trips"):
        report_html(release=release, audience="internal")
    with pytest.raises(ParameterError, match="audience"):
        report_html(release=release, audience="press")


def test_a_place_that_cannot_be_written_is_named(tmp_path, release):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "file" / "report.html", release=release)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "folder", release=release)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_the_tiles_have_the_numbers_of_the_release(public, release):
    assert f"<dd>{len(release.trips):,}</dd>" in public
    assert f"<dd>{release.trips.lengths.mean():.1f}</dd>" in public
    visited = len(np.unique(release.trips.location))
    assert f"<dd>{visited}<small>of {CITY.size} in the public world" in public
