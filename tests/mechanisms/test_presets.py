"""Presets: parameters as published, from Python and on the command line, attacked like everything else."""

import sys

import pytest

from wayveil.cli import main
from wayveil.errors import ParameterError
from wayveil.lab.audits.plan_registry import audit_plan
from wayveil.lab.studies.lab import invented_city
from wayveil.mechanisms.presets import with_preset
from wayveil.mechanisms.registry import mechanism
from wayveil.plan.ordering import make_mechanism, parse_settings
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release
from wayveil.simulate.week import simulate_week


@pytest.mark.parametrize("name", with_preset())
def test_a_preset_is_what_the_class_calls_published_and_what_is_said_goes_first(name):
    assert make_mechanism(name, {}, "published") == mechanism(name).published()
    plain, preset = mechanism(name)(), mechanism(name).published()
    changed = [field for field in type(plain).model_fields if getattr(plain, field) != getattr(preset, field)]
    assert changed
    back = [f"{changed[0]}={'none' if (value := getattr(plain, changed[0])) is None else value}"]
    assert getattr(make_mechanism(name, parse_settings(back), "published"), changed[0]) == getattr(
        plain, changed[0]
    )


@pytest.mark.parametrize("name", with_preset())
def test_every_preset_is_attacked(name):
    plan, preset = audit_plan(name), mechanism(name).published()
    told = {
        field: getattr(preset, field)
        for field in type(preset).model_fields
        if getattr(preset, field) != getattr(mechanism(name)(), field)
    }
    attacked = (plan.mechanism, *plan.also)
    assert any(all(getattr(one, field) == value for field, value in told.items()) for one in attacked)


def test_those_without_a_preset_refuse_and_name_the_others(tmp_path, monkeypatch, capsys):
    with pytest.raises(
        ParameterError, match=r"weave has no preset 'published'; .*noisy-prefix-tree, .*safepath"
    ):
        make_mechanism("weave", {}, "published")
    words = f"wayveil release trips.csv -e 1 -w w.txt -o {tmp_path / 'r'} --preset published"
    monkeypatch.setattr(sys, "argv", words.split())
    with pytest.raises(SystemExit):
        main()
    assert "name it with --mechanism; these have one" in capsys.readouterr().err


def test_published_trees_release_on_worlds_where_their_thresholds_would_explode():
    """A fixed threshold of 2.83 noise scales lets false nodes multiply above 33 candidates: there it is raised."""
    city = simulate_week(invented_city(120, 8, 3), 20_000, seed=3)
    for name in ("noisy-prefix-tree", "seqpt"):
        chosen = mechanism(name).published(height=2)
        made = make_release(city, chosen, epsilon=4, unit="trip", bits=SeededBits(1), seed=1).trips
        assert 0.25 * len(city) < len(made) < 2 * len(city)
