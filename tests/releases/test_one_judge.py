"""Every number of a release leaves with the same interval and the same words, or does not leave."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.bands import Bands
from wayveil.accuracy.distances import KindEvidence, find_public, with_sizes
from wayveil.accuracy.find_bands import find_even_bands
from wayveil.accuracy.judging import _judge_stops
from wayveil.accuracy.misfits import OF_WAYS, blur_hours, is_misfit, least_together
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.accuracy.sizes import NOISE, PUBLIC, USEFUL, find_sizes
from wayveil.accuracy.verdicts import give_verdict
from wayveil.answers.questions import quote_row
from wayveil.answers.trends import find_trend
from wayveil.errors import RefusedError
from wayveil.exports.write import export
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.report.rankings import NoiseBars
from wayveil.report.report_page import report_html
from wayveil.run import make_release
from wayveil.synthesis.counted import AllCounted
from wayveil.synthesis.model import ExpectedError
from wayveil.synthesis.tallies import Tally, tally
from wayveil.trips.trips import Trips
from wayveil.world.world import World

RING = ring_of_stops(40, seconds=60)
RNG = np.random.default_rng(1)
STARTS = np.concatenate([np.repeat(np.arange(4), 900), RNG.integers(4, 40, 200)])
TRIPS = Trips.of_lists([[at, (at + 1) % 40, (at + 2) % 40] for at in STARTS.tolist()], RING)
SHEET = {
    "guarantee": {"epsilon": "1", "unit": "trip", "bounds": {}, "sentence": "", "holds": True},
    "deployment": {"basic": {"name": "one"}},
}


class CountedLengths:
    """A model that counted classes of lengths, and nothing else."""

    def __init__(self, values):
        self.values = values

    def counted(self, kind):
        return AllCounted(self.values, 1.0, 0.0) if kind == "lengths" else None


def known(verdict, again=TRIPS):
    one = bare_release(TRIPS, SHEET)
    return replace(one, known_accuracy=Accuracy({}, (verdict,), None, again))


def noisy(kind):
    """Large cells are off by a tenth and small ones are noise; all cells together are called noise."""
    shown = tally(kind, TRIPS)
    small = np.where(shown.cells % 2 == 0, 18.0, 0.0)
    again = Tally(shown.cells, np.where(shown.values > 100, shown.values * 1.1, small))
    verdict = give_verdict(kind, len(shown.cells), 1.0, 0.16, None, sure=True)
    return with_sizes(replace(verdict, is_noise=True), shown, again, None, 1.0)


def test_large_numbers_are_not_refused_because_small_ones_are_noise():
    verdict = noisy("boardings")
    assert verdict.is_noise
    assert {each.word for each in verdict.sizes} == {USEFUL, NOISE}
    answer = known(verdict).ask("boardings")
    assert "100 to 1,000 typically off by" in answer.note
    assert "noise" in answer.note
    few = [str(RING.ids[30])]
    with pytest.raises(RefusedError, match="noise; do not use"):
        known(verdict).ask("boardings", stops=few, between=None)


@pytest.mark.parametrize("error", [0.9, 0.5])
def test_both_kinds_of_uselessness_stop_every_way_out(tmp_path, error):
    """Noise and what public knowledge knows as well: one was refused in one place, the other in none."""
    lost = known(give_verdict("edges", 40, 100.0, error, 0.4, sure=True))
    word = "noise" if error > 0.7 else "no better than public knowledge"
    for refused in (
        lambda: lost.ask("pairs"),
        lambda: export(lost, "edge-flows", tmp_path / "e.json"),
    ):
        with pytest.raises(RefusedError, match=f"{word}; do not use"):
            refused()
    assert f"{word}; do not use" in lost.ask("pairs", anyway=True).note
    assert (
        f"{word}; do not use"
        in json.loads(export(lost, "edge-flows", tmp_path / "e.json", anyway=True)[0].read_text())["note"]
    )


def test_terminal_python_page_and_export_say_the_same_words(tmp_path):
    one = known(noisy("boardings"))
    words = one.accuracy.of("boardings").words
    assert one.ask("boardings").note.startswith(words)
    lost = known(give_verdict("boardings", 40, 100.0, 0.9, 0.4, sure=True))
    page = report_html(release=replace(lost, datasheet=made(1).datasheet))
    assert "Trips that begin at a stop: noise; do not use." in page
    assert str(RING.names[0]) not in page.split("Where most trips begin")[1].split("</details>")[0]


def made(seed):
    return make_release(TRIPS, Markov(), epsilon=8, unit=Trip(), bits=SeededBits(seed), seed=seed)


def test_a_question_is_judged_by_itself_and_not_by_the_nearest_kind():
    """Districts were refused for single stops; what two releases of the same trips disagree in is what counts."""
    bad = give_verdict("alightings", 40, 100.0, 0.9, None, sure=True)
    areas = {"stop_id": RING.ids.tolist(), "district": ["a"] * 20 + ["b"] * 20}
    answer = known(bad).ask("districts", districts=areas)
    # What releases agree in is off by what none of them shows, and not by nothing.
    assert "1,000 to 10,000 typically off by 6.7 %" in answer.note
    shaken = Trips.of_lists([[(at * 7) % 40, 1, 2] for at in STARTS.tolist()], RING)
    with pytest.raises(RefusedError, match="Trips from one district to another: noise"):
        known(bad, shaken.take(np.arange(400))).ask("districts", districts=areas)


def test_trips_that_pass_a_stop_are_judged_as_its_visits_which_they_are():
    """One said "no better than public knowledge" of numbers that the other called off by 21 %."""
    release = known(noisy("stops"))
    stops, through = (release.ask(question) for question in ("stops", "through"))
    assert stops.table["answer"].to_list() == through.table["answer"].to_list()
    assert stops.note == through.note


def test_only_a_number_that_is_known_to_a_half_is_put_in_a_sentence():
    """ "About 325 trips end at Carnmoor; the true number lies between 1 and 547" stood there for a paper."""
    row = {"stop": "Carnmoor", "answer": 325}
    assert quote_row("alightings", {**row, "low": 1, "high": 547}) == ""
    assert quote_row("alightings", {**row, "low": 200, "high": 500}).startswith("About 325 trips end")


def test_a_page_shows_no_list_whose_largest_rows_public_knowledge_knows_as_well():
    """`ask pairs` refused the busiest pairs of stops, and the page listed them, as small ones are known."""
    kind, shown = "edges", tally("edges", TRIPS)
    off = np.where(shown.values > 100, 0.4, 0.01) * shown.values
    sizes = find_sizes(shown.values, off, 0.4 * shown.values)
    verdict = replace(give_verdict(kind, len(off), 1.0, 0.3, 0.3, sure=True), sizes=sizes)
    assert {each.word for each in sizes} == {USEFUL, PUBLIC}
    few = NoiseBars(known(verdict), top=5)
    assert few.withholds(kind)
    assert "no better than public knowledge; do not use" in few.say(kind)
    assert not NoiseBars(known(verdict), top=100).withholds(kind)


def test_a_trend_that_is_refused_names_what_these_releases_tell():
    stops = give_verdict("stops", 40, 100.0, 0.9, None, sure=True)
    total = give_verdict("visits", 1, 100.0, 0.01, None, sure=True)
    pair = [
        replace(one, known_accuracy=Accuracy({}, (stops, total), None), datasheet=one.datasheet | SHEET)
        for one in (made(seed) for seed in (1, 2))
    ]
    with pytest.raises(RefusedError, match="These releases do tell: total"):
        find_trend(pair, "stops")


def test_sizes_that_public_knowledge_knows_as_well_say_so():
    values = np.array([2_000.0, 500.0, 5.0])
    sizes = find_sizes(values, values / 10, np.array([1_000.0, 20.0, 5.0]))
    assert [each.word for each in sizes] == [USEFUL, PUBLIC, USEFUL]
    table = pl.DataFrame([vars(each) for each in sizes])
    assert table["least"].to_list() == [0, 100, 1_000]


def test_where_people_take_other_ways_intervals_of_what_follows_from_ways_are_withdrawn():
    """Public routing took walks that nobody takes: visits were a quarter too few, and the verdict said 4.5 %."""
    well, badly = (
        [ExpectedError("", 9, 100.0, 5.0, 0.1, 1.0, seen=True, kind="lengths", misfit=misfit)]
        for misfit in (0.9, 1.5)
    )
    assert (is_misfit(well), is_misfit(badly)) == (False, True)
    assert {"stops", "visits", "edges", "hours"} <= OF_WAYS


def test_numbers_that_follow_from_whole_trips_have_intervals_even_on_both_sides():
    """A replica with five per cent more of everything shifted all intervals, and none held."""
    rng = np.random.default_rng(1)
    true = rng.lognormal(5, 1, 300)
    cells = np.arange(300)
    bands = find_even_bands(Tally(cells, true), Tally(cells, true * 1.05 + rng.normal(0, 3, 300)), 0.0)
    shown = true * 0.97 + rng.normal(0, 3, 300)  # as far off as the replica, on the other side
    low, high = bands.ends(shown)
    assert ((low <= true) & (true <= high)).mean() > 0.92


def test_what_all_numbers_have_in_common_is_wider_where_few_classes_of_lengths_were_counted():
    """Rider units buy three classes of lengths: visits were 4 % off together, and 24 of the 50 largest stops held."""
    few, many = (
        least_together(CountedLengths(np.array([100.0] * known + [np.nan] * (7 - known)))) for known in (3, 7)
    )
    assert few > 0.04
    assert many < 0.02
    cells, true = np.arange(300), np.random.default_rng(2).lognormal(6, 1, 300)
    replica = Tally(cells, true + np.random.default_rng(3).normal(0, 3, 300))  # by luck, nothing in common
    for least, holds in ((few, True), (many, False)):
        low, high = find_even_bands(Tally(cells, true), replica, least).ends(true * 1.06)
        assert bool(((low <= true) & (true <= high)).mean() > 0.95) is holds


def test_small_hours_are_off_by_as_many_as_others_and_not_by_as_many_roots():
    """Noise of 24 counted hours is even: of 60,000 trips, five hours of the night fell out of intervals like roots."""
    rng, cells = np.random.default_rng(4), np.arange(24)
    true = 60_000 * np.exp(-(((cells - 12) / 4) ** 2))
    first, *others = (np.maximum(true + rng.normal(0, 500, 24), 1) for _ in range(41))
    bands = find_even_bands(Tally(cells, true), Tally(cells, first), 0.0)
    held = [(low <= true) & (true <= high) for low, high in map(bands.ends, others)]
    assert np.mean(held, axis=0)[true < 2_000].mean() > 0.92


class CountedBoardings:
    """A model that counted boardings, and nothing else; trips are off by a few at every stop."""

    def counted(self, kind):
        if kind != "boardings":
            return None
        return AllCounted(tally("boardings", TRIPS).at(np.arange(40)) + 3.0, 2.0, 12.0)


def test_every_way_out_shows_the_same_number(tmp_path):
    """`ask` showed the noisy count, page and export what the trips blur it to: 1,844 here and 1,842 there."""
    sure = give_verdict("boardings", 40, 100.0, 0.01, 0.9, sure=True)
    one = replace(known(sure), model=CountedBoardings(), datasheet=made(1).datasheet)
    asked = one.ask("boardings").table
    told = dict(zip(asked["stop_id"], asked["answer"].to_list(), strict=True))
    assert told[str(RING.ids[0])] == 903
    flows = json.loads(export(one, "stop-flows", tmp_path / "s.json")[0].read_text())["features"]
    assert {each["properties"]["stop_id"]: each["properties"]["entries"] for each in flows} == told
    page = report_html(release=one).split("Where most trips begin")[1].split("</details>")[0]
    assert page.count(">903<") == 4
    assert ">900<" not in page


def test_counts_tell_what_noise_smoothed_away():
    """A smooth release has smooth replicas: verdicts said 30 % where boardings were off by 65 %."""
    rng = np.random.default_rng(2)
    truth = np.concatenate([np.full(8, 120.0), np.full(32, 5.0)])
    trips = Trips.of_lists([[at, (at + 1) % 40] for at in range(40)] * 28, RING)
    noisy = truth + rng.laplace(0, 10, 40).round()

    class Smoothed:
        def counted(self, kind):
            return AllCounted(noisy, 200.0, 120_000.0)

    even = tally("boardings", trips)
    public = Tally(even.cells, even.values * np.tile([0.8, 0.8, 1.2, 1.2], 10))
    release = replace(bare_release(trips, SHEET), model=Smoothed())
    again = Tally(
        even.cells, even.values * np.tile([0.9, 1.1], 20)
    )  # as even as the release, and off by a tenth
    verdict = _judge_stops(release, "boardings", KindEvidence(even, [again], whole=True), public)
    assert verdict.error > 0.12, "replicas that are as smooth as the release see nothing"
    smooth = np.abs(even.values - truth).sum() / truth.sum()
    assert smooth > 1
    assert verdict.error < 0.5 * smooth, "counts that stand out are shown in the place of what was smoothed"
    assert verdict.says_more
    assert verdict.public > 0.6 * smooth


def test_public_knowledge_is_as_far_off_as_a_replica_says_it_is():
    """Under the noise of rider units it was said to be off by 106 %, and was by 64: nearer than the release."""
    rng, cells = np.random.default_rng(5), np.arange(2_000)
    truth, told = rng.gamma(2.0, 50.0, 2_000), Tally(cells, np.full(2_000, 100.0))
    far = np.abs(truth / truth.sum() - told.values / told.values.sum()).sum()

    def blur(values, noise):
        return np.maximum(values + rng.normal(0, noise, 2_000), 0)

    rough = blur(truth, 50)  # noise puts it farther off than the truth is
    seen = find_public(Tally(cells, rough), Tally(cells, blur(rough, 50)), told)
    assert 0.8 * far < seen < 1.2 * far
    smooth = 0.5 * truth + 50  # a fit under noise leaves half of what tells it from public knowledge
    seen = find_public(Tally(cells, smooth), Tally(cells, 0.5 * smooth + 50), told)
    assert 0.9 * far < seen < 1.1 * far


def test_a_count_that_is_mostly_luck_is_not_shown_for_the_trips():
    """Noise of 80 at stops of 25 lifts some to 400; printed, boardings were worse than public knowledge."""
    rng = np.random.default_rng(6)
    truth = rng.gamma(2.0, 12.5, 400).round()
    noisy = truth + rng.laplace(0, 80, 400).round()

    class Faint:
        def counted(self, kind):
            return AllCounted(noisy, 2 * 80.0**2, 12 * 80.0**4)

    release = replace(bare_release(TRIPS, SHEET), model=Faint())
    assert (noisy > 4 * 80).any()
    assert release.sharpen("boardings", np.arange(400), np.full(400, 25.0)).max() <= 25


def test_verdicts_on_lengths_ask_more_of_few_classes_before_they_call_it_a_misfit():
    """Of eight classes, luck alone misses by 1.4 deviations: edges and hours of every tenth release were not judged."""
    lengths = ExpectedError("lengths", 8, 100.0, 5.0, 0.05, 0.0, seen=True, kind="lengths", misfit=1.4)
    assert not is_misfit([lengths])
    assert is_misfit([replace(lengths, cells=40)])
    assert is_misfit([replace(lengths, misfit=1.6)])


def test_visits_by_hour_are_blurred_where_starts_rise_within_the_hour():
    """Starts are drawn evenly within their hour: where a peak rises, visits are off by twice what replicas show."""
    world = World.of_symbols(list("ab"))

    def ride(starts):
        hours = np.repeat(np.arange(24), starts)
        time = np.stack([hours * 3_600, hours * 3_600 + 1_200], axis=1).ravel()
        many = len(hours)
        return Trips(np.tile([0, 1], many).astype(np.int32), np.arange(0, 2 * many + 1, 2), world, time)

    steep = np.zeros(24, np.int64)
    steep[6:10] = [100, 900, 400, 50]
    assert blur_hours(ride(np.full(24, 50))) == 0
    # Of riders who set out around a few moments, half of that was a quarter of the error, as they are steeper still.
    assert 0.1 < blur_hours(ride(steep)) < 0.15


def test_districts_are_off_by_a_share_that_a_replica_does_not_show():
    """Of 60,000 trips, 16 of the 20 busiest pairs of districts held: who rides where is found again more easily."""

    class CountedEnds:
        def counted(self, kind):
            return AllCounted(np.full(40, 100.0), 1.0, 0.0) if kind == "alightings" else None

    rng = np.random.default_rng(7)
    true = rng.lognormal(6.5, 1.0, 81)
    shown = true * (1 + rng.normal(0, 0.03, 81))
    again = shown + rng.normal(0, 0.2, 81) * np.sqrt(shown)
    verdict = give_verdict("alightings", 81, true.sum(), 0.05, 0.9, sure=True)
    release = replace(known(verdict), model=CountedEnds())
    judged = judge_numbers(release, Numbers("districts", shown, "alightings", pairs=(shown, again)))
    largest = np.argsort(-shown)[:20]
    assert ((judged.low <= true) & (true <= judged.high))[largest].sum() >= 19


def test_routes_that_a_timetable_shares_out_are_not_as_sure_as_the_stops_that_were_counted():
    """Of taps by stop, routes were said to be typically off by 0.13 %, as stops were: the timetable may be wrong."""
    city = ring_of_stops(12, seconds=600, routes=2)
    at = np.repeat(np.arange(12), 200).astype(np.int32)
    taps = Trips(at, np.arange(len(at) + 1), city, np.arange(len(at)) % 24 * 3_600)
    release = make_release(taps, TapCounts(max_visits=1), epsilon=4, unit=Trip(), bits=SeededBits(1), seed=1)
    assert "typically off by" in release.ask("stops").note
    for question in ("routes", "load"):
        note = release.ask(question).note
        assert note.startswith("Tap-ins per ")
        assert "the whole error is not known" in note


def test_what_is_made_of_numbers_that_are_refused_is_refused_unless_it_is_known():
    """A tree refused visits per stop, and showed the same visits by route and by trips that pass a stop."""
    bad = give_verdict("stops", 40, 100.0, 0.6, 0.5, sure=True)
    length = give_verdict("lengths", 9, 100.0, 0.6, 0.5, sure=True)
    band = Bands(np.ones(1), -np.ones(1), np.ones(1), None)
    release = known(bad)
    release = replace(release, known_accuracy=Accuracy({"total": band}, (bad, length), None, TRIPS))
    for question in ("routes", "durations", "distances"):
        with pytest.raises(RefusedError, match="no better than public knowledge; do not use"):
            release.ask(question)
    held = replace(release, known_accuracy=Accuracy({"stops": band}, (bad, length), None, TRIPS))
    assert held.ask("routes").table.height


def test_a_page_quotes_the_first_number_that_is_known_to_a_half():
    """Where stops were too wide for a sentence, a page quoted of what numbers are, and no number."""
    stops, starts = (give_verdict(kind, 40, 100.0, 0.1, None, sure=True) for kind in ("stops", "boardings"))
    wide, narrow = (Bands(np.ones(1), np.full(1, -by), np.full(1, by), None) for by in (1e3, 1.0))
    release = known(stops)
    accuracy = Accuracy({"stops": wide, "boardings": narrow}, (stops, starts), None, TRIPS)
    page = report_html(release=replace(release, known_accuracy=accuracy))
    assert "trips begin at" in page.split("For a paper")[1][:120]
    alone = Accuracy({"stops": wide}, (stops,), None, TRIPS)
    assert "For a paper" not in report_html(release=replace(release, known_accuracy=alone))
