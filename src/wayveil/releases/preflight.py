"""Everything that a release needs besides trips, looked at before anything is spent: its place, key, scratch, disk."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wayveil.disclosures import ROOM
from wayveil.errors import InputError, WayveilError
from wayveil.privacy.keys import signing_key

# A small release with its pages; larger ones are of the order of the file they come from.
SMALLEST_RELEASE = 32 << 20


@contextmanager
def claimed(out: Path, *, size: int = 0) -> Iterator[None]:
    """Hold the place of a release while it is made: a second run into it is refused at once.

    `size` is that of the input in bytes. What was made on the way is taken away again where nothing came of it.
    """
    refuse_taken(out)
    made = _make_parents(out)
    lock = out.with_name(f".{out.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        _remove(made)
        raise InputError(f"cannot be written: {error.strerror}. Nothing was spent", file=out) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError("another run is writing this release. Nothing was spent", file=out) from error
        refuse_taken(out)
        try:
            require_room(out.parent, size)
            signing_key()
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)
        _remove(made)


def refuse_taken(out: Path) -> None:
    """A release is never written over anything."""
    if not out.name or out.name in (".", ".."):
        raise InputError("is no name for the folder of a release", file=out)
    if os.path.lexists(out) and (not out.is_dir() or out.is_symlink() or any(out.iterdir())):
        raise InputError("already exists; a release is never written over another one", file=out)


def require_room(folder: Path, size: int) -> None:
    """Refuse to begin where the disk, or the place for scratch files, is too full."""
    needed = SMALLEST_RELEASE + 2 * size
    try:
        scratch = Path(tempfile.gettempdir())
    except OSError as error:
        raise WayveilError(f"there is no place for scratch files ({error}). Nothing was spent") from error
    for place in (folder, scratch):
        free = shutil.disk_usage(place).free
        if free < needed:
            raise WayveilError(
                f"{place} has {free >> 20:,} MiB left on its disk, and a release of this file may need "
                f"{needed >> 20:,} MiB. Nothing was spent",
                tells=ROOM,
            )


def _make_parents(out: Path) -> list[Path]:
    """The folders that were made for it, deepest first."""
    missing = [parent for parent in out.absolute().parents if not os.path.lexists(parent)]
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}. Nothing was spent", file=out) from error
    return missing


def _remove(made: list[Path]) -> None:
    for folder in made:
        try:
            folder.rmdir()
        except OSError:
            return  # the release is in it
