"""The officer signs a release with her key: for these files, this ledger, and nothing else."""

import json
import shutil

import pytest

from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.keys import key_fingerprint
from wayveil.privacy.ledger import open_ledger
from wayveil.privacy.units import Trip
from wayveil.released.approval import APPROVAL, read_approval
from wayveil.released.verification import is_trusted, verify_release
from wayveil.releases.key_changes import appoint_officer, sign_release
from wayveil.run import make_release
from wayveil.simulate.week import simulate_week


@pytest.fixture
def booked(tmp_path, monkeypatch):
    """A ledger with an officer, and the folder of a release that it booked."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    ledger = open_ledger(tmp_path / "ledger")
    raw = simulate_week(ring_of_stops(6, seconds=60), 300, seed=1)
    made = make_release(
        raw, Markov(), epsilon=1, unit=Trip(), rows="calls", dataset="May", ledger=ledger, policy_epsilon=10
    )
    made.save(tmp_path / "release")
    return ledger, tmp_path / "release"


def test_a_decision_is_shown_with_its_key_and_the_head_she_saw(booked):
    ledger, folder = booked
    officer = appoint_officer(ledger, "me", "ana")
    sign_release(folder, ledger, "publish", "Ana Ruiz")
    found = verify_release(folder).approval
    assert found is not None
    assert (found.decision, found.officer, found.fingerprint) == ("publish", "Ana Ruiz", officer)
    assert found.head == str(ledger.head())


def test_only_the_officer_of_the_ledger_signs(booked, tmp_path, monkeypatch):
    ledger, folder = booked
    with pytest.raises(ParameterError, match="only the officer"):
        sign_release(folder, ledger, "publish", "bob")
    appoint_officer(ledger, "me", "ana")
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "another home"))
    with pytest.raises(ParameterError, match="only the officer"):
        sign_release(folder, ledger, "publish", "bob")
    assert not (folder / APPROVAL).exists()


def test_a_release_that_the_ledger_did_not_book_is_not_signed(booked, tmp_path):
    _, folder = booked
    other = open_ledger(tmp_path / "other")
    appoint_officer(other, "me", "ana")
    with pytest.raises(InputError, match="no release that was committed"):
        sign_release(folder, other, "publish", "ana")


@pytest.mark.parametrize("field", ["decision", "officer", "time", "head", "manifest", "signature"])
def test_a_changed_word_is_found(booked, field):
    ledger, folder = booked
    appoint_officer(ledger, "me", "ana")
    sign_release(folder, ledger, "refuse", "ana")
    record = json.loads((folder / APPROVAL).read_text())
    record[field] = "00" + record[field][2:]
    (folder / APPROVAL).write_text(json.dumps(record))
    with pytest.raises(InputError, match="was changed after it was signed"):
        verify_release(folder)


def test_a_decision_does_not_fit_another_release(booked):
    ledger, folder = booked
    appoint_officer(ledger, "me", "ana")
    sign_release(folder, ledger, "publish", "ana")
    with pytest.raises(InputError, match="about another release"):
        read_approval(folder, "0" * 64)


def test_a_stranger_pins_the_officers_key_by_its_fingerprint(booked, tmp_path, monkeypatch):
    ledger, folder = booked
    officer = appoint_officer(ledger, "me", "ana")
    sign_release(folder, ledger, "publish", "ana")
    taken = shutil.copytree(folder, tmp_path / "taken")
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "stranger"))
    signer = verify_release(taken, trust="any").key
    assert not is_trusted(officer)
    verify_release(taken, trust=signer)
    found = verify_release(taken, trust=officer).approval
    assert found is not None
    assert is_trusted(key_fingerprint(found.key))
