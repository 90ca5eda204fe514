"""One period of a series, from its rows to a folder that is published whole.

Every step leaves something on the disk that says that it is done, and nothing is done twice:

1. the measured model, paid for and kept (`releases.paid`); until then the key of its noise, so that a run that is
   killed before is the same run when it goes on
2. the signed release, and its line in the ledger
3. exports and report
4. the move into `public`, which is one rename
"""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from wayveil.errors import WayveilError, plain
from wayveil.exports.write import export_wanted
from wayveil.files import move_folder
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.plan.ordering import order_rows, price_of, statement_of
from wayveil.plan.parts import WorldVersion
from wayveil.plan.plan import Plan
from wayveil.plan.reading import OpenedRows, open_plan_world, open_rows
from wayveil.privacy.ledger import Days, Ledger
from wayveil.privacy.units import Unit
from wayveil.released.verification import SIGNATURE
from wayveil.releases.hold import Booking
from wayveil.releases.making import Means, carry_out
from wayveil.releases.paid import commit_saved, resume_release
from wayveil.releases.release import Release
from wayveil.report.report_page import write_report
from wayveil.series.folder import EXPORTS, PERIOD, RELEASE, REPORT, Due, SeriesFolder, days_of
from wayveil.world.world import World


def publish(plan: Plan, folder: SeriesFolder, made: Release, label: str, days: Days) -> None:
    """Write everything beside the release, and move the folder to its public place with one rename."""
    making = folder.making(label)
    made = replace(
        made, known_accuracy=made.accuracy
    )  # found once, also for exports that put trips on a date
    shutil.rmtree(making / EXPORTS, ignore_errors=True)
    feed, name = Path(plan.beside(plan.world_of(days).place)), f"{plan.name}_{label}"
    left_out = export_wanted(made, plan.output.exports, making / EXPORTS, name, days.first, feed)
    if plan.output.report:
        write_report(making / REPORT, release=made, title=f"{plan.name}, {label}", figures=False)
    record = {
        "series": plan.name,
        "label": label,
        "days": str(days),
        "world": plan.world_of(days).place,
        "guarantee": made.datasheet["guarantee"]["sentence"],
        "follows": sum(each["name"] == "prior" for each in made.datasheet["public_inputs"]),
        "verdict": made.accuracy.words,
        "exports": [kind for kind in plan.output.exports if kind not in left_out],
        "left_out": left_out,
    }
    (making / PERIOD).write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")
    move_folder(making, folder.published(label))


class LostPeriodError(WayveilError):
    """A period was paid for and nothing of it can be published any more."""


