"""Who leads: everybody at the best of their settings, and leads that are no larger than the spread are not clear."""

import polars as pl
from pages.results_standings import at_best, best_settings, standings

from wayveil.lab.comparison.comparison_results import Comparison
from wayveil.lab.comparison.run_cells import SCHEMA

SHORT, LONG = '{"height": 4}', "{}"


def comparison(*lines: tuple[str, str, float | None, str, list[float]]) -> Comparison:
    """Lines of mechanism, parameters, epsilon, figure and the values of its releases."""
    better = {"error": "lower", "f1": "higher"}
    rows = [
        {
            "mechanism": mechanism,
            "parameters": parameters,
            "epsilon": epsilon,
            "repetition": repetition,
            "status": "measured",
            "key": key,
            "label": key,
            "better": better[key],
            "value": value,
        }
        for mechanism, parameters, epsilon, key, values in lines
        for repetition, value in enumerate(values)
    ]
    return Comparison(pl.DataFrame(rows, schema=SCHEMA))


TREES = comparison(
    ("tree", SHORT, 1.0, "error", [0.2, 0.4]),
    ("tree", LONG, 1.0, "error", [0.5, 0.5]),
    ("tree", SHORT, 1.0, "f1", [0.6, 0.6]),
    ("tree", LONG, 1.0, "f1", [0.7, 0.9]),
    ("chain", "{}", 1.0, "error", [0.31, 0.31]),
    ("ceiling", "{}", None, "error", [0.1]),
)


def test_each_figure_has_the_parameters_that_are_best_for_it_whichever_way_is_better():
    best = {(m, k): p for m, _, k, p in best_settings(TREES).iter_rows()}
    assert best == {("tree", "error"): SHORT, ("tree", "f1"): LONG, ("chain", "error"): "{}"}


def test_at_its_best_a_mechanism_is_one_line_and_references_stay():
    tuned = at_best(TREES)
    values = {(point.name, point.key): point.value for point in tuned.points}
    assert values == {
        ("tree", "error"): 0.30000000000000004,
        ("tree", "f1"): 0.8,
        ("chain", "error"): 0.31,
        ("ceiling", "error"): 0.1,
    }
    assert tuned.mechanisms == ["tree", "chain"]
    assert tuned.references("error") == {"ceiling": 0.1}


def test_a_lead_within_the_spread_is_not_clear():
    own = standings(at_best(TREES), "tree")
    by_figure = {one.own.key: one for one in own}
    assert by_figure["error"].verdict == "ahead"
    assert not by_figure["error"].clear
    assert by_figure["f1"].rival is None
    (chain,) = standings(at_best(TREES), "chain")
    assert (chain.verdict, chain.clear) == ("behind", False)


def test_a_lead_beyond_both_intervals_is_clear_and_one_release_never_is():
    lines = [
        ("a", "{}", 1.0, "f1", [0.90, 0.91, 0.90]),
        ("b", "{}", 1.0, "f1", [0.50, 0.51, 0.50]),
        ("a", "{}", 2.0, "f1", [0.9]),
        ("b", "{}", 2.0, "f1", [0.5]),
        ("a", "{}", 2.0, "error", [0.5, 0.5]),
        ("b", "{}", 2.0, "error", [0.5, 0.5]),
    ]
    found = [(one.own.epsilon, one.verdict, one.clear) for one in standings(comparison(*lines), "a")]
    assert found == [(1.0, "ahead", True), (2.0, "ahead", False), (2.0, "level", False)]
    assert [one.verdict for one in standings(comparison(*lines), "b")] == ["behind", "behind", "level"]
