"""Cells of a long run, examined by this process or by several, in the order in which they are finished."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import inf
from multiprocessing import get_context
from typing import Any, TypeVar

C = TypeVar("C")
Prepare = Callable[..., Callable[[Any], Any]]


def examined(
    cells: Sequence[C], workers: int, prepare: Prepare, *arguments: Any, until: float = inf
) -> Iterator[tuple[C, Any]]:
    """Examine the cells with what `prepare` makes of its arguments, once per process.

    Both must survive pickling where there are several workers. No cell is begun after `until` (`time.monotonic`).
    """
    if not cells:
        return
    if workers == 1:
        examine = prepare(*arguments)
        for cell in cells:
            if time.monotonic() >= until:
                return
            yield cell, examine(cell)
        return
    # Fresh processes: a fork would copy the threads' locks of the table engine, and may hang.
    with ProcessPoolExecutor(workers, get_context("spawn"), _prepare, (prepare, *arguments)) as pool:
        try:
            running = {pool.submit(_examine, cell): cell for cell in cells}
            for future in as_completed(running):
                if time.monotonic() >= until:
                    for other in running:
                        other.cancel()
                if not future.cancelled():
                    yield running[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_own: list[Callable[[Any], Any]] = []


def _prepare(prepare: Prepare, *arguments: Any) -> None:
    _own[:] = [prepare(*arguments)]


def _examine(cell: Any) -> Any:
    return _own[0](cell)
