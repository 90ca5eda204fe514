"""Run the audits: attack every mechanism as it is built, then each of its broken variants."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from multiprocessing import get_context
from typing import Literal

import numpy as np

from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.bits import Bits, SeededBits, secure_bits
from wayveil.progress import track
from wayveil.risk.audit_table import AS_BUILT, AuditRow, AuditTable, Measure
from wayveil.risk.conformance import conformance
from wayveil.risk.distinguish import Attack
from wayveil.risk.grey_box import Findings, examine
from wayveil.risk.mutants import CHORUS, GAME, GREY, LAW
from wayveil.risk.neighbours import chooser, some_neighbour, some_trips
from wayveil.risk.one_run import one_run
from wayveil.risk.recording import DivergedError, Subject
from wayveil.risk.registry import AuditPlan, audit_plan, audit_plans
from wayveil.risk.tiny_worlds import pair_named, town
from wayveil.trips.trips import Trips

# A sound mechanism is accused by one audit with at most this probability.
ALPHA = 1e-4
ALPHA_LAW = 1e-6


@dataclass(frozen=True)
class Effort:
    """How much work each audit does, and whether every audit of a mutation runs or only the cheapest.

    game and game_broken are runs to choose the event and runs to judge it, per dataset.
    """

    neighbours: int
    draws: int
    quarters: int
    game: tuple[int, int]
    game_broken: tuple[int, int]
    every_audit: bool


EFFORTS = {
    "fast": Effort(20, 40_000, 1_500, (50, 200), (50, 200), every_audit=False),
    "full": Effort(400, 200_000, 8_000, (150, 1_000), (120, 700), every_audit=True),
}


@dataclass(frozen=True)
class Job:
    """One audit of one variant of one mechanism; small and plain, so that another process can do it."""

    mechanism: str
    audit: str
    variant: str = AS_BUILT
    pair: str = ""


def run_audits(
    names: Sequence[str] | None = None,
    *,
    effort: Literal["fast", "full"] = "full",
    seed: int | None = None,
    workers: int | None = None,
) -> AuditTable:
    """Attack the named mechanisms (None = all that have a plan).

    Noise comes from the secure generator, as in a release; a seed makes a run repeatable, for tests. A full run takes
    minutes and uses all cores unless `workers` says otherwise.
    """
    if effort not in EFFORTS:
        raise ParameterError(f"the effort is `fast` or `full`, not {effort!r}")
    plans = list(audit_plans().values()) if names is None else [audit_plan(name) for name in names]
    jobs = [job for plan in plans for job in jobs_of(plan, EFFORTS[effort])]
    work = partial(run_job, effort=EFFORTS[effort], seed=seed)
    workers = (1 if effort == "fast" else os.cpu_count() or 1) if workers is None else workers
    if workers == 1:
        return AuditTable(track(map(work, jobs), "auditing", len(jobs)))
    # Not forked: a fork would copy locks of threads that do not exist in the child.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return AuditTable(track(pool.map(work, jobs), "auditing", len(jobs)))


def jobs_of(plan: AuditPlan, effort: Effort) -> Iterator[Job]:
    """All audits of a mechanism as built, then those of its broken variants."""
    yield Job(plan.name, GREY)
    if plan.delta is not None:
        for mutation in plan.mutations:
            yield Job(plan.name, GREY, mutation.name, mutation.canary)
        return
    yield Job(plan.name, LAW)
    if plan.town:
        yield Job(plan.name, CHORUS)
    for pair in plan.pairs if effort.every_audit else plan.pairs[:1]:
        yield Job(plan.name, GAME, pair=pair.name)
    for mutation in plan.mutations:
        able = [audit for audit in mutation.caught_by if audit != CHORUS or plan.town]
        for audit in able if effort.every_audit else able[:1]:
            yield Job(plan.name, audit, mutation.name, mutation.canary)


def run_job(job: Job, *, effort: Effort, seed: int | None) -> AuditRow:
    """Do one audit."""
    plan = audit_plan(job.mechanism)
    bits: Bits = secure_bits() if seed is None else SeededBits(f"{seed} {job}")
    begin = time.process_time()
    try:
        row = _AUDITS[job.audit](plan, job, effort, bits)
    except Exception as error:
        # A mechanism that breaks down on legitimate trips is a finding, and no reason to leave the others unaudited.
        row = _row(job, plan, "loss", inf, True, f"ended in an error: {type(error).__name__}: {error}")
    return replace(row, pair=row.pair or job.pair, seconds=round(time.process_time() - begin, 3))


def _row(
    job: Job, plan: AuditPlan, measure: Measure, figure: float, raised: bool, detail: str, pair: str = ""
) -> AuditRow:
    claimed = float(plan.epsilon)
    return AuditRow(job.mechanism, job.audit, job.variant, pair, claimed, measure, figure, raised, detail)


def _variant(job: Job) -> str | None:
    return None if job.variant == AS_BUILT else job.variant


def _grey_box(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    """The canary pairs and many random neighbours of all units, on all tiny worlds, for all settings."""
    loss, pairs = 0.0, 0
    for subject, trips, neighbour in _examined(plan, job, effort, bits):
        findings = _examined_findings(subject, trips, neighbour, seed=int(bits.words(1)[0]))
        pairs += 1
        loss = max(loss, float(findings.loss / subject.epsilon * plan.epsilon))
        if not findings.ok:
            return _row(job, plan, "loss", loss, True, str(findings), f"unit {subject.unit.name}")
    return _row(job, plan, "loss", loss, False, f"{pairs} pairs", f"{pairs:,} pairs of neighbours")


def _examined(
    plan: AuditPlan, job: Job, effort: Effort, bits: Bits
) -> Iterable[tuple[Subject, Trips, Trips]]:
    for pair in plan.pairs:
        yield plan.subject(pair.unit, _variant(job)), pair.without, pair.within
    choose = chooser(bits)
    worlds = [make() for make in plan.worlds]
    settings = (plan.mechanism, *(plan.also if job.variant == AS_BUILT else ()))
    for turn in range(effort.neighbours):
        unit = plan.units[turn % len(plan.units)]
        subject = plan.subject(unit, _variant(job))
        if job.variant == AS_BUILT:
            # Every unit meets every currency.
            currency = plan.currencies[turn // len(plan.units) % len(plan.currencies)]
            setting = settings[choose(0, len(settings) - 1)]
            subject = Subject(setting, unit, plan.epsilon, currency=currency, delta=plan.delta)
        trips = some_trips(choose, worlds[choose(0, len(worlds) - 1)])
        yield subject, trips, some_neighbour(choose, trips, unit)


def _examined_findings(subject: Subject, trips: Trips, neighbour: Trips, seed: int) -> Findings:
    try:
        return examine(subject, trips, neighbour, seed)
    except WayveilError as error:
        return Findings([f"the mechanism refuses the data of an audit: {error}"])


def _conformance(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    unit = plan.units[0]
    trips, draws = plan.pairs[0].without, effort.draws // 4
    if plan.town:  # many cells per run, so that few runs are enough
        trips, draws = town(150, plan.busy_in_town).trips(np.zeros(150, bool)), effort.draws
    found = conformance(plan.subject(unit, _variant(job)), trips, bits, draws=draws)
    test, p_value = found.smallest
    detail = f"{test}, {found.draws:,} draws"
    return _row(job, plan, "p", p_value, p_value < ALPHA_LAW, detail, f"{found.draws:,} draws")


def _one_run(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    quarters = min(effort.quarters, plan.largest)
    pair = f"{quarters:,} canaries"
    try:
        place = town(quarters, plan.busy_in_town)
        found = one_run(plan.subject(plan.units[0], _variant(job)), place, bits, share=0.15, alpha=ALPHA)
    except DivergedError as diverged:
        return _row(job, plan, "epsilon >=", inf, True, str(diverged), pair)
    detail = f"{found.right} of {found.guesses} guesses right"
    return _row(job, plan, "epsilon >=", found.bound, found.refuted, detail, pair)


def _game(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    pair = pair_named(plan.pairs, job.pair)
    selection, test = effort.game if job.variant == AS_BUILT else effort.game_broken
    attack = Attack(plan.subject(pair.unit, _variant(job)), pair.without, pair.within, bits)
    found = attack.play(selection=selection, test=test, alpha=ALPHA)
    detail = f"{found.hits} hits in {found.runs:,} runs each"
    return _row(job, plan, "epsilon >=", found.bound, found.refuted, detail)


_AUDITS = {GREY: _grey_box, LAW: _conformance, CHORUS: _one_run, GAME: _game}
