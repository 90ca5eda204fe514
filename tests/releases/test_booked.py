"""A release and its line say the same, and what was made elsewhere can be booked."""

import json
from dataclasses import replace

import pytest

from releases.small_counts import TAPS, counted, taps_of
from wayveil.errors import BudgetExceededError, RefusedError
from wayveil.files import hash_file
from wayveil.privacy.keys import signing_key
from wayveil.privacy.ledger import LedgerError, Policy, open_ledger
from wayveil.released.released_trips import Datasheet
from wayveil.releases.priors import adopt, problem_of


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def ledger(home):
    made = open_ledger(home / "ledger")
    made.set_policy(TAPS, Policy(5, unit="event"), actor="officer")
    return made


def test_a_release_of_another_ledger_is_charged_when_it_is_adopted(ledger, home):
    other = open_ledger(home / "other")
    other.set_policy(TAPS, Policy(5, unit="event"), actor="officer")
    folder = counted(taps_of(0), 2, other).save(home / "w0")
    with pytest.raises(LedgerError, match="ledger adopt FOLDER --dataset taps"):
        counted(taps_of(1), 1, ledger, prior=[folder])
    adopt(folder, ledger, TAPS, "ana")
    assert ledger.spent(TAPS) == 2
    assert counted(taps_of(1), 1, ledger, prior=[folder]).datasheet["private"]
    assert problem_of(folder, ledger) is None
    with pytest.raises(RefusedError, match=r"is booked in .* already"):
        adopt(folder, ledger, TAPS, "ana")
    dear = counted(taps_of(0), 1000).save(home / "dear")
    with pytest.raises(BudgetExceededError):
        adopt(dear, ledger, TAPS, "ana")


CHANGES = {
    "epsilon": lambda sheet: sheet["guarantee"].update(epsilon="0.01"),
    "delta": lambda sheet: sheet["guarantee"].update(delta="0.1"),
    "unit": lambda sheet: sheet["guarantee"].update(unit="rider", bounds={"max_trips": 1}),
    "mechanism": lambda sheet: sheet["mechanism"].update(name="tap-margins"),
    "parameters": lambda sheet: sheet["mechanism"]["parameters"].update(max_visits=3),
    "world": lambda sheet: sheet["public_inputs"][0].update(sha256="0" * 64),
    "private": lambda sheet: sheet.update(private=False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_release_that_states_something_else_than_its_line_is_not_published(ledger, home, what):
    made = counted(taps_of(), 1, ledger)
    sheet = json.loads(json.dumps(made.datasheet))
    CHANGES[what](sheet)
    with pytest.raises(LedgerError, match=f"the release states {what}.*not the one that was paid for"):
        replace(made, datasheet=Datasheet(sheet)).save(home / "out")
    assert not (home / "out").exists()
    assert [held.dataset for held in ledger.open_reservations()] == [TAPS]


def resign(folder, change):
    """Edit the datasheet of a release and sign it again, as somebody with the key could."""
    sheet = json.loads((folder / "datasheet.json").read_text())
    change(sheet)
    (folder / "datasheet.json").write_text(json.dumps(sheet))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["datasheet.json"] = hash_file(folder / "datasheet.json")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "manifest.sig").write_bytes(signing_key().sign((folder / "manifest.json").read_bytes()))


def test_verify_holds_a_release_against_its_line(ledger, home):
    folder = counted(taps_of(), 1, ledger).save(home / "out")
    assert problem_of(folder, ledger) is None
    resign(folder, CHANGES["epsilon"])
    assert "no release that was committed in this ledger" in problem_of(folder, ledger)


@pytest.mark.parametrize("what", CHANGES)
def test_verify_names_what_a_line_and_a_datasheet_disagree_on(ledger, home, monkeypatch, what):
    made = counted(taps_of(), 1, ledger)
    sheet = json.loads(json.dumps(made.datasheet))
    CHANGES[what](sheet)
    with monkeypatch.context() as careless:  # whoever wrote this line did not compare
        careless.setattr("wayveil.privacy.ledger.ledger.Reservation.require", lambda self, terms: None)
        folder = replace(made, datasheet=Datasheet(sheet), known_accuracy=made.accuracy).save(home / "out")
    assert f"states {what}" in problem_of(folder, ledger)


def test_a_release_without_this_ledger_is_none_of_its_lines(ledger, home):
    folder = counted(taps_of(), 1).save(home / "out")
    assert "no release that was committed" in problem_of(folder, ledger)
