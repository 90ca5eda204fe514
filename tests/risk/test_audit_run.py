"""The run of audits and its table: what is printed, and when it counts as failed."""

import json
from dataclasses import replace

import pytest

from wayveil.errors import ParameterError
from wayveil.lab.audits import plan_registry as registry
from wayveil.lab.audits import run_audits as run
from wayveil.lab.audits.audit_table import AuditRow, AuditTable
from wayveil.lab.audits.distinguish import MOST_RUNS, largest_shown, runs_to_show
from wayveil.lab.audits.mutants import GREY, HALF_NOISE, Mutation
from wayveil.lab.audits.one_run import accuracy_bound
from wayveil.lab.audits.plan_registry import audit_plan, audit_plans
from wayveil.lab.audits.recording import record
from wayveil.lab.audits.run_audits import ALPHA, EFFORTS, PLAYED, Effort, Job, jobs_of, run_audits, run_job
from wayveil.privacy.bits import SeededBits

ROW = AuditRow("tree", "black box", "as built", "pair", 1.0, "epsilon >=", 0.5, raised=False)
BROKEN = replace(ROW, variant="half the noise")


@pytest.mark.parametrize("name", sorted(audit_plans()))
def test_the_fast_audits_pass_and_catch_every_broken_variant(name):
    table = run_audits([name], effort="fast", seed=1)
    assert table.ok, str(table)
    assert not table.missed
    assert {row.variant for row in table.rows} >= {mutation.name for mutation in audit_plan(name).mutations}


def test_a_mechanism_that_fails_makes_the_table_fail():
    assert AuditTable([ROW]).ok
    failed = AuditTable([replace(ROW, raised=True, detail="two hits too many")])
    assert not failed.ok
    assert failed.verdict(failed.rows[0]) == "FAIL"
    assert "two hits too many" in str(failed)


def test_a_broken_variant_that_nobody_notices_makes_the_table_fail():
    missed = AuditTable([ROW, BROKEN])
    assert not missed.ok
    assert missed.missed == [("tree", "half the noise")]
    assert "MISSED" in str(missed)


def test_one_audit_is_enough_to_catch_a_broken_variant():
    table = AuditTable(
        [ROW, BROKEN, replace(BROKEN, audit="conformance", measure="p", figure=1e-9, raised=True)]
    )
    assert table.ok
    assert [table.verdict(row) for row in table.rows] == ["pass", "not seen", "caught"]
    text = str(table)
    assert "p = 1e-09" in text
    assert "1 of 1 audits passed; 1 of 1 broken variants caught." in text


def test_the_table_is_also_json():
    parsed = json.loads(AuditTable([ROW, replace(BROKEN, raised=True, figure=float("inf"))]).to_json())
    assert parsed["ok"] is True
    assert [row["verdict"] for row in parsed["rows"]] == ["pass", "caught"]
    assert parsed["rows"][1]["figure"] is None


def test_a_full_run_tries_every_audit_and_every_pair():
    plan = audit_plan("noisy-prefix-tree")
    full, fast = list(jobs_of(plan, EFFORTS["full"])), list(jobs_of(plan, EFFORTS["fast"]))
    every = sum(len(mutation.caught_by) for mutation in plan.mutations)
    assert len(full) == 4 + len(PLAYED) + len(plan.pairs) + every
    assert len(fast) == 6 + len(plan.mutations)


def test_a_run_with_a_seed_can_be_repeated():
    tiny = Effort(3, 5_000, 50, (20, 40), (20, 40), every_audit=True)
    jobs = {job.audit: job for job in jobs_of(audit_plan("noisy-prefix-tree"), tiny)}
    for job in jobs.values():
        one, two = (run_job(job, effort=tiny, seed=3) for _ in range(2))
        assert replace(one, seconds=0) == replace(two, seconds=0)


def test_an_audit_that_cannot_fail_fails_the_table():
    blind = replace(ROW, claimed=12.0, reach=4.6)
    table = AuditTable([blind])
    assert not table.ok
    assert table.verdict(blind) == "BLIND"
    assert "claims 12, where it could have shown 4.60 at most" in str(table)
    assert json.loads(table.to_json())["rows"][0]["reach"] == 4.6
    assert AuditTable([replace(blind, claimed=4.0)]).ok


