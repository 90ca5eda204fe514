"""Comparisons: planned whole, resumable, beside their references, and honest about what could not be run."""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from wayveil.errors import InputError, ParameterError
from wayveil.lab.comparison import compare as compare_module
from wayveil.lab.comparison.compare import compare
from wayveil.lab.comparison.comparison_cells import REFERENCES, ComparisonCell, display_name, grid, plan
from wayveil.lab.comparison.comparison_results import Comparison, curves_over, varied_parameters
from wayveil.lab.comparison.recommend import recommend, stand_in_trips
from wayveil.lab.comparison.run_cells import Examiner, Settings
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.trips.trips import Trips
from wayveil.world.world import World

WORLD = World.of_symbols([f"{i:02d}" for i in range(12)])
QUICK = Settings(suite="core", queries=100)


def some_trips(count: int = 300, seed: int = 1) -> Trips:
    rng = np.random.default_rng(seed)
    lists = [(np.minimum(rng.geometric(0.3, rng.integers(1, 6)), 12) - 1).tolist() for _ in range(count)]
    return Trips.of_lists(lists, WORLD)


TRIPS = some_trips()
TREE, CHAIN = NoisyPrefixTree(height=3), Markov()


@pytest.fixture(scope="module")
def found():
    return compare(TRIPS, [TREE, CHAIN], ["1/2", 4], repetitions=3, settings=Settings(queries=200), workers=1)


def test_a_plan_has_every_combination_once_and_all_references():
    cells = plan([TREE, CHAIN], ["0.5", 1], 2)
    own = [cell for cell in cells if cell.mechanism is not None]
    assert len(own) == len({cell.key for cell in own}) == 2 * 2 * 2
    assert {cell.name for cell in cells} - {"noisy-prefix-tree", "markov"} == set(REFERENCES)
    assert [cell.repetition for cell in own] == [0] * 4 + [1] * 4
    assert plan([TREE], ["1/2"], 1)[-1].key == plan([TREE], [Fraction(1, 2)], 1)[-1].key


