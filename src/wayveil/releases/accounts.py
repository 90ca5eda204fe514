"""Where a release is booked: which ledger, which dataset, and what is held there while it runs."""

import getpass
import os
import sys
from pathlib import Path
from shlex import join, quote

from wayveil.errors import ParameterError, plain
from wayveil.privacy.ledger import (
    POLICY_UNITS,
    Ledger,
    LedgerError,
    Policy,
    open_ledger,
)
from wayveil.privacy.units import Unit
from wayveil.trips.trips import Trips

FOLDER, FILE = ".wayveil", "ledger"


class UnknownDatasetError(LedgerError):
    """Nobody has said yet what may be spent on a dataset."""


def default_place() -> Path:
    """The ledger when none is named: one per project or home, so that a copy of a file finds the same one.

    `WAYVEIL_HOME` if it is set; else a folder `.wayveil` here or in a folder above; else `.wayveil` in the user's home.
    A folder that belongs to somebody else is passed by: its owner would have the key of the fingerprints.
    """
    home = os.environ.get("WAYVEIL_HOME")
    if home:
        return Path(home) / FILE
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FOLDER).is_dir() and _is_ours(folder / FOLDER):
            return folder / FOLDER / FILE
    return Path.home() / FOLDER / FILE


def place_of(named: str | None) -> str:
    """Where a ledger is, and why there if nobody named it."""
    return named or f"{default_place()} (the one in reach; --ledger names another)"


def _is_ours(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def open_account(place: str | None, data: Path | None = None) -> Ledger | None:
    """The ledger at `place`, or the default one, made if it is not there; `none` for no ledger.

    A ledger beside the data, as earlier versions kept it, holds what was spent on these people: it is never passed over
    in silence.
    """
    if place == "none":
        return None
    if place is not None:
        return open_ledger(place)
    beside = None if data is None else data.with_name(data.name + ".ledger")
    if beside is not None and beside.exists():
        raise LedgerError(
            f"{beside} is a ledger of an earlier version, kept beside the data. Go on with it: add "
            f"--ledger {quote(str(beside))}"
        )
    found = default_place()
    found.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return open_ledger(found)


def ledger_in_reach(place: str | None, data: Path | None = None) -> Ledger | None:
    """The ledger in which a look is booked, if there is one; none is made for it."""
    if place is not None:
        there = place == "none" or "://" in place or Path(place).exists()
        return open_account(place, data) if there else None
    beside = None if data is None else data.with_name(data.name + ".ledger")
    for found in (beside, default_place()):
        if found is not None and found.exists():
            return open_ledger(found, create=False)
    return None


def note_look(
    what: str, rows: Trips, data: Path, place: str | None = None, dataset: str | None = None
) -> None:
    """Book that somebody looks at the raw rows, in the ledger in reach. It costs nothing, and it is seen."""
    ledger = ledger_in_reach(place, data)
    if ledger is not None:
        ledger.look(dataset or data.name, what, rows, actor=getpass.getuser())


def missing_policy(ledger: Ledger, dataset: str, unit: Unit, epsilon: str | None = None) -> Policy | None:
    """Give the policy that a dataset still needs, from what may be spent on it in all; None where it has one.

    A policy is never invented: where nobody says it, the release stops with the command that makes one.
    """
    if not dataset.isprintable() or dataset != dataset.strip():
        raise ParameterError(
            f"{dataset!r} is no name for a dataset: use printable letters without spaces around"
        )
    whose = unit.name if unit.name in POLICY_UNITS else "event"
    current = ledger.policy(dataset)
    if current is not None:
        if epsilon is not None and current != Policy(epsilon, unit=whose):
            in_all = current.total_epsilon
            amount = "per span of data time" if in_all is None else f"{plain(in_all)} in all"
            raise ParameterError(
                f"{dataset} has a policy already ({amount}): omit --policy-epsilon, or change the policy with "
                f"`wayveil ledger policy --dataset {quote(dataset)}`"
            )
        return None
    if not epsilon:
        known = ", ".join(ledger.datasets()) or "none"
        init = init_command(ledger, dataset, whose)
        raise UnknownDatasetError(
            f"the ledger {ledger.name} does not know the dataset {dataset!r} (it knows: {known}). Say once what may be "
            f"spent on it in all: `{init}`, or add `--policy-epsilon 10` to this release (in Python, "
            "policy_epsilon=10). Nothing was spent"
        )
    return Policy(epsilon, unit=whose)


def init_command(ledger: Ledger, dataset: str, unit: str, *more: str) -> str:
    """The command that tells a ledger what may be spent on a dataset."""
    words = ["wayveil", "ledger", "init", ledger.name, "--dataset", dataset, "--total-epsilon", "10"]
    return join([*words, "--unit", unit, *more])


def ask_on_terminal(question: str) -> str | None:
    """Ask whoever sits at the terminal."""
    print(question, file=sys.stderr)
    return input("epsilon in all: ").strip() or None
