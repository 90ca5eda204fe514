"""Run the audits: attack every mechanism as it is built, then each of its broken variants."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from multiprocessing import get_context
from typing import Literal, SupportsFloat

import numpy as np

from wayveil.errors import ParameterError, WayveilError
from wayveil.lab.audits.audit_table import AS_BUILT, AuditRow, AuditTable, Measure
from wayveil.lab.audits.conformance import conformance
from wayveil.lab.audits.conversion_games import EPSILON as PLAYED_FOR
from wayveil.lab.audits.distinguish import Attack, block_games, runs_to_show
from wayveil.lab.audits.door_audit import (
    RELEASE,
    broken_releases,
    plan_at_the_door,
    sound_releases,
    variant_at_the_door,
)
from wayveil.lab.audits.grey_box import Examination, examine
from wayveil.lab.audits.ledger_games import BROKEN_GAMES, GAMES, LEDGER, play_game
from wayveil.lab.audits.mutants import BLOCKS, CHORUS, DOOR, GAME, GREY, HEAVY_RIDER, LAW
from wayveil.lab.audits.one_run import CLAIM, one_run, one_training
from wayveil.lab.audits.plan_registry import AuditPlan, audit_plan, audit_plans
from wayveil.lab.audits.recording import DivergedError, Subject
from wayveil.lab.audits.tiny_worlds import chooser, pair_named, some_neighbour, some_trips, town
from wayveil.mechanisms.registry import adopt, registered
from wayveil.privacy.bits import Bits, SeededBits, secure_bits
from wayveil.progress import track
from wayveil.trips.trips import Trips

# A sound mechanism is accused by one audit with at most this probability.
ALPHA = 1e-4
ALPHA_LAW = 1e-6
# Canaries of one run that are guessed to be in, and as many to be out.
SHARE = 0.15


@dataclass(frozen=True)
class Effort:
    """Amount of work that each audit does, and whether every audit of a mutation runs or only the cheapest.

    neighbours and draws are shared among the units of a plan. game and block are runs to choose the event and runs to
    judge it, per dataset, at least: where the claim is so high that this could not show it, there are more.
    """

    neighbours: int
    draws: int
    quarters: int
    game: tuple[int, int]
    block: tuple[int, int]
    every_audit: bool


EFFORTS = {
    "fast": Effort(21, 40_000, 800, (30, 100), (30, 60), every_audit=False),
    "full": Effort(420, 400_000, 8_000, (150, 1_000), (200, 1_500), every_audit=True),
}
# A first look at a broken variant: most mistakes show in a fifth of the draws.
GLANCE = replace(EFFORTS["fast"], draws=8_000)
# A release is played for as a whole with these canaries; block by block, with all of them.
PLAYED = ("one more on the busy path", HEAVY_RIDER)


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
    """Attack the named mechanisms (None = all that have a plan); `release` is the way from a file to any of them.

    Noise comes from the secure generator, as in a release; a seed makes a run repeatable, for tests. A full run takes
    minutes and uses all cores unless `workers` says otherwise.
    """
    if effort not in EFFORTS:
        raise ParameterError(f"the effort is `fast` or `full`, not {effort!r}")
    jobs: list[Job] = []
    for name in [*audit_plans(), RELEASE] if names is None else names:
        jobs += jobs_at_the_door() if name == RELEASE else jobs_of(audit_plan(name), EFFORTS[effort])
    work = partial(run_job, effort=EFFORTS[effort], seed=seed)
    workers = (1 if effort == "fast" else os.cpu_count() or 1) if workers is None else workers
    if workers == 1:
        return AuditTable(track(map(work, jobs), "auditing", len(jobs)))
    # Not forked: a fork would copy locks of threads that do not exist in the child.
    with ProcessPoolExecutor(workers, get_context("spawn"), adopt, (registered(),)) as pool:
        return AuditTable(track(pool.map(work, jobs), "auditing", len(jobs)))


def jobs_of(plan: AuditPlan, effort: Effort) -> Iterator[Job]:
    """All audits of a mechanism as built, then those of its broken variants."""
    yield Job(plan.name, DOOR)
    yield Job(plan.name, GREY)
    if plan.trained:
        yield Job(plan.name, CHORUS)
        yield from _broken_jobs(plan, effort)
        return
    yield Job(plan.name, LAW)
    if plan.town:
        yield Job(plan.name, CHORUS)
    for name in PLAYED if effort.every_audit else PLAYED[:1]:
        yield Job(plan.name, GAME, pair=name)
    for pair in plan.pairs if effort.every_audit else plan.pairs[:1]:
        yield Job(plan.name, BLOCKS, pair=pair.name)
    yield from _broken_jobs(plan, effort)


def _broken_jobs(plan: AuditPlan, effort: Effort) -> Iterator[Job]:
    for mutation in plan.mutations:
        able = [audit for audit in mutation.caught_by if audit != CHORUS or plan.town or plan.trained]
        for audit in able if effort.every_audit else able[:1]:
            yield Job(plan.name, audit, mutation.name, mutation.canary)


def jobs_at_the_door() -> Iterator[Job]:
    """List what must hold for files of any kind, then mistakes on the way from a file to a release."""
    for sound in sound_releases():
        yield Job(RELEASE, DOOR, pair=sound.name)
    for variant in broken_releases():
        yield Job(RELEASE, DOOR, variant.name, variant.name)
    for game in GAMES:
        yield Job(RELEASE, LEDGER, pair=game.name)
    for game in BROKEN_GAMES:
        yield Job(RELEASE, LEDGER, game.name, game.name)


def run_job(job: Job, *, effort: Effort, seed: int | None) -> AuditRow:
    """Do one audit."""
    bits: Bits = secure_bits() if seed is None else SeededBits(f"{seed} {job}")
    begin = time.process_time()
    try:
        if job.mechanism == RELEASE:
            row = _release(job, bits)
        else:
            row = _audited(audit_plan(job.mechanism), job, effort, bits)
    except Exception as error:
        # A mechanism that breaks down on legitimate trips is a finding, and no reason to leave the others unaudited.
        # A broken variant that breaks down was not caught: nobody looked at what it publishes.
        built = job.variant == AS_BUILT
        row = _row(job, 0, "loss", inf, built, f"ended in an error: {type(error).__name__}: {error}")
    return replace(row, pair=row.pair or job.pair, seconds=round(time.process_time() - begin, 3))


def _row(
    job: Job,
    claimed: SupportsFloat,
    measure: Measure,
    figure: float,
    raised: bool,
    detail: str,
    pair: str = "",
    reach: float | None = None,
) -> AuditRow:
    what = (job.mechanism, job.audit, job.variant, pair)
    return AuditRow(*what, float(claimed), measure, figure, raised, detail, reach=reach)


def _audited(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    """One audit. A broken variant that little work catches is caught: only what is built needs all of it to pass."""
    audit = _AUDITS[job.audit]
    if job.variant != AS_BUILT:
        for less in (GLANCE, EFFORTS["fast"]):
            if less.draws < effort.draws:
                quick = audit(plan, job, less, bits)
                if quick.raised and not quick.blind:
                    return quick
    return audit(plan, job, effort, bits)


def _variant(job: Job) -> str | None:
    return None if job.variant == AS_BUILT else job.variant


def _release(job: Job, bits: Bits) -> AuditRow:
    if job.audit == LEDGER:
        found = play_game(job.pair, bits)
        return _row(job, PLAYED_FOR, "loss", float(found.loss), not found.ok, str(found))
    found, claimed, pair = variant_at_the_door(job.pair, bits)
    return _row(job, claimed, "loss", float(found.loss), not found.ok, str(found), pair)


def _front_door(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    settings = (plan.mechanism, *((*plan.also, *plan.on_networks) if effort.every_audit else ()))
    found, pairs = plan_at_the_door(plan, settings, bits)
    return _row(job, plan.epsilon, "loss", float(found.loss), not found.ok, str(found), pairs)


def _grey_box(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    """The canary pairs and many random neighbours of all units, on all tiny worlds, for all settings."""
    loss, pairs = 0.0, 0
    for subject, trips, neighbour in _examined(plan, job, effort, bits):
        findings = _examined_findings(subject, trips, neighbour, seed=int(bits.words(1)[0]))
        pairs += 1
        loss = max(loss, float(findings.loss / subject.epsilon * plan.epsilon))
        if not findings.ok:
            return _row(job, plan.epsilon, "loss", loss, True, str(findings), f"unit {subject.unit.name}")
    return _row(job, plan.epsilon, "loss", loss, False, f"{pairs} pairs", f"{pairs:,} pairs of neighbours")


def _examined(
    plan: AuditPlan, job: Job, effort: Effort, bits: Bits
) -> Iterable[tuple[Subject, Trips, Trips]]:
    for pair in plan.pairs:
        yield plan.subject(pair.unit, _variant(job)), pair.without, pair.within
    choose = chooser(bits)
    worlds = [make() for make in plan.worlds]
    for turn in range(effort.neighbours):
        unit = plan.units[turn % len(plan.units)]
        subject = plan.subject(unit, _variant(job))
        world = worlds[choose(0, len(worlds) - 1)]
        if job.variant == AS_BUILT:
            settings = (plan.mechanism, *plan.also, *(plan.on_networks if world.restricts_moves else ()))
            # Every unit meets every currency.
            currency = plan.currencies[turn // len(plan.units) % len(plan.currencies)]
            setting = settings[choose(0, len(settings) - 1)]
            subject = Subject(setting, unit, plan.epsilon, currency=currency, delta=plan.delta)
        trips = some_trips(choose, world)
        yield subject, trips, some_neighbour(choose, trips, unit)


def _examined_findings(subject: Subject, trips: Trips, neighbour: Trips, seed: int) -> Examination:
    try:
        return examine(subject, trips, neighbour, seed)
    except WayveilError as error:
        return Examination([f"the mechanism refuses the data of an audit: {error}"])


def _conformance(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    """The law of the noise for every unit and in every currency; the first that does not hold ends it."""
    trips, draws = plan.pairs[0].without, effort.draws // 4
    if plan.town:  # many cells per run, so that few runs are enough
        trips, draws = town(plan.lawful, plan.busy_in_town).trips(np.zeros(plan.lawful, bool)), effort.draws
    # Trips and riders tell most mistakes apart; a thorough run takes all units.
    units = plan.units if effort.every_audit else plan.units[:2]
    settings = [(unit, currency) for currency in plan.currencies for unit in units]
    worst, tested = ("no test", 1.0, ""), 0
    for unit, currency in settings:
        subject = plan.subject(unit, _variant(job), currency=currency)
        found = conformance(subject, trips, bits, draws=draws // len(settings))
        tested += found.draws
        test, p_value = found.smallest
        if p_value < worst[1]:
            worst = test, p_value, f"unit {unit.name}, {currency}"
        if p_value < ALPHA_LAW:
            break
    detail = f"{worst[0]}, {worst[2]}, {tested:,} draws"
    raised = worst[1] < ALPHA_LAW
    return _row(job, plan.epsilon, "p", worst[1], raised, detail, worst[2] if raised else f"{tested:,} draws")


def _one_run(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    quarters = min(effort.quarters, plan.largest)
    pair, claimed = f"{quarters:,} canaries", plan.claim_as_a_whole
    subject = plan.subject(plan.units[0], _variant(job), whole=True)
    try:
        if plan.trained:
            found, claimed = one_training(subject, quarters, bits, share=SHARE, alpha=ALPHA), CLAIM
        else:
            found = one_run(subject, town(quarters, plan.busy_in_town), bits, share=SHARE, alpha=ALPHA)
    except DivergedError as diverged:
        return _row(job, claimed, "epsilon >=", inf, True, str(diverged), pair)
    detail = f"{found.right} of {found.guesses} guesses right"
    return _row(job, claimed, "epsilon >=", found.bound, found.refuted, detail, pair, found.reach)


def _game(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    pair, claimed = pair_named(plan.pairs, job.pair), plan.claim_as_a_whole
    selection, test = effort.game
    attack = Attack(plan.subject(pair.unit, _variant(job), whole=True), pair.without, pair.within, bits)
    found = attack.play(selection=selection, test=max(test, runs_to_show(float(claimed), ALPHA)), alpha=ALPHA)
    detail = f"{found.hits} hits in {found.runs:,} runs each"
    return _row(job, claimed, "epsilon >=", found.bound, found.refuted, detail, reach=found.reach)


def _block_by_block(plan: AuditPlan, job: Job, effort: Effort, bits: Bits) -> AuditRow:
    pair = pair_named(plan.pairs, job.pair)
    selection, test = effort.block
    subject = plan.subject(pair.unit, _variant(job))
    try:
        games = block_games(
            subject, pair.without, pair.within, bits, selection=selection, test=test, alpha=ALPHA
        )
    except DivergedError as diverged:
        return _row(job, plan.epsilon, "epsilon >=", inf, True, str(diverged))
    if not games:
        # The canary moves nothing that is counted, which is the best protection of all.
        return _row(job, plan.epsilon, "epsilon >=", 0.0, False, "no block moved", f"{pair.name}: none moved")
    least = max(games, key=lambda game: (game.blind, game.excess))
    found = least.found
    detail = f"{least.label}: {found.hits} hits in {found.runs:,} runs each; {len(games)} blocks"
    return _row(job, found.claimed, "epsilon >=", found.bound, found.refuted, detail, reach=found.reach)


_AUDITS = {
    DOOR: _front_door,
    GREY: _grey_box,
    LAW: _conformance,
    BLOCKS: _block_by_block,
    CHORUS: _one_run,
    GAME: _game,
}
