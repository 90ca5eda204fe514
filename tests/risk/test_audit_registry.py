"""No mechanism without an audit."""

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import wayveil
from wayveil.errors import ParameterError, WayveilError
from wayveil.lab.audits.distinguish import largest_shown, runs_to_show
from wayveil.lab.audits.door_files import PairWriter, every_unit
from wayveil.lab.audits.mutants import BLOCKS, CHORUS, GAME, GREY, LAW
from wayveil.lab.audits.one_run import CLAIM, accuracy_bound
from wayveil.lab.audits.plan_registry import audit_plan, audit_plans, without_audit
from wayveil.lab.audits.run_audits import ALPHA, EFFORTS, SHARE
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanisms
from wayveil.releases.order import UnitChoice, choose_unit
from wayveil.run import make_release as release


def test_every_mechanism_has_an_audit():
    assert without_audit() == set(), "add a plan to wayveil/lab/audits/plans (see docs/audits.md)"


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
        found |= {kind for kind in rooms if not kind.__module__.startswith("wayveil.lab.audits.")}
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
        assert set(mutation.caught_by) <= {GREY, LAW, BLOCKS, CHORUS, GAME}


def units_of_the_command_line():
    """The names that `--unit` takes, as its own refusal lists them."""
    with pytest.raises(ParameterError) as refusal:
        choose_unit(UnitChoice("tea", 1), audit_plan("markov").pairs[0].without)
    return set(str(refusal.value).partition("choose one of ")[2].split(", "))


def named_unit(name, raw):
    """A unit by its name; of riders, two trips count, and of points three."""
    choice = UnitChoice(
        name, 2 if name.startswith("rider") else None, consecutive=3 if name == "points" else None
    )
    return choose_unit(choice, raw)


@pytest.mark.parametrize("name", sorted(audit_plans()))
def test_every_unit_of_the_command_line_is_attacked_or_refused(name):
    plan = audit_plan(name)
    assert units_of_the_command_line() == {
        unit.name for unit in plan.units
    } & units_of_the_command_line() | set(dict(plan.unfit))
    for unit, words in plan.unfit:
        raw = plan.pairs[0].without
        with pytest.raises(WayveilError, match=words):
            release(raw, plan.mechanism, epsilon=plan.epsilon, unit=named_unit(unit, raw))


def test_every_unit_of_the_command_line_goes_through_the_front_door(tmp_path):
    pairs = every_unit(PairWriter(tmp_path, small_network()))
    assert {pair.unit.name for pair in pairs} >= units_of_the_command_line()


def test_an_unknown_mechanism_is_named_with_those_that_exist():
    with pytest.raises(
        ParameterError,
        match=r"no audit is known for a mechanism called 'tea'; choose one of .*noisy-prefix-tree",
    ):
        audit_plan("tea")


def reach_table() -> str:
    """One line per mechanism: what it claims, and the largest epsilon that the audits of it could have shown."""
    work = EFFORTS["full"]
    lines = [
        "| mechanism | claimed as a whole | black box can show | one run can show | claimed by all blocks "
        "| each block can show |",
        "|---|---|---|---|---|---|",
    ]
    for name, plan in sorted(audit_plans().items()):
        guesses = 2 * int(SHARE * min(work.quarters, plan.largest))
        chorus = f"{accuracy_bound(guesses, guesses, ALPHA):.2f}"
        if plan.trained:
            lines.append(f"| {name} | {float(CLAIM):g} | not played | {chorus} | not played | not played |")
            continue
        claim = float(plan.claim_as_a_whole)
        game = largest_shown(max(work.game[1], runs_to_show(claim, ALPHA)), ALPHA)
        # The chance of a false alarm is shared by all blocks; with forty of them each shows the least.
        block = largest_shown(work.block[1], ALPHA / 40)
        lines.append(
            f"| {name} | {claim:g} | {game:.2f} | {chorus if plan.town else 'not played'} | {float(plan.epsilon):g} "
            f"| {block:.2f} or more |"
        )
    return "\n".join(lines)


def test_the_page_says_what_every_audit_could_have_shown():
    page = (Path(__file__).parents[2] / "docs" / "audits.md").read_text()
    shown = page.partition("<!-- reach -->\n")[2].partition("\n<!-- /reach -->")[0]
    assert shown == reach_table()
