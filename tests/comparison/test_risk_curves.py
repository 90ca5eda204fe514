"""`compare --risk`: half held out, one scale for epsilon and k, and words where an error is not reached."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from utility.utility_worlds import square_city, walks
from wayveil.attacks.assess import RiskSettings
from wayveil.cli import _register, app
from wayveil.errors import ParameterError
from wayveil.lab.cli.compare import parse_crowds
from wayveil.lab.comparison.comparison_charts import save_risk_chart
from wayveil.lab.comparison.risk_curves import LINES, RiskComparison, compare_risk
from wayveil.lab.syntactic.glove import Glove
from wayveil.mechanisms.markov import Markov
from wayveil.trips.visits import write_visits

CITY = square_city(5, jitter=1)


@pytest.fixture(scope="module")
def found():
    settings = RiskSettings(targets=60)
    crowds = [Glove(k=2), Glove(k=8), Glove(k=4_000)]
    return compare_risk(walks(CITY, 160, 1), [Markov()], [1, 100], crowds, repetitions=2, settings=settings)


def test_mechanisms_and_methods_stand_beside_the_reference_lines(found):
    for figure in ("linkage", "strap_500", "strap_1000"):
        assert {name: len(line) for name, line in found.curves(figure).items()} == {"markov": 2, "glove": 2}
        assert set(found.references(figure)) == set(LINES)
    lines = found.references("linkage")
    assert lines["raw"] > lines["hold-out"]
    assert lines["empty"] == 0
    assert found.references("strap_500")["empty"] == max(found.references("strap_500").values())


def test_a_method_that_cannot_run_is_a_gap_with_its_reason(found):
    assert [name for name, _ in found.gaps()] == ["glove"]
    assert "nobody can hide among 4,000" in found.gaps()[0][1]


def test_risk_at_a_fixed_error_takes_the_best_setting_or_says_not_reached():
    rows = [("a", 1.0, 0.3, 0.1), ("a", 2.0, 0.08, 0.4), ("a", 3.0, 0.04, 0.9), ("b", 1.0, 0.5, 0.0)]
    table = pl.DataFrame(rows, schema=["name", "setting", "error", "linkage"], orient="row")
    a, b = RiskComparison(table).at_fixed_error("linkage")
    assert list(a.values()) == ["a", "0.9 at 3", "0.4 at 2", "0.4 at 2"]
    assert set(list(b.values())[1:]) == {"not reached"}


def test_the_picture_has_its_numbers_beside_it(found, tmp_path):
    picture, numbers = save_risk_chart(found, tmp_path, title="Risk")
    assert picture.read_text().startswith("<")
    assert set(pl.read_csv(numbers)["name"]) >= {"markov", "glove", "raw", "empty"}


def test_crowds_are_read_from_words():
    assert [one.k for one in parse_crowds(["glove=2,5"])] == [2, 5]
    assert parse_crowds(["lk-anonymity=7"])[0].K == 7
    with pytest.raises(ParameterError, match="glove=2,5,10"):
        parse_crowds(["markov=3"])


def test_the_command_draws_one_curve_per_setting_of_a_mechanism_and_refuses_idle_options(tmp_path):
    if not app.registered_commands:
        _register()
    CITY.save(tmp_path / "city.npz")
    write_visits(walks(CITY, 60, 1), tmp_path / "trips.parquet")
    out = tmp_path / "out"
    common = [
        "lab",
        "compare",
        str(tmp_path / "trips.parquet"),
        "--world",
        str(tmp_path / "city.npz"),
        "--risk",
    ]
    common += ["--out", str(out), "--json", "--repetitions", "1", "--epsilon", "1", "-m", "dpt"]
    refusals = {
        "--workers plays no part": ["--workers", "2"],
        "--queries plays no part": ["--queries", "10"],
        "glove=2,5,10": ["--crowd", "glove"],
    }
    for sentence, options in refusals.items():
        refused = CliRunner().invoke(app, [*common, *options])
        assert isinstance(refused.exception, ParameterError)
        assert sentence in str(refused.exception)
        assert not out.exists()
    done = CliRunner().invoke(app, [*common, "--grid", "dpt.metres=400,900", "--crowd", "glove=2"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [row["mechanism"] for row in rows] == 2 * ["dpt metres=400.0", "dpt metres=900.0", "glove"]
    assert {path.name for path in out.iterdir()} == {"risk.parquet", "risk.svg", "risk.csv"}
