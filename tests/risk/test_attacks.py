"""Attacks: they tell raw trips from fresh ones, equal plain readings, and refuse what says nothing."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wayveil as wv
from risk.attack_city import small_city, thirds
from wayveil.attacks.knowledge import copies_of_unique_trips, riders_pinned_down
from wayveil.attacks.known_points import FOUND, MISSED, NOTHING_LEFT, single_out
from wayveil.attacks.membership import (
    FALSE_ALARMS,
    auc,
    chance_of_difference,
    refuted_epsilon,
    strongest,
    true_positives,
)
from wayveil.attacks.rates import Rate, gain
from wayveil.attacks.targets import draw_targets, read_holdout, split_people, uniform
from wayveil.errors import InputError, ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.utility.figures import empty
from wayveil.world.world import World

ABCDE = World.of_symbols(list("abcde"))
trip_lists = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=10)
SETTINGS = wv.RiskSettings(targets=400)
# One bound in twenty is above zero where nothing is revealed; none is by so much.
BY_LUCK = 0.02


def attacked(release, holdout=True):
    members, others, _ = thirds()
    return wv.risk(release, members, others if holdout else None, settings=SETTINGS)


@pytest.fixture(scope="module")
def on_raw():
    return attacked(thirds()[0])


def test_a_release_of_the_raw_trips_is_found_out_by_every_attack(on_raw):
    assert on_raw.membership.auc >= 0.95
    assert on_raw["linkage", "nearest trip in space and time", None].risk.low > 0.9
    assert on_raw["singling out", "stop and hour, random", 3].risk.low > 0.2
    assert on_raw["inference", "destination", None].risk.low > 0.1
    assert on_raw.copies.value == 1


def test_fresh_riders_as_a_release_reveal_nothing_about_members():
    found = attacked(thirds()[2])
    assert abs(found.membership.auc - 0.5) <= 0.08  # 400 targets; the longer run below holds it to 0.05
    for finding in found.findings:
        assert finding.risk.low <= BY_LUCK


def test_a_tenth_of_the_raw_trips_is_found():
    members, _, _ = thirds()
    found = attacked(members.take(np.arange(0, len(members), 10)))
    assert found["linkage", "nearest trip in space and time", None].risk.low > 0


def test_raw_trips_planted_in_a_private_release_are_found():
    members, _, _ = thirds()
    private = wv.release(members, wv.Markov(), epsilon=1, max_trips=2, bits=SeededBits(1), seed=1).trips
    planted = members.without_times().take(np.arange(0, len(members), 20))
    both = Trips(
        np.concatenate([private.location, planted.location]),
        np.concatenate([private.offsets, private.offsets[-1] + planted.offsets[1:]]),
        private.world,
    )
    settings = wv.RiskSettings(targets=900)
    risks = [
        wv.risk(release, members, thirds()[1], settings=settings)[
            "linkage", "nearest trip in space", None
        ].risk
        for release in (private, both)
    ]
    assert risks[0].low <= BY_LUCK < risks[1].low


@pytest.mark.audit
def test_fresh_riders_stay_within_a_twentieth_of_a_coin():
    members, others, fresh = thirds(riders=16_000)
    settings = wv.RiskSettings(targets=4_000)
    assert abs(wv.risk(fresh, members, others, settings=settings).membership.auc - 0.5) <= 0.05
    assert wv.risk(members, members, others, settings=settings).membership.auc >= 0.95
    tenth = members.take(np.arange(0, len(members), 10))
    assert wv.risk(tenth, members, others, settings=settings).membership.low > 0.5


def test_a_private_release_keeps_its_promise_at_every_threshold_and_one_without_noise_does_not():
    members, others, _ = thirds()
    epsilon = 1
    private = wv.release(
        members, wv.NoisyPrefixTree(height=6), epsilon=epsilon, max_trips=2, bits=SeededBits(3), seed=1
    )
    assert wv.risk(private, members, others, settings=SETTINGS).membership.epsilon <= epsilon
    # The largest budget leaves hardly any noise: the same mechanism then writes its input out again.
    bare = wv.release(
        members, wv.NoisyPrefixTree(height=20), epsilon=1000, max_trips=2, bits=SeededBits(3), seed=1
    )
    assert wv.risk(bare, members, others, settings=SETTINGS).membership.epsilon > epsilon


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["markov", "noisy-prefix-tree", "variable-ngrams", "mobitrie", "weave"])
def test_no_mechanism_lets_members_be_told_apart_beyond_its_epsilon(kind):
    from wayveil.mechanisms.registry import mechanisms

    members, others, _ = thirds(riders=8_000)
    made = wv.release(members, mechanisms()[kind](), epsilon=1, bits=SeededBits(kind), seed=1)
    found = wv.risk(made, members, others, settings=wv.RiskSettings(targets=2_000))
    assert found.membership.epsilon <= 1


def test_strength_is_chosen_on_one_half_and_measured_on_the_other():
    lots = {
        f"luck {i}": (uniform(f"m{i}", 0, np.arange(200)), uniform(f"c{i}", 0, np.arange(200)))
        for i in range(40)
    }
    mine, others = ({name: pair[side] for name, pair in lots.items()} for side in (0, 1))
    best = max(auc(mine[name][::2], others[name][::2])[0] for name in lots)
    found = strongest(mine, others, 0)
    assert best > 0.58  # the best of forty worthless scores looks strong where it was chosen
    assert found.low < 0.5


def test_ties_count_half_and_are_broken_by_lot():
    same = np.zeros(1_000)
    assert auc(same, same)[0] == 0.5
    assert true_positives(same, same, 0).value == pytest.approx(0.01, abs=0.01)
    assert refuted_epsilon(same, same, 0) == 0
    assert refuted_epsilon(same + 1, same, 0) > 4


def test_wilson_and_newcombe_give_the_published_figures():
    # Newcombe (1998), table II: 56/70 against 48/80.
    low, high = Rate(56, 70).interval()
    assert (low, high) == (pytest.approx(0.6918, abs=1e-3), pytest.approx(0.8769, abs=1e-3))
    found = gain(Rate(56, 70), Rate(48, 80))
    assert found.low * 0.4 == pytest.approx(0.0524, abs=1e-4)
    assert found.high * 0.4 == pytest.approx(0.3339, abs=1e-4)


@given(trip_lists, trip_lists)
def test_singling_out_with_the_worst_points_equals_a_plain_reading(mine, released):
    targets, there = Trips.of_lists(mine, ABCDE), Trips.of_lists(released, ABCDE)
    found = single_out(targets, there, "stop", worst=True, seed=0).found
    sets = {frozenset(trip) for trip in released}
    for row, trip in zip(found, mine, strict=True):
        own, known = set(trip), set()
        for step in range(5):
            if step >= len(own) - 1:
                assert row[step] == NOTHING_LEFT
                continue
            left = {p: sum(known | {p} <= s for s in sets) for p in sorted(own - known)}
            left = {p: count for p, count in left.items() if count}
            if not left:
                assert row[step] == MISSED
                break
            known.add(min(left, key=lambda p: left[p]))
            holders = [s for s in sets if known <= s]
            rest = own - known
            hit = len(holders) == 1 and len(rest & holders[0]) >= 0.9 * len(rest)
            assert row[step] == (FOUND if hit else MISSED)


@given(trip_lists)
def test_uniqueness_by_all_points_equals_a_plain_reading(lists):
    raw = Trips.of_lists(lists, ABCDE, rider=np.arange(len(lists)) // 2)
    people = [set().union(*map(set, lists[i : i + 2])) for i in range(0, len(lists), 2)]
    for size, rate in enumerate(riders_pinned_down(raw, "stop"), start=1):
        exact = [own for own in people if len(own) == size]
        able = [own for own in people if len(own) >= size]
        assert rate.tries == len(able)
        alone = [sum(own <= other for other in people) == 1 for own in exact]
        choices = [
            {sum(set(c) <= other for other in people) == 1 for c in combinations(own, size)} for own in able
        ]
        assert sum(c == {True} for c in choices) <= rate.hits <= sum(True in c for c in choices)
        assert sum(alone) <= rate.hits


def test_copies_count_unique_raw_trips_only():
    raw = Trips.of_lists([[0, 1], [0, 1], [1, 2], [2, 3]], ABCDE)
    assert copies_of_unique_trips(raw, Trips.of_lists([[0, 1], [1, 2]], ABCDE)) == Rate(1, 2)


def test_the_attacker_knows_the_same_whatever_is_attacked():
    members, _, fresh = thirds()
    one = single_out(members, members, "stop", worst=False, seed=4)
    again = single_out(members, members, "stop", worst=False, seed=4)
    assert np.array_equal(one.found, again.found)
    assert np.array_equal(
        one.found == NOTHING_LEFT,
        single_out(members, fresh, "stop", worst=False, seed=4).found == NOTHING_LEFT,
    )


def test_half_of_the_people_are_held_out_with_all_of_their_trips():
    raw = Trips.of_lists([[0], [1], [2], [3], [4], [0]], ABCDE, rider=np.array([7, 7, 8, -1, 9, 8]))
    members, held = split_people(raw, 0)
    assert len(members) + len(held) == len(raw)
    assert not set(members.rider[members.rider >= 0]) & set(held.rider[held.rider >= 0])


def test_an_empty_release_reveals_nothing():
    members, others, _ = thirds()
    found = wv.risk(empty(members.world, timed=True), members, others, settings=SETTINGS)
    assert all(finding.rate.hits == 0 for finding in found.findings)
    assert found.membership is None


def test_without_a_hold_out_there_are_rates_and_no_risk(on_raw):
    members, _, _ = thirds()
    found = attacked(members, holdout=False)
    assert all(one.risk is None and one.control is None for one in found.findings)
    assert "There is no hold-out" in found.sentences()[0]
    assert [one.rate for one in found.findings] == [one.rate for one in on_raw.findings]


def test_a_hold_out_from_elsewhere_is_called_out_and_one_of_the_same_source_is_not(on_raw):
    members, others, _ = thirds()
    assert on_raw.unlike == ()
    assert chance_of_difference(members.origins(), members.origins()) == 1
    # People of the hold-out whose way begins in one half of the stops only.
    some = others.take(others.origins() < np.median(members.origins()))
    found = wv.risk(members, members, some, settings=SETTINGS)
    assert "first stops" in found.unlike
    assert "hours of departure" not in found.unlike
    assert found.sentences()[0].startswith("The hold-out is not like the raw trips: their first stops")


def test_samples_of_one_source_are_called_unlike_as_rarely_as_was_said():
    lots = (40 * uniform("alike", 0, np.arange(400 * 300)) ** 2).astype(np.int64).reshape(400, 300)
    chances = np.array([chance_of_difference(one[:200], one[200:]) for one in lots])
    assert np.mean(chances < 0.1) == pytest.approx(0.1, abs=0.05)
    assert chances.min() > FALSE_ALARMS / 4


def test_the_report_is_json_with_settings_hashes_and_limits_and_never_says_anonymous(on_raw):
    data = json.loads(on_raw.to_json())
    assert data["settings"]["seed"] == 0
    assert len(data["hashes"]["raw"]) == 64
    assert data["assumptions"]
    assert data["limits"]
    assert "nobody behind them" in str(on_raw)
    said = (str(on_raw) + on_raw.to_json()).lower()
    assert "anonym" not in said.replace("k-anonymity", ""), (
        "a rule has that name; nothing here is said to be it"
    )


class TestRefusals:
    def test_a_world_without_coordinates(self):
        raw = Trips.of_lists([[0, 1]] * 30, ABCDE)
        with pytest.raises(ParameterError, match="no coordinates"):
            wv.risk(raw, raw)

    def test_a_hold_out_that_shares_riders(self):
        members, _, _ = thirds()
        with pytest.raises(ParameterError, match="shares 900 riders"):
            wv.risk(members, members, members)

    def test_too_few_targets(self):
        members, _, _ = thirds()
        with pytest.raises(ParameterError, match="19 riders"):
            wv.risk(members, members.take(np.arange(19)))
        with pytest.raises(ParameterError, match="fewer than 20"):
            wv.RiskSettings(targets=5)

    def test_hours_without_times(self):
        members, _, _ = thirds()
        with pytest.raises(ParameterError, match="the release carry none"):
            wv.risk(members.without_times(), members, settings=wv.RiskSettings(hours=True))

    def test_a_release_of_another_world(self):
        members, _, _ = thirds()
        made = wv.release(members, wv.Markov(), epsilon=1, bits=SeededBits(1))
        made.datasheet["public_inputs"][0]["sha256"] = "0" * 64
        with pytest.raises(ParameterError, match="another world"):
            wv.risk(made, members)

    def test_files_that_share_ids(self, tmp_path):
        members, others, _ = thirds()
        write_visits(members.take(np.arange(40)), tmp_path / "a.csv")
        write_visits(others.take(np.arange(40)), tmp_path / "b.csv")
        with pytest.raises(InputError, match="shares 40 trip ids"):
            read_holdout(tmp_path / "b.csv", tmp_path / "a.csv", members, small_city())


def test_a_rider_is_attacked_once_through_one_trip():
    raw = Trips.of_lists([[i % 5] for i in range(60)], ABCDE, rider=np.arange(60) // 2)
    found = draw_targets(raw, 25, 0, "raw")
    assert (len(found), found.people) == (25, 30)
    assert len(set(found.trips.rider)) == 25


def test_the_command_attacks_a_saved_release_and_refuses_what_makes_no_sense(tmp_path):
    from typer.testing import CliRunner

    from wayveil.cli import _register, app

    if not app.registered_commands:
        _register()
    members, others, _ = thirds()
    small_city().save(tmp_path / "city.npz")
    write_visits(members, tmp_path / "raw.parquet", riders=True)
    # Files of two halves number their riders and trips alike; the hold-out gets ids of its own.
    write_visits(others, tmp_path / "others.csv", riders=True)
    table = pl.read_csv(tmp_path / "others.csv", infer_schema=False)
    table.with_columns(pl.col("trip_id", "rider_id") + "x").write_csv(tmp_path / "others.csv")
    made = wv.release(members, wv.Markov(), epsilon=1, bits=SeededBits(1))
    made.save(tmp_path / "release")
    common = [
        "lab",
        "risk",
        str(tmp_path / "release"),
        "--raw",
        str(tmp_path / "raw.parquet"),
        "--world",
        str(tmp_path / "city.npz"),
        "--holdout",
    ]
    options = ["--targets", "200", "--json", "--out", str(tmp_path / "risk.json")]
    done = CliRunner().invoke(app, [*common, str(tmp_path / "others.csv"), *options])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["people"]["controls"] == 200
    assert [one["cell"] for one in data["strap"]] == [500, 1000]
    (tmp_path / "risk.json").unlink()
    refused = CliRunner().invoke(app, [*common, str(tmp_path / "raw.parquet"), *options])
    assert isinstance(refused.exception, InputError)
    assert not (tmp_path / "risk.json").exists()
