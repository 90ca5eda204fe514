"""Progress of long work: silent in a library, a bar on a terminal.

Rooms wrap their long loops in `track`. Nothing is drawn until the command line switches a display on with `shown`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from wayveil.disclosures import PROGRESS, discloses

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
_display: ContextVar["Progress | None"] = ContextVar("wayveil_progress", default=None)


@contextmanager
def shown(enabled: bool = True) -> Iterator[None]:
    """Draw progress bars on standard error while the block runs (and none if `enabled` is false)."""
    if not enabled:
        yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    console = Console(stderr=True)
    # A log or a pipe cannot show bars: it gets a line when a stage begins.
    with Progress(*columns, console=console, transient=False, disable=not console.is_terminal) as bars:
        token = _display.set(bars)
        try:
            yield
        finally:
            _display.reset(token)


def _begin(bars: "Progress", label: str, total: int | None) -> "TaskID":
    """Add a bar; where none can be drawn, say in a line what begins."""
    if bars.disable:
        bars.console.print(f"{label} ...", markup=False, highlight=False, soft_wrap=True)
    return bars.add_task(label, total=total)


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Iterate over `items`, one step of a bar called `label` for each."""
    bars = _display.get()
    if bars is None:
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    task = _begin(bars, label, total=total)
    for item in items:
        yield item
        bars.advance(task)


@discloses(PROGRESS)
@contextmanager
def meter(label: str, total: int, unit: str = "rows") -> Iterator[Callable[[int], None]]:
    """Show work that is measured in rows: call what comes with each number done. Says how many and how fast."""
    bars = _display.get()
    if bars is None:
        yield lambda done: None
        return
    task, began, done_so_far = _begin(bars, label, total=total), monotonic(), 0

    def advance(done: int) -> None:
        nonlocal done_so_far
        done_so_far += done
        rate = done_so_far / max(monotonic() - began, 1e-9)
        bars.update(task, advance=done, description=f"{label} ({rate / 1e6:.1f} M {unit}/s)")

    yield advance
    bars.update(task, completed=total)


@contextmanager
def step(label: str) -> Iterator[None]:
    """Show one piece of work of unknown length."""
    bars = _display.get()
    if bars is None:
        yield
        return
    task = _begin(bars, label, total=None)
    yield
    bars.update(task, total=1, completed=1)


BLOCKS_PER_CORE = 16


def share_out(work: Callable[[int, int], None], count: int, label: str, *, least: int = 32) -> None:
    """Call `work(first, end)` for blocks that cover 0..count; it must let go of the interpreter's lock (`nogil`)."""
    cores = os.cpu_count() or 1
    size = max(least, -(-count // (cores * BLOCKS_PER_CORE)))
    starts = range(0, count, size)
    if len(starts) <= 1 or cores == 1:
        for first in track(starts, label):
            work(first, min(first + size, count))
        return
    with ThreadPoolExecutor(cores) as pool:
        running = [pool.submit(work, first, min(first + size, count)) for first in starts]
        try:
            for done in track(as_completed(running), label, total=len(running)):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
