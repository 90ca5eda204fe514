"""No mechanism without an audit."""

import pkgutil
from importlib import import_module

import pytest

import wayveil
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanisms
from wayveil.risk.mutants import CHORUS, GAME, GREY, LAW
from wayveil.risk.registry import audit_plan, audit_plans, without_audit


def test_every_mechanism_has_an_audit():
    assert without_audit() == set(), "add a module with a PLAN to wayveil/risk/plans (see docs/audits.md)"


def test_everything_that_measures_has_an_audit_listed_or_not():
    for module in pkgutil.walk_packages(wayveil.__path__, "wayveil."):
        import_module(module.name)
    found, kinds = set(), [Mechanism]
    while kinds:
        kinds += (subclasses := kinds.pop().__subclasses__())
        # Those that are broken on purpose live with the audits.
        rooms = [
            kind for kind in subclasses if kind.__module__.startswith("wayveil.") and hasattr(kind, "name")
        ]
        found |= {kind for kind in rooms if not kind.__module__.startswith("wayveil.risk.")}
    assert found == {type(plan.mechanism) for plan in audit_plans().values()}
    assert found == set(mechanisms().values())


@pytest.mark.parametrize("name", sorted(audit_plans()))
def test_plans_hold_together(name):
    plan = audit_plan(name)
    names = [mutation.name for mutation in plan.mutations]
    assert len(names) == len(set(names)) >= 5
    pairs = {pair.name for pair in plan.pairs}
    for mutation in plan.mutations:
        assert mutation.canary in pairs
        assert set(mutation.caught_by) <= {GREY, LAW, CHORUS, GAME}


def test_an_unknown_mechanism_is_named_with_those_that_exist():
    with pytest.raises(
        ParameterError, match=r"no audit for a mechanism called 'tea'; there are: .*noisy-prefix-tree"
    ):
        audit_plan("tea")
