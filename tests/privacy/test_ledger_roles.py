"""Who may change a ledger: an officer signs policies and what goes around them; analysts cannot."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privacy.ledger_tools import Burglar
from wayveil.errors import InputError, ParameterError
from wayveil.privacy import keys
from wayveil.privacy.keys import key_path, open_key, own_public, signing_key, write_key
from wayveil.privacy.ledger import BrokenLedgerError, Ledger, LedgerError, Policy, open_ledger
from wayveil.privacy.ledger.lines import Line
from wayveil.privacy.units import Trip
from wayveil.releases.key_changes import (
    appoint_officer,
    lock_key,
    note_head,
    read_heads,
    revoke_key,
    rotate_officer_key,
    rotate_signing_key,
)
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.world import World

pytest_plugins = ["privacy.ledger_places"]

TAPS = "taps"
WORLD = World.of_symbols("abcdefgh")


@pytest.fixture(autouse=True)
def homes(tmp_path, monkeypatch):
    """Homes of an officer and of an analyst; the one who acts is chosen by name."""
    monkeypatch.delenv(keys.PASSPHRASE, raising=False)

    def act_as(who: str) -> None:
        monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / f"home of {who}"))

    act_as("officer")
    return act_as


@pytest.fixture
def ledger(place: str) -> Ledger:
    made = open_ledger(place)
    made.set_policy(TAPS, Policy(1, unit="trip"), actor="officer")
    appoint_officer(made, "me", "officer")
    return made


def rows(seed: int = 0) -> Trips:
    location = np.random.default_rng(seed).integers(0, 8, (300, 3)).astype(np.int32)
    return Trips(location.ravel(), 3 * np.arange(301), WORLD, history=AS_READ)


def test_an_embedded_ledger_is_one_persons(place: str) -> None:
    made = open_ledger(place)
    assert made.officer is None
    made.set_policy(TAPS, Policy(1, unit="trip"), actor="ana")
    made.set_policy(TAPS, Policy(9, unit="trip"), actor="ana")
    assert [line.signature for line in made.entries()] == [None, None]


def test_only_the_officer_sets_raises_or_makes_policies(ledger: Ledger, homes) -> None:
    ledger.set_policy(TAPS, Policy(2, unit="trip"), actor="officer")
    homes("analyst")
    for dataset in (TAPS, "a new one"):
        with pytest.raises(LedgerError, match="only the officer of this ledger"):
            ledger.set_policy(dataset, Policy(100, unit="trip"), actor="ana")
    assert ledger.policy(TAPS).total_epsilon == 2
    assert ledger.datasets() == [TAPS]
    ledger.reserve(TAPS, 1, actor="ana", mechanism="tree", unit=Trip())
    assert open_ledger_again(ledger).verify().ok


def test_nothing_is_spent_on_a_dataset_that_the_officer_gave_no_policy(ledger: Ledger, homes) -> None:
    homes("analyst")
    with pytest.raises(LedgerError, match="only the officer of this ledger can make one"):
        ledger.reserve("a new one", 1000, actor="ana", mechanism="tree", unit=Trip())
    homes("officer")
    ledger.set_policy("a new one", Policy(1, unit="trip"), actor="officer")
    homes("analyst")
    ledger.reserve("a new one", 1, actor="ana", mechanism="tree", unit=Trip())
    assert open_ledger_again(ledger).verify().ok


def open_ledger_again(ledger: Ledger) -> Ledger:
    return Ledger(ledger._storage, ledger._clock)


def test_new_people_are_confirmed_by_the_officer(ledger: Ledger, homes) -> None:
    ledger.take_in(TAPS, rows(), actor="ana")
    homes("analyst")
    with pytest.raises(LedgerError, match="only the officer of this ledger"):
        ledger.take_in("others", rows(), actor="ana", new_people=True)
    homes("officer")
    ledger.take_in("others", rows(), actor="officer", new_people=True)
    assert open_ledger_again(ledger).verify().ok


def test_an_analyst_cannot_appoint_herself_or_dismiss_the_officer(ledger: Ledger, homes) -> None:
    officer = ledger.officer
    homes("analyst")
    with pytest.raises(LedgerError, match="only the officer"):
        appoint_officer(ledger, "me", "ana")
    with pytest.raises(LedgerError, match="only the officer"):
        ledger.appoint(None, "ana")
    with pytest.raises(LedgerError, match="only the officer"):
        revoke_key(ledger, "0" * 32, "no reason", "ana")
    assert ledger.officer == officer


def test_a_line_that_somebody_wrote_without_her_breaks_the_ledger(ledger: Ledger, place: str) -> None:
    last = ledger.entries()[-1]
    forged = Line(
        last.sequence + 1,
        last.time,
        "ana",
        "policy",
        TAPS,
        last.hash,
        payload=Policy(1000, unit="trip").payload(),
    )
    burglar = Burglar(place)
    burglar.run(
        (
            "INSERT INTO wayveil_ledger_lines (sequence, text, hash) VALUES (?, ?, ?)",
            (forged.sequence, forged.text, forged.hash),
        )
    )
    burglar.set_fact("head", str(forged.head))
    assert "only the officer of this ledger" in (open_ledger(place).verify().problem or "")
    with pytest.raises(BrokenLedgerError, match="should never have been written"):
        open_ledger(place).reserve(TAPS, 1, actor="ana", mechanism="tree", unit=Trip())


def test_her_signature_fits_no_other_line(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(3, unit="trip"), actor="officer")
    signed = ledger.entries()[-1]
    roles = ledger._book.roles
    assert roles._signed(signed)
    for changed in ({"payload": Policy(9, unit="trip").payload()}, {"sequence": 99}, {"previous": "0" * 64}):
        assert not roles._signed(replace(signed, **changed))


def test_an_officer_replaces_her_key_and_the_old_one_is_worth_nothing(ledger: Ledger, homes) -> None:
    old = open_key(key_path("officer"))
    rotate_officer_key(ledger, "officer")
    assert own_public(key_path("officer")) == ledger.officer
    ledger.set_policy(TAPS, Policy(4, unit="trip"), actor="officer")
    homes("thief")
    write_key(key_path("officer"), old, "")
    with pytest.raises(LedgerError, match="only the officer"):
        ledger.set_policy(TAPS, Policy(100, unit="trip"), actor="thief")
    with pytest.raises(ParameterError, match="only the officer"):
        rotate_officer_key(ledger, "thief")
    assert open_ledger_again(ledger).verify().ok


def test_an_officer_hands_over_by_a_public_key(ledger: Ledger, homes, tmp_path) -> None:
    homes("successor")
    public = tmp_path / "successor.pub"
    # Sent by mail, with other line ends and a blank line.
    public.write_text("\n" + write_key(key_path("officer"), None, "").replace("\n", "\r\n") + "\n")
    homes("officer")
    appoint_officer(ledger, str(public), "officer")
    with pytest.raises(LedgerError, match="only the officer"):
        ledger.set_policy(TAPS, Policy(5, unit="trip"), actor="officer")
    homes("successor")
    ledger.set_policy(TAPS, Policy(5, unit="trip"), actor="successor")
    assert open_ledger_again(ledger).verify().ok
    public.write_text("no key")
    with pytest.raises(InputError, match="ed25519"):
        appoint_officer(ledger, str(public), "successor")


def test_a_key_that_could_never_sign_is_not_appointed(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="public half of an ed25519 key"):
        ledger.appoint(f"{ledger.officer}\n", "officer")


def test_a_locked_key_needs_its_passphrase(monkeypatch) -> None:
    key = signing_key()
    lock_key(key_path(), "correct horse")
    assert b"ENCRYPTED" in key_path().read_bytes()
    monkeypatch.setattr(keys, "_unlocked", {})
    assert own_public(key_path()) is not None, "the public half needs no passphrase"
    with pytest.raises(InputError, match="is locked"):
        signing_key()
    monkeypatch.setenv(keys.PASSPHRASE, "wrong")
    with pytest.raises(InputError, match="not a readable signing key"):
        signing_key()
    monkeypatch.setenv(keys.PASSPHRASE, "correct horse")
    assert keys.public_text(signing_key()) == keys.public_text(key)
    lock_key(key_path(), "")
    monkeypatch.delenv(keys.PASSPHRASE)
    assert b"ENCRYPTED" not in key_path().read_bytes()


def test_the_analyst_of_a_shared_account_cannot_sign_without_the_passphrase(ledger, monkeypatch) -> None:
    lock_key(key_path("officer"), "hers alone")
    monkeypatch.setattr(keys, "_unlocked", {})
    with pytest.raises(InputError, match="is locked"):
        ledger.set_policy(TAPS, Policy(100, unit="trip"), actor="ana")
    assert ledger.policy(TAPS).total_epsilon == 1


def test_a_revoked_key_is_in_the_ledger_and_the_officers_own_cannot_be(ledger: Ledger) -> None:
    revoke_key(ledger, "ab" * 16, "stolen", "officer")
    assert ledger.revoked()["ab" * 16].payload["reason"] == "stolen"
    with pytest.raises(ParameterError, match="the officer's key"):
        revoke_key(ledger, keys.key_fingerprint(ledger.officer), "gone", "officer")


def test_a_new_signing_key_is_another_one(tmp_path) -> None:
    before = keys.key_fingerprint(keys.public_text(signing_key()))
    after = rotate_signing_key()
    assert after != before
    assert keys.key_fingerprint(keys.public_text(signing_key())) == after


# --- heads that are kept elsewhere


def test_noted_heads_give_a_rewritten_ledger_away(ledger: Ledger, place: str, tmp_path) -> None:
    notes = tmp_path / "heads.jsonl"
    note_head(ledger, notes)
    ledger.set_policy(TAPS, Policy(2, unit="trip"), actor="officer")
    note_head(ledger, notes)
    assert len(read_heads(ledger, notes)) == 2
    assert ledger.verify(read_heads(ledger, notes)).ok
    burglar = Burglar(place)
    kept = [(line.sequence, line.text, line.hash) for line in ledger.entries()[:-1]]
    burglar.rewrite(kept)
    burglar.set_fact("head", f"{len(kept)}:{kept[-1][2]}")
    shorter = open_ledger(place)
    assert shorter.verify().ok, "by itself it looks whole"
    assert "rewritten or cut off" in (shorter.verify(read_heads(shorter, notes)).problem or "")


def test_a_noted_head_that_was_changed_or_is_a_strangers_is_refused(ledger: Ledger, homes, tmp_path) -> None:
    notes = tmp_path / "heads.jsonl"
    note_head(ledger, notes)
    record = json.loads(notes.read_text())
    notes.write_text(json.dumps({**record, "head": record["head"].replace(record["head"][0], "9", 1)}) + "\n")
    with pytest.raises(InputError, match="changed after it was signed"):
        read_heads(ledger, notes)
    notes.unlink()
    homes("stranger")
    note_head(ledger, notes)
    homes("officer")
    with pytest.raises(InputError, match="not known here"):
        read_heads(ledger, notes)


def test_heads_of_another_ledger_are_none_of_this_one(ledger: Ledger, tmp_path) -> None:
    notes = tmp_path / "heads.jsonl"
    note_head(open_ledger(tmp_path / "other"), notes)
    with pytest.raises(InputError, match="no head of this ledger"):
        read_heads(ledger, notes)
