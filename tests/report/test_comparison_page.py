"""Charts and the comparison page: complete, with data and words, and quiet in a browser."""

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from report_world import grid_city, random_trips
from test_browser import BROWSER, open_in_browser
from typer.testing import CliRunner

from bare_release import bare_release
from wayveil.cli import _register, app
from wayveil.errors import ParameterError
from wayveil.lab.cli.compare import chosen_unit, parse_candidates
from wayveil.lab.comparison.compare import compare
from wayveil.lab.comparison.comparison_charts import error_against_epsilon, privacy_utility
from wayveil.lab.comparison.comparison_page import (
    ComparisonSection,
    figure_tables,
    number,
    write_comparison_page,
)
from wayveil.lab.comparison.run_cells import Settings
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.privacy.units import Rider, Trip
from wayveil.report.report_page import report_html, write_report
from wayveil.trips.trips import Trips

CITY = grid_city(4)


@pytest.fixture(scope="module")
def found():
    trips = random_trips(CITY, 300, seed=1)
    return compare(
        trips,
        [NoisyPrefixTree(height=4), Markov(), SeqPT(height=2)],
        ["1/2", 2],
        repetitions=3,
        settings=Settings(queries=200, most_pairs=50),
        workers=1,
    )


def test_a_chart_carries_its_numbers_and_words_and_is_saved_with_both(found, tmp_path):
    chart = error_against_epsilon(found, "stop_error", name="stops", title="Stops")
    picture, numbers = chart.save(tmp_path / "charts")
    assert picture.read_text().startswith("<svg")
    data = pl.read_csv(numbers)
    assert set(data["name"]) == {"markov", "noisy-prefix-tree height=4", "ceiling", "floor", "empty"}
    assert "against epsilon for 2 mechanisms" in chart.alt
    assert "markov" in chart.svg


def test_the_same_data_give_the_same_bytes(found):
    twice = [privacy_utility(found, name="skill").svg for _ in range(2)]
    assert twice[0] == twice[1]


def test_skill_is_one_at_the_ceiling_and_zero_at_the_floor(found):
    data = privacy_utility(found, name="skill").data
    assert data["skill"].is_between(-1, 1).all()
    assert data.height == 4


class Page(HTMLParser):
    """Collects what the page would fetch, and its ids."""

    def __init__(self):
        super().__init__()
        self.fetched, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.fetched += [
            given[k] for k in ("src", "xlink:href") if k in given and not given[k].startswith("#")
        ]
        self.ids += [given["id"]] if "id" in given else []


def test_the_page_is_whole_internal_and_fetches_nothing(found, tmp_path):
    page = write_comparison_page(tmp_path / "comparison.html", found, title="Gridville <b>")
    text = page.read_text()
    assert "INTERNAL – NOT FOR PUBLICATION" in text
    assert "Gridville &lt;b&gt;" in text
    assert "seqpt height=2</strong>: this mechanism releases times" in text
    assert len(figure_tables(found)) == len({figure["question"] for figure in found.figures})
    parsed = Page()
    parsed.feed(text)
    assert parsed.fetched == []
    assert "<script" not in text
    for link in re.findall(r'href="(charts/[^"]+)"', text):
        assert (tmp_path / link).exists()


def test_the_internal_report_shows_the_comparison_and_the_public_one_does_not(found, tmp_path):
    raw, release = (
        random_trips(CITY, 100, seed=2),
        bare_release(random_trips(CITY, 90, seed=3)),
    )
    both = {"raw": raw, "release": release, "further": [ComparisonSection.of(found)]}
    page = write_report(tmp_path / "in.html", **both, audience="internal").read_text()
    assert "Other mechanisms and budgets" in page
    assert "seqpt height=2</strong>: this mechanism releases times" in page
    links = re.findall(r'href="([^"#][^"]*csv)"', page)
    assert any("privacy-utility" in link for link in links)
    assert all((tmp_path / link).exists() for link in links)
    assert "Other mechanisms and budgets" not in report_html(**both)


def test_numbers_are_short():
    assert [number(value) for value in (0.12345, 12.345, 12345.6)] == ["0.123", "12.3", "12,346"]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_comparison_opens_from_a_file_without_a_console_message(found, tmp_path):
    seen = open_in_browser(write_comparison_page(tmp_path / "comparison.html", found), tmp_path)
    assert "</footer>" in seen.stdout
    assert "CONSOLE" not in seen.stderr


