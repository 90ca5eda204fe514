"""The folder of a series: what is published, what is being made, and which files each release was made of.

public/LABEL/    a release with its exports and its report; appears whole or not at all
public/index.html, year.svg
internal/        raw facts, never for publication: cleaning reports, keyed hashes of files, releases in the making
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayveil.errors import InputError, WayveilError
from wayveil.files import write_first, write_whole
from wayveil.privacy.ledger.data_time import Days
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
        """What was paid for a period, kept until its release is whole."""
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
    """What a published period says of itself."""
    try:
        record: dict[str, Any] = json.loads((folder / PERIOD).read_text())
        return record
    except (OSError, ValueError) as error:
        raise InputError(f"is no record of a period ({error})", file=folder / PERIOD) from error


def days_of(folder: Path) -> Days:
    """The days of data of a published period."""
    return Days.parse(record_of(folder).get("days"))
