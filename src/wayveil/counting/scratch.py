"""Temporary space for raw rows: private, checked for room beforehand, and always removed."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from wayveil.disclosures import ROOM
from wayveil.errors import ParameterError, WayveilError
from wayveil.files import process_is_alive

PREFIX = "wayveil-scratch-"


class ScratchFullError(WayveilError):
    """Temporary space ran out."""


@contextmanager
def scratch_space(parent: str | Path | None, needed: int) -> Iterator[Path]:
    """A folder of its own that nobody else may read, with room for `needed` bytes, removed when the block ends.

    A run that was killed cannot remove its own; whoever comes next to the same place does.
    """
    place = Path(tempfile.gettempdir() if parent is None else parent)
    if not place.is_dir():
        raise ParameterError(f"the scratch folder {place} does not exist")
    sweep(place)
    free = shutil.disk_usage(place).free
    if free < needed:
        raise ParameterError(
            f"counting needs about {_in_words(needed)} of temporary space, and {place} has {_in_words(free)} left; "
            "name a larger place with --with scratch=FOLDER. Nothing was spent.",
            tells=ROOM,
        )
    try:
        folder = Path(
            tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place)
        )  # only the owner may enter
    except OSError as error:
        raise ParameterError(
            f"the scratch folder {place} cannot be written to ({error.strerror}); name another (scratch=FOLDER)"
        ) from error
    with _ended_in_order():
        try:
            yield folder
        except OSError as error:
            if error.errno != 28:  # no space left on device
                raise
            raise ScratchFullError(
                f"the scratch folder {place} is full; name a larger place with --with scratch=FOLDER"
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep(place: Path) -> None:
    """Remove what runs left here that were killed; a living run's folder is its own."""
    for folder in place.glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not process_is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def is_full(error: BaseException) -> bool:
    """Tell whether an error of another library says that the disk is full."""
    text = str(error).lower()
    return "no space left" in text or "os error 28" in text or "max_temp_directory_size" in text


def full_disk(place: Path, error: BaseException) -> BaseException:
    """The error to raise for one of another library before the first spend: a sentence where the disk is full."""
    if not is_full(error):
        return error
    return ScratchFullError(
        f"the scratch folder {place} is full; name a larger place with --with scratch=FOLDER. Nothing was spent."
    )


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Being asked to end unwinds the run, so that what it wrote is removed, as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _in_words(count: int) -> str:
    return f"{count / 2**30:,.1f} GB" if count >= 2**30 else f"{count / 2**20:,.1f} MB"
