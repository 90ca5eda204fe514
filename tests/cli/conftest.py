"""The command line in a folder of its own."""

import sys

import pytest

from ring_networks import ring_of_stops
from wayveil.cli import main


@pytest.fixture
def wayveil(monkeypatch, capsys, tmp_path):
    """Run a command beside a ring of six stops; gives exit code, standard output and standard error."""
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    ring_of_stops(6, seconds=60).save(tmp_path / "ring.npz")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run
