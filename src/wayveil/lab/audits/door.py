"""The grey box at the front door: from two files that differ in one unit, through readers and `release`, to a folder.

Everything that happens to a row on its way is inside: the reader, the rule, the bound, the mechanism, the generation of
trips, the datasheet, the ledger. `release` is called as a user calls it. While an audit listens, the gate that it makes
for itself is one that records, or one that replays; nothing else is exchanged.

A release that is refused before anything was asked is safe, if its neighbour is refused in the same words.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from wayveil import run as run_module
from wayveil.errors import WayveilError
from wayveil.lab.audits.grey_box import Examination, check_distances, check_transcript
from wayveil.lab.audits.recording import (
    AuditGate,
    CoupledBits,
    DivergedError,
    RecordingGate,
    ReplayGate,
    Subject,
    listening,
)
from wayveil.lab.audits.replay_checks import difference
from wayveil.lab.audits.transcript import Transcript
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import POLICY_UNITS, Ledger, Policy, open_ledger
from wayveil.privacy.units import Unit
from wayveil.releases import making
from wayveil.releases.release import Release
from wayveil.trips.legality import LegalityRule
from wayveil.world.world import World

DATASET, ACTOR = "riders", "audit"


@dataclass(frozen=True, eq=False)
class FilePair:
    """Two files of the same name in two folders; the second one has a unit more, at its end."""

    name: str
    without: Path
    within: Path
    world: World
    unit: Unit
    rule: LegalityRule | None = None
    # What a user says of the rows: `rows`, `way`, `split_gap`, `engine`, ...
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """Outcome of one release: the conversation, what was published or why not, and what the ledger says."""

    transcript: Transcript
    unit: Unit
    published: Any = None
    refusal: str | None = None
    spent: Fraction = Fraction(0)
    still_open: bool = False
    gates: list[AuditGate] = field(default_factory=list)


MakeGate = Callable[..., AuditGate]


@dataclass(frozen=True, eq=False)
class Door:
    """A release of files as a user makes it, heard by an audit. `gate` may be a broken one."""

    mechanism: Mechanism
    epsilon: Fraction
    folder: Path
    gate: type[Gate] = Gate

    def record(self, pair: FilePair, path: Path, seed: int) -> Run:
        """Release one file and keep the conversation."""
        kind = cast("type[RecordingGate]", listening(RecordingGate, self.gate))

        def make(unit: Unit, budget: Budget, bits: Any = None, **options: Any) -> AuditGate:
            return kind(unit, budget, SeededBits(seed), CoupledBits(seed), **options)

        return self._run(pair, path, make)

    def replay(self, pair: FilePair, path: Path, recorded: Transcript, seed: int) -> Run:
        """Release another file with the recorded answers. Raises `DivergedError` at another question."""
        kind = cast("type[ReplayGate]", listening(ReplayGate, self.gate))

        def make(unit: Unit, budget: Budget, bits: Any = None, **options: Any) -> AuditGate:
            gate = kind(unit, budget, SeededBits("no noise is drawn"), CoupledBits(seed), **options)
            gate.recorded = recorded
            return gate

        return self._run(pair, path, make)

    def _run(self, pair: FilePair, path: Path, make: MakeGate) -> Run:
        run = Run(Transcript(), pair.unit)
        number = len(list(self.folder.glob("*.ledger")))
        ledger = audit_ledger(self.folder / f"{number}.ledger", pair.unit)

        def listening_gate(*arguments: Any, **options: Any) -> AuditGate:
            gate = make(*arguments, **options)
            run.gates.append(gate)
            return gate

        try:
            # Not an option of `release`: whoever releases for real has no such thing either.
            with patch.object(making, "Gate", listening_gate):
                made = self._release(pair, path, ledger)
            run.published = published(made)
        except DivergedError:
            raise
        except (WayveilError, OSError) as error:
            run.refusal = f"{type(error).__name__}: {error}".replace(str(path.parent), "")
        if run.gates:
            run.transcript, run.unit = run.gates[0].transcript, run.gates[0].unit
        run.spent, run.still_open = ledger.spent(DATASET), _still_open(ledger)
        return run

    def _release(self, pair: FilePair, path: Path, ledger: Ledger) -> Release:
        # Who does not say what a row is may be refused for what is in the file, which stays inside (docs/promise.md).
        said = {"rows": "calls"} if pair.rule is None else {"rule": pair.rule}
        made = run_module.release(
            path,
            self.mechanism,
            world=pair.world,
            unit=pair.unit,
            epsilon=self.epsilon,
            ledger=ledger,
            dataset=DATASET,
            actor=ACTOR,
            seed=1,
            **{**said, **pair.said},
        )
        assert isinstance(made, Release)
        return made

    def examine(self, pair: FilePair, seed: int = 0) -> Examination:
        """Record on one file and replay on the other, then the other way round."""
        findings = Examination()
        for first, second in ((pair.without, pair.within), (pair.within, pair.without)):
            recorded = self.record(pair, first, seed)
            self._check_ledger(recorded, findings)
            asked = len(recorded.transcript.exchanges)
            findings.questions = max(findings.questions, asked)
            if recorded.refusal is None:
                claim = Subject(self.mechanism, recorded.unit, self.epsilon)
                check_transcript(claim, recorded.transcript, findings)
            try:
                replayed = self.replay(pair, second, recorded.transcript, seed)
            except DivergedError as diverged:
                findings.problems.append(str(diverged))
                continue
            self._compare(recorded, replayed, findings)
        findings.problems = list(dict.fromkeys(findings.problems))
        return findings

    def _compare(self, recorded: Run, replayed: Run, findings: Examination) -> None:
        say = findings.problems.append
        if recorded.refusal != replayed.refusal:
            say(f"only one of two neighbours is refused: {recorded.refusal or replayed.refusal}")
            return
        asked, again = len(recorded.transcript.exchanges), len(replayed.transcript.exchanges)
        if again < asked:
            say(f"the neighbour asks {again} questions in place of {asked}")
            return
        claim = Subject(self.mechanism, recorded.unit, self.epsilon)
        loss = check_distances(claim, recorded.transcript, replayed.transcript, findings)
        findings.loss = max(findings.loss, loss)
        place = difference(recorded.published, replayed.published, "release")
        if place is not None:
            say(f"with the same answers, {place} differs: it was not read through the gate")

    def _check_ledger(self, run: Run, findings: Examination) -> None:
        """Check that what left is booked, neither less nor, after a refusal, more."""
        booked = run.gates[0].budget.spent if run.gates else Fraction(0)
        if run.spent < booked:
            findings.problems.append(f"answers for {booked} left, but the ledger says {run.spent}")
        if run.refusal is not None and run.still_open:
            findings.problems.append(
                f"a release was refused after {booked}, but the ledger still holds {run.spent} for it"
            )


def audit_ledger(path: Path, unit: Unit) -> Ledger:
    """A ledger of its own for one release."""
    ledger = open_ledger(path)
    whose = unit.name if unit.name in POLICY_UNITS else "event"
    ledger.set_policy(DATASET, Policy(1_000, unit=whose, total_delta=Fraction(1, 2)), actor=ACTOR)
    return ledger


def published(made: Release) -> dict[str, Any]:
    """Everything that leaves the building. Where the ledger booked it, and when, is different in every release."""
    sheet = {name: value for name, value in made.datasheet.items() if name != "ledger"}
    return {"trips": made.trips, "model": made.model, "datasheet": sheet}


@contextmanager
def nothing_broken() -> Iterator[None]:
    """The door as built."""
    yield


def _still_open(ledger: Ledger) -> bool:
    """Tell whether something was started that neither ended well nor was settled."""
    kinds: dict[str, set[str]] = {}
    for line in ledger.entries():
        if line.reservation is not None:
            kinds.setdefault(line.reservation, set()).add(line.kind)
    ended = {"commit", "settle", "cancel"}
    return any("start" in seen and not seen & ended for seen in kinds.values())
