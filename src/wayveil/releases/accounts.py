"""Where a release is booked: which ledger, which dataset, and what is held there while it runs."""

import getpass
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import Any

from wayveil.errors import ParameterError, RefusedError, plain
from wayveil.privacy.budget import Budget
from wayveil.privacy.ledger import (
    POLICY_UNITS,
    Days,
    Ledger,
    LedgerError,
    Policy,
    Reservation,
    open_ledger,
)
from wayveil.privacy.ledger.fingerprint import Fingerprint
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
        return open_account(place, data)
    beside = None if data is None else data.with_name(data.name + ".ledger")
    for found in (beside, default_place()):
        if found is not None and found.exists():
            return open_ledger(found, create=False)
    return None


def note_look(
    what: str, rows: Trips, data: Path, place: str | None = None, dataset: str | None = None
) -> None:
    """Book that somebody compares with the raw rows, in the ledger in reach. It costs nothing, and it is seen."""
    ledger = ledger_in_reach(place, data)
    if ledger is not None:
        ledger.look(dataset or data.name, what, rows, actor=getpass.getuser())


def require_policy(
    ledger: Ledger,
    dataset: str,
    unit: Unit,
    *,
    actor: str,
    rows: Trips | Fingerprint | None = None,
    policy_epsilon: str | None = None,
    ask: Callable[[str], str | None] | None = None,
) -> None:
    """See that somebody has said what may be spent on the dataset; never invent it.

    A dataset that the ledger does not know gets the policy that the caller gives (`policy_epsilon`) or answers when
    asked. Otherwise the release stops with the command that makes one. `rows` that are known under another name are
    refused first: they need no second budget.
    """
    if not dataset.isprintable() or dataset != dataset.strip():
        raise ParameterError(
            f"{dataset!r} is no name for a dataset: use printable letters without spaces around"
        )
    whose = unit.name if unit.name in POLICY_UNITS else "event"
    current = ledger.policy(dataset)
    if current is not None:
        if policy_epsilon is not None and current != Policy(policy_epsilon, unit=whose):
            in_all = current.total_epsilon
            amount = "per span of data time" if in_all is None else f"{plain(in_all)} in all"
            raise ParameterError(
                f"{dataset} has a policy already ({amount}): leave --policy-epsilon out, "
                f"or change the policy with `wayveil ledger policy --dataset {quote(dataset)}`"
            )
        return
    if rows is not None:
        ledger.refuse_known(dataset, rows)
    if policy_epsilon is None and ask is not None:
        policy_epsilon = ask(
            f"The ledger {ledger.name} does not know the dataset {dataset!r} yet. What may be spent on it in all, for "
            f"each {whose}? (epsilon, for example 10; empty to stop)"
        )
    if not policy_epsilon:
        known = ", ".join(ledger.datasets()) or "none"
        init = f"wayveil ledger init {quote(ledger.name)} --dataset {quote(dataset)} --total-epsilon 10 --unit {whose}"
        raise UnknownDatasetError(
            f"the ledger {ledger.name} does not know the dataset {dataset!r} (it knows: {known}). Say once what may be "
            f"spent on it in all: `{init}`, or add `--policy-epsilon 10` to this release. Nothing was spent"
        )
    ledger.set_policy(dataset, Policy(policy_epsilon, unit=whose), actor=actor)


def ask_on_terminal(question: str) -> str | None:
    """Ask whoever sits at the terminal."""
    print(question, file=sys.stderr)
    return input("epsilon in all: ").strip() or None


@contextmanager
def settled_if_lost(reservation: Reservation | None, folder: Path) -> Iterator[None]:
    """Where a release lives in this process only: if it cannot be written, its reservation is over too."""
    try:
        yield
    except BaseException as error:
        if reservation is not None and not folder.exists():
            reservation.settle(reservation.epsilon, f"could not be written: {type(error).__name__}")
        raise


