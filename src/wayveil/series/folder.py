"""The folder of a series: what is published, what is being made, and which files each release was made of.

public/LABEL/    a release with its exports and its report; appears whole or not at all
public/index.html, year.svg
internal/        raw facts, never for publication: cleaning reports, keyed hashes of files, releases in the making
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from wayveil.disclosures import LATE_ROWS
from wayveil.errors import InputError, WayveilError
from wayveil.files import write_first, write_whole
from wayveil.plan.file_names import NamePattern
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.data_time import Days, spans_in
from wayveil.releases.paid import Paid

RELEASE, REPORT, EXPORTS, PERIOD = "release", "report.html", "exports", "period.json"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class SeriesFolder:
    """Where things are."""

    home: Path

    @property
    def public(self) -> Path:
        return self.home / "public"

    @property
    def internal(self) -> Path:
        return self.home / "internal"

    def published(self, label: str) -> Path:
        """The folder of a published period."""
        return self.public / label

    def making(self, label: str) -> Path:
        """Where a period is made until it is whole."""
        return self.internal / "making" / label

    def paid(self, label: str) -> Paid:
        """Return what was paid for a period, kept until its release is whole."""
        return Paid(self.making(label) / RELEASE, same_noise=True)

    def labels(self) -> list[str]:
        """Every published period, in order of data time."""
        found = [
            (days_of(folder).first, folder.name) for folder in self.public.glob("*/") if is_published(folder)
        ]
        return [name for _, name in sorted(found)]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time. The lock goes with the process, however that ends."""
        self.internal.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.public.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.internal / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise WayveilError(
                    f"another run of this series is at work in {self.home}. Nothing was spent"
                ) from error
            yield
        finally:
            os.close(handle)

    def hash_of(self, file: Path) -> str:
        """A hash under a key of this series: it tells the same file again, and nobody without the key anything."""
        hashing = hashlib.blake2b(key=self._key(), digest_size=32)
        try:
            with file.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    hashing.update(chunk)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror}). Nothing was spent", file=file) from error
        return hashing.hexdigest()

    def used_files(self, label: str) -> dict[str, str] | None:
        """Names and hashes of the files that a period was begun with; None where it was never begun."""
        path = self.internal / "files" / f"{label}.json"
        return json.loads(path.read_text()) if path.is_file() else None

    def note_files(self, label: str, files: dict[str, str]) -> None:
        """Written before the first noise."""
        write_whole(self.internal / "files" / f"{label}.json", json.dumps(files, indent=2))

    def _key(self) -> bytes:
        path = self.internal / "key"
        if not path.is_file():
            write_first(path, os.urandom(32))
        return path.read_bytes()


def is_published(folder: Path) -> bool:
    """A folder with the record of its period was moved here whole."""
    return (folder / PERIOD).is_file()


def record_of(folder: Path) -> dict[str, Any]:
    """Return what a published period says of itself."""
    try:
        record: dict[str, Any] = json.loads((folder / PERIOD).read_text())
        return record
    except (OSError, ValueError) as error:
        raise InputError(f"is no record of a period ({error})", file=folder / PERIOD) from error


def days_of(folder: Path) -> Days:
    """The days of data of a published period."""
    return Days.parse(record_of(folder).get("days"))


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
    """Work of a run: periods in order of data time; those that are done; and those that wait for files."""

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
            tells=LATE_ROWS,
        )


def _covered(days: Days, files: Sequence[DatedFile]) -> bool:
    """Tell whether the files together have every day; they do not overlap and are in order."""
    wanted = days.first
    for file in files:
        if file.days.first > wanted:
            return False
        wanted = max(wanted, file.days.last + timedelta(days=1))
    return wanted > days.last
