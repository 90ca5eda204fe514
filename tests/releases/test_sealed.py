"""What is paid for and waits is for its owner only, and is finished as it was or not at all."""

import contextlib
import json
import os
import stat
from fractions import Fraction

import pytest

from releases.small_counts import CITY, TAPS, counted, taps_of
from wayveil.errors import InputError
from wayveil.privacy.ledger import LedgerError, Policy, open_ledger
from wayveil.releases.paid import Paid, resume_release


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def ledger(home):
    made = open_ledger(home / "ledger")
    made.set_policy(TAPS, Policy(5, unit="event"), actor="officer")
    return made


@pytest.fixture
def waiting(ledger, home, monkeypatch):
    """A release that was paid for and stopped before its trips were drawn."""

    def dies(*given, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wayveil.releases.making.draw_release", dies)
        with pytest.raises(KeyboardInterrupt):
            counted(taps_of(), 1, ledger, keep=Paid(home / "out"))
    return Paid(home / "out")


def test_what_is_paid_for_is_for_its_owner_only(waiting):
    def mode(path):
        return stat.S_IMODE(os.stat(path).st_mode)

    assert mode(waiting.folder) == 0o700
    assert {mode(path) for path in waiting.folder.iterdir()} == {0o600}


def test_what_is_paid_for_is_finished_as_it_was(waiting, ledger, home):
    made = resume_release(home / "out", CITY, ledger=ledger)
    assert Fraction(made.datasheet["guarantee"]["epsilon"]) == 1
    assert ledger.open_reservations() == []


def edit_datasheet(folder):
    sheet = json.loads((folder / "datasheet.json").read_text())
    sheet["guarantee"]["epsilon"] = "0.01"
    (folder / "datasheet.json").write_text(json.dumps(sheet))


def edit_reservation(folder):
    held = json.loads((folder / "reservation.json").read_text())
    (folder / "reservation.json").write_text(json.dumps({**held, "ledger": None}))


def edit_seal(folder):
    edit_datasheet(folder)
    (folder / "sealed.json").write_text((folder / "sealed.json").read_text().replace("a", "b"))


def add_file(folder):
    (folder / "more.json").write_text("{}")


def drop_seal(folder):
    edit_datasheet(folder)
    (folder / "sealed.json").unlink()


@pytest.mark.parametrize("harm", [edit_datasheet, edit_reservation, edit_seal, add_file, drop_seal])
def test_what_was_changed_while_it_waited_is_never_signed(waiting, ledger, home, harm):
    harm(waiting.folder)
    signed = None
    with contextlib.suppress(InputError, LedgerError):
        signed = resume_release(home / "out", CITY, ledger=ledger).datasheet["guarantee"]["epsilon"]
    assert signed is None
    assert not (home / "out").exists()


def test_another_key_cannot_seal(waiting, home):
    (home / "home" / "signing-key.pem").unlink()
    with pytest.raises(InputError, match="sealed with another key"):
        waiting.require()