class Hold:
    """Epsilon held in a ledger while a release runs."""

    def __init__(self, reservation: Reservation, looks: int) -> None:
        self.reservation = reservation
        self.looks = looks
        self.started = False
        # Once the measured model is on disk, the run can be finished without spending again.
        self.kept = False
        self.budget: Budget | None = None

    def start(self) -> None:
        """Called by the gate right before the first noise. Set first: a start that half failed is not given back."""
        self.started = True
        self.reservation.start()

    def close(self, error: BaseException) -> None:
        """Book a run that failed, so that nothing stays open.

        Before the first noise everything is given back. A mechanism that refuses because of its noisy answers, and a
        person who stops the run, cost what was bought; prices are booked before their noise is drawn. Any other failure
        may have come from the raw trips, and then so would the amount: it costs everything that was held.
        """
        what = type(error).__name__
        if not self.started:
            self.reservation.cancel(f"failed before the first noise: {what}")
            return
        known = isinstance(error, RefusedError | KeyboardInterrupt) and self.budget is not None
        bought = self.budget.spent if known and self.budget is not None else Fraction(0)
        if self.budget is not None and (self.budget.currency == "rho" or self.budget.delta):
            bought = Fraction(0)  # the ledger settles parts of pure epsilon only: it costs everything
        reason = "stopped after its noisy answers" if known else "failed after the first noise"
        self.reservation.settle(bought or self.reservation.epsilon, f"{reason}: {what}")

    def describe(self) -> dict[str, object]:
        """Where the spend can be found again, and how often the raw data was looked at before."""
        ledger, dataset = self.reservation.ledger, self.reservation.dataset
        facts: dict[str, object] = {
            "dataset": dataset,
            "reservation": self.reservation.id,
            "head": str(self.reservation.head),
            "looks_before": self.looks,
        }
        policy, days = ledger.policy(dataset), self.reservation.days
        if policy is not None and policy.unit is not None:
            facts["spent_so_far_for"] = policy.unit
        if days is not None:
            facts["days"] = str(days)
            for span in (span for span in ledger.spans(dataset) if span.days.meets(days)):
                return {**facts, "data_of": span.label, "spent_so_far": plain(span.spent.epsilon)}
        return {**facts, "spent_so_far": plain(ledger.spent(dataset))}


def opened_ledger(ledger: Ledger | str | Path | None) -> Ledger | None:
    """The ledger itself, or the one that lies there already."""
    return ledger if ledger is None or isinstance(ledger, Ledger) else open_ledger(ledger, create=False)


@contextmanager
def held(
    ledger: Ledger | str | Path | None,
    dataset: str,
    epsilon: Fraction,
    *,
    unit: Unit,
    rows: Trips | Fingerprint | None,
    actor: str,
    mechanism: str,
    delta: Fraction = Fraction(0),
    rho: Fraction | None = None,
    purpose: str = "",
    private: bool = True,
    new_people: bool = False,
    days: Days | None = None,
    asked: Mapping[str, Any] | None = None,
    same_noise: bool = False,
    again: bool = False,
) -> Iterator[Hold | None]:
    """Hold epsilon in the ledger while a release runs, and see to it that a failure leaves nothing open.

    The dataset must have a policy, and the rows must not be known under another name. `days` says which days the rows
    are of, `asked` what is asked of them (`ledger.terms`). A run whose noise is kept (`same_noise`) stays open when it
    is stopped; `again` takes up what it held.
    """
    ledger = opened_ledger(ledger)
    if ledger is None:
        yield None
        return
    if rows is None:
        raise ParameterError("a ledger knows a dataset by its rows, and there are none to know it by")
    require_policy(ledger, dataset, unit, actor=actor, rows=None if new_people else rows)
    content = ledger.take_in(dataset, rows, actor=actor, new_people=new_people)
    reservation = ledger.reserve(
        dataset,
        epsilon,
        delta,
        actor=actor,
        mechanism=mechanism,
        purpose=purpose,
        rho=rho,
        unit=unit,
        private=private,
        content=content,
        days=days,
        asked=asked,
        again=again,
    )
    hold = Hold(reservation, len(ledger.looks(dataset, content)))
    try:
        yield hold
    except BaseException as error:
        taken_up = reservation.started and not hold.started
        if hold.kept or (same_noise and (taken_up or not isinstance(error, Exception))):
            raise  # a run that can go on with the same noise is not over when it is stopped
        try:
            hold.close(error)
        except LedgerError as problem:
            error.add_note(f"The ledger could not be told of it ({problem}): everything held stays spent.")
        raise
