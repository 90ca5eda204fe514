"""Damaged files of every format of the corpus, brought to `check` and to the reader of a release.

python tests/sources/damaged_files.py 20000 [first seed]
"""

import contextlib
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import truth
from corpus import CORPUS

from wayveil.errors import WayveilError
from wayveil.plan import guess, reading
from wayveil.plan.guess import Guess
from wayveil.plan.looking import Look, holds_rows
from wayveil.plan.plan import Plan
from wayveil.plan.reading import files_of, open_rows


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage bytes in one of the ways in which files go wrong."""
    at = np.sort(rng.integers(0, len(content) + 1, 2))
    first, last = (int(each) for each in at)
    kind = int(rng.integers(0, 7))
    if kind == 0:
        return content[:first]
    if kind == 1:
        return content[:first] + content[last:]
    if kind == 2:
        return content[:first] + rng.bytes(int(rng.integers(1, 40))) + content[first:]
    if kind == 3:
        return content[last:] + content[:last]
    if kind == 4:
        return content[:last] + content[first:]
    if kind == 5:
        return content.replace(
            *[(b",", b";"), (b"2026", b"20Z6"), (b"\n", b"\r"), (b":", b"\x00")][int(rng.integers(0, 4))]
        )
    changed = bytearray(content)
    for place in rng.integers(0, max(len(changed), 1), 8):
        changed[int(place)] = int(rng.integers(0, 256))
    return bytes(changed)


def try_file(given: str, network, *, whole: bool) -> str | None:
    """Look at a file and read it by the plan; return what broke, None where all is a result or a sentence.

    `whole`: with the advice that `check` gives, which takes most of the time and sees rows that were read.
    """
    try:
        with contextlib.suppress(WayveilError):
            if not whole:
                look = Look([given], network)
                if holds_rows([given]) and look.recognised.rows is not None:
                    said = {key: value for key, value in look.values.items() if value is not None}
                    plan = Plan.of(
                        files=given, world="city.zip", rows=look.recognised.rows, epsilon=1, **said
                    )
                    look.notes()
                    open_rows(plan, network, files_of(plan))
                return None
            checked = Guess(given, "city.zip", ledger="none").look()
            checked.lines()
            if checked.plan is not None:
                open_rows(checked.plan, network, files_of(checked.plan))
    except BaseException:
        return traceback.format_exc()
    return None


def run(count: int, seed: int, folder: Path) -> list[str]:
    """Bring damaged files; return what broke."""
    network = truth.make_city(folder)
    guess.open_world = reading.open_world = lambda *_, **__: network
    rides = truth.make_rides(network)[:40]
    names = list(CORPUS)
    broken, whole = [], {}
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        name = names[number % len(names)]
        if name not in whole:
            place = folder / f"whole-{len(whole)}"
            place.mkdir()
            given = CORPUS[name].write(place, rides)
            whole[name] = place, given
        place, given = whole[name]
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(place, work)
        victims = sorted(path for path in work.rglob("*") if path.is_file())
        victim = victims[int(rng.integers(0, len(victims)))]
        victim.write_bytes(damaged(victim.read_bytes(), rng))
        before = sorted(work.rglob("*"))
        address = given.replace("sqlite:///", f"sqlite:///{work}/") if "://" in given else str(work / given)
        said = try_file(address, network, whole=number % 10 == 0)
        if said is None and sorted(work.rglob("*")) != before:
            said = "something was left behind"
        if said is not None:
            broken.append(f"{name} (seed {seed}, {number}): {said}")
            print(broken[-1], flush=True)
        if number % 500 == 499:
            print(f"{number + 1:,} files, {len(broken)} broken", flush=True)
    return broken


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        failed = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(temporary))
    sys.exit(bool(failed))
