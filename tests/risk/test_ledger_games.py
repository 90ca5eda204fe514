"""Games against the ledger are lost against the ledger as built, and won where it has a hole."""

import pytest

from wayveil.lab.audits.ledger_games import BROKEN_GAMES, GAMES, LEDGER
from wayveil.lab.audits.run_audits import EFFORTS, jobs_at_the_door, run_job

JOBS = {(job.variant, job.pair): job for job in jobs_at_the_door() if job.audit == LEDGER}


def found(variant, pair):
    return run_job(JOBS[variant, pair], effort=EFFORTS["fast"], seed=1)


@pytest.mark.parametrize("name", [game.name for game in BROKEN_GAMES])
def test_a_hole_in_the_ledger_is_found(name):
    row = found(name, name)
    assert row.raised, row
    assert "error" not in row.detail


@pytest.mark.parametrize("name", [game.name for game in GAMES])
def test_the_ledger_holds(name):
    row = found("as built", name)
    assert not row.raised, row.detail


def test_every_game_has_a_hole_that_shows_its_power():
    assert {game.play for game in GAMES} == {game.play for game in BROKEN_GAMES}
