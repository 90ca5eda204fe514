"""Progress of long work: silent in a library, a bar on a terminal.

Rooms wrap their long loops in `track`. Nothing is drawn until the command line switches a display on with `shown`.
"""

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

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
        TextColumn("{task.description:<32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as bars:
        token = _display.set(bars)
        try:
            yield
        finally:
            _display.reset(token)


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Iterate over `items`, one step of a bar called `label` for each."""
    bars = _display.get()
    if bars is None:
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    task = bars.add_task(label, total=total)
    for item in items:
        yield item
        bars.advance(task)


@contextmanager
def step(label: str) -> Iterator[None]:
    """Show one piece of work of unknown length."""
    bars = _display.get()
    if bars is None:
        yield
        return
    task = bars.add_task(label, total=None)
    yield
    bars.update(task, total=1, completed=1)
