"""The record for the registry of differential-privacy deployments is valid by the registry's own schema."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.errors import ParameterError
from wayveil.exports.registry import SCHEMA, registry_record
from wayveil.exports.write import export
from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.weave.weave import Weave
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider, Trip
from wayveil.run import make_release as release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.week import simulate_week

RULES = json.loads((Path(__file__).parent / "registry_schema.json").read_text())
CITY = ring_of_stops(6, seconds=60)
STATED = {
    "curator": "Ring Transit",
    "curator_type": "Government",
    "purpose": "planning",
    "region": "Ring County",
    "contact": "privacy@ring.example",
}


def problems(record):
    """What the schema says against a record."""
    checker = Draft7Validator(RULES, format_checker=Draft7Validator.FORMAT_CHECKER)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in checker.iter_errors(record)]


def made(mechanism, **options):
    raw = simulate_week(CITY, 300, seed=1)
    options = {"epsilon": 1, "unit": Trip(), "rows": "calls", **options}
    return release(raw, mechanism, dataset="Trips of May", bits=SeededBits(1), **options)


RELEASES = {
    "markov": lambda: made(Markov(), **STATED),
    "markov in rho": lambda: made(Markov(), currency="rho", delta="1e-6", **STATED),
    "riders": lambda: made(NoisyPrefixTree(height=3), unit=Rider(max_trips=2), **STATED),
    "weave": lambda: made(Weave(), epsilon=4, **STATED),
    "taps": lambda: release_taps(simulate_taps(CITY, 400, seed=5).taps, "cards", epsilon=2, **STATED),
}


@pytest.mark.parametrize("name", RELEASES)
def test_the_record_of_a_release_is_valid_by_the_schema_of_the_registry(name):
    record = registry_record(RELEASES[name]())
    assert problems(record) == []
    assert record["deployment"]["basic"]["intended_use"] == "planning"
    assert record["deployment"]["basic"]["data_product_region"] == "Ring County"
    assert record["deployment"]["administrative"]["registry_authors"] == ["Ring Transit"]


def test_fields_of_earlier_schemas_are_noticed():
    record = registry_record(made(Markov(), **STATED))
    strings = deepcopy(record)
    strings["deployment"]["basic"]["data_curators"] = ["Ring Transit"]
    assert problems(strings)
    for place, name in (
        (record, "status"),
        (record["deployment"], "accounting"),
        (record["deployment"], "dp_flavor"),
    ):
        place[name] = {}
        assert problems(record)
        del place[name]
    assert problems(record) == []


def test_the_schema_is_kept_at_the_commit_that_the_export_names():
    assert SCHEMA in RULES["$comment"]


def test_what_the_plan_did_not_say_is_asked_for_and_can_be_said_for_the_record(tmp_path):
    silent = made(Markov())
    with pytest.raises(ParameterError, match="asks for curator, curator_type, purpose, region"):
        export(silent, "registry", tmp_path / "draft.yaml")
    assert not (tmp_path / "draft.yaml").exists()
    (written,) = export(silent, "registry", tmp_path / "draft.yaml", stated=STATED)
    assert problems(json.loads(written.read_text())) == []
    with pytest.raises(ParameterError, match="unknown key 'colour'"):
        export(silent, "registry", tmp_path / "x.yaml", stated={"colour": "red"})
    with pytest.raises(ParameterError, match="not for 'od'"):
        export(silent, "od", tmp_path / "od.csv", stated=STATED, anyway=True)
