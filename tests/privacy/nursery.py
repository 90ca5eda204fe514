"""How a test talks to a process that bears children to be killed."""

import subprocess
import sys
from pathlib import Path


class Nursery:
    """The process that bears the children to be killed. `script` is beside this file, or a whole path."""

    def __init__(self, script: str = "release_nursery.py") -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def ask(self, command: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
