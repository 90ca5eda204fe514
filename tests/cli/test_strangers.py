"""Somebody who downloads a release asks it after one decision: whether its signer is who it should be."""

import re
import shutil

import pytest

import wayveil as wv
from ring_networks import ring_of_stops
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release

RING = ring_of_stops(9, routes=3)


def make_week(folder, changed=False):
    """A release by the data holder: in the second week more trips begin at the first stop."""
    starts = [0] * 3_000 if changed else []
    trips = wv.Trips.of_lists([[at, (at + 1) % 9] for at in [*list(range(9)) * 300, *starts]], RING)
    tree = wv.NoisyPrefixTree(height=2)
    return make_release(trips, tree, epsilon=8, unit=wv.Trip(), bits=SeededBits(1), seed=1).save(folder)


@pytest.fixture
def downloaded(wayveil, tmp_path, monkeypatch):
    """Two releases of a data holder, in the folder of somebody else."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "holder"))
    for week, changed in (("w1", False), ("w2", True)):
        make_week(tmp_path / "holder" / week, changed)
    here = tmp_path / "stranger" / "my downloads"
    here.mkdir(parents=True)
    for week in ("w1", "w2"):
        shutil.move(tmp_path / "holder" / week, here / week)
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "stranger"))
    monkeypatch.chdir(here)
    return here


def test_a_stranger_asks_and_reports_after_the_command_that_the_message_states(downloaded, wayveil):
    for words in (("ask", "w1", "boardings"), ("report", "w1"), ("export", "w1", "-o", "od.csv")):
        code, out, err = wayveil(*words)
        assert (code, out) == (2, "")
        found = re.search(r"wayveil (verify w1 --key [0-9a-f]{32})", " ".join(err.split()))
        assert found, err
    assert wayveil(*found[1].split())[0] == 0
    code, out, _ = wayveil("ask", "w1", "boardings", "--anyway")
    assert (code, "s003" in out) == (0, True)
    assert wayveil("report", "w1", "-q")[0] == 0
    assert (downloaded / "report.html").exists()
    assert wayveil("ask", "w2", "stops", "--anyway", "-q")[0] == 0  # the signer is pinned


def test_another_key_than_the_one_given_out_is_no_decision(downloaded, wayveil):
    assert wayveil("verify", "w1", "--key", "0" * 32)[0] == 2
    assert wayveil("verify", "w1", "--any-key")[0] == 0
    assert wayveil("ask", "w1", "boardings")[0] == 2


def test_two_folders_are_asked_what_changed(downloaded, wayveil):
    wayveil("verify", "w1", "--key", wv.verify_release("w1", trust="any").key)
    code, out, err = wayveil("ask", "w1", "w2", "boardings", "--anyway")
    assert (code, "change" in out) == (0, True), err
    assert wayveil("ask", "w1", "w2", "boardings", "--anyway", "-o", "page.html", "-q")[0] == 0
    assert (downloaded / "page.html").exists()
    for words, said in (
        (("ask", "w1", "w2", "boardings", "--by", "hour"), "--by belongs to one release, not to several"),
        (("ask", "w1", "w2", "boardings", "--raw", "x.csv"), "--raw belongs to one release, not to several"),
        (("ask", "w1", "w1", "boardings"), "given twice"),
        (("ask", "w1", "boardings", "-o", "page.html"), "`wayveil report`"),
        (("ask", "w1", "w2", "durations"), "unknown trend 'durations'"),
    ):
        code, _, err = wayveil(*words)
        assert (code, said in " ".join(err.split())) == (2, True), err
