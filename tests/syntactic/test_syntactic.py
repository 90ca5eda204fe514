"""Methods without differential privacy: independent checkers pass what they make and fail broken variants."""

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayveil as wv
from syntactic.checkers import glove_faults, lk_violations, seeds_alike
from utility.utility_worlds import ABCD, square_city, walks
from wayveil.errors import ParameterError
from wayveil.lab.syntactic.glove import Glove, fingerprints, merge_groups, sample_effort
from wayveil.lab.syntactic.lk_anonymity import LKAnonymity, minimal_violations
from wayveil.lab.syntactic.method import Lots, anonymise, methods
from wayveil.lab.syntactic.plausible_deniability import PlausibleDeniability, count_alike, semantic_clusters
from wayveil.mechanisms.registry import mechanisms
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.without_guarantee import METHODS
from wayveil.trips.trips import Trips

CITY = square_city(5, jitter=1)


def pairs(trips, minutes=60):
    """(place, bin) sequences."""
    parts = np.split(np.arange(trips.visits), trips.offsets[1:-1])
    return [
        tuple((int(trips.location[v]), int(trips.time[v] // (60 * minutes))) for v in part) for part in parts
    ]


def points(trips):
    parts = np.split(np.arange(trips.visits), trips.offsets[1:-1])
    return [[(int(trips.location[v]), int(trips.time[v])) for v in part] for part in parts]


class TestAll:
    @pytest.mark.parametrize(
        "method", [Glove(), LKAnonymity(K=2, L=1), PlausibleDeniability(k=2, clusters=2)]
    )
    def test_the_first_line_says_what_it_is_not(self, method, tmp_path):
        made = anonymise(walks(CITY, 40, 1), method, bits=SeededBits(1))
        assert not made.private
        assert made.datasheet["private"] is False
        assert repr(made).splitlines()[0] == "No differential privacy."
        assert made.report().splitlines()[0] == "No differential privacy."
        made.save(tmp_path / "out")
        sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text())
        assert next(iter(sheet.values())) == "No differential privacy."
        assert (tmp_path / "out" / "datasheet.txt").read_text().startswith("No differential privacy.\n")

    def test_they_are_no_mechanisms_and_the_ledger_refuses_them(self, tmp_path):
        assert set(methods()) == set(METHODS)
        assert not set(methods()) & set(mechanisms())
        ledger = wv.open_ledger(tmp_path / "ledger")
        for name in METHODS:
            with pytest.raises(ParameterError, match="No differential privacy"):
                ledger.reserve("trips", 1, actor="me", mechanism=name)

    @pytest.mark.parametrize("method", [Glove(k=30), LKAnonymity(K=30), PlausibleDeniability(k=30)])
    def test_a_crowd_larger_than_everybody_is_refused(self, method):
        with pytest.raises(ParameterError, match="nobody can hide among 30"):
            anonymise(walks(CITY, 29, 1), method)

    @pytest.mark.parametrize("method", [Glove(), LKAnonymity()])
    def test_missing_times_are_refused(self, method):
        with pytest.raises(ParameterError, match="no times"):
            anonymise(walks(CITY, 30, 1, timed=False), method)

    def test_a_world_without_coordinates_is_refused_by_glove(self):
        raw = Trips.of_lists([[0, 1]] * 5, ABCD, time=np.arange(10))
        with pytest.raises(ParameterError, match="coordinates"):
            anonymise(raw, Glove())


class TestGlove:
    @given(st.integers(0, 400), st.integers(2, 5))
    @settings(max_examples=25)
    def test_the_checker_finds_no_fault(self, seed, k):
        raw = walks(CITY, 5 + seed % 14, seed)
        raw = Trips(raw.location, raw.offsets, CITY, raw.time, np.arange(len(raw)) * 7)
        made = anonymise(raw, Glove(k=k), bits=SeededBits(seed))
        sample, offsets, _ = fingerprints(raw, "glove")
        group, *_ = merge_groups(sample, offsets, k)
        table = made.table.to_dicts()
        assert glove_faults(CITY, points(raw), group.tolist(), table, points(made.trips), k) == []
        assert made.datasheet["facts"]["smallest_group"] >= k

    def test_the_checker_fails_broken_variants(self):
        raw = walks(CITY, 11, 3)
        made = anonymise(raw, Glove(k=3), bits=SeededBits(3))
        sample, offsets, _ = fingerprints(raw, "glove")
        group = merge_groups(sample, offsets, 3)[0].tolist()
        table, drawn = made.table.to_dicts(), points(made.trips)
        arguments = (CITY, points(raw))
        assert not glove_faults(*arguments, group, table, drawn, 3)
        alone = [*group[:-1], max(group) + 1]  # a leftover in a group of its own
        narrow = [dict(row, east=row["west"], end=row["begin"]) for row in table]
        assert glove_faults(*arguments, alone, table, drawn, 3)
        assert glove_faults(*arguments, group, narrow, drawn, 3)
        assert glove_faults(*arguments, group, table, [[(0, 0)], *drawn[1:]], 3)
        assert glove_faults(*arguments, group, table[1:], drawn, 3)

    def test_a_leftover_joins_a_finished_group(self):
        made = anonymise(walks(CITY, 7, 2), Glove(k=2), bits=SeededBits(1))
        assert made.datasheet["facts"]["leftovers"] == 1
        assert made.datasheet["facts"]["smallest_group"] >= 2
        assert sum(made.table.unique("group")["riders"]) == 7

    def test_effort_is_half_space_and_half_time_and_capped(self):
        here, far = np.array([0.0, 0, 0, 0, 0, 0]), np.array([1e6, 1e6, 0, 0, 1e6, 1e6])
        assert sample_effort(here, here, 1, 1) == 0
        assert sample_effort(here, far, 1, 1) == 1
        assert sample_effort(here, np.array([2_000.0, 2_000, 0, 0, 0, 0]), 1, 1) == pytest.approx(0.05)
        assert sample_effort(here, np.array([0.0, 0, 0, 0, 2_880, 2_880]), 1, 1) == pytest.approx(0.05)
        # A wide box need not grow over a point inside it: only the point's group pays, by its weight.
        box = np.array([0.0, 4_000, 0, 0, 0, 0])
        assert sample_effort(box, here, 3, 1) == pytest.approx(0.5 * 0.25 * 4_000 / 20_000)


class TestLK:
    timed = st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4),
        min_size=3,
        max_size=12,
    )

    @given(timed, st.integers(1, 3), st.integers(2, 3), st.sampled_from(["global", "local"]))
    def test_brute_force_finds_no_violation(self, lists, most, k, how):
        lists = [sorted(trip, key=lambda pair: pair[1]) for trip in lists]
        time = np.array([3600 * t for trip in lists for _, t in trip])
        raw = Trips.of_lists([[p for p, _ in trip] for trip in lists], ABCD, time=time)
        made = anonymise(raw, LKAnonymity(L=most, K=k, suppression=how)).trips
        assert not lk_violations(pairs(made), most, k)
        if not lk_violations(pairs(raw), most, k):
            assert made.visits == raw.visits

    @given(timed, st.integers(1, 3), st.integers(2, 3))
    def test_minimal_violations_are_those_of_brute_force(self, lists, most, k):
        lists = [sorted(trip, key=lambda pair: pair[1]) for trip in lists]
        codes = [[p + 4 * t for p, t in trip] for trip in lists]
        trip = np.repeat(np.arange(len(codes)), [len(c) for c in codes])
        found = minimal_violations(trip, np.array([c for trip in codes for c in trip]), most, k)
        every = lk_violations([tuple(c) for c in codes], most, k)
        minimal = {v for v in every if not any(u != v and is_part(u, v) for u in every)}
        assert {tuple(row[row >= 0].tolist()) for row in found} == minimal

    def test_brute_force_fails_the_raw_trips_and_a_half_done_job(self):
        raw = walks(CITY, 60, 5)
        assert lk_violations(pairs(raw), 2, 5)
        shallow = anonymise(raw, LKAnonymity(L=1, K=5)).trips
        assert not lk_violations(pairs(shallow), 1, 5)
        assert lk_violations(pairs(shallow), 2, 5)


