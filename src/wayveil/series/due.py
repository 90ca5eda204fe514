"""Which periods the given files make due, and which files must be refused before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from wayveil.errors import InputError
from wayveil.plan.file_names import NamePattern
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.data_time import Days, spans_in
from wayveil.series.folder import SeriesFolder


@dataclass(frozen=True)
class DatedFile:
    """A file, the days that its name says, and its keyed hash."""

    path: Path
    days: Days
    hash: str


@dataclass(frozen=True)
class Due:
    """A period that is to be released, and the files that have its rows."""

    label: str
    days: Days
    files: tuple[DatedFile, ...]


@dataclass(frozen=True)
class Work:
    """What a run has to do: periods in order of data time; those that are done; and those that wait for files."""

    due: tuple[Due, ...]
    done: tuple[str, ...]
    waiting: tuple[str, ...]


def find_work(plan: Plan, folder: SeriesFolder, files: Sequence[Path]) -> Work:
    """Hold the files against the plan and against what was released. Looks at names and hashes, at no row."""
    pattern = NamePattern.parse(Path(plan.source.files[0]).name)
    dated = [DatedFile(path, pattern.days_of(path), folder.hash_of(path)) for path in files]
    dated = sorted({file.path.resolve(): file for file in dated}.values(), key=lambda file: file.days)
    _refuse_overlaps(dated)
    due, done, waiting = [], [], []
    for days in _periods(plan, dated):
        label = plan.label(days)
        inside = tuple(file for file in dated if file.days.meets(days))
        _refuse_changed(folder, label, inside)
        if folder.published(label).exists():
            done.append(label)
        elif _covered(days, inside):
            due.append(Due(label, days, inside))
        else:
            waiting.append(label)
    return Work(tuple(due), tuple(done), tuple(waiting))


def _periods(plan: Plan, files: Sequence[DatedFile]) -> list[Days]:
    found: dict[Days, None] = {}
    for file in files:
        if file.days.last < plan.cadence.first:
            raise InputError(
                f"is of {file.days}, before the first day of the plan ({plan.cadence.first}). Nothing was spent",
                file=file.path,
            )
        found |= dict.fromkeys(
            days for days in spans_in(plan.cadence.every, file.days) if days.first >= plan.cadence.first
        )
    return sorted(found)


def _refuse_overlaps(files: Sequence[DatedFile]) -> None:
    for before, after in pairwise(files):
        if before.days.meets(after.days):
            raise InputError(
                f"has days that {before.path.name} has as well ({before.days} and {after.days}): rows would count "
                "twice. Nothing was spent",
                file=after.path,
            )


def _refuse_changed(folder: SeriesFolder, label: str, files: Sequence[DatedFile]) -> None:
    """A period was released, or paid for, with other files than these: their rows may be new, and are too late."""
    used = folder.used_files(label)
    begun = folder.published(label).exists() or folder.paid(label).kept or folder.paid(label).noise.exists()
    if used is None or not begun:
        return
    for file in files:
        if file.hash in used.values():
            continue
        was = "released" if folder.published(label).exists() else "begun"
        problem = "has changed since" if file.path.name in used else "overlaps what was then released"
        raise InputError(
            f"{label} was {was} with {', '.join(used)}, and this file {problem}. Rows that come late are not released: "
            "leave the file out, or bring it as it was. Nothing was spent",
            file=file.path,
        )


def _covered(days: Days, files: Sequence[DatedFile]) -> bool:
    """Whether the files together have every day; they do not overlap and are in order."""
    wanted = days.first
    for file in files:
        if file.days.first > wanted:
            return False
        wanted = max(wanted, file.days.last + timedelta(days=1))
    return wanted > days.last
