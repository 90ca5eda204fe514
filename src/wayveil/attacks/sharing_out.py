"""Long loops in compiled code: shared out to all cores, with progress, and stopped by Ctrl-C between two blocks."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

from wayveil.progress import track

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