def is_part(short, long):
    rest = iter(long)
    return all(any(one == other for other in rest) for one in short)


class TestDeniability:
    def test_a_recount_agrees_and_finds_what_was_wrongly_let_through(self):
        raw = walks(CITY, 120, 4, longest=4)
        method = PlausibleDeniability(k=8, gamma=2.0, clusters=4)
        cluster = semantic_clusters(raw, 4)
        visits = np.bincount(raw.location, minlength=CITY.size)
        lists = raw.to_lists()
        candidates, seed = method._synthesise(raw, cluster, visits.astype(float), 60, Lots(SeededBits(1)))
        alike = count_alike(candidates, seed, raw, cluster, visits.astype(float), method.blur, method.gamma)
        recount = [
            seeds_alike(y, lists[d], lists, cluster.tolist(), visits.tolist(), method.blur, method.gamma)
            for y, d in zip(candidates.to_lists(), seed, strict=True)
        ]
        assert alike.tolist() == recount
        # A maker that lets everything through is caught: some trips have too few seeds.
        assert min(recount) < method.k <= max(recount)

    def test_it_ends_after_a_public_number_of_tries_and_reports_acceptance(self):
        raw = walks(CITY, 80, 4)
        made = anonymise(raw, PlausibleDeniability(k=79, gamma=1.0, tries=500), bits=SeededBits(1))
        assert made.datasheet["facts"]["tried"] == 500
        assert made.datasheet["facts"]["acceptance"] == made.datasheet["facts"]["accepted"] / 500

    def test_more_seeds_to_explain_a_trip_are_harder_to_find(self):
        raw = walks(CITY, 300, 4, longest=5)
        rates = [
            anonymise(raw, PlausibleDeniability(k=k, tries=3_000), bits=SeededBits(1)).datasheet["facts"][
                "acceptance"
            ]
            for k in (2, 20, 60)
        ]
        assert all(a >= b for a, b in pairwise(rates))
        assert rates[0] > rates[2]


