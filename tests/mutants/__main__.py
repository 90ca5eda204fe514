"""Make every mistake of the list in a copy of the package, run its tests, and say which mistakes nobody noticed.

    PYTHONPATH=tests python -m mutants               # all of them; about a quarter of an hour
    PYTHONPATH=tests python -m mutants taps ledger   # those in files whose names hold one of these words

Each test is timed once, without a mistake; with one, quick tests come first and the first that fails ends the run.

The exit code is 1 if a mistake survives that is not explained in the list, or if the tests fail without any.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import hypothesis
import numba
import polars
import pytest
import scipy.optimize
import scipy.spatial

from mutants.listed import EXPLAINED, MUTANTS, PACKAGE, Mutant

TESTS = Path(__file__).parents[1]
LOADED = (hypothesis, numba, polars, scipy)  # once, and not for every mistake
LONGEST = 1800  # seconds; tests that hang have noticed


class QuickestFirst:
    """Notes how long each test takes the first time, and sorts tests by it from then on."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        self.seconds: dict[str, float] = json.loads(notes.read_text()) if notes.exists() else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        if not self.notes.exists():
            self.notes.write_text(json.dumps(self.seconds))


def run_tests(source: Path, tests: tuple[str, ...]) -> int:
    """Run some tests on the package in a folder, in a fork; pytest's exit code, 1 where they hang."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            sys.dont_write_bytecode = True  # two mistakes of one length within a second look alike to it
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            sys.path.insert(0, str(source))
            os.environ["PYTHONPATH"] = os.pathsep.join(
                [str(source), str(TESTS)]
            )  # for processes of the tests
            os.chdir(TESTS.parent)
            # The same lines in another database, or on Spark, notice nothing more.
            options = [
                "-q",
                "-x",
                "-m",
                "not audit",
                "-k",
                "not postgres and not spark and not broken",
                "-p",
                "no:cacheprovider",
            ]
            arguments = [*options, *(str(TESTS / test) for test in tests)]
            code = int(pytest.main(arguments, plugins=[QuickestFirst(source / "seconds.json")]))
        finally:
            os._exit(code)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return 1


def survives(mutant: Mutant, source: Path) -> bool:
    """Tell whether all tests pass with the mistake in place. An error that is no failed test is no answer."""
    file = source / "wayveil" / mutant.file
    sound, when = file.read_text(), file.stat()
    try:
        file.write_text(mutant.broken(sound))
        code = run_tests(source, mutant.tests)
    finally:
        file.write_text(sound)
        os.utime(file, ns=(when.st_atime_ns, when.st_mtime_ns))  # what is compiled stays good
    if code not in (0, 1):
        raise RuntimeError(f"{mutant.file}: pytest ended with {code} on {mutant.new!r}")
    return code == 0


def main(words: list[str]) -> int:
    """Try the mutants in files of these names; how many unexplained ones survive decides the exit code."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.file for word in words)]
    left: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        source = Path(place)
        shutil.copytree(PACKAGE, source / "wayveil")  # with what is compiled, which is most of the time
        if run_tests(source, tuple(dict.fromkeys(test for mutant in chosen for test in mutant.tests))) != 0:
            print("some of these tests fail without any mistake")
            return 1
        for number, mutant in enumerate(chosen, 1):
            begin = time.monotonic()
            lives = survives(mutant, source)
            left += [mutant] if lives else []
            word = "SURVIVES" if lives else "killed"
            seconds = time.monotonic() - begin
            print(f"{number:3} {word:8} {seconds:4.0f} s  {mutant.file}: {mutant.new.strip()}", flush=True)
    print(f"{len(left)} of {len(chosen)} mutants survive")
    for mutant in left:
        print(f"  {mutant.file}: {mutant.new!r}: {EXPLAINED.get((mutant.file, mutant.new), 'not explained')}")
    return int(any((mutant.file, mutant.new) not in EXPLAINED for mutant in left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
