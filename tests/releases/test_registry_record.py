"""The record for the registry of differential-privacy deployments has the fields that the registry has."""

import json
from pathlib import Path

import pytest

from ring_networks import ring_of_stops
from wayveil.exports.write import export
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.simulate.week import simulate_week

FIELDS = json.loads((Path(__file__).parent / "registry_fields.json").read_text())
CITY = ring_of_stops(6, seconds=60)


def misfits(record, fields, path=""):
    """Fields that the registry lacks, and those that it needs and the record lacks."""
    needed = {name.rstrip("!") for name in fields if name.endswith("!")}
    known = {name.rstrip("!"): inner for name, inner in fields.items()}
    found = [f"{path}{name} is unknown" for name in record if name not in known]
    found += [f"{path}{name} is missing" for name in needed if name not in record]
    for name, value in record.items():
        inner = known.get(name)
        if isinstance(inner, dict):
            for each in value if isinstance(value, list) else [value]:
                found += misfits(each, inner, f"{path}{name}.")
        elif isinstance(inner, list) and value not in inner:
            found.append(f"{path}{name} is {value!r}")
    return found


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    raw = simulate_week(CITY, 500, seed=1)
    made = release(
        raw,
        Markov(),
        epsilon=1,
        unit=Trip(),
        rows="calls",
        dataset="Trips of May",
        purpose="planning",
        bits=SeededBits(1),
    )
    out = tmp_path_factory.mktemp("registry") / "draft.yaml"
    export(made, "registry", out, anyway=True)
    return json.loads(out.read_text())


def test_the_record_has_the_fields_of_the_registry_and_no_others(record):
    assert misfits(record, FIELDS) == []
    assert record["deployment"]["basic"]["intended_use"] == "planning"
    assert record["url_slug"] == "trips-of-may"


def test_a_field_of_the_names_before_is_noticed(record):
    old = {**record["deployment"], "dp_flavor": record["deployment"]["dp_variant"]}
    del old["dp_variant"]
    found = misfits({**record, "deployment": old}, FIELDS)
    assert "deployment.dp_flavor is unknown" in found
    assert "deployment.dp_variant is missing" in found