def test_the_table_of_suppressed_pairs_adds_up():
    raw = walks(CITY, 60, 5)
    made = anonymise(raw, LKAnonymity(L=2, K=5))
    assert isinstance(made.table, pl.DataFrame)
    assert made.table["suppressed_visits"].sum() == raw.visits - made.trips.visits


def test_the_command_writes_a_folder_that_says_so_or_nothing(tmp_path):
    from typer.testing import CliRunner

    from wayveil.cli import _register, app
    from wayveil.trips.visits import write_visits

    if not app.registered_commands:
        _register()
    CITY.save(tmp_path / "city.npz")
    write_visits(walks(CITY, 30, 1), tmp_path / "trips.parquet")
    common = [
        "lab",
        "anonymise",
        str(tmp_path / "trips.parquet"),
        "--world",
        str(tmp_path / "city.npz"),
        "--json",
    ]
    done = CliRunner().invoke(app, [*common, "-m", "glove", "--set", "k=3", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["statement"] == "No differential privacy."
    refused = CliRunner().invoke(app, [*common, "-m", "glove", "--set", "k=31", "-o", str(tmp_path / "no")])
    assert isinstance(refused.exception, ParameterError)
    assert not (tmp_path / "no").exists()


def test_attacks_and_strap_are_tried_on_what_the_command_wrote(tmp_path):
    from typer.testing import CliRunner

    from wayveil.cli import _register, app
    from wayveil.trips.visits import write_visits

    _register()
    CITY.save(tmp_path / "city.npz")
    write_visits(walks(CITY, 30, 1), tmp_path / "trips.parquet")
    raw, world = str(tmp_path / "trips.parquet"), ["--world", str(tmp_path / "city.npz")]
    made = ["lab", "anonymise", raw, *world, "-m", "glove", "--set", "k=3", "-o", str(tmp_path / "out")]
    assert CliRunner().invoke(app, made).exit_code == 0
    done = CliRunner().invoke(app, ["lab", "risk", str(tmp_path / "out"), "--raw", raw, *world, "--json"])
    found = json.loads(done.stdout)
    assert found["guarantee"] == "No differential privacy."
    assert [one["cell"] for one in found["strap"]] == [500, 1000]
    refused = CliRunner().invoke(app, ["risk", str(tmp_path / "out"), "--raw", raw, *world])
    assert "is not a signed release" in str(refused.exception)