@dataclass
class Maker:
    """Makes the periods of one series; worlds and earlier releases are opened once."""

    plan: Plan
    folder: SeriesFolder
    ledger: Ledger
    actor: str
    again: Collection[str] = ()
    _worlds: dict[WorldVersion, World] = field(default_factory=dict)
    _earlier: dict[str, Release] = field(default_factory=dict)

    def world(self, days: Days) -> World:
        """The public world of a period."""
        version = self.plan.world_of(days)
        if version not in self._worlds:
            self._worlds[version] = open_plan_world(self.plan, days)
        return self._worlds[version]

    def make(self, due: Due) -> None:
        """Release a period, or finish it where an earlier run stopped."""
        made = self._saved(due.label, due.days)
        if made is None:
            files = [file.path for file in due.files]
            read = open_rows(self.plan, self.world(due.days), files, due.days)
            self._note(due, list(read.notes))
            try:
                made = self._release(read, due)
            except Exception:
                self._forget_refused(due)
                raise
            made.save(self.folder.making(due.label) / RELEASE)
        self._publish(made, due.label, due.days)

    def _forget_refused(self, due: Due) -> None:
        """A run that was refused, or is booked as lost, goes on never again: its noise is of no use any more."""
        waiting = [
            held
            for held in self.ledger.booked(self.plan.name, due.days)
            if held.state in ("reserved", "started")
        ]
        if not waiting:
            self.folder.paid(due.label).forget()

    def finish(self, label: str, days: Days) -> bool:
        """Finish a period that was paid for; False where nothing was. Needs no raw rows."""
        made = self._saved(label, days)
        if made is None:
            return False
        self._publish(made, label, days)
        return True

    def _saved(self, label: str, days: Days) -> Release | None:
        """The release of a period, if it is saved, or kept and only has to be drawn and saved."""
        paid, out = self.folder.paid(label), self.folder.making(label) / RELEASE
        if (out / SIGNATURE).is_file():
            commit_saved(paid, self.ledger)
            return Release.load(out, self.world(days))
        return resume_release(out, self.world(days), ledger=self.ledger) if paid.kept else None

    def _release(self, read: OpenedRows, due: Due) -> Release:
        plan = self.plan
        order = order_rows(plan, read.rows, due.days)
        stated = statement_of(plan)
        if not stated.purpose:
            stated = replace(stated, purpose=f"series {plan.name}, {due.label}")
        said = plan.protection
        booking = Booking(self.ledger, plan.name, self.actor, new_people=said.new_people, days=due.days)
        means = Means(
            engine=read.engine,
            prior=self.earlier(order.mechanism, order.unit, due.days),
            keep=self.folder.paid(due.label),
            memory=int(plan.machine.memory * 2**30),
            trips_out=plan.output.trips_out,
        )
        return carry_out(order, price_of(plan), booking, stated, means)

    def earlier(self, mechanism: Mechanism, unit: Unit, days: Days) -> Sequence[Release]:
        """The latest releases of earlier data that this one can follow, the oldest first. They are public."""
        most = self.plan.method.prior
        if not mechanism.follows or not isinstance(most, int) or most == 0:
            return ()
        found: list[Release] = []
        for label in reversed(self.folder.labels()):
            of = days_of(self.folder.published(label))
            if of.last < days.first and len(found) < most:
                if label not in self._earlier:
                    self._earlier[label] = Release.load(
                        self.folder.published(label) / RELEASE, self.world(of)
                    )
                if _counts_the_same(self._earlier[label], mechanism, unit):
                    found.append(self._earlier[label])
        return found[::-1]

    def refuse_paid(self, due: Due) -> None:
        """Refuse days that were released, or paid for and lost, as far as the ledger knows. Spends nothing."""
        waits = self.folder.paid(due.label).noise.exists()
        for held in self.ledger.booked(self.plan.name, due.days):
            if held.state == "reserved" and not waits:
                self.ledger.cancel(held.id, actor=self.actor, reason="died before its first noise")
            elif held.state == "committed" and held.days != due.days:
                raise LostPeriodError(
                    f"{due.label} has days of a release of {held.days}: no day is released twice. Leave its file out. "
                    "Nothing was spent"
                )
            elif held.state == "committed":
                raise LostPeriodError(
                    f"{due.label} is released in the ledger, and its folder is not in {self.folder.public}: bring it "
                    "back from a copy, or leave its file out. Nothing was spent"
                )
            elif due.label not in self.again and (
                held.state == "settled" or (held.state == "started" and not waits)
            ):
                raise LostPeriodError(
                    f"{due.label} was paid for (epsilon {plain(held.spent)}) and not published: its run failed "
                    "after the first noise, which may be because of the raw rows. To pay for it once more, add "
                    f"`--again {due.label}`; to go on without it, leave its file out. Nothing was spent"
                )

    def _note(self, due: Due, cleaning: list[str]) -> None:
        self.folder.note_files(due.label, {file.path.name: file.hash for file in due.files})
        report = self.folder.internal / "cleaning" / f"{due.label}.txt"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text("\n".join(cleaning) + "\n", encoding="utf-8")

    def _publish(self, made: Release, label: str, days: Days) -> None:
        self.folder.paid(label).forget()
        publish(self.plan, self.folder, made, label, days)
        self._earlier[label] = made


def _counts_the_same(earlier: Release, mechanism: Mechanism, unit: Unit) -> bool:
    """Tell whether an earlier release counted the same things of the same people, so that this one may follow it."""
    stated, wanted = earlier.datasheet["guarantee"], unit.describe()
    made_by, now = earlier.datasheet["mechanism"], cast(dict[str, Any], mechanism.describe()["parameters"])
    return (
        (stated["unit"], stated["bounds"]) == (wanted["unit"], wanted["bounds"])
        and made_by["name"] == mechanism.name
        and all(made_by["parameters"].get(name) == now.get(name) for name in mechanism.same_as_prior)
    )