@pytest.mark.parametrize(
    ("candidates", "epsilons", "repetitions", "words"),
    [
        ([], [1], 1, "at least one mechanism"),
        ([TREE], [], 1, "at least one mechanism"),
        ([TREE], [1], 0, "at least one mechanism"),
        ([TREE, NoisyPrefixTree(height=3)], [1], 1, "named twice"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_before_any_work(candidates, epsilons, repetitions, words):
    with pytest.raises(ParameterError, match=words):
        plan(candidates, epsilons, repetitions)


def test_a_grid_is_every_combination_of_values():
    made = grid("noisy-prefix-tree", {"height": [3, 5], "smoothing": [True, False]})
    assert [(m.height, m.smoothing) for m in made] == [(3, True), (3, False), (5, True), (5, False)]
    with pytest.raises(ParameterError, match="unknown mechanism"):
        grid("crystal-ball", {})
    assert display_name("markov", '{"order": 2}') == "markov order=2"


def test_results_have_means_intervals_and_references_for_every_figure(found):
    assert found.epsilons == [0.5, 4]
    assert found.mechanisms == ["noisy-prefix-tree height=3", "markov"]
    key = "count_query_error/non-empty"
    lines = found.references(key)
    assert 0 < lines["ceiling"] < lines["floor"]
    assert lines["empty"] == pytest.approx(1, abs=0.01)
    curves = found.curves(key)
    for points in curves.values():
        assert [point.epsilon for point in points] == [0.5, 4]
        assert all(point.repetitions == 3 and point.low < point.value < point.high for point in points)
    # Less noise is less error; at the stops, as guessed ends of cut trips take part in other queries.
    for points in found.curves("operations/stop").values():
        assert points[0].value > points[1].value
    by_hand = found.table.filter(
        (pl.col("mechanism") == "markov") & (pl.col("epsilon") == 4) & (pl.col("key") == key)
    )["value"].mean()
    assert curves["markov"][1].value == pytest.approx(by_hand)
    assert "plain-laplace" in found.curves("operations/stop")
    assert "plain-laplace" not in found.curves("operations/stop", plain_laplace=False)
    assert found.summary().height == len(found.points)
    assert "Not for publication" in found.notice


def test_the_same_seed_gives_the_same_table(found):
    again = compare(TRIPS, [CHAIN], [4], repetitions=1, settings=Settings(queries=200), workers=1)
    one = again.table.filter(pl.col("mechanism") == "markov")["value"]
    other = found.table.filter(
        (pl.col("mechanism") == "markov") & (pl.col("epsilon") == 4) & (pl.col("repetition") == 0)
    )["value"]
    assert one.to_list() == other.to_list()


def test_repetitions_are_releases_of_their_own(found):
    key = "count_query_error/non-empty"
    rows = found.table.filter((pl.col("key") == key) & (pl.col("mechanism") == "markov"))
    assert rows["value"].n_unique() == rows.height == 6


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    class StopError(Exception):
        pass

    seen: list[tuple[str, str]] = []

    def stop_after_five(cell: ComparisonCell, status: str) -> None:
        seen.append((cell.key, status))
        if len(seen) == 5:
            raise StopError

    arguments = {"repetitions": 2, "settings": QUICK, "out": tmp_path, "workers": 1}
    with pytest.raises(StopError):
        compare(TRIPS, [TREE, CHAIN], [1], on_cell=stop_after_five, **arguments)
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 5
    news: list[tuple[str, str]] = []
    whole = compare(TRIPS, [TREE, CHAIN], [1], on_cell=lambda c, s: news.append((c.key, s)), **arguments)
    assert [key for key, status in news if status == "kept"] == [key for key, _ in seen]
    fresh = compare(TRIPS, [TREE, CHAIN], [1], repetitions=2, settings=QUICK, workers=1)
    compared = [c for c in whole.table.columns if not c.endswith("seconds")]
    assert whole.table.select(compared).equals(fresh.table.select(compared))
    assert Comparison.load(tmp_path).table.equals(whole.table)


def test_a_folder_never_mixes_two_datasets_or_two_ways_of_measuring(tmp_path):
    compare(TRIPS, [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)
    with pytest.raises(ParameterError, match="other trips"):
        compare(some_trips(seed=2), [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)
    other = Settings(suite="core", queries=50)
    with pytest.raises(ParameterError, match="other settings"):
        compare(TRIPS, [TREE], [1], repetitions=1, settings=other, out=tmp_path, workers=1)
    assert TRIPS.fingerprint() != TRIPS.take(np.arange(299)).fingerprint()


def test_a_comparison_of_an_earlier_version_is_read_but_not_gone_on_with(tmp_path):
    made = compare(TRIPS, [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)
    note = tmp_path / "comparison.json"
    about = json.loads(note.read_text())
    del about["settings"]["questions"]
    note.write_text(json.dumps(about))
    with pytest.raises(ParameterError, match="earlier version"):
        compare(TRIPS, [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)
    assert Comparison.load(tmp_path).table.equals(made.table)


def test_any_parameter_can_be_the_axis_and_a_default_is_one_of_its_values():
    heights = [
        NoisyPrefixTree(height=height) for height in (2, 4, 12)
    ]  # 12 is the default, and is not written down
    made = compare(TRIPS, [*heights, CHAIN], [1, 2], repetitions=1, settings=QUICK, workers=1)
    assert varied_parameters(made) == ["height"]
    lines = curves_over(made, "count_query_error/non-empty", "height")
    assert sorted(lines) == ["noisy-prefix-tree, ε = 1", "noisy-prefix-tree, ε = 2"]
    assert [place.x for place in lines["noisy-prefix-tree, ε = 1"]] == [2, 4, 12]
    assert all(place.point.epsilon == 1 for place in lines["noisy-prefix-tree, ε = 1"])


def test_timed_queries_are_asked_of_timed_trips_and_releases_without_times_have_no_figure():
    timed = Trips(TRIPS.location, TRIPS.offsets, WORLD, np.arange(TRIPS.visits) * 700)
    made = compare(timed, [TREE, SeqPT(height=2, time="720")], [4], repetitions=1, settings=QUICK, workers=1)
    key = "timed_count_query_error/non-empty"
    assert {point.mechanism for point in made.points if point.key == key} >= {"seqpt", "ceiling", "empty"}
    assert "noisy-prefix-tree" not in {point.mechanism for point in made.points if point.key == key}
    assert made.references(key)["empty"] == 1


def test_a_mechanism_that_does_not_fit_is_a_result_and_one_that_breaks_is_tried_again(tmp_path, monkeypatch):
    arguments = {"repetitions": 1, "settings": QUICK, "out": tmp_path, "workers": 1}
    statuses: dict[str, str] = {}
    found = compare(
        TRIPS,
        [SeqPT(height=2), TREE],
        [1],
        on_cell=lambda c, s: statuses.update({c.name: s}),
        **arguments,
    )
    assert statuses["seqpt"] == "refused"
    assert [name for name, _ in found.gaps()] == ["seqpt height=2"]
    assert "times" in next(iter(found.gaps()))[1]

    def broken(self, cell):
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Examiner, "_measure", broken)
        compare(TRIPS, [CHAIN], [1], on_cell=lambda c, s: statuses.update({c.name: s}), **arguments)
    assert statuses["markov"] == "failed"
    compare(TRIPS, [CHAIN], [1], on_cell=lambda c, s: statuses.update({c.name: s}), **arguments)
    assert statuses["markov"] == "measured"


def test_processes_give_the_same_results_as_one_process():
    many, one = (
        compare(TRIPS, [TREE], [1], repetitions=2, settings=QUICK, workers=workers).table
        for workers in (2, 1)
    )
    compared = [c for c in one.columns if not c.endswith("seconds")]
    assert many.select(compared).equals(one.select(compared))


def test_files_that_are_no_results_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Comparison.load(tmp_path / "nothing.parquet")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="is not a comparison"):
        Comparison.load(tmp_path / "other.parquet")


def synthetic(values: dict[tuple[str, float], list[float]], **lines: float) -> Comparison:
    rows = [
        {"mechanism": name, "parameters": "{}", "epsilon": epsilon, "repetition": i, "value": value}
        for (name, epsilon), several in values.items()
        for i, value in enumerate(several)
    ]
    rows += [
        {"mechanism": name, "parameters": "{}", "epsilon": None, "repetition": 0, "value": value}
        for name, value in lines.items()
    ]
    shared = {
        "status": "measured",
        "question": "Stops",
        "key": "stop_error",
        "label": "error",
        "better": "lower",
    }
    return Comparison(pl.DataFrame([{**row, **shared} for row in rows], infer_schema_length=None))


def test_the_recommended_mechanism_is_the_best_and_says_whether_clearly():
    close = synthetic(
        {("a", 1.0): [0.30, 0.32, 0.31], ("b", 1.0): [0.31, 0.33, 0.30], ("c", 1.0): [0.9, 0.91, 0.9]},
        ceiling=0.1,
        floor=0.8,
        empty=1.0,
    )
    (choice,) = recommend(close)
    assert (choice.mechanism, choice.runner_up, choice.clear, choice.useful) == ("a", "b", False, True)
    assert "about as good as b" in choice.sentence()
    (clear,) = recommend(synthetic({("a", 1.0): [0.3, 0.31], ("c", 1.0): [0.9, 0.91]}, floor=1.0, empty=1.0))
    assert clear.clear
    assert "clearly before c" in clear.sentence()
    (single,) = recommend(synthetic({("a", 1.0): [0.3], ("c", 1.0): [0.9]}, floor=1.0, empty=1.0))
    assert "before c (too few releases for an interval)" in single.sentence()


def test_a_winner_that_public_knowledge_or_silence_beats_is_not_useful():
    (choice,) = recommend(synthetic({("a", 1.0): [0.9, 0.9]}, ceiling=0.1, floor=0.8, empty=1.0))
    assert not choice.useful
    assert "nothing beats" in choice.sentence()
    (choice,) = recommend(synthetic({("a", 1.0): [0.9, 0.9]}, floor=2.0, empty=0.5), keys=["stop_error"])
    assert not choice.useful
    with pytest.raises(ParameterError, match="no figure"):
        recommend(synthetic({("a", 1.0): [1.0]}), keys=["beauty"])


def test_stand_in_trips_need_a_network():
    with pytest.raises(ParameterError, match="public trips"):
        stand_in_trips(WORLD, 10)


def test_an_empty_plan_of_work_starts_no_process(tmp_path, monkeypatch):
    compare(TRIPS, [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)

    def never(*arguments):
        raise AssertionError("an examiner was made")

    monkeypatch.setattr(compare_module, "Examiner", never)
    compare(TRIPS, [TREE], [1], repetitions=1, settings=QUICK, out=tmp_path, workers=1)