def test_mechanisms_and_grids_are_read_from_the_command_line():
    made = parse_candidates("markov, noisy-prefix-tree", ["noisy-prefix-tree.height=3,5"])
    assert [m.name for m in made] == ["markov", "noisy-prefix-tree", "noisy-prefix-tree"]
    assert [m.height for m in made[1:]] == [3, 5]
    assert len(parse_candidates("all", [])) > 3
    with pytest.raises(ParameterError, match="--grid takes"):
        parse_candidates("markov", ["markov=3"])
    with pytest.raises(ParameterError, match="not among"):
        parse_candidates("markov", ["ppdp.height=3"])


def test_a_parameter_is_varied_for_all_who_have_it_and_refused_for_one_who_does_not():
    every = parse_candidates("all", [], ["height=2,4"])
    assert {m.name for m in every} == {"noisy-prefix-tree", "seqpt", "ppdp", "safepath", "dpt"}
    assert sorted({m.height for m in every}) == [2, 4]
    with pytest.raises(ParameterError, match="markov has no such parameter"):
        parse_candidates("markov", [], ["height=2,4"])
    with pytest.raises(ParameterError, match="--vary takes"):
        parse_candidates("markov", [], ["height"])
    with pytest.raises(ParameterError, match="name it once"):
        parse_candidates("seqpt", ["seqpt.height=2"], ["height=2,4"])


def test_presets_reach_comparisons():
    made = parse_candidates("safepath", [], ["height=2,4"], "published")
    assert [(m.height, m.published_thresholds) for m in made] == [(2, True), (4, True)]
    every = parse_candidates("all", [], [], "published")
    assert {"safepath", "seqpt", "ppdp", "noisy-prefix-tree"} <= {m.name for m in every}
    assert "weave" not in {m.name for m in every}
    with pytest.raises(ParameterError, match=r"markov has no preset .* safepath"):
        parse_candidates("markov", [], [], "published")
    with pytest.raises(ParameterError, match="there is no preset 'mine'"):
        parse_candidates("markov", [], [], "mine")


def test_a_unit_is_said_once_for_all_cells():
    trips = random_trips(CITY, 60, seed=2)
    assert chosen_unit(trips, None, None) is None
    assert chosen_unit(trips, "trip", None) == Trip()
    with pytest.raises(ParameterError, match="no meaning for the unit"):
        chosen_unit(trips, "trip", 2)
    with pytest.raises(ParameterError, match="have no riders"):
        chosen_unit(trips, None, 2)
    riders = Trips(trips.location, trips.offsets, CITY, rider=np.arange(60, dtype=np.int64) // 2)
    assert chosen_unit(riders, "rider", 3) == Rider(max_trips=3)
    assert chosen_unit(riders, None, 3) == Rider(max_trips=3)


def test_a_varied_height_has_a_chart_of_every_figure(tmp_path):
    made = compare(
        random_trips(CITY, 200, seed=3),
        [NoisyPrefixTree(height=height) for height in (2, 4, 6)],
        [1],
        repetitions=1,
        settings=Settings(suite="core", queries=100),
        workers=1,
    )
    page = write_comparison_page(tmp_path / "comparison.html", made).read_text()
    chart = pl.read_csv(tmp_path / "charts" / "height-count-query-error-non-empty.csv")
    assert chart["height"].to_list() == [2, 4, 6]
    own = {p.parameters: p.value for p in made.points if p.key == "count_query_error/non-empty"}
    assert chart["value"].to_list() == pytest.approx([own[f'{{"height": {h}}}'] for h in (2, 4, 6)])
    assert "against height for 1 settings, from 2 to 6" in page


def test_compare_and_recommend_run_from_the_command_line(tmp_path):
    _register()
    CITY.save(tmp_path / "city.npz")
    trips = random_trips(CITY, 60, seed=2)
    ids = CITY.ids
    (tmp_path / "trips.txt").write_text(
        "\n".join(",".join(ids[t] for t in trip) for trip in trips.to_lists())
    )
    shared = ["--world", str(tmp_path / "city.npz"), "-m", "markov", "-e", "1", "--repetitions", "2"]
    shared += ["--queries", "100", "--workers", "1"]
    ran = CliRunner().invoke(
        app, ["lab", "compare", str(tmp_path / "trips.txt"), *shared, "--out", str(tmp_path / "a")]
    )
    assert ran.exit_code == 0, ran.output
    assert "markov" in ran.output
    assert (tmp_path / "a" / "comparison.html").exists()
    assert (tmp_path / "a" / "results.parquet").exists()
    ran = CliRunner().invoke(
        app,
        ["lab", "recommend", *shared, "--riders", "50", "--out", str(tmp_path / "b"), "--quiet", "--json"],
    )
    assert ran.exit_code == 0, ran.output
    assert "simulated" in (tmp_path / "b" / "comparison.html").read_text()