@pytest.mark.parametrize("effort", sorted(EFFORTS))
@pytest.mark.parametrize("name", sorted(audit_plans()))
def test_no_plan_claims_more_than_its_audits_can_show(name, effort):
    plan, work = audit_plan(name), EFFORTS[effort]
    claim = float(plan.claim_as_a_whole)
    assert largest_shown(max(work.game[1], runs_to_show(claim, ALPHA)), ALPHA) > claim
    if plan.town:
        guesses = 2 * int(0.15 * min(work.quarters, plan.largest))
        assert accuracy_bound(guesses, guesses, ALPHA) > claim
    pair = plan.pairs[0]
    transcript, _ = record(plan.subject(pair.unit), pair.without, SeededBits(1))
    dearest = max(float(exchange.question.price) for exchange in transcript.exchanges)
    share = ALPHA / len(transcript.exchanges)
    assert largest_shown(max(work.block[1], min(runs_to_show(dearest, share), MOST_RUNS)), share) > dearest


def test_a_mutant_that_is_not_broken_is_missed(monkeypatch):
    harmless = Mutation("nothing at all", lambda subject: subject, HALF_NOISE.caught_by)
    plan = replace(audit_plan("noisy-prefix-tree"), mutations=(harmless,))
    monkeypatch.setattr(run, "audit_plan", lambda name: plan)
    table = run_audits([plan.name], effort="fast", seed=1)
    assert table.missed == [("noisy-prefix-tree", "nothing at all")]
    assert not table.failures


def test_a_mechanism_broken_as_built_fails(monkeypatch):
    plan = audit_plan("noisy-prefix-tree")
    broken = replace(plan, mutations=())
    sound = registry.AuditPlan.subject
    monkeypatch.setattr(run, "audit_plan", lambda name: broken)
    monkeypatch.setattr(
        registry.AuditPlan,
        "subject",
        lambda self, unit, variant=None: replace(HALF_NOISE.of(sound(self, unit)), variant="as built"),
    )
    table = run_audits([plan.name], effort="fast", seed=1)
    assert not table.ok
    assert {"conformance"} <= {row.audit for row in table.failures}


def test_a_refusal_of_the_data_is_a_failure_of_the_audit(monkeypatch):
    plan = replace(audit_plan("noisy-prefix-tree"), mutations=())

    def refuse(*arguments, **options):
        raise ParameterError("no, thank you")

    monkeypatch.setattr(type(plan.mechanism), "measure", refuse)
    row = run_job(Job(plan.name, GREY), effort=EFFORTS["fast"], seed=1)
    assert row.raised
    assert "no, thank you" in row.detail


def test_a_mechanism_that_breaks_down_fails_every_audit_and_stops_no_other(monkeypatch):
    plan = replace(audit_plan("noisy-prefix-tree"), mutations=())

    def break_down(*arguments, **options):
        raise IndexError("nothing there")

    monkeypatch.setattr(type(plan.mechanism), "measure", break_down)
    rows = [run_job(job, effort=EFFORTS["fast"], seed=1) for job in jobs_of(plan, EFFORTS["fast"])]
    assert len(rows) > 2
    assert all(row.raised and "nothing there" in row.detail for row in rows)


def test_an_unknown_effort_is_refused():
    with pytest.raises(ParameterError, match="fast"):
        run_audits(effort="heroic")


def test_two_processes_give_the_same_rows_as_one(monkeypatch):
    # Two processes or one is a matter of who does a job, not of how long it takes.
    small = Effort(3, 5_000, 50, (20, 40), (20, 40), every_audit=False)
    monkeypatch.setitem(EFFORTS, "fast", small)
    alone = run_audits(["noisy-prefix-tree"], effort="fast", seed=2, workers=1)
    together = run_audits(["noisy-prefix-tree"], effort="fast", seed=2, workers=2)
    assert [replace(row, seconds=0) for row in alone.rows] == [
        replace(row, seconds=0) for row in together.rows
    ]
