"""The run of audits and its table: what is printed, and when it counts as failed."""

import json
from dataclasses import replace

import pytest

from wayveil.errors import ParameterError
from wayveil.risk import registry, run
from wayveil.risk.audit_table import AuditRow, AuditTable
from wayveil.risk.mutants import HALF_NOISE, Mutation
from wayveil.risk.registry import audit_plan, audit_plans
from wayveil.risk.run import EFFORTS, Effort, jobs_of, run_audits, run_job

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
    assert len(full) == 3 + len(plan.pairs) + sum(len(mutation.caught_by) for mutation in plan.mutations)
    assert len(fast) == 4 + len(plan.mutations)


def test_a_run_with_a_seed_can_be_repeated():
    tiny = Effort(3, 5_000, 50, (20, 40), (20, 40), every_audit=True)
    for job in list(jobs_of(audit_plan("noisy-prefix-tree"), tiny))[:6]:
        one, two = (run_job(job, effort=tiny, seed=3) for _ in range(2))
        assert replace(one, seconds=0) == replace(two, seconds=0)


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
    row = run_job(next(jobs_of(plan, EFFORTS["fast"])), effort=EFFORTS["fast"], seed=1)
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


def test_two_processes_give_the_same_rows_as_one():
    alone = run_audits(["noisy-prefix-tree"], effort="fast", seed=2, workers=1)
    together = run_audits(["noisy-prefix-tree"], effort="fast", seed=2, workers=2)
    assert [replace(row, seconds=0) for row in alone.rows] == [
        replace(row, seconds=0) for row in together.rows
    ]
