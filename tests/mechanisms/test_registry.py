"""One list of mechanisms: what is in it, what is imported for it, and how a stranger gets into it."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import wayveil as wv
from outside_mechanism import FirstStops
from wayveil.errors import ParameterError
from wayveil.lab.audits.plan_registry import audit_plan, audit_plans, without_audit
from wayveil.lab.audits.run_audits import run_audits
from wayveil.lab.cli.compare import parse_candidates
from wayveil.lab.cli.methods import mechanisms as list_mechanisms
from wayveil.lab.comparison.compare import compare
from wayveil.lab.comparison.comparison_cells import grid
from wayveil.lab.comparison.run_cells import Settings
from wayveil.mechanisms import registry
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import (
    adopt,
    homes,
    mechanism,
    mechanisms,
    ready_mechanisms,
    register,
    registered,
    unregister,
)
from wayveil.plan.ordering import make_mechanism, parse_settings
from wayveil.trips.trips import Trips
from wayveil.world.world import World


@pytest.fixture
def outside():
    register(FirstStops)
    yield FirstStops
    unregister(FirstStops.name)


@pytest.fixture
def trips():
    return Trips.of_lists([[0, 1, 2], [1, 2], [2], [0, 1]] * 50, World(["a", "b", "c"]))


def loaded_by(code: str) -> set[str]:
    """Modules of ours that a fresh Python imports to run the code."""
    tell = (
        "; import sys, json; print(json.dumps([name for name in sys.modules if name.startswith('wayveil')]))"
    )
    done = subprocess.run([sys.executable, "-c", code + tell], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_names_and_classes_are_known_without_importing_any():
    found = loaded_by("import wayveil; assert 'PrivateChoice' in dir(wayveil) and 'Weave' in wayveil.__all__")
    ours = {
        "wayveil",
        "wayveil.disclosures",
        "wayveil.errors",
        "wayveil.mechanisms",
        "wayveil.mechanisms.registry",
        "wayveil.showing",
    }
    assert found == ours


def test_one_mechanism_is_loaded_without_the_others():
    found = loaded_by("import wayveil; wayveil.Markov()")
    ours = {home.module for home in homes().values() if home.ours}
    assert found & ours == {"wayveil.mechanisms.markov"}


def test_what_is_read_off_the_sources_is_what_the_classes_say():
    assert len(mechanisms()) == 15
    for name, kind in mechanisms().items():
        assert issubclass(kind, Mechanism)
        assert (kind.name, kind.__name__) == (name, homes()[name].class_name)
        assert getattr(wv, kind.__name__) is kind
        assert kind.__name__ in wv.__all__


def test_only_what_needs_no_parameter_is_compared_with_all():
    assert set(mechanisms()) - set(ready_mechanisms()) == {"private-choice"}
    assert {candidate.name for candidate in parse_candidates("all", [])} == set(ready_mechanisms())


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ParameterError, match=r"unknown mechanism 'tea'; choose one of dp-loc, .*weave"):
        mechanism("tea")
    with pytest.raises(AttributeError, match="Tea"):
        _ = wv.Tea


def test_a_mechanism_from_outside_is_released_listed_compared_and_public(outside, trips, capsys):
    assert wv.FirstStops is outside
    thirds = make_mechanism("first-stops", parse_settings(["share=1/3"]))
    assert isinstance(wv.release(trips, thirds, epsilon=1, ledger=None).trips, Trips)
    list_mechanisms(None, as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert ("first-stops", outside.summary) in {(row["mechanism"], row["releases"]) for row in listed}
    list_mechanisms("first-stops", as_json=False)
    told = capsys.readouterr().out
    assert "--set share=...  (fraction, above 0 and below 1; default 1/2)\n      Share of epsilon" in told
    found = compare(
        trips,
        grid("first-stops", {"share": ["1/2", "1/3"]}),
        [1],
        repetitions=1,
        settings=Settings(queries=50),
        workers=1,
    )
    assert set(found.table.filter(found.table["mechanism"] == "first-stops")["status"]) == {"measured"}


def test_a_mechanism_from_outside_is_saved_loaded_reported_and_asked(outside, trips, tmp_path):
    made = wv.release(trips, outside(), epsilon=8, ledger=None)
    loaded = wv.Release.load(made.save(tmp_path / "release"), trips.world)
    assert isinstance(loaded.model, type(made.model))
    assert loaded.model.table().equals(made.model.table())
    assert "first-stops" in wv.write_report(tmp_path / "report.html", release=loaded).read_text()
    assert loaded.ask("stops").table["answer"].sum() == len(made.trips)
    assert wv.score(trips, loaded, queries=20)["stop_error"].value >= 0


def test_a_mechanism_from_outside_is_audited_with_the_plan_beside_it(outside):
    assert without_audit() == set()
    assert audit_plan("first-stops").mechanism == outside()
    table = run_audits(["first-stops"], effort="fast", seed=1)
    assert table.ok, str(table)


def known_plans() -> list[str]:
    return sorted(audit_plans())


def test_another_process_knows_what_was_registered_here(outside):
    with ProcessPoolExecutor(1, get_context("spawn"), adopt, (registered(),)) as pool:
        assert pool.submit(known_plans).result() == sorted(homes())


def test_a_mechanism_without_a_plan_is_found(monkeypatch, outside):
    monkeypatch.setattr(outside, "plan", "wayveil.errors")
    assert without_audit() == {"first-stops"}
    with pytest.raises(ParameterError, match="has no audit plan"):
        audit_plan("first-stops")
    monkeypatch.setattr(outside, "plan", "wayveil.errors")
    monkeypatch.setattr("wayveil.errors.PLAN", audit_plan("markov"), raising=False)
    with pytest.raises(ParameterError, match="for 'markov', not for 'first-stops'"):
        audit_plan("first-stops")


def test_names_are_not_taken_twice_and_only_mechanisms_come_in(outside):
    register(FirstStops)  # once more changes nothing

    class Impostor(FirstStops):
        name = "markov"

    with pytest.raises(
        ParameterError, match=r"there is a mechanism 'markov' already, in wayveil\.mechanisms\.markov"
    ):
        register(Impostor)
    with pytest.raises(ParameterError, match="only a subclass of Mechanism"):
        register(World)

    class Nameless(Mechanism):
        pass

    with pytest.raises(ParameterError, match="Nameless must say its name, its summary, its kind of model"):
        register(Nameless)


def test_an_installed_package_brings_its_mechanisms(monkeypatch):
    away = registry.Home("away", "outside_mechanism", "FirstStops")
    gone = registry.Home("gone", "no_such_module", "Gone")
    monkeypatch.setattr(registry, "_installed", lambda: {"away": away, "gone": gone})
    assert mechanism("away") is FirstStops
    with pytest.raises(ParameterError, match=r"'gone' of no_such_module cannot be loaded: No module"):
        mechanism("gone")


def test_settings_are_read_as_a_person_writes_them():
    choice = make_mechanism("private-choice", parse_settings(["candidates=markov, seqpt", "tolerance=5"]))
    assert [candidate.name for candidate in choice.candidates] == ["markov", "seqpt"]
    assert type(choice)(**choice.describe()["parameters"]) == choice
    assert make_mechanism("ppdp", parse_settings(["max-gap=none"])).max_gap is None
    assert make_mechanism("seqpt", parse_settings(["consistency=none"])).consistency == "none"
    shares = make_mechanism("weave", parse_settings(["shares.on_network.trips=1/7"])).shares
    assert str(shares.on_network["trips"]) == "1/7"
    for wrong in (["height"], ["shares=1/2", "shares.dense=1/7"]):
        with pytest.raises(ParameterError, match="--set"):
            make_mechanism("weave", parse_settings(wrong))


def test_a_mechanism_that_says_nothing_of_itself_is_released_all_the_same():
    class Silent(FirstStops):
        pass

    trips = Trips.of_lists([[0, 1], [2]] * 50, World.of_symbols("abc"))
    made = wv.release(trips, Silent(), epsilon=4, ledger=None, seed=1)
    assert Silent.__doc__ is None
    assert Silent.summary in str(made.datasheet["deployment"])
