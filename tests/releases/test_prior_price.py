"""Following a release is free only where the ledger has been paid for it."""

import pytest

from releases.small_counts import CITY, TAPS, counted, taps_of
from wayveil.errors import RefusedError
from wayveil.privacy.ledger import LedgerError, Policy, open_ledger
from wayveil.released.verification import verify_release
from wayveil.releases.priors import adopt
from wayveil.releases.release import Release


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def ledger(home):
    made = open_ledger(home / "ledger")
    made.set_policy(TAPS, Policy(5, unit="event"), actor="officer")
    return made


def test_a_release_that_no_ledger_knows_is_no_free_prior(ledger, home):
    """Else epsilon 1000 of the same rows would come in for nothing."""
    trips = taps_of()
    dear = counted(trips, 1000)
    folder = dear.save(home / "dear")
    spent = []
    for prior in (dear, folder, Release.load(folder, CITY)):
        try:
            made = counted(trips, "0.001", ledger, prior=[prior])
            spent.append((made.datasheet["private"], ledger.spent(TAPS) >= 1000))
        except LedgerError as error:
            spent.append(str(error))
    assert all("is not booked in" in str(each) and "Nothing was spent" in str(each) for each in spent)
    assert ledger.spent(TAPS) == 0


def test_where_the_policy_allows_it_the_release_says_that_it_is_not_private(ledger, home):
    ledger.set_policy(TAPS, Policy(5, unit="event", not_private=True), actor="officer")
    made = counted(taps_of(), 1, ledger, prior=[counted(taps_of(), 1000)])
    assert made.datasheet["private"] is False
    assert "not booked in its ledger" in made.datasheet["guarantee"]["sentence"]
    (state,) = ledger.summary()
    assert (state.spent, state.not_private) == (0, 1)


def test_without_a_ledger_nothing_that_follows_another_release_is_private():
    made = counted(taps_of(1), 1, prior=[counted(taps_of(0), 1)])
    assert made.datasheet["private"] is False


def test_a_release_that_was_adopted_for_others_is_no_free_prior_here(ledger, home):
    """Nobody saw its rows: they may be the same, and their price is in another sum."""
    ledger.set_policy("toys", Policy(10**6, unit="event"), actor="officer")
    folder = counted(taps_of(), 1000).save(home / "dear")
    adopt(folder, ledger, "toys", "ana")
    with pytest.raises(LedgerError, match="is not booked in"):
        counted(taps_of(), "0.001", ledger, prior=[folder])
    assert ledger.spent(TAPS) == 0
    other = counted(taps_of(8), 1, ledger, dataset="others", policy_epsilon=5)
    assert counted(taps_of(9), 1, ledger, prior=[other]).datasheet["private"], (
        "of people who are known to be others"
    )


def test_what_a_revoked_key_signed_is_not_adopted(ledger, home, monkeypatch):
    folder = counted(taps_of(), 1).save(home / "signed")
    signer = verify_release(folder).key
    ledger.revoke(signer, "stolen", "officer")  # known to the ledger, and not on this machine
    with pytest.raises(RefusedError, match="a key that was revoked"):
        adopt(folder, ledger, TAPS, "ana")
    assert ledger.spent(TAPS) == 0


def test_committed_lines_of_the_same_ledger_are_free(ledger, home):
    first = counted(taps_of(0), 1, ledger)
    second = counted(taps_of(1), 1, ledger, prior=[first])  # in memory, by its reservation
    folders = [made.save(home / name) for name, made in (("w0", first), ("w1", second))]
    third = counted(taps_of(2), 1, ledger, prior=folders)
    last = counted(taps_of(3), 1, ledger, prior=[Release.load(each, CITY) for each in folders])
    assert all(made.datasheet["private"] for made in (first, second, third, last))
    assert ledger.spent(TAPS) == 4
