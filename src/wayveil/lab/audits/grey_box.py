"""The grey box: record a run on D, replay its answers on a neighbour D', and compare.

If the same answers lead to the same questions, if the exact counts behind each question differ by no more than the
noise was made for, and if the two runs end in the very same model, then the run costs what its questions cost
(adaptive composition), and nothing left by another way. The first two are the conditions of the proof; the third
catches whatever bypasses the gate: a height, a total, a universe that was read off the data.

One pair of datasets proves nothing about the others, so audits and tests make thousands of pairs.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from wayveil.counting.local import LocalCounter
from wayveil.lab.audits.recording import DivergedError, Measures, Subject, record, replay
from wayveil.lab.audits.replay_checks import (
    check_searches,
    check_steps,
    compare_searches,
    difference,
    total_loss,
)
from wayveil.lab.audits.transcript import Exchange, Transcript
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Rational, exact, total_price
from wayveil.privacy.gate import Gate
from wayveil.privacy.gradients import CLIP
from wayveil.privacy.privtree import COST, Leaves
from wayveil.privacy.questions import SparseCounts
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips


@dataclass
class Examination:
    """Findings of an examination. `loss` is the privacy loss that the pair can realise: at most epsilon, if sound."""

    problems: list[str] = field(default_factory=list)
    questions: int = 0
    loss: Fraction = Fraction(0)

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return "; ".join(self.problems) or f"{self.questions} questions, nothing found"


def grey_box(
    mechanism: Measures,
    trips: Trips,
    neighbour: Trips,
    unit: Unit,
    epsilon: Rational,
    *,
    gate: type[Gate] = Gate,
    counter: Any = LocalCounter,
    seed: int = 0,
) -> Examination:
    """Examine a mechanism on two neighbouring datasets, in both directions. See `examine`."""
    return examine(Subject(mechanism, unit, exact(epsilon), gate, counter), trips, neighbour, seed)


def examine(subject: Subject, trips: Trips, neighbour: Trips, seed: int = 0) -> Examination:
    """Record on one dataset and replay on the other, then the other way round.

    What is counted by chance falls alike for the trips that both datasets begin with, so the changed unit must stand
    at the end.
    """
    findings = Examination()
    for first, second in ((trips, neighbour), (neighbour, trips)):
        recorded, model = record(subject, first, SeededBits(seed), seed)
        check_transcript(subject, recorded, findings)
        findings.questions = max(findings.questions, len(recorded.exchanges))
        try:
            replayed, other = replay(subject, second, recorded, seed)
        except DivergedError as diverged:
            findings.problems.append(str(diverged))
            continue
        except Exception as error:  # an error that only one of two neighbours raises tells them apart
            findings.problems.append(f"the neighbour ends in an error: {type(error).__name__}: {error}")
            continue
        findings.loss = max(findings.loss, check_distances(subject, recorded, replayed, findings))
        compare_searches(recorded, replayed, findings.problems.append)
        place = difference(model, other)
        if place is not None:
            findings.problems.append(
                f"with the same answers, {place} differs: it was not read through the gate"
            )
        if recorded.searches:
            _check_forgetting(subject, first, recorded, model, findings, seed)
    findings.problems = list(dict.fromkeys(findings.problems))
    return findings


def check_transcript(subject: Subject, transcript: Transcript, findings: Examination) -> None:
    """Check what must hold on any single dataset: prices, scales, cells."""
    say = findings.problems.append
    spent = transcript.budgets[0].spent
    if spent != subject.epsilon:
        say(f"the spends add up to {spent}, but {subject.epsilon} is claimed")
    for scope, budget in enumerate(transcript.budgets):
        booked = [(s.label, s.price, s.group) for s in budget.spends if s.kind not in ("search", "training")]
        asked = [
            e.question for e in transcript.exchanges if e.scope == scope and e.question.kind != "training"
        ]
        if booked != [(q.label, q.price, q.group) for q in asked]:
            say(f"{len(asked)} questions were answered, but the {len(booked)} booked spends are not for them")
    check_searches(transcript, say)
    check_steps(transcript, say)
    for exchange in transcript.exchanges:
        if exchange.question.kind == "training":
            continue
        question, label = exchange.question, exchange.question.label
        honest = Gate(subject.unit, subject.budget())
        rules = {"counts": honest.scale, "selection": honest.selection_scale, "tree": honest.tree_scale}
        rule = rules[question.kind]
        if question.scale != rule(question.contribution, question.price):
            say(
                f"{label}: the noise scale is {question.scale}, not {rule(question.contribution, question.price)}"
            )
        _check_cells(label, exchange, say)


def _check_forgetting(
    subject: Subject, trips: Trips, recorded: Transcript, model: Any, findings: Examination, seed: int
) -> None:
    """Nothing of a rejected draw leaves: without them the run must end in the same model."""
    for vain in (True, False):
        shorter = recorded.forgetting(vain=vain)
        try:
            place = difference(model, replay(subject, trips, shorter, seed)[1])
        except DivergedError as diverged:
            place = f"the course of the run ({diverged})"
        except Exception as error:  # whoever needs the rejected draws to go on, uses them
            place = f"the end of the run ({type(error).__name__}: {error})"
        if place is not None:
            findings.problems.append(f"without the rejected draws of a search, {place} differs")
            return


def _check_cells(label: str, exchange: Exchange, say: Any) -> None:
    """Exact counts and answers lie on the cells of the public universe, and no answer lies below its threshold."""
    question, exact = exchange.question, exchange.exact
    if exact.universe != question.universe or not _ascending_inside(exact.keys, question.universe):
        say(f"{label}: exact counts outside the {question.universe:,} cells asked about")
    if isinstance(exchange.answer, int):
        if not 0 <= exchange.answer < question.universe:
            say(f"{label}: candidate {exchange.answer} is not among the {question.universe:,} public ones")
        return
    answer = exchange.answer
    if isinstance(answer, Leaves):
        if answer.sizes.sum() != question.universe or not _ascending_inside(answer.starts, question.universe):
            say(f"{label}: the leaves are no partition of the {question.universe:,} cells asked about")
        return
    if not _ascending_inside(answer.keys, question.universe):
        say(f"{label}: answers outside the {question.universe:,} cells asked about")
    if answer.counts.dtype != np.int64 or exact.counts.dtype != np.int64:
        say(f"{label}: counts are {answer.counts.dtype}, not 64-bit integers")
    if question.threshold is None:
        if len(answer.keys) != question.universe:
            say(f"{label}: {len(answer.keys):,} of {question.universe:,} cells came back without a threshold")
    elif np.any(answer.counts < question.threshold):
        say(f"{label}: a count below the threshold {question.threshold} came back")


def _ascending_inside(keys: Any, universe: int) -> bool:
    return len(keys) == 0 or bool(keys[0] >= 0 and keys[-1] < universe and np.all(np.diff(keys) > 0))


def check_distances(subject: Subject, one: Transcript, other: Transcript, findings: Examination) -> Fraction:
    """Distances per question, and what they add up to per scope and per group of disjoint parts."""
    say = findings.problems.append
    losses: dict[tuple[int, str | None], Fraction] = {}
    for exchange, twin in zip(one.exchanges, other.exchanges, strict=True):
        question = exchange.question
        l1, l2_squared, linf = distances(exchange.exact, twin.exact)
        if question.kind == "selection":
            allowed = subject.unit.utility_sensitivity(question.contribution)
            if linf > allowed:
                say(f"{question.label}: a utility moved by {linf}, but the sensitivity is {allowed}")
            loss = 2 * linf / question.scale
        else:
            if question.kind == "training":
                # One example of a unit, however many trips it has; what steps cost was checked with their noise.
                if l2_squared > CLIP**2:
                    say(
                        f"{question.label}: clipped sums moved by {float(l2_squared) ** 0.5:,.0f}, "
                        f"but the clip is {CLIP:,}"
                    )
                continue
            bound = subject.unit.sensitivity(question.contribution)
            # Squares are compared: the L2 distance itself is rarely a fraction.
            moved, most = (
                (l2_squared, bound.l2_squared) if bound.euclidean else (l1, Fraction(bound.distance))
            )
            if moved > most or linf > bound.linf:
                norm = "squared L2" if bound.euclidean else "all"
                say(
                    f"{question.label}: counts moved by {moved} in {norm} and {linf} in one cell, "
                    f"but the sensitivity is {most} and {bound.linf}"
                )
            loss = l2_squared / (2 * question.scale) if subject.currency == "rho" else l1 / question.scale
            if question.kind == "tree":
                loss = COST * l1 / question.scale
                loss = loss**2 / 2 if subject.currency == "rho" else loss
        place = (exchange.scope, question.group)
        losses[place] = losses.get(place, Fraction(0)) + loss
    for (scope, group), loss in losses.items():
        price = total_price([spend for spend in one.budgets[scope].spends if spend.group == group])
        if loss > price:
            say(f"{group or 'all questions'}: the pair realises a loss of {loss}, but {price} was paid")
    own: dict[int, Fraction] = {}
    for (scope, _), loss in losses.items():
        own[scope] = own.get(scope, Fraction(0)) + loss
    return total_loss(own, one)


def distances(one: SparseCounts, other: SparseCounts) -> tuple[Fraction, Fraction, Fraction]:
    """L1, squared L2 and L-infinity distance of two vectors of counts, exactly."""
    _, moved = moved_cells(one, other)
    sizes = np.abs(moved)
    squared = sum((int(size) ** 2 for size in sizes), 0)
    return Fraction(int(sizes.sum())), Fraction(squared), Fraction(int(sizes.max(initial=0)))


def moved_cells(one: SparseCounts, other: SparseCounts) -> tuple[Any, Any]:
    """The cells that differ, ascending, and the second count less the first."""
    keys = np.concatenate([one.keys, other.keys])
    cells, place = np.unique(keys, return_inverse=True)
    moved = np.zeros(len(cells), np.int64)
    np.add.at(moved, place, np.concatenate([-one.counts, other.counts]))
    differs = moved != 0
    return cells[differs], moved[differs]
