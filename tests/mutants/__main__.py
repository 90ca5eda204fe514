"""Make every mistake of the list in a copy of the package, run its tests, and say which mistakes nobody noticed.

    PYTHONPATH=tests python -m mutants               # all of them; about a quarter of an hour
    PYTHONPATH=tests python -m mutants taps ledger   # those in files whose names hold one of these words

The exit code is 1 if a mistake survives that is not explained in the list, or if the tests fail without any.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutants.listed import EXPLAINED, MUTANTS, PACKAGE, Mutant

TESTS = Path(__file__).parents[1]
LONGEST = 1800  # seconds; tests that hang have noticed


def run_tests(source: Path, tests: tuple[str, ...]) -> int:
    """Run some tests on the package in a folder; pytest's exit code, 1 where they hang."""
    paths = os.pathsep.join([str(source), str(TESTS)])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not audit", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *(str(TESTS / test) for test in tests)],
            cwd=TESTS.parent,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1
    if done.returncode not in (0, 1):
        sys.stdout.write(done.stdout.decode()[-2000:])
    return done.returncode


def survives(mutant: Mutant, source: Path) -> bool:
    """Tell whether all tests pass with the mistake in place. An error that is no failed test is no answer."""
    file = source / "wayveil" / mutant.file
    sound = file.read_text()
    try:
        file.write_text(mutant.broken(sound))
        code = run_tests(source, mutant.tests)
    finally:
        file.write_text(sound)
    if code not in (0, 1):
        raise RuntimeError(f"{mutant.file}: pytest ended with {code} on {mutant.new!r}")
    return code == 0


def main(words: list[str]) -> int:
    """Try the mutants in files of these names; how many unexplained ones survive decides the exit code."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.file for word in words)]
    left: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        source = Path(place)
        shutil.copytree(PACKAGE, source / "wayveil", ignore=shutil.ignore_patterns("__pycache__"))
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
