"""Write files and folders that appear whole or not at all, also when a process is killed or two write at once."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from wayveil.errors import InputError

_OPEN: set[str] = set()  # names of the drafts that this process is writing


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it becomes `path` when the block ends well, and is removed when it does not."""
    with _draft_of(path) as draft:
        yield draft
        flush(draft)
        os.replace(draft, path)
        flush(path.parent)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write into; it becomes `folder` when the block ends well, and is removed when it does not."""
    with _draft_of(folder) as draft:
        draft.mkdir()
        yield draft
        move_folder(draft, folder)


def move_folder(draft: Path, folder: Path) -> None:
    """Give a finished folder its name, once all of it is on the disk; an empty folder of that name is replaced."""
    for path in [*draft.rglob("*"), draft]:
        flush(path)
    if folder.exists():
        folder.rmdir()
    draft.rename(folder)
    flush(folder.parent)


def write_whole(path: Path, content: str | bytes, *, secret: bool = False) -> None:
    """Write a file and the folders above it; only the owner may read a secret one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        _write(draft, content, secret)


def write_first(path: Path, content: bytes) -> None:
    """Write a secret unless there is one: of two processes that begin at once, one keeps its secret and both use it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _draft_of(path) as draft, suppress(FileExistsError):
        _write(draft, content, secret=True)
        flush(draft)
        os.link(draft, path)


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def process_is_alive(process: int) -> bool:
    """Tell whether a process with this id runs, of whatever user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def flush(path: Path) -> None:
    """Have a file or a folder on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` that nobody else uses, and remove what is there in the end."""
    if not path.parent.is_dir():
        raise InputError("cannot be written: its folder does not exist", file=path)
    _sweep(path)
    draft = path.with_name(f".{path.name}.partial-{uuid4().hex[:8]}-{os.getpid()}")
    _OPEN.add(draft.name)
    try:
        yield draft
    finally:
        _remove(draft)
        _OPEN.discard(draft.name)


def _sweep(path: Path) -> None:
    """Remove drafts of `path` whose writers died; a draft of a process that runs is left alone."""
    for draft in path.parent.iterdir():
        if not draft.name.startswith(f".{path.name}.partial-"):
            continue
        writer = draft.name.rpartition("-")[2]
        own = writer == str(os.getpid()) and draft.name not in _OPEN
        if own or (writer.isdigit() and not process_is_alive(int(writer))):
            _remove(draft)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        with suppress(OSError):
            draft.unlink()


def _write(draft: Path, content: str | bytes, secret: bool) -> None:
    data = content.encode() if isinstance(content, str) else content
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if secret else 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
