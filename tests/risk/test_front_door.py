"""Releases from file to folder hold, and each mistake on the way is caught."""

import json
from fractions import Fraction

import pytest

from wayveil.lab.audits import run_audits as run
from wayveil.lab.audits.door import Door
from wayveil.lab.audits.door_audit import (
    ROW_VARIANTS,
    SOUND_ON_SPARK,
    SOUND_ROWS,
    SPARK_VARIANTS,
    broken_releases,
    sound_releases,
    spark_is_there,
)
from wayveil.lab.audits.door_files import PairWriter, every_unit
from wayveil.lab.audits.door_variants import SOUND, TREE, VARIANTS
from wayveil.lab.audits.door_weights import SOUND_WEIGHTS, WEIGHT_VARIANTS
from wayveil.lab.audits.run_audits import EFFORTS, jobs_at_the_door, run_audits, run_job
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.privacy.gate import Gate
from wayveil.releases import making
from wayveil.sources.bad_rows import RULES

JOBS = {(job.variant, job.pair): job for job in jobs_at_the_door()}
# Holes that audits see in what is built: readers and rules that look at more than one row.


def found(variant, pair):
    return run_job(JOBS[variant, pair], effort=EFFORTS["fast"], seed=1)


@pytest.mark.parametrize("name", [variant.name for variant in (*VARIANTS, *ROW_VARIANTS, *WEIGHT_VARIANTS)])
def test_a_mistake_around_a_sound_mechanism_is_caught(name):
    row = found(name, name)
    assert row.raised, row
    assert "error" not in row.detail


@pytest.mark.parametrize("name", [variant.name for variant in (*SOUND, *SOUND_ROWS, *SOUND_WEIGHTS)])
def test_the_way_from_a_file_to_a_release_holds(name):
    row = found("as built", name)
    assert not row.raised, row.detail


@pytest.mark.audit
@pytest.mark.xdist_group("spark")
@pytest.mark.skipif(not spark_is_there(), reason="Spark is not installed")
def test_the_way_over_spark_holds_and_its_mistake_is_caught():
    assert not found("as built", SOUND_ON_SPARK[0].name).raised
    assert found(SPARK_VARIANTS[0].name, SPARK_VARIANTS[0].name).raised


def test_every_kind_of_row_is_released_as_built():
    rules = [variant for variant in SOUND if variant.name.startswith("rows with ")]
    assert len(rules) == sum(len(rule.choices) for rule in RULES.values())
    for variant in (*rules, *SOUND_ROWS, *SOUND_WEIGHTS):
        row = found("as built", variant.name)
        assert " 0 questions" not in f" {row.detail}", "a pair that is refused shows nothing"


def test_there_are_enough_mistakes():
    assert len(VARIANTS) >= 14
    assert len({variant.name for variant in (*SOUND, *VARIANTS)}) == len(SOUND) + len(VARIANTS)
    everything = (*sound_releases(), *broken_releases())
    assert len({variant.name for variant in everything}) == len(everything)


def test_the_door_is_a_users_and_stays_as_it_was(tmp_path):
    pair = every_unit(PairWriter(tmp_path, small_network()))[0]
    door = Door(TREE, Fraction(1), tmp_path)
    made = door.record(pair, pair.within, seed=1)
    assert making.Gate is Gate
    assert made.refusal is None
    assert made.spent == 1
    assert set(made.published) == {"trips", "model", "datasheet"}
    assert len(made.transcript.exchanges) == 2 + TREE.height  # two numbers and the levels
    # All of the levels and of the number of trips; of the number of visits three of the 24 that a trip may have.
    assert door.examine(pair).loss == Fraction(24, 25) + Fraction(1, 50) + Fraction(1, 50) * Fraction(3, 24)


def test_the_release_can_be_audited_by_name(monkeypatch):
    monkeypatch.setattr(
        run, "jobs_at_the_door", lambda: [JOBS["as built", "taps"], JOBS[VARIANTS[0].name, VARIANTS[0].name]]
    )
    table = run_audits(["release"], effort="fast", seed=1)
    assert table.ok
    assert [row["audit"] for row in json.loads(table.to_json())["rows"]] == ["front door"] * 2
